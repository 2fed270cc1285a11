/* See the header. */
#include "pipeline/state.h"

#include "base/memory.h"

struct state_row {
	const char *name;
	bool is_terminal;
};

#define STATE_ROW(name, terminal) {#name, terminal},
static const struct state_row deployment_rows[] = {DEPLOYMENT_STATES(STATE_ROW)};
static const struct state_row stage_rows[] = {STAGE_STATES(STATE_ROW)};
#undef STATE_ROW

#define TO_DEPLOYMENT(name) (1U << PIPELINE_DEPLOYMENT_##name)
static const unsigned deployment_moves[PIPELINE_DEPLOYMENT_STATE_COUNT] = {
	/* A plan may be refused before any stage. */
	[PIPELINE_DEPLOYMENT_PENDING] =
		TO_DEPLOYMENT(RUNNING) | TO_DEPLOYMENT(FAILURE) | TO_DEPLOYMENT(CANCELLED),
	[PIPELINE_DEPLOYMENT_RUNNING] = TO_DEPLOYMENT(ROLLING_BACK) | TO_DEPLOYMENT(SUCCESS) |
					TO_DEPLOYMENT(FAILURE) | TO_DEPLOYMENT(CANCELLED),
	[PIPELINE_DEPLOYMENT_ROLLING_BACK] = TO_DEPLOYMENT(FAILURE) | TO_DEPLOYMENT(CANCELLED),
	/* A user rolls it back. */
	[PIPELINE_DEPLOYMENT_SUCCESS] = TO_DEPLOYMENT(ROLLING_BACK),
	/* Retry of the rollback. */
	[PIPELINE_DEPLOYMENT_FAILURE] = TO_DEPLOYMENT(ROLLING_BACK),
	[PIPELINE_DEPLOYMENT_CANCELLED] = TO_DEPLOYMENT(ROLLING_BACK),
};

#define TO_STAGE(name) (1U << PIPELINE_STAGE_##name)
static const unsigned stage_moves[PIPELINE_STAGE_STATE_COUNT] = {
	[PIPELINE_STAGE_NOT_STARTED] = TO_STAGE(RUNNING) | TO_STAGE(SKIPPED) | TO_STAGE(CANCELLED),
	[PIPELINE_STAGE_RUNNING] =
		TO_STAGE(SUCCESS) | TO_STAGE(FAILURE) | TO_STAGE(CANCELLED) | TO_STAGE(SKIPPED),
	/* Retry of the rollback. */
	[PIPELINE_STAGE_FAILURE] = TO_STAGE(RUNNING),
};

static bool find_row(const struct state_row *rows, size_t count, struct span name,
	unsigned *ret_index)
{
	for (size_t i = 0; i < count; i++) {
		if (span_is(name, rows[i].name)) {
			*ret_index = (unsigned)i;
			return true;
		}
	}
	return false;
}

const char *pipeline_deployment_state_name(enum pipeline_deployment_state state)
{
	return deployment_rows[state].name;
}

bool pipeline_deployment_state_read(struct span name, enum pipeline_deployment_state *ret_state)
{
	unsigned index;

	if (!find_row(deployment_rows, LENGTH(deployment_rows), name, &index))
		return false;
	*ret_state = (enum pipeline_deployment_state)index;
	return true;
}

bool pipeline_deployment_is_terminal(enum pipeline_deployment_state state)
{
	return deployment_rows[state].is_terminal;
}

bool pipeline_deployment_may_become(enum pipeline_deployment_state from,
	enum pipeline_deployment_state to)
{
	return deployment_moves[from] & (1U << to);
}

const char *pipeline_stage_state_name(enum pipeline_stage_state state)
{
	return stage_rows[state].name;
}

bool pipeline_stage_state_read(struct span name, enum pipeline_stage_state *ret_state)
{
	unsigned index;

	if (!find_row(stage_rows, LENGTH(stage_rows), name, &index))
		return false;
	*ret_state = (enum pipeline_stage_state)index;
	return true;
}

bool pipeline_stage_is_terminal(enum pipeline_stage_state state)
{
	return stage_rows[state].is_terminal;
}

bool pipeline_stage_may_become(enum pipeline_stage_state from, enum pipeline_stage_state to)
{
	return stage_moves[from] & (1U << to);
}
