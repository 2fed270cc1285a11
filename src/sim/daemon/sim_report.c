/* Reports of servers: counts, and the versions of their replicas. */
#include <stdio.h>

#include "delivery/cluster_ref.h"
#include "sim/daemon/sim_world.h"

#define MISTAKEN_US (5 * SIM_SECOND_US)

static void check_counts(struct sim *sim, struct sim_server *server, size_t e)
{
	char key[SIM_TEXT_MAX];
	struct environment_counts counts;

	manager_count(server->manager, sim_environment_key(sim, e, key), &counts);
	if (counts.total == 0)
		return;
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S18);
	if (counts.active < 0 || counts.launching < 0 || counts.unhealthy < 0 ||
		counts.missing < 0 || counts.completed > counts.active ||
		counts.active + counts.launching + counts.unhealthy + counts.missing !=
			counts.total)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S18,
			"%s counts %lld active, %lld launching, %lld unhealthy, %lld missing of "
			"%lld",
			key, (long long)counts.active, (long long)counts.launching,
			(long long)counts.unhealthy, (long long)counts.missing,
			(long long)counts.total);
}

/* ---- counts, when everything is known ---- */

/* As they are. Why an instance has no healthy task is not said: that is a matter of what was tried. */
static struct environment_counts count_actual(const struct actual *actual,
	const struct actual_environment *environment, int64_t now_us)
{
	struct environment_counts counts = {0};

	MAP_EACH (&actual->instances, entry) {
		const struct actual_instance *instance = entry->value;
		bool older = false, updated = false;

		if (!actual_is_member(environment, instance))
			continue;
		for (const struct actual_task *task = actual_member(environment, instance)->tasks;
			task; task = task->next) {
			bool is_target =
				strcmp(task->definition, environment->rules->definition) == 0;

			older |= actual_stays(task) && !is_target;
			updated |= is_target && actual_is_healthy(task, environment->rules, now_us);
		}
		counts.total++;
		counts.active += actual_count_healthy(environment, instance, now_us) > 0;
		counts.outdated += older;
		counts.completed += updated && !older;
	}
	return counts;
}

/* A server need not report what it reports as unknown; but it does not stay so. */
static void compare(struct sim *sim, struct sim_server *server, size_t e, bool may_be_stale)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct actual *actual = daemon_checker_actual(sim->checker);
	char key[SIM_TEXT_MAX];
	const struct actual_environment *environment =
		map_get(&actual->environments_by_key, sim_environment_key(sim, e, key));
	const struct json *answer = sim_get_environment(sim, server, arena, e);
	const struct json *said = json_get(answer, "counts");
	struct environment_counts real;
	int64_t active, unhealthy, without;

	if (!answer || !environment || !environment->rules ||
		(may_be_stale && json_get_bool(answer, "stale", false)))
		return;
	real = count_actual(actual, environment, runner_now_us(sim->root));
	active = json_get_integer(said, "active", -1);
	unhealthy = json_get_integer(said, "unhealthy", -1);
	without = unhealthy + json_get_integer(said, "missing", -1) +
		  json_get_integer(said, "launching", -1);
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S18);
	if (json_get_integer(said, "total", -1) != real.total || active != real.active ||
		without != real.total - real.active ||
		json_get_integer(said, "outdated", -1) != real.outdated)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S18,
			"%s says of %s: %.*s; there are %lld, %lld active, %lld outdated",
			server->name, key, SPAN_ARGS(json_to_text(said, arena)),
			(long long)real.total, (long long)real.active, (long long)real.outdated);
	if (!span_is(json_get_text(answer, "health"), unhealthy > 0 ? "unhealthy" : "healthy"))
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S18,
			"%s says that %s is %.*s, with %lld unhealthy instances", server->name, key,
			SPAN_ARGS(json_get_text(answer, "health")), (long long)unhealthy);
}

void sim_compare_counts(struct sim *sim, bool may_be_stale)
{
	for (size_t i = 0; i < sim->server_count; i++)
		for (size_t e = 0; e < sim->environment_count; e++)
			if (sim->servers[i].manager && !runner_is_stopped(sim->servers[i].runner))
				compare(sim, &sim->servers[i], e, may_be_stale);
}

/* ---- versions ---- */

static void check_version(struct sim *sim, struct sim_server *server, struct span name,
	uint64_t version)
{
	uint64_t known = (uint64_t)(uintptr_t)map_get(&server->versions, name);

	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S13);
	if (version < known)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S13,
			"%s knew version %llu of %.*s, and now knows %llu", server->name,
			(unsigned long long)known, SPAN_ARGS(name), (unsigned long long)version);
	map_put(&server->versions, name, (void *)(uintptr_t)version);
}

/* NULL: there never was one. */
static const struct actual_instance *find_instance(struct sim *sim, struct cluster_ref cluster,
	struct span id)
{
	char key[2 * SIM_TEXT_MAX];

	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(cluster.scope), SPAN_ARGS(id));
	return map_get(&daemon_checker_actual(sim->checker)->instances, span_of(key));
}

static char is_known, is_gone; /* values of the map */

/* A listing answered from an older state contradicts a later one: a server cannot know which of the two
 * is the newer one, until the next one. */
static bool may_be_mistaken(const struct sim *sim, const char *id)
{
	int64_t since_us = runner_now_us(sim->root) - MISTAKEN_US;

	for (size_t i = 0; i < SIM_STALE; i++)
		if (sim->stale[i].text && sim->stale[i].at_us > since_us &&
			strstr(sim->stale[i].text, id))
			return true;
	return false;
}

/* Whether the server would see this instance if it existed: a cluster that no environment wants any more is forgotten,
 * and what it had is neither known nor gone. */
static bool is_observed(struct sim *sim, struct observer *state, const struct cluster_ref *clusters,
	size_t count, struct span id)
{
	for (size_t i = 0; i < count; i++)
		if (observe_is_complete(state, clusters[i]) && find_instance(sim, clusters[i], id))
			return true;
	return false;
}

/* An object that was seen to be gone, and is, does not come back. */
static void check_back(struct sim *sim, struct sim_server *server, const struct map *found,
	struct observer *state, const struct cluster_ref *clusters, size_t count)
{
	MAP_EACH (found, entry) {
		const struct actual_instance *instance = entry->value;

		if (map_get(&server->instances, entry->key) == &is_gone && !instance->exists &&
			!may_be_mistaken(sim, instance->id))
			daemon_checker_report(sim->checker, DAEMON_PROPERTY_S13,
				"%s knew that instance %s is gone, and knows it again",
				server->name, instance->id);
		map_put(&server->instances, entry->key, &is_known);
	}
	MAP_EACH (&server->instances, entry) {
		if (map_has(found, entry->key))
			continue;
		if (is_observed(sim, state, clusters, count, entry->key))
			entry->value = &is_gone;
		else
			map_remove(&server->instances, entry->key);
	}
}

static bool has_task(const struct actual_instance *instance, struct span arn)
{
	for (const struct actual_task *task = instance->tasks; task; task = task->beside)
		if (span_is(arn, task->arn))
			return true;
	return false;
}

/* The same of a task that has not stopped, as far as this server knows: seen before, and not when it looked last. */
static void check_task_back(struct sim *sim, struct sim_server *server,
	const struct actual_instance *instance, struct span arn)
{
	uintptr_t seen = (uintptr_t)map_get(&server->tasks, arn);
	char name[SIM_TEXT_MAX];

	map_put(&server->tasks, arn, (void *)(uintptr_t)server->passes);
	if (seen == 0 || seen + 1 >= server->passes)
		return;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(arn));
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S13);
	if (!has_task(instance, arn) && !may_be_mistaken(sim, strrchr(name, '/') + 1))
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S13,
			"%s knew that task %s has stopped, and knows it again", server->name, name);
}

static void check_versions(struct sim *sim, struct sim_server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct observer *state = manager_state(server->manager);
	struct cluster_ref *clusters;
	struct span *ids;
	size_t cluster_count = observe_list_clusters(state, arena, &clusters);
	_map_ struct map found = {0};

	server->passes++;
	for (size_t i = 0; i < cluster_count; i++) {
		size_t count = observe_list_instances(state, clusters[i], arena, &ids);

		for (size_t j = 0; j < count; j++) {
			const struct observe_instance *instance =
				observe_get_instance(state, clusters[i], ids[j], arena);
			const struct actual_instance *real =
				find_instance(sim, clusters[i], ids[j]);

			if (!instance)
				continue;
			check_version(sim, server, ids[j], instance->version);
			if (real)
				map_put(&found, ids[j], (void *)real);
			for (size_t k = 0; k < instance->task_count; k++) {
				check_version(sim, server, instance->tasks[k].arn,
					instance->tasks[k].version);
				if (real)
					check_task_back(sim, server, real, instance->tasks[k].arn);
			}
		}
	}
	check_back(sim, server, &found, state, clusters, cluster_count);
}

void sim_inspect_servers(struct sim *sim)
{
	struct sim_server *server = sim_some_server(sim);

	if (!server)
		return;
	for (size_t i = 0; i < sim->environment_count; i++)
		check_counts(sim, server, i);
	check_versions(sim, server);
}
