/* Checks which tasks may be started, stopped and decided for instances. */
#include <stdio.h>

#include "sim/daemon/daemon_checker_internal.h"

#define STARTS_KEPT 8 /* of one version on one instance… */
#define STARTS_WITHIN_US INT64_C(10000000)
#define STARTS_FEW 10000 /* which need not be looked through */
#define WRITES_MAX 60    /* of one placement within that time */

struct starts {
	int64_t at_us[STARTS_KEPT];
	unsigned next;
};

static struct actual_placement *placement_of(struct daemon_checker *checker,
	const struct actual_environment *environment, const struct actual_instance *instance)
{
	char key[3 * ACTUAL_TEXT_MAX];

	snprintf(key, sizeof(key), "%s/%s/%s", environment->key, instance->cluster_ref,
		instance->id);
	return map_get(&checker->actual.placements, span_of(key));
}

/* ---- counting a fleet ---- */

struct census {
	unsigned members, healthy;
	unsigned moving;            /* belong to the target version, and have no healthy task */
	unsigned doubled;           /* have two tasks that stay */
	unsigned new_and_unhealthy; /* members that came lately, and have no healthy task */
	unsigned lost_lately;       /* had a healthy one, and lost it without a decision */
	unsigned awaited;           /* would be members, and are away */
	unsigned left_lately;       /* were members */
};

/* Such an instance counts as one that is down for a while, which begins anew with a server that boots. */
static bool is_awaited(const struct actual_environment *environment,
	const struct actual_instance *instance)
{
	return instance->exists && !instance->connected && environment->rules &&
	       actual_matches(environment->rules, instance);
}

static struct census take_census(struct daemon_checker *checker,
	const struct actual_environment *environment)
{
	int64_t now_us = checker_warm_us(checker), since_us = checker_since_us(checker);
	struct census census = {0};

	MAP_EACH (&checker->actual.instances, entry) {
		const struct actual_instance *instance = entry->value;
		const struct actual_membership *member = actual_member(environment, instance);
		const struct actual_placement *placement;
		const struct actual_version *version = NULL;
		bool healthy;

		census.lost_lately += member->lost_us >= since_us;
		if (!actual_is_member(environment, instance)) {
			census.left_lately += member->left_us >= since_us;
			census.awaited += is_awaited(environment, instance);
			continue;
		}
		healthy = actual_count_healthy(environment, instance, now_us) > 0;
		census.members++;
		census.healthy += healthy;
		census.doubled += actual_count_tasks(environment, instance, false) > 1 &&
				  !checker_is_late(checker, environment, instance);
		census.new_and_unhealthy += !healthy && member->entered_us >= since_us;
		placement = placement_of(checker, environment, instance);
		if (placement && placement->exists)
			version = checker_version(checker, environment, placement->version);
		census.moving += !healthy && version &&
				 strcmp(version->definition, environment->rules->definition) == 0;
	}
	return census;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* ---- shared checks ---- */

static bool is_settled(const struct daemon_checker *checker,
	const struct actual_environment *environment)
{
	return environment->rules && environment->rules_us < checker_since_us(checker);
}

static void check_active(struct daemon_checker *checker, const struct actual_task *task, bool stop)
{
	const struct actual_environment *environment = task->environment;
	bool may = environment->status == ENVIRONMENT_active ||
		   (stop && environment->status == ENVIRONMENT_deleting && environment->terminate);

	daemon_checker_count(checker, DAEMON_PROPERTY_S6);
	if (environment->exists && may)
		return;
	if (environment->active_us < checker_since_us(checker) &&
		!checker_is_late(checker, environment, task->instance))
		daemon_checker_report(checker, DAEMON_PROPERTY_S6,
			"%s is %s for environment %s, which is %s", task->definition,
			stop ? "stopped" : "started", environment->name,
			environment->exists ? environment_status_name(environment->status)
					    : "gone");
}

/* ---- starts ---- */

static void check_numbers(struct daemon_checker *checker, struct actual_task *task)
{
	struct actual_environment *environment = task->environment;
	unsigned staying = actual_count_tasks(environment, task->instance, false);
	unsigned all = actual_count_tasks(environment, task->instance, true);
	struct census census;
	unsigned most;

	if (checker_is_late(checker, environment, task->instance) && staying > 0)
		actual_add_excess(&checker->actual, environment, task->instance,
			checker_now_us(checker));
	if (checker_is_late(checker, environment, task->instance) ||
		!is_settled(checker, environment))
		return;
	if (!environment->rules->surge) {
		daemon_checker_count(checker, DAEMON_PROPERTY_S1);
		if (all > 0)
			daemon_checker_report(checker, DAEMON_PROPERTY_S1,
				"instance %s gets another task of environment %s",
				task->instance->id, environment->name);
		return;
	}
	if (staying == 0)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S2);
	census = take_census(checker, environment);
	most = (census.members + census.awaited + census.left_lately) *
	       environment->rules->maximum_over / 100;
	if (staying > 1 || census.doubled + 1 > most)
		daemon_checker_report(checker, DAEMON_PROPERTY_S2,
			"instance %s gets a task of environment %s beside %u others; %u of %u "
			"instances have two, %u may",
			task->instance->id, environment->name, staying, census.doubled,
			census.members, most);
	for (const struct actual_task *other = actual_member(environment, task->instance)->tasks;
		other; other = other->next)
		if (actual_stays(other) && strcmp(other->definition, task->definition) == 0)
			daemon_checker_report(checker, DAEMON_PROPERTY_S2,
				"instance %s gets a second task of %s", task->instance->id,
				task->definition);
}

static void check_member(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_environment *environment = task->environment;
	const struct actual_membership *member = actual_member(environment, task->instance);

	daemon_checker_count(checker, DAEMON_PROPERTY_S5);
	if (actual_is_member(environment, task->instance) ||
		member->left_us >= checker_since_us(checker) || !is_settled(checker, environment) ||
		checker_is_late(checker, task->environment, task->instance))
		return;
	daemon_checker_report(checker, DAEMON_PROPERTY_S5,
		"a task of environment %s is started on instance %s, which is none of its",
		environment->name, task->instance->id);
}

static void check_version(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_environment *environment = task->environment;
	const struct actual_deployment *deployment =
		map_get(&environment->deployments, span_of(task->started_by));
	const struct actual_version *version =
		deployment ? checker_version(checker, environment, deployment->version) : NULL;

	daemon_checker_count(checker, DAEMON_PROPERTY_S8);
	if (!deployment)
		daemon_checker_report(checker, DAEMON_PROPERTY_S8,
			"a task of environment %s is started by '%s', which is no deployment of it",
			environment->name, task->started_by);
	else if (version && strcmp(version->definition, task->definition) != 0)
		daemon_checker_report(checker, DAEMON_PROPERTY_S8, "deployment %s of %s starts %s",
			task->started_by, version->definition, task->definition);
}

/* A start without a task after a while counts as never sent. */
static void drop_old_starts(struct daemon_checker *checker)
{
	int64_t since_us = checker_now_us(checker) - STARTS_WITHIN_US;

	if (checker->starts.count < checker->starts_kept)
		return;
	MAP_EACH (&checker->starts, entry) {
		const struct starts *starts = entry->value;

		if (starts->at_us[(starts->next - 1) % STARTS_KEPT] <= since_us)
			free(map_remove(&checker->starts, entry->key));
	}
	checker->starts_kept = 2 * checker->starts.count + STARTS_FEW;
}

static void check_rate(struct daemon_checker *checker, const struct actual_task *task)
{
	int64_t now_us = checker_now_us(checker), *oldest;
	char key[4 * ACTUAL_TEXT_MAX];
	struct starts *starts;

	snprintf(key, sizeof(key), "%s %s %s", task->instance->key, task->environment->key,
		task->definition);
	starts = map_get(&checker->starts, span_of(key));
	if (!starts) {
		drop_old_starts(checker);
		starts = memory_allocate(sizeof(*starts));
		map_put(&checker->starts, span_of(key), starts);
	}
	daemon_checker_count(checker, DAEMON_PROPERTY_S16);
	oldest = &starts->at_us[starts->next++ % STARTS_KEPT];
	if (*oldest > 0 && now_us - *oldest < STARTS_WITHIN_US)
		daemon_checker_report(checker, DAEMON_PROPERTY_S16,
			"%s was started %d times on instance %s within %.1f s", task->definition,
			STARTS_KEPT + 1, task->instance->id, (double)(now_us - *oldest) / 1e6);
	*oldest = now_us;
}

static void check_start_intent(struct daemon_checker *checker, const struct actual_task *task)
{
	struct actual_placement *placement =
		placement_of(checker, task->environment, task->instance);

	daemon_checker_count(checker, DAEMON_PROPERTY_S19);
	if (checker_is_late(checker, task->environment, task->instance))
		return;
	if (!placement || !placement->exists ||
		placement->facts.intent != ENVIRONMENT_INTENT_start ||
		strcmp(placement->deployment, task->started_by) != 0)
		daemon_checker_report(checker, DAEMON_PROPERTY_S19,
			"a task of environment %s is started on instance %s, and no decision is "
			"stored",
			task->environment->name, task->instance->id);
	else if (placement->used)
		daemon_checker_report(checker, DAEMON_PROPERTY_S19,
			"a second task of environment %s is started on instance %s for one intent",
			task->environment->name, task->instance->id);
	else
		placement->used = true;
}

void checker_started(struct daemon_checker *checker, struct actual_task *task)
{
	checker->actions++;
	runner_trace(checker->config.runner, "%s starts %s on %s: %s", task->environment->key,
		strrchr(task->definition, '/') + 1, task->instance->id,
		strrchr(task->arn, '/') + 1);
	check_active(checker, task, false);
	check_numbers(checker, task);
	check_member(checker, task);
	check_version(checker, task);
	check_rate(checker, task);
	check_start_intent(checker, task);
}

/* ---- stops ---- */

/* Its instance does not need it: another one there is healthy, or was when that was decided. */
static bool is_spare(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_instance *instance = task->instance;

	return actual_count_healthy(task->environment, instance, checker_warm_us(checker)) > 0 ||
	       actual_member(task->environment, instance)->spare_us >= checker_since_us(checker);
}

/* At the moment when the task is not wanted any more. */
static void check_minimum(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_environment *environment = task->environment;
	struct actual_task before = *task;
	struct census census;
	unsigned required;

	before.wanted = true;
	if (checker->config.bug_vacuous || environment->status != ENVIRONMENT_active ||
		checker_is_late(checker, task->environment, task->instance) ||
		!is_settled(checker, environment) ||
		!actual_is_member(environment, task->instance) ||
		/* A moment ago it was none, and its task not needed. */
		actual_member(environment, task->instance)->entered_us >=
			checker_since_us(checker) ||
		!actual_is_healthy(&before, environment->rules, checker_since_us(checker)) ||
		is_spare(checker, task))
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S3);
	census = take_census(checker, environment);
	required = actual_required(environment->rules, census.members - census.new_and_unhealthy);
	if (census.healthy + census.lost_lately < required)
		daemon_checker_report(checker, DAEMON_PROPERTY_S3,
			"a healthy task of environment %s is stopped on instance %s, which leaves "
			"%u "
			"of %u instances with one, and not %u",
			environment->name, task->instance->id, census.healthy, census.members,
			required);
}

/* Before the canary has proved itself the others keep what they had, where they have both. */
static bool waits_for_canary(const struct actual_environment *environment)
{
	const struct actual_deployment *deployment =
		map_get(&environment->deployments, span_of(environment->in_progress));

	return environment->rules->canary_instances > 0 && deployment && !deployment->rollback &&
	       !deployment->proved;
}

/* Of several tasks those that are too many are stopped, and never all: where one belongs, no healthy task of the version
 * that is wanted goes unless another one of it stays. */
static void check_one_stays(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_environment *environment = task->environment;
	const struct actual_membership *member = actual_member(environment, task->instance);
	struct actual_task before = *task;

	before.wanted = true;
	if (environment->status != ENVIRONMENT_active || !is_settled(checker, environment) ||
		!actual_is_member(environment, task->instance) ||
		member->entered_us >= checker_since_us(checker) ||
		member->spare_us >= checker_since_us(checker) ||
		!actual_is_healthy(&before, environment->rules, checker_since_us(checker)) ||
		strcmp(task->definition, environment->rules->definition) != 0)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S1);
	for (const struct actual_task *other = member->tasks; other; other = other->next)
		if (other != task && actual_stays(other) &&
			(strcmp(other->definition, task->definition) == 0 ||
				(waits_for_canary(environment) &&
					actual_is_healthy(other, environment->rules,
						checker_now_us(checker)))))
			return;
	if (!checker_is_late(checker, environment, task->instance))
		daemon_checker_report(checker, DAEMON_PROPERTY_S1,
			"the last task of environment %s on instance %s is stopped, which is "
			"healthy",
			environment->name, task->instance->id);
}

static void check_stop_intent(struct daemon_checker *checker, const struct actual_task *task)
{
	struct actual_placement *placement =
		placement_of(checker, task->environment, task->instance);

	daemon_checker_count(checker, DAEMON_PROPERTY_S19);
	if (checker_is_late(checker, task->environment, task->instance))
		return;
	if (!placement || !placement->exists ||
		placement->facts.intent != ENVIRONMENT_INTENT_stop ||
		strcmp(placement->task, task->arn) != 0)
		daemon_checker_report(checker, DAEMON_PROPERTY_S19,
			"a task of environment %s is stopped on instance %s, and no decision is "
			"stored",
			task->environment->name, task->instance->id);
	else
		placement->used = true;
}

/* An instance that is away keeps what it has. */
static void check_reached(struct daemon_checker *checker, const struct actual_task *task)
{
	const struct actual_instance *instance = task->instance;

	daemon_checker_count(checker, DAEMON_PROPERTY_S5);
	if (instance->exists && !instance->connected &&
		instance->changed_us < checker_since_us(checker) &&
		!checker_is_late(checker, task->environment, task->instance))
		daemon_checker_report(checker, DAEMON_PROPERTY_S5,
			"a task of environment %s is stopped on instance %s, which is away",
			task->environment->name, instance->id);
}

void checker_stopped(struct daemon_checker *checker, const struct actual_task *task,
	struct span reason)
{
	char wanted[ACTUAL_TEXT_MAX + 32];

	checker->actions++;
	runner_trace(checker->config.runner, "%.*s stops %s on %s: %s", SPAN_ARGS(reason),
		strrchr(task->definition, '/') + 1, task->instance->id,
		strrchr(task->arn, '/') + 1);
	daemon_checker_count(checker, DAEMON_PROPERTY_S4);
	snprintf(wanted, sizeof(wanted),
		"Environment %s: ", task->environment ? task->environment->name : "");
	if (!task->environment || !span_starts_with(reason, span_of(wanted))) {
		daemon_checker_report(checker, DAEMON_PROPERTY_S4, "%.*s stops a task of %s",
			SPAN_ARGS(reason), task->environment ? task->environment->name : "others");
		return;
	}
	check_active(checker, task, true);
	check_reached(checker, task);
	check_minimum(checker, task);
	check_one_stays(checker, task);
	check_stop_intent(checker, task);
}

/* ---- decisions ---- */

static void check_pace(struct daemon_checker *checker, const struct actual_placement *placement,
	const struct actual_placement *before)
{
	const struct actual_environment *environment = placement->environment;
	const struct actual_version *old = checker_version(checker, environment, before->version);
	const struct actual_version *new =
		checker_version(checker, environment, placement->version);
	struct census census;
	unsigned allowed, moving;

	if (!before->exists || !old || !new || strcmp(old->definition, new->definition) == 0 ||
		!is_settled(checker, environment) ||
		strcmp(new->definition, environment->rules->definition) != 0)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S3B);
	census = take_census(checker, environment);
	/* The deciding server may not know of instances that lately became unhealthy, came or left. */
	moving = census.moving -
		 (census.lost_lately < census.moving ? census.lost_lately : census.moving);
	moving -= census.new_and_unhealthy < moving ? census.new_and_unhealthy : moving;
	census.members += census.left_lately + census.awaited;
	allowed = census.members - actual_required(environment->rules, census.members);
	if (environment->rules->surge)
		allowed = larger(allowed, census.members * environment->rules->maximum_over / 100);
	if (moving > larger(allowed, 1))
		daemon_checker_report(checker, DAEMON_PROPERTY_S3B,
			"%u of %u instances of environment %s are on their way to another version, "
			"and not %u",
			moving, census.members, environment->name, larger(allowed, 1));
}

/* Handed over by the deployment in progress, and known to the deciding server: its own actions it
 * knows. */
static bool is_handed_over(struct daemon_checker *checker,
	const struct actual_environment *environment, const struct actual_instance *instance)
{
	const struct actual_placement *placement = placement_of(checker, environment, instance);
	const struct actual_version *version =
		placement && placement->exists
			? checker_version(checker, environment, placement->version)
			: NULL;

	return version && strcmp(version->definition, environment->rules->definition) == 0 &&
	       strcmp(placement->deployment, environment->in_progress) == 0 &&
	       actual_is_member(environment, instance) &&
	       actual_member(environment, instance)->entered_us < checker_since_us(checker);
}

/* As many as the canary has, or all there are, were well for as long as it bakes. */
static bool has_proved(const struct daemon_checker *checker,
	const struct actual_environment *environment)
{
	int64_t baked_us = environment->rules->canary_bake_ms * 1000 - checker->config.patience_us;
	unsigned members = 0, healthy = 0;

	MAP_EACH (&checker->actual.instances, entry) {
		members += actual_is_member(environment, entry->value);
		healthy += actual_was_healthy(environment, entry->value, baked_us,
			checker_now_us(checker));
	}
	return healthy >= (members < environment->rules->canary_instances
					  ? members
					  : environment->rules->canary_instances);
}

/* Another instance gets the new version, which is the canary's, or the canary has proved itself. */
static void check_canary(struct daemon_checker *checker, const struct actual_placement *placement,
	const struct actual_placement *before, const struct actual_instance *instance)
{
	const struct actual_environment *environment = placement->environment;
	const struct actual_version *old = checker_version(checker, environment, before->version);
	const struct actual_version *new =
		checker_version(checker, environment, placement->version);
	struct actual_deployment *deployment =
		map_get(&environment->deployments, span_of(environment->in_progress));
	unsigned handed_over = 0;

	/* An instance that was seen with it a moment before the deployment began may be the canary. */
	if (!is_settled(checker, environment) || environment->rules->canary_instances == 0 ||
		!deployment || deployment->type != ENVIRONMENT_DEPLOYMENT_TYPE_user ||
		deployment->rollback || deployment->proved || !instance || !before->exists ||
		!old || !new || strcmp(old->definition, new->definition) == 0 ||
		strcmp(new->definition, environment->rules->definition) != 0 ||
		strcmp(placement->deployment, environment->in_progress) != 0)
		return;
	/* It has the new one already, and only belongs to it from now on. */
	if (actual_was_healthy(environment, instance, 0, checker_now_us(checker)))
		return;
	MAP_EACH (&checker->actual.instances, entry)
		handed_over += entry->value != instance &&
			       is_handed_over(checker, environment, entry->value);
	if (handed_over < environment->rules->canary_instances)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_CANARY);
	deployment->proved = has_proved(checker, environment);
	if (!deployment->proved)
		daemon_checker_report(checker, DAEMON_PROPERTY_CANARY,
			"environment %s hands instance %s over beside %u others, and its canary of "
			"%u has not proved itself",
			environment->name, instance->id, handed_over,
			environment->rules->canary_instances);
}

/* Nothing is decided over and over again. */
static void check_writes(struct daemon_checker *checker, struct actual_placement *placement)
{
	int64_t now_us = checker_now_us(checker);

	if (now_us - placement->since_us > STARTS_WITHIN_US) {
		placement->since_us = now_us;
		placement->writes = 0;
	}
	daemon_checker_count(checker, DAEMON_PROPERTY_S16);
	if (++placement->writes == WRITES_MAX)
		daemon_checker_report(checker, DAEMON_PROPERTY_S16,
			"environment %s decides for one instance over and over again",
			placement->environment->name);
}

/* A placement has the revision of the state it was decided on, which must include the previous decision. */
static void check_seen(struct daemon_checker *checker, const struct actual_placement *placement,
	const struct actual_placement *before, const struct actual_instance *instance)
{
	bool own = instance && instance->cluster_ref[0] == ':';
	bool acted = before->exists && before->used;

	/* That it was refused is no decision. */
	if (placement->facts.intent == ENVIRONMENT_INTENT_none || placement->facts.until_ms > 0 ||
		!instance)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S5);
	if (placement->facts.seen <= 0 ||
		(own && acted && (uint64_t)placement->facts.seen < before->revision))
		daemon_checker_report(checker, DAEMON_PROPERTY_S5,
			"environment %s decides for instance %s on state %lld, and had decided "
			"before at %llu",
			placement->environment->name, instance->id,
			(long long)placement->facts.seen,
			acted ? (unsigned long long)before->revision : 0);
}

void checker_decided(struct daemon_checker *checker, struct actual_placement *placement,
	const struct actual_placement *before, const struct actual_instance *instance)
{
	static const char *const intents[] = {"nothing", "a start", "a stop"};
	const struct actual_environment *environment = placement->environment;
	char key[ACTUAL_TEXT_MAX + 8];
	uint64_t epoch;

	checker->actions++;
	runner_trace(checker->config.runner, "%s decides %s on %s: %s%s", environment->key,
		intents[placement->facts.intent], instance ? instance->id : "?", placement->task,
		placement->facts.until_ms > 0 ? ", refused" : "");
	snprintf(key, sizeof(key), "env/%s", environment->key);
	epoch = (uint64_t)(uintptr_t)map_get(&checker->actual.claims, span_of(key));
	daemon_checker_count(checker, DAEMON_PROPERTY_S12);
	if (epoch != (uint64_t)placement->facts.epoch)
		daemon_checker_report(checker, DAEMON_PROPERTY_S12,
			"something is decided for environment %s under claim %lld, which is %llu "
			"now",
			environment->name, (long long)placement->facts.epoch,
			(unsigned long long)epoch);
	if (instance && strncmp(instance->cluster_ref, ":", 1) == 0) {
		daemon_checker_count(checker, DAEMON_PROPERTY_S14);
		if (strncmp(instance->cluster_ref + 1, environment->key,
			    (size_t)(environment->name - environment->key)) != 0)
			daemon_checker_report(checker, DAEMON_PROPERTY_S14,
				"environment %s decides for an instance in %s", environment->key,
				instance->cluster_ref);
	}
	/* Of two tasks of one instance both can be stopped within a millisecond, one after the other. */
	if (before->used && placement->facts.until_ms > 0 &&
		before->facts.intent_ms == placement->facts.intent_ms &&
		strcmp(before->task, placement->task) == 0 &&
		!(instance && checker_is_late(checker, environment, instance)))
		daemon_checker_report(checker, DAEMON_PROPERTY_S19,
			"environment %s takes %s for refused that was not", environment->name,
			intents[before->facts.intent]);
	check_seen(checker, placement, before, instance);
	check_pace(checker, placement, before);
	check_canary(checker, placement, before, instance);
	check_writes(checker, placement);
}

void checker_forgot(struct daemon_checker *checker, const struct actual_placement *placement,
	const struct actual_instance *instance)
{
	if (!placement->environment->exists ||
		placement->environment->status == ENVIRONMENT_deleting)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S17);
	if (instance && instance->exists)
		daemon_checker_report(checker, DAEMON_PROPERTY_S17,
			"what environment %s decided for instance %s is forgotten, and the "
			"instance "
			"is there",
			placement->environment->name, instance->id);
}

void checker_completed(struct daemon_checker *checker, const struct actual_environment *environment,
	const struct actual_deployment *deployment)
{
	const struct actual_version *version =
		checker_version(checker, environment, deployment->version);
	int64_t now_us = checker_warm_us(checker), since_us = checker_reported_us(checker);

	if (!version)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_S7C);
	MAP_EACH (&checker->actual.instances, entry) {
		const struct actual_instance *instance = entry->value;
		const struct actual_membership *member = actual_member(environment, instance);
		bool served = false;

		if (!actual_is_member(environment, instance) || member->entered_us >= since_us ||
			member->lost_us >= since_us || instance->changed_us >= since_us)
			continue;
		for (const struct actual_task *task = member->tasks; task; task = task->next)
			served |= actual_is_healthy(task, version, now_us) &&
				  strcmp(task->definition, version->definition) == 0;
		if (!served)
			daemon_checker_report(checker, DAEMON_PROPERTY_S7C,
				"a deployment of environment %s is completed, and instance %s has "
				"no "
				"healthy task of it",
				environment->name, instance->id);
	}
}
