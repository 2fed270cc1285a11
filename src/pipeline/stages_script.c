/*
 * Stages that run a command of the application: SCRIPT_RUN, and the commands onRollback. That a command has started is
 * stored before it starts, so after a restart the engine knows that it was interrupted; it is run again only if the stage
 * says so.
 */
#include "base/memory.h"
#include "pipeline/script.h"
#include "pipeline/stage_run.h"

#define STARTED "startedAt"

/* ---- jobs of stages ---- */

struct span stage_job_key(const struct deployment_pass *pass, struct span stage, size_t number)
{
	return arena_format(pass->arena, "%.*s/%.*s/%zu", SPAN_ARGS(pass->deployment.key),
		SPAN_ARGS(stage), number);
}

void stage_end_jobs(struct deployment_pass *pass)
{
	for (size_t i = 0; i < pass->deployment.stage_count; i++) {
		const struct stage_record *stage = &pass->deployment.stages[i];
		const struct stage *configured = stage_find_configured(pass, stage);
		const struct stage_options *options = configured ? &configured->options : NULL;
		size_t count = stage->kind == STAGE_SCRIPT_RUN ? 1 : 0;

		if (!options || !pipeline_stage_is_terminal(stage->state))
			continue;
		if (stage->kind == STAGE_ANALYSIS)
			count = options->metrics.count + options->https.count +
				options->commands.count;
		for (size_t k = 0; k < count; k++)
			jobs_cancel(pass->jobs, stage_job_key(pass, stage->id, k));
	}
}

const char *const *stage_environment(const struct deployment_pass *pass, bool is_rollback,
	const struct field_list *variables, struct arena *arena)
{
	const struct deployment_facts *facts = &pass->deployment.facts;
	struct script_context context = {.deployment = facts->id,
		.application = application_facts(pass->application)->name,
		.commit = facts->commit,
		.summary = pass->deployment.summary,
		.user = facts->created_by,
		.triggered_ms = facts->created_ms,
		.is_rollback = is_rollback,
		.labels = &pass->bundle.application->labels};

	return script_environment(&context, variables, arena);
}

/* ---- a command as a job ---- */

struct command_job {
	struct arena *arena;
	const struct child_operations *children;
	struct script script;
};

static void free_command(void *context)
{
	struct command_job *job = context;

	arena_free(job->arena);
	free(job);
}

/* The result: {"failure", "lines"}; failure is "" if the command succeeded. */
static void run_command(struct job *job)
{
	const struct command_job *command = job->context;
	_arena_ struct arena *arena = arena_new(0);
	struct json *document = json_new_object(arena), *lines = json_new_array(arena);
	struct script script = command->script;
	struct script_result result = {0};
	struct err err = {0};

	script.cancel = job->cancel;
	if (script_run(command->children, &script, arena, &result, &err) < 0)
		result.failure = span_of(err.message);
	for (size_t i = 0; i < result.lines.count; i++)
		json_append(arena, lines,
			json_new_string(arena, ((struct span *)result.lines.items)[i]));
	json_set_string(arena, document, "failure", result.failure);
	json_set(arena, document, "lines", lines);
	json_write(document, &job->result);
}

static const struct job_kind command_kind = {run_command, free_command};

/* A command that a stage runs. */
struct command {
	const char *member; /* of the details, which has what is stored about it */
	struct span stage;  /* the stage of the job, and of the log that it writes */
	struct span text;
	const struct field_list *variables;
	int64_t timeout_ms;
	bool is_rollback, rerun;
};

int stage_copy_files(const struct deployment_pass *pass, struct arena *arena,
	struct json **ret_files, struct err *err)
{
	struct json *files = json_new_object(arena), *all;
	int code = json_parse(json_to_text(pass->source.files, arena), arena, &all, err);

	for (size_t i = 0; code >= 0 && i < all->object.count; i++) {
		const struct json_member *member = &all->object.members[i];

		if (!span_starts_with(member->name, SPAN("../")))
			json_set(arena, files,
				arena_copy(arena, member->name.data, member->name.length),
				member->value);
	}
	*ret_files = files;
	return code;
}

static int begin_job(struct deployment_pass *pass, const struct command *command, struct err *err)
{
	struct command_job *job = memory_allocate(sizeof(*job));
	struct json *files;
	int code;

	job->arena = arena_new(0);
	job->children = pass->config->children;
	code = stage_copy_files(pass, job->arena, &files, err);
	if (code < 0) {
		free_command(job);
		return code;
	}
	job->script = (struct script){
		.command = arena_copy(job->arena, command->text.data, command->text.length),
		.environment = stage_environment(pass, command->is_rollback, command->variables,
			job->arena),
		.files = files,
		.timeout_ms = command->timeout_ms};
	return jobs_begin(pass->jobs, stage_job_key(pass, command->stage, 0), &command_kind, job,
		err);
}

static void set_detail(struct deployment_pass *pass, struct stage_record *stage, const char *member,
	const struct json *value)
{
	struct json *details = stage->details ? json_copy_object(pass->arena, stage->details)
					      : json_new_object(pass->arena);

	json_set(pass->arena, details, member, value);
	stage->details = details;
	pass->must_write = true;
}

static int start_command(struct deployment_pass *pass, struct stage_record *holder,
	const struct command *command, struct err *err)
{
	struct json *state = json_new_object(pass->arena);
	int code;

	json_set_time(pass->arena, state, STARTED, pass->now_ms);
	set_detail(pass, holder, command->member, state);
	pass_log(pass, holder->id, "runs %.*s",
		SPAN_ARGS(command->is_rollback
				  ? arena_format(pass->arena, "onRollback of stage %.*s",
					    SPAN_ARGS(command->stage))
				  : SPAN("the script")));
	code = pass_checkpoint(pass, err);
	return code < 0 ? code : begin_job(pass, command, err);
}

static int end_command(struct deployment_pass *pass, struct stage_record *holder,
	const struct command *command, struct span result, struct stage_step *ret_step,
	struct err *err)
{
	struct json *document, *state;
	struct span failure;
	int code = json_parse(result, pass->arena, &document, err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (json_get(document, "lines"), line)
		pass_log(pass, holder->id, "| %.*s", SPAN_ARGS(json_text(line)));
	failure = json_get_text(document, "failure");
	state = json_copy_object(pass->arena, json_get(holder->details, command->member));
	json_set_time(pass->arena, state, "endedAt", pass->now_ms);
	if (failure.length > 0)
		json_set_string(pass->arena, state, "failure", failure);
	set_detail(pass, holder, command->member, state);
	if (failure.length > 0)
		stage_fail(ret_step, failure);
	else
		ret_step->progress = STAGE_DONE;
	return 0;
}

/* DONE: the command has ended well. holder: the stage that runs it. */
static int step_command(struct deployment_pass *pass, struct stage_record *holder,
	const struct command *command, struct stage_step *ret_step, struct err *err)
{
	const struct json *state = json_get(holder->details, command->member);
	struct span result;

	if (json_get(state, "endedAt")) {
		ret_step->progress = STAGE_DONE;
		return 0;
	}
	switch (jobs_take(pass->jobs, stage_job_key(pass, command->stage, 0), pass->arena,
		&result)) {
	case JOB_ENDED: return end_command(pass, holder, command, result, ret_step, err);
	case JOB_RUNNING: return stage_wait(pass, holder, ret_step, err);
	case JOB_NONE: break;
	}
	if (state && !command->rerun) {
		stage_fail(ret_step, SPAN("interrupted: the server ended while the command ran"));
		return 0;
	}
	ret_step->wake_ms = pass->now_ms + CONTROLLER_AGAIN_MOST_MS;
	return start_command(pass, holder, command, err);
}

/* ---- stages ---- */

int stage_run_script(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct command command = {.member = "script",
		.stage = stage->id,
		.text = options->run,
		.variables = &options->environment,
		.timeout_ms = options->timeout_ms,
		.rerun = options->rerun};

	return step_command(pass, stage, &command, ret_step, err);
}

int stage_run_rollback_scripts(struct deployment_pass *pass, struct stage_record *rollback,
	struct stage_step *ret_step, struct err *err)
{
	int code = 0;

	ret_step->progress = STAGE_DONE;
	for (size_t i = pass->deployment.stage_count;
		i > 0 && code >= 0 && ret_step->progress == STAGE_DONE; i--) {
		const struct stage_record *stage = &pass->deployment.stages[i - 1];
		const struct stage *configured = stage_find_configured(pass, stage);
		struct command command = {.stage = stage->id, .is_rollback = true};

		/* Only for a command that has started. */
		if (stage->kind != STAGE_SCRIPT_RUN || !configured ||
			configured->options.on_rollback.length == 0 ||
			!json_get(stage->details, "script"))
			continue;
		command.member = arena_format(pass->arena, "%.*s", SPAN_ARGS(stage->id)).data;
		command.text = configured->options.on_rollback;
		command.variables = &configured->options.environment;
		command.timeout_ms = configured->options.timeout_ms;
		command.rerun = configured->options.rerun;
		ret_step->progress = STAGE_GOES_ON;
		code = step_command(pass, rollback, &command, ret_step, err);
	}
	return code;
}
