/* See canary_verbs.h. */
#include "cli/canary_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "cli/canary_ports.h"
#include "cli/cluster.h"
#include "release/canary.h"
#include "release/release_names.h"
#include "release/release_snapshot.h"

#define TIMEOUT_S 300
#define TIMEOUT_MAX_S 86400
#define POLL_US INT64_C(250000)
#define CONFLICTS_MAX 10
#define PAUSE_POLLS 20

struct canary_options {
	struct cluster_options cluster;
	const char *release, *values, *steps, *path, *drain, *replicas, *timeout, *output;
	bool wait, watch;
};

/* One run of a verb. */
struct canary_call {
	const struct command *command;
	struct canary_options options;
	struct positionals positionals; /* behind the verb */
	struct cluster cluster;
	struct object_id id;
	int64_t timeout_s;
};

/* ---- texts ---- */

static int not_found(const struct canary_call *call)
{
	return command_failed("canaryreleases.slipway.dev \"%.*s\" not found in namespace \"%.*s\"",
		SPAN_ARGS(call->id.name), SPAN_ARGS(call->id.namespace));
}

static void print_done(const struct canary_call *call, const char *done)
{
	printf("canaryrelease.slipway.dev/%.*s %s\n", SPAN_ARGS(call->id.name), done);
	fflush(stdout);
}

static struct span or_empty(struct span text)
{
	return text.data ? text : SPAN("");
}

/* ---- reading ---- */

static int read_canary(struct canary_call *call, struct arena *arena, struct json **ret_object,
	struct err *err)
{
	return object_get(&call->cluster.calls, &call->id, arena, ret_object, err);
}

static const struct json *find_condition(const struct json *object, const char *type)
{
	JSON_EACH_ITEM (json_path(object, "status.conditions"), condition)
		if (span_is(json_get_text(condition, "type"), type) &&
			span_is(json_get_text(condition, "status"), "True"))
			return condition;
	return NULL;
}

/* Every port's effective weight is its weight. */
static bool is_weighted(const struct json *object)
{
	JSON_EACH_ITEM (json_path(object, "status.traffic"), port) {
		const struct json *effective = json_get(port, "effectiveWeight");

		if (!effective || !json_equal(effective, json_get(port, "weight")))
			return false;
	}
	return true;
}

/* The weights in status are those of the spec once Available was reported for its generation: a plan is recorded before. */
static bool is_available(const struct json *object)
{
	const struct json *available = find_condition(object, "Available");

	return span_is(json_get_text(json_get(object, "status"), "step"), "C8") && available &&
	       json_get_integer(available, "observedGeneration", 0) ==
		       json_get_integer(json_get(object, "metadata"), "generation", 0) &&
	       is_weighted(object);
}

static bool is_adopted(const struct json *object)
{
	return span_is(json_get_text(json_get(object, "status"), "phase"), "Adopted");
}

static bool is_deprecated(const struct json *object)
{
	return span_is(json_get_text(json_get(object, "status"), "phase"), "Deprecated");
}

/* Waits until it is reached, has failed, or another end was reached. */
static int wait_for(struct canary_call *call, bool (*reached)(const struct json *object),
	const char *done)
{
	struct runner *runner = call->cluster.runner;
	int64_t deadline_us = runner_deadline_us(runner, call->timeout_s * 1000000);

	if (!call->options.wait)
		return EXIT_OK;
	for (;;) {
		_arena_ struct arena *arena = arena_new(0);
		const struct json *failure;
		struct json *object;
		struct err err;
		int code = read_canary(call, arena, &object, &err);

		if (code == -ENOENT)
			return not_found(call);
		if (code < 0)
			return command_failed("%s", err.message);
		if (reached(object)) {
			print_done(call, done);
			return EXIT_OK;
		}
		failure = find_condition(object, "Failure");
		if (failure &&
			json_get_integer(failure, "observedGeneration", 0) ==
				json_get_integer(json_get(object, "metadata"), "generation", 0))
			return command_failed("canaryrelease.slipway.dev/%.*s: %.*s: %.*s",
				SPAN_ARGS(call->id.name),
				SPAN_ARGS(or_empty(json_get_text(failure, "reason"))),
				SPAN_ARGS(or_empty(json_get_text(failure, "message"))));
		if (json_get_text(json_get(object, "status"), "phase").length > 0)
			return command_failed("canaryrelease.slipway.dev/%.*s is %.*s",
				SPAN_ARGS(call->id.name),
				SPAN_ARGS(json_get_text(json_get(object, "status"), "phase")));
		if (runner_now_us(runner) >= deadline_us)
			return command_failed("timed out: canaryrelease.slipway.dev/%.*s is at "
					      "step '%.*s'",
				SPAN_ARGS(call->id.name),
				SPAN_ARGS(or_empty(json_get_text(json_get(object, "status"),
					"step"))));
		runner_sleep_until(runner, runner_deadline_us(runner, POLL_US));
	}
}

/* ---- create ---- */

static int read_yaml(struct arena *arena, const char *file, struct json **ret_value,
	struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(file, RELEASE_OBJECT_MAX, &text, err);

	if (code == 0)
		code = yaml_parse_kubernetes(arena_copy_span(arena, buffer_span(&text)), 1, arena,
			ret_value, err);
	return code < 0 ? err_prefix(err, code, "%s", file) : 0;
}

static int read_steps(struct canary_call *call, struct json *spec, struct err *err)
{
	struct json *steps;
	int code;

	if (!call->options.steps)
		return 0;
	code = read_yaml(call->cluster.arena, call->options.steps, &steps, err);
	if (code < 0)
		return code;
	if (!json_is(steps, JSON_ARRAY))
		return err_set(err, -EINVAL, "%s: the steps are %s, not a list",
			call->options.steps, json_type_name(steps->type));
	json_set(call->cluster.arena, spec, "steps", steps);
	return 0;
}

static int read_values(struct canary_call *call, struct json *spec, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct json *values;
	int code;

	if (!call->options.values)
		return 0;
	code = read_yaml(arena, call->options.values, &values, err);
	if (code < 0)
		return code;
	if (!json_is(values, JSON_OBJECT))
		return err_set(err, -EINVAL, "%s: the values are %s, not an object",
			call->options.values, json_type_name(values->type));
	json_set_string(arena, spec, "config", json_to_text(values, arena));
	return 0;
}

/* The canary is made for the version that the Release has now. */
static int read_version(struct canary_call *call, struct json *spec, struct err *err)
{
	struct object_id id = {.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = span_of(call->options.release),
		.namespace = call->id.namespace};
	struct json *release;
	int64_t version;
	int code = object_get(&call->cluster.calls, &id, call->cluster.arena, &release, err);

	if (code == -ENOENT)
		return err_set(err, code,
			"releases.slipway.dev \"%s\" not found in namespace \"%.*s\"",
			call->options.release, SPAN_ARGS(id.namespace));
	if (code < 0)
		return code;
	version = json_get_integer(json_get(release, "status"), "version", 0);
	if (version == 0)
		return err_set(err, -ENOENT, "release.slipway.dev/%s has no version yet",
			call->options.release);
	json_set_string(call->cluster.arena, spec, "release", id.name);
	json_set_integer(call->cluster.arena, spec, "version", version);
	return 0;
}

static int set_number(struct arena *arena, struct json *object, const char *name, const char *text,
	uint64_t most, struct err *err)
{
	uint64_t number;

	if (!text)
		return 0;
	if (!span_to_unsigned(span_of(text), most, &number))
		return err_set(err, -EINVAL, "'%s' is not a number from 0 to %llu", text,
			(unsigned long long)most);
	json_set_integer(arena, object, name, (int64_t)number);
	return 0;
}

static int read_services(struct canary_call *call, const struct json **services, struct err *err)
{
	int code = 0;

	for (int i = 1; code == 0 && i < call->positionals.count; i++)
		code = canary_ports_set(call->cluster.arena, *services, call->positionals.items[i],
			services, err);
	return code;
}

static int make_spec(struct canary_call *call, struct json *spec, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct json *proxy = json_new_object(arena);
	const struct json *services = json_new_array(arena);
	int code = read_version(call, spec, err);

	if (code == 0)
		code = read_values(call, spec, err);
	if (code == 0)
		code = read_steps(call, spec, err);
	if (code == 0)
		code = read_services(call, &services, err);
	if (code == 0)
		code = set_number(arena, spec, "drainSeconds", call->options.drain, 86400, err);
	if (code == 0)
		code = set_number(arena, proxy, "replicas", call->options.replicas, 100, err);
	if (json_count(proxy) > 0)
		json_set(arena, spec, "proxy", proxy);
	if (call->options.path)
		json_set_string(arena, spec, "path", span_of(call->options.path));
	json_set(arena, spec, "services", services);
	return code;
}

static int create(struct canary_call *call)
{
	struct arena *arena = call->cluster.arena;
	struct json *object = json_new_object(arena), *metadata = json_new_object(arena),
		    *spec = json_new_object(arena), *answer;
	struct err err;
	int code;

	if (!call->options.release)
		return command_misused(call->command, "create needs --release");
	code = make_spec(call, spec, &err);
	if (code == 0) {
		json_set_string(arena, metadata, "name", call->id.name);
		json_set_string(arena, metadata, "namespace", call->id.namespace);
		json_set_string(arena, object, "apiVersion", call->id.api_version);
		json_set_string(arena, object, "kind", call->id.kind);
		json_set(arena, object, "metadata", metadata);
		json_set(arena, object, "spec", spec);
		code = object_create(&call->cluster.calls, object, SPAN_NONE, arena, &answer, &err);
	}
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, "created");
	return wait_for(call, is_available, "is available");
}

/* ---- set-weight ---- */

static int change_weights(struct canary_call *call, const struct json *object,
	const struct json **ret_services, struct err *err)
{
	struct arena *arena = call->cluster.arena;

	*ret_services = json_path(object, "spec.services");
	if (call->positionals.count == 2 && !strchr(call->positionals.items[1], '='))
		return canary_ports_set_all(arena, *ret_services, call->positionals.items[1],
			ret_services, err);
	return read_services(call, ret_services, err);
}

static bool has_steps(const struct json *object)
{
	return json_array_count(json_path(object, "spec.steps")) > 0;
}

/* The list of Services is written whole, so only as long as it is the one that was read. */
static int write_weights(struct canary_call *call, struct err *err)
{
	struct arena *arena = call->cluster.arena;
	struct json *object, *answer, *patch = json_new_object(arena),
				      *metadata = json_new_object(arena),
				      *spec = json_new_object(arena);
	const struct json *services;
	int code = read_canary(call, arena, &object, err);

	if (code == 0 && has_steps(object))
		return err_set(err, -EINVAL,
			"canaryrelease.slipway.dev/%.*s has steps, which set its weights",
			SPAN_ARGS(call->id.name));
	if (code == 0)
		code = change_weights(call, object, &services, err);
	if (code < 0)
		return code;
	json_set(arena, metadata, "resourceVersion", json_path(object, "metadata.resourceVersion"));
	json_set(arena, spec, "services", services);
	json_set(arena, patch, "metadata", metadata);
	json_set(arena, patch, "spec", spec);
	return object_merge(&call->cluster.calls, &call->id, NULL, patch, arena, &answer, err);
}

static int set_weight(struct canary_call *call)
{
	struct err err;
	int code = -EAGAIN;

	if (call->positionals.count < 2)
		return command_misused(call->command,
			"set-weight needs a weight, or SERVICE:PORT=WEIGHT");
	for (int i = 0; code == -EAGAIN && i < CONFLICTS_MAX; i++)
		code = write_weights(call, &err);
	if (code == -ENOENT)
		return not_found(call);
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, "weights set");
	return wait_for(call, is_available, "is available with these weights");
}

/* ---- adopt, deprecate ---- */

static int set_transition(struct canary_call *call, const char *transition, const char *done)
{
	struct arena *arena = call->cluster.arena;
	struct json *patch = json_new_object(arena), *spec = json_new_object(arena), *answer;
	struct err err;
	int code;

	json_set_string(arena, spec, "transition", span_of(transition));
	json_set(arena, patch, "spec", spec);
	code = object_merge(&call->cluster.calls, &call->id, NULL, patch, arena, &answer, &err);
	if (code == -ENOENT)
		return not_found(call);
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, done);
	return EXIT_OK;
}

static bool is_unseen_pause(const struct json *object)
{
	return json_is_true(json_path(object, "spec.paused")) &&
	       !json_is_true(json_path(object, "status.rollout.held"));
}

static int set_paused(struct canary_call *call, bool paused)
{
	struct arena *arena = call->cluster.arena;
	struct json *patch = json_new_object(arena), *spec = json_new_object(arena), *object;
	struct err err;
	int code = read_canary(call, arena, &object, &err);

	/* A pause that the controller has not seen would begin again. */
	for (int i = 0; code == 0 && !paused && is_unseen_pause(object) && i < PAUSE_POLLS; i++) {
		runner_sleep_until(call->cluster.runner,
			runner_deadline_us(call->cluster.runner, POLL_US));
		code = read_canary(call, arena, &object, &err);
	}
	if (code == -ENOENT)
		return not_found(call);
	if (code == 0 && !has_steps(object))
		return command_failed("canaryrelease.slipway.dev/%.*s has no steps",
			SPAN_ARGS(call->id.name));
	json_set(arena, spec, "paused", json_new_bool(arena, paused));
	json_set(arena, patch, "spec", spec);
	if (code == 0)
		code = object_merge(&call->cluster.calls, &call->id, NULL, patch, arena, &object,
			&err);
	if (code < 0)
		return command_failed("%s", err.message);
	print_done(call, paused ? "paused" : "resumed");
	return EXIT_OK;
}

static int pause_steps(struct canary_call *call)
{
	return set_paused(call, true);
}

static int resume_steps(struct canary_call *call)
{
	return set_paused(call, false);
}

static int adopt(struct canary_call *call)
{
	int code = set_transition(call, "Adopted", "adopting");

	return code ? code : wait_for(call, is_adopted, "adopted");
}

static int deprecate(struct canary_call *call)
{
	int code = set_transition(call, "Deprecated", "deprecating");

	return code ? code : wait_for(call, is_deprecated, "deprecated");
}

/* ---- status ---- */

static void add_weight(struct buffer *out, const struct json *weight)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text =
		weight ? arena_format(arena, "%.*s%%", SPAN_ARGS(weight->text)) : SPAN("-");

	buffer_format(out, " %-10.*s", SPAN_ARGS(text));
}

static void add_side(struct buffer *out, const struct json *side)
{
	_arena_ struct arena *arena = arena_new(0);
	int64_t carried =
		json_get_integer(side, "connections", 0) + json_get_integer(side, "requests", 0);
	struct span text = arena_format(arena, "%lld ready, %lld, %lld errors",
		(long long)json_get_integer(side, "ready", 0), (long long)carried,
		(long long)json_get_integer(side, "errors", 0));

	buffer_format(out, " %-28.*s", SPAN_ARGS(text));
}

static void describe(const struct canary_call *call, const struct json *object, struct buffer *out)
{
	const struct json *spec = json_get(object, "spec"), *status = json_get(object, "status");
	struct span phase = or_empty(json_get_text(status, "phase"));
	struct span step = or_empty(json_get_text(status, "step"));

	buffer_format(out, "CanaryRelease %.*s in namespace %.*s: of Release %.*s, version %lld\n",
		SPAN_ARGS(call->id.name), SPAN_ARGS(call->id.namespace),
		SPAN_ARGS(or_empty(json_get_text(spec, "release"))),
		(long long)json_get_integer(spec, "version", 0));
	buffer_format(out, "Phase: %.*s, step %.*s\n",
		SPAN_ARGS(phase.length ? phase : SPAN("active")),
		SPAN_ARGS(step.length ? step : SPAN("-")));
	buffer_format(out, "\n%-24s %-10s %-10s %-28s %s\n", "PORT", "WEIGHT", "EFFECTIVE",
		"STABLE", "CANARY");
	JSON_EACH_ITEM (json_get(status, "traffic"), port) {
		_arena_ struct arena *arena = arena_new(0);
		struct span name = arena_format(arena, "%.*s:%lld/%.*s",
			SPAN_ARGS(or_empty(json_get_text(port, "service"))),
			(long long)json_get_integer(port, "port", 0),
			SPAN_ARGS(or_empty(json_get_text(port, "transport"))));

		buffer_format(out, "%-24.*s", SPAN_ARGS(name));
		add_weight(out, json_get(port, "weight"));
		add_weight(out, json_get(port, "effectiveWeight"));
		add_side(out, json_get(port, "stable"));
		add_side(out, json_get(port, "canary"));
		buffer_add_char(out, '\n');
	}
	buffer_format(out, "\n%-12s %-8s %-20s %s\n", "CONDITION", "STATUS", "REASON", "MESSAGE");
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		buffer_format(out, "%-12.*s %-8.*s %-20.*s %.*s\n",
			SPAN_ARGS(or_empty(json_get_text(condition, "type"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "status"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "reason"))),
			SPAN_ARGS(or_empty(json_get_text(condition, "message"))));
}

static void describe_json(struct arena *arena, const struct json *object, struct buffer *out)
{
	const struct json *status = json_get(object, "status");
	struct json *kept = json_is(status, JSON_OBJECT) ? json_copy_object(arena, status)
							 : json_new_object(arena);

	json_unset(kept, "manifest");
	json_write_pretty(kept, out);
	buffer_add_char(out, '\n');
}

/* With --watch whenever something changed, until the CanaryRelease has ended. */
static int status(struct canary_call *call)
{
	struct runner *runner = call->cluster.runner;
	_buffer_ struct buffer printed = {0};

	for (;;) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer text = {0};
		struct json *object;
		struct err err;
		int code = read_canary(call, arena, &object, &err);

		if (code == -ENOENT)
			return not_found(call);
		if (code < 0)
			return command_failed("%s", err.message);
		if (call->options.output)
			describe_json(arena, object, &text);
		else
			describe(call, object, &text);
		if (!span_equal(buffer_span(&text), buffer_span(&printed))) {
			printf("%s%s", printed.length ? "\n" : "", text.data);
			fflush(stdout);
			buffer_reset(&printed);
			buffer_add_span(&printed, buffer_span(&text));
		}
		if (!call->options.watch ||
			span_is(json_get_text(json_get(object, "status"), "step"), "Done"))
			return EXIT_OK;
		runner_sleep_until(runner, runner_deadline_us(runner, POLL_US));
	}
}

/* ---- the verbs ---- */

static const struct verb {
	const char *name;
	int positionals; /* at most */
	int (*run)(struct canary_call *call);
} verbs[] = {
	{"create", 16, create},
	{"set-weight", 16, set_weight},
	{"pause", 1, pause_steps},
	{"resume", 1, resume_steps},
	{"adopt", 1, adopt},
	{"deprecate", 1, deprecate},
	{"status", 1, status},
};

static int run_verb(const struct verb *verb, struct canary_call *call)
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
		return command_misused(call->command, "%s needs the name of a CanaryRelease",
			verb->name);
	if (call->positionals.count > verb->positionals)
		return command_misused(call->command, "too many arguments");
	if (cluster_open(&call->options.cluster, &call->cluster, &err) < 0)
		return command_failed("%s", err.message);
	call->timeout_s = (int64_t)timeout_s;
	call->id = (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("CanaryRelease"),
		.name = span_of(call->positionals.items[0]),
		.namespace = call->cluster.namespace};
	code = verb->run(call);
	cluster_close(&call->cluster);
	return code;
}

bool canary_verb_run(const struct command *command, int count, char **arguments, int *ret_code)
{
	struct canary_call call = {.command = command};
	struct canary_options *options = &call.options;
	const struct option_row rows[] = {
		CLUSTER_OPTION_ROWS(options->cluster),
		{"release", &options->release, NULL},
		{"values", &options->values, NULL},
		{"steps", &options->steps, NULL},
		{"path", &options->path, NULL},
		{"drain-seconds", &options->drain, NULL},
		{"proxy-replicas", &options->replicas, NULL},
		{"timeout", &options->timeout, NULL},
		{"o", &options->output, NULL},
		{"wait", NULL, &options->wait},
		{"watch", NULL, &options->watch},
	};

	for (size_t i = 0; i < LENGTH(verbs); i++) {
		if (strcmp(arguments[0], verbs[i].name) != 0)
			continue;
		*ret_code = command_read_options(command, count - 1, arguments + 1, rows,
			LENGTH(rows), &call.positionals);
		if (*ret_code == 0)
			*ret_code = run_verb(&verbs[i], &call);
		return true;
	}
	return false;
}
