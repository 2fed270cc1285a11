/*
 * Output of git: what is read lies within the output and within the limits. The first byte chooses the command.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "pipeline/git_output.h"
#include "pipeline/trigger.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define CONTENTS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_within(struct span part, struct span whole)
{
	return part.length == 0 ||
	       (part.data >= whole.data && part.data + part.length <= whole.data + whole.length);
}

static void check_tree(struct span output, struct arena *arena)
{
	struct field_list list;
	const struct git_file *files;

	if (git_read_tree(output, arena, &list, NULL) < 0)
		return;
	files = list.items;
	for (size_t i = 0; i < list.count; i++) {
		CHECK(git_is_id(files[i].id) && files[i].path.length > 0);
		CHECK(lies_within(files[i].path, output));
	}
}

static void check_contents(struct span output, struct arena *arena)
{
	struct span contents[CONTENTS];
	struct field_list list;

	if (git_read_contents(output, "blob", contents, CONTENTS, NULL) == 0) {
		for (size_t i = 0; i < CONTENTS; i++)
			CHECK(lies_within(contents[i], output));
	}
	git_read_objects(output, arena, &list, NULL);
}

static void check_commit(struct span output, struct arena *arena)
{
	struct git_commit commit = {0};
	struct span value;
	size_t position = 0;

	if (git_read_commit(output, arena, &commit, NULL) < 0)
		return;
	/* JSON takes it as it is: valid UTF-8. */
	CHECK(span_equal(git_clean_text(commit.message, arena), commit.message));
	CHECK(span_equal(git_clean_text(commit.author, arena), commit.author));
	CHECK(commit.time_ms >= 0);
	while (trigger_next_trailer(commit.message, SPAN("A"), &position, &value))
		CHECK(lies_within(value, commit.message));
}

static void check_log(struct span output, struct arena *arena)
{
	struct field_list list;

	if (git_read_changes(output, arena, &list, NULL) == 0)
		CHECK(list.count <= output.length);
	/* The history in front of it, up to an empty line */
	for (size_t i = 1; i < output.length; i++) {
		if (output.data[i] != '\n' || output.data[i - 1] != '\n')
			continue;
		if (git_read_history((struct span){output.data, i}, arena, &list, NULL) == 0)
			git_read_log((struct span){output.data + i + 1, output.length - i - 1},
				arena, list.items, list.count, NULL);
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span output = {(const char *)data + 1, size - 1}, id, ids[2];
	const struct span branches[] = {SPAN("main"), SPAN("x")};

	if (size == 0)
		return 0;
	switch (data[0]) {
	case 't': check_tree(output, arena); break;
	case 'c': check_contents(output, arena); break;
	case 'm': check_commit(output, arena); break;
	case 'l': check_log(output, arena); break;
	case 'h': git_read_heads(output, branches, LENGTH(branches), ids, NULL); break;
	default: git_read_id(output, &id, NULL); break;
	}
	return 0;
}
