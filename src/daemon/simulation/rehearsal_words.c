/* What servers say: counts, and the versions of what they know. */
#include <stdio.h>

#include "daemon/simulation/rehearsal.h"

#define MISTAKEN_US (5 * REHEARSAL_SECOND_US)

static void check_counts(struct rehearsal *rehearsal, struct rehearsal_server *server, size_t e)
{
	char key[REHEARSAL_TEXT_MAX];
	struct environment_counts counts;

	manager_count(server->manager, rehearsal_environment_key(rehearsal, e, key), &counts);
	if (counts.total == 0)
		return;
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S18);
	if (counts.active < 0 || counts.launching < 0 || counts.unhealthy < 0 ||
		counts.missing < 0 || counts.completed > counts.active ||
		counts.active + counts.launching + counts.unhealthy + counts.missing !=
			counts.total)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S18,
			"%s counts %lld active, %lld launching, %lld unhealthy, %lld missing of "
			"%lld",
			key, (long long)counts.active, (long long)counts.launching,
			(long long)counts.unhealthy, (long long)counts.missing,
			(long long)counts.total);
}

/* ---- counts, when everything is known ---- */

/* As they are. Why an instance has no healthy task is not said: that is a matter of what was tried. */
static struct environment_counts count_truth(const struct truth *truth,
	const struct truth_environment *environment, int64_t now_us)
{
	struct environment_counts counts = {0};

	MAP_EACH (&truth->instances, entry) {
		const struct truth_instance *instance = entry->value;
		bool older = false, updated = false;

		if (!truth_is_member(environment, instance))
			continue;
		for (const struct truth_task *task = truth_member(environment, instance)->tasks;
			task; task = task->next) {
			bool is_target =
				strcmp(task->definition, environment->rules->definition) == 0;

			older |= truth_stays(task) && !is_target;
			updated |= is_target && truth_is_healthy(task, environment->rules, now_us);
		}
		counts.total++;
		counts.active += truth_count_healthy(environment, instance, now_us) > 0;
		counts.outdated += older;
		counts.completed += updated && !older;
	}
	return counts;
}

/* What a server says itself that it does not know, it need not say; but it does not stay so. */
static void compare(struct rehearsal *rehearsal, struct rehearsal_server *server, size_t e,
	bool may_be_stale)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct truth *truth = daemon_checker_truth(rehearsal->checker);
	char key[REHEARSAL_TEXT_MAX];
	const struct truth_environment *environment =
		map_get(&truth->environments_by_key, rehearsal_environment_key(rehearsal, e, key));
	const struct json *answer = rehearsal_get_environment(rehearsal, server, arena, e);
	const struct json *said = json_get(answer, "counts");
	struct environment_counts real;
	int64_t active, unhealthy, without;

	if (!answer || !environment || !environment->rules ||
		(may_be_stale && json_get_bool(answer, "stale", false)))
		return;
	real = count_truth(truth, environment, runner_now_us(rehearsal->root));
	active = json_get_integer(said, "active", -1);
	unhealthy = json_get_integer(said, "unhealthy", -1);
	without = unhealthy + json_get_integer(said, "missing", -1) +
		  json_get_integer(said, "launching", -1);
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S18);
	if (json_get_integer(said, "total", -1) != real.total || active != real.active ||
		without != real.total - real.active ||
		json_get_integer(said, "outdated", -1) != real.outdated)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S18,
			"%s says of %s: %.*s; there are %lld, %lld active, %lld outdated",
			server->name, key, SPAN_ARGS(json_to_text(said, arena)),
			(long long)real.total, (long long)real.active, (long long)real.outdated);
	if (!span_is(json_get_text(answer, "health"), unhealthy > 0 ? "unhealthy" : "healthy"))
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S18,
			"%s says that %s is %.*s, with %lld unhealthy instances", server->name, key,
			SPAN_ARGS(json_get_text(answer, "health")), (long long)unhealthy);
}

void rehearsal_compare_counts(struct rehearsal *rehearsal, bool may_be_stale)
{
	for (size_t i = 0; i < rehearsal->server_count; i++)
		for (size_t e = 0; e < rehearsal->environment_count; e++)
			if (rehearsal->servers[i].manager &&
				!runner_is_stopped(rehearsal->servers[i].runner))
				compare(rehearsal, &rehearsal->servers[i], e, may_be_stale);
}

/* ---- versions ---- */

static void check_version(struct rehearsal *rehearsal, struct rehearsal_server *server,
	struct span name, uint64_t version)
{
	uint64_t known = (uint64_t)(uintptr_t)map_get(&server->versions, name);

	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S13);
	if (version < known)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S13,
			"%s knew version %llu of %.*s, and now knows %llu", server->name,
			(unsigned long long)known, SPAN_ARGS(name), (unsigned long long)version);
	map_put(&server->versions, name, (void *)(uintptr_t)version);
}

/* NULL: there never was one. */
static const struct truth_instance *find_instance(struct rehearsal *rehearsal, struct span place,
	struct span id)
{
	struct span target, scope;
	char key[2 * REHEARSAL_TEXT_MAX];

	if (!span_split(place, ':', &target, &scope))
		return NULL;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(scope), SPAN_ARGS(id));
	return map_get(&daemon_checker_truth(rehearsal->checker)->instances, span_of(key));
}

static char is_known, is_gone; /* values of the map */

/* A listing that was answered as things were before finds what a later one has missed: nobody can tell which of the two
 * is the newer one. The next one can. */
static bool may_be_mistaken(const struct rehearsal *rehearsal, const char *id)
{
	int64_t since_us = runner_now_us(rehearsal->root) - MISTAKEN_US;

	for (size_t i = 0; i < REHEARSAL_STALE; i++)
		if (rehearsal->stale[i].text && rehearsal->stale[i].at_us > since_us &&
			strstr(rehearsal->stale[i].text, id))
			return true;
	return false;
}

/* What was seen to be gone, and is, does not come back. */
static void check_back(struct rehearsal *rehearsal, struct rehearsal_server *server,
	const struct map *found)
{
	MAP_EACH (found, entry) {
		const struct truth_instance *instance = entry->value;

		if (map_get(&server->instances, entry->key) == &is_gone && !instance->exists &&
			!may_be_mistaken(rehearsal, instance->id))
			daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S13,
				"%s knew that instance %s is gone, and knows it again",
				server->name, instance->id);
		map_put(&server->instances, entry->key, &is_known);
	}
	MAP_EACH (&server->instances, entry)
		if (!map_has(found, entry->key))
			entry->value = &is_gone;
}

static bool has_task(const struct truth_instance *instance, struct span arn)
{
	for (const struct truth_task *task = instance->tasks; task; task = task->beside)
		if (span_is(arn, task->arn))
			return true;
	return false;
}

/* The same of a task that has not stopped, as far as this server knows: seen before, and not when it looked last. */
static void check_task_back(struct rehearsal *rehearsal, struct rehearsal_server *server,
	const struct truth_instance *instance, struct span arn)
{
	uintptr_t seen = (uintptr_t)map_get(&server->tasks, arn);
	char name[REHEARSAL_TEXT_MAX];

	map_put(&server->tasks, arn, (void *)(uintptr_t)server->looks);
	if (seen == 0 || seen + 1 >= server->looks)
		return;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(arn));
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S13);
	if (!has_task(instance, arn) && !may_be_mistaken(rehearsal, strrchr(name, '/') + 1))
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S13,
			"%s knew that task %s has stopped, and knows it again", server->name, name);
}

static void check_versions(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct state_service *state = manager_state(server->manager);
	struct span *places, *ids;
	size_t place_count = state_list_places(state, arena, &places);
	_map_ struct map found = {0};

	server->looks++;
	for (size_t i = 0; i < place_count; i++) {
		size_t count = state_list_instances(state, places[i], arena, &ids);

		for (size_t j = 0; j < count; j++) {
			const struct state_instance *instance =
				state_get_instance(state, places[i], ids[j], arena);
			const struct truth_instance *real =
				find_instance(rehearsal, places[i], ids[j]);

			if (!instance)
				continue;
			check_version(rehearsal, server, ids[j], instance->version);
			if (real)
				map_put(&found, ids[j], (void *)real);
			for (size_t k = 0; k < instance->task_count; k++) {
				check_version(rehearsal, server, instance->tasks[k].arn,
					instance->tasks[k].version);
				if (real)
					check_task_back(rehearsal, server, real,
						instance->tasks[k].arn);
			}
		}
	}
	check_back(rehearsal, server, &found);
}

void rehearsal_look_at_servers(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	if (!server)
		return;
	for (size_t i = 0; i < rehearsal->environment_count; i++)
		check_counts(rehearsal, server, i);
	check_versions(rehearsal, server);
}
