/* See the header. */
#include "pipeline/found.h"

#include "base/memory.h"
#include "pipeline/deployments.h"
#include "store/fact_table.h"

/* An application of the result, as it is stored. */
struct entry {
	struct store_transaction *transaction;
	struct found *found;
	const struct json *document;
	const struct repository_facts *repository;
	struct span name, key, commit;
	struct span problem;
	enum origin_state state;
};

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static struct span file_path(const struct entry *entry)
{
	struct span folder = text_of(entry->document, "folder");

	return arena_format(entry->found->arena, "%.*s%s%.*s", SPAN_ARGS(folder),
		folder.length > 0 ? "/" : "", SPAN_ARGS(text_of(entry->document, "file")));
}

static int add_problem(const struct entry *entry, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int add_problem(const struct entry *entry, const char *format, ...)
{
	struct arena *arena = entry->found->arena;
	struct json *problem = json_new_object(arena);
	va_list list;

	if (json_count(entry->found->problems) >= REPOSITORY_PROBLEMS_MAX)
		return 0;
	json_set_string(arena, problem, "file", file_path(entry));
	va_start(list, format);
	json_set_string(arena, problem, "message", arena_format_list(arena, format, list));
	va_end(list);
	json_append(arena, entry->found->problems, problem);
	return 0;
}

/* ---- names ---- */

static bool is_letter_or_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_name_character(char c)
{
	return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

static bool is_name(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		if (!is_name_character(name.data[i]))
			return false;
	}
	return name.length > 0 && name.length <= APPLICATION_KEY_NAME_MAX &&
	       is_letter_or_digit(name.data[0]);
}

/* A name for a file that has none that can be used, so that it is listed: of its folder, or of its own name. */
static struct span make_name(const struct entry *entry)
{
	struct span rest = text_of(entry->document, "folder"), part = SPAN("");
	char *name;

	while (span_next_part(&rest, '/', &part))
		continue;
	if (part.length == 0)
		part = text_of(entry->document, "file");
	while (part.length > 0 && !is_letter_or_digit(part.data[0])) {
		part.data++;
		part.length--;
	}
	if (part.length > APPLICATION_KEY_NAME_MAX)
		part.length = APPLICATION_KEY_NAME_MAX;
	name = arena_copy(entry->found->arena, part.data, part.length);
	for (size_t i = 0; i < part.length; i++) {
		if (!is_name_character(name[i]))
			name[i] = '-';
	}
	return (struct span){name, part.length};
}

static void choose_name(struct entry *entry)
{
	struct span name = text_of(entry->document, "name");

	entry->name = name;
	if (is_name(name))
		return;
	if (entry->problem.length == 0) {
		entry->state = ORIGIN_INVALID_CONFIG;
		entry->problem =
			name.length == 0
				? arena_format(entry->found->arena, "%.*s: spec.name is missing",
					  SPAN_ARGS(file_path(entry)))
				: arena_format(entry->found->arena,
					  "%.*s: spec.name \"%.*s\" is not valid; use up to %d "
					  "letters, digits, -, _ and .",
					  SPAN_ARGS(file_path(entry)), SPAN_ARGS(name),
					  APPLICATION_KEY_NAME_MAX);
	}
	entry->name = make_name(entry);
}

/* ---- the application was known by another name ---- */

static int put_renamed(const struct entry *entry, struct err *err)
{
	struct arena *arena = entry->found->arena;
	struct span known = text_of(entry->document, "known");
	struct span key = application_key(arena, entry->repository->account, known);
	const struct store_view *head = store_head(entry->transaction);
	const struct store_object *origin = store_get(head, &origin_kind, key),
				  *application = store_get(head, &application_kind, key);
	struct origin_facts facts;
	struct json *document;
	int code;

	if (known.length == 0 || span_equal(known, entry->name) || !origin ||
		!span_equal(origin_facts(origin)->repository, entry->repository->id))
		return 0;
	if (application && application_facts(application)->deployment_count == 0) {
		code = store_delete(entry->transaction, &origin_kind, key, STORE_ANY, err);
		return code < 0 ? code
				: store_delete(entry->transaction, &application_kind, key,
					  STORE_ANY, err);
	}
	facts = *origin_facts(origin);
	facts.state = ORIGIN_MISSING;
	facts.seen = entry->commit;
	facts.file = SPAN("-"); /* the file belongs to the other one */
	document = json_new_object(arena);
	json_set_string(arena, document, "problem",
		arena_format(arena, "%.*s: spec.name is now \"%.*s\"", SPAN_ARGS(file_path(entry)),
			SPAN_ARGS(entry->name)));
	return origin_put(entry->transaction, key, json_to_text(document, arena), &facts,
		origin->revision, err);
}

/* ---- storing ---- */

/* Where the application is, of one that was not known. 1: it is not put. */
static int check_place(const struct entry *entry, const struct store_object *origin,
	const struct store_object *application)
{
	const struct origin_facts *facts = origin ? origin_facts(origin) : NULL;
	struct span known = text_of(entry->document, "known");

	if (application && application_facts(application)->is_deleting)
		return 1;
	if (!origin)
		/* It was deleted meanwhile. */
		return span_equal(known, entry->name) ||
		       !json_get_bool(entry->document, "found", false);
	if (span_equal(facts->repository, entry->repository->id) &&
		span_equal(facts->folder, text_of(entry->document, "folder")) &&
		span_equal(facts->file, text_of(entry->document, "file")))
		return 0;
	add_problem(entry, "application \"%.*s\" is already at %.*s%s%.*s%s",
		SPAN_ARGS(entry->name), SPAN_ARGS(facts->folder),
		facts->folder.length > 0 ? "/" : "", SPAN_ARGS(facts->file),
		span_equal(facts->repository, entry->repository->id) ? ""
								     : " of another repository");
	return 1;
}

static int put_new_application(const struct entry *entry, struct err *err)
{
	struct application_facts facts = {.current = SPAN(""),
		.succeeded = SPAN(""),
		.created_ms = entry->found->now_ms,
		.updated_ms = entry->found->now_ms};
	struct span prefix =
		arena_format(entry->found->arena, "%.*s/", SPAN_ARGS(entry->repository->account));

	if (store_count(store_head(entry->transaction), &application_kind, -1, prefix, false) >=
		APPLICATIONS_MAX) {
		add_problem(entry, "too many applications (limit %d)", APPLICATIONS_MAX);
		return 1;
	}
	return application_put(entry->transaction, entry->key, SPAN("{}"), &facts, STORE_ABSENT,
		err);
}

static int put_origin(const struct entry *entry, const struct store_object *origin, struct err *err)
{
	static const char *const members[] = {
		"kind", "description", "labels", "watched", "offFlow", "onChain"};
	const struct repository_facts *repository = entry->repository;
	struct arena *arena = entry->found->arena;
	struct json *document = json_new_object(arena);
	struct origin_facts facts = {.repository = repository->id,
		.folder = text_of(entry->document, "folder"),
		.file = text_of(entry->document, "file"),
		.region = repository->region,
		.target = repository->target,
		.role = repository->role,
		.is_found = true};

	if (origin)
		facts = *origin_facts(origin);
	facts.seen = entry->commit;
	facts.state = entry->state;
	for (size_t i = 0; i < LENGTH(members); i++)
		json_set(arena, document, members[i], json_get(entry->document, members[i]));
	if (entry->problem.length > 0)
		json_set_string(arena, document, "problem", entry->problem);
	return origin_put(entry->transaction, entry->key, json_to_text(document, arena), &facts,
		origin ? origin->revision : STORE_ABSENT, err);
}

/* ---- deployments ---- */

/* A user was faster, or it is what runs. */
static bool has_deployment(const struct entry *entry)
{
	const struct store_view *head = store_head(entry->transaction);
	struct store_cursor cursor = {.view = head,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN,
		.prefix = arena_format(entry->found->arena, "%.*s/", SPAN_ARGS(entry->key))};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN &&
			span_equal(deployment_facts(object)->commit, entry->commit))
			return true;
	}
	return span_equal(application_running_commit(head, entry->key), entry->commit);
}

/* -EBUSY: too many are queued. */
static int start_deployment(const struct entry *entry, struct err *err)
{
	struct arena *arena = entry->found->arena;
	const struct store_object *origin =
		store_get(store_head(entry->transaction), &origin_kind, entry->key);
	const struct origin_facts *facts = origin_facts(origin);
	struct deployment_request request = {.application = entry->key,
		.trigger = DEPLOYMENT_TRIGGER_COMMIT,
		.files = json_get(entry->document, "files"),
		.application_file = text_of(entry->document, "applicationFile"),
		.commit = entry->commit,
		.message = text_of(entry->found->poll, "message"),
		.flow = SPAN(""),
		.created_by = SPAN(""),
		.region = arena_copy_span(arena, facts->region),
		.target = arena_copy_span(arena, facts->target),
		.role = arena_copy_span(arena, facts->role),
		.token = arena_format(arena, "commit-%.*s", SPAN_ARGS(entry->commit)),
		.replaces_waiting = json_get_bool(entry->document, "replace", false),
		.changed = json_get(entry->document, "changed"),
		.now_ms = entry->found->now_ms,
		.random = entry->found->random};
	struct span id;
	int code = deployment_start(entry->transaction, &request, &id, err);

	return code < 0 ? code
			: deployment_log(entry->transaction, deployment_key(arena, entry->key, id),
				  SPAN(""),
				  arena_format(arena, "commit %.*s: %.*s", SPAN_ARGS(entry->commit),
					  SPAN_ARGS(text_of(entry->document, "because"))),
				  entry->found->now_ms, err);
}

static bool is_full(const struct entry *entry)
{
	return store_count(store_head(entry->transaction), &deployment_kind, DEPLOYMENT_OPEN,
		       arena_format(entry->found->arena, "%.*s/", SPAN_ARGS(entry->key)),
		       false) >= APPLICATION_DEPLOYMENTS_OPEN;
}

/* Only that it was seen. */
static int put_seen(const struct entry *entry, struct err *err)
{
	struct span key = application_key(entry->found->arena, entry->repository->account,
		text_of(entry->document, "known"));
	const struct store_object *origin =
		store_get(store_head(entry->transaction), &origin_kind, key);
	struct origin_facts facts;

	if (!origin || !span_equal(origin_facts(origin)->repository, entry->repository->id))
		return 0;
	facts = *origin_facts(origin);
	facts.seen = entry->commit;
	return origin_put(entry->transaction, key, origin->api, &facts, origin->revision, err);
}

int found_put(struct store_transaction *transaction, struct found *found,
	const struct json *application, struct err *err)
{
	struct entry entry = {.transaction = transaction,
		.found = found,
		.document = application,
		.repository = repository_facts(found->repository),
		.commit = text_of(found->poll, "commit"),
		.problem = text_of(application, "problem")};
	bool deploys = json_get_bool(application, "deploy", false);
	const struct store_view *head = store_head(transaction);
	const struct store_object *origin, *stored;
	int state = origin_state_find(text_of(application, "state")), code;

	if (json_get_bool(application, "unchanged", false))
		return put_seen(&entry, err);
	entry.state = state < 0 ? ORIGIN_UNKNOWN : (enum origin_state)state;
	if (!fact_text_is_plain(text_of(application, "folder")) ||
		!fact_text_is_plain(text_of(application, "file")))
		return add_problem(&entry, "the path has quotes or control characters");
	choose_name(&entry);
	entry.key = application_key(found->arena, entry.repository->account, entry.name);
	code = put_renamed(&entry, err);
	if (code < 0)
		return code;
	origin = store_get(head, &origin_kind, entry.key);
	stored = store_get(head, &application_kind, entry.key);
	if (check_place(&entry, origin, stored))
		return 0;
	/* It is not seen yet: the next poll tries again. */
	if (deploys && is_full(&entry))
		return 0;
	code = stored ? 0 : put_new_application(&entry, err);
	if (code != 0)
		return code < 0 ? code : 0;
	code = put_origin(&entry, origin, err);
	if (code >= 0 && deploys && entry.state == ORIGIN_VALID && !has_deployment(&entry))
		code = start_deployment(&entry, err);
	return code;
}
