/* See the header. */
#include "pipeline/script.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "pipeline/git_output.h"

#define FOLDER_MODE 0700
#define FILE_MODE 0700
#define DEPTH_MAX 64
#define NAME_MAX_BYTES 255
#define FIXED_VARIABLES 12
#define OPEN_FILES_MAX 1024

/* ---- environment ---- */

static bool is_name(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (c != '_' && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
			(i == 0 || !(c >= '0' && c <= '9')))
			return false;
	}
	return name.length > 0;
}

/* SR_LABELS_ and the name in capitals, as PipeCD does. */
static struct span label_name(struct arena *arena, struct span name)
{
	char *copy = arena_copy(arena, name.data, name.length);

	for (size_t i = 0; i < name.length; i++) {
		if (copy[i] >= 'a' && copy[i] <= 'z')
			copy[i] = (char)(copy[i] - 'a' + 'A');
		else if (copy[i] == '-' || copy[i] == '.' || copy[i] == '/')
			copy[i] = '_';
	}
	return arena_format(arena, "SR_LABELS_%s", copy);
}

struct variables {
	struct arena *arena;
	const char **list;
	size_t count;
};

static void add_variable(struct variables *variables, struct span name, struct span value)
{
	struct span own = {name.data, name.length};

	/* A NUL would end the text, a name that is none would be another variable. */
	if (!is_name(own) || memchr(value.data, '\0', value.length))
		return;
	for (size_t i = 0; i < variables->count; i++) {
		if (strncmp(variables->list[i], name.data, name.length) == 0 &&
			variables->list[i][name.length] == '=')
			return;
	}
	variables->list[variables->count++] =
		arena_format(variables->arena, "%.*s=%.*s", SPAN_ARGS(name), SPAN_ARGS(value)).data;
}

const char *const *script_environment(const struct script_context *context,
	const struct field_list *variables, struct arena *arena)
{
	size_t label_count = context->labels ? context->labels->count : 0;
	const struct field_pair *labels = label_count > 0 ? context->labels->items : NULL,
				*pairs = variables->items;
	struct variables made = {.arena = arena,
		.list = arena_allocate_array(arena,
			FIXED_VARIABLES + label_count + variables->count + 1, sizeof(char *))};
	const char *path = getenv("PATH");
	char time[CLOCK_ISO_SIZE];

	clock_format_iso(context->triggered_ms, time);
	add_variable(&made, SPAN("PATH"), span_of(path ? path : "/usr/local/bin:/usr/bin:/bin"));
	add_variable(&made, SPAN("LANG"), SPAN("C.UTF-8"));
	add_variable(&made, SPAN("SR_DEPLOYMENT_ID"), context->deployment);
	add_variable(&made, SPAN("SR_APPLICATION_ID"), context->application);
	add_variable(&made, SPAN("SR_APPLICATION_NAME"), context->application);
	add_variable(&made, SPAN("SR_TRIGGERED_AT"), span_of(time));
	add_variable(&made, SPAN("SR_TRIGGERED_COMMIT_HASH"), context->commit);
	add_variable(&made, SPAN("SR_TRIGGERED_COMMANDER"), context->user);
	add_variable(&made, SPAN("SR_SUMMARY"), context->summary);
	add_variable(&made, SPAN("SR_IS_ROLLBACK"),
		context->is_rollback ? SPAN("true") : SPAN("false"));
	for (size_t i = 0; i < label_count; i++)
		add_variable(&made, label_name(arena, labels[i].name), labels[i].value);
	for (size_t i = 0; i < variables->count; i++)
		add_variable(&made, pairs[i].name, pairs[i].value);
	return made.list;
}

/* ---- folder ---- */

/* Opens the folder of a file, making what is missing; nothing in it is a link, because it is new. */
static int open_parent(int folder, struct span *path, struct err *err)
{
	int parent = dup(folder), depth = 0;
	struct span name, rest;

	while (parent >= 0 && span_split(*path, '/', &name, &rest)) {
		_free_ char *part = memory_copy_string_n(name.data, name.length);
		int child = -1;

		if (name.length == 0 || name.length > NAME_MAX_BYTES || strcmp(part, ".") == 0 ||
			strcmp(part, "..") == 0 || ++depth > DEPTH_MAX) {
			memory_close_descriptor(&parent);
			return err_set(err, -EINVAL, "bad path of a file");
		}
		if (mkdirat(parent, part, FOLDER_MODE) == 0 || errno == EEXIST)
			child = openat(parent, part,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		memory_close_descriptor(&parent);
		parent = child;
		*path = rest;
	}
	return parent >= 0 ? parent : err_errno(err, "make a folder for files");
}

static int write_all(int fd, struct span text, struct err *err)
{
	while (text.length > 0) {
		ssize_t written = write(fd, text.data, text.length);

		if (written < 0 && errno != EINTR)
			return err_errno(err, "write");
		if (written > 0)
			text = (struct span){text.data + written, text.length - (size_t)written};
	}
	return 0;
}

static int write_file(int folder, struct span path, struct span text, struct err *err)
{
	struct span name = path;
	_close_ int parent = open_parent(folder, &name, err), fd = -1;
	_free_ char *copy = memory_copy_string_n(name.data, name.length);
	int code = parent < 0 ? parent : 0;

	if (code >= 0 &&
		(name.length == 0 || name.length > NAME_MAX_BYTES || strcmp(copy, ".") == 0 ||
			strcmp(copy, "..") == 0 || memchr(path.data, '\0', path.length)))
		code = err_set(err, -EINVAL, "bad path of a file");
	if (code >= 0) {
		fd = openat(parent, copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);
		code = fd < 0 ? err_errno(err, "create") : write_all(fd, text, err);
	}
	return code < 0 ? err_prefix(err, code, "file \"%.*s\" of a script", SPAN_ARGS(path)) : 0;
}

int script_make_folder(const struct json *files, struct arena *arena, const char **ret_folder,
	struct err *err)
{
	const char *base = getenv("TMPDIR");
	char *folder = arena_copy_string(arena,
		arena_format(arena, "%s/slipway-script-XXXXXX", base ? base : "/tmp").data);
	_close_ int descriptor = -1;
	int code = 0;

	if (!mkdtemp(folder))
		return err_errno(err, "make a folder for a script");
	descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		code = err_errno(err, "open %s", folder);
	for (size_t i = 0; code >= 0 && json_is(files, JSON_OBJECT) && i < files->object.count;
		i++) {
		const struct json_member *member = &files->object.members[i];

		if (member->value->type == JSON_STRING)
			code = write_file(descriptor, member->name, member->value->text, err);
	}
	if (code < 0)
		script_remove_folder(folder);
	else
		*ret_folder = folder;
	return code;
}

static void remove_entries(int parent, const char *name, int depth)
{
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	const struct dirent *entry;

	if (!entries) {
		memory_close_descriptor(&folder);
		return;
	}
	while ((entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(folder, entry->d_name, 0) == 0 || depth > 2 * DEPTH_MAX)
			continue;
		remove_entries(folder, entry->d_name, depth + 1);
		unlinkat(folder, entry->d_name, AT_REMOVEDIR);
	}
	closedir(entries);
}

void script_remove_folder(const char *folder)
{
	if (!folder)
		return;
	remove_entries(AT_FDCWD, folder, 0);
	rmdir(folder);
}

/* ---- running ---- */

/* The last lines of both outputs. */
static void add_lines(struct span output, struct arena *arena, struct field_list *lines)
{
	size_t count = 0, skipped;
	struct span rest = output, line;

	while (span_next_part(&rest, '\n', &line))
		count++;
	skipped = count > SCRIPT_LINES_MAX ? count - SCRIPT_LINES_MAX : 0;
	while (span_next_part(&output, '\n', &line)) {
		if (skipped > 0)
			skipped--;
		else
			*(struct span *)fields_append(arena, lines, sizeof(line)) =
				git_clean_text(line, arena);
	}
}

static struct span failure_of(const struct child_result *result, int64_t timeout_ms,
	struct arena *arena)
{
	if (result->timed_out)
		return arena_format(arena, "timed out after %lld s", (long long)timeout_ms / 1000);
	if (result->signal)
		return arena_format(arena, "ended by signal %d", result->signal);
	return result->exit_code == 0 ? SPAN("")
				      : arena_format(arena, "exit code %d", result->exit_code);
}

int script_run(const struct child_operations *children, const struct script *script,
	struct arena *arena, struct script_result *ret_result, struct err *err)
{
	_child_result_ struct child_result result = {0};
	struct child_request request = {
		.arguments = (const char *const[]){"sh", "-c", script->command, NULL},
		.environment = script->environment,
		.output_max = SCRIPT_OUTPUT_MAX,
		.timeout_ms = script->timeout_ms,
		.cancel = script->cancel,
		.open_files_max = OPEN_FILES_MAX,
	};
	struct script_result made = {0};
	const char *folder;
	int code = script_make_folder(script->files, arena, &folder, err);

	if (code < 0)
		return code;
	request.folder = folder;
	code = child_run(children, &request, &result, err);
	script_remove_folder(folder);
	if (code < 0)
		return code;
	if (result.cancelled)
		return err_set(err, -ECANCELED, "the script was cancelled");
	made.failure = failure_of(&result, script->timeout_ms, arena);
	made.succeeded = made.failure.length == 0;
	add_lines(buffer_span(&result.output), arena, &made.lines);
	add_lines(buffer_span(&result.errors), arena, &made.lines);
	*ret_result = made;
	return 0;
}
