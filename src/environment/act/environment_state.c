/* See the header. */
#include "environment/act/environment_state.h"

#include <stdio.h>

#include "base/memory.h"

struct environment_state *environment_state_new(struct manager *manager, struct span key,
	enum environment_type type, const struct environment_operations *operations)
{
	struct environment_state *state = memory_allocate(sizeof(*state));

	state->key = (struct span){memory_copy_string_n(key.data, key.length), key.length};
	state->type = type;
	state->operations = operations;
	lock_init(&state->lock);
	if (operations->new_own)
		state->own = operations->new_own(manager, state->key);
	return state;
}

void environment_state_free(struct environment_state *state)
{
	if (!state)
		return;
	if (state->own)
		state->operations->free_own(state->own);
	map_clear(&state->wanted_clusters);
	lock_destroy(&state->lock);
	free((char *)state->key.data);
	free(state);
}

void environment_state_note_change(struct environment_state *state, struct cluster_ref cluster,
	struct span instance)
{
	if (state->operations->note_change)
		state->operations->note_change(state->own, cluster, instance);
}

void environment_state_set_counts(struct environment_state *state,
	const struct environment_counts *counts)
{
	lock_take(&state->lock);
	state->counts = *counts;
	lock_release(&state->lock);
}

void environment_state_get_counts(struct environment_state *state,
	struct environment_counts *ret_counts)
{
	lock_take(&state->lock);
	*ret_counts = state->counts;
	lock_release(&state->lock);
}

int64_t environment_state_get_failing(struct environment_state *state, struct arena *arena,
	struct span *ret_error)
{
	int64_t since_ms;

	lock_take(&state->lock);
	since_ms = state->failing_ms;
	*ret_error = arena_copy_span(arena, span_of(state->failing));
	lock_release(&state->lock);
	return since_ms;
}

void environment_state_note_end(struct environment_state *state, int64_t steady_ms, int code,
	const struct err *err)
{
	lock_take(&state->lock);
	if (code >= 0)
		state->failing_ms = 0;
	else if (state->failing_ms == 0)
		state->failing_ms = steady_ms > 0 ? steady_ms : 1;
	if (code < 0)
		snprintf(state->failing, sizeof(state->failing), "%s", err->message);
	lock_release(&state->lock);
}
