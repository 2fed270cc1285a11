/* See the header. */
#include "pipeline/source.h"

int deployment_source_read(const struct store_view *view, struct span deployment,
	struct arena *arena, struct deployment_source *ret_source, struct err *err)
{
	const struct store_object *object = store_get(view, &deployment_source_kind, deployment);
	struct json *document;
	int code;

	if (!object)
		return err_set(err, -ENOENT, "the files of deployment %.*s are missing",
			SPAN_ARGS(deployment));
	code = json_parse(object->api, arena, &document, err);
	if (code < 0)
		return code;
	ret_source->files = json_get(document, "files");
	ret_source->application_file = json_get_text(document, "applicationFile");
	ret_source->flow_files = json_get(document, "flowFiles");
	ret_source->before = json_get(document, "before");
	ret_source->changed = json_get(document, "changed");
	if (!json_is(ret_source->files, JSON_OBJECT) || !ret_source->application_file.data)
		return err_set(err, -EINVAL, "the files of deployment %.*s cannot be read",
			SPAN_ARGS(deployment));
	return 0;
}

int deployment_source_put(struct store_transaction *transaction, struct span deployment,
	const struct deployment_source *source, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *document = json_new_object(arena);

	json_set(arena, document, "files", source->files);
	json_set_string(arena, document, "applicationFile", source->application_file);
	json_set(arena, document, "flowFiles", source->flow_files);
	json_set(arena, document, "before", source->before);
	json_set(arena, document, "changed", source->changed);
	return store_put(transaction, &deployment_source_kind, deployment,
		json_to_text(document, arena), SPAN("{}"), STORE_ANY, err);
}
