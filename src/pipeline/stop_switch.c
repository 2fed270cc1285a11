/* See the header; and the operations of clients about it. */
#include "pipeline/stop_switch.h"

#include "pipeline/api.h"

const struct store_kind stop_switch_kind = {.name = "pipeline.switch"};

bool stop_switch_is_on(const struct store_view *view, struct span application)
{
	struct span account = application, rest;

	span_split(application, '/', &account, &rest);
	return store_get(view, &stop_switch_kind, account) != NULL;
}

static int show(struct aws_request *request, const struct store_object *object)
{
	struct json *shown;

	if (!object || json_parse(object->api, request->arena, &shown, NULL) < 0)
		shown = json_new_object(request->arena);
	json_set_bool(request->arena, shown, "stopped", object != NULL);
	json_write(shown, request->out);
	return 0;
}

int api_get_switch(struct aws_request *request)
{
	return show(request, store_get(request->view, &stop_switch_kind, request->caller->account));
}

int api_stop(struct aws_request *request)
{
	struct json *document = json_new_object(request->arena);
	struct span comment = json_get_text(request->input, "comment");

	json_set_string(request->arena, document, "stoppedBy", request->caller->user);
	json_set_time(request->arena, document, "stoppedAt", request->now_ms);
	if (comment.data)
		json_set_string(request->arena, document, "comment", comment);
	if (store_put(request->transaction, &stop_switch_kind, request->caller->account,
		    json_to_text(document, request->arena), SPAN("{}"), STORE_ANY,
		    &request->err) < 0)
		return aws_fail_store(request);
	return show(request, store_get(store_head(request->transaction), &stop_switch_kind,
				     request->caller->account));
}

/* Also if they are not stopped. */
int api_resume(struct aws_request *request)
{
	int code = store_delete(request->transaction, &stop_switch_kind, request->caller->account,
		STORE_ANY, &request->err);

	return code < 0 && code != -ENOENT ? aws_fail_store(request) : show(request, NULL);
}
