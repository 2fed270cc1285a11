/* From an observation to a task; see the header. */
#include "ecs/task/task_observe.h"

#include <stdio.h>

#include "base/memory.h"
#include "ecs/task/task_edit.h"

#define REASON_MAX 1024 /* characters of a reason that are kept */

static struct span cut(struct span text)
{
	if (text.length <= REASON_MAX)
		return text;
	text.length = REASON_MAX;
	while (text.length > 0 && ((unsigned char)text.data[text.length] & 0xc0) == 0x80)
		text.length--;
	return text;
}

/* ---- status ---- */

static void go_down_to(struct task_edit *edit, enum task_status status)
{
	if (edit->facts.last < status)
		edit->facts.last = status;
}

/* It stops without a request: that is a failure. An earlier request keeps its reason. */
static void stops_by_itself(struct task_edit *edit, const char *code, struct span reason,
	int64_t now_ms)
{
	if (edit->facts.desired == TASK_STOPPED)
		return;
	edit->facts.desired = TASK_STOPPED;
	edit->facts.stopping_ms = now_ms;
	edit->facts.failed = true;
	json_set_string(edit->arena, edit->document, "stopCode", span_of(code));
	json_set_string(edit->arena, edit->document, "stoppedReason", cut(reason));
}

static void has_stopped(struct task_edit *edit, int64_t now_ms)
{
	if (edit->facts.last >= TASK_STOPPED)
		return;
	edit->facts.last = TASK_STOPPED;
	edit->facts.stopped_ms = now_ms;
	edit->facts.acknowledged = true;
	if (edit->facts.stopping_ms == 0)
		edit->facts.stopping_ms = now_ms;
}

/* A runtime that keeps replicas itself ends tasks for the service: that is no failure. */
static void ends_for_its_service(struct task_edit *edit, int64_t now_ms)
{
	if (edit->facts.desired == TASK_STOPPED)
		return;
	stops_by_itself(edit, TASK_STOP_CODE_SERVICE,
		arena_format(edit->arena, "Scaling activity initiated by (deployment %.*s)",
			SPAN_ARGS(edit->facts.deployment)),
		now_ms);
	edit->facts.failed = false;
}

/* A task of a group that its runtime ends. */
static bool is_ended_by_its_group(const struct runtime_task *seen)
{
	return seen->group.length > 0 &&
	       (seen->stop == RUNTIME_STOP_REQUESTED ||
		       (seen->stop == RUNTIME_STOP_NONE && seen->phase == RUNTIME_STOPPING));
}

/* Sets the reason of a stop that was not requested. */
static void explain_stop(struct task_edit *edit, const struct runtime_task *seen, int64_t now_ms)
{
	struct span reason = seen->reason;

	if (is_ended_by_its_group(seen)) {
		ends_for_its_service(edit, now_ms);
		return;
	}

	for (size_t i = 0; reason.length == 0 && i < seen->container_count; i++)
		reason = seen->containers[i].reason;
	switch (seen->stop) {
	case RUNTIME_STOP_FAILED_TO_START:
		stops_by_itself(edit, TASK_STOP_CODE_FAILED_TO_START,
			reason.length ? reason : SPAN("Task failed to start"), now_ms);
		break;
	case RUNTIME_STOP_ESSENTIAL:
		stops_by_itself(edit, TASK_STOP_CODE_ESSENTIAL,
			SPAN("Essential container in task exited"), now_ms);
		break;
	case RUNTIME_STOP_REQUESTED:
		stops_by_itself(edit, TASK_STOP_CODE_USER,
			seen->reason.length ? seen->reason
					    : SPAN("Task stopped outside of slipway"),
			now_ms);
		break;
	case RUNTIME_STOP_NONE:
	case RUNTIME_STOP_LOST:
		edit->facts.lost = edit->facts.started_ms != 0;
		stops_by_itself(edit,
			edit->facts.started_ms ? TASK_STOP_CODE_ESSENTIAL
					       : TASK_STOP_CODE_FAILED_TO_START,
			seen->reason.length ? seen->reason : SPAN("Task was lost by its runtime"),
			now_ms);
		break;
	}
}

/* The latest end of a container. */
static int64_t execution_stopped_ms(const struct runtime_task *seen)
{
	int64_t latest = 0;

	for (size_t i = 0; i < seen->container_count; i++)
		if (seen->containers[i].stopped_ms > latest)
			latest = seen->containers[i].stopped_ms;
	return latest ? latest : seen->stopped_ms;
}

/* When the last of its containers started. A task that ended at once may never have been observed
 * RUNNING, but it was, if all of them started; 0 if not. */
static int64_t all_started_ms(const struct runtime_task *seen)
{
	int64_t latest = seen->started_ms;

	if (latest != 0)
		return latest;
	for (size_t i = 0; i < seen->container_count; i++) {
		if (seen->containers[i].started_ms == 0)
			return 0;
		if (seen->containers[i].started_ms > latest)
			latest = seen->containers[i].started_ms;
	}
	return latest;
}

/* Its programs have ended, and its network is being taken away. */
static bool only_network_is_left(const struct task_edit *edit, const struct runtime_task *seen)
{
	if (!edit->facts.network || seen->container_count == 0)
		return false;
	for (size_t i = 0; i < seen->container_count; i++)
		if (seen->containers[i].phase != RUNTIME_STOPPED)
			return false;
	return true;
}

/* Runtimes may know times in whole seconds only: nothing happened before what had to happen first. */
static int64_t not_before(int64_t at_ms, int64_t earlier_ms)
{
	return at_ms != 0 && at_ms < earlier_ms ? earlier_ms : at_ms;
}

static void observe_status(struct task_edit *edit, const struct runtime_task *seen, int64_t now_ms)
{
	struct task_facts *facts = &edit->facts;
	struct arena *arena = edit->arena;

	int64_t pulled_ms = not_before(seen->created_ms, facts->created_ms);

	if (pulled_ms != 0 && !json_get(edit->document, "pullStartedAt")) {
		json_set_time(arena, edit->document, "pullStartedAt", pulled_ms);
		json_set_time(arena, edit->document, "pullStoppedAt", pulled_ms);
	}
	if (facts->started_ms == 0 && (seen->started_ms != 0 || seen->phase == RUNTIME_STOPPED))
		facts->started_ms = not_before(all_started_ms(seen), pulled_ms);
	if (seen->phase < RUNTIME_STOPPED && !json_get(edit->document, "connectivity")) {
		json_set_string(arena, edit->document, "connectivity", SPAN("CONNECTED"));
		json_set_time(arena, edit->document, "connectivityAt", now_ms);
	}
	facts->let_go |= seen->phase >= RUNTIME_STOPPING;
	if (seen->phase >= RUNTIME_STOPPING && seen->deletion_ms != 0)
		facts->deletion_ms = seen->deletion_ms;
	switch (seen->phase) {
	case RUNTIME_PENDING: go_down_to(edit, TASK_PENDING); break;
	case RUNTIME_RUNNING:
		if (facts->started_ms == 0)
			facts->started_ms = now_ms;
		/* Registration comes first; task_save() does that when it is healthy. */
		go_down_to(edit, task_awaits_traffic(facts) ? TASK_ACTIVATING : TASK_RUNNING);
		break;
	case RUNTIME_STOPPING:
		explain_stop(edit, seen, now_ms);
		/* Its programs serve connected clients until then; deregister it now. */
		if (seen->ends_ms > now_ms)
			break;
		go_down_to(edit,
			only_network_is_left(edit, seen) ? TASK_DEPROVISIONING : TASK_STOPPING);
		break;
	case RUNTIME_STOPPED:
		explain_stop(edit, seen, now_ms);
		if (seen->container_count > 0)
			json_set_time(arena, edit->document, "executionStoppedAt",
				not_before(execution_stopped_ms(seen), facts->started_ms));
		has_stopped(edit, now_ms);
		break;
	case RUNTIME_PHASE_COUNT: break;
	}
}

/* ---- health ---- */

static bool is_essential(const struct json *containers, struct span name)
{
	JSON_EACH_ITEM (containers, container)
		if (span_equal(json_get_text(container, "name"), name))
			return json_get_bool(container, "essential", true);
	return true;
}

/* UNHEALTHY if any essential container is, HEALTHY when all that have a check are. */
static void observe_health(struct task_edit *edit, const struct runtime_task *seen,
	const struct json *containers)
{
	enum task_health health = TASK_HEALTH_UNKNOWN;
	bool unknown = false;

	for (size_t i = 0; i < seen->container_count; i++) {
		const struct runtime_container *container = &seen->containers[i];

		if (container->health == RUNTIME_HEALTH_NONE ||
			!is_essential(containers, container->name))
			continue;
		if (container->health == RUNTIME_UNHEALTHY) {
			edit->facts.health = TASK_HEALTH_UNHEALTHY;
			return;
		}
		unknown |= container->health == RUNTIME_HEALTH_UNKNOWN;
		health = TASK_HEALTH_HEALTHY;
	}
	edit->facts.health = unknown ? TASK_HEALTH_UNKNOWN : health;
}

/* ---- containers ---- */

/* A stopping container still runs. */
static const char *const container_statuses[RUNTIME_PHASE_COUNT] = {
	[RUNTIME_PENDING] = "PENDING",
	[RUNTIME_RUNNING] = "RUNNING",
	[RUNTIME_STOPPING] = "RUNNING",
	[RUNTIME_STOPPED] = "STOPPED",
};
static const char *const container_healths[] = {
	[RUNTIME_HEALTH_NONE] = "UNKNOWN",
	[RUNTIME_HEALTH_UNKNOWN] = "UNKNOWN",
	[RUNTIME_HEALTHY] = "HEALTHY",
	[RUNTIME_UNHEALTHY] = "UNHEALTHY",
};

static const struct json *bindings_of(struct arena *arena, const struct runtime_container *seen)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < seen->binding_count; i++) {
		const struct runtime_binding *binding = &seen->bindings[i];
		struct json *created = json_new_object(arena);

		json_set_string(arena, created, "bindIP",
			binding->address.length ? binding->address : SPAN("0.0.0.0"));
		json_set_integer(arena, created, "containerPort", binding->container_port);
		json_set_integer(arena, created, "hostPort", binding->host_port);
		json_set_string(arena, created, "protocol",
			binding->udp ? SPAN("udp") : SPAN("tcp"));
		json_append(arena, list, created);
	}
	return list;
}

static const struct json *interfaces_of(struct task_edit *edit, struct span address)
{
	struct arena *arena = edit->arena;
	struct json *list = json_new_array(arena), *created = json_new_object(arena);
	struct span attachment =
		json_get_text(json_item(json_get(edit->document, "attachments"), 0), "id");

	if (attachment.data)
		json_set_string(arena, created, "attachmentId", attachment);
	json_set_string(arena, created, "privateIpv4Address", address);
	json_append(arena, list, created);
	return list;
}

static struct json *observe_container(struct task_edit *edit, const struct json *stored,
	const struct runtime_task *task, const struct runtime_container *seen)
{
	struct arena *arena = edit->arena;
	struct json *container = json_copy_object(arena, stored);

	json_set_string(arena, container, "lastStatus", span_of(container_statuses[seen->phase]));
	json_set_string(arena, container, "healthStatus", span_of(container_healths[seen->health]));
	if (seen->runtime_id.length > 0)
		json_set_string(arena, container, "runtimeId", seen->runtime_id);
	if (seen->has_exit_code)
		json_set_integer(arena, container, "exitCode", seen->exit_code);
	if (seen->reason.length > 0)
		json_set_string(arena, container, "reason", cut(seen->reason));
	else if (seen->phase == RUNTIME_PENDING && task->reason.length > 0)
		json_set_string(arena, container, "reason",
			cut(task->reason)); /* the wait reason */
	else if (seen->phase == RUNTIME_RUNNING && seen->health == RUNTIME_UNHEALTHY &&
		 seen->health_reason.length > 0)
		json_set_string(arena, container, "reason",
			cut(arena_format(arena, "Health check failed: %.*s",
				SPAN_ARGS(seen->health_reason))));
	else if (seen->phase == RUNTIME_RUNNING)
		json_unset(container, "reason");
	if (edit->facts.network && task->address.length > 0)
		json_set(arena, container, "networkInterfaces", interfaces_of(edit, task->address));
	else if (!edit->facts.network)
		json_set(arena, container, "networkBindings", bindings_of(arena, seen));
	return container;
}

static void observe_containers(struct task_edit *edit, const struct runtime_task *seen)
{
	struct json *list = json_new_array(edit->arena);

	JSON_EACH_ITEM (json_get(edit->document, "containers"), stored) {
		const struct json *container = stored;

		for (size_t i = 0; i < seen->container_count; i++)
			if (span_equal(seen->containers[i].name, json_get_text(stored, "name")))
				container =
					observe_container(edit, stored, seen, &seen->containers[i]);
		json_append(edit->arena, list, container);
	}
	json_set(edit->arena, edit->document, "containers", list);
}

/* For ends without a report of the containers. */
static void containers_have_stopped(struct task_edit *edit)
{
	struct json *list = json_new_array(edit->arena);

	JSON_EACH_ITEM (json_get(edit->document, "containers"), stored) {
		struct json *container = json_copy_object(edit->arena, stored);

		json_set_string(edit->arena, container, "lastStatus", SPAN("STOPPED"));
		json_append(edit->arena, list, container);
	}
	json_set(edit->arena, edit->document, "containers", list);
}

/* ---- attachments and attributes ---- */

static void set_detail(struct arena *arena, struct json *details, const char *name,
	struct span value)
{
	struct json *detail = json_new_object(arena);

	json_set_string(arena, detail, "name", span_of(name));
	json_set_string(arena, detail, "value", value);
	for (size_t i = 0; i < details->array.count; i++)
		if (span_is(json_get_text(details->array.items[i], "name"), name)) {
			details->array.items[i] = detail;
			return;
		}
	json_append(arena, details, detail);
}

static bool has_detail(const struct json *details, const char *name)
{
	JSON_EACH_ITEM (details, detail)
		if (span_is(json_get_text(detail, "name"), name))
			return true;
	return false;
}

static struct json *copy_list(struct arena *arena, const struct json *list)
{
	struct json *copy = json_new_array(arena);

	JSON_EACH_ITEM (list, item)
		json_append(arena, copy, item);
	return copy;
}

static const struct json *details_of(struct task_edit *edit, const struct json *attachment,
	const struct runtime_task *seen)
{
	struct arena *arena = edit->arena;
	struct json *details = copy_list(arena, json_get(attachment, "details"));

	/* Derived from the task's id, so that every server makes the same. */
	if (!has_detail(details, "networkInterfaceId"))
		set_detail(arena, details, "networkInterfaceId",
			arena_format(arena, "eni-%.17s", arena_copy_span(arena, seen->token).data));
	if (seen->mac.length > 0)
		set_detail(arena, details, "macAddress", seen->mac);
	set_detail(arena, details, "privateIPv4Address", seen->address);
	return details;
}

static void observe_attachments(struct task_edit *edit, const struct runtime_task *seen)
{
	struct arena *arena = edit->arena;
	struct json *list;
	const char *status = edit->facts.last >= TASK_STOPPED      ? "DELETED"
			     : edit->facts.last >= TASK_ACTIVATING ? "ATTACHED"
								   : "ATTACHING";

	if (json_count(json_get(edit->document, "attachments")) == 0)
		return;
	list = json_new_array(arena);
	JSON_EACH_ITEM (json_get(edit->document, "attachments"), stored) {
		struct json *attachment = json_copy_object(arena, stored);

		if (span_is(json_get_text(stored, "type"), "ElasticNetworkInterface")) {
			json_set_string(arena, attachment, "status", span_of(status));
			if (seen && seen->address.length > 0)
				json_set(arena, attachment, "details",
					details_of(edit, stored, seen));
		}
		json_append(arena, list, attachment);
	}
	json_set(arena, edit->document, "attachments", list);
}

/* Limitations that the runtime reports become an attribute of the task. */
static void observe_notes(struct task_edit *edit, struct span notes)
{
	struct arena *arena = edit->arena;
	struct json *list, *attribute;

	if (notes.length == 0)
		return;
	list = json_new_array(arena);
	JSON_EACH_ITEM (json_get(edit->document, "attributes"), stored)
		if (!span_is(json_get_text(stored, "name"), TASK_NOTES_ATTRIBUTE))
			json_append(arena, list, stored);
	attribute = json_new_object(arena);
	json_set_string(arena, attribute, "name", SPAN(TASK_NOTES_ATTRIBUTE));
	json_set_string(arena, attribute, "value", cut(notes));
	json_append(arena, list, attribute);
	json_set(arena, edit->document, "attributes", list);
}

/* ---- the whole task ---- */

void task_observe(struct task_edit *edit, const struct runtime_task *seen,
	const struct json *containers, int64_t now_ms)
{
	/* A stopped task does not change. */
	if (edit->facts.last >= TASK_STOPPED)
		return;
	observe_status(edit, seen, now_ms);
	observe_health(edit, seen, containers);
	observe_containers(edit, seen);
	observe_attachments(edit, seen);
	observe_notes(edit, seen->notes);
}

static void observe_end(struct task_edit *edit, int64_t now_ms)
{
	if (edit->facts.last >= TASK_STOPPED)
		return;
	containers_have_stopped(edit);
	has_stopped(edit, now_ms);
	observe_attachments(edit, NULL);
}

void task_observe_failure(struct task_edit *edit, struct span reason, int64_t now_ms)
{
	stops_by_itself(edit, TASK_STOP_CODE_FAILED_TO_START, reason, now_ms);
	observe_end(edit, now_ms);
}

void task_observe_not_started(struct task_edit *edit, int64_t now_ms)
{
	ends_for_its_service(edit, now_ms);
	observe_end(edit, now_ms);
}

void task_observe_lost(struct task_edit *edit, int64_t now_ms)
{
	edit->facts.lost = true;
	stops_by_itself(edit, TASK_STOP_CODE_ESSENTIAL,
		SPAN("Task was lost: its runtime does not know it any more"), now_ms);
	observe_end(edit, now_ms);
}

bool task_edit_differs(const struct task_edit *edit, const struct store_object *task)
{
	const struct task_facts *was = task_facts(task), *is = &edit->facts;

	return was->last != is->last || was->desired != is->desired || was->health != is->health ||
	       was->started_ms != is->started_ms || was->stopped_ms != is->stopped_ms ||
	       was->failed != is->failed || was->let_go != is->let_go ||
	       (was->deletion_ms == 0 && is->deletion_ms != 0) ||
	       !span_equal(json_to_text(edit->document, edit->arena), task->api);
}
