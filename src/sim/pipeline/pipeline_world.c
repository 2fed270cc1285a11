/* The remote ECS: its store, its controllers on simulated machines, a name, and target groups behind a listener. */
#include <stdio.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/ecs.h"
#include "ecs/record/container_instance.h"
#include "elb/elb.h"
#include "sim/pipeline/pipeline_sim.h"

#define KINDS_MAX 64
#define INSTANCES 3
#define INSTANCE_MEMORY 8192
#define DRAIN_SECONDS 3
#define TARGETS_AT_ONCE 128
#define SICK_ONE_IN 40 /* looks at the targets */
#define SICK_US (25 * SIM_SECOND_US)

static struct elb_context elb_context = {
	.domain = {"simulated.internal", 18},
	.addresses = {"127.192.0.0/16", 14},
	.instance_address = container_instance_address,
};

/* ---- requests ---- */

struct exchange {
	struct arena *arena;
	struct json *answer;
	int status;
};

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct exchange *exchange = context;
	struct span body = arena_copy_span(exchange->arena, answer->body);

	exchange->status = answer->status;
	if (json_parse(body, exchange->arena, &exchange->answer, NULL) < 0)
		exchange->answer = NULL;
}

const struct json *pipeline_sim_request(struct pipeline_sim *sim, const struct aws_service *service,
	struct arena *arena, const char *operation, const char *format, ...)
{
	static const struct aws_caller caller = {.account = {SIMULATION_ACCOUNT, 12},
		.user = {"admin", 5},
		.access_key = {"", 0},
		.region = {SIMULATION_REGION, 9}};
	struct exchange exchange = {.arena = arena};
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(sim->remote_dispatcher, service, span_of(operation), &caller, body, arena,
		take_answer, &exchange);
	if (exchange.status != 200)
		runner_trace(sim->root, "%s %.*s: %d", operation, SPAN_ARGS(body), exchange.status);
	return exchange.status == 200 ? exchange.answer : NULL;
}

/* ---- names and target groups ---- */

static char *keep(const struct json *answer, const char *path)
{
	struct span text = json_text(json_path(answer, path));

	return text.data ? memory_copy_string_n(text.data, text.length) : NULL;
}

static char *keep_of_first(const struct json *answer, const char *list, const char *member)
{
	return keep(json_item(json_get(answer, list), 0), member);
}

static bool define_name(struct pipeline_sim *sim)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *answer;
	struct span id;

	pipeline_sim_request(sim, &cloudmap_service, arena, "CreatePrivateDnsNamespace",
		"{'Name':'internal','Vpc':'vpc-1'}");
	answer = pipeline_sim_request(sim, &cloudmap_service, arena, "ListNamespaces", "{}");
	id = json_get_text(json_item(json_get(answer, "Namespaces"), 0), "Id");
	if (!id.data)
		return false;
	answer = pipeline_sim_request(sim, &cloudmap_service, arena, "CreateService",
		"{'Name':'abc','NamespaceId':'%.*s','DnsConfig':{'DnsRecords':[{'Type':'A','TTL':"
		"%d}]},'HealthCheckCustomConfig':{'FailureThreshold':1}}",
		SPAN_ARGS(id), SIM_TTL_SECONDS);
	sim->registry_arn = keep(answer, "Service.Arn");
	sim->registry_id = keep(answer, "Service.Id");
	sim->preview_arn = keep(pipeline_sim_request(sim, &cloudmap_service, arena, "CreateService",
					"{'Name':'preview','NamespaceId':'%.*s','DnsConfig':{"
					"'DnsRecords':[{'Type':'A','TTL':%d}]}}",
					SPAN_ARGS(id), SIM_TTL_SECONDS),
		"Service.Arn");
	/* An instance of another owner. */
	return sim->registry_id &&
	       pipeline_sim_request(sim, &cloudmap_service, arena, "RegisterInstance",
		       "{'ServiceId':'%s','InstanceId':'foreign','CreatorRequestId':'1',"
		       "'Attributes':{'AWS_INSTANCE_IPV4':'10.9.9.9'}}",
		       sim->registry_id);
}

static char *define_group(struct pipeline_sim *sim, struct arena *arena, const char *name)
{
	char *arn =
		keep_of_first(pipeline_sim_request(sim, &elb_service, arena, "CreateTargetGroup",
				      "{'Name':'%s','Protocol':'HTTP','Port':8080,'TargetType':"
				      "'ip',"
				      "'VpcId':'vpc-1'}",
				      name),
			"TargetGroups", "TargetGroupArn");

	if (arn)
		pipeline_sim_request(sim, &elb_service, arena, "ModifyTargetGroupAttributes",
			"{'TargetGroupArn':'%s','Attributes':[{'Key':'deregistration_delay."
			"timeout_seconds','Value':'%d'}]}",
			arn, DRAIN_SECONDS);
	return arn;
}

static bool define_rule(struct pipeline_sim *sim, struct arena *arena, unsigned priority,
	struct span actions)
{
	return pipeline_sim_request(sim, &elb_service, arena, "CreateRule",
		"{'ListenerArn':'%s','Priority':%u,'Conditions':[{'Field':'path-pattern',"
		"'Values':['/%u']}],'Actions':%.*s}",
		sim->listener_arn, priority, priority, SPAN_ARGS(actions));
}

/* The default rule and another one forward to the pair, a third rule to another group. */
static bool define_balancer(struct pipeline_sim *sim)
{
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *balancer =
		keep_of_first(pipeline_sim_request(sim, &elb_service, arena, "CreateLoadBalancer",
				      "{'Name':'front','Type':'application','Subnets':['subnet-1','"
				      "subnet-2']}"),
			"LoadBalancers", "LoadBalancerArn");
	struct span pair;

	sim->blue_arn = define_group(sim, arena, "blue");
	sim->green_arn = define_group(sim, arena, "green");
	sim->other_arn = define_group(sim, arena, "other");
	if (!balancer || !sim->blue_arn || !sim->green_arn || !sim->other_arn)
		return false;
	pair = arena_format(arena,
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s',"
		"'Weight':100},{'TargetGroupArn':'%s','Weight':0}],'TargetGroupStickinessConfig':"
		"{'Enabled':true,'DurationSeconds':60}}}]",
		sim->blue_arn, sim->green_arn);
	sim->listener_arn =
		keep_of_first(pipeline_sim_request(sim, &elb_service, arena, "CreateListener",
				      "{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80,"
				      "'DefaultActions':%.*s}",
				      balancer, SPAN_ARGS(pair)),
			"Listeners", "ListenerArn");
	return sim->listener_arn && define_rule(sim, arena, 1, pair) &&
	       define_rule(sim, arena, 2,
		       arena_format(arena, "[{'Type':'forward','TargetGroupArn':'%s'}]",
			       sim->other_arn));
}

/* ---- the plane ---- */

static bool is_sick(const struct pipeline_sim *sim, struct span group)
{
	return (sim->sick_group == PIPELINE_BLUE && span_is(group, "blue")) ||
	       (sim->sick_group == PIPELINE_GREEN && span_is(group, "green"));
}

static int tend_target(struct pipeline_sim *sim, struct store_transaction *transaction,
	const struct store_object *target, struct err *err)
{
	const struct elb_target_facts *facts = elb_target_facts(target);
	int64_t now_ms = runner_wall_ms(sim->root);

	if (facts->state == ELB_TARGET_DRAINING)
		return facts->drain_until_ms > now_ms ? 0
						      : store_delete(transaction, &elb_target_kind,
								target->key, target->revision, err);
	if (is_sick(sim, facts->group))
		return elb_target_set_state(transaction, target, ELB_TARGET_UNHEALTHY,
			PROBE_REASON_FAILED, 0, now_ms, store_transaction_arena(transaction), err);
	if (facts->state == ELB_TARGET_HEALTHY || sim_one_in(sim, 2))
		return 0;
	return elb_target_set_state(transaction, target, ELB_TARGET_HEALTHY, PROBE_REASON_NONE, 0,
		now_ms, store_transaction_arena(transaction), err);
}

static int tend(struct store_transaction *transaction, void *context, struct err *err)
{
	struct pipeline_sim *sim = context;
	struct store_cursor cursor = {
		.view = store_head(transaction), .kind = &elb_target_kind, .index = -1};
	const struct store_object *targets[TARGETS_AT_ONCE], *target;
	size_t count = 0;
	int code = 0;

	/* A cursor does not survive a change. */
	while (count < TARGETS_AT_ONCE && (target = store_next(&cursor)))
		targets[count++] = target;
	for (size_t i = 0; code == 0 && i < count; i++)
		code = tend_target(sim, transaction, targets[i], err);
	return code;
}

/* Only groups without traffic become sick: the others would break I1 without any fault of the engine. */
static void draw_sickness(struct pipeline_sim *sim)
{
	int64_t now_us = runner_now_us(sim->root);

	if (sim->sick_group && now_us >= sim->sick_until_us)
		sim->sick_group = PIPELINE_NO_GROUP;
	if (sim->sick_group || !sim->is_faulty || !sim_one_in(sim, SICK_ONE_IN))
		return;
	sim->sick_group = pipeline_checker_find_unused(sim->checker);
	sim->sick_since_us = now_us;
	sim->sick_until_us = now_us + SICK_US;
}

void pipeline_sim_tend_world(struct pipeline_sim *sim)
{
	draw_sickness(sim);
	if (!sim->plan.course.has_names)
		store_write_wait(sim->remote_store, tend, sim, NULL, NULL);
}

/* ---- the world ---- */

static size_t collect_kinds(const struct store_kind *kinds[KINDS_MAX])
{
	const struct {
		const struct store_kind *const *kinds;
		size_t count;
	} tables[] = {{ecs_kinds, ecs_kind_count}, {cloudmap_kinds, cloudmap_kind_count},
		{elb_kinds, elb_kind_count}};
	size_t count = 0;

	for (size_t i = 0; i < LENGTH(tables); i++)
		for (size_t j = 0; j < tables[i].count; j++)
			kinds[count++] = tables[i].kinds[j];
	return count;
}

static int open_machines(struct pipeline_sim *sim, struct err *err)
{
	struct simulated_config config = {
		.instances = INSTANCES, .cpu = 4096, .memory = INSTANCE_MEMORY};
	int code = simulated_world_new(sim->root, &config, &sim->machines, err);

	if (code < 0)
		return code;
	sim->ecs.name = "ecs";
	sim->ecs.has_machines = true;
	return service_server_boot(&sim->ecs, sim->root, sim->remote_store, sim->machines, err);
}

int pipeline_sim_open_world(struct pipeline_sim *sim, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(sim->root),
		.inline_writes = true};
	struct aws_dispatch_config dispatch = {.clock = config.clock, .random = sim->random};
	int code = store_open(&config, &sim->remote_store, err);

	if (code < 0)
		return code;
	dispatch.store = sim->remote_store;
	sim->remote_dispatcher = aws_dispatcher_new(&dispatch);
	aws_dispatcher_register(sim->remote_dispatcher, &ecs_service, NULL);
	aws_dispatcher_register(sim->remote_dispatcher, &cloudmap_service, NULL);
	aws_dispatcher_register(sim->remote_dispatcher, &elb_service, &elb_context);
	pipeline_sim_request(sim, &ecs_service, arena, "CreateCluster", "{}");
	if (!define_name(sim) || !define_balancer(sim))
		return err_set(err, -EIO, "the names and target groups could not be created");
	code = open_machines(sim, err);
	return code < 0 ? code : pipeline_checker_follow(sim->checker, err);
}

void pipeline_sim_close_world(struct pipeline_sim *sim)
{
	char *const texts[] = {sim->registry_arn, sim->registry_id, sim->preview_arn,
		sim->listener_arn, sim->blue_arn, sim->green_arn, sim->other_arn};

	service_server_take_down(&sim->ecs);
	simulated_world_free(sim->machines);
	pipeline_checker_unfollow(sim->checker);
	aws_dispatcher_free(sim->remote_dispatcher);
	for (size_t i = 0; i < LENGTH(texts); i++)
		free(texts[i]);
	for (unsigned i = 0; i < sim->operation_count; i++)
		free(sim->operations[i].request);
	for (unsigned i = 0; i < sim->late_call_count; i++)
		free(sim->late_calls[i].request);
}
