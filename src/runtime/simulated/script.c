/* Reads what a simulated task does from its spec. */
#include <inttypes.h>

#include "runtime/simulated/world.h"
#include "runtime/spec.h"

#define NAME_MAX_LENGTH 255
#define STOP_TIMEOUT_SECONDS 30
#define STOP_TIMEOUT_MAX_SECONDS (24 * 3600)
#define HOLD_MAX_SECONDS (24 * 3600)
#define SIZE_MAX_OF_TASK (INT64_C(1) << 40) /* units and MiB; more fits nowhere anyway */

const struct simulated_behaviour simulated_behaviour_default = {
	.run = {SIMULATED_NEVER, SIMULATED_NEVER},
	.unhealthy = {SIMULATED_NEVER, SIMULATED_NEVER},
};

/* ---- settings of the first container ---- */

enum setting_type { SETTING_TIME, SETTING_TIME_OR_NEVER, SETTING_CODE, SETTING_TEXT };

static const struct setting {
	const char *name;
	enum setting_type type;
	size_t offset; /* in struct script */
} settings[] = {
	{"SIMULATED_START_MS", SETTING_TIME, offsetof(struct script, behaviour.start)},
	{"SIMULATED_RUN_MS", SETTING_TIME_OR_NEVER, offsetof(struct script, behaviour.run)},
	{"SIMULATED_HEALTH_MS", SETTING_TIME_OR_NEVER, offsetof(struct script, behaviour.health)},
	{"SIMULATED_UNHEALTHY_AFTER_MS", SETTING_TIME_OR_NEVER,
		offsetof(struct script, behaviour.unhealthy)},
	{"SIMULATED_STOP_MS", SETTING_TIME_OR_NEVER, offsetof(struct script, behaviour.stop)},
	{"SIMULATED_PLACE_MS", SETTING_TIME, offsetof(struct script, behaviour.place)},
	{"SIMULATED_EXIT_CODE", SETTING_CODE, offsetof(struct script, behaviour.exit_code)},
	{"SIMULATED_FAIL_START", SETTING_TEXT, offsetof(struct script, fail_start)},
};

static bool read_time(struct span text, bool may_be_never, struct simulated_time *ret_time)
{
	struct span least = text, most = text;
	uint64_t least_ms, most_ms;

	if (may_be_never && span_is(text, "never")) {
		*ret_time = (struct simulated_time){SIMULATED_NEVER, SIMULATED_NEVER};
		return true;
	}
	span_split(text, '-', &least, &most);
	if (!span_to_unsigned(least, SIMULATED_TIME_MAX_MS, &least_ms) ||
		!span_to_unsigned(most, SIMULATED_TIME_MAX_MS, &most_ms) || least_ms > most_ms)
		return false;
	*ret_time = (struct simulated_time){(int64_t)least_ms, (int64_t)most_ms};
	return true;
}

static int read_setting(struct script *script, struct span name, struct span value, struct err *err)
{
	const struct setting *setting = settings;
	const struct setting *end = settings + LENGTH(settings);
	uint64_t number;
	void *place;

	if (!span_starts_with(name, SPAN("SIMULATED_")))
		return 0;
	while (setting < end && !span_is(name, setting->name))
		setting++;
	if (setting == end)
		return 0; /* perhaps the program's own */
	place = (char *)script + setting->offset;
	switch (setting->type) {
	case SETTING_TIME:
	case SETTING_TIME_OR_NEVER:
		if (read_time(value, setting->type == SETTING_TIME_OR_NEVER, place))
			return 0;
		return err_set(err, -EINVAL,
			"%s '%.*s' is not a time: milliseconds up to %" PRId64 ", as 20 or 10-50%s",
			setting->name, SPAN_ARGS(value), SIMULATED_TIME_MAX_MS,
			setting->type == SETTING_TIME_OR_NEVER ? ", or never" : "");
	case SETTING_CODE:
		if (!span_to_unsigned(value, 255, &number))
			return err_set(err, -EINVAL, "%s '%.*s' is not a number from 0 to 255",
				setting->name, SPAN_ARGS(value));
		*(int *)place = (int)number;
		return 0;
	case SETTING_TEXT:
		if (value.length > SIMULATED_REASON_MAX)
			return err_set(err, -EINVAL, "%s is longer than %d bytes", setting->name,
				SIMULATED_REASON_MAX);
		*(struct span *)place = arena_copy_span(script->arena, value);
		return 0;
	}
	return 0;
}

static int read_settings(struct script *script, const struct json *container, struct err *err)
{
	int code;

	JSON_EACH_ITEM (json_get(container, "environment"), item) {
		struct span value = json_get_text(item, "value");

		code = read_setting(script, json_get_text(item, "name"),
			value.data ? value : SPAN(""), err);
		if (code < 0)
			return code;
	}
	JSON_EACH_ITEM (json_get(container, "command"), item) {
		struct span name, value;

		if (!json_is(item, JSON_STRING) || !span_split(json_text(item), '=', &name, &value))
			continue;
		code = read_setting(script, name, value, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- the rest of the spec ---- */

static int read_port(const struct json *mapping, struct script_port *ret_port, struct err *err)
{
	int64_t container_port = json_get_integer(mapping, "containerPort", -1);
	int64_t host_port = json_get_integer(mapping, "hostPort", 0);

	if (container_port < 1 || container_port > UINT16_MAX)
		return err_set(err, -EINVAL, "portMappings: containerPort is not from 1 to 65535");
	if (host_port < 0 || host_port > UINT16_MAX)
		return err_set(err, -EINVAL, "portMappings: hostPort is not from 0 to 65535");
	*ret_port = (struct script_port){
		.container_port = (uint16_t)container_port,
		.host_port = (uint16_t)host_port,
		.udp = span_is(json_get_text(mapping, "protocol"), "udp"),
	};
	return 0;
}

static int read_container(struct script *script, const struct json *container, struct err *err)
{
	struct script_container *out = &script->containers[script->container_count];
	struct span name = json_get_text(container, "name");
	const struct json *ports = json_get(container, "portMappings");
	int code;

	if (!name.data || name.length < 1 || name.length > NAME_MAX_LENGTH)
		return err_set(err, -EINVAL, "container %zu has no name of 1 to %d bytes",
			script->container_count + 1, NAME_MAX_LENGTH);
	if (json_array_count(ports) > RUNTIME_BINDINGS_MAX)
		return err_set(err, -EINVAL, "container '%.*s' has more than %d portMappings",
			SPAN_ARGS(name), RUNTIME_BINDINGS_MAX);
	out->name = arena_copy_span(script->arena, name);
	out->has_health_check = json_is(json_get(container, "healthCheck"), JSON_OBJECT);
	out->ports =
		arena_allocate_array(script->arena, json_array_count(ports), sizeof(*out->ports));
	JSON_EACH_ITEM (ports, mapping) {
		code = read_port(mapping, &out->ports[out->port_count], err);
		if (code < 0)
			return err_prefix(err, code, "container '%.*s'", SPAN_ARGS(name));
		out->port_count++;
	}
	if (script->container_count++ == 0) {
		int64_t seconds = json_get_integer(container, "stopTimeout", STOP_TIMEOUT_SECONDS);

		if (seconds < 0 || seconds > STOP_TIMEOUT_MAX_SECONDS)
			return err_set(err, -EINVAL,
				"container '%.*s': stopTimeout is not from 0 to %d seconds",
				SPAN_ARGS(name), STOP_TIMEOUT_MAX_SECONDS);
		script->stop_timeout_ms = seconds * 1000;
		code = read_settings(script, container, err);
		if (code < 0)
			return err_prefix(err, code, "container '%.*s'", SPAN_ARGS(name));
	}
	return 0;
}

static struct span copy_member(struct script *script, const struct json *spec, const char *name)
{
	struct span text = json_get_text(spec, name);

	return text.data ? arena_copy_span(script->arena, text) : SPAN("");
}

/* Once for the task, or added up from its containers. */
static int64_t read_size(const struct json *spec, const char *name, const char *soft_name)
{
	int64_t sum = json_get_integer(spec, name, 0);

	if (sum > 0)
		return sum < SIZE_MAX_OF_TASK ? sum : SIZE_MAX_OF_TASK;
	sum = 0;
	JSON_EACH_ITEM (json_get(spec, "containers"), container) {
		int64_t soft = json_get_integer(container, soft_name, 0);
		int64_t size = soft > 0 ? soft : json_get_integer(container, name, 0);

		if (size > 0)
			sum += size < SIZE_MAX_OF_TASK ? size : SIZE_MAX_OF_TASK;
	}
	return sum;
}

/* Members for drivers that keep replicas and choose instances. */
static int read_group_members(struct script *script, const struct json *spec, struct err *err)
{
	int64_t hold_seconds = json_get_integer(spec, "holdSeconds", 0);

	if (hold_seconds < 0 || hold_seconds > HOLD_MAX_SECONDS)
		return err_set(err, -EINVAL, "holdSeconds is not from 0 to %d", HOLD_MAX_SECONDS);
	script->hold_ms = hold_seconds * 1000;
	script->group = copy_member(script, spec, "group");
	script->gated = json_get_bool(spec, "gated", false);
	script->cpu = read_size(spec, "cpu", "cpu");
	script->memory = read_size(spec, "memory", "memoryReservation");
	JSON_EACH_ITEM (json_get(spec, "constraints"), constraint)
		if (span_is(json_get_text(constraint, "type"), "distinctInstance"))
			script->distinct_instance = true;
	return 0;
}

static int read_spec(struct script *script, const struct json *spec, struct err *err)
{
	const struct json *containers = json_get(spec, "containers");
	int64_t version = json_get_integer(spec, "version", 0);
	int code;

	if (version != RUNTIME_SPEC_VERSION)
		return err_set(err, -EINVAL, "spec has version %" PRId64 ", this runtime knows %d",
			version, RUNTIME_SPEC_VERSION);
	if (json_array_count(containers) < 1 ||
		json_array_count(containers) > RUNTIME_CONTAINERS_MAX)
		return err_set(err, -EINVAL, "a task has 1 to %d containers, not %zu",
			RUNTIME_CONTAINERS_MAX, json_array_count(containers));
	script->family = copy_member(script, spec, "family");
	script->revision = json_get_integer(spec, "revision", 0);
	script->service = copy_member(script, spec, "service");
	script->cluster = copy_member(script, spec, "cluster");
	script->network_mode = copy_member(script, spec, "networkMode");
	script->fail_start = SPAN("");
	JSON_EACH_ITEM (containers, container) {
		code = read_container(script, container, err);
		if (code < 0)
			return code;
	}
	return read_group_members(script, spec, err);
}

/* ---- equal scripts are one ---- */

static void key_text(struct buffer *out, struct span text)
{
	buffer_add_unsigned(out, text.length);
	buffer_add_char(out, ':');
	buffer_add_span(out, text);
}

static void key_number(struct buffer *out, int64_t number)
{
	buffer_add_signed(out, number);
	buffer_add_char(out, ',');
}

static void write_key(const struct script *script, struct buffer *out)
{
	const struct simulated_behaviour *b = &script->behaviour;
	const struct simulated_time *times[] = {
		&b->start, &b->run, &b->health, &b->unhealthy, &b->stop, &b->place};
	const struct span texts[] = {script->family, script->service, script->cluster,
		script->network_mode, script->fail_start, script->group};
	const int64_t numbers[] = {script->revision, b->exit_code, script->stop_timeout_ms,
		script->hold_ms, script->cpu, script->memory, script->gated,
		script->distinct_instance};

	for (size_t i = 0; i < LENGTH(texts); i++)
		key_text(out, texts[i]);
	for (size_t i = 0; i < LENGTH(times); i++) {
		key_number(out, times[i]->least_ms);
		key_number(out, times[i]->most_ms);
	}
	for (size_t i = 0; i < LENGTH(numbers); i++)
		key_number(out, numbers[i]);
	for (size_t i = 0; i < script->container_count; i++) {
		const struct script_container *container = &script->containers[i];

		key_text(out, container->name);
		key_number(out, container->has_health_check);
		key_number(out, (int64_t)container->port_count);
		for (size_t j = 0; j < container->port_count; j++) {
			key_number(out, container->ports[j].host_port);
			key_number(out, container->ports[j].container_port);
			key_number(out, container->ports[j].udp);
		}
	}
}

static void script_free(struct script *script)
{
	arena_free(script->arena); /* it lives in there itself */
}

int simulated_script_parse(const struct json *spec, const struct simulated_behaviour *defaults,
	struct script **ret_script, struct err *err)
{
	struct arena *arena = arena_new(0);
	struct script *script = arena_allocate(arena, sizeof(*script));
	_buffer_ struct buffer key = {0};
	int code;

	script->arena = arena;
	script->references = 1;
	script->behaviour = *defaults;
	code = read_spec(script, spec, err);
	if (code < 0) {
		script_free(script);
		return code;
	}
	write_key(script, &key);
	script->key = arena_copy_span(arena, buffer_span(&key));
	*ret_script = script;
	return 0;
}

struct script *simulated_script_share(struct simulated_world *world, struct script *script)
{
	struct script *known = map_get(&world->scripts, script->key);

	if (known == script)
		return script;
	if (!known) {
		map_put(&world->scripts, script->key, script);
		return script;
	}
	known->references++;
	script_free(script);
	return known;
}

void simulated_script_release(struct simulated_world *world, struct script *script)
{
	if (--script->references > 0)
		return;
	if (map_get(&world->scripts, script->key) == script)
		map_remove(&world->scripts, script->key);
	script_free(script);
}
