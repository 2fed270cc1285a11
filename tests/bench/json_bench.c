/*
 * Parsing of two texts as slipway meets them, beside the JSON libraries of the distribution: a
 * RegisterTaskDefinition request, and the answer of DescribeTasks for a hundred tasks. All parsers
 * run in turn in every round, and each one's best round counts, so that whatever else the machine
 * does hits them alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "json_parsers.h"

#define ROUNDS 100
#define ROUND_US 3000 /* short, so that some rounds are not interrupted */
#define TASKS 100

static struct arena *request_arena; /* as a server has one for each request */

static size_t count_values(const struct json *value)
{
	size_t count = 1;

	JSON_EACH_ITEM (value, item)
		count += count_values(item);
	if (json_is(value, JSON_OBJECT)) {
		for (size_t i = 0; i < json_count(value); i++)
			count += count_values(value->object.members[i].value);
	}
	return count;
}

static size_t json_parse_slipway(const char *text, size_t length, int count)
{
	struct json *value;
	size_t values;

	if (json_parse((struct span){text, length}, request_arena, &value, NULL) < 0)
		return 0;
	values = count ? count_values(value) : 1;
	arena_reset(request_arena);
	return values;
}

static const struct parser {
	const char *name;
	size_t (*parse)(const char *text, size_t length, int count);
} parsers[] = {
	{"slipway", json_parse_slipway},
	{"jansson", json_parse_jansson},
	{"json-c", json_parse_json_c},
	{"cJSON", json_parse_cjson},
};

static const char task_definition[] =
	"{\"family\":\"web\",\"taskRoleArn\":\"arn:aws:iam::123456789012:role/web\","
	"\"executionRoleArn\":\"arn:aws:iam::123456789012:role/ecsTaskExecutionRole\","
	"\"networkMode\":\"awsvpc\",\"containerDefinitions\":[{\"name\":\"app\","
	"\"image\":\"123456789012.dkr.ecr.eu-west-1.amazonaws.com/web:2026-11-16\",\"cpu\":256,"
	"\"memory\":512,\"memoryReservation\":256,\"essential\":true,\"portMappings\":[{"
	"\"containerPort\":8080,\"hostPort\":8080,\"protocol\":\"tcp\",\"name\":\"http\","
	"\"appProtocol\":\"http\"}],\"entryPoint\":[\"/usr/bin/web\"],\"command\":[\"--listen\","
	"\"0.0.0.0:8080\",\"--workers\",\"4\"],\"environment\":[{\"name\":\"LOG_LEVEL\",\"value\":"
	"\"info\"},{\"name\":\"DATABASE_HOST\",\"value\":\"db.internal.example\"},{\"name\":"
	"\"FEATURE_FLAGS\",\"value\":\"{\\\"checkout\\\":true,\\\"search\\\":false}\"},{\"name\":"
	"\"GREETING\",\"value\":\"Gr\xc3\xbc\xc3\x9f"
	"e aus M\xc3\xbcnchen\"}],\"secrets\":[{\"name\":\"DATABASE_PASSWORD\",\"valueFrom\":"
	"\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf\"}],\"mountPoints\":[{"
	"\"sourceVolume\":\"cache\",\"containerPath\":\"/var/cache/web\",\"readOnly\":false}],"
	"\"dependsOn\":[{\"containerName\":\"proxy\",\"condition\":\"HEALTHY\"}],"
	"\"healthCheck\":{\"command\":[\"CMD-SHELL\",\"curl -f http://localhost:8080/healthz || "
	"exit 1\"],"
	"\"interval\":30,\"timeout\":5,\"retries\":3,\"startPeriod\":10},\"logConfiguration\":{"
	"\"logDriver\":\"awslogs\",\"options\":{\"awslogs-group\":\"/ecs/web\",\"awslogs-region\":"
	"\"eu-west-1\",\"awslogs-stream-prefix\":\"app\"}},\"ulimits\":[{\"name\":\"nofile\","
	"\"softLimit\":65536,\"hardLimit\":65536}]},{\"name\":\"proxy\",\"image\":"
	"\"public.ecr.aws/example/proxy:v1.29\",\"cpu\":128,\"memory\":128,\"essential\":false,"
	"\"user\":\"1337\",\"healthCheck\":{\"command\":[\"CMD-SHELL\",\"curl -s "
	"http://localhost:9901/"
	"server_info | grep state | grep -q LIVE\"],\"interval\":5,\"timeout\":2,\"retries\":3}}],"
	"\"volumes\":[{\"name\":\"cache\",\"host\":{}}],\"placementConstraints\":[],"
	"\"requiresCompatibilities\":[\"FARGATE\"],\"cpu\":\"512\",\"memory\":\"1024\",\"tags\":[{"
	"\"key\":\"team\",\"value\":\"storefront\"},{\"key\":\"environment\",\"value\":"
	"\"production\"}]}";

static void add_task(struct buffer *out, int number)
{
	char id[33];

	snprintf(id, sizeof(id), "%032x", number * 2654435761u);
	buffer_format(out,
		"{\"attachments\":[{\"id\":\"%s\",\"type\":\"ElasticNetworkInterface\",\"status\":"
		"\"ATTACHED\",\"details\":[{\"name\":\"subnetId\",\"value\":\"subnet-%.17s\"},{"
		"\"name\":"
		"\"networkInterfaceId\",\"value\":\"eni-%.17s\"},{\"name\":\"macAddress\","
		"\"value\":"
		"\"02:42:ac:11:00:%02x\"},{\"name\":\"privateIPv4Address\",\"value\":\"10.0.1.%d\"}"
		"]}],"
		"\"attributes\":[{\"name\":\"ecs.cpu-architecture\",\"value\":\"x86_64\"}],"
		"\"availabilityZone\":\"eu-west-1a\",\"clusterArn\":"
		"\"arn:aws:ecs:eu-west-1:123456789012:cluster/production\",\"connectivity\":"
		"\"CONNECTED\",\"connectivityAt\":1700000%03d.123,",
		id, id, id, number & 255, number & 255, number % 1000);
	buffer_format(out,
		"\"containers\":[{\"containerArn\":\"arn:aws:ecs:eu-west-1:123456789012:container/"
		"production/%s/app\",\"taskArn\":\"arn:aws:ecs:eu-west-1:123456789012:task/"
		"production/"
		"%s\",\"name\":\"app\",\"image\":\"123456789012.dkr.ecr.eu-west-1.amazonaws.com/"
		"web:2026-11-16\",\"runtimeId\":\"%s-%d\",\"lastStatus\":\"RUNNING\","
		"\"networkBindings\":"
		"[],\"networkInterfaces\":[{\"attachmentId\":\"%s\",\"privateIpv4Address\":"
		"\"10.0.1.%d\"}],\"healthStatus\":\"HEALTHY\",\"cpu\":\"256\",\"memory\":\"512\"}]"
		",",
		id, id, id, number, id, number & 255);
	buffer_format(out,
		"\"cpu\":\"512\",\"createdAt\":1700000%03d.5,\"desiredStatus\":\"RUNNING\","
		"\"enableExecuteCommand\":false,\"group\":\"service:web\",\"healthStatus\":"
		"\"HEALTHY\","
		"\"lastStatus\":\"RUNNING\",\"launchType\":\"FARGATE\",\"memory\":\"1024\","
		"\"overrides\":{\"containerOverrides\":[{\"name\":\"app\"}],"
		"\"inferenceAcceleratorOverrides\""
		":[]},\"platformFamily\":\"Linux\",\"platformVersion\":\"1.4.0\",\"pullStartedAt\":"
		"1700000001.25,\"pullStoppedAt\":1700000009.75,\"startedAt\":1700000012.001,"
		"\"startedBy\":\"ecs-svc/"
		"%d\",\"tags\":[{\"key\":\"team\",\"value\":\"storefront\"}],"
		"\"taskArn\":\"arn:aws:ecs:eu-west-1:123456789012:task/production/%s\","
		"\"taskDefinitionArn\":\"arn:aws:ecs:eu-west-1:123456789012:task-definition/"
		"web:%d\","
		"\"version\":5,\"ephemeralStorage\":{\"sizeInGiB\":20}}",
		number % 1000, number, id, number);
}

static void add_tasks(struct buffer *out)
{
	buffer_add_string(out, "{\"tasks\":[");
	for (int i = 0; i < TASKS; i++) {
		if (i > 0)
			buffer_add_char(out, ',');
		add_task(out, i);
	}
	buffer_add_string(out, "],\"failures\":[]}");
}

/* Nanoseconds for one parse, over as many as fill a round. */
static double measure(const struct parser *parser, struct span text)
{
	struct clock *clock = clock_system();
	int64_t start = clock_steady_us(clock), now = start;
	size_t parses = 0;

	while (now - start < ROUND_US) {
		for (int i = 0; i < 4; i++)
			parser->parse(text.data, text.length, 0);
		parses += 4;
		now = clock_steady_us(clock);
	}
	return (double)(now - start) * 1000 / (double)parses;
}

static void compare(const char *title, struct span text)
{
	double best[LENGTH(parsers)] = {0};
	size_t values = json_parse_slipway(text.data, text.length, 1);

	for (size_t i = 0; i < LENGTH(parsers); i++) {
		if (parsers[i].parse(text.data, text.length, 1) != values) {
			fprintf(stderr, "%s does not find %zu values\n", parsers[i].name, values);
			exit(1);
		}
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < LENGTH(parsers); i++) {
			double time = measure(&parsers[i], text);

			if (best[i] == 0 || time < best[i])
				best[i] = time;
		}
	}
	printf("%s: %zu bytes, %zu values\n", title, text.length, values);
	printf("  %-10s %14s %10s %14s\n", "parser", "ns/document", "MB/s", "of slipway's time");
	for (size_t i = 0; i < LENGTH(parsers); i++)
		printf("  %-10s %14.0f %10.0f %13.1fx\n", parsers[i].name, best[i],
			(double)text.length * 1000 / best[i], best[i] / best[0]);
}

int main(void)
{
	_buffer_ struct buffer tasks = {0};

	request_arena = arena_new(0);
	add_tasks(&tasks);
	compare("RegisterTaskDefinition request", span_of(task_definition));
	compare("DescribeTasks answer, 100 tasks", buffer_span(&tasks));
	arena_free(request_arena);
	return 0;
}
