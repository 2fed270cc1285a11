#include "release/release_snapshot.h"

#include "base/memory.h"
#include "release/release_names.h"

static struct span text_or_empty(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static struct release_source read_source(const struct json *spec)
{
	const struct json *naming = json_get(spec, "naming");

	return (struct release_source){
		.template_text = text_or_empty(spec, "template"),
		.config = text_or_empty(spec, "config"),
		.naming = json_is(naming, JSON_OBJECT) && json_count(naming) > 0 ? naming : NULL,
	};
}

int release_snapshot_read(struct arena *arena, const struct json *object,
	struct release_snapshot *ret_release, struct err *err)
{
	const struct json *metadata = json_get(object, "metadata"),
			  *spec = json_get(object, "spec");
	const struct json *status = json_get(object, "status");
	const struct json *roll_back = json_get(spec, "rollbackTo");
	struct release_snapshot release = {
		.namespace = text_or_empty(metadata, "namespace"),
		.name = text_or_empty(metadata, "name"),
		.uid = text_or_empty(metadata, "uid"),
		.resource_version = text_or_empty(metadata, "resourceVersion"),
		.generation = json_get_integer(metadata, "generation", 0),
		.deleting = json_get_text(metadata, "deletionTimestamp").length > 0,
		.source = read_source(spec),
		.description = text_or_empty(spec, "description"),
		.suspend = json_get_bool(spec, "suspend", false),
		.rolls_back = json_is(roll_back, JSON_OBJECT),
		.roll_back_to = json_get_integer(roll_back, "version", 0),
		.history_limit = json_get_integer(spec, "historyLimit", RELEASE_HISTORY_LIMIT),
		.version = json_get_integer(status, "version", 0),
		.applied_version = json_get_integer(status, "appliedVersion", 0),
		.manifest = text_or_empty(status, "manifest"),
		.status = status,
	};

	(void)arena;
	if (release.name.length == 0 || release.uid.length == 0)
		return err_set(err, -EINVAL, "a Release has no name or no uid");
	if (release.source.template_text.length == 0)
		return err_set(err, -EINVAL, "spec.template is empty");
	if (release.history_limit < 1)
		release.history_limit = 1;
	*ret_release = release;
	return 0;
}

bool release_is_owned_by(const struct json *object, struct span uid, size_t *ret_count)
{
	const struct json *owners = json_get(json_get(object, "metadata"), "ownerReferences");
	bool found = false;

	JSON_EACH_ITEM (owners, owner)
		found = found || span_equal(json_get_text(owner, "uid"), uid);
	if (ret_count)
		*ret_count = json_array_count(owners);
	return found;
}

static int compare_versions(const void *a, const void *b)
{
	int64_t first = ((const struct release_history *)a)->version;
	int64_t second = ((const struct release_history *)b)->version;

	return first < second ? -1 : first > second;
}

void release_histories_read(struct arena *arena, const struct json *items,
	const struct release_snapshot *release, struct release_histories *ret_histories)
{
	struct release_history *histories =
		arena_allocate_array(arena, json_array_count(items) + 1, sizeof(*histories));
	size_t count = 0;

	JSON_EACH_ITEM (items, item) {
		const struct json *metadata = json_get(item, "metadata");
		const struct json *spec = json_get(item, "spec");
		struct span label = json_get_text(json_get(metadata, "labels"), RELEASE_LABEL);

		if (!span_equal(label, release->name) || json_get_integer(spec, "version", 0) < 1)
			continue;
		histories[count++] = (struct release_history){
			.name = text_or_empty(metadata, "name"),
			.uid = text_or_empty(metadata, "uid"),
			.version = json_get_integer(spec, "version", 0),
			.source = read_source(spec),
			.description = text_or_empty(spec, "description"),
			.manifest = text_or_empty(spec, "manifest"),
			.owned = release_is_owned_by(item, release->uid, NULL),
		};
	}
	qsort(histories, count, sizeof(*histories), compare_versions);
	*ret_histories = (struct release_histories){histories, count};
}

const struct release_history *release_histories_find(const struct release_histories *histories,
	int64_t version)
{
	for (size_t i = 0; i < histories->count; i++)
		if (histories->items[i].version == version)
			return &histories->items[i];
	return NULL;
}

/* Configurations that are no JSON are compared as text. */
static bool is_same_config(struct span a, struct span b)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *first, *second;

	if (span_equal(a, b))
		return true;
	if (json_parse(a, arena, &first, NULL) < 0 || json_parse(b, arena, &second, NULL) < 0)
		return false;
	return json_equal(first, second);
}

bool release_source_equal(const struct release_source *a, const struct release_source *b)
{
	if (!span_equal(a->template_text, b->template_text) ||
		!is_same_config(a->config, b->config))
		return false;
	if (!a->naming || !b->naming)
		return !a->naming && !b->naming;
	return json_equal(a->naming, b->naming);
}
