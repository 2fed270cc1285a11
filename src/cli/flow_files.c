/*
 * The applications of a flow's graph: application files below a folder are read and sent with the head's, so that the flow
 * deploys from them. Applications that the graph does not name are left out.
 */
#include <dirent.h>
#include <string.h>

#include "base/memory.h"
#include "cli/app.h"
#include "pipeline/bundle.h"

#define SUFFIX ".pipecd.yaml"
#define DEPTH_MAX 8
#define FILES_MAX 10000

struct search {
	struct app *app;
	const struct flow_config *config;
	struct json *list;
	size_t files;
};

/* A chain may mean any application, by its labels. */
static bool is_wanted(const struct search *search, struct span name)
{
	const struct flow_node_config *nodes = search->config->nodes.items;

	if (search->app->name && span_is(name, search->app->name))
		return false;
	for (size_t i = 0; i < search->config->nodes.count; i++) {
		if (span_equal(nodes[i].name, name))
			return true;
	}
	return search->config->is_chain && name.length > 0;
}

static int read_application(struct search *search, const char *folder, const char *file)
{
	struct json *entry = json_new_object(search->app->arena), *files;
	struct span name;
	int code = app_read_application(search->app, folder, file, &files, &name);

	if (code != EXIT_OK || !is_wanted(search, name))
		return code;
	JSON_EACH_ITEM (search->list, other) {
		if (span_equal(app_text(other, "name"), name))
			return command_failed("%s/%s: another file below %s is of application "
					      "\"%.*s\", too",
				folder, file, search->app->flow_folder, SPAN_ARGS(name));
	}
	json_set_string(search->app->arena, entry, "name", name);
	json_set(search->app->arena, entry, "files", files);
	json_set_string(search->app->arena, entry, "applicationFile",
		span_of(arena_format(search->app->arena, "%s", file).data));
	json_append(search->app->arena, search->list, entry);
	return EXIT_OK;
}

static int read_folder(struct search *search, const char *path, unsigned depth)
{
	struct dirent *entry;
	DIR *folder = opendir(path);
	int code = EXIT_OK;

	if (!folder)
		return command_failed("%s: %s", path, strerror(errno));
	while (code == EXIT_OK && (entry = readdir(folder))) {
		const char *below =
			arena_format(search->app->arena, "%s/%s", path, entry->d_name).data;

		if (entry->d_name[0] == '.')
			continue;
		if (++search->files > FILES_MAX)
			code = command_failed("%s has more than %d files", search->app->flow_folder,
				FILES_MAX);
		else if (span_ends_with(span_of(entry->d_name), SPAN(SUFFIX)))
			code = read_application(search, path, entry->d_name);
		else if (entry->d_type == DT_DIR && depth < DEPTH_MAX)
			code = read_folder(search, below, depth + 1);
	}
	closedir(folder);
	return code;
}

int app_read_flow_folder(struct app *app, struct json *body)
{
	struct search search = {.app = app, .list = json_new_array(app->arena)};
	struct application *application = NULL;
	struct err err;
	int code;

	if (!app->folder)
		return command_misused(app->command, "--flow-dir needs --dir");
	JSON_EACH_ITEM (json_get(body, "files"), file) {
		if (span_is(app_text(file, "path"), app->file) &&
			application_load(span_of(app->file), json_get_text(file, "content"),
				app->arena, &application, &err) < 0)
			return command_failed("%s", err.message);
	}
	if (!application || !application->flow)
		return command_failed("%s/%s has no spec.postSync.flow", app->folder, app->file);
	search.config = application->flow;
	code = read_folder(&search, app->flow_folder, 0);
	if (code == EXIT_OK)
		json_set(app->arena, body, "flowApplications", search.list);
	return code;
}
