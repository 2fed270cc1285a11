#include "delivery/observe/document.h"

#include <limits.h>

#include "aws/shape_scalar.h"
#include "base/memory.h"
#include "ecs/record/attribute.h"

static const char *const task_statuses[] = {
	[OBSERVE_TASK_PROVISIONING] = "PROVISIONING",
	[OBSERVE_TASK_PENDING] = "PENDING",
	[OBSERVE_TASK_ACTIVATING] = "ACTIVATING",
	[OBSERVE_TASK_RUNNING] = "RUNNING",
	[OBSERVE_TASK_DEACTIVATING] = "DEACTIVATING",
	[OBSERVE_TASK_STOPPING] = "STOPPING",
	[OBSERVE_TASK_DEPROVISIONING] = "DEPROVISIONING",
	[OBSERVE_TASK_STOPPED] = "STOPPED",
};

static const char *const instance_statuses[] = {
	[OBSERVE_INSTANCE_ACTIVE] = "ACTIVE",
	[OBSERVE_INSTANCE_DRAINING] = "DRAINING",
	[OBSERVE_INSTANCE_OTHER] = "OTHER",
};

static bool find_name(const char *const *names, size_t count, struct span name, size_t *ret_index)
{
	for (size_t i = 0; i < count; i++) {
		if (!span_equal_ignoring_case(name, span_of(names[i])))
			continue;
		*ret_index = i;
		return true;
	}
	return false;
}

const char *observe_task_status_name(enum observe_task_status status)
{
	return task_statuses[status];
}

bool observe_task_status_read(struct span name, enum observe_task_status *ret_status)
{
	size_t index;

	if (!find_name(task_statuses, LENGTH(task_statuses), name, &index))
		return false;
	*ret_status = (enum observe_task_status)index;
	return true;
}

const char *observe_instance_status_name(enum observe_instance_status status)
{
	return instance_statuses[status];
}

bool observe_instance_status_read(struct span name, enum observe_instance_status *ret_status)
{
	size_t index;

	if (!find_name(instance_statuses, LENGTH(instance_statuses), name, &index))
		return false;
	*ret_status = (enum observe_instance_status)index;
	return true;
}

/* ---- parts ---- */

struct span observe_document_id(struct span arn)
{
	for (size_t i = arn.length; i > 0; i--)
		if (arn.data[i - 1] == '/')
			return (struct span){arn.data + i, arn.length - i};
	return arn;
}

#define SECONDS_MAX 1e11 /* beyond any year that means something */

bool observe_document_time(const struct json *value, struct arena *arena, int64_t *ret_ms)
{
	static const struct shape timestamp = {.type = SHAPE_TIMESTAMP};
	struct json read = {0};
	double seconds;

	if (json_is(value, JSON_STRING)) {
		if (shape_scalar_read(&timestamp, value->text, arena, &read))
			return false;
		value = &read;
	}
	if (!json_double(value, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return false;
	*ret_ms = (int64_t)(seconds * 1000 + 0.5);
	return true;
}

static int read_name(const struct json *document, const char *member, struct span *ret_text,
	struct err *err)
{
	struct span text = json_get_text(document, member);

	if (text.length == 0)
		return err_set(err, -EINVAL, "%s is missing", member);
	*ret_text = text;
	return 0;
}

static struct span text_or_empty(const struct json *document, const char *member)
{
	struct span text = json_get_text(document, member);

	return text.data ? text : SPAN("");
}

static int read_version(const struct json *document, uint64_t *ret_version, struct err *err)
{
	const struct json *requested = json_get(document, "version");
	int64_t version = 0;

	if (!json_is_absent(requested) && (!json_integer(requested, &version) || version < 0))
		return err_set(err, -EINVAL, "version is not a number that counts up");
	*ret_version = (uint64_t)version;
	return 0;
}

/* 0 where it is absent. */
static int read_time(const struct json *document, const char *member, struct arena *arena,
	int64_t *ret_ms, struct err *err)
{
	const struct json *requested = json_get(document, member);

	*ret_ms = 0;
	if (!json_is_absent(requested) && !observe_document_time(requested, arena, ret_ms))
		return err_set(err, -EINVAL, "%s is not a time", member);
	return 0;
}

/* ---- instances ---- */

static int read_attributes(const struct json *document, struct arena *arena,
	struct span *ret_packed, struct err *err)
{
	const struct json *attributes = json_get(document, "attributes");

	if (!json_is(attributes, JSON_ARRAY))
		return err_set(err, -EINVAL, "attributes is missing");
	JSON_EACH_ITEM (attributes, attribute)
		if (json_get_text(attribute, "name").length == 0)
			return err_set(err, -EINVAL, "an attribute has no name");
	*ret_packed = attribute_pack(arena, attributes);
	return 0;
}

int observe_document_instance(const struct json *document, struct arena *arena,
	struct observe_instance *ret_instance, bool *ret_gone, struct err *err)
{
	struct observe_instance instance = {.status = OBSERVE_INSTANCE_OTHER,
		.connected = json_get_bool(document, "agentConnected", false),
		.host = text_or_empty(document, "ec2InstanceId"),
		.attributes = SPAN("")};
	struct span status;
	bool gone;

	if (read_name(document, "containerInstanceArn", &instance.arn, err) < 0 ||
		read_name(document, "status", &status, err) < 0 ||
		read_version(document, &instance.version, err) < 0)
		return -EINVAL;
	gone = span_is(status, "INACTIVE");
	/* A deregistered instance has none. */
	if (!gone && read_attributes(document, arena, &instance.attributes, err) < 0)
		return -EINVAL;
	instance.id = observe_document_id(instance.arn);
	observe_instance_status_read(status, &instance.status);
	*ret_instance = instance;
	*ret_gone = gone;
	return 0;
}

/* ---- tasks ---- */

static enum observe_health read_health(const struct json *document)
{
	struct span health = json_get_text(document, "healthStatus");

	if (span_is(health, "HEALTHY"))
		return OBSERVE_HEALTHY;
	return span_is(health, "UNHEALTHY") ? OBSERVE_UNHEALTHY : OBSERVE_HEALTH_UNKNOWN;
}

static int read_status(const struct json *document, enum observe_task_status *ret_status,
	struct err *err)
{
	struct span status;

	if (read_name(document, "lastStatus", &status, err) < 0)
		return -EINVAL;
	if (span_is(status, "DELETED"))
		*ret_status = OBSERVE_TASK_STOPPED;
	else if (!observe_task_status_read(status, ret_status))
		return err_set(err, -EINVAL, "lastStatus '%.*s' is not known", SPAN_ARGS(status));
	return 0;
}

void observe_document_exit(const struct json *document, struct observe_task *task)
{
	JSON_EACH_ITEM (json_get(document, "containers"), container) {
		int64_t code;

		if (!json_integer(json_get(container, "exitCode"), &code) || code < INT_MIN ||
			code > INT_MAX || (task->has_exited && (task->exit_code || !code)))
			continue;
		task->has_exited = true;
		task->exit_code = (int)code;
	}
}

int observe_document_task(const struct json *document, struct arena *arena,
	struct observe_task *ret_task, struct err *err)
{
	struct observe_task task = {.instance = text_or_empty(document, "containerInstanceArn"),
		.group = text_or_empty(document, "group"),
		.started_by = text_or_empty(document, "startedBy"),
		.health = read_health(document),
		.stop_code = text_or_empty(document, "stopCode"),
		.stopped_reason = text_or_empty(document, "stoppedReason")};
	struct span desired;

	if (read_name(document, "taskArn", &task.arn, err) < 0 ||
		read_name(document, "taskDefinitionArn", &task.task_definition, err) < 0 ||
		read_name(document, "desiredStatus", &desired, err) < 0 ||
		read_status(document, &task.last, err) < 0 ||
		read_version(document, &task.version, err) < 0 ||
		read_time(document, "createdAt", arena, &task.created_ms, err) < 0 ||
		read_time(document, "startedAt", arena, &task.started_ms, err) < 0 ||
		read_time(document, "stoppedAt", arena, &task.stopped_ms, err) < 0)
		return -EINVAL;
	task.instance = observe_document_id(task.instance);
	task.wanted = !span_is(desired, "STOPPED");
	observe_document_exit(document, &task);
	*ret_task = task;
	return 0;
}
