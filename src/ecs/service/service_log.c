/* Lines for the server's log: what a service ran into, with the reason that its tasks give. */
#include "aws/key.h"
#include "ecs/service/service_work.h"

#define EXAMPLE_SCAN_MAX 200 /* stopped tasks scanned for one that failed */

void service_log_add(struct service_work *work, bool bad, struct span text)
{
	struct service_log *log = work->log;
	struct span account, region, cluster, name;

	if (!log || log->count == LENGTH(log->lines))
		return;
	span_split(work->key, '/', &account, &region);
	span_split(region, '/', &region, &cluster);
	span_split(cluster, '/', &cluster, &name);
	log->lines[log->count++] = (struct service_log_line){bad,
		arena_format(log->arena, "service \"%.*s\" in cluster \"%.*s\" (%.*s) %.*s",
			SPAN_ARGS(name), SPAN_ARGS(cluster), SPAN_ARGS(region), SPAN_ARGS(text))};
}

/* The newest failed task among the first ones of the index; NULL: there is none. */
static const struct store_object *find_failed(struct service_work *work)
{
	struct store_cursor cursor = {.view = service_head(work),
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = arena_format(work->arena, "%.*s/stopped/", SPAN_ARGS(work->key))};
	const struct store_object *task, *found = NULL;

	if (work->primary)
		cursor.prefix =
			arena_format(work->arena, "%.*s/stopped/" SERVICE_DEPLOYMENT_PREFIX "%.*s",
				SPAN_ARGS(work->key), SPAN_ARGS(work->primary->number));
	for (unsigned i = 0; i < EXAMPLE_SCAN_MAX && (task = store_next(&cursor)); i++)
		if (task_facts(task)->failed &&
			(!found || task_facts(task)->stopped_ms > task_facts(found)->stopped_ms))
			found = task;
	return found;
}

/* "; container app: exit code 3", of the first container that ended so. */
static struct span container_end(struct service_work *work, const struct json *task)
{
	const struct json *containers = json_get(task, "containers");

	for (size_t i = 0; json_is(containers, JSON_ARRAY) && i < containers->array.count; i++) {
		const struct json *container = containers->array.items[i];
		struct span reason = json_get_text(container, "reason");
		int64_t code = json_get_integer(container, "exitCode", 0);

		if (reason.length > 0)
			return arena_format(work->arena, "; container %.*s: %.*s",
				SPAN_ARGS(json_get_text(container, "name")), SPAN_ARGS(reason));
		if (code != 0)
			return arena_format(work->arena, "; container %.*s: exit code %lld",
				SPAN_ARGS(json_get_text(container, "name")), (long long)code);
	}
	return SPAN("");
}

struct span service_log_example(struct service_work *work)
{
	const struct store_object *task = find_failed(work);
	struct json *document;

	if (!task || json_parse(task->api, work->arena, &document, NULL) < 0)
		return SPAN("");
	return arena_format(work->arena, " (for example, task %.*s stopped: %.*s%.*s)",
		SPAN_ARGS(task_facts(task)->id),
		SPAN_ARGS(json_get_text(document, "stoppedReason")),
		SPAN_ARGS(container_end(work, document)));
}
