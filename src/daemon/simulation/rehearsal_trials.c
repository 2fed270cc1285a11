/*
 * What is tried when the faults are over and all is as wanted: one thing goes wrong, and what must happen then can be
 * told from what is there, within a time.
 */
#include <stdio.h>

#include "daemon/simulation/rehearsal.h"

#define SERVED_WITHIN_US (420 * REHEARSAL_SECOND_US) /* what crashed often waits for five minutes */
#define BLOCKED_WITHIN_S 60
#define UNREACHABLE_S 60
#define KNOWN_WITHIN_US                                                                            \
	(60 * REHEARSAL_SECOND_US) /* to every server, also to one that just woke up */
/* One after another, the most stubborn task takes that long to stop. */
#define REPLACED_WITHIN_US (220 * REHEARSAL_SECOND_US)
/* Fewer instances cannot lose one, have another one replaced, and keep one all the same. */
#define MEMBERS_LEAST 3

/* ---- L3 ---- */

int rehearsal_try_new(struct rehearsal *rehearsal, struct err *err)
{
	rehearsal_add_instances(rehearsal, 0, 2);
	rehearsal_kill_tasks(rehearsal);
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_L3);
	return rehearsal_settle(rehearsal, SERVED_WITHIN_US, DAEMON_PROPERTY_L3,
		"long after an instance joined", err);
}

/* ---- instances ---- */

static unsigned count_members(const struct truth *truth,
	const struct truth_environment *environment)
{
	unsigned count = 0;

	MAP_EACH (&truth->instances, entry)
		count += truth_is_member(environment, entry->value);
	return count;
}

static bool is_served(const struct truth_instance *instance)
{
	for (const struct truth_task *task = instance->tasks; task; task = task->beside)
		if (task->environment)
			return true;
	return false;
}

/* One with a task of an environment; NULL: there is none. */
static struct truth_instance *draw_served(struct rehearsal *rehearsal)
{
	struct truth_instance *chosen = NULL;
	uint64_t seen = 0;

	MAP_EACH (&daemon_checker_truth(rehearsal->checker)->instances, entry) {
		struct truth_instance *instance = entry->value;

		if (instance->exists && instance->connected && is_served(instance) &&
			rehearsal_draw(rehearsal, ++seen) == 0)
			chosen = instance;
	}
	return chosen;
}

/* ---- L6 ---- */

static bool is_any_blocked(const struct truth *truth)
{
	for (unsigned i = 0; i < truth->environment_count; i++)
		MAP_EACH (&truth->environments[i]->deployments, entry) {
			const struct truth_deployment *deployment = entry->value;

			if (deployment->exists &&
				deployment->status == ENVIRONMENT_DEPLOYMENT_blocked)
				return true;
		}
	return false;
}

/* There is no room where there was some, and then there is again. */
int rehearsal_try_no_room(struct rehearsal *rehearsal, struct err *err)
{
	const struct truth *truth = daemon_checker_truth(rehearsal->checker);
	struct truth_instance *instance = draw_served(rehearsal);
	int code = 0;

	if (!instance || !rehearsal_fill_instance(rehearsal, instance))
		return 0;
	for (unsigned i = 0; code == 0 && i < BLOCKED_WITHIN_S && !is_any_blocked(truth); i++)
		code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
	if (code < 0)
		return code;
	if (is_any_blocked(truth))
		daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_L6);
	code = rehearsal_pass_time(rehearsal, KNOWN_WITHIN_US, err);
	if (code < 0)
		return code;
	rehearsal_compare_counts(rehearsal, true);
	rehearsal_empty_instance(rehearsal, instance);
	return rehearsal_settle(rehearsal, SERVED_WITHIN_US, DAEMON_PROPERTY_L6,
		"long after there was room again", err);
}

/* ---- L8 ---- */

/* With the one that is away as one that is down, no other one may be; without it, one may. */
static unsigned minimum_for(unsigned members)
{
	return members < MEMBERS_LEAST ? 0 : 100 * (members - 2) / (members - 1);
}

/* Whether there is something to replace. */
static bool is_another(const struct truth *truth, const struct truth_environment *environment,
	const struct truth_version *before)
{
	char key[2 * TRUTH_TEXT_MAX];
	const struct truth_version *latest;

	snprintf(key, sizeof(key), "%s/%s", environment->key, environment->latest);
	latest = map_get(&truth->versions, span_of(key));
	return latest && strcmp(latest->definition, before->definition) != 0;
}

/* Each rolls another version out, as strictly as it can. */
static int deploy_all(struct rehearsal *rehearsal, const struct truth_instance *away,
	unsigned *ret_most, struct err *err)
{
	const struct truth *truth = daemon_checker_truth(rehearsal->checker);
	int code = 0;

	*ret_most = 0;
	for (size_t i = 0; code == 0 && i < rehearsal->environment_count; i++) {
		char key[REHEARSAL_TEXT_MAX];
		const struct truth_environment *environment = map_get(&truth->environments_by_key,
			rehearsal_environment_key(rehearsal, i, key));
		const struct truth_version *before = environment->rules;
		bool matches = truth_matches(before, away);
		unsigned members = count_members(truth, environment) + matches;

		rehearsal->strict = true;
		rehearsal->minimum = minimum_for(members);
		*ret_most = members > *ret_most ? members : *ret_most;
		code = rehearsal_wish_one_well(rehearsal, i, err);
		if (code == 0 && matches && members >= MEMBERS_LEAST &&
			is_another(truth, environment, before))
			daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_L8);
	}
	return code;
}

/* An instance is away for long; a new version reaches the others all the same. */
int rehearsal_try_away(struct rehearsal *rehearsal, struct err *err)
{
	struct truth_instance *away = draw_served(rehearsal);
	unsigned most;
	int code;

	if (!away)
		return 0;
	rehearsal_connect_instance(rehearsal, away, false);
	code = deploy_all(rehearsal, away, &most, err);
	if (code == 0 && !rehearsal->broken[0])
		code = rehearsal_settle(rehearsal,
			UNREACHABLE_S * REHEARSAL_SECOND_US + most * REPLACED_WITHIN_US,
			DAEMON_PROPERTY_L8, "long after an instance was away", err);
	if (code == 0 && !rehearsal->broken[0])
		code = rehearsal_pass_time(rehearsal, KNOWN_WITHIN_US, err);
	if (code < 0 || rehearsal->broken[0])
		return code;
	rehearsal_compare_counts(rehearsal, true);
	rehearsal_connect_instance(rehearsal, away, true);
	return rehearsal_settle(rehearsal, REPLACED_WITHIN_US + SERVED_WITHIN_US,
		DAEMON_PROPERTY_L1, "long after an instance came back", err);
}
