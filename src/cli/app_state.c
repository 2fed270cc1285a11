/* The live state of an application as a tree: service, sets of tasks, tasks. See app.h. */
#include <stdio.h>

#include "cli/app.h"
#include "cli/env.h"

static double number_of(const struct json *object, const char *name)
{
	double value = 0;

	json_double(json_get(object, name), &value);
	return value;
}

static void print_task(const struct json *task)
{
	const struct json *registered = json_get(task, "registered");
	struct span health = app_text(task, "health"), weight = app_text(task, "weight"),
		    target = app_text(task, "target");

	printf("      %-34.*s %-14.*s", SPAN_ARGS(app_text(task, "taskId")),
		SPAN_ARGS(app_text(task, "status")));
	if (!span_is(health, "UNKNOWN"))
		printf(" %.*s", SPAN_ARGS(health));
	if (registered)
		printf(" %s",
			json_get_bool(task, "registered", false) ? "registered" : "not registered");
	if (weight.length > 0)
		printf(" with weight %.*s", SPAN_ARGS(weight));
	if (target.length > 0)
		printf(" target %.*s", SPAN_ARGS(target));
	puts("");
}

static void print_set(const struct json *set)
{
	struct span commit = app_text(set, "commit");

	printf("    %-8.*s %.*s  %.*s  scale %g%%", SPAN_ARGS(app_text(set, "role")),
		SPAN_ARGS(app_text(set, "id")), SPAN_ARGS(app_text(set, "taskDefinition")),
		number_of(set, "scale"));
	if (json_get(set, "traffic"))
		printf("  traffic %g%%", number_of(set, "traffic"));
	if (json_get(set, "deployment"))
		printf("  deployment %lld", env_number(set, "deployment"));
	if (commit.length > 0)
		printf("  commit %.12s", commit.data);
	if (span_is(app_text(set, "status"), "DRAINING"))
		printf("  draining");
	puts("");
	JSON_EACH_ITEM (json_get(set, "tasks"), task)
		print_task(task);
}

static void print_difference(const struct json *difference)
{
	const struct json *expected = json_get(difference, "expected"),
			  *found = json_get(difference, "found");
	struct span path = app_text(difference, "path");

	if (expected && found)
		printf("  ~ %.*s: expected %.*s, found %.*s\n", SPAN_ARGS(path),
			SPAN_ARGS(json_text(expected)), SPAN_ARGS(json_text(found)));
	else if (expected)
		printf("  - %.*s: expected %.*s, found nothing\n", SPAN_ARGS(path),
			SPAN_ARGS(json_text(expected)));
	else
		printf("  + %.*s: expected nothing, found %.*s\n", SPAN_ARGS(path),
			found ? (int)json_text(found).length : 0,
			found ? json_text(found).data : "");
}

void app_print_state(const struct app *app, const struct json *state)
{
	const struct json *service = json_get(state, "service"),
			  *differences = json_get(state, "differences");
	struct span health = app_text(state, "health"), commit = app_text(state, "commit"),
		    error = app_text(state, "error");

	printf("%s: %.*s%s%.*s", app->name, SPAN_ARGS(app_text(state, "sync")),
		health.length > 0 ? ", " : "", SPAN_ARGS(health));
	if (commit.length > 0)
		printf(", commit %.*s", SPAN_ARGS(commit));
	puts("");
	if (error.length > 0)
		printf("The state could not be read: %.*s\n", SPAN_ARGS(error));
	if (service)
		printf("  service %.*s in cluster %.*s: %.*s, %lld of %lld tasks run\n",
			SPAN_ARGS(app_text(service, "name")),
			SPAN_ARGS(app_text(service, "cluster")),
			SPAN_ARGS(app_text(service, "status")), env_number(service, "running"),
			env_number(service, "desired"));
	JSON_EACH_ITEM (json_get(service, "taskSets"), set)
		print_set(set);
	if (json_array_count(differences) > 0)
		puts("Differences from the last deployment that succeeded:");
	JSON_EACH_ITEM (differences, difference)
		print_difference(difference);
}
