/* See the header. */
#include "pipeline/poll.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "pipeline/scan.h"
#include "pipeline/trigger.h"

struct poll {
	const struct poll_request *request;
	struct repository repository;
	struct arena *arena;
	struct span commit;
	struct field_list places; /* struct poll_place: those to read */
	struct map changes;       /* struct changes, by the commit that was seen */
	struct json *applications;
	size_t bytes;
	bool has_more;
};

/* Between two commits. */
struct changes {
	bool is_known;           /* false: anything may have changed */
	struct field_list paths; /* struct span */
};

/* ---- changes ---- */

static const struct changes *find_changes(struct poll *poll, struct span seen)
{
	struct changes *changes = map_get(&poll->changes, seen);
	struct err err = {0};
	struct span commit;

	if (changes)
		return changes;
	changes = arena_allocate(poll->arena, sizeof(*changes));
	/* After a branch was rewritten, the old commit may have to be fetched; the server may not have it any more. */
	changes->is_known =
		repository_fetch(&poll->repository, seen, poll->arena, &commit, &err) >= 0 &&
		repository_changes(&poll->repository, seen, poll->commit, poll->arena,
			&changes->paths, &err) >= 0;
	map_put(&poll->changes, seen, changes);
	return changes;
}

/* One of these files has changed. */
static bool has_changed_file(const struct field_list *files, const struct changes *changes,
	struct span *ret_path)
{
	const struct span *own = files->items, *changed = changes->paths.items;

	for (size_t i = 0; i < files->count; i++) {
		for (size_t k = 0; k < changes->paths.count; k++) {
			if (!span_equal(own[i], changed[k]))
				continue;
			*ret_path = own[i];
			return true;
		}
	}
	return false;
}

/* ---- which applications ---- */

static const struct poll_place *find_place(const struct poll *poll, struct span folder,
	struct span file)
{
	for (size_t i = 0; i < poll->request->place_count; i++) {
		const struct poll_place *place = &poll->request->places[i];

		if (span_equal(place->folder, folder) && span_equal(place->file, file))
			return place;
	}
	return NULL;
}

static void add_place(struct poll *poll, const struct poll_place *place)
{
	*(struct poll_place *)fields_append(poll->arena, &poll->places, sizeof(*place)) = *place;
}

static void read_texts(struct arena *arena, const struct json *list, struct field_list *texts)
{
	JSON_EACH_ITEM (list, item)
		*(struct span *)fields_append(arena, texts, sizeof(struct span)) = json_text(item);
}

/* Whether a change may concern the application: its folder, its files, or paths of its trigger. What those are is in its
 * application file, which has not changed either then. */
static bool is_concerned(struct poll *poll, const struct poll_place *place)
{
	struct application_trigger trigger = {.on_commit = true};
	struct field_list files = {0};
	const struct changes *changes;
	struct span path;

	if (!place->is_valid || !place->watched || place->seen.length == 0)
		return true;
	changes = find_changes(poll, place->seen);
	if (!changes->is_known)
		return true;
	read_texts(poll->arena, json_get(place->watched, "paths"), &trigger.paths);
	read_texts(poll->arena, json_get(place->watched, "files"), &files);
	return trigger_on_commit(&trigger, place->folder, &changes->paths, &path) ||
	       has_changed_file(&files, changes, &path);
}

static void add_unchanged(struct poll *poll, const struct poll_place *place)
{
	struct json *document = json_new_object(poll->arena);

	json_set_string(poll->arena, document, "known", place->name);
	json_set_string(poll->arena, document, "name", place->name);
	json_set_bool(poll->arena, document, "unchanged", true);
	json_append(poll->arena, poll->applications, document);
}

static int collect_places(struct poll *poll, struct err *err)
{
	const struct poll_request *request = poll->request;
	const struct scan_place *found;
	struct field_list list = {0};
	int code = 0;

	for (size_t i = 0; i < request->place_count; i++) {
		if (span_equal(request->places[i].seen, poll->commit))
			continue;
		if (is_concerned(poll, &request->places[i]))
			add_place(poll, &request->places[i]);
		else
			add_unchanged(poll, &request->places[i]);
	}
	if (request->follows && !span_equal(request->commit, poll->commit))
		code = scan_find(&poll->repository, poll->commit, request->path, poll->arena, &list,
			err);
	found = list.items;
	for (size_t i = 0; i < list.count && code >= 0; i++) {
		if (!find_place(poll, found[i].folder, found[i].file))
			add_place(poll, &(struct poll_place){.name = SPAN(""),
						.folder = found[i].folder,
						.file = found[i].file,
						.seen = SPAN(""),
						.is_found = true});
	}
	return code;
}

/* ---- whether a deployment starts ---- */

/* Why; data NULL: no deployment starts. */
static struct span find_cause(struct poll *poll, const struct poll_place *place,
	const struct scan_result *result, const struct changes *changes)
{
	const struct application_trigger *trigger = &result->application->trigger;
	struct span path;

	if (result->state != ORIGIN_VALID || !trigger->on_commit)
		return SPAN_NONE;
	if (place->seen.length == 0)
		return SPAN("the application was added");
	if (!changes->is_known)
		return SPAN("the branch was rewritten");
	if (!place->is_valid)
		return SPAN("its files were fixed");
	if (trigger_on_commit(trigger, place->folder, &changes->paths, &path) ||
		has_changed_file(&result->paths, changes, &path))
		return arena_format(poll->arena, "%.*s has changed", SPAN_ARGS(path));
	return SPAN_NONE;
}

/* ---- the result ---- */

static struct json *write_labels(struct arena *arena, const struct field_list *labels)
{
	const struct field_pair *pairs = labels->items;
	struct json *object = json_new_object(arena);

	for (size_t i = 0; i < labels->count; i++)
		json_set_string(arena, object,
			arena_copy(arena, pairs[i].name.data, pairs[i].name.length),
			pairs[i].value);
	return object;
}

static struct json *write_paths(struct arena *arena, const struct field_list *paths)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < paths->count; i++)
		json_append(arena, list,
			json_new_string(arena,
				git_clean_text(((struct span *)paths->items)[i], arena)));
	return list;
}

static struct json *write_result(struct arena *arena, const struct poll_place *place,
	const struct scan_result *result)
{
	const struct application *application = result->application;
	struct json *document = json_new_object(arena), *watched;
	bool is_other = place->name.length > 0 && result->name.length > 0 &&
			!span_equal(place->name, result->name);
	struct span problem = result->problem;

	json_set_string(arena, document, "known", place->name);
	json_set_string(arena, document, "name",
		result->name.length > 0 ? result->name : place->name);
	json_set_string(arena, document, "folder", place->folder);
	json_set_string(arena, document, "file", place->file);
	json_set_bool(arena, document, "found", place->is_found);
	if (is_other && !place->is_found) {
		/* Added by another name than its own. */
		json_set_string(arena, document, "name", place->name);
		if (problem.length == 0)
			problem = arena_format(arena, "%.*s%s%.*s: spec.name is \"%.*s\"",
				SPAN_ARGS(place->folder), place->folder.length > 0 ? "/" : "",
				SPAN_ARGS(result->file), SPAN_ARGS(result->name));
	}
	json_set_string(arena, document, "state",
		span_of(origin_state_name(problem.length > 0 && result->state == ORIGIN_VALID
						  ? ORIGIN_INVALID_CONFIG
						  : result->state)));
	json_set_string(arena, document, "problem", git_clean_text(problem, arena));
	if (!application)
		return document;
	json_set_string(arena, document, "kind", application->kind);
	if (application->description.length > 0)
		json_set_string(arena, document, "description", application->description);
	json_set(arena, document, "labels", write_labels(arena, &application->labels));
	if (!application->trigger.on_flow)
		json_set_bool(arena, document, "offFlow", true);
	if (application->trigger.on_chain)
		json_set_bool(arena, document, "onChain", true);
	watched = json_new_object(arena);
	json_set(arena, watched, "paths", write_paths(arena, &application->trigger.paths));
	json_set(arena, watched, "files", write_paths(arena, &result->paths));
	json_set(arena, document, "watched", watched);
	return document;
}

static int add_result(struct poll *poll, const struct poll_place *place,
	const struct scan_result *result, struct err *err)
{
	static const struct changes none;
	const struct changes *changes =
		place->seen.length > 0 ? find_changes(poll, place->seen) : &none;
	struct json *document = write_result(poll->arena, place, result);
	struct span cause = span_is(json_get_text(document, "state"), "VALID")
				    ? find_cause(poll, place, result, changes)
				    : SPAN_NONE;
	int code = 0;

	if (cause.data) {
		if (poll->bytes > 0 && poll->bytes + result->bytes > POLL_BYTES_MAX) {
			poll->has_more = true;
			return 0;
		}
		poll->bytes += result->bytes;
		json_set_bool(poll->arena, document, "deploy", true);
		json_set_bool(poll->arena, document, "replace",
			result->application->replace_waiting);
		json_set_string(poll->arena, document, "because",
			git_clean_text(cause, poll->arena));
		json_set(poll->arena, document, "files", result->files);
		json_set_string(poll->arena, document, "applicationFile", result->file);
		if (changes->is_known && changes->paths.count <= POLL_CHANGED_MAX)
			json_set(poll->arena, document, "changed",
				write_paths(poll->arena, &changes->paths));
		/* Before the deployment is stored, so that no commit of one is ever missing. */
		code = repository_keep(&poll->repository, poll->commit, poll->commit, err);
	}
	json_append(poll->arena, poll->applications, document);
	return code;
}

static int read_places(struct poll *poll, struct err *err)
{
	const struct poll_place *places = poll->places.items;
	size_t count = poll->places.count;
	struct scan_place *scanned = arena_allocate_array(poll->arena, count + 1, sizeof(*scanned));
	struct scan_result *results =
		arena_allocate_array(poll->arena, count + 1, sizeof(*results));
	int code;

	for (size_t i = 0; i < count; i++)
		scanned[i] = (struct scan_place){places[i].folder, places[i].file};
	code = count > 0 ? scan_read(&poll->repository, poll->commit, scanned, count, poll->arena,
				   results, err)
			 : 0;
	for (size_t i = 0; i < count && code >= 0; i++)
		code = add_result(poll, &places[i], &results[i], err);
	return code;
}

/* ---- commits of deployments that were deleted ---- */

static bool is_used(const struct poll *poll, struct span commit)
{
	for (size_t i = 0; i < poll->request->used_count; i++) {
		if (span_equal(poll->request->used[i], commit))
			return true;
	}
	return span_equal(poll->commit, commit);
}

static int release_unused(const struct poll *poll, struct err *err)
{
	struct field_list names = {0};
	int code = 0;

	if (poll->request->used)
		code = repository_list_kept(&poll->repository, poll->arena, &names, err);
	for (size_t i = 0; i < names.count && code >= 0; i++) {
		struct span name = ((struct span *)names.items)[i];

		if (!is_used(poll, name))
			code = repository_release(&poll->repository, name, err);
	}
	return code;
}

/* ---- the poll ---- */

static int run(struct poll *poll, struct json *document, struct err *err)
{
	const struct poll_request *request = poll->request;
	struct git_commit commit = {.message = SPAN(""), .author = SPAN("")};
	int code = repository_poll(&poll->repository, &request->branch, 1, poll->arena,
		&poll->commit, err);

	if (code >= 0 && poll->commit.length == 0)
		code = err_set(err, -ENOENT, "the repository has no branch \"%.*s\"",
			SPAN_ARGS(request->branch));
	if (code >= 0)
		code = collect_places(poll, err);
	if (code >= 0 && poll->places.count > 0)
		code = repository_commit(&poll->repository, poll->commit, poll->arena, &commit,
			err);
	if (code >= 0)
		code = read_places(poll, err);
	if (code >= 0)
		code = release_unused(poll, err);
	if (code < 0)
		return code;
	json_set_string(poll->arena, document, "commit", poll->commit);
	json_set_string(poll->arena, document, "message", commit.message);
	json_set_bool(poll->arena, document, "more", poll->has_more);
	json_set(poll->arena, document, "applications", poll->applications);
	return 0;
}

const struct json *poll_run(struct repositories *repositories, const struct poll_request *request,
	int cancel, struct arena *arena)
{
	struct poll poll = {
		.request = request, .arena = arena, .applications = json_new_array(arena)};
	struct json *document = json_new_object(arena);
	struct err err = {0};
	int code = repositories_open(repositories, request->url, cancel, arena, &poll.repository,
		&err);

	if (code >= 0)
		code = run(&poll, document, &err);
	if (code < 0) {
		document = json_new_object(arena);
		json_set_string(arena, document, "error",
			git_clean_text(span_of(err.message), arena));
	}
	map_clear(&poll.changes);
	return document;
}
