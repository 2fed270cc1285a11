/* See the header. */
#include "pipeline/bundle.h"

#include "base/memory.h"

static void add_path(struct arena *arena, struct field_list *list, struct span path)
{
	struct span *known = list->items;

	for (size_t i = 0; i < list->count; i++) {
		if (span_equal(known[i], path))
			return;
	}
	*(struct span *)fields_append(arena, list, sizeof(path)) = path;
}

void bundle_list_paths(const struct application *application, struct arena *arena,
	struct field_list *list)
{
	const struct stage *stages = application_stages(application);

	if (application->is_ecs) {
		add_path(arena, list, application->input.task_definition_file);
		if (!application_is_standalone(application))
			add_path(arena, list, application->input.service_definition_file);
	}
	for (size_t i = 0; i < application->stages.count; i++) {
		struct span path = stages[i].options.task_definition_file;

		if (stages[i].kind == STAGE_ECS_RUN_TASK && path.length > 0)
			add_path(arena, list, path);
	}
}

static int find_file(const struct json *files, struct span path, const char *key,
	struct span *ret_text, struct err *err)
{
	const struct json *file = json_get_span(files, path);

	if (!json_is(file, JSON_STRING))
		return err_set(err, -EINVAL, "%.*s: the file is missing; %s names it",
			SPAN_ARGS(path), key);
	*ret_text = file->text;
	return 0;
}

static int load_definitions(const struct json *files, struct arena *arena, struct bundle *bundle,
	struct err *err)
{
	const struct application_input *input = &bundle->application->input;
	struct span text;
	int code = find_file(files, input->task_definition_file, "spec.input.taskDefinitionFile",
		&text, err);

	if (code >= 0)
		code = definition_load_task(input->task_definition_file, text, arena, &bundle->task,
			err);
	bundle->has_task = true;
	if (code < 0 || application_is_standalone(bundle->application))
		return code;
	code = find_file(files, input->service_definition_file, "spec.input.serviceDefinitionFile",
		&text, err);
	bundle->has_service = true;
	return code < 0 ? code
			: definition_load_service(input->service_definition_file, text, arena,
				  &bundle->service, err);
}

int bundle_load(const struct json *files, struct span application_file, struct arena *arena,
	struct bundle *ret_bundle, struct err *err)
{
	struct bundle bundle = {0};
	struct application *application;
	struct span text;
	int code = find_file(files, application_file, "the request", &text, err);

	if (code >= 0)
		code = application_load(application_file, text, arena, &application, err);
	if (code < 0)
		return code;
	bundle.application = application;
	if (application->is_ecs)
		code = load_definitions(files, arena, &bundle, err);
	if (code >= 0)
		*ret_bundle = bundle;
	return code;
}
