/*
 * Trials when the faults are over and all is as desired: one thing goes wrong, and the result can be
 * derived from the state, within a time.
 */
#include <stdio.h>

#include "sim/daemon/sim_world.h"

#define SERVED_WITHIN_US                                                                           \
	(420 * SIM_SECOND_US) /* the longest backoff after crashes is five minutes */
#define BLOCKED_WITHIN_S 60
#define UNREACHABLE_S 60
#define KNOWN_WITHIN_US (60 * SIM_SECOND_US) /* to every server, also to one that just woke up */
/* One after another, the most stubborn task takes that long to stop. */
#define REPLACED_WITHIN_US (220 * SIM_SECOND_US)
/* Fewer instances cannot lose one, have another one replaced, and keep one all the same. */
#define MEMBERS_LEAST 3

/* ---- L3 ---- */

int sim_try_new(struct sim *sim, struct err *err)
{
	sim_add_instances(sim, 0, 2);
	sim_kill_tasks(sim);
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_L3);
	return sim_settle(sim, SERVED_WITHIN_US, DAEMON_PROPERTY_L3,
		"long after an instance joined", err);
}

/* ---- instances ---- */

static unsigned count_members(const struct actual *actual,
	const struct actual_environment *environment)
{
	unsigned count = 0;

	MAP_EACH (&actual->instances, entry)
		count += actual_is_member(environment, entry->value);
	return count;
}

static bool is_served(const struct actual_instance *instance)
{
	for (const struct actual_task *task = instance->tasks; task; task = task->beside)
		if (task->environment)
			return true;
	return false;
}

/* One with a task of an environment; NULL: there is none. */
static struct actual_instance *draw_served(struct sim *sim)
{
	struct actual_instance *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&daemon_checker_actual(sim->checker)->instances, entry) {
		struct actual_instance *instance = entry->value;

		if (instance->exists && instance->connected && is_served(instance) &&
			sim_draw(sim, ++seen) == 0)
			chosen = instance;
	}
	return chosen;
}

/* ---- L6 ---- */

static bool is_any_blocked(const struct actual *actual)
{
	for (unsigned i = 0; i < actual->environment_count; i++)
		MAP_EACH (&actual->environments[i]->deployments, entry) {
			const struct actual_deployment *deployment = entry->value;

			if (deployment->exists &&
				deployment->status == ENVIRONMENT_DEPLOYMENT_blocked)
				return true;
		}
	return false;
}

/* There is no room where there was some, and then there is again. */
int sim_try_no_room(struct sim *sim, struct err *err)
{
	const struct actual *actual = daemon_checker_actual(sim->checker);
	struct actual_instance *instance = draw_served(sim);
	int code = 0;

	if (!instance || !sim_fill_instance(sim, instance))
		return 0;
	for (unsigned i = 0; code == 0 && i < BLOCKED_WITHIN_S && !is_any_blocked(actual); i++)
		code = sim_pass_time(sim, SIM_SECOND_US, err);
	if (code < 0)
		return code;
	if (is_any_blocked(actual))
		daemon_checker_count(sim->checker, DAEMON_PROPERTY_L6);
	code = sim_pass_time(sim, KNOWN_WITHIN_US, err);
	if (code < 0)
		return code;
	sim_compare_counts(sim, true);
	sim_empty_instance(sim, instance);
	return sim_settle(sim, SERVED_WITHIN_US, DAEMON_PROPERTY_L6,
		"long after there was room again", err);
}

/* ---- L8 ---- */

/* With the one that is away as one that is down, no other one may be; without it, one may. */
static unsigned minimum_for(unsigned members)
{
	return members < MEMBERS_LEAST ? 0 : 100 * (members - 2) / (members - 1);
}

/* Whether there is something to replace. */
static bool is_another(const struct actual *actual, const struct actual_environment *environment,
	const struct actual_version *before)
{
	char key[2 * ACTUAL_TEXT_MAX];
	const struct actual_version *latest;

	snprintf(key, sizeof(key), "%s/%s", environment->key, environment->latest);
	latest = map_get(&actual->versions, span_of(key));
	return latest && strcmp(latest->definition, before->definition) != 0;
}

/* Each rolls another version out, as strictly as it can. */
static int deploy_all(struct sim *sim, const struct actual_instance *away, unsigned *ret_most,
	struct err *err)
{
	const struct actual *actual = daemon_checker_actual(sim->checker);
	int code = 0;

	*ret_most = 0;
	for (size_t i = 0; code == 0 && i < sim->environment_count; i++) {
		char key[SIM_TEXT_MAX];
		const struct actual_environment *environment =
			map_get(&actual->environments_by_key, sim_environment_key(sim, i, key));
		const struct actual_version *before = environment->rules;
		bool matches = actual_matches(before, away);
		unsigned members = count_members(actual, environment) + matches;

		sim->strict = true;
		sim->minimum = minimum_for(members);
		*ret_most = members > *ret_most ? members : *ret_most;
		code = sim_make_one_healthy(sim, i, err);
		if (code == 0 && matches && members >= MEMBERS_LEAST &&
			is_another(actual, environment, before))
			daemon_checker_count(sim->checker, DAEMON_PROPERTY_L8);
	}
	return code;
}

/* An instance is away for long; a new version reaches the others all the same. */
int sim_try_away(struct sim *sim, struct err *err)
{
	struct actual_instance *away = draw_served(sim);
	unsigned most;
	int code;

	if (!away)
		return 0;
	sim_connect_instance(sim, away, false);
	code = deploy_all(sim, away, &most, err);
	if (code == 0 && !sim->broken[0])
		code = sim_settle(sim, UNREACHABLE_S * SIM_SECOND_US + most * REPLACED_WITHIN_US,
			DAEMON_PROPERTY_L8, "long after an instance was away", err);
	if (code == 0 && !sim->broken[0])
		code = sim_pass_time(sim, KNOWN_WITHIN_US, err);
	if (code < 0 || sim->broken[0])
		return code;
	sim_compare_counts(sim, true);
	sim_connect_instance(sim, away, true);
	return sim_settle(sim, REPLACED_WITHIN_US + SERVED_WITHIN_US, DAEMON_PROPERTY_L1,
		"long after an instance came back", err);
}
