/*
 * Instances, and what becomes of tasks on them. The machines are agents: they register instances and tell ECS of
 * their tasks through its real API. What they do is drawn when a task is first seen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "daemon/simulation/rehearsal.h"
#include "ecs/container_instance.h"
#include "ecs/task_retention.h"

#define LARGE_ILL 100            /* times as long in large runs */
#define AGAIN_US INT64_C(200000) /* after a commit that failed */
#define FAR_AGAIN_US INT64_C(100000)

const struct rehearsal_behaviour rehearsal_behaviours[REHEARSAL_BEHAVIOURS] = {
	{"quick", true, false, .start_ms = {20, 500}, .stop_ms = {20, 500}},
	{"slow", true, false, .start_ms = {1000, 8000}, .stop_ms = {1000, 8000}},
	{"checked", true, true, .start_ms = {50, 2000}, .health_ms = {200, 5000},
		.stop_ms = {50, 1000}},
	{"stubborn", true, false, .start_ms = {50, 500}, .stop_ms = {10000, 200000}},
	{"crashing", false, false, .start_ms = {50, 500}, .run_ms = {100, 4000},
		.stop_ms = {20, 500}},
	{"hanging", false, false, .stop_ms = {20, 500}},
	{"sick", false, true, .start_ms = {50, 500}, .health_ms = {200, 3000},
		.ill_ms = {1000, 6000}, .stop_ms = {20, 500}},
};

static int64_t draw_time(struct rehearsal *rehearsal, const int64_t between_ms[2], int64_t from_us)
{
	if (between_ms[1] == 0)
		return 0;
	return from_us +
	       1000 * (between_ms[0] + (int64_t)rehearsal_draw(rehearsal,
					       (uint64_t)(between_ms[1] - between_ms[0] + 1)));
}

static const struct rehearsal_behaviour *behaviour_of(const struct truth_task *task)
{
	const char *revision = strrchr(task->definition, ':');
	size_t number = revision ? strtoul(revision + 1, NULL, 10) : 1;

	return &rehearsal_behaviours[(number - 1) % REHEARSAL_BEHAVIOURS];
}

static size_t cluster_of(const char *key)
{
	char prefix[REHEARSAL_TEXT_MAX];

	for (size_t i = 0; i < REHEARSAL_CLUSTERS; i++) {
		snprintf(prefix, sizeof(prefix), "%s/" REHEARSAL_REGION "/%s/",
			rehearsal_clusters[i].account, rehearsal_clusters[i].name);
		if (strncmp(key, prefix, strlen(prefix)) == 0)
			return i;
	}
	return 0;
}

/* ---- tasks ---- */

static bool submit(struct rehearsal *rehearsal, const struct truth_task *task, const char *status)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(task->instance->key);

	return rehearsal_operate(rehearsal, arena, cluster, "SubmitTaskStateChange",
		"{'cluster':'%s','task':'%s','status':'%s'}", rehearsal_clusters[cluster].name,
		task->arn, status);
}

struct health {
	struct span key;
	enum task_health health;
};

static int write_health(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct health *health = context;
	const struct store_object *task =
		store_get(store_head(transaction), &task_kind, health->key);
	struct task_draft draft;
	int code;

	if (!task || task_facts(task)->last >= TASK_STOPPED)
		return 0;
	code = task_draft_open(task, store_transaction_arena(transaction), &draft, err);
	if (code < 0)
		return code;
	draft.facts.health = health->health;
	return task_save(transaction, &draft, err);
}

static bool set_health(struct rehearsal *rehearsal, struct span key, enum task_health health)
{
	struct health change = {key, health};

	if (store_write_wait(rehearsal_store_of(rehearsal, cluster_of(key.data)), write_health,
		    &change, NULL, NULL) < 0)
		return false;
	runner_trace(rehearsal->root, "task %.*s is %s", SPAN_ARGS(key),
		health == TASK_HEALTH_HEALTHY ? "healthy" : "ill");
	return true;
}

static void plan(struct rehearsal *rehearsal, struct truth_task *task, int64_t now_us)
{
	if (task->life.planned)
		return;
	task->life.planned = true;
	task->life.runs_us = draw_time(rehearsal, behaviour_of(task)->start_ms, now_us);
}

/* When it runs, what comes then is drawn. */
static void plan_running(struct rehearsal *rehearsal, struct truth_task *task, int64_t now_us)
{
	const struct rehearsal_behaviour *behaviour = behaviour_of(task);

	task->life.runs_us = 0;
	task->life.healthy_us = draw_time(rehearsal, behaviour->health_ms, now_us);
	task->life.ill_us = draw_time(rehearsal, behaviour->ill_ms, now_us);
	/* Each is replaced by another one that falls ill: where there are thousands they take their time. */
	if (rehearsal->large && task->life.ill_us > 0)
		task->life.ill_us = now_us + LARGE_ILL * (task->life.ill_us - now_us);
	if (task->life.ill_us > 0 && task->life.ill_us <= task->life.healthy_us)
		task->life.ill_us = task->life.healthy_us + 1000000;
	task->life.dies_us = draw_time(rehearsal, behaviour->run_ms, now_us);
}

static bool is_due(int64_t at_us, int64_t now_us)
{
	return at_us > 0 && at_us <= now_us;
}

static void earlier(int64_t *next_us, int64_t at_us)
{
	if (at_us > 0 && at_us < *next_us)
		*next_us = at_us;
}

/* What is due for one task; false: it could not be said, try again. The task may be gone afterwards. */
static bool move_on(struct rehearsal *rehearsal, struct span key, struct truth_task *task,
	int64_t now_us, int64_t *next_us)
{
	struct truth_life *life = &task->life;

	plan(rehearsal, task, now_us);
	if (!task->wanted && life->stops_us == 0)
		life->stops_us = draw_time(rehearsal, behaviour_of(task)->stop_ms, now_us);
	if (is_due(life->stops_us, now_us) || is_due(life->dies_us, now_us))
		return submit(rehearsal, task, "STOPPED");
	if (!task->wanted) {
		earlier(next_us, life->stops_us);
		return true;
	}
	if (is_due(life->runs_us, now_us)) {
		if (!submit(rehearsal, task, "RUNNING"))
			return false;
		plan_running(rehearsal, task, now_us);
	}
	if (is_due(life->healthy_us, now_us)) {
		if (!set_health(rehearsal, key, TASK_HEALTH_HEALTHY))
			return false;
		life->healthy_us = 0;
	}
	if (is_due(life->ill_us, now_us)) {
		if (!set_health(rehearsal, key, TASK_HEALTH_UNHEALTHY))
			return false;
		life->ill_us = 0;
	}
	earlier(next_us, life->runs_us);
	earlier(next_us, life->healthy_us);
	earlier(next_us, life->ill_us);
	earlier(next_us, life->dies_us);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t one = (*(struct truth_task *const *)a)->number;
	uint64_t other = (*(struct truth_task *const *)b)->number;

	return (one > other) - (one < other);
}

/* Tasks that changed or are due, taken out of the agenda, in the order in which they were first seen. */
static size_t take_due(struct rehearsal *rehearsal, struct heap *agenda, int64_t now_us)
{
	const struct heap_item *first;
	size_t count = 0;

	if (rehearsal->due_size < agenda->count) {
		rehearsal->due_size = 2 * agenda->count;
		rehearsal->due = memory_resize(rehearsal->due,
			rehearsal->due_size * sizeof(struct truth_task *));
	}
	while ((first = heap_first(agenda)) && first->at <= now_us) {
		struct truth_task *task = CONTAINER_OF(first, struct truth_task, life.item);

		rehearsal->due[count++] = task;
		heap_remove(agenda, &task->life.item);
	}
	if (count > 0)
		qsort(rehearsal->due, count, sizeof(rehearsal->due[0]), by_number);
	return count;
}

/* Does what is due for one task, and puts down when the next thing is; false: it could not be said. */
static bool tend(struct rehearsal *rehearsal, struct truth *truth, struct truth_task *task,
	int64_t now_us)
{
	int64_t next_us = RUNNER_FOREVER;
	char key[TRUTH_TEXT_MAX];
	bool done;

	/* What an instance that is away does is not heard; when it comes back, all of it is looked at. */
	if (!task->instance->connected && task->instance->exists)
		return true;
	memcpy(key, task->key, sizeof(key));
	done = move_on(rehearsal, span_of(key), task, now_us, &next_us);
	if (map_get(&truth->tasks, span_of(key)) != task)
		return true; /* it is over */
	if (done && next_us < RUNNER_FOREVER && task->life.item.place == 0)
		heap_put(&truth->agenda, &task->life.item, next_us);
	return done;
}

static void work(void *context)
{
	struct rehearsal *rehearsal = context;
	struct truth *truth = daemon_checker_truth(rehearsal->checker);

	for (;;) {
		uint64_t seen = runner_event_count(rehearsal->machines_changed);
		int64_t now_us = runner_now_us(rehearsal->machines), next_us = RUNNER_FOREVER;
		size_t count = take_due(rehearsal, &truth->agenda, now_us), failed = 0;

		for (size_t i = 0; i < count; i++)
			if (!tend(rehearsal, truth, rehearsal->due[i], now_us))
				rehearsal->due[failed++] = rehearsal->due[i];
		if (heap_first(&truth->agenda))
			earlier(&next_us, heap_first(&truth->agenda)->at);
		if (failed > 0)
			earlier(&next_us, now_us + AGAIN_US);
		/* Those are tried again whenever something else is done, too. */
		for (size_t i = 0; i < failed; i++)
			heap_put(&truth->agenda, &rehearsal->due[i]->life.item, 0);
		if (rehearsal->far_store) {
			rehearsal_deliver_events(rehearsal);
			rehearsal_deliver_calls(rehearsal);
			earlier(&next_us, now_us + FAR_AGAIN_US);
		}
		if (runner_wait(rehearsal->machines, rehearsal->machines_changed, seen, next_us) ==
			-ECANCELED)
			return;
	}
}

static void wake(void *context)
{
	runner_signal(context);
}

int rehearsal_start_machines(struct rehearsal *rehearsal, struct err *err)
{
	struct controller_config retention = {
		.store = rehearsal->far_store, .context = &rehearsal_retention};
	int code;

	rehearsal->machines = runner_group_new(rehearsal->root, "machines");
	retention.runner = rehearsal->machines;
	rehearsal->machines_changed = runner_event_new(rehearsal->machines, "tasks");
	daemon_checker_on_change(rehearsal->checker, wake, rehearsal->machines_changed);
	code = runner_spawn(rehearsal->machines, "machines", work, rehearsal, err);
	if (code == 0 && rehearsal->far_store)
		code = controller_start(&task_retention_row, &retention, &rehearsal->far_retention,
			err);
	return code;
}

void rehearsal_stop_machines(struct rehearsal *rehearsal)
{
	if (!rehearsal->machines)
		return;
	runner_stop(rehearsal->machines);
	controller_stop(TAKE(rehearsal->far_retention));
	runner_join(rehearsal->machines, NULL);
	daemon_checker_on_change(rehearsal->checker, NULL, NULL);
	runner_event_free(TAKE(rehearsal->machines_changed));
	runner_free(TAKE(rehearsal->machines));
	free(TAKE(rehearsal->due));
}

/* ---- instances ---- */

static const char *draw_stack(struct rehearsal *rehearsal)
{
	return rehearsal_one_in(rehearsal, 4) ? "dev" : "prod";
}

void rehearsal_add_instances(struct rehearsal *rehearsal, size_t cluster, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		_arena_ struct arena *arena = arena_new(0);

		rehearsal_operate(rehearsal, arena, cluster, "RegisterContainerInstance",
			"{'cluster':'%s','totalResources':[{'name':'CPU','type':'INTEGER',"
			"'integerValue':4096},{'name':'MEMORY','type':'INTEGER','integerValue':%u}]"
			","
			"'attributes':[{'name':'stack','value':'%s'},"
			"{'name':'ecs.capability.container-health-check'}]}",
			rehearsal_clusters[cluster].name, REHEARSAL_MEMORY * rehearsal->crowd,
			draw_stack(rehearsal));
	}
}

static struct truth_instance *draw_instance(struct rehearsal *rehearsal, size_t *ret_cluster)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	struct truth_instance *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&truth->instances, entry) {
		struct truth_instance *instance = entry->value;

		if (instance->exists && rehearsal_draw(rehearsal, ++seen) == 0)
			chosen = instance;
	}
	if (chosen)
		*ret_cluster = cluster_of(chosen->key);
	return chosen;
}

static unsigned count_instances(struct rehearsal *rehearsal, size_t cluster)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	unsigned count = 0;

	MAP_EACH (&truth->instances, entry) {
		const struct truth_instance *instance = entry->value;

		count += instance->exists && cluster_of(instance->key) == cluster;
	}
	return count;
}

struct connection {
	struct span key;
	bool connected;
};

static int write_connection(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct connection *connection = context;
	const struct store_object *instance =
		store_get(store_head(transaction), &container_instance_kind, connection->key);
	struct container_instance_draft draft;
	int code;

	if (!instance || container_instance_facts(instance)->connected == connection->connected)
		return 0;
	code = container_instance_draft_open(instance, store_transaction_arena(transaction), &draft,
		err);
	if (code < 0)
		return code;
	draft.facts.connected = connection->connected;
	return container_instance_save(transaction, &draft, err);
}

void rehearsal_connect_instance(struct rehearsal *rehearsal, const struct truth_instance *instance,
	bool connected)
{
	struct connection connection = {span_of(instance->key), connected};

	runner_trace(rehearsal->root, "instance %s is %s", instance->id,
		connected ? "connected" : "away");
	store_write_wait(rehearsal_store_of(rehearsal, cluster_of(instance->key)), write_connection,
		&connection, NULL, NULL);
}

static void set_status(struct rehearsal *rehearsal, const struct truth_instance *instance,
	size_t cluster, const char *status)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_operate(rehearsal, arena, cluster, "UpdateContainerInstancesState",
		"{'cluster':'%s','containerInstances':['%s'],'status':'%s'}",
		rehearsal_clusters[cluster].name, instance->id, status);
}

const struct truth_instance *rehearsal_drain_some(struct rehearsal *rehearsal)
{
	size_t cluster;
	const struct truth_instance *instance = draw_instance(rehearsal, &cluster);

	if (instance)
		set_status(rehearsal, instance, cluster, "DRAINING");
	return instance;
}

static void leave(struct rehearsal *rehearsal, const struct truth_instance *instance,
	size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_operate(rehearsal, arena, cluster, "DeregisterContainerInstance",
		"{'cluster':'%s','containerInstance':'%s','force':true}",
		rehearsal_clusters[cluster].name, instance->id);
}

static void set_attribute(struct rehearsal *rehearsal, const struct truth_instance *instance,
	size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_operate(rehearsal, arena, cluster, "PutAttributes",
		"{'cluster':'%s','attributes':[{'name':'stack','value':'%s','targetType':"
		"'container-instance','targetId':'%s'}]}",
		rehearsal_clusters[cluster].name, draw_stack(rehearsal), instance->id);
}

/* Somebody else's task, or somebody's own copy of a daemon. */
static void start_foreign(struct rehearsal *rehearsal, const struct truth_instance *instance,
	size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_operate(rehearsal, arena, cluster, "StartTask",
		"{'cluster':'%s','taskDefinition':'%s:1','containerInstances':['%s']}",
		rehearsal_clusters[cluster].name,
		rehearsal_one_in(rehearsal, 3) ? "log" : REHEARSAL_FOREIGN, instance->id);
}

void rehearsal_act_instance(struct rehearsal *rehearsal)
{
	size_t cluster = 0;
	struct truth_instance *instance = draw_instance(rehearsal, &cluster);
	uint64_t what = rehearsal_draw(rehearsal, 10);

	rehearsal->result.instance_changes++;
	if (!instance || what == 0) {
		cluster = rehearsal_draw(rehearsal, REHEARSAL_CLUSTERS);
		if (count_instances(rehearsal, cluster) < rehearsal->instances_max)
			rehearsal_add_instances(rehearsal, cluster,
				1 + (unsigned)rehearsal_draw(rehearsal, 2));
		return;
	}
	switch (what) {
	case 1: leave(rehearsal, instance, cluster); break;
	case 2:
		leave(rehearsal, instance, cluster);
		rehearsal_add_instances(rehearsal, cluster, 1);
		break;
	case 3: set_status(rehearsal, instance, cluster, "DRAINING"); break;
	case 4: set_status(rehearsal, instance, cluster, "ACTIVE"); break;
	case 5: rehearsal_connect_instance(rehearsal, instance, false); break;
	case 6: rehearsal_connect_instance(rehearsal, instance, true); break;
	case 7: set_attribute(rehearsal, instance, cluster); break;
	default:
		if (rehearsal->crowded && rehearsal_one_in(rehearsal, 2))
			rehearsal_fill_instance(rehearsal, instance);
		else if (rehearsal->crowded)
			rehearsal_empty_instance(rehearsal, instance);
		else
			start_foreign(rehearsal, instance, cluster);
		break;
	}
}

/* ---- tasks that somebody does something to ---- */

static struct truth_task *draw_task(struct rehearsal *rehearsal, bool ours)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	struct truth_task *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&truth->tasks, entry) {
		struct truth_task *task = entry->value;

		if (task->wanted && (task->environment != NULL) == ours &&
			rehearsal_draw(rehearsal, ++seen) == 0)
			chosen = task;
	}
	return chosen;
}

static void stop_by_hand(struct rehearsal *rehearsal, const struct truth_task *task)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(task->instance->key);

	rehearsal_operate(rehearsal, arena, cluster, "StopTask",
		"{'cluster':'%s','task':'%s','reason':'by hand'}", rehearsal_clusters[cluster].name,
		task->arn);
}

static void fall_ill(struct rehearsal *rehearsal, struct truth_task *task)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);

	task->life.ill_us = runner_now_us(rehearsal->root) + 1;
	if (task->life.item.place == 0 || task->life.item.at > task->life.ill_us)
		heap_put(&truth->agenda, &task->life.item, task->life.ill_us);
}

void rehearsal_act_task(struct rehearsal *rehearsal)
{
	struct truth_task *task = draw_task(rehearsal, !rehearsal_one_in(rehearsal, 3));

	if (!task)
		return;
	rehearsal->result.task_deaths++;
	if (!task->environment || rehearsal_one_in(rehearsal, 4))
		stop_by_hand(rehearsal, task);
	else if (task->checked && task->last == TASK_RUNNING && !rehearsal_one_in(rehearsal, 3))
		fall_ill(rehearsal, task);
	else
		submit(rehearsal, task, "STOPPED");
}

unsigned rehearsal_kill_tasks(struct rehearsal *rehearsal)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	_free_ struct truth_task **chosen =
		memory_allocate_array(truth->environment_count, sizeof(*chosen));
	unsigned killed = 0;

	MAP_EACH (&truth->tasks, entry) {
		struct truth_task *task = entry->value;

		if (task->environment && task->last == TASK_RUNNING && truth_stays(task) &&
			task->environment->status == ENVIRONMENT_active)
			chosen[task->environment->index] = task;
	}
	for (unsigned i = 0; i < truth->environment_count; i++)
		killed += chosen[i] && submit(rehearsal, chosen[i], "STOPPED");
	return killed;
}

bool rehearsal_fill_instance(struct rehearsal *rehearsal, const struct truth_instance *instance)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(instance->key);
	struct truth_task *next;

	for (struct truth_task *task = instance->tasks; task; task = next) {
		next = task->beside;
		if (task->environment)
			submit(rehearsal, task, "STOPPED");
	}
	/* Nobody has seen yet that they died. */
	return json_count(json_get(rehearsal_operate(rehearsal, arena, cluster, "StartTask",
					   "{'cluster':'%s','taskDefinition':'" REHEARSAL_WALL
					   "','containerInstances':['%s']}",
					   rehearsal_clusters[cluster].name, instance->id),
		       "tasks")) > 0;
}

void rehearsal_empty_instance(struct rehearsal *rehearsal, const struct truth_instance *instance)
{
	struct truth_task *next;

	for (struct truth_task *task = instance->tasks; task; task = next) {
		next = task->beside;
		if (!task->environment)
			stop_by_hand(rehearsal, task);
	}
}

void rehearsal_calm_machines(struct rehearsal *rehearsal)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);

	MAP_EACH (&truth->instances, entry) {
		const struct truth_instance *instance = entry->value;

		if (instance->exists && !instance->connected)
			rehearsal_connect_instance(rehearsal, instance, true);
		if (instance->exists && instance->draining)
			set_status(rehearsal, instance, cluster_of(instance->key), "ACTIVE");
	}
	MAP_EACH (&truth->tasks, entry) {
		const struct truth_task *task = entry->value;

		if (!task->environment && task->wanted)
			stop_by_hand(rehearsal, task);
	}
}
