/*
 * Promises to clients, and requests without an answer. Acknowledged changes are
 * there after a restart; rejected ones changed nothing; those without an answer were done entirely, or not at all.
 */
#include <stdio.h>

#include "sim/daemon/sim_world.h"

/* ---- the objects of an environment ---- */

static struct sim_standing standing_of(struct sim *sim, size_t environment)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	struct sim_standing standing = {0};
	char key[SIM_TEXT_MAX];
	const struct store_object *object =
		store_get(view, &environment_kind, sim_environment_key(sim, environment, key));
	const struct environment_facts *facts = object ? environment_facts(object) : NULL;

	if (!facts)
		return standing;
	standing.exists = true;
	standing.status = facts->status;
	standing.versions = facts->version_count;
	standing.deployments = facts->deployment_count;
	snprintf(standing.latest, ID_UUID_SIZE, "%.*s", SPAN_ARGS(facts->latest));
	snprintf(standing.pending, ID_UUID_SIZE, "%.*s", SPAN_ARGS(facts->pending));
	snprintf(standing.running, ID_UUID_SIZE, "%.*s", SPAN_ARGS(facts->in_progress));
	return standing;
}

static const struct store_object *part(const struct sim *sim, const struct store_view *view,
	const struct store_kind *kind, size_t environment, const char *id, struct arena *arena)
{
	char key[SIM_TEXT_MAX];

	return store_get(view, kind,
		environment_child_key(arena, sim_environment_key(sim, environment, key),
			span_of(id)));
}

/* The status of one of its deployments; pending for none, which no caller asks for. */
static enum environment_deployment_status status_of(const struct sim *sim, size_t environment,
	const char *id)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object =
		part(sim, view, &environment_deployment_kind, environment, id, arena);

	return object ? environment_deployment_facts(object)->status
		      : ENVIRONMENT_DEPLOYMENT_pending;
}

static bool is_same(const struct sim_standing *a, const struct sim_standing *b)
{
	return a->exists == b->exists && a->status == b->status && a->versions == b->versions &&
	       a->deployments == b->deployments && strcmp(a->latest, b->latest) == 0 &&
	       strcmp(a->pending, b->pending) == 0 && strcmp(a->running, b->running) == 0;
}

/* ---- requests ---- */

void sim_before_request(struct sim *sim, size_t environment)
{
	if (!sim->doubt.operation[0])
		sim->doubt.before = standing_of(sim, environment);
}

/* The state of this environment is unknown from now on. */
static void forget(struct sim_environment *row)
{
	row->version[0] = row->deployment[0] = row->stopped[0] = '\0';
	row->deleted = false;
}

static void promise(struct sim *sim, size_t environment, const char *operation,
	const struct json *answer)
{
	struct sim_environment *row = &sim->environments[environment];
	struct span version = json_get_text(answer, "environmentVersion");
	struct span deployment = json_get_text(answer, "deploymentId");

	/* A deletion takes everything of the environment with it, whatever is repeated meanwhile. */
	if (standing_of(sim, environment).status == ENVIRONMENT_deleting) {
		forget(row);
		row->deleted = true;
	} else if (strcmp(operation, "StopDeployment") == 0) {
		snprintf(row->stopped, sizeof(row->stopped), "%.*s", SPAN_ARGS(deployment));
	} else if (deployment.data) {
		snprintf(row->deployment, sizeof(row->deployment), "%.*s", SPAN_ARGS(deployment));
	} else if (version.data) {
		snprintf(row->version, sizeof(row->version), "%.*s", SPAN_ARGS(version));
		row->deleted = false;
	}
}

void sim_after_request(struct sim *sim, size_t environment, const char *operation,
	const struct json *answer)
{
	struct sim_environment *row = &sim->environments[environment];
	struct sim_standing now;

	if (strncmp(operation, "Get", 3) == 0)
		return;
	if (sim->unknown_end) {
		if (!sim->doubt.operation[0]) {
			sim->doubt.environment = environment;
			snprintf(sim->doubt.operation, sizeof(sim->doubt.operation), "%s",
				operation);
		}
		forget(row);
		return;
	}
	if (answer) {
		promise(sim, environment, operation, answer);
		return;
	}
	now = standing_of(sim, environment);
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S10);
	if (!is_same(&sim->doubt.before, &now))
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S10,
			"%s of environment %s was refused, and has changed something", operation,
			row->name);
}

/* ---- after a restart ---- */

static bool is_stopped(enum environment_deployment_status status)
{
	return status == ENVIRONMENT_DEPLOYMENT_to_be_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_canceled;
}

/* A pending deployment was canceled, if there was one. */
static bool is_canceled(const struct sim *sim, const struct sim_doubt *doubt)
{
	return !doubt->before.pending[0] ||
	       status_of(sim, doubt->environment, doubt->before.pending) ==
		       ENVIRONMENT_DEPLOYMENT_canceled;
}

/* And what was in progress is to be stopped. */
static bool is_ending(const struct sim *sim, const struct sim_doubt *doubt)
{
	return !doubt->before.running[0] ||
	       is_stopped(status_of(sim, doubt->environment, doubt->before.running));
}

static bool has(const struct sim *sim, const struct store_kind *kind, size_t environment,
	const char *id)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	_arena_ struct arena *arena = arena_new(0);

	return part(sim, view, kind, environment, id, arena);
}

/* An update of the status alone: an inactive environment has nothing pending. */
static bool is_status_set(const struct sim *sim, const struct sim_doubt *doubt,
	const struct sim_standing *now)
{
	if (strcmp(now->latest, doubt->before.latest) != 0)
		return false;
	if (now->status == ENVIRONMENT_inactive)
		return !now->pending[0] && is_canceled(sim, doubt);
	return now->status == ENVIRONMENT_active &&
	       strcmp(now->pending, doubt->before.pending) == 0;
}

/* All that comes of the request, and nothing else. */
static bool is_done(const struct sim *sim, const struct sim_doubt *doubt,
	const struct sim_standing *now)
{
	const struct sim_standing *before = &doubt->before;
	int64_t versions = now->versions - (before->exists ? before->versions : 0);
	int64_t deployments = now->deployments - (before->exists ? before->deployments : 0);
	size_t environment = doubt->environment;

	/* A deletion that was acknowledged before may end meanwhile. */
	if (!now->exists)
		return strcmp(doubt->operation, "DeleteEnvironment") == 0 && before->exists &&
		       before->status == ENVIRONMENT_deleting;
	if (strcmp(doubt->operation, "CreateEnvironment") == 0)
		return !before->exists && versions == 1 && deployments == 0 &&
		       now->status == ENVIRONMENT_inactive &&
		       has(sim, &environment_version_kind, environment, now->latest);
	if (strcmp(doubt->operation, "UpdateEnvironment") == 0 && versions == 0)
		return deployments == 0 && is_status_set(sim, doubt, now);
	if (strcmp(doubt->operation, "UpdateEnvironment") == 0)
		return versions == 1 && deployments == 0 && !now->pending[0] &&
		       strcmp(now->latest, before->latest) != 0 && is_canceled(sim, doubt) &&
		       has(sim, &environment_version_kind, environment, now->latest);
	if (strcmp(doubt->operation, "StartDeployment") == 0 ||
		strcmp(doubt->operation, "RollbackDeployment") == 0)
		return versions == 0 && deployments == 1 && is_canceled(sim, doubt) &&
		       strcmp(now->pending, before->pending) != 0 &&
		       (doubt->operation[0] == 'S' || is_ending(sim, doubt)) &&
		       has(sim, &environment_deployment_kind, environment, now->pending);
	if (strcmp(doubt->operation, "StopDeployment") == 0)
		return versions == 0 && deployments == 0 &&
		       (before->running[0]
				       ? now->status != ENVIRONMENT_active && is_ending(sim, doubt)
				       : !now->pending[0] && is_canceled(sim, doubt));
	return versions == 0 && deployments == 0 && now->status == ENVIRONMENT_deleting &&
	       !now->pending[0] && is_canceled(sim, doubt) && is_ending(sim, doubt);
}

static void check_doubt(struct sim *sim)
{
	struct sim_doubt doubt = sim->doubt;
	struct sim_standing now;

	sim->doubt.operation[0] = '\0';
	if (!doubt.operation[0])
		return;
	now = standing_of(sim, doubt.environment);
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S10);
	if (!is_same(&doubt.before, &now) && !is_done(sim, &doubt, &now))
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S10,
			"%s of environment %s was not answered, and a part of it was "
			"done",
			doubt.operation, sim->environments[doubt.environment].name);
}

static void check_promises(struct sim *sim, size_t environment)
{
	const struct sim_environment *row = &sim->environments[environment];
	struct sim_standing now = standing_of(sim, environment);
	const char *lost = NULL;

	if (!row->version[0] && !row->deployment[0] && !row->stopped[0] && !row->deleted)
		return;
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S10);
	if (row->version[0] && !has(sim, &environment_version_kind, environment, row->version))
		lost = "its last version";
	if (row->deployment[0] &&
		!has(sim, &environment_deployment_kind, environment, row->deployment))
		lost = "its last deployment";
	if (row->stopped[0] && !is_stopped(status_of(sim, environment, row->stopped)))
		lost = "that one of its deployments is stopped";
	if (row->deleted && now.exists && now.status != ENVIRONMENT_deleting)
		lost = "that it is deleted";
	if (lost)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S10,
			"of environment %s %s was acknowledged, and is gone", row->name, lost);
}

void sim_check_acknowledged(struct sim *sim)
{
	check_doubt(sim);
	for (size_t i = 0; i < sim->environment_count; i++)
		check_promises(sim, i);
}
