/* See the header. */
#include "ecs/task/task_edit.h"

#include "ecs/record/failure_count.h"
#include "ecs/task/task_traffic.h"

#define DESIRED_MEMBER "wishes"

int task_edit_open(const struct store_object *task, struct arena *arena, struct task_edit *ret_edit,
	struct err *err)
{
	struct task_edit edit = {.arena = arena, .key = task->key, .revision = task->revision};
	struct json *stored, *private_;
	int code = json_parse(task->api, arena, &stored, err);

	if (code == 0)
		code = task_facts_read(task->key, task->private_, arena, &edit.facts, &private_,
			err);
	if (code < 0)
		return code;
	edit.tags = json_get(private_, "tags");
	edit.traffic = json_get(private_, TASK_TRAFFIC_MEMBER);
	edit.desired = json_get(private_, DESIRED_MEMBER);
	edit.document = json_copy_object(arena, stored);
	*ret_edit = edit;
	return 0;
}

static struct span private_text(const struct task_edit *edit)
{
	struct json *private_ = task_facts_write(&edit->facts, edit->arena);

	if (json_count(edit->tags) > 0)
		json_set(edit->arena, private_, "tags", edit->tags);
	json_set(edit->arena, private_, TASK_TRAFFIC_MEMBER, edit->traffic);
	json_set(edit->arena, private_, DESIRED_MEMBER, edit->desired);
	return json_to_text(private_, edit->arena);
}

static void set_time(struct task_edit *edit, const char *name, int64_t time_ms)
{
	if (time_ms != 0)
		json_set_time(edit->arena, edit->document, name, time_ms);
}

int task_save(struct store_transaction *transaction, struct task_edit *edit, struct err *err)
{
	struct arena *arena = edit->arena;
	struct json *document = edit->document;
	const struct task_facts *facts = &edit->facts;
	const struct store_object *before =
		store_get(store_head(transaction), &task_kind, edit->key);
	int code = task_traffic_follow(transaction, edit, before, err);
	bool has_stopped;

	if (code < 0)
		return code;
	has_stopped = facts->last == TASK_STOPPED &&
		      (!before || task_facts(before)->last != TASK_STOPPED);
	json_set_string(arena, document, "lastStatus", span_of(task_status_name(facts->last)));
	json_set_string(arena, document, "desiredStatus",
		span_of(task_status_name(facts->desired)));
	json_set_string(arena, document, "healthStatus", span_of(task_health_name(facts->health)));
	json_set_integer(arena, document, "version", json_get_integer(document, "version", 0) + 1);
	set_time(edit, "createdAt", facts->created_ms);
	set_time(edit, "startedAt", facts->started_ms);
	set_time(edit, "stoppingAt", facts->stopping_ms);
	set_time(edit, "stoppedAt", facts->stopped_ms);
	code = store_put(transaction, &task_kind, edit->key, json_to_text(document, arena),
		private_text(edit), edit->revision, err);
	if (code == 0 && has_stopped && facts->service.length > 0)
		code = service_task_stopped(transaction, edit->key, facts, arena, err);
	return code;
}

static void want_stopped(struct task_edit *edit, const char *stop_code, struct span reason,
	int64_t now_ms)
{
	edit->now_ms = now_ms;
	if (edit->facts.desired == TASK_STOPPED)
		return;
	edit->facts.desired = TASK_STOPPED;
	edit->facts.stopping_ms = now_ms;
	json_set_string(edit->arena, edit->document, "stopCode", span_of(stop_code));
	json_set_string(edit->arena, edit->document, "stoppedReason", reason);
}

int task_want_stopped(struct store_transaction *transaction, const struct store_object *task,
	const char *stop_code, struct span reason, int64_t now_ms, struct arena *arena,
	struct err *err)
{
	struct task_edit edit;
	int code;

	if (task_facts(task)->desired == TASK_STOPPED)
		return 0;
	code = task_edit_open(task, arena, &edit, err);
	if (code < 0)
		return code;
	want_stopped(&edit, stop_code, reason, now_ms);
	return task_save(transaction, &edit, err);
}

int task_want_stopped_at_once(struct store_transaction *transaction,
	const struct store_object *task, const char *stop_code, struct span reason, int64_t now_ms,
	struct arena *arena, struct err *err)
{
	struct task_edit edit;
	int code;

	if (task_facts(task)->desired == TASK_STOPPED &&
		task_facts(task)->traffic != TASK_TRAFFIC_LEAVING)
		return 0;
	code = task_edit_open(task, arena, &edit, err);
	if (code < 0)
		return code;
	want_stopped(&edit, stop_code, reason, now_ms);
	code = task_traffic_remove(transaction, &edit, err);
	return code < 0 ? code : task_save(transaction, &edit, err);
}
