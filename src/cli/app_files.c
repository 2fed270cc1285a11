/* The folder of an application: its files are read and checked here, so that errors name the file as the user wrote it. */
#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "cli/app.h"
#include "pipeline/bundle.h"

#define SUFFIX ".pipecd.yaml"

/* The one file of the folder whose name ends so; app.pipecd.yaml wins. */
static int find_application_file(struct app *app, const char **ret_file)
{
	struct span found = SPAN("");
	struct dirent *entry;
	DIR *folder = opendir(app->folder);

	*ret_file = NULL;
	if (!folder)
		return command_failed("%s: %s", app->folder, strerror(errno));
	while ((entry = readdir(folder))) {
		struct span name = span_of(entry->d_name);

		if (span_is(name, BUNDLE_FILE_DEFAULT)) {
			*ret_file = BUNDLE_FILE_DEFAULT;
			break;
		}
		if (!span_ends_with(name, SPAN(SUFFIX)))
			continue;
		if (found.length > 0) {
			closedir(folder);
			return command_failed("%s has several application files, %.*s and %s; "
					      "choose one with --file",
				app->folder, SPAN_ARGS(found), entry->d_name);
		}
		found = arena_copy_span(app->arena, name);
		*ret_file = found.data;
	}
	closedir(folder);
	if (*ret_file)
		return EXIT_OK;
	return command_failed("%s has no application file (" BUNDLE_FILE_DEFAULT
			      "); choose one with --file",
		app->folder);
}

static int read_file(struct app *app, const char *folder, struct span path, struct span *ret_text)
{
	_buffer_ struct buffer text = {0};
	const char *place = arena_format(app->arena, "%s/%.*s", folder, SPAN_ARGS(path)).data;
	struct err err;

	if (file_read(place, BUNDLE_BYTES_MAX, &text, &err) < 0)
		return command_failed("%s", err.message);
	*ret_text = arena_copy_span(app->arena, buffer_span(&text));
	return EXIT_OK;
}

static void add_file(struct app *app, struct json *files, struct json *list, struct span path,
	struct span text)
{
	struct json *file = json_new_object(app->arena);

	json_set_string(app->arena, file, "path", path);
	json_set_string(app->arena, file, "content", text);
	json_append(app->arena, list, file);
	json_set_string(app->arena, files, arena_copy(app->arena, path.data, path.length), text);
}

static int read_named_files(struct app *app, const char *folder,
	const struct application *application, struct json *files, struct json *list)
{
	struct field_list paths = {0};
	int code = EXIT_OK;

	bundle_list_paths(application, app->arena, &paths);
	for (size_t i = 0; i < paths.count && code == EXIT_OK; i++) {
		struct span path = ((struct span *)paths.items)[i], text;

		code = read_file(app, folder, path, &text);
		if (code == EXIT_OK)
			add_file(app, files, list, path, text);
	}
	return code;
}

int app_read_application(struct app *app, const char *folder, const char *file,
	struct json **ret_files, struct span *ret_name)
{
	struct json *files = json_new_object(app->arena), *list = json_new_array(app->arena);
	struct application *application;
	struct bundle bundle;
	struct span text;
	struct err err;
	int code = read_file(app, folder, span_of(file), &text);

	if (code != EXIT_OK)
		return code;
	if (application_load(span_of(file), text, app->arena, &application, &err) < 0)
		return command_failed("%s/%s", folder, err.message);
	add_file(app, files, list, span_of(file), text);
	code = read_named_files(app, folder, application, files, list);
	if (code != EXIT_OK)
		return code;
	if (bundle_load(files, span_of(file), app->arena, &bundle, &err) < 0)
		return command_failed("%s/%s", folder, err.message);
	*ret_files = list;
	*ret_name = application->name;
	return EXIT_OK;
}

int app_read_folder(struct app *app, struct json *body)
{
	struct json *files;
	struct span name;
	int code = app->file ? EXIT_OK : find_application_file(app, &app->file);

	if (code == EXIT_OK)
		code = app_read_application(app, app->folder, app->file, &files, &name);
	if (code != EXIT_OK)
		return code;
	if (!app->name && name.length > 0)
		app->name = arena_copy(app->arena, name.data, name.length);
	if (!app->name)
		return command_failed("%s/%s has no spec.name; put NAME on the command line",
			app->folder, app->file);
	json_set(app->arena, body, "files", files);
	json_set_string(app->arena, body, "applicationFile", span_of(app->file));
	return EXIT_OK;
}
