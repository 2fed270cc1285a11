/* See toy.h. One pass of reconcile reads desired and recorded state, observes the world, and then
 * advances each slot by the table of steps until there is nothing to do. */
#include "sim/toy/toy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/id.h"
#include "base/json.h"
#include "base/memory.h"
#include "control/write.h"

#define CLAIM_PREFIX "toy/"
#define WORKERS 2

static const char *const slot_state_names[] = {
#define X(name, text) [TOY_SLOT_##name] = text,
	TOY_SLOT_STATES(X)
#undef X
};

/* ---- kinds ---- */

static int toy_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct toy_facts *toy = facts;
	struct json *value;
	int code = json_parse(object->api, scratch, &value, err);

	if (code < 0)
		return code;
	toy->desired = json_get_integer(value, "desired", -1);
	if (toy->desired < 0 || toy->desired > TOY_SLOTS_MAX)
		return err_set(err, -EINVAL, "desired must be a number from 0 to %d",
			TOY_SLOTS_MAX);
	return 0;
}

const struct store_kind toy_kind = {
	.name = "toy",
	.facts_size = sizeof(struct toy_facts),
	.extract = toy_extract,
};

static int slot_parse(const struct json *value, struct toy_slot *slot, struct err *err)
{
	struct span state = json_get_text(value, "state");
	struct span token = json_get_text(value, "token");

	for (size_t i = 0; i < LENGTH(slot_state_names); i++) {
		if (!span_is(state, slot_state_names[i]) || token.length >= TOY_TOKEN_SIZE)
			continue;
		slot->state = (enum toy_slot_state)i;
		if (token.length > 0)
			memcpy(slot->token, token.data, token.length);
		return 0;
	}
	return err_set(err, -EINVAL, "not the state of a slot");
}

static int state_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct toy_state_facts *state = facts;
	const struct json *slots;
	struct json *value;
	int code = json_parse(object->private_, scratch, &value, err);

	if (code < 0)
		return code;
	state->epoch = (uint64_t)json_get_integer(value, "epoch", 0);
	slots = json_get(value, "slots");
	if (json_array_count(slots) != TOY_SLOTS_MAX)
		return err_set(err, -EINVAL, "a toy has %d slots", TOY_SLOTS_MAX);
	for (size_t i = 0; code == 0 && i < TOY_SLOTS_MAX; i++)
		code = slot_parse(json_item(slots, i), &state->slots[i], err);
	return code;
}

const struct store_kind toy_state_kind = {
	.name = "toy_state",
	.facts_size = sizeof(struct toy_state_facts),
	.extract = state_extract,
};

const struct store_kind *const toy_kinds[4] = {
	&toy_kind, &toy_state_kind, &server_kind, &claim_kind};

static struct span state_text(struct arena *arena, const struct toy_state_facts *state)
{
	struct json *value = json_new_object(arena);
	struct json *slots = json_new_array(arena);

	json_set_integer(arena, value, "epoch", (int64_t)state->epoch);
	json_set(arena, value, "slots", slots);
	for (size_t i = 0; i < TOY_SLOTS_MAX; i++) {
		struct json *slot = json_new_object(arena);

		json_set_string(arena, slot, "state",
			span_of(slot_state_names[state->slots[i].state]));
		json_set_string(arena, slot, "token", span_of(state->slots[i].token));
		json_append(arena, slots, slot);
	}
	return json_to_text(value, arena);
}

void toy_claim_key(struct span toy, struct buffer *out)
{
	buffer_reset(out);
	buffer_add_string(out, CLAIM_PREFIX);
	buffer_add_span(out, toy);
}

struct span toy_of_claim_key(struct span key)
{
	size_t prefix = sizeof(CLAIM_PREFIX) - 1;

	if (!span_starts_with(key, SPAN(CLAIM_PREFIX)))
		return SPAN_NONE;
	return (struct span){key.data + prefix, key.length - prefix};
}

/* ---- desired state ---- */

struct desired_write {
	struct span toy;
	unsigned desired;
};

static int write_desired(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct desired_write *desired_state = context;
	struct span text;

	if (desired_state->desired == 0) {
		int code = store_delete(transaction, &toy_kind, desired_state->toy, STORE_ANY, err);

		return code == -ENOENT ? 0 : code;
	}
	text = arena_format(store_transaction_arena(transaction), "{\"desired\":%u}",
		desired_state->desired);
	return store_put(transaction, &toy_kind, desired_state->toy, text, SPAN(""), STORE_ANY,
		err);
}

int toy_set_desired(struct runner *runner, struct store *store, struct span toy, unsigned desired,
	struct err *err)
{
	struct desired_write desired_state = {toy, desired};

	return control_write(runner, store, write_desired, &desired_state, NULL, err);
}

/* ---- one pass ---- */

struct pass {
	struct toy_controller *controller;
	struct runner *runner;
	struct span toy;
	struct claim claim;
	struct toy_caller caller;
	size_t desired;
	bool exists; /* the record of its state */
	struct toy_state_facts state;
	bool alive[TOY_SLOTS_MAX];
};

struct slot_write {
	struct pass *pass;
	size_t slot;
	struct toy_slot value;
};

static int write_slot(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct slot_write *write = context;
	struct pass *pass = write->pass;
	struct toy_controller *controller = pass->controller;
	const struct store_view *head = store_head(transaction);
	const struct store_object *object = store_get(head, &toy_state_kind, pass->toy);
	struct toy_state_facts state = {0};

	if (controller->writing)
		controller->writing(controller->writing_context, head, pass->toy, &pass->caller);
	if (object)
		state = *(const struct toy_state_facts *)object->facts;
	state.epoch = pass->claim.epoch;
	state.slots[write->slot] = write->value;
	return store_put(transaction, &toy_state_kind, pass->toy, SPAN(""),
		state_text(store_transaction_arena(transaction), &state), STORE_ANY, err);
}

static int set_slot(struct pass *pass, size_t slot, enum toy_slot_state state, const char *token,
	struct err *err)
{
	struct slot_write write = {.pass = pass, .slot = slot, .value = {.state = state}};
	int code;

	snprintf(write.value.token, sizeof(write.value.token), "%s", token);
	code = claims_write(pass->controller->claims, &pass->claim, write_slot, &write, NULL, err);
	if (code < 0)
		return err_prefix(err, code, "slot %zu to %s", slot, slot_state_names[state]);
	runner_trace(pass->runner, "%.*s[%zu] is %s %.8s, epoch %" PRIu64, SPAN_ARGS(pass->toy),
		slot, slot_state_names[state], token, pass->claim.epoch);
	pass->state.slots[slot] = write.value;
	pass->exists = true;
	return 0;
}

/* Nothing may come between the check and the call. */
static int ask_start(struct pass *pass, size_t slot, const char *token, struct err *err)
{
	struct toy_controller *controller = pass->controller;
	int code = claims_check(controller->claims, &pass->claim, TOY_CALL_TIMEOUT_US, err);

	if (code < 0)
		return code;
	return controller->operations->start(controller->world, &pass->caller, pass->toy, slot,
		token, err);
}

static int ask_stop(struct pass *pass, const char *token, struct err *err)
{
	struct toy_controller *controller = pass->controller;
	int code = claims_check(controller->claims, &pass->claim, TOY_CALL_TIMEOUT_US, err);

	if (code < 0)
		return code;
	return controller->operations->stop(controller->world, &pass->caller, pass->toy, token,
		err);
}

static int begin_start(struct pass *pass, size_t slot, struct err *err)
{
	char token[ID_HEX_SIZE];
	int code;

	static_assert(sizeof(token) == TOY_TOKEN_SIZE, "a token is an id");
	id_hex(runner_random(pass->runner), token);
	if (!pass->controller->bug_skip_intent)
		return set_slot(pass, slot, TOY_SLOT_STARTING, token, err);
	code = ask_start(pass, slot, token, err);
	pass->alive[slot] = code == 0;
	return code < 0 ? code : set_slot(pass, slot, TOY_SLOT_RUNNING, token, err);
}

/* Each step makes one move and returns 1, or 0 when the slot is as wanted. */

static int step_empty(struct pass *pass, size_t slot, struct err *err)
{
	int code;

	if (slot >= pass->desired)
		return 0;
	code = begin_start(pass, slot, err);
	return code < 0 ? code : 1;
}

static int step_starting(struct pass *pass, size_t slot, struct err *err)
{
	const char *token = pass->state.slots[slot].token;
	int code;

	if (slot >= pass->desired) {
		code = set_slot(pass, slot, TOY_SLOT_STOPPING, token, err);
		return code < 0 ? code : 1;
	}
	code = ask_start(pass, slot, token, err);
	if (code < 0)
		return code;
	pass->alive[slot] = true; /* as far as we know */
	code = set_slot(pass, slot, TOY_SLOT_RUNNING, token, err);
	return code < 0 ? code : 1;
}

static int step_running(struct pass *pass, size_t slot, struct err *err)
{
	int code;

	if (slot >= pass->desired) {
		code = set_slot(pass, slot, TOY_SLOT_STOPPING, pass->state.slots[slot].token, err);
		return code < 0 ? code : 1;
	}
	if (pass->alive[slot])
		return 0;
	code = begin_start(pass, slot, err);
	return code < 0 ? code : 1;
}

static int step_stopping(struct pass *pass, size_t slot, struct err *err)
{
	int code = ask_stop(pass, pass->state.slots[slot].token, err);

	if (code == 0)
		code = set_slot(pass, slot, TOY_SLOT_EMPTY, "", err);
	return code < 0 ? code : 1;
}

static int (*const steps[])(struct pass *pass, size_t slot, struct err *err) = {
	[TOY_SLOT_EMPTY] = step_empty,
	[TOY_SLOT_STARTING] = step_starting,
	[TOY_SLOT_RUNNING] = step_running,
	[TOY_SLOT_STOPPING] = step_stopping,
};

static int write_end(struct store_transaction *transaction, void *context, struct err *err)
{
	struct pass *pass = context;
	struct toy_controller *controller = pass->controller;
	const struct store_view *head = store_head(transaction);
	int code;

	/* Desired again meanwhile: then the next pass continues from here. */
	if (store_get(head, &toy_kind, pass->toy))
		return 0;
	if (controller->writing)
		controller->writing(controller->writing_context, head, pass->toy, &pass->caller);
	code = store_delete(transaction, &toy_state_kind, pass->toy, STORE_ANY, err);
	if (code < 0 && code != -ENOENT)
		return code;
	return claims_forget(controller->claims, transaction, &pass->claim, err);
}

/* Reads desired and recorded state. */
static void read_records(struct pass *pass, struct store *store)
{
	_view_ struct store_view *view = store_view_open(store);
	const struct store_object *toy = store_get(view, &toy_kind, pass->toy);
	const struct store_object *state = store_get(view, &toy_state_kind, pass->toy);

	if (toy)
		pass->desired = (size_t)((const struct toy_facts *)toy->facts)->desired;
	if (state)
		pass->state = *(const struct toy_state_facts *)state->facts;
	pass->exists = state;
}

static int make_so(struct pass *pass, struct err *err)
{
	struct toy_controller *controller = pass->controller;
	bool changed = true;
	int code = 0;

	/* A part whose start was repeated may have run and ended before: only a pass that finds nothing to do
	 * is the end. */
	while (code >= 0 && changed) {
		changed = false;
		/* A slot that the records call running and the world does not have has died. */
		code = controller->operations->pass(controller->world, &pass->caller, pass->toy,
			pass->state.slots, pass->alive, err);
		for (size_t slot = 0; code >= 0 && slot < TOY_SLOTS_MAX; slot++) {
			do {
				code = steps[pass->state.slots[slot].state](pass, slot, err);
				changed = changed || code == 1;
			} while (code == 1);
		}
	}
	if (code < 0)
		return code;
	if (pass->desired == 0)
		return claims_write(controller->claims, &pass->claim, write_end, pass, NULL, err);
	return 0;
}

static int toy_reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_buffer_ struct buffer claim_key = BUFFER_WITH_CAP(STORE_KEY_MAX);
	struct pass pass = {
		.controller = call->context,
		.runner = call->runner,
		.toy = key,
	};
	int code;

	read_records(&pass, call->store);
	if (pass.desired == 0 && !pass.exists)
		return 0;
	toy_claim_key(key, &claim_key);
	code = claims_acquire(pass.controller->claims, buffer_span(&claim_key), &pass.claim, err);
	if (code == -EBUSY)
		return 0; /* we are notified when it becomes free */
	if (code < 0)
		return code;
	/* Only now that it is ours do the records stand still. */
	pass.state = (struct toy_state_facts){0};
	pass.desired = 0;
	read_records(&pass, call->store);
	pass.caller = (struct toy_caller){
		.runner = call->runner,
		.server = claims_server(pass.controller->claims),
		.epoch = pass.claim.epoch,
	};
	code = make_so(&pass, err);
	return code < 0 ? err_prefix(err, code, "toy '%.*s'", SPAN_ARGS(key)) : 0;
}

/* A listing shows what is left of toys that are not wanted any more. Later changes are our own progress,
 * of which we need no reminder, or another owner's, which is none of our business. */
static void map_state(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	if (!change->before)
		controller_keys_add(keys, change->after->key);
}

static const struct controller_watch watches[] = {
	{.kind = &toy_kind},
	{.kind = &toy_state_kind, .map = map_state},
};

const struct controller_row toy_controller_row = {
	.name = "toy",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = toy_reconcile,
	.workers = WORKERS,
};
