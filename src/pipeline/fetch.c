/* See the header. */
#include "pipeline/fetch.h"

#include "base/memory.h"
#include "pipeline/deployments.h"
#include "pipeline/poll.h"
#include "pipeline/scan.h"
#include "pipeline/steps.h"

#define AGAIN_MS 1000 /* when too many jobs run */

/* ---- the job ---- */

struct fetch {
	struct arena *arena;
	struct repositories *repositories;
	struct span deployment, application; /* ID, name */
	struct span url, branch;
	struct scan_place place;
	struct span commit;  /* commit, tag or branch; "": the branch */
	struct span running; /* commit that is deployed; "" */
	bool is_plan, is_command;
};

static void free_fetch(void *context)
{
	struct fetch *fetch = context;

	arena_free(fetch->arena);
	free(fetch);
}

/* The full ID of the commit, which is on the branch unless it is only planned. */
static int find_commit(const struct fetch *fetch, const struct repository *repository,
	struct arena *arena, struct span *ret_commit, struct err *err)
{
	struct span head;
	int code = repository_poll(repository, &fetch->branch, 1, arena, &head, err);

	if (code < 0)
		return code;
	if (head.length == 0)
		return err_set(err, -ENOENT, "the repository has no branch \"%.*s\"",
			SPAN_ARGS(fetch->branch));
	*ret_commit = head;
	if (fetch->commit.length == 0)
		return 0;
	code = repository_fetch(repository, fetch->commit, arena, ret_commit, err);
	if (code < 0 || fetch->is_plan)
		return code;
	code = repository_is_on_branch(repository, *ret_commit, fetch->branch, err);
	return code == 0 ? err_set(err, -EINVAL,
				   "commit %.*s is not on branch \"%.*s\"; it can only be planned",
				   SPAN_ARGS(*ret_commit), SPAN_ARGS(fetch->branch))
			 : code;
}

static int check_result(const struct fetch *fetch, const struct scan_result *result,
	struct err *err)
{
	if (result->state != ORIGIN_VALID)
		return err_set(err, -EINVAL, "%.*s", SPAN_ARGS(result->problem));
	if (result->name.length > 0 && !span_equal(result->name, fetch->application))
		return err_set(err, -EINVAL, "%.*s: spec.name is \"%.*s\"", SPAN_ARGS(result->file),
			SPAN_ARGS(result->name));
	if (fetch->is_command && !result->application->trigger.on_command)
		return err_set(err, -EACCES, "%.*s: trigger.onCommand is disabled",
			SPAN_ARGS(result->file));
	return 0;
}

static void add_changed(const struct fetch *fetch, const struct repository *repository,
	struct span commit, struct arena *arena, struct json *document)
{
	struct field_list paths;
	struct err ignored = {0};
	struct json *list;

	if (fetch->running.length == 0 ||
		repository_changes(repository, fetch->running, commit, arena, &paths, &ignored) < 0)
		return;
	list = json_new_array(arena);
	for (size_t i = 0; i < paths.count && paths.count <= POLL_CHANGED_MAX; i++)
		json_append(arena, list,
			json_new_string(arena,
				git_clean_text(((struct span *)paths.items)[i], arena)));
	json_set(arena, document, "changed", list);
}

static int read_files(const struct fetch *fetch, int cancel, struct arena *arena,
	struct json *document, struct err *err)
{
	struct repository repository;
	struct scan_result result;
	struct git_commit read = {.message = SPAN("")};
	struct span commit;
	int code =
		repositories_open(fetch->repositories, fetch->url, cancel, arena, &repository, err);

	if (code >= 0)
		code = find_commit(fetch, &repository, arena, &commit, err);
	if (code >= 0)
		code = scan_read(&repository, commit, &fetch->place, 1, arena, &result, err);
	if (code >= 0)
		code = check_result(fetch, &result, err);
	if (code >= 0)
		code = repository_commit(&repository, commit, arena, &read, err);
	if (code >= 0 && !fetch->is_plan)
		code = repository_keep(&repository, commit, commit, err);
	if (code < 0)
		return code;
	json_set_string(arena, document, "commit", commit);
	json_set_string(arena, document, "message", read.message);
	json_set_string(arena, document, "applicationFile", result.file);
	json_set(arena, document, "files", result.files);
	add_changed(fetch, &repository, commit, arena, document);
	return 0;
}

static void run_fetch(struct job *job)
{
	const struct fetch *fetch = job->context;
	_arena_ struct arena *arena = arena_new(0);
	struct json *document = json_new_object(arena);
	struct err err = {0};

	json_set_string(arena, document, "deployment", fetch->deployment);
	if (read_files(fetch, job->cancel, arena, document, &err) < 0)
		json_set_string(arena, document, "error",
			git_clean_text(span_of(err.message), arena));
	json_write(document, &job->result);
}

static const struct job_kind fetch_kind = {run_fetch, free_fetch};

/* ---- the step ---- */

static struct span job_key(const struct deployment_pass *pass)
{
	return arena_format(pass->arena, "%.*s/fetch", SPAN_ARGS(pass->key));
}

bool fetch_is_running(const struct deployment_pass *pass)
{
	return jobs_find(pass->jobs, job_key(pass)) == JOB_RUNNING;
}

void fetch_end(const struct deployment_pass *pass)
{
	jobs_cancel(pass->jobs, job_key(pass));
}

static struct fetch *make_fetch(const struct deployment_pass *pass,
	const struct origin_facts *origin, const struct repository_facts *repository)
{
	const struct deployment_facts *facts = &pass->deployment.facts;
	struct fetch *fetch = memory_allocate(sizeof(*fetch));
	struct arena *arena = arena_new(0);

	*fetch = (struct fetch){.arena = arena,
		.repositories = pass->config->repositories,
		.deployment = arena_copy_span(arena, facts->id),
		.application = arena_copy_span(arena, origin->name),
		.url = arena_copy_span(arena, repository->url),
		.branch = arena_copy_span(arena, repository->branch),
		.place = {arena_copy_span(arena, origin->folder),
			arena_copy_span(arena, origin->file)},
		.commit = arena_copy_span(arena, facts->commit),
		.running =
			arena_copy_span(arena, application_running_commit(pass->view, pass->key)),
		.is_plan = facts->trigger == DEPLOYMENT_TRIGGER_PLAN,
		.is_command = facts->trigger == DEPLOYMENT_TRIGGER_SYNC};
	return fetch;
}

static int begin(struct deployment_pass *pass, struct err *err)
{
	const struct store_object *repository, *origin;
	int code;

	origin = origin_find(pass->view, pass->key, pass->arena, &repository);
	if (!origin || !repository || !pass->config->repositories)
		return steps_refuse(pass, SPAN("the application has no repository any more"), err);
	code = jobs_begin(pass->jobs, job_key(pass), &fetch_kind,
		make_fetch(pass, origin_facts(origin), repository_facts(repository)), err);
	if (code != -EBUSY)
		return code;
	pass_again_at(pass, pass->now_ms + AGAIN_MS);
	return 0;
}

static int take(struct deployment_pass *pass, const struct json *result, struct err *err)
{
	struct deployment_record *record = &pass->deployment;
	struct span error = json_get_text(result, "error");

	if (error.data)
		return steps_refuse(pass, error, err);
	pass->source = (struct deployment_source){.files = json_get(result, "files"),
		.application_file = json_get_text(result, "applicationFile"),
		.changed = json_get(result, "changed")};
	pass->must_write_source = true;
	record->facts.commit = json_get_text(result, "commit");
	record->facts.must_fetch = false;
	if (record->message.length == 0)
		record->message = json_get_text(result, "message");
	pass_log(pass, SPAN(""), "commit %.*s", SPAN_ARGS(record->facts.commit));
	return pass_write(pass, err);
}

int fetch_run(struct deployment_pass *pass, struct err *err)
{
	struct json *result;
	struct span text;

	switch (jobs_take(pass->jobs, job_key(pass), pass->arena, &text)) {
	case JOB_RUNNING: return 0; /* its end starts the next pass */
	case JOB_ENDED:
		/* It may have been begun for a deployment that was cancelled. */
		if (json_parse(text, pass->arena, &result, NULL) == 0 &&
			span_equal(json_get_text(result, "deployment"), pass->deployment.facts.id))
			return take(pass, result, err);
		break;
	case JOB_NONE: break;
	}
	return begin(pass, err);
}
