/* See the header. */
#include "runtime/kubernetes/pod.h"

#include "base/memory.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/plan.h"
#include "runtime/kubernetes/template_internal.h"
#include "runtime/pod/protocol.h"

#define UID_DIGITS 32
#define SIGNAL_MAX 128
#define GRACE_MAX INT64_C(31536000) /* seconds */

static const char *const phase_names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};

/* Names in the annotation for stops by slipway itself. */
static const struct {
	const char *name;
	enum runtime_stop stop;
} end_names[] = {
	{"asked", RUNTIME_STOP_REQUESTED},
	{"essential", RUNTIME_STOP_ESSENTIAL},
	{"failed-to-start", RUNTIME_STOP_FAILED_TO_START},
	{"lost", RUNTIME_STOP_LOST},
};

static const struct kubernetes_text no_text = {
	{"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}};

struct reading {
	struct kube_keep *keep;
	const struct json *metadata, *annotations, *spec, *status;
	struct kubernetes_pod *pod;
	struct kubernetes_text text;
};

/* ---- texts ---- */

static struct span keep_text(struct reading *reading, struct span text)
{
	return text.length > 0 ? kube_keep_text(reading->keep, text) : SPAN("");
}

/* Messages of other programs, cut to a readable length. */
static struct span keep_message(struct reading *reading, struct span text)
{
	if (text.length > KUBERNETES_REASON_MAX) {
		text.length = KUBERNETES_REASON_MAX;
		while (text.length > 0 && ((unsigned char)text.data[text.length] & 0xc0) == 0x80)
			text.length--;
	}
	return keep_text(reading, text);
}

static struct span keep_member(struct reading *reading, const struct json *object, const char *name)
{
	return keep_text(reading, json_get_text(object, name));
}

static struct span keep_token(struct reading *reading)
{
	struct span own = json_get_text(reading->annotations, KUBERNETES_TASK);
	struct span uid = json_get_text(reading->metadata, "uid");
	char digits[UID_DIGITS];
	size_t length = 0;

	if (own.length > 0 && own.length <= RUNTIME_TOKEN_MAX)
		return keep_text(reading, own);
	for (size_t i = 0; i < uid.length && length < sizeof(digits); i++)
		if (uid.data[i] != '-')
			digits[length++] = uid.data[i];
	return keep_text(reading, (struct span){digits, length});
}

/* ---- containers ---- */

static int32_t read_number(const struct json *value, int32_t otherwise)
{
	int64_t number;

	if (!json_integer(value, &number) || number < 0 || number > INT32_MAX)
		return otherwise;
	return (int32_t)number;
}

static int32_t item_number(const struct json *list, size_t index)
{
	return read_number(json_item(list, index), 0);
}

static void read_restart(struct reading *reading, const struct json *restart,
	struct kubernetes_container *container)
{
	size_t count = json_array_count(restart);

	if (count == 0)
		return;
	container->restarts = true;
	container->restart_period = item_number(restart, 0);
	container->ignored_count =
		count - 1 < KUBERNETES_IGNORED_CODES_MAX ? count - 1 : KUBERNETES_IGNORED_CODES_MAX;
	container->ignored_codes = kube_keep_array(reading->keep, container->ignored_count,
		sizeof(*container->ignored_codes));
	for (size_t i = 0; i < container->ignored_count; i++)
		container->ignored_codes[i] = item_number(restart, i + 1);
}

static void read_ports(struct reading *reading, const struct json *ports,
	struct kubernetes_container *container)
{
	size_t count = json_array_count(ports);

	container->port_count = count < KUBERNETES_PORTS_MAX ? count : KUBERNETES_PORTS_MAX;
	container->ports =
		kube_keep_array(reading->keep, container->port_count, sizeof(*container->ports));
	for (size_t i = 0; i < container->port_count; i++) {
		const struct json *port = json_item(ports, i);
		struct span protocol = json_text(json_item(port, 2));

		container->ports[i] = (struct kubernetes_port){
			.container = (uint16_t)item_number(port, 0),
			.host = (uint16_t)item_number(port, 1),
			.udp = protocol.data && span_is(protocol, "udp"),
		};
	}
}

static void read_plan(struct reading *reading, const struct json *plan,
	struct kubernetes_container *container)
{
	const struct json *health = json_get(plan, "health");

	container->name = keep_member(reading, plan, "name");
	container->as = keep_member(reading, plan, "as");
	container->essential = json_get_bool(plan, "essential", false);
	container->initial = json_get_bool(plan, "initial", false);
	container->any_exit = json_get_bool(plan, "anyExit", false);
	container->has_health = json_array_count(health) > 0;
	container->interval = item_number(health, 0);
	container->timeout = item_number(health, 1);
	container->retries = item_number(health, 2);
	container->start_period = item_number(health, 3);
	read_restart(reading, json_get(plan, "restart"), container);
	read_ports(reading, json_get(plan, "ports"), container);
}

/* Before a node has reported, it invents an end for an unknown container; that is none. */
static bool is_invented(const struct json *ended)
{
	struct span reason = json_get_text(ended, "reason");

	return (reason.data && span_is(reason, "ContainerStatusUnknown")) ||
	       (reason.length == 0 && kube_time_ms(json_get(ended, "finishedAt")) == 0);
}

/* The last note is slipway-pod's: a program may write the same text before it. */
static void read_note(struct reading *reading, struct span message, struct kubernetes_run *run)
{
	static const struct {
		enum kubernetes_note note;
		const char *prefix;
	} notes[] = {{KUBERNETES_NOTE_EXITED, POD_EXITED},
		{KUBERNETES_NOTE_CANNOT_RUN, POD_CANNOT_RUN},
		{KUBERNETES_NOTE_UNHEALTHY, POD_UNHEALTHY},
		{KUBERNETES_NOTE_NOT_AFTER, POD_NOT_AFTER}};

	run->note_text = SPAN("");
	for (size_t at = 0; at < message.length; at++) {
		struct span rest = {message.data + at, message.length - at};

		for (size_t i = 0; i < LENGTH(notes); i++) {
			size_t length = strlen(notes[i].prefix);

			if (!span_starts_with(rest, span_of(notes[i].prefix)))
				continue;
			run->note = notes[i].note;
			run->note_text = (struct span){rest.data + length, rest.length - length};
		}
	}
	run->note_text = keep_message(reading, run->note_text);
}

static const struct kubernetes_run *read_run(struct reading *reading, const struct json *ended)
{
	struct kubernetes_run *run;
	int32_t code, signal;

	if (!json_is(ended, JSON_OBJECT))
		return NULL;
	run = kube_keep_memory(reading->keep, sizeof(*run));
	code = read_number(json_get(ended, "exitCode"), 0);
	signal = read_number(json_get(ended, "signal"), 0);
	run->exit_code = code == 0 && signal > 0 && signal < SIGNAL_MAX ? 128 + signal : code;
	if (is_invented(ended))
		run->exit_code = -1;
	run->started_ms = kube_time_ms(json_get(ended, "startedAt"));
	run->finished_ms = kube_time_ms(json_get(ended, "finishedAt"));
	run->reason = keep_message(reading, json_get_text(ended, "reason"));
	run->message = keep_message(reading, json_get_text(ended, "message"));
	read_note(reading, json_get_text(ended, "message"), run);
	return run;
}

static const struct json *find_status(const struct reading *reading, bool initial, struct span name)
{
	const struct json *list =
		json_get(reading->status, initial ? "initContainerStatuses" : "containerStatuses");

	JSON_EACH_ITEM (list, status)
		if (name.data && span_equal(json_get_text(status, "name"), name))
			return status;
	return NULL;
}

static void read_status(struct reading *reading, const struct json *status,
	struct kubernetes_container *container)
{
	const struct json *state = json_get(status, "state");
	const struct json *waiting = json_get(state, "waiting");

	container->id = keep_member(reading, status, "containerID");
	container->ready = json_get_bool(status, "ready", false);
	container->restart_count = (unsigned)read_number(json_get(status, "restartCount"), 0);
	container->waiting = keep_message(reading, json_get_text(waiting, "reason"));
	container->waiting_message = keep_message(reading, json_get_text(waiting, "message"));
	container->running_ms = kube_time_ms(json_get(json_get(state, "running"), "startedAt"));
	container->ended = read_run(reading, json_get(state, "terminated"));
	container->last = read_run(reading, json_get(json_get(status, "lastState"), "terminated"));
}

static int read_containers(struct reading *reading, const struct json *plan, struct err *err)
{
	const struct json *containers = json_get(plan, "containers");
	struct kubernetes_pod *pod = reading->pod;
	size_t count = json_array_count(containers);

	if (count == 0 || count > RUNTIME_CONTAINERS_MAX)
		return err_set(err, -EINVAL, "annotation " KUBERNETES_PLAN " has no containers");
	pod->container_count = count;
	pod->containers = kube_keep_array(reading->keep, count, sizeof(*pod->containers));
	for (size_t i = 0; i < count; i++) {
		const struct json *container = json_item(containers, i);

		read_plan(reading, container, &pod->containers[i]);
		read_status(reading,
			find_status(reading, pod->containers[i].initial,
				json_get_text(container, "as")),
			&pod->containers[i]);
	}
	return 0;
}

/* ---- the pod ---- */

static enum kubernetes_network read_network(struct span name)
{
	if (name.data && span_is(name, "host"))
		return KUBERNETES_NETWORK_HOST;
	return name.data && span_is(name, "bridge") ? KUBERNETES_NETWORK_BRIDGE
						    : KUBERNETES_NETWORK_OWN;
}

static enum kubernetes_phase read_phase(struct span name)
{
	for (size_t i = 0; i < LENGTH(phase_names); i++)
		if (name.data && span_is(name, phase_names[i]))
			return (enum kubernetes_phase)i;
	return KUBERNETES_PENDING;
}

static bool has_finalizer(const struct json *metadata)
{
	JSON_EACH_ITEM (json_get(metadata, "finalizers"), finalizer)
		if (span_is(json_text(finalizer), KUBERNETES_FINALIZER))
			return true;
	return false;
}

static void read_conditions(struct reading *reading)
{
	struct kubernetes_pod *pod = reading->pod;

	JSON_EACH_ITEM (json_get(reading->status, "conditions"), condition) {
		struct span type = json_get_text(condition, "type");
		struct span status = json_get_text(condition, "status");
		bool is_true = status.data && span_is(status, "True");

		if (!type.data)
			continue;
		if (span_is(type, "ContainersReady"))
			pod->was_ready_ms = kube_time_ms(json_get(condition, "lastTransitionTime"));
		else if (span_is(type, KUBERNETES_GATE))
			pod->gate_open = is_true;
		else if (span_is(type, "PodScheduled") && !is_true)
			reading->text.unscheduled =
				keep_message(reading, json_get_text(condition, "message"));
	}
}

static void read_installer(struct reading *reading)
{
	const struct json *status = find_status(reading, true, SPAN(TEMPLATE_PROGRAM_VOLUME));
	const struct json *waiting = json_path(status, "state.waiting");
	const struct json *ended = json_path(status, "state.terminated");

	if (!json_is(ended, JSON_OBJECT))
		ended = json_path(status, "lastState.terminated");
	if (json_get_integer(ended, "exitCode", 0) != 0)
		reading->text.installer = keep_message(reading, json_get_text(ended, "reason"));
	else
		reading->text.installer = keep_message(reading, json_get_text(waiting, "reason"));
}

static void read_end(struct reading *reading, struct arena *arena)
{
	struct kubernetes_pod *pod = reading->pod;
	struct span text = json_get_text(reading->annotations, KUBERNETES_END);
	struct json *end;

	if (!text.data || json_parse(text, arena, &end, NULL) < 0)
		return;
	for (size_t i = 0; i < LENGTH(end_names); i++)
		if (span_equal(json_get_text(end, "stop"), span_of(end_names[i].name))) {
			pod->has_end = true;
			pod->end = end_names[i].stop;
		}
	reading->text.end_reason = keep_message(reading, json_get_text(end, "reason"));
}

struct json *kubernetes_end_write(struct arena *arena, enum runtime_stop stop, struct span reason)
{
	struct json *built = json_new_object(arena);

	for (size_t i = 0; i < LENGTH(end_names); i++)
		if (end_names[i].stop == stop)
			json_set_string(arena, built, "stop", span_of(end_names[i].name));
	json_set_string(arena, built, "reason", reason.data ? reason : SPAN(""));
	return built;
}

static void read_deletion(struct reading *reading)
{
	int64_t grace = json_get_integer(reading->metadata, "deletionGracePeriodSeconds", 0);
	int64_t deadline = kube_time_ms(json_get(reading->metadata, "deletionTimestamp"));

	if (deadline == 0)
		return;
	if (grace < 0 || grace > GRACE_MAX)
		grace = GRACE_MAX;
	/* The API server stores the time of the deletion as the sum of both, also when the second
	 * changes. */
	reading->pod->ending_ms = deadline - grace * 1000;
	reading->pod->grace = (int32_t)grace;
	/* A node that is done with a pod deletes it without grace, and so does a forced deletion.
	 * Only our finalizer still keeps the object. */
	reading->pod->gone = grace == 0;
}

/* After all other members. */
static void keep_message_of_pod(struct reading *reading)
{
	const struct kubernetes_text *text = &reading->text;
	struct kubernetes_text *kept;

	reading->pod->text = &no_text;
	if (text->notes.length + text->reason.length + text->message.length +
			text->unscheduled.length + text->installer.length +
			text->end_reason.length ==
		0)
		return;
	kept = kube_keep_memory(reading->keep, sizeof(*kept));
	*kept = *text;
	reading->pod->text = kept;
}

static int64_t read_reminder(struct span text)
{
	uint64_t number = 0;

	return text.data && span_to_unsigned(text, INT64_MAX, &number) ? (int64_t)number : 0;
}

static void read_pod(struct reading *reading)
{
	struct kubernetes_pod *pod = reading->pod;
	const struct json *status = reading->status;

	pod->token = keep_token(reading);
	pod->group = keep_member(reading, reading->annotations, KUBERNETES_GROUP);
	pod->version = keep_member(reading, reading->annotations, KUBERNETES_VERSION);
	reading->text.notes = keep_member(reading, reading->annotations, KUBERNETES_NOTES);
	pod->node = keep_member(reading, reading->spec, "nodeName");
	pod->address = keep_member(reading, status, "podIP");
	pod->host_address = keep_member(reading, status, "hostIP");
	pod->phase = read_phase(json_get_text(status, "phase"));
	reading->text.reason = keep_message(reading, json_get_text(status, "reason"));
	reading->text.message = keep_message(reading, json_get_text(status, "message"));
	pod->created_ms = kube_time_ms(json_get(reading->metadata, "creationTimestamp"));
	pod->gated = json_count(json_get(reading->spec, "readinessGates")) > 0;
	pod->acknowledged = json_get_text(reading->annotations, KUBERNETES_ACKNOWLEDGED).length > 0;
	pod->reminded_ms = read_reminder(json_get_text(reading->annotations, KUBERNETES_REMINDED));
	pod->has_secret = json_get_text(reading->annotations, KUBERNETES_SECRET).length > 0;
	pod->held = has_finalizer(reading->metadata);
	read_deletion(reading);
	read_conditions(reading);
	read_installer(reading);
}

int kubernetes_pod_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	const struct kubernetes_reduce_context *ours = context;
	struct reading reading = {
		.keep = keep,
		.metadata = json_get(object, "metadata"),
		.spec = json_get(object, "spec"),
		.status = json_get(object, "status"),
		.text = no_text,
	};
	struct span text;
	struct json *plan;
	struct arena *arena;
	int code;

	if (kubernetes_claim(object, ours->host) != KUBERNETES_OURS)
		return KUBE_REDUCE_IGNORE;
	reading.annotations = json_get(reading.metadata, "annotations");
	text = json_get_text(reading.annotations, KUBERNETES_PLAN);
	if (!text.data) /* an object of ours that is no task */
		return KUBE_REDUCE_IGNORE;
	arena = arena_new(0);
	reading.pod = kube_keep_memory(keep, sizeof(*reading.pod));
	code = json_parse(text, arena, &plan, err);
	if (code == 0) {
		read_pod(&reading);
		reading.pod->owner = kubernetes_owner(object);
		read_end(&reading, arena);
		keep_message_of_pod(&reading);
		reading.pod->hold = (int32_t)json_get_integer(plan, "hold", 0);
		reading.pod->stop =
			(int32_t)json_get_integer(plan, "stop", KUBERNETES_STOP_TIMEOUT);
		reading.pod->network = read_network(json_get_text(plan, "network"));
		code = read_containers(&reading, plan, err);
	}
	arena_free(arena);
	*ret_data = reading.pod;
	return code;
}
