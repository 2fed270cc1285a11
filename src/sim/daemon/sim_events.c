/* Events of the remote ECS, as EventBridge delivers them: late, twice, in another order, or not at all. */
#include <stdio.h>

#include "base/memory.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "sim/daemon/sim_world.h"

#define LARGE_CHECK_ONE_IN 1000
#define CHANGES_AT_ONCE 64
#define EVENTS_MAX 4096 /* that are on their way; more are lost */
/* One in so many… */
#define LOST_ONE_IN 6
#define TWICE_ONE_IN 6
#define SLOW_ONE_IN 20
#define MALFORMED_ONE_IN 20
#define BURST_ONE_IN 40 /* of events are delivered so many times at once: */
#define BURST 50
#define SILENT_ONE_IN 6
#define SILENT_MOST_US (300 * SIM_SECOND_US)
#define USUAL_MOST_US (300 * 1000)
#define SLOW_MOST_US (90 * SIM_SECOND_US)
#define NEWEST INT64_C(1000000000)

struct event {
	int64_t due_us;
	char *text;
};

struct sim_events {
	struct sim *sim;
	struct store_feed *feed;
	struct event events[EVENTS_MAX];
	size_t count;
};

/* ---- delivery ---- */

static void put(struct sim_events *events, struct span text)
{
	struct sim *sim = events->sim;
	bool slow = sim->faulty && sim_one_in(sim, SLOW_ONE_IN);
	int64_t delay_us = (int64_t)sim_draw(sim, slow ? SLOW_MOST_US : USUAL_MOST_US);

	if (events->count == EVENTS_MAX)
		return;
	events->events[events->count++] =
		(struct event){.due_us = runner_now_us(sim->root) + delay_us,
			.text = memory_copy_string_n(text.data, text.length)};
}

void sim_silence_events(struct sim *sim)
{
	if (!sim->events || !sim_one_in(sim, SILENT_ONE_IN))
		return;
	sim->result.silences++;
	sim->silent_till_us = runner_now_us(sim->root) + (int64_t)sim_draw(sim, SILENT_MOST_US);
	runner_trace(sim->root, "nothing is heard of events for %.3f s",
		(double)(sim->silent_till_us - runner_now_us(sim->root)) / (double)SIM_SECOND_US);
}

static bool is_silent(const struct sim *sim)
{
	return sim->faulty && runner_now_us(sim->root) < sim->silent_till_us;
}

static void log_transition(struct sim_events *events, const struct store_change *change)
{
	struct sim *sim = events->sim;
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object = change->after ? change->after : change->before;
	bool is_task = change->kind == &task_kind;
	struct json *event = json_new_object(arena), *detail;
	int64_t version;

	if (json_parse(object->api, arena, &detail, NULL) < 0)
		return;
	json_set_string(arena, detail, "clusterArn",
		ecs_arn_of_key(arena, "cluster", task_cluster_key(object->key)));
	if (!is_task)
		json_set_string(arena, detail, "containerInstanceArn",
			ecs_arn_of_key(arena, "container-instance", object->key));
	if (!change->after) {
		version = json_get_integer(detail, "version", 1);
		if (is_task)
			return; /* a forgotten object has no event */
		json_set_string(arena, detail, "status", SPAN("INACTIVE"));
		json_set_integer(arena, detail, "version", version + 1);
	}
	json_set_string(arena, event, "detail-type",
		is_task ? SPAN("ECS Task State Change")
			: SPAN("ECS Container Instance State Change"));
	json_set_time(arena, event, "time", runner_wall_ms(sim->root));
	json_set(arena, event, "detail", detail);
	if (is_silent(sim) || (sim->faulty && sim_one_in(sim, LOST_ONE_IN))) {
		sim->result.lost_events++;
		return;
	}
	put(events, json_to_text(event, arena));
	if (sim->faulty && sim_one_in(sim, TWICE_ONE_IN))
		put(events, json_to_text(event, arena));
}

static void pass(void *context)
{
	struct sim_events *events = context;
	struct store_change changes[CHANGES_AT_ONCE];
	int count;

	while ((count = store_feed_next(events->feed, changes, CHANGES_AT_ONCE)) > 0)
		for (int i = 0; i < count; i++) {
			if (changes[i].kind == &task_kind ||
				changes[i].kind == &container_instance_kind)
				log_transition(events, &changes[i]);
			store_change_release(&changes[i]);
		}
}

/* ---- delivering ---- */

/* A seeded bug: versions and times are ignored. */
static void make_new(struct sim *sim, struct arena *arena, struct json *event)
{
	struct json *detail = json_copy_object(arena, json_get(event, "detail"));

	json_set_integer(arena, detail, "version", NEWEST + runner_wall_ms(sim->root));
	json_set(arena, event, "detail", detail);
	json_set_time(arena, event, "time", runner_wall_ms(sim->root));
}

/* Members without which an event cannot be read. */
static const char *const members[] = {"version", "taskArn", "containerInstanceArn", "lastStatus",
	"status", "clusterArn", "taskDefinitionArn"};

/* It is refused, and nothing comes of it. */
static void post_malformed(struct sim *sim, struct sim_server *server, struct arena *arena,
	const struct json *event)
{
	struct json *created = json_copy_object(arena, event);
	struct json *detail = json_copy_object(arena, json_get(event, "detail"));
	const char *member = members[sim_draw(sim, LENGTH(members))];
	struct err err = {0};

	/* An event about a task need not name its instance, nor one about an instance a task. */
	if (json_is_absent(json_get(detail, member)) ||
		(strcmp(member, "containerInstanceArn") == 0 &&
			!json_is_absent(json_get(detail, "taskArn"))))
		member = "version";
	if (sim_one_in(sim, 2))
		json_unset(detail, member);
	else
		json_set(arena, detail, member, json_new_array(arena));
	json_set(arena, created, "detail", detail);
	sim->result.malformed_events++;
	if (observe_post_event(manager_state(server->manager), SPAN(SIM_REMOTE), created, &err) >=
		0)
		sim_broken(sim, "a malformed event was taken");
}

/* One that runs; NULL: none does. */
static struct sim_server *draw_server(struct sim *sim)
{
	size_t first = sim_draw(sim, sim->server_count);

	for (size_t i = 0; i < sim->server_count; i++) {
		struct sim_server *server = &sim->servers[(first + i) % sim->server_count];

		if (server->manager && !runner_is_stopped(server->runner))
			return server;
	}
	return NULL;
}

/* To one of them; the others hear of it by the store. */
static void post(struct sim *sim, const char *text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct sim_server *server = draw_server(sim);
	bool is_burst = sim->faulty && sim_one_in(sim, BURST_ONE_IN);
	unsigned times = is_burst ? BURST : 1;
	struct json *event;
	struct err err = {0};

	sim->result.bursts += is_burst;
	if (!server || json_parse(span_of(text), arena, &event, NULL) < 0)
		return;
	if (sim->config->bug == DAEMON_BUG_OLD_EVENTS)
		make_new(sim, arena, event);
	if (sim->faulty && sim_one_in(sim, MALFORMED_ONE_IN))
		post_malformed(sim, server, arena, event);
	for (unsigned i = 0; i < times; i++)
		if (observe_post_event(manager_state(server->manager), SPAN(SIM_REMOTE), event,
			    &err) < 0)
			sim_broken(sim, err.message);
}

void sim_deliver_events(struct sim *sim)
{
	struct sim_events *events = sim->events;
	int64_t now_us = runner_now_us(sim->root);
	size_t kept = 0;
	bool posted = false;

	for (size_t i = 0; events && i < events->count; i++) {
		struct event event = events->events[i];

		if (event.due_us > now_us || is_silent(sim)) {
			events->events[kept++] = event;
			continue;
		}
		post(sim, event.text);
		free(event.text);
		posted = true;
	}
	if (events)
		events->count = kept;
	/* At all that they know: where that is much, only now and then. */
	if (posted && (!sim->large || sim_one_in(sim, LARGE_CHECK_ONE_IN)))
		sim_inspect_servers(sim);
}

int sim_follow_remote(struct sim *sim, struct err *err)
{
	struct sim_events *events = memory_allocate(sizeof(*events));
	_view_ struct store_view *view = store_view_open(sim->remote_store);

	events->sim = sim;
	sim->events = events;
	return store_feed_open(sim->remote_store, store_view_revision(view), pass, events,
		&events->feed, err);
}

void sim_unfollow_remote(struct sim *sim)
{
	struct sim_events *events = TAKE(sim->events);

	if (!events)
		return;
	if (events->feed)
		store_feed_close(events->feed);
	for (size_t i = 0; i < events->count; i++)
		free(events->events[i].text);
	free(events);
}
