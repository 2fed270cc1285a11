/*
 * Instances and the tasks on them. The machines are agents: they register instances and report
 * their tasks through its real API. What they do is drawn when a task is first seen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ecs/record/container_instance.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_retention.h"
#include "sim/daemon/sim_world.h"

#define LARGE_UNHEALTHY 100      /* times as long in large runs */
#define AGAIN_US INT64_C(200000) /* after a commit that failed */
#define REMOTE_AGAIN_US INT64_C(100000)

const struct sim_behaviour sim_behaviours[SIM_BEHAVIOURS] = {
	{"quick", true, false, .start_ms = {20, 500}, .stop_ms = {20, 500}},
	{"slow", true, false, .start_ms = {1000, 8000}, .stop_ms = {1000, 8000}},
	{"checked", true, true, .start_ms = {50, 2000}, .health_ms = {200, 5000},
		.stop_ms = {50, 1000}},
	{"stubborn", true, false, .start_ms = {50, 500}, .stop_ms = {10000, 200000}},
	{"crashing", false, false, .start_ms = {50, 500}, .run_ms = {100, 4000},
		.stop_ms = {20, 500}},
	{"hanging", false, false, .stop_ms = {20, 500}},
	{"sick", false, true, .start_ms = {50, 500}, .health_ms = {200, 3000},
		.unhealthy_ms = {1000, 6000}, .stop_ms = {20, 500}},
};

static int64_t draw_time(struct sim *sim, const int64_t between_ms[2], int64_t from_us)
{
	if (between_ms[1] == 0)
		return 0;
	return from_us +
	       1000 * (between_ms[0] + (int64_t)sim_draw(sim,
					       (uint64_t)(between_ms[1] - between_ms[0] + 1)));
}

static const struct sim_behaviour *behaviour_of(const struct actual_task *task)
{
	const char *revision = strrchr(task->definition, ':');
	size_t number = revision ? strtoul(revision + 1, NULL, 10) : 1;

	return &sim_behaviours[(number - 1) % SIM_BEHAVIOURS];
}

static size_t cluster_of(const char *key)
{
	char prefix[SIM_TEXT_MAX];

	for (size_t i = 0; i < SIM_CLUSTERS; i++) {
		snprintf(prefix, sizeof(prefix), "%s/" SIM_REGION "/%s/", sim_clusters[i].account,
			sim_clusters[i].name);
		if (strncmp(key, prefix, strlen(prefix)) == 0)
			return i;
	}
	return 0;
}

/* ---- tasks ---- */

static bool submit(struct sim *sim, const struct actual_task *task, const char *status)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(task->instance->key);

	return sim_operate(sim, arena, cluster, "SubmitTaskStateChange",
		"{'cluster':'%s','task':'%s','status':'%s'}", sim_clusters[cluster].name, task->arn,
		status);
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
	struct task_edit builder;
	int code;

	if (!task || task_facts(task)->last >= TASK_STOPPED)
		return 0;
	code = task_edit_open(task, store_transaction_arena(transaction), &builder, err);
	if (code < 0)
		return code;
	builder.facts.health = health->health;
	return task_save(transaction, &builder, err);
}

static bool set_health(struct sim *sim, struct span key, enum task_health health)
{
	struct health change = {key, health};

	if (store_write_wait(sim_store_of(sim, cluster_of(key.data)), write_health, &change, NULL,
		    NULL) < 0)
		return false;
	runner_trace(sim->root, "task %.*s is %s", SPAN_ARGS(key),
		health == TASK_HEALTH_HEALTHY ? "healthy" : "ill");
	return true;
}

static void plan(struct sim *sim, struct actual_task *task, int64_t now_us)
{
	if (task->life.planned)
		return;
	task->life.planned = true;
	task->life.runs_us = draw_time(sim, behaviour_of(task)->start_ms, now_us);
}

/* When it runs, what comes then is drawn. */
static void plan_running(struct sim *sim, struct actual_task *task, int64_t now_us)
{
	const struct sim_behaviour *behaviour = behaviour_of(task);

	task->life.runs_us = 0;
	task->life.healthy_us = draw_time(sim, behaviour->health_ms, now_us);
	task->life.unhealthy_us = draw_time(sim, behaviour->unhealthy_ms, now_us);
	/* Each is replaced by another one that becomes unhealthy: where there are thousands they take their time. */
	if (sim->large && task->life.unhealthy_us > 0)
		task->life.unhealthy_us =
			now_us + LARGE_UNHEALTHY * (task->life.unhealthy_us - now_us);
	if (task->life.unhealthy_us > 0 && task->life.unhealthy_us <= task->life.healthy_us)
		task->life.unhealthy_us = task->life.healthy_us + 1000000;
	task->life.dies_us = draw_time(sim, behaviour->run_ms, now_us);
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

/* Takes the due step of one task; false: the report failed, try again. The task may be gone afterwards. */
static bool move_on(struct sim *sim, struct span key, struct actual_task *task, int64_t now_us,
	int64_t *next_us)
{
	struct actual_life *life = &task->life;

	plan(sim, task, now_us);
	if (!task->wanted && life->stops_us == 0)
		life->stops_us = draw_time(sim, behaviour_of(task)->stop_ms, now_us);
	if (is_due(life->stops_us, now_us) || is_due(life->dies_us, now_us))
		return submit(sim, task, "STOPPED");
	if (!task->wanted) {
		earlier(next_us, life->stops_us);
		return true;
	}
	if (is_due(life->runs_us, now_us)) {
		if (!submit(sim, task, "RUNNING"))
			return false;
		plan_running(sim, task, now_us);
	}
	if (is_due(life->healthy_us, now_us)) {
		if (!set_health(sim, key, TASK_HEALTH_HEALTHY))
			return false;
		life->healthy_us = 0;
	}
	if (is_due(life->unhealthy_us, now_us)) {
		if (!set_health(sim, key, TASK_HEALTH_UNHEALTHY))
			return false;
		life->unhealthy_us = 0;
	}
	earlier(next_us, life->runs_us);
	earlier(next_us, life->healthy_us);
	earlier(next_us, life->unhealthy_us);
	earlier(next_us, life->dies_us);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t one = (*(struct actual_task *const *)a)->number;
	uint64_t other = (*(struct actual_task *const *)b)->number;

	return (one > other) - (one < other);
}

/* Tasks that changed or are due, taken out of the agenda, in the order in which they were first seen. */
static size_t take_due(struct sim *sim, struct heap *agenda, int64_t now_us)
{
	const struct heap_item *first;
	size_t count = 0;

	if (sim->due_size < agenda->count) {
		sim->due_size = 2 * agenda->count;
		sim->due = memory_resize(sim->due, sim->due_size * sizeof(struct actual_task *));
	}
	while ((first = heap_first(agenda)) && first->at <= now_us) {
		struct actual_task *task = CONTAINER_OF(first, struct actual_task, life.item);

		sim->due[count++] = task;
		heap_remove(agenda, &task->life.item);
	}
	if (count > 0)
		qsort(sim->due, count, sizeof(sim->due[0]), by_number);
	return count;
}

/* Does what is due for one task, and puts down when the next thing is; false: it could not be said. */
static bool tend(struct sim *sim, struct actual *actual, struct actual_task *task, int64_t now_us)
{
	int64_t next_us = RUNNER_FOREVER;
	char key[ACTUAL_TEXT_MAX];
	bool done;

	/* A disconnected instance reports nothing; when it comes back, it reports everything. */
	if (!task->instance->connected && task->instance->exists)
		return true;
	memcpy(key, task->key, sizeof(key));
	done = move_on(sim, span_of(key), task, now_us, &next_us);
	if (map_get(&actual->tasks, span_of(key)) != task)
		return true; /* it is over */
	if (done && next_us < RUNNER_FOREVER && task->life.item.position == 0)
		heap_put(&actual->agenda, &task->life.item, next_us);
	return done;
}

static void work(void *context)
{
	struct sim *sim = context;
	struct actual *actual = daemon_checker_actual(sim->checker);

	for (;;) {
		uint64_t seen = runner_event_count(sim->machines_changed);
		int64_t now_us = runner_now_us(sim->machines), next_us = RUNNER_FOREVER;
		size_t count = take_due(sim, &actual->agenda, now_us), failed = 0;

		for (size_t i = 0; i < count; i++)
			if (!tend(sim, actual, sim->due[i], now_us))
				sim->due[failed++] = sim->due[i];
		if (heap_first(&actual->agenda))
			earlier(&next_us, heap_first(&actual->agenda)->at);
		if (failed > 0)
			earlier(&next_us, now_us + AGAIN_US);
		/* Those are tried again whenever something else is done, too. */
		for (size_t i = 0; i < failed; i++)
			heap_put(&actual->agenda, &sim->due[i]->life.item, 0);
		if (sim->remote_store) {
			sim_deliver_events(sim);
			sim_deliver_calls(sim);
			earlier(&next_us, now_us + REMOTE_AGAIN_US);
		}
		if (runner_wait(sim->machines, sim->machines_changed, seen, next_us) == -ECANCELED)
			return;
	}
}

static void wake(void *context)
{
	runner_signal(context);
}

int sim_start_machines(struct sim *sim, struct err *err)
{
	struct controller_config retention = {
		.store = sim->remote_store, .context = &sim_retention};
	int code;

	sim->machines = runner_group_new(sim->root, "machines");
	retention.runner = sim->machines;
	sim->machines_changed = runner_event_new(sim->machines, "tasks");
	daemon_checker_on_change(sim->checker, wake, sim->machines_changed);
	code = runner_spawn(sim->machines, "machines", work, sim, err);
	if (code == 0 && sim->remote_store)
		code = controller_start(&task_retention_row, &retention, &sim->remote_retention,
			err);
	return code;
}

void sim_stop_machines(struct sim *sim)
{
	if (!sim->machines)
		return;
	runner_stop(sim->machines);
	controller_stop(TAKE(sim->remote_retention));
	runner_join(sim->machines, NULL);
	daemon_checker_on_change(sim->checker, NULL, NULL);
	runner_event_free(TAKE(sim->machines_changed));
	runner_free(TAKE(sim->machines));
	free(TAKE(sim->due));
}

/* ---- instances ---- */

static const char *draw_stack(struct sim *sim)
{
	return sim_one_in(sim, 4) ? "dev" : "prod";
}

void sim_add_instances(struct sim *sim, size_t cluster, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		_arena_ struct arena *arena = arena_new(0);

		sim_operate(sim, arena, cluster, "RegisterContainerInstance",
			"{'cluster':'%s','totalResources':[{'name':'CPU','type':'INTEGER',"
			"'integerValue':4096},{'name':'MEMORY','type':'INTEGER','integerValue':%u}]"
			","
			"'attributes':[{'name':'stack','value':'%s'},"
			"{'name':'ecs.capability.container-health-check'}]}",
			sim_clusters[cluster].name, SIM_MEMORY * sim->crowd, draw_stack(sim));
	}
}

static struct actual_instance *draw_instance(struct sim *sim, size_t *ret_cluster)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	struct actual_instance *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&actual->instances, entry) {
		struct actual_instance *instance = entry->value;

		if (instance->exists && sim_draw(sim, ++seen) == 0)
			chosen = instance;
	}
	if (chosen)
		*ret_cluster = cluster_of(chosen->key);
	return chosen;
}

static unsigned count_instances(struct sim *sim, size_t cluster)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	unsigned count = 0;

	MAP_EACH (&actual->instances, entry) {
		const struct actual_instance *instance = entry->value;

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
	struct container_instance_edit builder;
	int code;

	if (!instance || container_instance_facts(instance)->connected == connection->connected)
		return 0;
	code = container_instance_edit_open(instance, store_transaction_arena(transaction),
		&builder, err);
	if (code < 0)
		return code;
	builder.facts.connected = connection->connected;
	return container_instance_save(transaction, &builder, err);
}

void sim_connect_instance(struct sim *sim, const struct actual_instance *instance, bool connected)
{
	struct connection connection = {span_of(instance->key), connected};

	runner_trace(sim->root, "instance %s is %s", instance->id,
		connected ? "connected" : "away");
	store_write_wait(sim_store_of(sim, cluster_of(instance->key)), write_connection,
		&connection, NULL, NULL);
}

static void set_status(struct sim *sim, const struct actual_instance *instance, size_t cluster,
	const char *status)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_operate(sim, arena, cluster, "UpdateContainerInstancesState",
		"{'cluster':'%s','containerInstances':['%s'],'status':'%s'}",
		sim_clusters[cluster].name, instance->id, status);
}

const struct actual_instance *sim_drain_some(struct sim *sim)
{
	size_t cluster;
	const struct actual_instance *instance = draw_instance(sim, &cluster);

	if (instance)
		set_status(sim, instance, cluster, "DRAINING");
	return instance;
}

static void leave(struct sim *sim, const struct actual_instance *instance, size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_operate(sim, arena, cluster, "DeregisterContainerInstance",
		"{'cluster':'%s','containerInstance':'%s','force':true}",
		sim_clusters[cluster].name, instance->id);
}

static void set_attribute(struct sim *sim, const struct actual_instance *instance, size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_operate(sim, arena, cluster, "PutAttributes",
		"{'cluster':'%s','attributes':[{'name':'stack','value':'%s','targetType':"
		"'container-instance','targetId':'%s'}]}",
		sim_clusters[cluster].name, draw_stack(sim), instance->id);
}

/* An unmanaged task, or an unmanaged copy of a daemon. */
static void start_foreign(struct sim *sim, const struct actual_instance *instance, size_t cluster)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_operate(sim, arena, cluster, "StartTask",
		"{'cluster':'%s','taskDefinition':'%s:1','containerInstances':['%s']}",
		sim_clusters[cluster].name, sim_one_in(sim, 3) ? "log" : SIM_FOREIGN, instance->id);
}

void sim_act_instance(struct sim *sim)
{
	size_t cluster = 0;
	struct actual_instance *instance = draw_instance(sim, &cluster);
	uint64_t what = sim_draw(sim, 10);

	sim->result.instance_changes++;
	if (!instance || what == 0) {
		cluster = sim_draw(sim, SIM_CLUSTERS);
		if (count_instances(sim, cluster) < sim->instances_max)
			sim_add_instances(sim, cluster, 1 + (unsigned)sim_draw(sim, 2));
		return;
	}
	switch (what) {
	case 1: leave(sim, instance, cluster); break;
	case 2:
		leave(sim, instance, cluster);
		sim_add_instances(sim, cluster, 1);
		break;
	case 3: set_status(sim, instance, cluster, "DRAINING"); break;
	case 4: set_status(sim, instance, cluster, "ACTIVE"); break;
	case 5: sim_connect_instance(sim, instance, false); break;
	case 6: sim_connect_instance(sim, instance, true); break;
	case 7: set_attribute(sim, instance, cluster); break;
	default:
		if (sim->crowded && sim_one_in(sim, 2))
			sim_fill_instance(sim, instance);
		else if (sim->crowded)
			sim_empty_instance(sim, instance);
		else
			start_foreign(sim, instance, cluster);
		break;
	}
}

/* ---- actions of operators on tasks ---- */

static struct actual_task *draw_task(struct sim *sim, bool ours)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	struct actual_task *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&actual->tasks, entry) {
		struct actual_task *task = entry->value;

		if (task->wanted && (task->environment != NULL) == ours &&
			sim_draw(sim, ++seen) == 0)
			chosen = task;
	}
	return chosen;
}

static void stop_by_hand(struct sim *sim, const struct actual_task *task)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(task->instance->key);

	sim_operate(sim, arena, cluster, "StopTask",
		"{'cluster':'%s','task':'%s','reason':'by hand'}", sim_clusters[cluster].name,
		task->arn);
}

static void become_unhealthy(struct sim *sim, struct actual_task *task)
{
	struct actual *actual = daemon_checker_actual(sim->checker);

	task->life.unhealthy_us = runner_now_us(sim->root) + 1;
	if (task->life.item.position == 0 || task->life.item.at > task->life.unhealthy_us)
		heap_put(&actual->agenda, &task->life.item, task->life.unhealthy_us);
}

void sim_act_task(struct sim *sim)
{
	struct actual_task *task = draw_task(sim, !sim_one_in(sim, 3));

	if (!task)
		return;
	sim->result.task_deaths++;
	if (!task->environment || sim_one_in(sim, 4))
		stop_by_hand(sim, task);
	else if (task->checked && task->last == TASK_RUNNING && !sim_one_in(sim, 3))
		become_unhealthy(sim, task);
	else
		submit(sim, task, "STOPPED");
}

unsigned sim_kill_tasks(struct sim *sim)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	_free_ struct actual_task **chosen =
		memory_allocate_array(actual->environment_count, sizeof(*chosen));
	unsigned killed = 0;

	MAP_EACH (&actual->tasks, entry) {
		struct actual_task *task = entry->value;

		if (task->environment && task->last == TASK_RUNNING && actual_stays(task) &&
			task->environment->status == ENVIRONMENT_active)
			chosen[task->environment->index] = task;
	}
	for (unsigned i = 0; i < actual->environment_count; i++)
		killed += chosen[i] && submit(sim, chosen[i], "STOPPED");
	return killed;
}

bool sim_fill_instance(struct sim *sim, const struct actual_instance *instance)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t cluster = cluster_of(instance->key);
	struct actual_task *next;

	for (struct actual_task *task = instance->tasks; task; task = next) {
		next = task->beside;
		if (task->environment)
			submit(sim, task, "STOPPED");
	}
	/* Their death is not reported yet. */
	return json_count(json_get(sim_operate(sim, arena, cluster, "StartTask",
					   "{'cluster':'%s','taskDefinition':'" SIM_WALL
					   "','containerInstances':['%s']}",
					   sim_clusters[cluster].name, instance->id),
		       "tasks")) > 0;
}

void sim_empty_instance(struct sim *sim, const struct actual_instance *instance)
{
	struct actual_task *next;

	for (struct actual_task *task = instance->tasks; task; task = next) {
		next = task->beside;
		if (!task->environment)
			stop_by_hand(sim, task);
	}
}

void sim_calm_machines(struct sim *sim)
{
	struct actual *actual = daemon_checker_actual(sim->checker);

	MAP_EACH (&actual->instances, entry) {
		const struct actual_instance *instance = entry->value;

		if (instance->exists && !instance->connected)
			sim_connect_instance(sim, instance, true);
		if (instance->exists && instance->draining)
			set_status(sim, instance, cluster_of(instance->key), "ACTIVE");
	}
	MAP_EACH (&actual->tasks, entry) {
		const struct actual_task *task = entry->value;

		if (!task->environment && task->wanted)
			stop_by_hand(sim, task);
	}
}
