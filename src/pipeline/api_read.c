/* Applications, deployments and logs as clients see them. */
#include "aws/page.h"
#include "pipeline/api.h"
#include "pipeline/deployments.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 100
#define LOG_PAGE 500

/* ---- documents ---- */

/* NULL: it cannot be read. */
static struct json *deployment_shown(struct aws_request *request, const struct store_object *object)
{
	struct deployment_record record;

	if (deployment_read(object, request->arena, &record, &request->err) < 0)
		return NULL;
	return deployment_document(&record, request->arena);
}

static void set_text(struct aws_request *request, struct json *document, const char *name,
	struct span text)
{
	if (text.length > 0)
		json_set_string(request->arena, document, name, text);
}

struct json *api_show_application(struct aws_request *request,
	const struct store_object *application)
{
	const struct application_facts *facts = application_facts(application);
	const struct store_object *latest = api_find_latest(request, application->key);
	struct json *document = json_new_object(request->arena);

	json_set_string(request->arena, document, "name", facts->name);
	json_set_string(request->arena, document, "sync",
		span_of(application_sync_name(application_find_sync(request->view,
			application->key))));
	set_text(request, document, "current", facts->current);
	set_text(request, document, "succeeded", facts->succeeded);
	set_text(request, document, "commit",
		application_running_commit(request->view, application->key));
	api_show_origin(request, application, document);
	json_set_integer(request->arena, document, "deployments", facts->deployment_count);
	if (latest)
		json_set(request->arena, document, "latest", deployment_shown(request, latest));
	json_set_time(request->arena, document, "createdAt", facts->created_ms);
	json_set_time(request->arena, document, "updatedAt", facts->updated_ms);
	return document;
}

/* ---- lists ---- */

int api_list(struct aws_request *request, struct store_cursor cursor, const char *member,
	struct json *(*show)(struct aws_request *request, const struct store_object *object))
{
	struct json *items = json_new_array(request->arena), *document;
	const struct store_object *object;
	struct aws_page page;

	if (aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, cursor.prefix, &page) < 0)
		return -EPERM;
	document = json_new_object(request->arena);
	json_set(request->arena, document, member, items);
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	while ((object = store_next(&cursor))) {
		struct json *shown = show(request, object);

		if (shown)
			json_append(request->arena, items, shown);
		if (json_count(items) < page.most)
			continue;
		json_set_string(request->arena, document, "nextToken",
			aws_page_token(request, cursor.prefix,
				cursor.index < 0 ? SPAN("") : cursor.text, object->key));
		break;
	}
	json_write(document, request->out);
	return 0;
}

int api_list_applications(struct aws_request *request)
{
	return api_list(request,
		(struct store_cursor){.view = request->view,
			.kind = &application_kind,
			.index = -1,
			.prefix = arena_format(request->arena, "%.*s/",
				SPAN_ARGS(request->caller->account))},
		"applications", api_show_application);
}

int api_list_deployments(struct aws_request *request)
{
	const struct store_object *application;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	return api_list(request,
		(struct store_cursor){.view = request->view,
			.kind = &deployment_kind,
			.index = DEPLOYMENT_BY_NUMBER,
			.prefix =
				arena_format(request->arena, "%.*s/", SPAN_ARGS(application->key)),
			.descending = true},
		"deployments", deployment_shown);
}

/* ---- one ---- */

int api_get_application(struct aws_request *request)
{
	const struct store_object *application;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	json_write(api_show_application(request, application), request->out);
	return 0;
}

int api_get_deployment(struct aws_request *request)
{
	const struct store_object *deployment;
	struct json *shown;

	if (api_find_deployment(request, &deployment) < 0)
		return -EPERM;
	shown = deployment_shown(request, deployment);
	if (!shown)
		return aws_fail_store(request);
	json_write(shown, request->out);
	return 0;
}

/* The token is the key of the last line, so that a client can ask for what is written later. */
int api_get_log(struct aws_request *request)
{
	struct json *document = json_new_object(request->arena),
		    *lines = json_new_array(request->arena);
	const struct store_object *deployment, *object;
	struct store_cursor cursor = {
		.view = request->view, .kind = &deployment_log_kind, .index = -1};
	struct aws_page page;
	struct span last;

	if (api_find_deployment(request, &deployment) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(deployment->key));
	if (aws_page_read(request, LOG_PAGE, LOG_PAGE, cursor.prefix, &page) < 0)
		return -EPERM;
	cursor.after_key = page.after_key;
	last = page.after_key;
	while (json_count(lines) < page.most && (object = store_next(&cursor))) {
		struct json *line;

		last = object->key;
		if (json_parse(object->api, request->arena, &line, NULL) == 0)
			json_append(request->arena, lines, line);
	}
	json_set(request->arena, document, "lines", lines);
	if (last.length > 0)
		json_set_string(request->arena, document, "nextToken",
			aws_page_token(request, cursor.prefix, SPAN(""), last));
	json_write(document, request->out);
	return 0;
}
