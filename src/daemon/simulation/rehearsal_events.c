/* What the ECS elsewhere tells of itself, as EventBridge does: late, twice, in another order, or not at all. */
#include <stdio.h>

#include "base/memory.h"
#include "daemon/simulation/rehearsal.h"
#include "ecs/container_instance.h"
#include "ecs/name.h"

#define LARGE_LOOK_ONE_IN 1000
#define CHANGES_AT_ONCE 64
#define EVENTS_MAX 4096 /* that are on their way; more are lost */
/* One in so many… */
#define LOST_ONE_IN 6
#define TWICE_ONE_IN 6
#define SLOW_ONE_IN 20
#define MALFORMED_ONE_IN 20
#define BURST_ONE_IN 40 /* of events are told so many times at once: */
#define BURST 50
#define SILENT_ONE_IN 6
#define SILENT_MOST_US (300 * REHEARSAL_SECOND_US)
#define USUAL_MOST_US (300 * 1000)
#define SLOW_MOST_US (90 * REHEARSAL_SECOND_US)
#define NEWEST INT64_C(1000000000)

struct event {
	int64_t due_us;
	char *text;
};

struct rehearsal_events {
	struct rehearsal *rehearsal;
	struct store_feed *feed;
	struct event events[EVENTS_MAX];
	size_t count;
};

/* ---- telling ---- */

static void put(struct rehearsal_events *events, struct span text)
{
	struct rehearsal *rehearsal = events->rehearsal;
	bool slow = rehearsal->faulty && rehearsal_one_in(rehearsal, SLOW_ONE_IN);
	int64_t delay_us = (int64_t)rehearsal_draw(rehearsal, slow ? SLOW_MOST_US : USUAL_MOST_US);

	if (events->count == EVENTS_MAX)
		return;
	events->events[events->count++] =
		(struct event){.due_us = runner_now_us(rehearsal->root) + delay_us,
			.text = memory_copy_string_n(text.data, text.length)};
}

void rehearsal_silence_events(struct rehearsal *rehearsal)
{
	if (!rehearsal->events || !rehearsal_one_in(rehearsal, SILENT_ONE_IN))
		return;
	rehearsal->result.silences++;
	rehearsal->silent_till_us =
		runner_now_us(rehearsal->root) + (int64_t)rehearsal_draw(rehearsal, SILENT_MOST_US);
	runner_trace(rehearsal->root, "nothing is heard of events for %.3f s",
		(double)(rehearsal->silent_till_us - runner_now_us(rehearsal->root)) /
			(double)REHEARSAL_SECOND_US);
}

static bool is_silent(const struct rehearsal *rehearsal)
{
	return rehearsal->faulty && runner_now_us(rehearsal->root) < rehearsal->silent_till_us;
}

static void tell(struct rehearsal_events *events, const struct store_change *change)
{
	struct rehearsal *rehearsal = events->rehearsal;
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
			return; /* of what is forgotten nothing is told */
		json_set_string(arena, detail, "status", SPAN("INACTIVE"));
		json_set_integer(arena, detail, "version", version + 1);
	}
	json_set_string(arena, event, "detail-type",
		is_task ? SPAN("ECS Task State Change")
			: SPAN("ECS Container Instance State Change"));
	json_set_time(arena, event, "time", runner_wall_ms(rehearsal->root));
	json_set(arena, event, "detail", detail);
	if (is_silent(rehearsal) ||
		(rehearsal->faulty && rehearsal_one_in(rehearsal, LOST_ONE_IN))) {
		rehearsal->result.lost_events++;
		return;
	}
	put(events, json_to_text(event, arena));
	if (rehearsal->faulty && rehearsal_one_in(rehearsal, TWICE_ONE_IN))
		put(events, json_to_text(event, arena));
}

static void look(void *context)
{
	struct rehearsal_events *events = context;
	struct store_change changes[CHANGES_AT_ONCE];
	int count;

	while ((count = store_feed_next(events->feed, changes, CHANGES_AT_ONCE)) > 0)
		for (int i = 0; i < count; i++) {
			if (changes[i].kind == &task_kind ||
				changes[i].kind == &container_instance_kind)
				tell(events, &changes[i]);
			store_change_release(&changes[i]);
		}
}

/* ---- delivering ---- */

/* As if nobody looked at versions and times. */
static void make_new(struct rehearsal *rehearsal, struct arena *arena, struct json *event)
{
	struct json *detail = json_copy_object(arena, json_get(event, "detail"));

	json_set_integer(arena, detail, "version", NEWEST + runner_wall_ms(rehearsal->root));
	json_set(arena, event, "detail", detail);
	json_set_time(arena, event, "time", runner_wall_ms(rehearsal->root));
}

/* Members without which nobody can know what it tells. */
static const char *const members[] = {"version", "taskArn", "containerInstanceArn", "lastStatus",
	"status", "clusterArn", "taskDefinitionArn"};

/* It is refused, and nothing comes of it. */
static void post_malformed(struct rehearsal *rehearsal, struct rehearsal_server *server,
	struct arena *arena, const struct json *event)
{
	struct json *made = json_copy_object(arena, event);
	struct json *detail = json_copy_object(arena, json_get(event, "detail"));
	const char *member = members[rehearsal_draw(rehearsal, LENGTH(members))];
	struct err err = {0};

	/* What is about a task need not name its instance, nor what is about an instance a task. */
	if (json_is_absent(json_get(detail, member)) ||
		(strcmp(member, "containerInstanceArn") == 0 &&
			!json_is_absent(json_get(detail, "taskArn"))))
		member = "version";
	if (rehearsal_one_in(rehearsal, 2))
		json_unset(detail, member);
	else
		json_set(arena, detail, member, json_new_array(arena));
	json_set(arena, made, "detail", detail);
	rehearsal->result.malformed_events++;
	if (state_post_event(manager_state(server->manager), SPAN(REHEARSAL_FAR), made, &err) >= 0)
		rehearsal_broken(rehearsal, "a malformed event was taken");
}

/* One that runs; NULL: none does. */
static struct rehearsal_server *draw_server(struct rehearsal *rehearsal)
{
	size_t first = rehearsal_draw(rehearsal, rehearsal->server_count);

	for (size_t i = 0; i < rehearsal->server_count; i++) {
		struct rehearsal_server *server =
			&rehearsal->servers[(first + i) % rehearsal->server_count];

		if (server->manager && !runner_is_stopped(server->runner))
			return server;
	}
	return NULL;
}

/* To one of them; the others hear of it by the store. */
static void post(struct rehearsal *rehearsal, const char *text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rehearsal_server *server = draw_server(rehearsal);
	bool is_burst = rehearsal->faulty && rehearsal_one_in(rehearsal, BURST_ONE_IN);
	unsigned times = is_burst ? BURST : 1;
	struct json *event;
	struct err err = {0};

	rehearsal->result.bursts += is_burst;
	if (!server || json_parse(span_of(text), arena, &event, NULL) < 0)
		return;
	if (rehearsal->config->bug == DAEMON_BUG_OLD_EVENTS)
		make_new(rehearsal, arena, event);
	if (rehearsal->faulty && rehearsal_one_in(rehearsal, MALFORMED_ONE_IN))
		post_malformed(rehearsal, server, arena, event);
	for (unsigned i = 0; i < times; i++)
		if (state_post_event(manager_state(server->manager), SPAN(REHEARSAL_FAR), event,
			    &err) < 0)
			rehearsal_broken(rehearsal, err.message);
}

void rehearsal_deliver_events(struct rehearsal *rehearsal)
{
	struct rehearsal_events *events = rehearsal->events;
	int64_t now_us = runner_now_us(rehearsal->root);
	size_t kept = 0;
	bool posted = false;

	for (size_t i = 0; events && i < events->count; i++) {
		struct event event = events->events[i];

		if (event.due_us > now_us || is_silent(rehearsal)) {
			events->events[kept++] = event;
			continue;
		}
		post(rehearsal, event.text);
		free(event.text);
		posted = true;
	}
	if (events)
		events->count = kept;
	/* At all that they know: where that is much, only now and then. */
	if (posted && (!rehearsal->large || rehearsal_one_in(rehearsal, LARGE_LOOK_ONE_IN)))
		rehearsal_look_at_servers(rehearsal);
}

int rehearsal_follow_far(struct rehearsal *rehearsal, struct err *err)
{
	struct rehearsal_events *events = memory_allocate(sizeof(*events));
	_view_ struct store_view *view = store_view_open(rehearsal->far_store);

	events->rehearsal = rehearsal;
	rehearsal->events = events;
	return store_feed_open(rehearsal->far_store, store_view_revision(view), look, events,
		&events->feed, err);
}

void rehearsal_unfollow_far(struct rehearsal *rehearsal)
{
	struct rehearsal_events *events = TAKE(rehearsal->events);

	if (!events)
		return;
	if (events->feed)
		store_feed_close(events->feed);
	for (size_t i = 0; i < events->count; i++)
		free(events->events[i].text);
	free(events);
}
