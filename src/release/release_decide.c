#include "release/release_decide.h"

#include "base/memory.h"

/* The newest of the Release's own; those of an earlier Release of this name do not count. */
static const struct release_history *find_newest(const struct release_histories *histories)
{
	for (size_t i = histories->count; i > 0; i--)
		if (histories->items[i - 1].owned)
			return &histories->items[i - 1];
	return NULL;
}

static const struct release_history *find_owned(const struct release_histories *histories,
	int64_t version)
{
	const struct release_history *history = release_histories_find(histories, version);

	return history && history->owned ? history : NULL;
}

static const struct release_history *find_before(const struct release_histories *histories,
	int64_t version)
{
	for (size_t i = histories->count; i > 0; i--)
		if (histories->items[i - 1].owned && histories->items[i - 1].version < version)
			return &histories->items[i - 1];
	return NULL;
}

static void decide_rollback(struct arena *arena, const struct release_snapshot *release,
	const struct release_histories *histories, struct release_decision *ret_decision)
{
	const struct release_history *history =
		release->roll_back_to == 0 ? find_before(histories, release->version)
					   : find_owned(histories, release->roll_back_to);

	if (!history) {
		ret_decision->failure.reason = "VersionNotFound";
		ret_decision->failure.message =
			release->roll_back_to == 0
				? arena_format(arena, "there is no version before version %lld",
					  (long long)release->version)
				: arena_format(arena, "there is no version %lld in the history",
					  (long long)release->roll_back_to);
		return;
	}
	ret_decision->history = history;
	ret_decision->version = history->version;
	/* The version is written down first, because "the one before" changes with the next step. */
	if (release->roll_back_to == 0 || !release_source_equal(&release->source, &history->source))
		ret_decision->step = RELEASE_RESTORE;
	else if (release->version != history->version)
		ret_decision->step = RELEASE_RECORD;
	else
		ret_decision->step = RELEASE_CLEAR_ROLLBACK;
}

static void decide_version(const struct release_snapshot *release,
	const struct release_histories *histories, struct release_decision *ret_decision)
{
	const struct release_history *current = find_owned(histories, release->version);
	const struct release_history *newest = find_newest(histories);

	if (current && release_source_equal(&release->source, &current->source)) {
		ret_decision->version = current->version;
		ret_decision->history = current;
		if (release->manifest.length == 0)
			ret_decision->step = RELEASE_RECORD;
		return;
	}
	if (newest && newest->version > release->version &&
		release_source_equal(&release->source, &newest->source)) {
		ret_decision->step = RELEASE_RECORD;
		ret_decision->version = newest->version;
		ret_decision->history = newest;
		return;
	}
	ret_decision->step = RELEASE_RENDER;
	ret_decision->version =
		newest && newest->version > release->version ? newest->version : release->version;
	ret_decision->version++;
}

void release_decide(struct arena *arena, const struct release_snapshot *release,
	const struct release_histories *histories, struct release_decision *ret_decision)
{
	*ret_decision = (struct release_decision){.step = RELEASE_APPLY};
	if (release->rolls_back)
		decide_rollback(arena, release, histories, ret_decision);
	else
		decide_version(release, histories, ret_decision);
}

const struct release_history **release_excess_histories(struct arena *arena,
	const struct release_snapshot *release, const struct release_histories *histories,
	size_t *ret_count)
{
	const struct release_history **excess =
		arena_allocate_array(arena, histories->count + 1, sizeof(*excess));
	const struct release_history *newest = find_newest(histories);
	size_t count = 0;

	for (size_t i = 0; newest && i < histories->count; i++) {
		const struct release_history *history = &histories->items[i];

		if (history->owned && history->version != release->version &&
			history->version <= newest->version - release->history_limit)
			excess[count++] = history;
	}
	*ret_count = count;
	return excess;
}

const char *release_progress_reason(const struct release_snapshot *release, int64_t newest_version)
{
	if (release->version < newest_version)
		return "Rollbacking";
	return release->version <= 1 ? "Creating" : "Updating";
}

size_t release_json_size(struct span text)
{
	size_t size = 2;

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t')
			size += 2;
		else if (c < 0x20)
			size += 6;
		/* Go's encoder, which the API server uses, writes these as \uXXXX. */
		else if (c == '<' || c == '>' || c == '&')
			size += 6;
		else
			size++;
	}
	return size;
}

int release_check_size(const struct release_source *source, struct span manifest, struct err *err)
{
	size_t template_size = release_json_size(source->template_text);
	size_t config_size = release_json_size(source->config);
	size_t manifest_size = release_json_size(manifest);

	if (template_size + config_size + manifest_size <= RELEASE_OBJECT_MAX)
		return 0;
	return err_set(err, -EFBIG,
		"too large for one Kubernetes object (limit %zu bytes as JSON): template %zu, "
		"config %zu, "
		"manifest %zu",
		RELEASE_OBJECT_MAX, template_size, config_size, manifest_size);
}
