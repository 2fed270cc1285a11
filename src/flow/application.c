/* See the header. */
#include "flow/application.h"

#include "base/json.h"
#include "pipeline/origin.h"
#include "pipeline/trigger.h"

#define COMMIT_LENGTH 40
#define COMMIT_LENGTH_SHA256 64

/* ---- applications ---- */

static struct field_list *read_labels(struct arena *arena, const struct json *document)
{
	struct field_list *list = arena_allocate(arena, sizeof(*list));
	const struct json *labels = json_get(document, "labels");

	for (size_t i = 0; json_is(labels, JSON_OBJECT) && i < labels->object.count; i++) {
		struct field_pair *pair = fields_append(arena, list, sizeof(*pair));

		pair->name = labels->object.members[i].name;
		pair->value = json_text(labels->object.members[i].value);
	}
	return list;
}

void flow_application_read(const struct store_view *view, const struct store_object *application,
	bool with_labels, struct arena *arena, struct flow_application *ret_application)
{
	const struct application_facts *facts = application_facts(application);
	const struct store_object *origin = store_get(view, &origin_kind, application->key);
	struct json *document = NULL;

	if ((with_labels || origin) &&
		json_parse(origin ? origin->api : application->api, arena, &document, NULL) < 0)
		document = NULL;
	*ret_application = (struct flow_application){.id = application->key,
		.name = facts->name,
		.kind = facts->kind,
		.on_flow = !facts->is_off_flow,
		.on_chain = facts->is_on_chain};
	if (with_labels)
		ret_application->labels = read_labels(arena, document);
	if (!origin || !json_get(document, "kind"))
		return;
	ret_application->kind = json_get_text(document, "kind");
	ret_application->on_flow = !json_get_bool(document, "offFlow", false);
	ret_application->on_chain = json_get_bool(document, "onChain", false);
}

/* ---- commits ---- */

bool flow_commit_is_full(struct span commit)
{
	if (commit.length != COMMIT_LENGTH && commit.length != COMMIT_LENGTH_SHA256)
		return false;
	for (size_t i = 0; i < commit.length; i++) {
		char c = commit.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
	}
	return true;
}

/* "shop" of "https://example.com/shop.git". */
static struct span repository_name(struct span url)
{
	struct span name = url, rest = url;

	while (span_next_part(&rest, '/', &name))
		continue;
	if (span_ends_with(name, SPAN(".git")))
		name.length -= 4;
	return name;
}

/* Flow-Commit: APPLICATION=COMMIT, or REPOSITORY=COMMIT. The application's own wins. */
static bool find_trailer(struct span message, struct span application, struct span url,
	struct span *ret_commit)
{
	struct span value, key, commit, name = SPAN(""), account;
	size_t position = 0;
	bool is_found = false;

	span_split(application, '/', &account, &name);
	while (trigger_next_trailer(message, SPAN("Flow-Commit"), &position, &value)) {
		bool is_own;

		if (!span_split(value, '=', &key, &commit))
			continue;
		key = span_trim(key);
		is_own = span_equal(key, name);
		if (!is_own && !span_equal(key, url) && !span_equal(key, repository_name(url)))
			continue;
		*ret_commit = span_trim(commit);
		is_found = true;
		if (is_own)
			return true;
	}
	return is_found;
}

struct span flow_application_branch_commit(const struct store_view *view, struct span application,
	struct arena *arena)
{
	const struct store_object *repository = NULL;

	if (!origin_find(view, application, arena, &repository) || !repository)
		return SPAN("");
	return repository_facts(repository)->commit;
}

bool flow_application_find_commit(const struct store_view *view, struct span application,
	struct span head, struct span commit, struct span message, struct arena *arena,
	struct span *ret_commit, enum flow_commit_source *ret_source)
{
	const struct store_object *repository = NULL, *head_repository = NULL;

	if (!origin_find(view, application, arena, &repository) || !repository)
		return false;
	origin_find(view, head, arena, &head_repository);
	if (find_trailer(message, application, repository_facts(repository)->url, ret_commit)) {
		*ret_source = FLOW_COMMIT_FROM_TRAILER;
	} else if (head_repository && flow_commit_is_full(commit) &&
		   span_equal(repository_facts(repository)->url,
			   repository_facts(head_repository)->url) &&
		   span_equal(repository_facts(repository)->branch,
			   repository_facts(head_repository)->branch)) {
		*ret_commit = commit;
		*ret_source = FLOW_COMMIT_FROM_HEAD;
	} else {
		*ret_commit = repository_facts(repository)->commit;
		*ret_source = FLOW_COMMIT_FROM_BRANCH;
	}
	return true;
}
