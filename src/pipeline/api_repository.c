/* Applications from Git: adding them, and the repositories that are polled. */
#include "aws/page.h"
#include "base/memory.h"
#include "pipeline/api.h"
#include "pipeline/deployments.h"
#include "pipeline/origin.h"
#include "pipeline/repositories.h"
#include "store/fact_table.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 100
#define BRANCH_DEFAULT "main"

static struct span text_of(const struct aws_request *request, const char *name)
{
	struct span text = json_get_text(request->input, name);

	return text.data ? text : SPAN("");
}

static struct span branch_of(const struct aws_request *request)
{
	struct span branch = text_of(request, "branch");

	return branch.length > 0 ? branch : SPAN(BRANCH_DEFAULT);
}

/* ---- adding ---- */

int api_add_prepare(struct aws_request *request)
{
	static const char *const names[] = {
		"url", "branch", "path", "file", "region", "target", "role"};
	const struct pipeline_context *context = request->context;
	struct span *path = arena_allocate(request->arena, sizeof(*path));

	for (size_t i = 0; i < LENGTH(names); i++) {
		if (!fact_text_is_plain(text_of(request, names[i])))
			return aws_fail_input(request, "%s: has quotes or control characters",
				names[i]);
	}
	if (repositories_check_url(context ? context->settings : NULL, text_of(request, "url"),
		    &request->err) < 0)
		return aws_fail_input(request, "url: %s", request->err.message);
	if (repository_check_branch(branch_of(request), &request->err) < 0)
		return aws_fail_input(request, "branch: %s", request->err.message);
	if (repository_join(SPAN(""), text_of(request, "path"), request->arena, path,
		    &request->err) < 0)
		return aws_fail_input(request, "path: %s", request->err.message);
	if (memchr(text_of(request, "file").data, '/', text_of(request, "file").length))
		return aws_fail_input(request, "file: is in the folder `path`, without a slash");
	request->prepared = path;
	return 0;
}

static struct span region_of(const struct aws_request *request)
{
	struct span region = text_of(request, "region");

	return region.length > 0 ? region : request->caller->region;
}

static struct span target_of(const struct aws_request *request)
{
	struct span target = text_of(request, "target");

	return span_is(target, "local") ? SPAN("") : target;
}

static void keep_progress(const struct repository_facts *stored, struct repository_facts *facts)
{
	facts->created_by = stored->created_by;
	facts->commit = stored->commit;
	facts->has_failed = stored->has_failed;
	facts->created_ms = stored->created_ms;
	facts->polled_ms = stored->polled_ms;
}

/* Makes the repository unless it is there, and has it polled now. Fails the request. */
static int put_repository(struct aws_request *request, bool follows, struct span *ret_id)
{
	struct span account = request->caller->account, path = *(struct span *)request->prepared,
		    user = request->caller->user,
		    id = repository_id(request->arena, text_of(request, "url"), branch_of(request),
			    follows, path),
		    key = repository_key(request->arena, account, id);
	const struct store_object *object = store_get(request->view, &repository_kind, key);
	struct repository_facts facts = {.url = text_of(request, "url"),
		.branch = branch_of(request),
		.follows = follows,
		.path = follows ? path : SPAN(""),
		.region = region_of(request),
		.target = target_of(request),
		.role = text_of(request, "role"),
		.created_by = fact_text_is_plain(user) ? user : SPAN(""),
		.commit = SPAN(""),
		.created_ms = request->now_ms};

	if (!object && store_count(request->view, &repository_kind, -1,
			       arena_format(request->arena, "%.*s/", SPAN_ARGS(account)),
			       false) >= REPOSITORIES_MAX)
		return api_fail(request, "LimitExceededException", "repository", id,
			"too many repositories (limit %d)", REPOSITORIES_MAX);
	if (object)
		/* Where applications that are found later are delivered may be another place now. */
		keep_progress(repository_facts(object), &facts);
	facts.requested_ms = request->now_ms;
	if (repository_put(request->transaction, key, object ? object->api : SPAN("{}"), &facts,
		    object ? object->revision : STORE_ABSENT, &request->err) < 0)
		return aws_fail_store(request);
	*ret_id = id;
	return 0;
}

static int put_application(struct aws_request *request, struct span key)
{
	const struct store_object *application = store_get(request->view, &application_kind, key);
	struct application_facts facts = {.current = SPAN(""),
		.succeeded = SPAN(""),
		.created_ms = request->now_ms,
		.updated_ms = request->now_ms};
	struct span name = json_get_text(request->input, "name");

	if (application && application_facts(application)->is_deleting)
		return api_fail(request, "ResourceInUseException", "application", name,
			"application \"%.*s\" is being deleted", SPAN_ARGS(name));
	if (application)
		return 0;
	if (store_count(request->view, &application_kind, -1,
		    arena_format(request->arena, "%.*s/", SPAN_ARGS(request->caller->account)),
		    false) >= APPLICATIONS_MAX)
		return api_fail(request, "LimitExceededException", "application", name,
			"too many applications (limit %d)", APPLICATIONS_MAX);
	return application_put(request->transaction, key, SPAN("{}"), &facts, STORE_ABSENT,
		       &request->err) < 0
		       ? aws_fail_store(request)
		       : 0;
}

int api_add_application(struct aws_request *request)
{
	struct span key = api_key(request), name = json_get_text(request->input, "name");
	const struct store_object *origin = store_get(request->view, &origin_kind, key);
	struct origin_facts facts = {.folder = *(struct span *)request->prepared,
		.file = text_of(request, "file"),
		.region = region_of(request),
		.target = target_of(request),
		.role = text_of(request, "role"),
		.seen = SPAN("")};
	const struct store_object *application;

	if (origin && origin_facts(origin)->is_found)
		return api_fail(request, "ResourceInUseException", "application", name,
			"application \"%.*s\" was found in repository %.*s, which is followed",
			SPAN_ARGS(name), SPAN_ARGS(origin_facts(origin)->repository));
	if (put_repository(request, false, &facts.repository) < 0 ||
		put_application(request, key) < 0)
		return -EPERM;
	if (origin_put(request->transaction, key, SPAN("{}"), &facts,
		    origin ? origin->revision : STORE_ABSENT, &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	application = store_get(request->view, &application_kind, key);
	json_write(api_show_application(request, application), request->out);
	return 0;
}

/* ---- repositories ---- */

static void set_text(struct aws_request *request, struct json *document, const char *name,
	struct span text)
{
	if (text.length > 0)
		json_set_string(request->arena, document, name, text);
}

static struct json *show_repository(struct aws_request *request, const struct store_object *object)
{
	const struct repository_facts *facts = repository_facts(object);
	struct json *document = json_new_object(request->arena), *found = NULL;
	struct span prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(object->key));

	json_set_string(request->arena, document, "id", facts->id);
	json_set_string(request->arena, document, "url", facts->url);
	json_set_string(request->arena, document, "branch", facts->branch);
	json_set_bool(request->arena, document, "all", facts->follows);
	if (facts->follows)
		json_set_string(request->arena, document, "path", facts->path);
	set_text(request, document, "target", facts->target);
	set_text(request, document, "role", facts->role);
	set_text(request, document, "commit", facts->commit);
	json_set_integer(request->arena, document, "applications",
		(int64_t)store_count(request->view, &origin_kind, ORIGIN_BY_REPOSITORY, prefix,
			false));
	if (json_parse(object->api, request->arena, &found, NULL) == 0) {
		json_set(request->arena, document, "error", json_get(found, "error"));
		json_set(request->arena, document, "problems", json_get(found, "problems"));
	}
	json_set_time(request->arena, document, "createdAt", facts->created_ms);
	if (facts->polled_ms > 0)
		json_set_time(request->arena, document, "polledAt", facts->polled_ms);
	return document;
}

int api_add_repository(struct aws_request *request)
{
	struct span id;

	if (put_repository(request, true, &id) < 0)
		return -EPERM;
	request->view = store_head(request->transaction);
	json_write(show_repository(request,
			   store_get(request->view, &repository_kind,
				   repository_key(request->arena, request->caller->account, id))),
		request->out);
	return 0;
}

int api_list_repositories(struct aws_request *request)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &repository_kind,
		.index = -1,
		.prefix =
			arena_format(request->arena, "%.*s/", SPAN_ARGS(request->caller->account))};

	return api_list(request, cursor, "repositories", show_repository);
}

static int find_repository(struct aws_request *request, const struct store_object **ret_object)
{
	struct span id = text_of(request, "id");

	*ret_object = store_get(request->view, &repository_kind,
		repository_key(request->arena, request->caller->account, id));
	return *ret_object ? 0
			   : api_fail(request, "ResourceNotFoundException", "repository", id,
				     "repository \"%.*s\" not found", SPAN_ARGS(id));
}

int api_poll_repository(struct aws_request *request)
{
	const struct store_object *object;
	struct repository_facts facts;

	if (find_repository(request, &object) < 0)
		return -EPERM;
	facts = *repository_facts(object);
	facts.requested_ms = request->now_ms;
	if (repository_put(request->transaction, object->key, object->api, &facts, object->revision,
		    &request->err) < 0)
		return aws_fail_store(request);
	json_write(show_repository(request, object), request->out);
	return 0;
}

int api_delete_repository(struct aws_request *request)
{
	const struct store_object *object, *origin;
	struct span key, prefix;

	if (find_repository(request, &object) < 0)
		return -EPERM;
	key = arena_copy_span(request->arena, object->key);
	prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(key));
	buffer_format(request->out, "{\"id\":\"%.*s\"}", SPAN_ARGS(text_of(request, "id")));
	/* A cursor does not survive a change. The applications stay; they are not from Git any more. */
	while ((origin = store_next(&(struct store_cursor){.view = store_head(request->transaction),
			.kind = &origin_kind,
			.index = ORIGIN_BY_REPOSITORY,
			.prefix = prefix}))) {
		if (store_delete(request->transaction, &origin_kind, origin->key, STORE_ANY,
			    &request->err) < 0)
			return aws_fail_store(request);
	}
	return store_delete(request->transaction, &repository_kind, key, STORE_ANY, &request->err) <
			       0
		       ? aws_fail_store(request)
		       : 0;
}

/* ---- applications ---- */

void api_show_origin(struct aws_request *request, const struct store_object *application,
	struct json *document)
{
	static const char *const members[] = {"kind", "description", "labels", "problem"};
	const struct store_object *repository,
		*origin = origin_find(request->view, application->key, request->arena, &repository);
	struct json *place, *found;

	if (!origin)
		return;
	place = json_new_object(request->arena);
	json_set_string(request->arena, document, "state",
		span_of(origin_state_name(origin_facts(origin)->state)));
	json_set_string(request->arena, place, "id", origin_facts(origin)->repository);
	if (repository) {
		json_set_string(request->arena, place, "url", repository_facts(repository)->url);
		json_set_string(request->arena, place, "branch",
			repository_facts(repository)->branch);
	}
	json_set_string(request->arena, place, "path", origin_facts(origin)->folder);
	set_text(request, place, "file", origin_facts(origin)->file);
	set_text(request, place, "commit", origin_facts(origin)->seen);
	json_set(request->arena, document, "repository", place);
	set_text(request, document, "target", origin_facts(origin)->target);
	if (json_parse(origin->api, request->arena, &found, NULL) < 0)
		return;
	for (size_t i = 0; i < LENGTH(members); i++)
		json_set(request->arena, document, members[i], json_get(found, members[i]));
}
