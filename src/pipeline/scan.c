/* See the header. */
#include "pipeline/scan.h"

#include "base/memory.h"
#include "base/yaml.h"

#define PLATFORM_FOLDER ".pipe/" /* of PipeCD's own files, which are no applications */

/* ---- finding ---- */

static void split_path(struct span path, struct span *ret_folder, struct span *ret_file)
{
	const char *slash = memrchr(path.data, '/', path.length);

	*ret_folder = slash ? (struct span){path.data, (size_t)(slash - path.data)} : SPAN("");
	*ret_file = slash ? (struct span){slash + 1, path.length - (size_t)(slash - path.data) - 1}
			  : path;
}

int scan_find(const struct repository *repository, struct span commit, struct span folder,
	struct arena *arena, struct field_list *ret_places, struct err *err)
{
	struct field_list places = {0}, list;
	const struct git_file *files;
	int code = repository_list(repository, commit, folder, arena, &list, err);

	if (code < 0)
		return code;
	files = list.items;
	for (size_t i = 0; i < list.count; i++) {
		struct scan_place place;

		if (files[i].kind != GIT_FILE ||
			!span_ends_with(files[i].path, SPAN(SCAN_SUFFIX)) ||
			span_starts_with(files[i].path, SPAN(PLATFORM_FOLDER)))
			continue;
		split_path(files[i].path, &place.folder, &place.file);
		*(struct scan_place *)fields_append(arena, &places, sizeof(place)) = place;
	}
	*ret_places = places;
	return 0;
}

/* ---- reading ---- */

/* One application while it is read. */
struct reading {
	struct arena *arena;
	const struct scan_place *place;
	struct scan_result *result;
	struct span text;        /* of the application file; data NULL: there is none */
	struct field_list named; /* struct span: other files, as the application names them */
	size_t required;         /* the first ones; the others are there for its commands */
	size_t first;            /* of them among the files of all applications */
};

__attribute__((format(printf, 3, 4))) static void set_problem(struct reading *reading,
	enum origin_state state, const char *format, ...)
{
	va_list list;

	if (reading->result->problem.length > 0)
		return;
	va_start(list, format);
	reading->result->problem = arena_format_list(reading->arena, format, list);
	va_end(list);
	reading->result->state = state;
}

/* A path relative to the folder, in the repository. */
static int find_path(struct reading *reading, struct span path, struct span *ret_path,
	struct err *err)
{
	return repository_join(reading->place->folder, path, reading->arena, ret_path, err);
}

/* "web/task.yaml:3: …" of a message that begins with a path relative to the folder. */
static void set_file_problem(struct reading *reading, const struct err *err)
{
	struct span folder = reading->place->folder;

	set_problem(reading, ORIGIN_INVALID_CONFIG, "%.*s%s%s", SPAN_ARGS(folder),
		folder.length > 0 ? "/" : "", err->message);
}

/* The only application file of a folder without an app.pipecd.yaml. */
static int find_only_file(const struct repository *repository, struct span commit,
	struct reading *reading, struct err *err)
{
	struct field_list places;
	const struct scan_place *items;
	size_t found = 0;
	int code =
		scan_find(repository, commit, reading->place->folder, reading->arena, &places, err);

	if (code < 0)
		return code;
	items = places.items;
	for (size_t i = 0; i < places.count; i++) {
		if (!span_equal(items[i].folder, reading->place->folder))
			continue;
		reading->result->file = items[i].file;
		found++;
	}
	if (found == 1)
		return 1;
	set_problem(reading, ORIGIN_MISSING,
		found == 0 ? "folder \"%.*s\" has no application file (" BUNDLE_FILE_DEFAULT ")"
			   : "folder \"%.*s\" has several application files and "
			     "no " BUNDLE_FILE_DEFAULT "; choose one of them",
		SPAN_ARGS(reading->place->folder));
	return 0;
}

static int read_application_file(const struct repository *repository, struct span commit,
	struct reading *reading, const struct repository_file *read, struct err *err)
{
	struct repository_file other;
	struct span path;
	int code;

	if (read->content.data) {
		reading->text = read->content;
		return 0;
	}
	if (reading->place->file.length > 0) {
		set_problem(reading, ORIGIN_MISSING, "%.*s", SPAN_ARGS(read->problem));
		return 0;
	}
	code = find_only_file(repository, commit, reading, err);
	if (code <= 0)
		return code;
	code = find_path(reading, reading->result->file, &path, err);
	if (code >= 0)
		code = repository_read_each(repository, commit, &path, 1, reading->arena, &other,
			err);
	if (code < 0)
		return code;
	reading->text = other.content;
	if (!other.content.data)
		set_problem(reading, ORIGIN_MISSING, "%.*s", SPAN_ARGS(other.problem));
	return 0;
}

/* Of a file that has an error in another place. */
static struct span find_name(const struct reading *reading)
{
	struct json *document;
	struct span name;

	if (yaml_parse_kubernetes(reading->text, 1, reading->arena, &document, NULL) < 0)
		return SPAN("");
	name = json_text(fields_find(fields_find(document, "spec"), "name"));
	return name.data ? name : SPAN("");
}

static bool has_commands(const struct application *application)
{
	const struct stage *stages = application_stages(application);

	for (size_t i = 0; i < application->stages.count; i++) {
		if (stages[i].kind == STAGE_SCRIPT_RUN || stages[i].options.commands.count > 0)
			return true;
	}
	return false;
}

static bool is_named(const struct reading *reading, struct span name)
{
	const struct span *named = reading->named.items;

	for (size_t i = 0; i < reading->named.count; i++) {
		if (span_equal(named[i], name))
			return true;
	}
	return span_equal(reading->result->file, name);
}

/* Everything below the folder of an application that runs commands: they may use it. */
static int add_folder(const struct repository *repository, struct span commit,
	struct reading *reading, struct err *err)
{
	struct span folder = reading->place->folder;
	size_t skipped = folder.length > 0 ? folder.length + 1 : 0;
	const struct git_file *files;
	struct field_list list;
	int code;

	if (!reading->result->application || !has_commands(reading->result->application))
		return 0;
	code = repository_list(repository, commit, folder, reading->arena, &list, err);
	if (code < 0)
		return code;
	files = list.items;
	for (size_t i = 0; i < list.count; i++) {
		struct span name = {files[i].path.data + skipped, files[i].path.length - skipped};

		if (files[i].kind != GIT_FILE || is_named(reading, name))
			continue;
		if (reading->named.count + 1 >= BUNDLE_FILES_MAX) {
			set_problem(reading, ORIGIN_INVALID_CONFIG,
				"folder \"%.*s\" has more than %d files, which the application's "
				"commands would get",
				SPAN_ARGS(folder), BUNDLE_FILES_MAX);
			return 0;
		}
		*(struct span *)fields_append(reading->arena, &reading->named, sizeof(name)) = name;
	}
	return 0;
}

static void load_application(struct reading *reading)
{
	struct application *application;
	struct err err = {0};

	if (!reading->text.data)
		return;
	if (application_load(reading->result->file, reading->text, reading->arena, &application,
		    &err) < 0) {
		reading->result->name = find_name(reading);
		set_file_problem(reading, &err);
		return;
	}
	reading->result->application = application;
	reading->result->name = application->name;
	bundle_list_paths(application, reading->arena, &reading->named);
	reading->required = reading->named.count;
	if (reading->named.count + 1 > BUNDLE_FILES_MAX) {
		set_problem(reading, ORIGIN_INVALID_CONFIG,
			"the application names more than %d files", BUNDLE_FILES_MAX - 1);
		reading->named.count = 0;
	}
}

static void add_file(struct reading *reading, struct json *files, struct span name,
	struct span path, struct span content)
{
	json_set_string(reading->arena, files, arena_copy(reading->arena, name.data, name.length),
		content);
	*(struct span *)fields_append(reading->arena, &reading->result->paths, sizeof(path)) = path;
	reading->result->bytes += name.length + content.length;
}

static void load_bundle(struct reading *reading, const struct span *paths,
	const struct repository_file *read)
{
	const struct span *named = reading->named.items;
	struct json *files = json_new_object(reading->arena);
	const struct field_note *note;
	struct bundle bundle;
	struct err err = {0};
	struct span path;

	if (!reading->result->application || reading->result->problem.length > 0 ||
		find_path(reading, reading->result->file, &path, NULL) < 0)
		return;
	note = &reading->result->application->undeployable;
	add_file(reading, files, reading->result->file, path, reading->text);
	for (size_t i = 0; i < reading->named.count; i++) {
		if (read[i].content.data)
			add_file(reading, files, named[i], paths[i], read[i].content);
		else if (i < reading->required)
			set_problem(reading, ORIGIN_INVALID_CONFIG, "%.*s",
				SPAN_ARGS(read[i].problem));
	}
	if (note->text.data)
		set_problem(reading, ORIGIN_UNDEPLOYABLE, "%.*s:%u: %.*s", SPAN_ARGS(path),
			note->line, SPAN_ARGS(note->text));
	if (reading->result->bytes > BUNDLE_BYTES_MAX)
		set_problem(reading, ORIGIN_INVALID_CONFIG,
			"the files have %zu bytes, more than %d", reading->result->bytes,
			BUNDLE_BYTES_MAX);
	if (reading->result->problem.length == 0 &&
		bundle_load(files, reading->result->file, reading->arena, &bundle, &err) < 0)
		set_file_problem(reading, &err);
	if (reading->result->problem.length > 0)
		return;
	reading->result->state = ORIGIN_VALID;
	reading->result->files = files;
}

static int read_application_files(const struct repository *repository, struct span commit,
	struct reading *readings, size_t count, struct arena *arena, struct err *err)
{
	struct repository_file *read = arena_allocate_array(arena, count + 1, sizeof(*read));
	struct span *paths = arena_allocate_array(arena, count + 1, sizeof(*paths));
	int code = 0;

	for (size_t i = 0; i < count && code >= 0; i++)
		code = find_path(&readings[i], readings[i].result->file, &paths[i], err);
	if (code >= 0)
		code = repository_read_each(repository, commit, paths, count, arena, read, err);
	for (size_t i = 0; i < count && code >= 0; i++) {
		code = read_application_file(repository, commit, &readings[i], &read[i], err);
		if (code < 0)
			break;
		load_application(&readings[i]);
		code = add_folder(repository, commit, &readings[i], err);
	}
	return code < 0 ? code : 0;
}

static int read_named_files(const struct repository *repository, struct span commit,
	struct reading *readings, size_t count, struct arena *arena, struct err *err)
{
	struct repository_file *read;
	struct field_list paths = {0};
	int code;

	for (size_t i = 0; i < count; i++) {
		const struct span *named = readings[i].named.items;

		readings[i].first = paths.count;
		for (size_t k = 0; k < readings[i].named.count; k++) {
			struct span *path = fields_append(arena, &paths, sizeof(*path));
			struct err failure = {0};

			/* A path that leaves the repository is like a missing one. */
			*path = SPAN(".");
			if (find_path(&readings[i], named[k], path, &failure) < 0)
				set_file_problem(&readings[i], &failure);
		}
	}
	read = arena_allocate_array(arena, paths.count + 1, sizeof(*read));
	code = repository_read_each(repository, commit, paths.items, paths.count, arena, read, err);
	for (size_t i = 0; i < count && code >= 0; i++) {
		const struct span *first =
			paths.count > 0 ? (const struct span *)paths.items + readings[i].first
					: NULL;

		load_bundle(&readings[i], first, read + readings[i].first);
	}
	return code < 0 ? code : 0;
}

int scan_read(const struct repository *repository, struct span commit,
	const struct scan_place *places, size_t count, struct arena *arena,
	struct scan_result *ret_results, struct err *err)
{
	struct reading *readings = arena_allocate_array(arena, count + 1, sizeof(*readings));
	int code;

	for (size_t i = 0; i < count; i++) {
		ret_results[i] = (struct scan_result){.name = SPAN(""),
			.problem = SPAN(""),
			.file = places[i].file.length > 0 ? places[i].file
							  : SPAN(BUNDLE_FILE_DEFAULT)};
		readings[i] = (struct reading){
			.arena = arena, .place = &places[i], .result = &ret_results[i]};
	}
	code = read_application_files(repository, commit, readings, count, arena, err);
	return code < 0 ? code : read_named_files(repository, commit, readings, count, arena, err);
}
