/* Groups of the simulated runtime, on threads and real time, and on fibers and virtual time: the same tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "runtime/simulated/simulated.h"

#define PATIENCE_US INT64_C(60000000)
#define A_WHILE_US INT64_C(50000)
#define TASKS_MAX 64
#define GROUP "123456789012/eu-west-1/default/web/1"

struct rig {
	struct runner *runner;
	struct runner_event *event;
	struct simulated_world *world;
	struct runtime *runtime;
	const struct runtime_group_operations *groups;
	struct arena *arena;
	unsigned broken;
	struct runtime_group desired;
};

static void reported(void *context, struct span id)
{
	(void)id;
	runner_signal(((struct rig *)context)->event);
}

static void rule_broken(void *context, const char *rule)
{
	assert_true(rule[0] != '\0');
	((struct rig *)context)->broken++;
}

static void open_runtime(struct rig *rig)
{
	struct runtime_simulated_config config = {.runner = rig->runner,
		.changed = reported,
		.group_changed = reported,
		.context = rig};
	struct err err;

	assert_int_equal(runtime_simulated_open(rig->world, &config, &rig->runtime, &err), 0);
	rig->groups = rig->runtime->operations->groups;
	assert_non_null(rig->groups);
}

static struct json *parse(struct rig *rig, const char *text)
{
	struct json *value;
	struct err err;

	if (json_parse(span_of(text), rig->arena, &value, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return value;
}

/* A spec of one container with these arguments ("A=1 B=2"), and further members of the task. */
static struct json *spec_of(struct rig *rig, const char *command, const char *more)
{
	_free_ char *text = memory_copy_string(command);
	_buffer_ struct buffer out = {0};
	char *rest = NULL;

	buffer_format(&out,
		"{\"version\":1,\"family\":\"web\",\"revision\":3,\"networkMode\":\"awsvpc\","
		"\"group\":\"service:web\"%s,\"containers\":[{\"name\":\"app\",\"healthCheck\":{"
		"\"command\":[\"CMD\",\"true\"]},\"memory\":100,\"stopTimeout\":1,\"command\":["
		"\"run\"",
		more);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		buffer_format(&out, ",\"%s\"", word);
	buffer_add_string(&out, "]}]}");
	return parse(rig, arena_copy(rig->arena, out.data, out.length));
}

static struct rig *rig_new(struct runner *runner)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	struct simulated_config config = {
		.instances = 3,
		.cpu = 2048,
		.memory = 1000,
		.remember_tokens = true,
		.observer = {.broken = rule_broken, .context = rig},
		.groups = true,
		.group_check = {0, 2},
		.group_deadline_ms = 300,
	};
	struct err err;

	rig->runner = runner;
	rig->event = runner_event_new(rig->runner, "changed");
	rig->arena = arena_new(0);
	assert_int_equal(simulated_world_new(rig->runner, &config, &rig->world, &err), 0);
	open_runtime(rig);
	rig->desired = (struct runtime_group){
		.id = SPAN(GROUP),
		.version = SPAN("ecs-svc/1"),
		.desired = 3,
		.minimum_healthy = 100,
		.maximum = 200,
		.spec = spec_of(rig, "SIMULATED_START_MS=1-5 SIMULATED_HEALTH_MS=1-5", ""),
	};
	return rig;
}

static int set_up_threads(void **state)
{
	*state = rig_new(runner_threads_new(clock_system(), random_system()));
	return 0;
}

static int set_up_fibers(void **state)
{
	*state = rig_new(runner_simulated_new(1));
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	rig->runtime->operations->close(rig->runtime);
	simulated_world_free(rig->world);
	runner_event_free(rig->event);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	runner_free(rig->runner);
	arena_free(rig->arena);
	free(rig);
	return 0;
}

/* ---- calls and reports ---- */

static void apply(struct rig *rig)
{
	struct err err = {0};

	if (rig->groups->apply(rig->runtime, &rig->desired, &err) < 0)
		fail_msg("%s", err.message);
}

static struct runtime_group_state *get_group(struct rig *rig)
{
	struct runtime_group_state *group;
	struct err err;
	int code = rig->groups->get(rig->runtime, rig->desired.id, rig->arena, &group, &err);

	if (code < 0)
		assert_int_equal(code, -ENOENT);
	return code < 0 ? NULL : group;
}

static size_t get_tasks(struct rig *rig, struct runtime_task *tasks[TASKS_MAX])
{
	const struct runtime_operations *operations = rig->runtime->operations;
	struct span *tokens;
	size_t count, found = 0;

	assert_int_equal(operations->list_tasks(rig->runtime, rig->arena, &tokens, &count, NULL),
		0);
	assert_true(count <= TASKS_MAX);
	for (size_t i = 0; i < count; i++)
		if (operations->get(rig->runtime, tokens[i], rig->arena, &tasks[found], NULL) == 0)
			found++;
	return found;
}

static struct runtime_task *get_task(struct rig *rig, struct span token)
{
	struct runtime_task *task;

	assert_int_equal(rig->runtime->operations->get(rig->runtime, token, rig->arena, &task,
				 NULL),
		0);
	return task;
}

static size_t count_in(struct rig *rig, enum runtime_phase phase)
{
	struct runtime_task *tasks[TASKS_MAX];
	size_t count = get_tasks(rig, tasks), found = 0;

	for (size_t i = 0; i < count; i++)
		found += tasks[i]->phase == phase;
	return found;
}

/* Waits only for notices: a change without a notice is not found. */
#define WAIT_UNTIL(rig, condition)                                                                 \
	do {                                                                                       \
		int64_t deadline_us_ = runner_deadline_us((rig)->runner, PATIENCE_US);             \
                                                                                                   \
		for (;;) {                                                                         \
			uint64_t seen_ = runner_event_count((rig)->event);                         \
                                                                                                   \
			if (condition)                                                             \
				break;                                                             \
			if (runner_wait((rig)->runner, (rig)->event, seen_, deadline_us_) < 0)     \
				fail_msg("never: " #condition);                                    \
		}                                                                                  \
	} while (0)

static void sleep_a_while(struct rig *rig)
{
	assert_int_equal(runner_sleep_until(rig->runner,
				 runner_deadline_us(rig->runner, A_WHILE_US)),
		0);
}

/* The report of a group is a little old, so check the tasks, too. */
static bool is_done(struct rig *rig)
{
	const struct runtime_group_state *group = get_group(rig);
	struct runtime_task *tasks[TASKS_MAX];
	size_t count = get_tasks(rig, tasks);
	int64_t found = 0;

	for (size_t i = 0; group && i < count; i++)
		found += span_equal(tasks[i]->group, group->id) &&
			 tasks[i]->phase == RUNTIME_RUNNING;
	return group && group->settled && group->current == group->desired &&
	       group->updated == group->desired && group->ready == group->desired &&
	       found == group->desired;
}

static struct runtime_task *any_in(struct rig *rig, enum runtime_phase phase)
{
	struct runtime_task *tasks[TASKS_MAX];
	size_t count = get_tasks(rig, tasks);

	for (size_t i = 0; i < count; i++)
		if (tasks[i]->phase == phase)
			return tasks[i];
	return NULL;
}

static void acknowledge_all(struct rig *rig)
{
	struct runtime_task *tasks[TASKS_MAX];
	size_t count = get_tasks(rig, tasks);

	for (size_t i = 0; i < count; i++)
		if (tasks[i]->phase == RUNTIME_STOPPED)
			assert_int_equal(rig->runtime->operations->acknowledge(rig->runtime,
						 tasks[i]->token, NULL),
				0);
}

static int stop(struct rig *rig, struct span token)
{
	return rig->runtime->operations->stop(rig->runtime, token, SPAN("enough"), NULL);
}

static bool has_event(const struct runtime_group_state *group, const char *beginning, bool warning)
{
	for (size_t i = 0; i < group->event_count; i++)
		if (span_starts_with(group->events[i].text, span_of(beginning)) &&
			group->events[i].warning == warning)
			return true;
	return false;
}

/* ---- tests ---- */

static void check_tasks(struct rig *rig, size_t expected)
{
	struct runtime_task *tasks[TASKS_MAX];
	unsigned on_instance[3] = {0};

	assert_int_equal(get_tasks(rig, tasks), expected);
	for (size_t i = 0; i < expected; i++) {
		assert_int_equal(tasks[i]->token.length, 32);
		assert_int_equal(strspn(tasks[i]->token.data, "0123456789abcdef"), 32);
		assert_string_equal(tasks[i]->group.data, GROUP);
		assert_true(span_equal(tasks[i]->version, rig->desired.version));
		assert_int_equal(tasks[i]->phase, RUNTIME_RUNNING);
		assert_int_equal(tasks[i]->ends_ms, 0);
		for (unsigned j = 0; j < 3; j++)
			on_instance[j] += span_is(tasks[i]->instance,
				(const char *[]){"simulated", "simulated-2", "simulated-3"}[j]);
	}
	for (unsigned j = 0; j < 3; j++)
		assert_int_equal(on_instance[j], expected / 3);
}

static void test_life(void **state)
{
	struct rig *rig = *state;
	const struct runtime_group_state *group;
	struct span *ids;
	size_t count;

	assert_null(get_group(rig));
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	check_tasks(rig, 3);
	group = get_group(rig);
	assert_string_equal(group->id.data, GROUP);
	assert_string_equal(group->version.data, "ecs-svc/1");
	assert_int_equal(group->available, 3);
	assert_int_equal(group->version_count, 1);
	assert_int_equal(group->versions[0].desired, 3);
	assert_int_equal(group->versions[0].ready, 3);
	assert_true(group->versions[0].created_ms > 0);
	assert_false(group->failed || group->ending);
	assert_true(has_event(group, "SuccessfulCreate: Created pod: 0", false));
	assert_true(has_event(group, "ScalingReplicaSet: Scaled up", false));
	assert_int_equal(rig->groups->list(rig->runtime, rig->arena, &ids, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_string_equal(ids[0].data, GROUP);

	/* Applying twice changes nothing. */
	apply(rig);
	assert_true(get_group(rig)->settled);
	rig->desired.desired = 6;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	check_tasks(rig, 6);
	assert_string_equal(get_group(rig)->events[0].id.data, group->events[0].id.data);
	rig->desired.desired = 0;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) == 6);
	assert_true(has_event(get_group(rig), "SuccessfulDelete: ", false));
	acknowledge_all(rig);
	rig->desired.desired = 3;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));

	assert_int_equal(rig->groups->remove(rig->runtime, rig->desired.id, NULL), 0);
	WAIT_UNTIL(rig, !get_group(rig));
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) == 3);
	assert_string_equal(any_in(rig, RUNTIME_STOPPED)->group.data, GROUP);
	assert_int_equal(any_in(rig, RUNTIME_STOPPED)->stop, RUNTIME_STOP_REQUESTED);
	acknowledge_all(rig);
	assert_null(any_in(rig, RUNTIME_STOPPED));
	assert_int_equal(rig->groups->remove(rig->runtime, rig->desired.id, NULL), -ENOENT);
	assert_int_equal(rig->groups->list(rig->runtime, rig->arena, &ids, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(rig->broken, 0);
}

static void test_roll(void **state)
{
	struct rig *rig = *state;
	const struct runtime_group_state *group;

	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	rig->desired.version = SPAN("ecs-svc/2");
	rig->desired.spec = spec_of(rig, "SIMULATED_HEALTH_MS=never", "");
	apply(rig);
	assert_string_equal(get_group(rig)->version.data, "ecs-svc/2");
	/* Nothing new is healthy, so nothing old goes, and in the end it says so. */
	WAIT_UNTIL(rig, get_group(rig)->failed);
	group = get_group(rig);
	assert_true(span_starts_with(group->reason, SPAN("ProgressDeadlineExceeded")));
	assert_int_equal(group->version_count, 2);
	assert_string_equal(group->versions[0].version.data, "ecs-svc/2");
	assert_int_equal(group->versions[0].current, 3);
	assert_int_equal(group->versions[0].ready, 0);
	assert_int_equal(group->versions[1].ready, 3);
	assert_int_equal(group->current, 6);
	assert_int_equal(group->updated, 3);
	assert_int_equal(group->ready, 3);

	rig->desired.version = SPAN("ecs-svc/3");
	rig->desired.spec = spec_of(rig, "", "");
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) == 6);
	group = get_group(rig);
	assert_false(group->failed);
	assert_int_equal(group->version_count, 1);
	acknowledge_all(rig);
	check_tasks(rig, 3);
	assert_int_equal(rig->broken, 0);

	/* All tasks of a version are made from one spec. */
	rig->desired.spec = spec_of(rig, "SIMULATED_EXIT_CODE=1", "");
	apply(rig);
	assert_int_equal(rig->broken, 1);
}

static void test_replaced(void **state)
{
	struct rig *rig = *state;
	const struct runtime_task *task;

	rig->desired.desired = 1;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(simulated_world_end_task(rig->world, task->token, 7, NULL), 0);
	WAIT_UNTIL(rig, get_group(rig)->ready == 0);
	assert_int_equal(get_task(rig, task->token)->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(get_task(rig, task->token)->containers[0].exit_code, 7);
	/* It keeps its place until that was read. */
	sleep_a_while(rig);
	assert_int_equal(get_group(rig)->current, 1);
	assert_int_equal(count_in(rig, RUNTIME_RUNNING), 0);
	acknowledge_all(rig);
	WAIT_UNTIL(rig, is_done(rig));

	/* One that is stopped is replaced at once. */
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(stop(rig, task->token), 0);
	WAIT_UNTIL(rig, is_done(rig) && count_in(rig, RUNTIME_STOPPED) == 1);
	assert_string_equal(get_task(rig, task->token)->reason.data, "enough");
	acknowledge_all(rig);

	/* And one that is lost. */
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(simulated_world_kill_instance(rig->world, task->instance, NULL), 0);
	WAIT_UNTIL(rig, is_done(rig) && count_in(rig, RUNTIME_STOPPED) == 1);
	assert_int_equal(get_task(rig, task->token)->stop, RUNTIME_STOP_LOST);

	/* A task of a group is never started by a call. */
	assert_int_equal(rig->broken, 0);
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(rig->runtime->operations->start(rig->runtime, task->token, SPAN(""),
				 rig->desired.spec, NULL),
		0);
	assert_int_equal(rig->broken, 1);
}

/* Scaling in: ready tasks stay. */
static void test_scale_in(void **state)
{
	struct rig *rig = *state;
	struct runtime_task *tasks[TASKS_MAX];

	rig->desired.desired = 5;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	assert_int_equal(get_tasks(rig, tasks), 5);
	assert_int_equal(simulated_world_end_task(rig->world, tasks[0]->token, 1, NULL), 0);
	assert_int_equal(simulated_world_set_health(rig->world, tasks[2]->token, false, NULL), 0);
	WAIT_UNTIL(rig, get_group(rig)->ready == 3);
	rig->desired.desired = 4;
	apply(rig);
	/* The ended task gives up its place, even without an acknowledge. */
	WAIT_UNTIL(rig, get_group(rig)->settled);
	assert_int_equal(get_group(rig)->ready, 3);
	assert_int_equal(count_in(rig, RUNTIME_RUNNING), 4);
	rig->desired.desired = 2;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	assert_int_equal(get_task(rig, tasks[2]->token)->phase, RUNTIME_STOPPED);
	/* And the newest of equals goes. */
	assert_int_equal(get_task(rig, tasks[4]->token)->phase, RUNTIME_STOPPED);
	assert_int_equal(get_task(rig, tasks[0]->token)->stop, RUNTIME_STOP_ESSENTIAL);
}

static void test_held(void **state)
{
	struct rig *rig = *state;
	const struct runtime_task *task, *held;
	struct simulated_counts counts;

	rig->desired.desired = 1;
	rig->desired.spec = spec_of(rig, "", ",\"holdSeconds\":3");
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(stop(rig, task->token), 0);
	held = get_task(rig, task->token);
	assert_int_equal(held->phase, RUNTIME_STOPPING);
	assert_true(held->ends_ms >= held->started_ms + 3000);
	WAIT_UNTIL(rig, is_done(rig));
	/* Its program keeps running beside the new one; a slow machine is too late to see it. */
	simulated_world_counts(rig->world, &counts);
	if (runner_wall_ms(rig->runner) < held->ends_ms)
		assert_int_equal(counts.programs, 2);
	WAIT_UNTIL(rig, get_task(rig, task->token)->phase == RUNTIME_STOPPED);
	held = get_task(rig, task->token);
	assert_true(held->stopped_ms >= held->ends_ms);
	assert_int_equal(held->containers[0].exit_code, 143);

	/* Releasing a task ends its hold. */
	rig->desired.version = SPAN("ecs-svc/2");
	rig->desired.spec = spec_of(rig, "SIMULATED_STOP_MS=5", ",\"holdSeconds\":3600");
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	acknowledge_all(rig);
	task = any_in(rig, RUNTIME_RUNNING);
	assert_int_equal(stop(rig, task->token), 0);
	assert_int_equal(get_task(rig, task->token)->phase, RUNTIME_STOPPING);
	assert_int_equal(stop(rig, task->token), 0);
	WAIT_UNTIL(rig, get_task(rig, task->token)->phase == RUNTIME_STOPPED);
	held = get_task(rig, task->token);
	assert_true(held->ends_ms <= held->stopped_ms);
	assert_int_equal(held->containers[0].exit_code, 143);

	/* So is a task of its own; here its program ends by itself before. */
	assert_int_equal(rig->runtime->operations->start(rig->runtime, SPAN("own"), SPAN(""),
				 spec_of(rig, "SIMULATED_RUN_MS=2000 SIMULATED_EXIT_CODE=4",
					 ",\"holdSeconds\":3600"),
				 NULL),
		0);
	WAIT_UNTIL(rig, get_task(rig, SPAN("own"))->phase >= RUNTIME_RUNNING);
	assert_string_equal(get_task(rig, SPAN("own"))->group.data, "");
	assert_int_equal(stop(rig, SPAN("own")), 0);
	WAIT_UNTIL(rig, get_task(rig, SPAN("own"))->phase == RUNTIME_STOPPED);
	assert_int_equal(get_task(rig, SPAN("own"))->containers[0].exit_code, 4);
}

static void test_gate(void **state)
{
	struct rig *rig = *state;
	struct runtime_task *tasks[TASKS_MAX];
	size_t count;

	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	rig->desired.version = SPAN("ecs-svc/2");
	rig->desired.spec = spec_of(rig, "", ",\"gated\":true");
	apply(rig);
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_RUNNING) == 6);
	sleep_a_while(rig);
	assert_int_equal(get_group(rig)->ready, 3);
	assert_int_equal(count_in(rig, RUNTIME_RUNNING), 6);
	count = get_tasks(rig, tasks);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(tasks[i]->gate_closed,
			span_equal(tasks[i]->version, rig->desired.version));
		assert_int_equal(rig->groups->open_gate(rig->runtime, tasks[i]->token, NULL), 0);
		assert_false(get_task(rig, tasks[i]->token)->gate_closed);
	}
	WAIT_UNTIL(rig, is_done(rig));
	assert_int_equal(rig->groups->open_gate(rig->runtime, SPAN("missing"), NULL), -ENOENT);
}

static int cordon(struct rig *rig, const char *instance, bool closed)
{
	return rig->groups->cordon(rig->runtime, span_of(instance), closed, NULL);
}

static void test_places(void **state)
{
	struct rig *rig = *state;
	const struct runtime_operations *operations = rig->runtime->operations;
	const struct runtime_task *task;

	assert_int_equal(cordon(rig, "simulated", true), 0);
	assert_int_equal(cordon(rig, "simulated-2", true), 0);
	assert_int_equal(cordon(rig, "simulated-3", true), 0);
	assert_int_equal(cordon(rig, "simulated-4", true), -ENOENT);
	rig->desired.desired = 1;
	apply(rig);
	assert_int_equal(operations->start(rig->runtime, SPAN("own"), SPAN(""),
				 spec_of(rig, "SIMULATED_PLACE_MS=5", ""), NULL),
		0);
	assert_int_equal(get_task(rig, SPAN("own"))->phase, RUNTIME_PENDING);
	assert_string_equal(get_task(rig, SPAN("own"))->instance.data, "");
	WAIT_UNTIL(rig, get_task(rig, SPAN("own"))->reason.length > 0);
	assert_string_equal(get_task(rig, SPAN("own"))->reason.data,
		"FailedScheduling: 0/3 nodes are available: 3 node(s) were unschedulable.");
	WAIT_UNTIL(rig, get_group(rig) && has_event(get_group(rig), "FailedScheduling: 0/3", true));
	assert_int_equal(get_group(rig)->current, 1);
	assert_int_equal(cordon(rig, "simulated-2", false), 0);
	WAIT_UNTIL(rig, is_done(rig));
	task = any_in(rig, RUNTIME_RUNNING);
	assert_string_equal(task->instance.data, "simulated-2");
	assert_string_equal(task->reason.data, "");
	WAIT_UNTIL(rig, get_task(rig, SPAN("own"))->phase == RUNTIME_RUNNING);
	/* Again, from anywhere, is the same. */
	assert_int_equal(operations->start(rig->runtime, SPAN("own"), SPAN(""),
				 spec_of(rig, "SIMULATED_PLACE_MS=5", ""), NULL),
		0);
	assert_int_equal(rig->broken, 0);

	/* 8 more fit into 1000 MiB. */
	rig->desired.desired = 12;
	apply(rig);
	WAIT_UNTIL(rig, get_group(rig)->ready == 9);
	WAIT_UNTIL(rig, has_event(get_group(rig),
				"FailedScheduling: 0/3 nodes are available: 2 node(s) were "
				"unschedulable, 1 Insufficient memory.",
				true));
	assert_int_equal(stop(rig, SPAN("own")), 0);
	WAIT_UNTIL(rig, get_group(rig)->ready == 10);
	assert_int_equal(simulated_world_add_instance(rig->world, NULL), 0);
	WAIT_UNTIL(rig, is_done(rig));
}

static void test_obstacles(void **state)
{
	static const char port[] =
		"{\"version\":1,\"networkMode\":\"bridge\",\"containers\":[{\"name\":\"a\","
		"\"portMappings\":[{\"containerPort\":80,\"hostPort\":8080}]}]}";
	struct rig *rig = *state;

	rig->desired.spec = parse(rig, port);
	rig->desired.desired = 4;
	apply(rig);
	WAIT_UNTIL(rig, get_group(rig)->ready == 3 &&
				has_event(get_group(rig),
					"FailedScheduling: 0/3 nodes are available: 3 node(s) "
					"didn't have free ports",
					true));
	rig->desired.id = SPAN("other");
	rig->desired.spec =
		spec_of(rig, "", ",\"constraints\":[{\"type\":\"distinctInstance\"}],\"cpu\":100");
	apply(rig);
	WAIT_UNTIL(rig,
		get_group(rig)->ready == 3 &&
			has_event(get_group(rig),
				"FailedScheduling: 0/3 nodes are available: 3 node(s) didn't match",
				true));
	rig->desired.id = SPAN("third");
	rig->desired.spec = spec_of(rig, "", ",\"cpu\":4000");
	apply(rig);
	WAIT_UNTIL(rig, get_group(rig)->event_count > 4 &&
				has_event(get_group(rig),
					"FailedScheduling: 0/3 nodes are available: 3 Insufficient "
					"cpu.",
					true));
}

static int64_t count_ready_of(struct rig *rig, const char *version)
{
	const struct runtime_group_state *group = get_group(rig);

	for (size_t i = 0; i < group->version_count; i++)
		if (span_is(group->versions[i].version, version))
			return group->versions[i].ready;
	return 0;
}

/* A task that was ready for a moment only replaces none. */
static void test_settling(void **state)
{
	struct rig *rig = *state;

	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	rig->desired.version = SPAN("ecs-svc/2");
	rig->desired.settle_seconds = 1;
	rig->desired.spec =
		spec_of(rig, "SIMULATED_START_MS=1 SIMULATED_HEALTH_MS=1 SIMULATED_RUN_MS=500", "");
	apply(rig);
	for (unsigned crashes = 0; crashes < 9;) {
		WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) > 0);
		crashes += (unsigned)count_in(rig, RUNTIME_STOPPED);
		acknowledge_all(rig);
		assert_int_equal(count_ready_of(rig, "ecs-svc/1"), 3);
	}
	/* A task that stays ready does, when it has settled. */
	rig->desired.version = SPAN("ecs-svc/3");
	rig->desired.spec = spec_of(rig, "SIMULATED_START_MS=1 SIMULATED_HEALTH_MS=1", "");
	apply(rig);
	WAIT_UNTIL(rig, count_ready_of(rig, "ecs-svc/3") == 3);
	assert_int_equal(count_ready_of(rig, "ecs-svc/1"), 3);
	WAIT_UNTIL(rig, is_done(rig));
	assert_int_equal(count_ready_of(rig, "ecs-svc/1"), 0);
}

static void test_daemon(void **state)
{
	struct rig *rig = *state;

	rig->desired.daemon = true;
	rig->desired.desired = 0;
	rig->desired.maximum = 100;
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 3);
	check_tasks(rig, 3);
	assert_int_equal(simulated_world_add_instance(rig->world, NULL), 0);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 4);
	assert_int_equal(cordon(rig, "simulated-2", true), 0);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 3);
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) == 1);
	assert_string_equal(any_in(rig, RUNTIME_STOPPED)->instance.data, "simulated-2");
	acknowledge_all(rig);
	rig->desired.version = SPAN("ecs-svc/2");
	apply(rig);
	WAIT_UNTIL(rig,
		is_done(rig) && get_group(rig)->ready == 3 && count_in(rig, RUNTIME_STOPPED) == 3);
	assert_int_equal(get_group(rig)->version_count, 1);
	assert_int_equal(cordon(rig, "simulated-2", false), 0);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 4);
	assert_int_equal(simulated_world_kill_instance(rig->world, SPAN("simulated"), NULL), 0);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 3);
	assert_int_equal(simulated_world_revive_instance(rig->world, SPAN("simulated"), NULL), 0);
	WAIT_UNTIL(rig, is_done(rig) && get_group(rig)->ready == 4);
}

static void test_deleted_and_occupied(void **state)
{
	struct rig *rig = *state;
	struct simulated_counts counts;

	simulated_world_occupy_group(rig->world, rig->desired.id, true);
	assert_int_equal(rig->groups->apply(rig->runtime, &rig->desired, NULL), -EEXIST);
	assert_null(get_group(rig));
	simulated_world_occupy_group(rig->world, rig->desired.id, false);
	rig->desired.spec = spec_of(rig, "SIMULATED_STOP_MS=10-20", ",\"holdSeconds\":3");
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	assert_int_equal(simulated_world_delete_group(rig->world, rig->desired.id, NULL), 0);
	assert_int_equal(simulated_world_delete_group(rig->world, rig->desired.id, NULL), -ENOENT);
	assert_null(get_group(rig));
	assert_int_equal(count_in(rig, RUNTIME_STOPPING), 3);
	assert_string_equal(any_in(rig, RUNTIME_STOPPING)->group.data, GROUP);
	apply(rig);
	WAIT_UNTIL(rig, is_done(rig));
	WAIT_UNTIL(rig, count_in(rig, RUNTIME_STOPPED) == 3);
	assert_int_equal(count_in(rig, RUNTIME_RUNNING), 3);
	simulated_world_counts(rig->world, &counts);
	assert_int_equal(counts.group_deletions, 1);
	assert_int_equal(counts.groups, 1);
	/* One that is being removed is there until its tasks are gone. */
	assert_int_equal(rig->groups->remove(rig->runtime, rig->desired.id, NULL), 0);
	assert_int_equal(rig->groups->remove(rig->runtime, rig->desired.id, NULL), 0);
	assert_true(get_group(rig)->ending);
	assert_int_equal(rig->groups->apply(rig->runtime, &rig->desired, NULL), -EBUSY);
	WAIT_UNTIL(rig, !get_group(rig));
	assert_int_equal(count_in(rig, RUNTIME_STOPPED), 6);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	const struct runtime_group good = rig->desired;
	struct runtime_group bad[8];
	char long_id[RUNTIME_GROUP_MAX + 1];
	size_t count = 0;

	memset(long_id, 'x', sizeof(long_id));
	for (size_t i = 0; i < LENGTH(bad); i++)
		bad[i] = good;
	bad[count++].id = SPAN("");
	bad[count++].id = (struct span){long_id, sizeof(long_id)};
	bad[count++].version = SPAN("");
	bad[count++].desired = -1;
	bad[count++].minimum_healthy = -1;
	bad[count++].maximum = -1;
	bad[count++].spec = parse(rig, "{}");
	bad[count++].spec = spec_of(rig, "", ",\"holdSeconds\":-1");
	assert_int_equal(count, LENGTH(bad));
	for (size_t i = 0; i < count; i++) {
		struct err err = {0};

		assert_int_equal(rig->groups->apply(rig->runtime, &bad[i], &err), -EINVAL);
		assert_true(err.message[0]);
	}
	apply(rig);
	rig->desired.daemon = true;
	assert_int_equal(rig->groups->apply(rig->runtime, &rig->desired, NULL), -EINVAL);
}

static void test_outlives_servers(void **state)
{
	struct rig *rig = *state;

	apply(rig);
	rig->runtime->operations->close(rig->runtime);
	sleep_a_while(rig);
	open_runtime(rig);
	WAIT_UNTIL(rig, is_done(rig));
	check_tasks(rig, 3);
}

static void test_off(void **state)
{
	struct rig *rig = *state;
	struct simulated_config config = {0};
	struct runtime_simulated_config runtime_config = {.runner = rig->runner};
	struct simulated_world *world;
	struct runtime *runtime;
	struct err err;

	assert_int_equal(simulated_world_new(rig->runner, &config, &world, &err), 0);
	assert_int_equal(runtime_simulated_open(world, &runtime_config, &runtime, &err), 0);
	assert_null(runtime->operations->groups);
	assert_int_equal(runtime->operations->start(runtime, SPAN("own"), SPAN(""),
				 rig->desired.spec, &err),
		-EINVAL);
	runtime->operations->close(runtime);
	simulated_world_free(world);
}

#define BOTH(test)                                                                                 \
	{#test " on threads", test, set_up_threads, tear_down, NULL},                              \
	{                                                                                          \
#test " on fibers", test, set_up_fibers, tear_down, NULL                           \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_life),
		BOTH(test_roll),
		BOTH(test_replaced),
		BOTH(test_scale_in),
		BOTH(test_held),
		BOTH(test_gate),
		BOTH(test_places),
		BOTH(test_obstacles),
		cmocka_unit_test_setup_teardown(test_settling, set_up_fibers, tear_down),
		BOTH(test_daemon),
		BOTH(test_deleted_and_occupied),
		BOTH(test_refused),
		BOTH(test_outlives_servers),
		BOTH(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
