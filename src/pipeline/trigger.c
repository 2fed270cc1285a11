/* See the header. */
#include "pipeline/trigger.h"

#include "base/memory.h"
#include "chart/glob.h"

/* Patterns of one list, compiled. */
struct patterns {
	struct arena *arena;
	const struct field_list *list; /* struct span */
	const struct glob **globs;     /* NULL: compared as it is */
};

static struct span behind(struct span text, size_t length)
{
	return (struct span){text.data + length, text.length - length};
}

static struct span without_slash(struct span text)
{
	while (text.length > 0 && text.data[text.length - 1] == '/')
		text.length--;
	return text;
}

static void patterns_open(struct patterns *patterns, const struct field_list *list,
	struct arena *arena)
{
	const struct span *texts = list->items;

	*patterns = (struct patterns){arena, list,
		arena_allocate_array(arena, list->count + 1, sizeof(*patterns->globs))};
	for (size_t i = 0; i < list->count; i++)
		patterns->globs[i] = glob_new(arena, without_slash(texts[i]));
}

static bool matches_pattern(const struct patterns *patterns, size_t index, struct span path)
{
	struct span text = without_slash(((const struct span *)patterns->list->items)[index]);
	const struct glob *glob = patterns->globs[index];

	if (span_equal(text, path) || (glob && glob_matches(glob, path)))
		return true;
	/* Also at the top: a slash in front of the path stands for no folder. */
	if (!span_starts_with(text, SPAN("**/")))
		return false;
	glob = glob_new(patterns->arena, behind(text, sizeof("**/") - 1));
	return glob && glob_matches(glob, path);
}

/* The path itself, or a folder above it. */
static bool matches(const struct patterns *patterns, struct span path)
{
	for (size_t length = 1; length <= path.length; length++) {
		if (length < path.length && path.data[length] != '/')
			continue;
		for (size_t i = 0; i < patterns->list->count; i++) {
			if (matches_pattern(patterns, i, (struct span){path.data, length}))
				return true;
		}
	}
	return false;
}

static bool is_below(struct span folder, struct span path)
{
	return folder.length == 0 ||
	       (span_starts_with(path, folder) && path.length > folder.length &&
		       path.data[folder.length] == '/');
}

bool trigger_on_commit(const struct application_trigger *trigger, struct span folder,
	const struct field_list *changed, struct span *ret_path)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct span *paths = changed->items;
	struct patterns wanted, ignored;

	if (!trigger->on_commit)
		return false;
	patterns_open(&wanted, &trigger->paths, arena);
	patterns_open(&ignored, &trigger->ignores, arena);
	for (size_t i = 0; i < changed->count; i++) {
		if ((is_below(folder, paths[i]) || matches(&wanted, paths[i])) &&
			!matches(&ignored, paths[i])) {
			*ret_path = paths[i];
			return true;
		}
	}
	return false;
}

bool trigger_on_out_of_sync(const struct application_trigger *trigger, bool is_out_of_sync,
	bool is_deploying, int64_t last_completed_ms, int64_t now_ms)
{
	return trigger->on_out_of_sync && is_out_of_sync && !is_deploying &&
	       (last_completed_ms == 0 ||
		       now_ms - last_completed_ms >= trigger->out_of_sync_window_ms);
}

bool trigger_skips_stage(const struct skip_on *skip_on, struct span message,
	const struct field_list *changed)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct span *prefixes = skip_on->commit_message_prefixes.items,
			  *paths = changed->items;
	struct patterns patterns;

	for (size_t i = 0; i < skip_on->commit_message_prefixes.count; i++) {
		if (span_starts_with(message, prefixes[i]))
			return true;
	}
	if (skip_on->paths.count == 0 || changed->count == 0)
		return false;
	/* All of them, so that a change of anything else is not skipped. */
	patterns_open(&patterns, &skip_on->paths, arena);
	for (size_t i = 0; i < changed->count; i++) {
		if (!matches(&patterns, paths[i]))
			return false;
	}
	return true;
}

/* Begin of the last paragraph. The subject has no trailers. */
static size_t find_last_paragraph(struct span message)
{
	while (message.length > 0 && message.data[message.length - 1] == '\n')
		message.length--;
	for (size_t at = message.length; at >= 2; at--) {
		if (message.data[at - 1] == '\n' && message.data[at - 2] == '\n')
			return at;
	}
	return message.length;
}

bool trigger_next_trailer(struct span message, struct span name, size_t *position,
	struct span *ret_value)
{
	size_t begin = find_last_paragraph(message);
	struct span rest, line, key;

	if (*position < begin)
		*position = begin;
	if (*position >= message.length)
		return false;
	rest = behind(message, *position);
	while (span_next_part(&rest, '\n', &line)) {
		*position = message.length - rest.length;
		if (span_split(line, ':', &key, &line) && span_equal_ignoring_case(key, name)) {
			*ret_value = span_trim(line);
			return true;
		}
	}
	return false;
}
