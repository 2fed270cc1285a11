/* Reads the daemon's description of a container; see the header. */
#include "runtime/docker/facts.h"

#include <stdio.h>
#include <time.h>

#include "base/memory.h"

#define NANO ((int64_t)1000 * 1000 * 1000)

/* ---- times ---- */

static bool read_digits(struct span text, size_t from, size_t count, int *ret_number)
{
	int number = 0;

	if (from + count > text.length)
		return false;
	for (size_t i = from; i < from + count; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		number = number * 10 + (text.data[i] - '0');
	}
	*ret_number = number;
	return true;
}

/* ".850511355" behind the seconds, of any length. */
static int64_t read_fraction(struct span text, size_t *at)
{
	int64_t fraction = 0, unit = NANO;

	if (*at >= text.length || text.data[*at] != '.')
		return 0;
	for ((*at)++; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9';
		(*at)++) {
		unit /= 10;
		fraction += unit * (text.data[*at] - '0');
	}
	return fraction;
}

/* "Z" or "+02:00"; false if it is neither. */
static bool read_zone(struct span text, size_t *at, int64_t *ret_seconds)
{
	int hours, minutes;
	char sign = *at < text.length ? text.data[*at] : '\0';

	if (sign == 'Z') {
		(*at)++;
		*ret_seconds = 0;
		return true;
	}
	if ((sign != '+' && sign != '-') || !read_digits(text, *at + 1, 2, &hours) ||
		!read_digits(text, *at + 4, 2, &minutes) || text.data[*at + 3] != ':')
		return false;
	*at += 6;
	*ret_seconds = (sign == '-' ? -1 : 1) * ((int64_t)hours * 3600 + (int64_t)minutes * 60);
	return true;
}

int64_t docker_parse_time(struct span text, size_t *ret_length)
{
	static const char shape[] = "0000-00-00T00:00:00";
	struct tm parts = {0};
	int64_t fraction, zone;
	size_t at = sizeof(shape) - 1;

	if (text.length < at || !read_digits(text, 0, 4, &parts.tm_year) ||
		!read_digits(text, 5, 2, &parts.tm_mon) ||
		!read_digits(text, 8, 2, &parts.tm_mday) ||
		!read_digits(text, 11, 2, &parts.tm_hour) ||
		!read_digits(text, 14, 2, &parts.tm_min) ||
		!read_digits(text, 17, 2, &parts.tm_sec))
		return 0;
	for (size_t i = 0; i < at; i++)
		if (shape[i] != '0' && text.data[i] != shape[i])
			return 0;
	fraction = read_fraction(text, &at);
	if (!read_zone(text, &at, &zone) || parts.tm_year < 1970 || parts.tm_year > 2200)
		return 0;
	parts.tm_year -= 1900;
	parts.tm_mon -= 1;
	if (ret_length)
		*ret_length = at;
	return ((int64_t)timegm(&parts) - zone) * NANO + fraction;
}

/* ---- containers ---- */

static void copy_text(char *to, size_t size, struct span text)
{
	snprintf(to, size, "%.*s", text.data ? (int)text.length : 0, text.data ? text.data : "");
}

static const struct {
	const char *name;
	enum docker_status status;
} statuses[] = {
	{"created", DOCKER_CREATED},
	{"configured", DOCKER_CREATED},
	{"initialized", DOCKER_CREATED},
	{"running", DOCKER_RUNNING},
	{"paused", DOCKER_RUNNING},
	{"restarting", DOCKER_RUNNING},
	{"stopping", DOCKER_RUNNING},
	{"exited", DOCKER_ENDED},
	{"stopped", DOCKER_ENDED},
	{"dead", DOCKER_ENDED},
	{"removing", DOCKER_ENDED},
};

static enum docker_status status_of(const struct json *state)
{
	struct span text = json_get_text(state, "Status");

	for (size_t i = 0; i < LENGTH(statuses); i++)
		if (span_is(text, statuses[i].name))
			return statuses[i].status;
	return json_get_bool(state, "Running", false) ? DOCKER_RUNNING : DOCKER_ENDED;
}

static enum runtime_health health_of(const struct json *inspected)
{
	struct span text = json_text(json_path(inspected, "State.Health.Status"));
	struct span test = json_text(json_item(json_path(inspected, "Config.Healthcheck.Test"), 0));

	if (!test.data || span_is(test, "NONE"))
		return RUNTIME_HEALTH_NONE;
	if (span_is(text, "healthy"))
		return RUNTIME_HEALTHY;
	return span_is(text, "unhealthy") ? RUNTIME_UNHEALTHY : RUNTIME_HEALTH_UNKNOWN;
}

/* The last check of State.Health.Log, as one line. */
static void read_health_reason(const struct json *inspected, struct docker_facts *facts)
{
	const struct json *log = json_path(inspected, "State.Health.Log");
	size_t count = json_array_count(log), length;
	const struct json *last = count > 0 ? json_item(log, count - 1) : NULL;
	struct span output = json_get_text(last, "Output");
	int64_t code = json_get_integer(last, "ExitCode", 0);

	if (code == 0)
		return;
	output = span_trim(output.data ? output : SPAN(""));
	if (code < 0)
		copy_text(facts->health_reason, sizeof(facts->health_reason), output);
	else
		snprintf(facts->health_reason, sizeof(facts->health_reason), "exit code %lld%s%.*s",
			(long long)code, output.length > 0 ? ": " : "", SPAN_ARGS(output));
	length = strlen(facts->health_reason);
	for (size_t i = 0; i < length; i++)
		if (facts->health_reason[i] == '\n' || facts->health_reason[i] == '\t')
			facts->health_reason[i] = ' ';
		else if (facts->health_reason[i] < ' ' || facts->health_reason[i] > '~')
			facts->health_reason[i] = '?';
}

/* "80/tcp" and [{"HostIp":"0.0.0.0","HostPort":"32768"}, …]: the same port once for each family. */
static void read_port(struct span name, const struct json *list, struct arena *arena,
	struct docker_facts *facts)
{
	struct span number, protocol;
	uint64_t container_port, host_port;

	if (!span_split(name, '/', &number, &protocol) ||
		!span_to_unsigned(number, UINT16_MAX, &container_port))
		return;
	JSON_EACH_ITEM (list, item) {
		struct runtime_binding binding = {.container_port = (uint16_t)container_port,
			.udp = span_is(protocol, "udp"),
			.address = json_get_text(item, "HostIp")};
		bool known = false;

		binding.address = binding.address.data
					  ? span_of(arena_copy(arena, binding.address.data,
						    binding.address.length))
					  : SPAN("0.0.0.0");

		if (!span_to_unsigned(json_get_text(item, "HostPort"), UINT16_MAX, &host_port) ||
			host_port == 0)
			continue;
		binding.host_port = (uint16_t)host_port;
		for (size_t i = 0; i < facts->binding_count; i++)
			known |= facts->bindings[i].container_port == binding.container_port &&
				 facts->bindings[i].host_port == binding.host_port &&
				 facts->bindings[i].udp == binding.udp;
		if (!known && facts->binding_count < RUNTIME_BINDINGS_MAX)
			facts->bindings[facts->binding_count++] = binding;
	}
}

static void read_network(const struct json *settings, struct arena *arena,
	struct docker_facts *facts)
{
	const struct json *ports = json_get(settings, "Ports");
	const struct json *networks = json_get(settings, "Networks");

	for (uint32_t i = 0; json_is(ports, JSON_OBJECT) && i < ports->object.count; i++)
		read_port(ports->object.members[i].name, ports->object.members[i].value, arena,
			facts);
	for (uint32_t i = 0; json_is(networks, JSON_OBJECT) && i < networks->object.count; i++) {
		const struct json *network = networks->object.members[i].value;

		if (facts->address[0] || json_get_text(network, "IPAddress").length == 0)
			continue;
		copy_text(facts->address, sizeof(facts->address),
			json_get_text(network, "IPAddress"));
		copy_text(facts->mac, sizeof(facts->mac), json_get_text(network, "MacAddress"));
	}
}

void docker_facts_read(const struct json *inspected, struct arena *arena,
	struct docker_facts *facts)
{
	const struct json *state = json_get(inspected, "State");

	*facts = (struct docker_facts){.status = status_of(state),
		.bindings = arena_allocate_array(arena, RUNTIME_BINDINGS_MAX,
			sizeof(*facts->bindings))};
	copy_text(facts->id, sizeof(facts->id), json_get_text(inspected, "Id"));
	copy_text(facts->error, sizeof(facts->error), json_get_text(state, "Error"));
	copy_text(facts->stop_signal, sizeof(facts->stop_signal),
		json_text(json_path(inspected, "Config.StopSignal")));
	facts->exit_code = (int)json_get_integer(state, "ExitCode", 0);
	facts->out_of_memory = json_get_bool(state, "OOMKilled", false);
	facts->started_ns = docker_parse_time(json_get_text(state, "StartedAt"), NULL);
	facts->ended_ns = docker_parse_time(json_get_text(state, "FinishedAt"), NULL);
	if (facts->status == DOCKER_ENDED && facts->started_ns == 0)
		facts->status = DOCKER_CREATED;
	facts->health = health_of(inspected);
	if (facts->health == RUNTIME_UNHEALTHY)
		read_health_reason(inspected, facts);
	read_network(json_get(inspected, "NetworkSettings"), arena, facts);
}
