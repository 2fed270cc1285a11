/*
 * ANALYSIS: takes samples of metrics, HTTP checks and commands at their intervals, and lets delivery/analysis decide. Each
 * sample is a job, and is stored with the stage, so an analysis continues after a restart with the samples that it has. A
 * failure ends the stage at once; one that also has pauseOnFailure waits for a user to skip it or to cancel the deployment.
 */
#include "base/memory.h"
#include "delivery/analysis/source.h"
#include "pipeline/script.h"
#include "pipeline/stage_run.h"

/* ---- checks ---- */

struct check_list {
	const struct analysis_check **items;
	size_t count;
};

static void add_checks(struct check_list *list, const struct field_list *checks)
{
	const struct analysis_check *items = checks->items;

	for (size_t i = 0; i < checks->count; i++)
		list->items[list->count++] = &items[i];
}

static struct check_list list_checks(const struct deployment_pass *pass,
	const struct stage_options *options)
{
	size_t most = options->metrics.count + options->https.count + options->commands.count;
	struct check_list list = {arena_allocate_array(pass->arena, most + 1, sizeof(void *)), 0};

	add_checks(&list, &options->metrics);
	add_checks(&list, &options->https);
	add_checks(&list, &options->commands);
	return list;
}

static bool is_metric(const struct analysis_check *check)
{
	return check->url.length == 0 && check->run.length == 0;
}

static bool is_own(const struct analysis_check *check)
{
	return is_metric(check) && span_is(check->provider, METRICS_PROVIDER_OWN);
}

static struct span check_text(const struct analysis_check *check)
{
	return check->url.length > 0   ? check->url
	       : check->run.length > 0 ? check->run
				       : check->query;
}

struct span stage_check_analysis(const struct deployment_pass *pass,
	const struct stage_options *options)
{
	const struct pipeline_settings *settings = pass->config->settings;
	struct check_list list = list_checks(pass, options);

	for (size_t i = 0; i < list.count; i++) {
		const struct analysis_check *check = list.items[i];

		if (check->run.length > 0 && !(settings && settings->allows_scripts))
			return SPAN("commands are off; pipelines.scripts of the server's "
				    "configuration allows them");
		if (is_own(check) && stage_check_metric(pass, check->query).length > 0)
			return stage_check_metric(pass, check->query);
		if (is_metric(check) && !is_own(check) &&
			!pipeline_find_provider(settings, check->provider))
			return arena_format(pass->arena,
				"metrics provider \"%.*s\" is not in the server's configuration",
				SPAN_ARGS(check->provider));
	}
	return SPAN("");
}

/* ---- queries ---- */

struct substitution {
	const struct deployment_pass *pass;
	const struct field_list *arguments; /* of the variant */
	struct span variant;
};

static struct span value_of(const struct substitution *substitution, struct span name)
{
	const struct field_pair *pairs = substitution->arguments->items;

	if (span_is(name, ".Variant.Name"))
		return substitution->variant;
	if (span_is(name, ".App.Name"))
		return application_facts(substitution->pass->application)->name;
	for (size_t i = 0; i < substitution->arguments->count; i++) {
		struct arena *arena = substitution->pass->arena;

		if (span_equal(name, arena_format(arena, ".VariantCustomArgs.%.*s",
					     SPAN_ARGS(pairs[i].name))) ||
			span_equal(name,
				arena_format(arena, ".VariantArgs.%.*s", SPAN_ARGS(pairs[i].name))))
			return pairs[i].value;
	}
	return SPAN_NONE;
}

/* Replaces "{{ .Variant.Name }}" and the like; what it does not know stays. */
static struct span expand(const struct substitution *substitution, struct span query)
{
	_buffer_ struct buffer out = {0};
	size_t at = 0;

	while (at < query.length) {
		const char *begin = memmem(query.data + at, query.length - at, "{{", 2), *end;
		struct span name, value;

		end = begin ? memmem(begin, (size_t)(query.data + query.length - begin), "}}", 2)
			    : NULL;
		if (!end)
			break;
		name = span_trim((struct span){begin + 2, (size_t)(end - begin - 2)});
		value = value_of(substitution, name);
		buffer_add(&out, query.data + at, (size_t)(begin - query.data) - at);
		if (value.data)
			buffer_add(&out, value.data, value.length);
		else
			buffer_add(&out, begin, (size_t)(end + 2 - begin));
		at = (size_t)(end + 2 - query.data);
	}
	buffer_add(&out, query.data + at, query.length - at);
	return arena_copy_span(substitution->pass->arena, buffer_span(&out));
}

/* ---- a sample as a job ---- */

struct sample_job {
	struct arena *arena;
	const struct engine_config *config;
	const struct metrics_provider *provider;
	struct span query, primary_query; /* primary_query "": none */
	struct http_check http;
	struct command_check command;
	const struct json *files;
	bool is_comparison;
	int64_t at_ms, timeout_ms;
};

static void free_sample(void *context)
{
	struct sample_job *job = context;

	arena_free(job->arena);
	free(job);
}

/* One number; several series are an error of the query. */
static int query_one(const struct sample_job *sample, struct job *job, struct span query,
	struct arena *arena, double *ret_value, bool *ret_found, struct err *err)
{
	const char *authorization = sample->provider->authorization;
	struct http_header header = {
		SPAN("authorization"), span_of(authorization ? authorization : "")};
	struct prometheus prometheus = {.url = sample->provider->url,
		.headers = &header,
		.header_count = authorization ? 1 : 0,
		.tls = {.authorities = span_of(sample->provider->authorities
						       ? sample->provider->authorities
						       : "")}};
	double *values;
	size_t count;
	int code = source_query_prometheus(sample->config->client, &prometheus, query,
		sample->at_ms, sample->timeout_ms, job->http_cancel, arena, &values, &count, err);

	if (code < 0)
		return code;
	if (count > 1)
		return err_set(err, -EINVAL, "the query gives %zu series; aggregate them to one",
			count);
	*ret_found = count == 1;
	if (count == 1)
		*ret_value = values[0];
	return 0;
}

static int take_metric(const struct sample_job *sample, struct job *job, struct arena *arena,
	struct analysis_sample *made, struct err *err)
{
	double value = 0, primary = 0;
	bool found = false, found_primary = true;
	int code = query_one(sample, job, sample->query, arena, &value, &found, err);

	if (code >= 0 && sample->is_comparison)
		code = query_one(sample, job, sample->primary_query, arena, &primary,
			&found_primary, err);
	if (code < 0)
		return code;
	*made = analysis_sample_of(sample->at_ms, value);
	made->primary = primary;
	if (!found || !found_primary)
		made->kind = ANALYSIS_NO_DATA;
	return 0;
}

static int take_http(const struct sample_job *sample, struct job *job, struct arena *arena,
	struct analysis_sample *made, struct span *ret_text, struct err *err)
{
	struct http_check check = sample->http;
	int code;

	check.cancel = job->http_cancel;
	code = source_check_http(sample->config->client, &check, arena, ret_text, err);
	made->value = ret_text->length == 0;
	return code;
}

static int take_command(const struct sample_job *sample, struct job *job, struct arena *arena,
	struct analysis_sample *made, struct span *ret_text, struct err *err)
{
	struct command_check check = sample->command;
	int code = script_make_folder(sample->files, arena, &check.folder, err);

	if (code < 0)
		return code;
	check.cancel = job->cancel;
	code = source_run_command(sample->config->children, &check, arena, &made->value, ret_text,
		err);
	script_remove_folder(check.folder);
	/* A command that fails is as bad as any value outside of the range. */
	if (code >= 0 && ret_text->length > 0) {
		made->value = 0;
		made->kind = check.has_value ? ANALYSIS_NO_DATA : ANALYSIS_VALUE;
	}
	return code;
}

/* The result: {"sample": […], "text"} */
static void take_sample(struct job *job)
{
	const struct sample_job *sample = job->context;
	_arena_ struct arena *arena = arena_new(0);
	struct analysis_sample made = {.at_ms = sample->at_ms};
	struct json *document = json_new_object(arena);
	struct span text = SPAN("");
	struct err err = {0};
	int code;

	if (sample->provider)
		code = take_metric(sample, job, arena, &made, &err);
	else if (sample->http.url)
		code = take_http(sample, job, arena, &made, &text, &err);
	else
		code = take_command(sample, job, arena, &made, &text, &err);
	if (code < 0) {
		made.kind = ANALYSIS_ERROR;
		text = span_of(err.message);
	}
	json_set(arena, document, "samples", analysis_write_samples(&made, 1, arena));
	json_set_string(arena, document, "text", text);
	json_write(document, &job->result);
}

static const struct job_kind sample_kind = {take_sample, free_sample};

static const char *own_text(struct arena *arena, struct span text)
{
	return text.length > 0 ? arena_copy(arena, text.data, text.length) : NULL;
}

static void set_headers(struct sample_job *job, const struct analysis_check *check)
{
	size_t count = json_array_count(check->headers), made = 0;
	struct http_header *headers = arena_allocate_array(job->arena, count + 1, sizeof(*headers));

	JSON_EACH_ITEM (check->headers, header) {
		struct span name = json_text(fields_find(header, "key")),
			    value = json_text(fields_find(header, "value"));

		if (name.data && value.data)
			headers[made++] = (struct http_header){arena_copy_span(job->arena, name),
				arena_copy_span(job->arena, value)};
	}
	job->http.headers = headers;
	job->http.header_count = made;
}

static int set_command(const struct deployment_pass *pass, const struct analysis_check *check,
	struct sample_job *job, struct err *err)
{
	struct json *files;
	int code = stage_copy_files(pass, job->arena, &files, err);

	job->files = files;
	job->command = (struct command_check){.script = own_text(job->arena, check->run),
		.environment = stage_environment(pass, false, &check->environment, job->arena),
		.timeout_ms = check->timeout_ms,
		.has_value = check->expected != NULL};
	return code;
}

static int begin_sample(struct deployment_pass *pass, const struct stage_record *stage,
	const struct analysis_check *check, size_t number, struct err *err)
{
	struct sample_job *job = memory_allocate(sizeof(*job));
	struct substitution canary = {pass, &check->canary_arguments, SPAN("canary")},
			    primary = {pass, &check->primary_arguments, SPAN("primary")};
	int code = 0;

	job->arena = arena_new(0);
	job->config = pass->config;
	job->at_ms = pass->now_ms;
	job->timeout_ms = check->timeout_ms;
	job->is_comparison = check->rule.strategy == ANALYSIS_CANARY_PRIMARY;
	if (is_metric(check)) {
		job->provider = pipeline_find_provider(pass->config->settings, check->provider);
		job->query = arena_copy_span(job->arena, expand(&canary, check->query));
		job->primary_query = arena_copy_span(job->arena, expand(&primary, check->query));
	} else if (check->url.length > 0) {
		job->http = (struct http_check){.method = own_text(job->arena, check->method),
			.url = own_text(job->arena, check->url),
			.expected_code = check->expected_code,
			.expected_response = arena_copy_span(job->arena,
				check->expected_response.data ? check->expected_response
							      : SPAN("")),
			.timeout_ms = check->timeout_ms};
		set_headers(job, check);
	} else {
		code = set_command(pass, check, job, err);
	}
	if (code < 0) {
		free_sample(job);
		return code;
	}
	/* A job of a provider that has left the configuration, or without a client, would fail each time. */
	if ((is_metric(check) && !job->provider) ||
		(check->run.length == 0 && !pass->config->client)) {
		free_sample(job);
		return err_set(err, -EIO, "there is no provider for analysis \"%.*s\"",
			SPAN_ARGS(check_text(check)));
	}
	return jobs_begin(pass->jobs, stage_job_key(pass, stage->id, number), &sample_kind, job,
		err);
}

/* ---- the stage ---- */

/* Stored of a check: {"name", "samples", "verdict", "reason", "counters"}. */
struct check_state {
	const struct analysis_check *check;
	size_t number;
	const struct json *counters; /* of its own metric, at its last sample; NULL */
	struct analysis_sample *samples;
	size_t sample_count;
	struct analysis_decision decision;
};

static int read_state(struct deployment_pass *pass, const struct stage_record *stage,
	struct check_state *state, struct err *err)
{
	const struct json *stored = json_item(json_get(stage->details, "checks"), state->number),
			  *samples = json_get(stored, "samples");

	state->counters = json_get(stored, "counters");
	return samples ? analysis_read_samples(samples, pass->arena, &state->samples,
				 &state->sample_count, err)
		       : 0;
}

static const struct json *write_states(const struct deployment_pass *pass,
	const struct check_state *states, size_t count)
{
	struct json *list = json_new_array(pass->arena);

	for (size_t i = 0; i < count; i++) {
		struct json *item = json_new_object(pass->arena);

		json_set_string(pass->arena, item, "name", check_text(states[i].check));
		json_set_string(pass->arena, item, "verdict",
			span_of(analysis_verdict_name(states[i].decision.verdict)));
		if (states[i].decision.reason.length > 0)
			json_set_string(pass->arena, item, "reason", states[i].decision.reason);
		json_set(pass->arena, item, "samples",
			analysis_write_samples(states[i].samples, states[i].sample_count,
				pass->arena));
		json_set(pass->arena, item, "counters", states[i].counters);
		json_append(pass->arena, list, item);
	}
	return list;
}

static void add_sample(struct deployment_pass *pass, struct stage_record *stage,
	struct check_state *state, const struct analysis_sample *sample, struct span text)
{
	struct analysis_sample *samples =
		arena_allocate_array(pass->arena, state->sample_count + 1, sizeof(*samples));
	struct span name = check_text(state->check);

	if (state->sample_count > 0)
		memcpy(samples, state->samples, state->sample_count * sizeof(*samples));
	samples[state->sample_count++] = *sample;
	state->samples = samples;
	pass->must_write = true;
	if (sample->kind == ANALYSIS_VALUE)
		pass_log(pass, stage->id, "%.*s: %g%s%.*s", SPAN_ARGS(name), sample->value,
			text.length > 0 ? ", " : "", SPAN_ARGS(text));
	else
		pass_log(pass, stage->id, "%.*s: %s%s%.*s", SPAN_ARGS(name),
			sample->kind == ANALYSIS_NO_DATA ? "no data" : "no answer",
			text.length > 0 ? ", " : "", SPAN_ARGS(text));
}

static int collect_sample(struct deployment_pass *pass, struct stage_record *stage,
	struct check_state *state, bool *ret_is_running, struct err *err)
{
	struct analysis_sample *taken;
	struct json *document;
	struct span result;
	size_t count;
	int code;

	switch (jobs_take(pass->jobs, stage_job_key(pass, stage->id, state->number), pass->arena,
		&result)) {
	case JOB_RUNNING: *ret_is_running = true; return 0;
	case JOB_NONE: return 0;
	case JOB_ENDED: break;
	}
	code = json_parse(result, pass->arena, &document, err);
	if (code >= 0)
		code = analysis_read_samples(json_get(document, "samples"), pass->arena, &taken,
			&count, err);
	if (code >= 0 && count == 1)
		add_sample(pass, stage, state, &taken[0], json_get_text(document, "text"));
	return code;
}

static void decide_check(struct deployment_pass *pass, const struct stage_record *stage,
	const struct stage_options *options, struct check_state *state)
{
	struct analysis_window window = {.begin_ms = stage->started_ms,
		.duration_ms = options->duration_ms,
		.interval_ms = state->check->interval_ms};

	analysis_decide(&state->check->rule, &window, state->samples, state->sample_count,
		pass->now_ms, pass->arena, &state->decision);
}

static int step_check(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct check_state *state, int64_t *wake_ms,
	struct err *err)
{
	bool is_running = false;
	int code = read_state(pass, stage, state, err);

	if (code >= 0)
		code = collect_sample(pass, stage, state, &is_running, err);
	if (code < 0)
		return code;
	decide_check(pass, stage, options, state);
	if (state->decision.verdict != ANALYSIS_RUNNING || is_running)
		return 0;
	if (is_own(state->check) && (state->decision.is_sample_due || !state->counters)) {
		bool is_begin = !state->counters;
		struct analysis_sample sample;

		code = stage_take_own_sample(pass, state->check, &state->counters, &sample, err);
		if (code < 0)
			return code;
		pass->must_write = true;
		if (is_begin)
			return 0;
		add_sample(pass, stage, state, &sample, SPAN(""));
		decide_check(pass, stage, options, state);
	} else if (state->decision.is_sample_due) {
		/* The end of the job wakes the controller. */
		return begin_sample(pass, stage, state->check, state->number, err);
	}
	if (state->decision.next_ms > 0 && (*wake_ms == 0 || state->decision.next_ms < *wake_ms))
		*wake_ms = state->decision.next_ms;
	return 0;
}

static void end_analysis(struct deployment_pass *pass, const struct stage_options *options,
	const struct check_state *states, size_t count, enum analysis_verdict verdict,
	struct stage_step *step)
{
	struct span reason = SPAN("");

	if (verdict == ANALYSIS_SUCCESS) {
		step->progress = STAGE_DONE;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct check_state *state = &states[i];

		if (state->decision.verdict == verdict && reason.length == 0)
			reason = arena_format(pass->arena, "%s%.*s: %.*s",
				verdict == ANALYSIS_INCONCLUSIVE ? "inconclusive: " : "",
				SPAN_ARGS(check_text(state->check)),
				SPAN_ARGS(state->decision.reason));
	}
	if (!options->pause_on_failure) {
		stage_fail(step, reason);
		return;
	}
	step->reason = arena_format(pass->arena,
		"paused, because the analysis failed: %.*s; skip the stage or cancel the "
		"deployment",
		SPAN_ARGS(reason));
}

int stage_run_analysis(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct check_list list = list_checks(pass, options);
	struct check_state *states =
		arena_allocate_array(pass->arena, list.count + 1, sizeof(*states));
	enum analysis_verdict verdict = ANALYSIS_SUCCESS;
	struct json *details = json_new_object(pass->arena);
	int64_t wake_ms = 0, held_ms;
	int code = 0;

	for (size_t i = 0; i < list.count && code >= 0; i++) {
		states[i] = (struct check_state){.check = list.items[i], .number = i};
		code = step_check(pass, stage, options, &states[i], &wake_ms, err);
		verdict = analysis_combine(verdict, states[i].decision.verdict);
	}
	if (code < 0)
		return code;
	if (pass->must_write) {
		json_set(pass->arena, details, "checks", write_states(pass, states, list.count));
		stage->details = details;
	}
	if (verdict != ANALYSIS_RUNNING)
		end_analysis(pass, options, states, list.count, verdict, ret_step);
	if (ret_step->progress != STAGE_GOES_ON)
		return 0;
	code = stage_wait(pass, stage, ret_step, err);
	held_ms = ret_step->wake_ms;
	if (wake_ms > 0 && wake_ms < held_ms)
		ret_step->wake_ms = wake_ms;
	return code;
}
