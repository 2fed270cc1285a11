/* Owners of environments: a dead server's are taken over, and the owner brings their deployments to an end. */
#include <inttypes.h>

#include "base/memory.h"
#include "control/claims.h"
#include "sim/daemon/sim_world.h"

/* A server that waits for the end of a lease adds a margin, and polls. If it could not store the end, it
 * waits once more. */
#define LEASE_ENDS_US (SIM_LEASE_US + SIM_LEASE_US / 10)
#define TAKEN_WITHIN_US (4 * SIM_SECOND_US)
/* A due step is stored by then. For a remote cluster a new owner first waits for a listing that began later, or until
 * it is certain that there will be none. */
#define ENDS_WITHIN_US (10 * SIM_SECOND_US)
#define REMOTE_ENDS_WITHIN_US (60 * SIM_SECOND_US)

static bool is_up(const struct sim_server *server)
{
	return server->manager && !runner_is_stopped(server->runner);
}

/* Since when some server that is up has been able to act. */
static int64_t since_any_is_awake(const struct sim *sim)
{
	int64_t since_us = RUNNER_FOREVER;

	for (size_t i = 0; i < sim->server_count; i++)
		if (is_up(&sim->servers[i]) && sim->servers[i].awake_us < since_us)
			since_us = sim->servers[i].awake_us;
	return since_us;
}

/* The server that has it now, as it is now, and is up; NULL. */
static const struct sim_server *owner_of(const struct sim *sim, const struct store_view *view,
	const struct claim_facts *claim)
{
	const struct store_object *record =
		claim->server.length > 0 ? store_get(view, &server_kind, claim->server) : NULL;

	if (!record || !span_equal(((const struct server_facts *)record->facts)->incarnation,
			       claim->incarnation))
		return NULL;
	for (size_t i = 0; i < sim->server_count; i++)
		if (span_is(claim->server, sim->servers[i].name))
			return is_up(&sim->servers[i]) ? &sim->servers[i] : NULL;
	return NULL;
}

/* ---- takeovers ---- */

/* One claim whose environment is there. */
static void check_takeover(struct sim *sim, const struct store_view *view,
	const struct store_object *claim)
{
	int64_t now_us = runner_now_us(sim->root);
	int64_t awake_us = since_any_is_awake(sim);
	struct sim_orphan *orphan = map_get(&sim->orphans, claim->key);
	unsigned failed = sim->result.failed_commits;
	int64_t since_us;

	if (!orphan) {
		orphan = memory_allocate(sizeof(*orphan));
		map_put(&sim->orphans, claim->key, orphan);
	}
	/* By another server, or by the same one when it came back. */
	if (orphan->since_us > 0 && orphan->epoch != claim->revision) {
		daemon_checker_count(sim->checker, DAEMON_PROPERTY_L5);
		orphan->since_us = 0;
	}
	orphan->epoch = claim->revision;
	if (owner_of(sim, view, claim->facts)) {
		orphan->since_us = 0;
		return;
	}
	if (orphan->since_us == 0) {
		orphan->since_us = now_us;
		orphan->failed = failed;
	}
	since_us = orphan->since_us > awake_us ? orphan->since_us : awake_us;
	if (now_us - since_us > (1 + failed - orphan->failed) * LEASE_ENDS_US + TAKEN_WITHIN_US)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_L5,
			"the owner of '%.*s' is dead for %.1f s, and no server has taken it over",
			SPAN_ARGS(claim->key),
			(double)(now_us - orphan->since_us) / (double)SIM_SECOND_US);
}

/* Claims of a dead server are taken over when its lease has ended, if some server is up. */
static void check_takeovers(struct sim *sim, const struct store_view *view)
{
	struct store_cursor cursor = {.view = view,
		.kind = &claim_kind,
		.index = -1,
		.prefix = SPAN(MANAGER_CLAIM_PREFIX)};
	const struct store_object *claim;

	while ((claim = store_next(&cursor))) {
		struct span environment = {claim->key.data + cursor.prefix.length,
			claim->key.length - cursor.prefix.length};

		if (store_get(view, &environment_kind, environment))
			check_takeover(sim, view, claim);
		else
			free(map_remove(&sim->orphans, claim->key));
	}
}

/* ---- deployments that end ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static const struct actual_deployment *open_one(const struct actual_environment *environment,
	const char *id)
{
	const struct actual_deployment *deployment =
		map_get(&environment->deployments, span_of(id));

	return deployment && deployment->exists &&
			       !environment_deployment_has_ended(deployment->status)
		       ? deployment
		       : NULL;
}

/* Since when the owner has been able to act; RUNNER_FOREVER: there is none, which check_takeovers()
 * looks at. */
static int64_t able_us(const struct sim *sim, const struct store_view *view,
	const struct actual_environment *environment)
{
	char key[2 * SIM_TEXT_MAX];
	const struct store_object *claim;
	const struct sim_server *owner;

	snprintf(key, sizeof(key), MANAGER_CLAIM_PREFIX "%s", environment->key);
	claim = store_get(view, &claim_kind, span_of(key));
	if (!claim)
		return since_any_is_awake(sim);
	owner = owner_of(sim, view, claim->facts);
	return owner ? owner->awake_us : RUNNER_FOREVER;
}

/* When a running deployment times out. The time was stored when it began; where clocks are set, a new owner cannot
 * know when that was, and cuts a time in the future to now. */
static int64_t ends_us(struct sim *sim, const struct actual_environment *environment,
	const struct actual_deployment *running, int64_t able)
{
	const struct actual_version *version;
	int64_t began_us = running->began_us;
	char key[2 * SIM_TEXT_MAX];

	snprintf(key, sizeof(key), "%s/%s", environment->key, running->version);
	version = map_get(&daemon_checker_actual(sim->checker)->versions, span_of(key));
	if (!version || able == RUNNER_FOREVER)
		return RUNNER_FOREVER;
	if (sim->result.jumps > 0)
		began_us = later(began_us, later(environment->claimed_us, able));
	return began_us + version->timeout_ms * 1000 + SIM_CLOCKS_DIFFER_MS * 1000;
}

/* Since when something should have become of its deployments: one that runs has had its time, or was to be stopped, or
 * nothing keeps the one that waits from beginning. */
static int64_t due_us(struct sim *sim, const struct actual_environment *environment, int64_t able)
{
	const struct actual_deployment *running = open_one(environment, environment->in_progress);
	const struct actual_deployment *waiting = open_one(environment, environment->pending);
	bool stops = running && running->status == ENVIRONMENT_DEPLOYMENT_to_be_stopped;
	int64_t due = RUNNER_FOREVER;

	if (running)
		due = stops ? running->moved_us : ends_us(sim, environment, running, able);
	if (waiting && (!running || stops || running->type != ENVIRONMENT_DEPLOYMENT_TYPE_user))
		due = sooner(due, later(waiting->created_us, environment->released_us));
	return due;
}

/* A server that took it over, or woke up, first has to learn what was done before. A failed commit is tried again, later
 * time. */
static void check_end(struct sim *sim, const struct store_view *view,
	struct actual_environment *environment)
{
	int64_t now_us = runner_now_us(sim->root);
	int64_t able = able_us(sim, view, environment);
	int64_t since_us =
		later(due_us(sim, environment, able), later(able, environment->claimed_us));
	int64_t within_us = sim->remote ? REMOTE_ENDS_WITHIN_US : ENDS_WITHIN_US;
	unsigned failed = sim->result.failed_commits;

	if (since_us != environment->overdue_us) {
		environment->overdue_us = since_us;
		environment->overdue_failed = failed;
	}
	if (since_us < now_us &&
		now_us - since_us > (1 + failed - environment->overdue_failed) * within_us)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_L2,
			"for %.1f s a deployment of environment %s should have begun, or ended",
			(double)(now_us - since_us) / (double)SIM_SECOND_US, environment->name);
}

/* Every one that waits begins or is canceled, and every one in progress ends when its time is over. */
static void check_ends(struct sim *sim, const struct store_view *view)
{
	const struct actual *actual = daemon_checker_actual(sim->checker);

	for (unsigned i = 0; i < actual->environment_count; i++)
		if (actual->environments[i]->exists)
			check_end(sim, view, actual->environments[i]);
}

/* ---- tasks too many ---- */

/* Where a late call has left two, one is stopped soon, except while calls fail; and nothing is done
 * for an inactive environment, or on a disconnected instance; and where the new one starts first two may be desired. */
static void check_excesses(struct sim *sim, const struct store_view *view)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	int64_t now_us = runner_now_us(sim->root);
	size_t kept = 0;

	for (size_t i = 0; i < actual->excess_count; i++) {
		struct actual_excess *excess = &actual->excesses[i];
		bool is_over = actual_count_tasks(excess->environment, excess->instance, false) < 2;

		if (is_over)
			daemon_checker_count(sim->checker, DAEMON_PROPERTY_S1);
		if (is_over || !excess->environment->exists || !excess->instance->exists)
			continue;
		if (sim->faulty || !excess->instance->connected ||
			excess->environment->status != ENVIRONMENT_active ||
			!excess->environment->rules || excess->environment->rules->surge ||
			able_us(sim, view, excess->environment) == RUNNER_FOREVER)
			excess->since_us = now_us;
		if (now_us - excess->since_us > REMOTE_ENDS_WITHIN_US)
			daemon_checker_report(sim->checker, DAEMON_PROPERTY_S1,
				"for %.1f s instance %s has a task of environment %s too many",
				(double)(now_us - excess->since_us) / (double)SIM_SECOND_US,
				excess->instance->id, excess->environment->name);
		actual->excesses[kept++] = *excess;
	}
	actual->excess_count = kept;
}

void sim_check_owners(struct sim *sim)
{
	_view_ struct store_view *view = store_view_open(sim->store);

	check_takeovers(sim, view);
	check_ends(sim, view);
	check_excesses(sim, view);
}
