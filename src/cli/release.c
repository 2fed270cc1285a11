/* slipway release: Releases of a Kubernetes cluster. The controller in 'slipway up --releases' does the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/span.h"
#include "base/yaml.h"
#include "chart/archive.h"
#include "cli/cluster.h"
#include "cli/command.h"
#include "kube/object.h"
#include "release/release_names.h"
#include "release/release_snapshot.h"

#define TIMEOUT_S 300
#define TIMEOUT_MAX_S 86400
#define WATCH_AGAIN_US INT64_C(250000)

struct release_options {
	struct cluster_options cluster;
	const char *manifests, *chart, *values, *description, *history_limit, *timeout, *output;
	bool suspend, resume, wait;
};

/* One run of a verb. */
struct release_call {
	const struct command *command;
	struct release_options options;
	struct positionals positionals; /* behind the verb */
	struct cluster cluster;
	struct object_id id;
	bool as_json;
	int64_t timeout_s;
};

/* ---- texts ---- */

static int not_found(const struct release_call *call)
{
	return command_failed("releases.slipway.dev \"%.*s\" not found in namespace \"%.*s\"",
		SPAN_ARGS(call->id.name), SPAN_ARGS(call->id.namespace));
}

static int print_json(const struct json *value)
{
	_buffer_ struct buffer out = {0};

	json_write_pretty(value, &out);
	puts(out.data);
	return EXIT_OK;
}

static struct span or_empty(struct span text)
{
	return text.data ? text : SPAN("");
}

/* Prints "release.slipway.dev/web configured". */
static void print_done(const struct release_call *call, const char *done)
{
	printf("release.slipway.dev/%.*s %s\n", SPAN_ARGS(call->id.name), done);
}

/* ---- reading ---- */

static int read_release(struct release_call *call, struct json **ret_object, struct err *err)
{
	return object_get(&call->cluster.calls, &call->id, call->cluster.arena, ret_object, err);
}

static const struct json *find_condition(const struct json *object, const char *type)
{
	JSON_EACH_ITEM (json_get(json_get(object, "status"), "conditions"), condition)
		if (span_is(json_get_text(condition, "type"), type))
			return condition;
	return NULL;
}

static bool is_condition(const struct json *object, const char *type)
{
	return span_is(json_get_text(find_condition(object, type), "status"), "True");
}

static bool is_observed(const struct json *object)
{
	return json_get_integer(json_get(object, "status"), "observedGeneration", 0) >=
		       json_get_integer(json_get(object, "metadata"), "generation", 0) &&
	       !json_get(json_get(object, "spec"), "rollbackTo");
}

/* Waits until the controller has done what the spec says. */
static int wait_for_release(struct release_call *call)
{
	int64_t deadline_us = runner_deadline_us(call->cluster.runner, call->timeout_s * 1000000);
	struct json *object = NULL;
	struct err err;

	for (;;) {
		const struct json *failure;
		int code = read_release(call, &object, &err);

		if (code < 0)
			return command_failed("%s", err.message);
		failure = find_condition(object, "Failure");
		if (is_observed(object) && is_condition(object, "Failure"))
			return command_failed("release.slipway.dev/%.*s: %.*s: %.*s",
				SPAN_ARGS(call->id.name),
				SPAN_ARGS(or_empty(json_get_text(failure, "reason"))),
				SPAN_ARGS(or_empty(json_get_text(failure, "message"))));
		if (is_observed(object) && is_condition(object, "Available")) {
			print_done(call, "is available");
			return EXIT_OK;
		}
		if (runner_now_us(call->cluster.runner) >= deadline_us)
			return command_failed("timed out: release.slipway.dev/%.*s is not "
					      "available: %.*s",
				SPAN_ARGS(call->id.name),
				SPAN_ARGS(or_empty(json_get_text(find_condition(object,
									 "Available"),
					"message"))));
		runner_sleep_until(call->cluster.runner,
			runner_deadline_us(call->cluster.runner, WATCH_AGAIN_US));
	}
}

/* ---- apply ---- */

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A chart's folder as an archive. The same files give the same text, so that nothing changes where nothing differs. */
static int package_chart(struct release_call *call, const char *path, struct buffer *out,
	struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct chart_file_list files;
	struct json *metadata = NULL;
	struct span name;
	int code = archive_load(path, arena, &files, err);

	for (size_t i = 0; code == 0 && i < files.count; i++)
		if (span_is(files.files[i].path, "Chart.yaml"))
			code = yaml_parse_kubernetes(files.files[i].data, 1, arena, &metadata, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	name = json_get_text(metadata, "name");
	if (name.length == 0)
		return err_set(err, -EINVAL, "%s has no Chart.yaml with a name", path);
	return archive_write_tgz(&files, name, out, err);
}

static int read_template(struct release_call *call, struct span *ret_template, struct err *err)
{
	const char *path = call->options.chart ? call->options.chart : call->options.manifests;
	_buffer_ struct buffer text = {0}, encoded = {0};
	int code = call->options.chart && is_folder(path)
			   ? package_chart(call, path, &text, err)
			   : file_read(path, RELEASE_OBJECT_MAX, &text, err);

	if (code < 0)
		return code;
	if (!call->options.chart) {
		*ret_template = arena_copy_span(call->cluster.arena, buffer_span(&text));
		return 0;
	}
	if (text.length < 2 || (unsigned char)text.data[0] != 0x1f ||
		(unsigned char)text.data[1] != 0x8b)
		return err_set(err, -EINVAL,
			"%s is neither the folder of a chart nor a packaged one (.tgz)", path);
	base64_encode(buffer_span(&text), &encoded);
	*ret_template = arena_copy_span(call->cluster.arena, buffer_span(&encoded));
	return 0;
}

static int read_values(struct release_call *call, struct span *ret_config, struct err *err)
{
	_buffer_ struct buffer text = {0};
	struct json *values;
	int code = file_read(call->options.values, RELEASE_OBJECT_MAX, &text, err);

	if (code == 0)
		code = yaml_parse_kubernetes(buffer_span(&text), 1, call->cluster.arena, &values,
			err);
	if (code < 0)
		return err_prefix(err, code, "%s", call->options.values);
	if (json_is_absent(values))
		values = json_new_object(call->cluster.arena);
	if (!json_is(values, JSON_OBJECT))
		return err_set(err, -EINVAL, "%s: the values are %s, not an object",
			call->options.values, json_type_name(values->type));
	*ret_config = json_to_text(values, call->cluster.arena);
	return 0;
}

static int read_spec(struct release_call *call, struct json *spec, struct err *err)
{
	const struct release_options *options = &call->options;
	struct arena *arena = call->cluster.arena;
	uint64_t limit;
	struct span text = SPAN_NONE;
	int code = 0;

	if (options->chart || options->manifests)
		code = read_template(call, &text, err);
	if (text.data)
		json_set_string(arena, spec, "template", text);
	text = SPAN_NONE;
	if (code == 0 && options->values)
		code = read_values(call, &text, err);
	if (text.data)
		json_set_string(arena, spec, "config", text);
	if (options->description)
		json_set_string(arena, spec, "description", span_of(options->description));
	if (options->suspend || options->resume)
		json_set_bool(arena, spec, "suspend", options->suspend);
	if (code == 0 && options->history_limit) {
		if (!span_to_unsigned(span_of(options->history_limit), 1000, &limit) || limit == 0)
			return err_set(err, -EINVAL,
				"--history-limit is '%s', not a number from 1 to 1000",
				options->history_limit);
		json_set_integer(arena, spec, "historyLimit", (int64_t)limit);
	}
	return code;
}

static int create_release(struct release_call *call, const struct json *spec, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct json *object = json_new_object(arena), *metadata = json_new_object(arena), *answer;

	if (!json_get(spec, "template"))
		return err_set(err, -ENOENT,
			"releases.slipway.dev \"%.*s\" not found; a new one needs --manifests or "
			"--chart",
			SPAN_ARGS(call->id.name));
	json_set_string(arena, metadata, "name", call->id.name);
	json_set_string(arena, metadata, "namespace", call->id.namespace);
	json_set_string(arena, object, "apiVersion", call->id.api_version);
	json_set_string(arena, object, "kind", call->id.kind);
	json_set(arena, object, "metadata", metadata);
	json_set(arena, object, "spec", spec);
	return object_create(&call->cluster.calls, object, SPAN_NONE, arena, &answer, err);
}

/* Merges into the spec; *ret_changed: it was different. */
static int change_release(struct release_call *call, const struct json *found,
	const struct json *spec, bool *ret_changed, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct json *patch = json_new_object(arena), *answer;
	int64_t before = json_get_integer(json_get(found, "metadata"), "generation", 0);
	int code;

	json_set(arena, patch, "spec", spec);
	code = object_merge(&call->cluster.calls, &call->id, NULL, patch, arena, &answer, err);
	if (code == 0)
		*ret_changed =
			json_get_integer(json_get(answer, "metadata"), "generation", 0) != before;
	return code;
}

static int apply(struct release_call *call)
{
	struct json *found = NULL, *spec = json_new_object(call->cluster.arena);
	const char *done = "created";
	bool changed = false;
	struct err err;
	int code;

	if (call->options.chart && call->options.manifests)
		return command_misused(call->command, "--chart and --manifests exclude each other");
	if (call->options.suspend && call->options.resume)
		return command_misused(call->command, "--suspend and --resume exclude each other");
	code = read_spec(call, spec, &err);
	if (code == 0)
		code = read_release(call, &found, &err);
	if (code == -ENOENT && !found) {
		code = create_release(call, spec, &err);
	} else if (code == 0) {
		code = change_release(call, found, spec, &changed, &err);
		done = changed ? "configured" : "unchanged";
	}
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, done);
	return call->options.wait ? wait_for_release(call) : EXIT_OK;
}

/* ---- rollback ---- */

static int rollback(struct release_call *call)
{
	struct arena *arena = call->cluster.arena;
	struct json *spec = json_new_object(arena), *to = json_new_object(arena), *found = NULL;
	uint64_t version = 0;
	bool changed;
	struct err err;
	int code;

	if (call->positionals.count > 1 &&
		!span_to_unsigned(span_of(call->positionals.items[1]), INT64_MAX, &version))
		return command_misused(call->command, "'%s' is not a version",
			call->positionals.items[1]);
	json_set_integer(arena, to, "version", (int64_t)version);
	json_set(arena, spec, "rollbackTo", to);
	code = read_release(call, &found, &err);
	if (code == -ENOENT)
		return not_found(call);
	if (code == 0)
		code = change_release(call, found, spec, &changed, &err);
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, "rolled back");
	return call->options.wait ? wait_for_release(call) : EXIT_OK;
}

/* ---- history ---- */

static int list_histories(struct release_call *call, struct json **ret_items, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct kube_target target = {&release_history_kind, call->id.namespace, SPAN_NONE, NULL};
	struct kube_selection selection = {
		.labels =
			arena_format(arena, RELEASE_LABEL "=%.*s", SPAN_ARGS(call->id.name)).data};

	return kube_list(call->cluster.client, &target, &selection, NULL, arena, ret_items, NULL,
		err);
}

static int compare_items(const void *a, const void *b)
{
	const struct json *const *first = a, *const *second = b;
	int64_t one = json_get_integer(json_get(*first, "spec"), "version", 0);
	int64_t other = json_get_integer(json_get(*second, "spec"), "version", 0);

	return one < other ? -1 : one > other;
}

/* Without templates and manifests, which fill the screen. */
static const struct json *describe_version(struct arena *arena, const struct json *history,
	int64_t current)
{
	const struct json *metadata = json_get(history, "metadata"),
			  *spec = json_get(history, "spec");
	struct json *version = json_new_object(arena);
	int64_t number = json_get_integer(spec, "version", 0);

	json_set_integer(arena, version, "version", number);
	json_set_bool(arena, version, "current", number == current);
	json_set(arena, version, "createdAt", json_get(metadata, "creationTimestamp"));
	json_set_string(arena, version, "description",
		or_empty(json_get_text(spec, "description")));
	return version;
}

static int history(struct release_call *call)
{
	struct arena *arena = call->cluster.arena;
	struct json *object = NULL, *items = NULL, *versions = json_new_array(arena);
	const struct json **sorted;
	int64_t current, now_ms = clock_wall_ms(clock_system());
	size_t count = 0;
	struct err err;
	int code = read_release(call, &object, &err);

	if (code == -ENOENT)
		return not_found(call);
	if (code == 0)
		code = list_histories(call, &items, &err);
	if (code < 0)
		return command_failed("%s", err.message);
	current = json_get_integer(json_get(object, "status"), "version", 0);
	sorted = arena_allocate_array(arena, json_array_count(items) + 1, sizeof(struct json *));
	JSON_EACH_ITEM (items, item)
		if (release_is_owned_by(item, json_get_text(json_get(object, "metadata"), "uid"),
			    NULL))
			sorted[count++] = item;
	qsort(sorted, count, sizeof(*sorted), compare_items);
	for (size_t i = 0; i < count; i++)
		json_append(arena, versions, describe_version(arena, sorted[i], current));
	if (call->as_json)
		return print_json(versions);
	printf("%-8s %-8s %-8s %s\n", "VERSION", "CURRENT", "AGE", "DESCRIPTION");
	JSON_EACH_ITEM (versions, version)
		printf("%-8lld %-8s %-8.*s %.*s\n",
			(long long)json_get_integer(version, "version", 0),
			json_get_bool(version, "current", false) ? "*" : "",
			SPAN_ARGS(cluster_age(arena, json_get_text(version, "createdAt"), now_ms)),
			SPAN_ARGS(json_get_text(version, "description")));
	return EXIT_OK;
}

/* ---- status ---- */

static void print_conditions(const struct json *status)
{
	printf("\n%-12s %-8s %-20s %s\n", "CONDITION", "STATUS", "REASON", "MESSAGE");
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		printf("%-12.*s %-8.*s %-20.*s %.*s\n",
			SPAN_ARGS(or_empty(json_get_text(condition, "type"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "status"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "reason"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "message"))));
}

static void print_details(const struct json *status)
{
	const struct json *details = json_get(status, "details");

	printf("\n%-20s %-40s %-12s %s\n", "PATH", "KIND", "PHASE", "OBJECTS");
	for (size_t i = 0; i < json_count(details); i++) {
		const struct json_member *detail = &details->object.members[i];
		const struct json *resources = json_get(detail->value, "resources");

		for (size_t j = 0; j < json_count(resources); j++) {
			const struct json_member *kind = &resources->object.members[j];

			for (size_t k = 0; k < json_count(kind->value); k++) {
				const struct json_member *phase = &kind->value->object.members[k];

				printf("%-20.*s %-40.*s %-12.*s %lld\n", SPAN_ARGS(detail->name),
					SPAN_ARGS(kind->name), SPAN_ARGS(phase->name),
					(long long)json_get_integer(kind->value, phase->name.data,
						0));
			}
		}
	}
}

static int status(struct release_call *call)
{
	struct json *object = NULL, *short_status;
	const struct json *of, *pods;
	struct err err;
	int code = read_release(call, &object, &err);

	if (code == -ENOENT)
		return not_found(call);
	if (code < 0)
		return command_failed("%s", err.message);
	of = json_get(object, "status");
	if (call->as_json) {
		short_status = json_is(of, JSON_OBJECT) ? json_copy_object(call->cluster.arena, of)
							: json_new_object(call->cluster.arena);
		json_unset(short_status, "manifest");
		return print_json(short_status);
	}
	pods = json_get(of, "podStatistics");
	printf("Release %.*s in namespace %.*s: version %lld%s\n"
	       "Pods: %lld ready, %lld of the current templates, %lld of earlier ones\n",
		SPAN_ARGS(call->id.name), SPAN_ARGS(call->id.namespace),
		(long long)json_get_integer(of, "version", 0),
		is_observed(object) ? "" : " (a change was not observed yet)",
		(long long)json_get_integer(pods, "readyPods", 0),
		(long long)json_get_integer(pods, "updatedPods", 0),
		(long long)json_get_integer(pods, "oldPods", 0));
	print_conditions(of);
	print_details(of);
	return EXIT_OK;
}

/* ---- delete ---- */

static int delete_release(struct release_call *call)
{
	struct kube_target target;
	struct err err;
	int code = object_target(&call->cluster.calls, &call->id, &target, &err);

	if (code == 0)
		code = kube_delete(call->cluster.client, &target, NULL, NULL, &err);
	if (code == -ENOENT)
		return not_found(call);
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, "deleted");
	return EXIT_OK;
}

/* ---- the command ---- */

static const struct verb {
	const char *name;
	int positionals; /* at most */
	int (*run)(struct release_call *call);
} verbs[] = {
	{"apply", 1, apply},
	{"history", 1, history},
	{"rollback", 2, rollback},
	{"status", 1, status},
	{"delete", 1, delete_release},
};

static int run_verb(const struct verb *verb, struct release_call *call)
{
	uint64_t timeout_s = TIMEOUT_S;
	struct err err;
	int code;

	if (call->options.output && strcmp(call->options.output, "json") != 0)
		return command_misused(call->command, "-o is '%s', not json", call->options.output);
	if (call->options.timeout &&
		!span_to_unsigned(span_of(call->options.timeout), TIMEOUT_MAX_S, &timeout_s))
		return command_misused(call->command, "--timeout is '%s', not a number of seconds",
			call->options.timeout);
	if (call->positionals.count == 0)
		return command_misused(call->command, "%s needs the name of a Release", verb->name);
	if (call->positionals.count > verb->positionals)
		return command_misused(call->command, "too many arguments");
	if (cluster_open(&call->options.cluster, &call->cluster, &err) < 0)
		return command_failed("%s", err.message);
	call->as_json = call->options.output;
	call->timeout_s = (int64_t)timeout_s;
	call->id = (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = span_of(call->positionals.items[0]),
		.namespace = call->cluster.namespace};
	code = verb->run(call);
	cluster_close(&call->cluster);
	return code;
}

int release_run(const struct command *command, int count, char **arguments)
{
	struct release_call call = {.command = command};
	struct release_options *options = &call.options;
	const struct option_row rows[] = {
		CLUSTER_OPTION_ROWS(options->cluster),
		{"manifests", &options->manifests, NULL},
		{"chart", &options->chart, NULL},
		{"values", &options->values, NULL},
		{"description", &options->description, NULL},
		{"history-limit", &options->history_limit, NULL},
		{"timeout", &options->timeout, NULL},
		{"o", &options->output, NULL},
		{"suspend", NULL, &options->suspend},
		{"resume", NULL, &options->resume},
		{"wait", NULL, &options->wait},
	};

	if (count == 0)
		return command_misused(command, "needs a verb");
	if (command_read_options(command, count - 1, arguments + 1, rows, LENGTH(rows),
		    &call.positionals) != 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < LENGTH(verbs); i++)
		if (strcmp(arguments[0], verbs[i].name) == 0)
			return run_verb(&verbs[i], &call);
	return command_misused(command, "unknown verb '%s'", arguments[0]);
}
