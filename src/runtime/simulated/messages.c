/*
 * How calls reach the world. Calls that change something are messages: without faults they arrive
 * at once; with faults they take time, and may get lost, late or repeated, as may their answers. A
 * message in flight arrives even if its sender crashes.
 */
#include "runtime/simulated/world.h"

/* ---- messages under way ---- */

static void message_clear(struct simulated_world *world, struct message *message)
{
	if (message->script)
		simulated_script_release(world, message->script);
	free(message->instance);
	free(message->reason);
	free(message->group);
	free(message->version);
}

void simulated_message_free(struct simulated_world *world, struct timer *timer)
{
	struct message *message = CONTAINER_OF(timer, struct message, timer);

	message_clear(world, message);
	free(message);
}

void simulated_message_due(struct simulated_world *world, struct timer *timer)
{
	struct message *message = CONTAINER_OF(timer, struct message, timer);

	message->arrive(world, message, NULL);
	simulated_message_free(world, timer);
}

/* A copy of the message arrives later. */
static void post(struct simulated_world *world, const struct message *message, int64_t most_us)
{
	struct message *copy = memory_copy(message, sizeof(*message));

	copy->timer = (struct timer){.due = simulated_message_due};
	copy->echo = true;
	copy->instance = memory_copy_string(message->instance);
	copy->reason = memory_copy_string(message->reason);
	copy->group = memory_copy_string(message->group);
	copy->version = memory_copy_string(message->version);
	if (copy->script)
		copy->script->references++;
	simulated_timers_set(&world->timers, &copy->timer,
		runner_now_us(world->runner) + 1 + simulated_world_draw(world, most_us));
}

/* ---- calls; the lock is held, and released while they travel ---- */

static int travel(struct simulated_runtime *self, int64_t most_us, struct err *err)
{
	struct simulated_world *world = self->world;
	int64_t delay_us = simulated_world_draw(world, most_us);
	int code;

	if (delay_us == 0)
		return 0;
	simulated_world_unlock(world);
	code = runner_sleep_until(self->config.runner,
		runner_deadline_us(self->config.runner, delay_us));
	simulated_world_lock(world);
	return code < 0 ? err_set(err, code, "the server was stopped during a call") : 0;
}

static int call_with_faults(struct simulated_runtime *self, struct message *message,
	struct err *err)
{
	struct simulated_world *world = self->world;
	struct simulated_faults faults = world->faults; /* they may change on the way */
	int answer, code;

	if (simulated_world_chance(world, faults.call_fails_one_in)) {
		world->counts.failed_calls++;
		code = travel(self, faults.call_most_us, err);
		return code < 0 ? code : err_set(err, -EIO, "simulated fault: the call was lost");
	}
	code = travel(self, faults.call_most_us, err);
	if (code < 0) {
		/* Sent or not? */
		if (simulated_world_chance(world, 2))
			post(world, message, faults.call_most_us);
		return code;
	}
	if (simulated_world_chance(world, faults.call_late_one_in)) {
		world->counts.late_calls++;
		post(world, message, faults.late_most_us);
		return err_set(err, -ETIMEDOUT, "simulated fault: no answer in time");
	}
	answer = message->arrive(world, message, err);
	if (simulated_world_chance(world, faults.call_repeated_one_in)) {
		world->counts.repeated_calls++;
		post(world, message, faults.late_most_us);
	}
	code = travel(self, faults.call_most_us, err);
	if (code < 0)
		return code;
	if (simulated_world_chance(world, faults.answer_lost_one_in)) {
		world->counts.lost_answers++;
		return err_set(err, -EIO, "simulated fault: the answer was lost");
	}
	return answer;
}

static bool is_token(struct span token)
{
	return token.length >= 1 && token.length <= RUNTIME_TOKEN_MAX &&
	       !memchr(token.data, '\0', token.length);
}

int simulated_call(struct simulated_runtime *self, struct message *message, struct span token,
	struct err *err)
{
	struct simulated_world *world = self->world;
	int code;

	simulated_world_lock(world);
	if (message->script)
		message->script = simulated_script_share(world, message->script);
	if (token.data && !is_token(token)) {
		code = err_set(err, -EINVAL, "a token has 1 to %d bytes", RUNTIME_TOKEN_MAX);
	} else if (self->config.runner && runner_is_stopped(self->config.runner)) {
		code = err_set(err, -ECANCELED, "the server was stopped");
	} else {
		if (token.data)
			memcpy(message->token, token.data, token.length);
		code = world->faulty ? call_with_faults(self, message, err)
				     : message->arrive(world, message, err);
	}
	message_clear(world, message);
	simulated_world_unlock(world);
	return code;
}

/* ---- reading ---- */

int simulated_begin_reading(struct simulated_runtime *self, struct err *err)
{
	struct simulated_world *world = self->world;
	int code = 0;

	simulated_world_lock(world);
	if (self->config.runner && runner_is_stopped(self->config.runner))
		code = err_set(err, -ECANCELED, "the server was stopped");
	else if (world->faulty)
		code = travel(self, world->faults.call_most_us, err);
	if (code == 0 && simulated_world_chance(world, world->faults.read_fails_one_in)) {
		world->counts.failed_reads++;
		code = err_set(err, -EIO, "simulated fault: no answer");
	}
	if (code < 0)
		simulated_world_unlock(world);
	return code;
}

char *simulated_copy_text(struct span text, size_t most)
{
	size_t length = text.length < most ? text.length : most;

	return memory_copy_string_n(length ? text.data : "", length);
}
