/* The record, written and read. Enumerations travel by name, so that versions can differ in order.
 * */
#include "runtime/task/record.h"

#include "base/memory.h"
#include "runtime/task/plan.h"

static const char *const phase_names[RUNTIME_PHASE_COUNT] = {
	"PENDING", "RUNNING", "STOPPING", "STOPPED"};
static const char *const health_names[] = {"NONE", "UNKNOWN", "HEALTHY", "UNHEALTHY"};
static const char *const stop_names[] = {"NONE", "FAILED_TO_START", "ESSENTIAL", "ASKED", "LOST"};

static int index_of(const char *const *names, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(name, names[i]))
			return (int)i;
	return -1;
}

static void add_text(struct buffer *out, const char *name, struct span text)
{
	buffer_format(out, ",\"%s\":", name);
	json_write_string(text.data ? text : SPAN(""), out);
}

static void add_number(struct buffer *out, const char *name, int64_t number)
{
	buffer_format(out, ",\"%s\":%lld", name, (long long)number);
}

static void write_container(const struct runtime_container *container, struct buffer *out)
{
	buffer_add_string(out, "{\"name\":");
	json_write_string(container->name, out);
	add_text(out, "runtimeId", container->runtime_id);
	add_text(out, "phase", span_of(phase_names[container->phase]));
	add_text(out, "health", span_of(health_names[container->health]));
	if (container->has_exit_code)
		add_number(out, "exitCode", container->exit_code);
	add_text(out, "reason", container->reason);
	if (container->health_reason.length > 0)
		add_text(out, "healthReason", container->health_reason);
	add_number(out, "startedMs", container->started_ms);
	add_number(out, "stoppedMs", container->stopped_ms);
	add_number(out, "restarts", container->restarts);
	buffer_add_string(out, ",\"bindings\":[");
	for (size_t i = 0; i < container->binding_count; i++) {
		const struct runtime_binding *binding = &container->bindings[i];

		buffer_format(out, "%s{\"containerPort\":%u,\"hostPort\":%u,\"udp\":%s",
			i ? "," : "", (unsigned)binding->container_port,
			(unsigned)binding->host_port, binding->udp ? "true" : "false");
		add_text(out, "address", binding->address);
		buffer_add_char(out, '}');
	}
	buffer_add_string(out, "]}");
}

void record_write(const struct runtime_task *task, struct buffer *out)
{
	buffer_format(out, "{\"version\":%d", RECORD_VERSION);
	add_text(out, "token", task->token);
	add_text(out, "instance", task->instance);
	add_text(out, "phase", span_of(phase_names[task->phase]));
	add_text(out, "stop", span_of(stop_names[task->stop]));
	add_text(out, "reason", task->reason);
	add_text(out, "address", task->address);
	add_text(out, "mac", task->mac);
	add_text(out, "notes", task->notes);
	add_number(out, "createdMs", task->created_ms);
	add_number(out, "startedMs", task->started_ms);
	add_number(out, "stoppedMs", task->stopped_ms);
	buffer_add_string(out, ",\"containers\":[");
	for (size_t i = 0; i < task->container_count; i++) {
		if (i)
			buffer_add_char(out, ',');
		write_container(&task->containers[i], out);
	}
	buffer_add_string(out, "]}");
}

static struct span get_text(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static int read_container(const struct json *value, struct arena *arena,
	struct runtime_container *container, struct err *err)
{
	int phase = index_of(phase_names, LENGTH(phase_names), get_text(value, "phase"));
	int health = index_of(health_names, LENGTH(health_names), get_text(value, "health"));
	const struct json *bindings = json_get(value, "bindings");
	int64_t code;

	container->name = get_text(value, "name");
	if (phase < 0 || health < 0 || container->name.length == 0)
		return err_set(err, -EINVAL, "a record's container lacks name, phase or health");
	container->runtime_id = get_text(value, "runtimeId");
	container->phase = (enum runtime_phase)phase;
	container->health = (enum runtime_health)health;
	container->has_exit_code = json_integer(json_get(value, "exitCode"), &code);
	container->exit_code = container->has_exit_code ? (int)code : 0;
	container->reason = get_text(value, "reason");
	container->health_reason = get_text(value, "healthReason");
	container->started_ms = json_get_integer(value, "startedMs", 0);
	container->stopped_ms = json_get_integer(value, "stoppedMs", 0);
	container->restarts = (unsigned)json_get_integer(value, "restarts", 0);
	container->bindings = arena_allocate_array(arena, json_array_count(bindings) + 1,
		sizeof(*container->bindings));
	JSON_EACH_ITEM (bindings, item) {
		container->bindings[container->binding_count++] = (struct runtime_binding){
			.container_port = (uint16_t)json_get_integer(item, "containerPort", 0),
			.host_port = (uint16_t)json_get_integer(item, "hostPort", 0),
			.udp = json_get_bool(item, "udp", false),
			.address = get_text(item, "address"),
		};
	}
	return 0;
}

int record_read(const struct json *value, struct arena *arena, struct runtime_task **ret_task,
	struct err *err)
{
	struct runtime_task *task = arena_allocate(arena, sizeof(*task));
	const struct json *containers = json_get(value, "containers");
	int phase, stop, code;

	if (json_get_integer(value, "version", 0) != RECORD_VERSION)
		return err_set(err, -EINVAL, "the record's version is not %d", RECORD_VERSION);
	phase = index_of(phase_names, LENGTH(phase_names), get_text(value, "phase"));
	stop = index_of(stop_names, LENGTH(stop_names), get_text(value, "stop"));
	if (phase < 0 || stop < 0 || json_array_count(containers) > RUNTIME_CONTAINERS_MAX)
		return err_set(err, -EINVAL, "the record is not one of a task");
	task->token = get_text(value, "token");
	task->instance = get_text(value, "instance");
	task->phase = (enum runtime_phase)phase;
	task->stop = (enum runtime_stop)stop;
	task->reason = get_text(value, "reason");
	task->address = get_text(value, "address");
	task->mac = get_text(value, "mac");
	task->notes = get_text(value, "notes");
	task->created_ms = json_get_integer(value, "createdMs", 0);
	task->started_ms = json_get_integer(value, "startedMs", 0);
	task->stopped_ms = json_get_integer(value, "stoppedMs", 0);
	JSON_EACH_ITEM (containers, item) {
		code = read_container(item, arena, &task->containers[task->container_count], err);
		if (code < 0)
			return code;
		task->container_count++;
	}
	*ret_task = task;
	return 0;
}

int record_parse(struct span text, struct arena *arena, struct runtime_task **ret_task,
	struct err *err)
{
	struct json *value;
	int code = json_parse(text, arena, &value, err);

	return code < 0 ? code : record_read(value, arena, ret_task, err);
}

struct runtime_task *record_copy(const struct runtime_task *task, struct arena *arena)
{
	struct runtime_task *copy = arena_allocate(arena, sizeof(*copy));

	*copy = *task;
	copy->token = arena_copy_span(arena, task->token);
	copy->instance = arena_copy_span(arena, task->instance);
	copy->reason = arena_copy_span(arena, task->reason);
	copy->address = arena_copy_span(arena, task->address);
	copy->mac = arena_copy_span(arena, task->mac);
	copy->notes = arena_copy_span(arena, task->notes);
	for (size_t i = 0; i < task->container_count; i++) {
		const struct runtime_container *from = &task->containers[i];
		struct runtime_container *to = &copy->containers[i];

		to->name = arena_copy_span(arena, from->name);
		to->runtime_id = arena_copy_span(arena, from->runtime_id);
		to->reason = arena_copy_span(arena, from->reason);
		to->health_reason = arena_copy_span(arena, from->health_reason);
		to->bindings =
			arena_allocate_array(arena, from->binding_count + 1, sizeof(*to->bindings));
		for (size_t j = 0; j < from->binding_count; j++) {
			to->bindings[j] = from->bindings[j];
			to->bindings[j].address = arena_copy_span(arena, from->bindings[j].address);
		}
	}
	return copy;
}

struct runtime_task *record_of_plan(const struct plan *plan, struct arena *arena)
{
	struct runtime_task *task = arena_allocate(arena, sizeof(*task));
	struct span reached = plan->address.length > 0 ? plan->address : SPAN("127.0.0.1");

	task->token = plan->token;
	task->instance = plan->instance;
	task->reason = task->mac = task->notes = SPAN("");
	task->address = plan->address;
	task->created_ms = plan->created_ms;
	task->container_count = plan->container_count;
	for (size_t i = 0; i < plan->container_count; i++) {
		const struct plan_container *from = &plan->containers[i];
		struct runtime_container *to = &task->containers[i];

		to->name = from->name;
		to->runtime_id = arena_format(arena, "%.*s-%.*s", SPAN_ARGS(plan->token),
			SPAN_ARGS(from->name));
		to->reason = to->health_reason = SPAN("");
		to->health = from->health ? RUNTIME_HEALTH_UNKNOWN : RUNTIME_HEALTH_NONE;
		to->bindings =
			arena_allocate_array(arena, from->port_count + 1, sizeof(*to->bindings));
		to->binding_count = from->port_count;
		for (size_t j = 0; j < from->port_count; j++)
			to->bindings[j] = (struct runtime_binding){
				.container_port = from->ports[j].container_port,
				.host_port = from->ports[j].host_port,
				.udp = from->ports[j].udp,
				.address = reached,
			};
	}
	return task;
}
