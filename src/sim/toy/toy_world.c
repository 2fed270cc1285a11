/* A courier fiber delivers each message at its time, even if the sender has ended. */
#include "sim/toy/toy_world.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"

/* Drawn for each request while the world is not calm: one in so many … */
#define LOSE_REQUEST_ONE_IN 12
#define LOSE_ANSWER_ONE_IN 10
#define DUPLICATE_ONE_IN 6
#define SLOW_ONE_IN 5
#define QUICK_US 20000
#define DUPLICATE_WITHIN_US INT64_C(40000000)
/* A slow request arrives, if at all, before its caller gives up. */
#define SLOW_US (TOY_CALL_TIMEOUT_US * 9 / 10)

struct part {
	struct part *next;
	char toy[TOY_NAME_MAX + 1];
	size_t slot;
	char token[TOY_TOKEN_SIZE];
	bool alive; /* once ended, a token stays ended */
};

enum message_type { MESSAGE_START, MESSAGE_STOP };

/* Shared between the caller, which may be gone, and the courier. */
struct answer {
	unsigned references;
	bool arrived;
	struct runner_event *event;
};

struct message {
	struct message *next;
	enum message_type type;
	int64_t arrives_us;
	char toy[TOY_NAME_MAX + 1];
	size_t slot;
	char token[TOY_TOKEN_SIZE];
	struct answer *answer; /* NULL: no caller waits, or it gets lost */
};

/* The last caller that acted for a toy. */
struct actor {
	char toy[TOY_NAME_MAX + 1];
	uint64_t epoch;
	char server[RUNNER_NAME_MAX + 1]; /* with its incarnation */
	int64_t busy_until_us;            /* a call of its may be under way until then */
};

struct toy_world {
	struct runner *root, *runner;
	struct runner_event *mail;
	struct message *messages; /* in order of arrival */
	struct part *parts;
	struct actor actors[TOY_WORLD_TOYS_MAX];
	bool calm;
	struct toy_world_counts counts;
	void (*broken)(void *context, const char *rule);
	void *context;
};

__attribute__((format(printf, 2, 3))) static void broken(struct toy_world *world,
	const char *format, ...)
{
	char rule[256];
	va_list list;

	va_start(list, format);
	vsnprintf(rule, sizeof(rule), format, list);
	va_end(list);
	world->broken(world->context, rule);
}

static bool chance(struct toy_world *world, unsigned one_in)
{
	return !world->calm && random_below(runner_random(world->root), one_in) == 0;
}

static int64_t draw_us(struct toy_world *world, int64_t below_us)
{
	return (int64_t)random_below(runner_random(world->root), (uint64_t)below_us);
}

/* The longest that something is on its way. */
static int64_t travel_us(struct toy_world *world)
{
	return chance(world, SLOW_ONE_IN) ? SLOW_US : QUICK_US;
}

/* ---- arrival of messages ---- */

static struct part *part_of(struct toy_world *world, const char *token)
{
	struct part *part = world->parts;

	while (part && strcmp(part->token, token) != 0)
		part = part->next;
	return part;
}

static struct part *part_new(struct toy_world *world, const struct message *message, bool alive)
{
	struct part *part = memory_allocate(sizeof(*part));

	strcpy(part->toy, message->toy);
	strcpy(part->token, message->token);
	part->slot = message->slot;
	part->alive = alive;
	part->next = world->parts;
	world->parts = part;
	return part;
}

static void arrive_start(struct toy_world *world, const struct message *message)
{
	if (part_of(world, message->token))
		return;
	for (struct part *other = world->parts; other; other = other->next) {
		if (other->alive && other->slot == message->slot &&
			strcmp(other->toy, message->toy) == 0)
			broken(world, "two parts in slot %zu of toy '%s': %.8s and %.8s",
				message->slot, message->toy, other->token, message->token);
	}
	part_new(world, message, true);
	runner_trace(world->runner, "%s[%zu] %.8s lives", message->toy, message->slot,
		message->token);
}

static void arrive_stop(struct toy_world *world, const struct message *message)
{
	struct part *part = part_of(world, message->token);

	if (!part)
		part = part_new(world, message, false);
	if (part->alive)
		runner_trace(world->runner, "%s[%zu] %.8s ends", part->toy, part->slot,
			part->token);
	part->alive = false;
}

static void (*const arrive[])(struct toy_world *world, const struct message *message) = {
	[MESSAGE_START] = arrive_start,
	[MESSAGE_STOP] = arrive_stop,
};

/* ---- the post ---- */

static void answer_release(struct answer *answer)
{
	if (!answer || --answer->references > 0)
		return;
	runner_event_free(answer->event);
	free(answer);
}

static void message_free(struct message *message)
{
	answer_release(message->answer);
	free(message);
}

static void post(struct toy_world *world, const struct message *message, int64_t delay_us)
{
	struct message *copy = memory_copy(message, sizeof(*message));
	struct message **at = &world->messages;

	copy->arrives_us = runner_now_us(world->root) + delay_us;
	while (*at && (*at)->arrives_us <= copy->arrives_us)
		at = &(*at)->next;
	copy->next = *at;
	*at = copy;
	if (copy->answer)
		copy->answer->references++;
	runner_signal(world->mail);
}

static void carry(void *context)
{
	struct toy_world *world = context;

	for (;;) {
		uint64_t seen = runner_event_count(world->mail);
		struct message *message = world->messages;

		if (message && message->arrives_us <= runner_now_us(world->runner)) {
			world->messages = message->next;
			arrive[message->type](world, message);
			if (message->answer) {
				message->answer->arrived = true;
				runner_signal(message->answer->event);
			}
			message_free(message);
			continue;
		}
		if (runner_wait(world->runner, world->mail, seen,
			    message ? message->arrives_us : RUNNER_FOREVER) == -ECANCELED)
			return;
	}
}

/* ---- calling ---- */

static struct actor *actor_of(struct toy_world *world, const char *toy)
{
	for (size_t i = 0; i < LENGTH(world->actors); i++) {
		struct actor *actor = &world->actors[i];

		if (!actor->toy[0])
			strcpy(actor->toy, toy);
		if (strcmp(actor->toy, toy) == 0)
			return actor;
	}
	abort(); /* more toys than TOY_WORLD_TOYS_MAX */
}

/* Rules about which caller may act, checked at the moment of sending. */
static struct actor *judge(struct toy_world *world, const struct toy_caller *caller,
	const char *toy)
{
	struct actor *actor = actor_of(world, toy);
	const char *server = runner_name(caller->runner);
	int64_t now_us = runner_now_us(world->root);

	if (caller->epoch < actor->epoch)
		broken(world,
			"%s acts for toy '%s' in epoch %" PRIu64 " after %s in epoch %" PRIu64,
			server, toy, caller->epoch, actor->server, actor->epoch);
	else if (caller->epoch == actor->epoch && strcmp(server, actor->server) != 0)
		broken(world, "%s and %s both act for toy '%s' in epoch %" PRIu64, server,
			actor->server, toy, caller->epoch);
	else if (caller->epoch > actor->epoch && now_us < actor->busy_until_us)
		broken(world, "%s acts for toy '%s' while a call of %s may be under way", server,
			toy, actor->server);
	if (caller->epoch > actor->epoch && strcmp(server, actor->server) != 0)
		world->counts.takeovers++;
	actor->epoch = caller->epoch;
	snprintf(actor->server, sizeof(actor->server), "%s", server);
	actor->busy_until_us = now_us + TOY_CALL_TIMEOUT_US;
	return actor;
}

static int wait_for_answer(struct runner *runner, struct answer *answer, struct err *err)
{
	int64_t deadline_us = runner_deadline_us(runner, TOY_CALL_TIMEOUT_US);

	for (;;) {
		uint64_t seen = runner_event_count(answer->event);
		int code;

		if (answer->arrived)
			return 0;
		code = runner_wait(runner, answer->event, seen, deadline_us);
		if (code < 0)
			return err_set(err, code, "no answer from the world");
	}
}

static void fill_message(struct message *message, enum message_type type, struct span toy,
	size_t slot, const char *token)
{
	*message = (struct message){.type = type, .slot = slot};
	snprintf(message->toy, sizeof(message->toy), "%.*s", SPAN_ARGS(toy));
	snprintf(message->token, sizeof(message->token), "%s", token);
}

static int call(struct toy_world *world, const struct toy_caller *caller, struct message *message,
	struct err *err)
{
	struct actor *actor;
	struct answer *answer;
	int code;

	if (runner_is_stopped(caller->runner)) /* the dead send nothing */
		return err_set(err, -ECANCELED, "stopped");
	actor = judge(world, caller, message->toy);
	answer = memory_allocate(sizeof(*answer));
	answer->references = 1;
	answer->event = runner_event_new(world->root, "an answer of the world");
	if (chance(world, DUPLICATE_ONE_IN)) {
		world->counts.duplicates++;
		post(world, message, draw_us(world, DUPLICATE_WITHIN_US));
	}
	if (chance(world, LOSE_ANSWER_ONE_IN))
		world->counts.lost_answers++;
	else
		message->answer = answer;
	if (chance(world, LOSE_REQUEST_ONE_IN))
		world->counts.lost_requests++;
	else
		post(world, message, draw_us(world, travel_us(world)));
	code = wait_for_answer(caller->runner, answer, err);
	if (code == 0 && actor->epoch == caller->epoch)
		actor->busy_until_us = INT64_MIN;
	answer_release(answer);
	return code;
}

static int world_start(void *context, const struct toy_caller *caller, struct span toy, size_t slot,
	const char *token, struct err *err)
{
	struct message message;

	fill_message(&message, MESSAGE_START, toy, slot, token);
	return call(context, caller, &message, err);
}

static int world_stop(void *context, const struct toy_caller *caller, struct span toy,
	const char *token, struct err *err)
{
	struct message message;

	fill_message(&message, MESSAGE_STOP, toy, 0, token);
	return call(context, caller, &message, err);
}

static int world_read(void *context, const struct toy_caller *caller, struct span toy,
	const struct toy_slot slots[TOY_SLOTS_MAX], bool ret_alive[TOY_SLOTS_MAX], struct err *err)
{
	struct toy_world *world = context;
	int code;

	(void)toy;
	code = runner_sleep_until(caller->runner,
		runner_deadline_us(caller->runner, draw_us(world, travel_us(world))));
	if (code == 0 && chance(world, LOSE_ANSWER_ONE_IN))
		code = -ETIMEDOUT;
	if (code < 0)
		return err_set(err, code, "the world could not be seen");
	for (size_t i = 0; i < TOY_SLOTS_MAX; i++) {
		struct part *part = slots[i].token[0] ? part_of(world, slots[i].token) : NULL;

		ret_alive[i] = part && part->alive;
	}
	return 0;
}

const struct toy_world_operations toy_world_operations = {
	.start = world_start,
	.stop = world_stop,
	.pass = world_read,
};

/* ---- for the simulation ---- */

struct toy_world *toy_world_new(struct runner *root,
	void (*broken_function)(void *context, const char *rule), void *context, struct err *err)
{
	struct toy_world *world = memory_allocate(sizeof(*world));

	world->root = root;
	world->runner = runner_group_new(root, "world");
	world->mail = runner_event_new(root, "mail");
	world->broken = broken_function;
	world->context = context;
	if (runner_spawn(world->runner, "courier", carry, world, err) < 0) {
		toy_world_free(world);
		return NULL;
	}
	return world;
}

void toy_world_free(struct toy_world *world)
{
	if (!world)
		return;
	while (world->messages) {
		struct message *message = world->messages;

		world->messages = message->next;
		message_free(message);
	}
	while (world->parts) {
		struct part *part = world->parts;

		world->parts = part->next;
		free(part);
	}
	runner_event_free(world->mail);
	runner_free(world->runner);
	free(world);
}

void toy_world_calm_down(struct toy_world *world)
{
	world->calm = true;
}

const char *toy_world_kill_one(struct toy_world *world)
{
	size_t alive = 0, chosen;

	for (struct part *part = world->parts; part; part = part->next)
		alive += part->alive;
	if (alive == 0)
		return NULL;
	chosen = (size_t)random_below(runner_random(world->root), alive);
	for (struct part *part = world->parts; part; part = part->next) {
		if (!part->alive || chosen-- > 0)
			continue;
		part->alive = false;
		world->counts.deaths++;
		runner_trace(world->runner, "%s[%zu] %.8s dies", part->toy, part->slot,
			part->token);
		return part->toy;
	}
	return NULL;
}

void toy_world_excuse_calls(struct toy_world *world)
{
	for (size_t i = 0; i < LENGTH(world->actors); i++)
		world->actors[i].busy_until_us = INT64_MIN;
}

bool toy_world_is_as_wanted(struct toy_world *world, struct span toy, size_t desired,
	const struct toy_slot slots[TOY_SLOTS_MAX])
{
	size_t alive = 0;

	for (struct part *part = world->parts; part; part = part->next)
		alive += part->alive && span_is(toy, part->toy);
	for (size_t i = 0; i < TOY_SLOTS_MAX; i++) {
		struct part *part = slots[i].token[0] ? part_of(world, slots[i].token) : NULL;
		bool running = slots[i].state == TOY_SLOT_RUNNING && part && part->alive &&
			       part->slot == i && span_is(toy, part->toy);

		if (i < desired ? !running : slots[i].state != TOY_SLOT_EMPTY)
			return false;
	}
	return alive == desired;
}

void toy_world_counts(const struct toy_world *world, struct toy_world_counts *ret_counts)
{
	*ret_counts = world->counts;
}
