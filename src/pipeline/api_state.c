/* The live state of an application, as it was last read (live.h). */
#include "pipeline/api.h"
#include "pipeline/deployments.h"

int api_get_state(struct aws_request *request)
{
	const struct store_object *application, *live;
	struct json *document = json_new_object(request->arena), *stored = NULL;
	struct span commit;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	live = store_get(request->view, &live_state_kind, application->key);
	if (live && json_parse(live->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	json_set_string(request->arena, document, "name", application_facts(application)->name);
	json_set_string(request->arena, document, "sync",
		span_of(application_sync_name(application_find_sync(request->view,
			application->key))));
	commit = application_running_commit(request->view, application->key);
	if (commit.length > 0)
		json_set_string(request->arena, document, "commit", commit);
	for (size_t i = 0; stored && i < stored->object.count; i++)
		json_set(request->arena, document,
			arena_copy(request->arena, stored->object.members[i].name.data,
				stored->object.members[i].name.length),
			stored->object.members[i].value);
	json_write(document, request->out);
	return 0;
}
