/* See the header. */
#include "pipeline/poller.h"

#include <stdatomic.h>

#include "base/map.h"
#include "base/memory.h"
#include "control/controller_handle.h"
#include "delivery/job.h"
#include "pipeline/deployments.h"
#include "pipeline/found.h"
#include "pipeline/poll.h"

#define WORKERS 2
#define RESYNC_MS 600000
#define POLLS_MAX 8             /* at once */
#define AGAIN_MS 50             /* when so many run */
#define APPLICATIONS_WRITTEN 20 /* in one transaction */

struct poller {
	struct poller_config config;
	struct runner *runner;
	struct jobs *jobs;
	struct controller *controller;
	struct controller_handle handle;
	_Atomic int running;
	struct lock lock;
	struct map polled; /* repositories that this process has polled; guarded by the lock */
};

struct poller_pass {
	struct poller *poller;
	struct store *store;
	const struct store_view *view;
	struct arena *arena;
	struct span key;
	const struct store_object *repository;
	struct claim claim;
	int64_t now_ms;
	const struct json *poll;   /* result */
	struct json *problems;     /* of all applications so far */
	struct json *problems_now; /* of the transaction, which may run again */
	size_t first;              /* application of the next transaction */
	bool begins_to_fail;
};

static int64_t interval_ms(const struct poller *poller)
{
	const struct pipeline_settings *settings = poller->config.settings;

	return settings && settings->poll_ms > 0 ? settings->poll_ms : REPOSITORY_POLL_MS;
}

/* ---- the job ---- */

struct poll_job {
	struct arena *arena;
	struct poller *poller;
	struct poll_request request;
	int64_t begun_ms;
};

static void free_poll(void *context)
{
	struct poll_job *job = context;

	arena_free(job->arena);
	free(job);
}

static void run_poll(struct job *job)
{
	const struct poll_job *poll = job->context;
	_arena_ struct arena *arena = arena_new(0);
	struct json *result = json_copy_object(arena,
		poll_run(poll->poller->config.repositories, &poll->request, job->cancel, arena));

	json_set_integer(arena, result, "begun", poll->begun_ms);
	json_write(result, &job->result);
	atomic_fetch_sub(&poll->poller->running, 1);
}

static const struct job_kind poll_kind = {run_poll, free_poll};

static const struct json *read_watched(const struct store_object *origin, struct arena *arena)
{
	struct json *document;

	return json_parse(arena_copy_span(arena, origin->api), arena, &document, NULL) < 0
		       ? NULL
		       : json_get(document, "watched");
}

static void add_places(const struct poller_pass *pass, struct poll_job *job)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &origin_kind,
		.index = ORIGIN_BY_REPOSITORY,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->key))};
	struct field_list list = {0};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct origin_facts *facts = origin_facts(object);
		struct poll_place *place = fields_append(job->arena, &list, sizeof(*place));

		*place = (struct poll_place){.name = arena_copy_span(job->arena, facts->name),
			.folder = arena_copy_span(job->arena, facts->folder),
			.file = arena_copy_span(job->arena, facts->file),
			.seen = arena_copy_span(job->arena, facts->seen),
			.is_found = facts->is_found,
			.is_valid = facts->state == ORIGIN_VALID,
			.watched = read_watched(object, job->arena)};
	}
	job->request.places = list.items;
	job->request.place_count = list.count;
}

/* Commits of the deployments of one application. */
static void add_used_of(const struct poller_pass *pass, struct span application,
	struct poll_job *job, struct field_list *list)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_kind,
		.index = -1,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(application))};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		*(struct span *)fields_append(job->arena, list, sizeof(struct span)) =
			arena_copy_span(job->arena, deployment_facts(object)->commit);
}

/* Of all repositories that share the clone. */
static void add_used(const struct poller_pass *pass, struct poll_job *job)
{
	struct store_cursor repositories = {
		.view = pass->view, .kind = &repository_kind, .index = -1};
	struct field_list list = {0};
	const struct store_object *repository, *origin;

	while ((repository = store_next(&repositories))) {
		struct store_cursor origins = {.view = pass->view,
			.kind = &origin_kind,
			.index = ORIGIN_BY_REPOSITORY,
			.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(repository->key))};

		if (!span_equal(repository_facts(repository)->url, job->request.url))
			continue;
		while ((origin = store_next(&origins)))
			add_used_of(pass, origin->key, job, &list);
	}
	/* One more, so that the list is not NULL. */
	*(struct span *)fields_append(job->arena, &list, sizeof(struct span)) = SPAN("");
	job->request.used = list.items;
	job->request.used_count = list.count;
}

/* True once for each repository. */
static bool is_first_poll(struct poller *poller, struct span key)
{
	bool is_first;

	lock_take(&poller->lock);
	is_first = !map_has(&poller->polled, key);
	map_put(&poller->polled, key, poller);
	lock_release(&poller->lock);
	return is_first;
}

static int begin_poll(const struct poller_pass *pass, struct err *err)
{
	const struct repository_facts *facts = repository_facts(pass->repository);
	struct poll_job *job = memory_allocate(sizeof(*job));
	struct arena *arena = arena_new(0);
	int code;

	*job = (struct poll_job){.arena = arena,
		.poller = pass->poller,
		.begun_ms = pass->now_ms,
		.request = {.url = arena_copy_span(arena, facts->url),
			.branch = arena_copy_span(arena, facts->branch),
			.follows = facts->follows,
			.path = arena_copy_span(arena, facts->path),
			.commit = arena_copy_span(arena, facts->commit)}};
	add_places(pass, job);
	if (is_first_poll(pass->poller, pass->key))
		add_used(pass, job);
	atomic_fetch_add(&pass->poller->running, 1);
	code = jobs_begin(pass->poller->jobs, pass->key, &poll_kind, job, err);
	if (code < 0)
		atomic_fetch_sub(&pass->poller->running, 1);
	return code;
}

/* ---- its result ---- */

/* On head; -ESTALE: the repository was deleted. */
static int open_found(struct store_transaction *transaction, struct poller_pass *pass,
	struct found *ret_found, struct err *err)
{
	const struct store_object *repository =
		store_get(store_head(transaction), &repository_kind, pass->key);

	if (!repository)
		return err_set(err, -ESTALE, "the repository was deleted");
	*ret_found = (struct found){.repository = repository,
		.poll = pass->poll,
		.now_ms = pass->now_ms,
		.random = pass->poller->config.random,
		.arena = pass->arena,
		.problems = pass->problems_now = json_new_array(pass->arena)};
	return 0;
}

static int put_applications(struct store_transaction *transaction, void *context, struct err *err)
{
	struct poller_pass *pass = context;
	const struct json *list = json_get(pass->poll, "applications");
	struct found found;
	int code = open_found(transaction, pass, &found, err);

	for (size_t i = pass->first;
		code >= 0 && i < json_count(list) && i < pass->first + APPLICATIONS_WRITTEN; i++)
		code = found_put(transaction, &found, json_item(list, i), err);
	return code;
}

static int put_repository(struct store_transaction *transaction, void *context, struct err *err)
{
	struct poller_pass *pass = context;
	struct span error = json_get_text(pass->poll, "error");
	struct json *document, *before;
	struct repository_facts facts;
	struct found found;
	int code = open_found(transaction, pass, &found, err);

	if (code >= 0)
		code = json_parse(found.repository->api, pass->arena, &before, err);
	if (code < 0)
		return code;
	facts = *repository_facts(found.repository);
	pass->begins_to_fail = error.data && !facts.has_failed;
	facts.has_failed = error.data != NULL;
	facts.polled_ms = json_get_integer(pass->poll, "begun", pass->now_ms);
	document = json_new_object(pass->arena);
	if (error.data)
		json_set_string(pass->arena, document, "error", error);
	/* Files are read when the branch has changed; otherwise what was found remains. */
	if (error.data || span_equal(json_get_text(pass->poll, "commit"), facts.commit))
		json_set(pass->arena, document, "problems", json_get(before, "problems"));
	else
		json_set(pass->arena, document, "problems", pass->problems);
	if (!error.data)
		facts.commit = json_get_text(pass->poll, "commit");
	if (json_get_bool(pass->poll, "more", false)) {
		facts.requested_ms = pass->now_ms + 1;
		/* So that those that were left out are found again. */
		facts.commit = repository_facts(found.repository)->commit;
	}
	return repository_put(transaction, pass->key, json_to_text(document, pass->arena), &facts,
		found.repository->revision, err);
}

static int take_result(struct poller_pass *pass, struct span text, struct err *err)
{
	struct poller *poller = pass->poller;
	size_t count;
	struct json *poll;
	int code = json_parse(text, pass->arena, &poll, err);

	if (code < 0)
		return code;
	pass->poll = poll;
	count = json_count(json_get(poll, "applications"));
	for (; pass->first < count && code >= 0; pass->first += APPLICATIONS_WRITTEN) {
		code = claims_write(poller->config.claims, &pass->claim, put_applications, pass,
			NULL, err);
		JSON_EACH_ITEM (pass->problems_now, problem)
			json_append(pass->arena, pass->problems, problem);
	}
	if (code >= 0)
		code = claims_write(poller->config.claims, &pass->claim, put_repository, pass, NULL,
			err);
	if (code >= 0 && pass->begins_to_fail && poller->config.report) {
		struct err failure = {0};

		err_set(&failure, -EIO, "%.*s: %.*s",
			SPAN_ARGS(repository_facts(pass->repository)->url),
			SPAN_ARGS(json_get_text(poll, "error")));
		poller->config.report(poller->config.report_context, "repositories", pass->key,
			&failure);
	}
	return code;
}

/* ---- the controller ---- */

static int64_t due_ms(const struct poller_pass *pass)
{
	const struct repository_facts *facts = repository_facts(pass->repository);

	return facts->requested_ms >= facts->polled_ms
		       ? facts->requested_ms
		       : facts->polled_ms + interval_ms(pass->poller);
}

static int step(struct poller_pass *pass, int64_t *ret_again_ms, struct err *err)
{
	struct poller *poller = pass->poller;
	struct span text;
	int code = 0;

	*ret_again_ms = 0;
	switch (jobs_take(poller->jobs, pass->key, pass->arena, &text)) {
	case JOB_RUNNING: return 0;                          /* its end starts the next pass */
	case JOB_ENDED: return take_result(pass, text, err); /* and so does this write */
	case JOB_NONE: break;
	}
	if (due_ms(pass) > pass->now_ms) {
		*ret_again_ms = due_ms(pass);
		return 0;
	}
	if (atomic_load(&poller->running) < POLLS_MAX)
		code = begin_poll(pass, err);
	if (code == -EBUSY || atomic_load(&poller->running) >= POLLS_MAX)
		*ret_again_ms = pass->now_ms + AGAIN_MS;
	return code == -EBUSY ? 0 : code;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct poller *poller = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct poller_pass pass = {.poller = poller,
		.store = call->store,
		.view = view,
		.arena = arena,
		.key = key,
		.now_ms = runner_wall_ms(call->runner),
		.problems = json_new_array(arena),
		.repository = store_get(view, &repository_kind, key)};
	int code;

	if (!pass.repository) {
		jobs_cancel(poller->jobs, key);
		return 0;
	}
	code = claims_acquire(poller->config.claims,
		arena_format(arena, POLLER_CLAIM_PREFIX "%.*s", SPAN_ARGS(key)), &pass.claim, err);
	if (code == -EBUSY) {
		jobs_cancel(poller->jobs, key);
		return 0; /* another server polls it; claim_freed() starts a pass */
	}
	return code < 0 ? code : step(&pass, &call->again_at_ms, err);
}

static const struct controller_watch watches[] = {{.kind = &repository_kind}};

static const struct controller_row row = {
	.name = "repositories",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

static void add_key(struct poller *poller, struct span key)
{
	struct controller *controller = controller_handle_enter(&poller->handle);

	if (!controller)
		return;
	controller_add(controller, key);
	controller_handle_leave(&poller->handle);
}

static void claim_freed(void *context, struct span key)
{
	size_t prefix = sizeof(POLLER_CLAIM_PREFIX) - 1;

	add_key(context, (struct span){key.data + prefix, key.length - prefix});
}

static void job_ended(void *context, struct span key)
{
	add_key(context, key);
}

int poller_start(const struct poller_config *config, struct poller **ret_poller, struct err *err)
{
	struct poller *poller = memory_allocate(sizeof(*poller));
	struct controller_config controller = {.store = config->store,
		.context = poller,
		.report = config->report,
		.report_context = config->report_context};
	int code;

	poller->config = *config;
	poller->runner = runner_group_new(config->runner, "repositories");
	controller.runner = poller->runner;
	poller->jobs = jobs_new(poller->runner, NULL, job_ended, poller);
	lock_init(&poller->lock);
	controller_handle_init(&poller->handle, poller->runner, "repositories");
	code = controller_start(&row, &controller, &poller->controller, err);
	if (code < 0) {
		poller_stop(poller);
		return code;
	}
	controller_handle_open(&poller->handle, poller->controller);
	claims_subscribe(config->claims, SPAN(POLLER_CLAIM_PREFIX), claim_freed, poller);
	*ret_poller = poller;
	return 0;
}

void poller_stop(struct poller *poller)
{
	if (!poller)
		return;
	if (poller->controller)
		claims_unsubscribe(poller->config.claims, poller);
	controller_handle_close(&poller->handle); /* and stops the controller */
	runner_stop(poller->runner);
	jobs_free(poller->jobs);
	runner_join(poller->runner, NULL);
	controller_handle_destroy(&poller->handle);
	runner_free(poller->runner);
	map_clear(&poller->polled);
	lock_destroy(&poller->lock);
	free(poller);
}
