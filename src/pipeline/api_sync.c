/* SyncApplication: queues a deployment, after reading its files. */
#include "pipeline/api.h"
#include "pipeline/bundle.h"
#include "pipeline/deployments.h"
#include "store/fact_table.h"

static const char *const strategy_names[] = {"AUTOMATIC", "QUICK_SYNC", "PIPELINE"};

static struct span text_of(const struct aws_request *request, const char *name)
{
	struct span text = json_get_text(request->input, name);

	return text.data ? text : SPAN("");
}

static struct span application_file(const struct aws_request *request)
{
	struct span file = text_of(request, "applicationFile");

	return file.length > 0 ? file : SPAN(BUNDLE_FILE_DEFAULT);
}

/* An object of texts by path; NULL: the request has no files. Fails the request. */
static int read_files(struct aws_request *request, const struct json *list, size_t *bytes,
	const struct json **ret_files)
{
	struct json *files = json_new_object(request->arena);

	*ret_files = NULL;
	if (json_is_absent(list))
		return 0;
	JSON_EACH_ITEM (list, item) {
		struct span path = json_get_text(item, "path"),
			    content = json_get_text(item, "content");

		*bytes += path.length + content.length;
		if (json_get_span(files, path))
			return aws_fail_input(request, "files: %.*s is given twice",
				SPAN_ARGS(path));
		json_set_string(request->arena, files,
			arena_copy(request->arena, path.data, path.length), content);
	}
	if (*bytes > BUNDLE_BYTES_MAX)
		return aws_fail_input(request, "files: %zu bytes are given, the limit is %d",
			*bytes, BUNDLE_BYTES_MAX);
	*ret_files = files;
	return 0;
}

/* The result of prepare, for run. */
struct prepared {
	const struct json *files;      /* NULL */
	const struct json *flow_files; /* see source.h; NULL */
};

/* Files of applications in the graph of the flow, checked like the application's own. */
static int read_flow_files(struct aws_request *request, size_t *bytes,
	const struct json **ret_flow_files)
{
	const struct json *list = json_get(request->input, "flowApplications");
	struct json *by_name = json_new_object(request->arena);

	*ret_flow_files = NULL;
	if (json_is_absent(list) || json_array_count(list) == 0)
		return 0;
	JSON_EACH_ITEM (list, item) {
		struct span name = json_get_text(item, "name"),
			    file = json_get_text(item, "applicationFile");
		struct json *entry = json_new_object(request->arena);
		const struct json *files;
		struct bundle bundle;

		if (json_get_span(by_name, name))
			return aws_fail_input(request, "flowApplications: %.*s is given twice",
				SPAN_ARGS(name));
		if (read_files(request, json_get(item, "files"), bytes, &files) < 0)
			return -EPERM;
		if (bundle_load(files, file, request->arena, &bundle, &request->err) < 0)
			return aws_fail_input(request, "flowApplications: %.*s: %s",
				SPAN_ARGS(name), request->err.message);
		json_set(request->arena, entry, "files", files);
		json_set_string(request->arena, entry, "applicationFile", file);
		json_set(request->arena, by_name,
			arena_copy(request->arena, name.data, name.length), entry);
	}
	*ret_flow_files = by_name;
	return 0;
}

static int check_bundle(struct aws_request *request, const struct json *files)
{
	struct span name = json_get_text(request->input, "name");
	struct bundle bundle;

	if (bundle_load(files, application_file(request), request->arena, &bundle, &request->err) <
		0)
		return aws_fail_input(request, "%s", request->err.message);
	if (bundle.application->name.length > 0 && !span_equal(bundle.application->name, name))
		return aws_fail_input(request,
			"%.*s: spec.name is \"%.*s\", and the request is for application \"%.*s\"",
			SPAN_ARGS(bundle.application->file), SPAN_ARGS(bundle.application->name),
			SPAN_ARGS(name));
	return 0;
}

/* Texts that are kept as facts. */
static int check_texts(struct aws_request *request)
{
	static const char *const names[] = {"commit", "target", "role", "region", "clientToken"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!fact_text_is_plain(text_of(request, names[i])))
			return aws_fail_input(request, "%s: has quotes or control characters",
				names[i]);
	}
	return 0;
}

int api_sync_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	size_t bytes = 0;

	if (check_texts(request) < 0 ||
		read_files(request, json_get(request->input, "files"), &bytes, &prepared->files) <
			0 ||
		read_flow_files(request, &bytes, &prepared->flow_files) < 0)
		return -EPERM;
	request->prepared = prepared;
	return prepared->files ? check_bundle(request, prepared->files) : 0;
}

static enum deployment_flow flow_choice(const struct aws_request *request)
{
	if (!json_get(request->input, "flow"))
		return DEPLOYMENT_FLOW_AUTOMATIC;
	return json_get_bool(request->input, "flow", false) ? DEPLOYMENT_FLOW_ON
							    : DEPLOYMENT_FLOW_OFF;
}

static int fail_start(struct aws_request *request, int code)
{
	struct span name = json_get_text(request->input, "name");

	if (code == -ENOENT)
		return api_fail(request, "ResourceNotFoundException", "application", name, "%s",
			request->err.message);
	if (code == -EBUSY || code == -E2BIG)
		return api_fail(request, "LimitExceededException", "application", name, "%s",
			request->err.message);
	if (code == -EALREADY)
		return api_fail(request, "ResourceInUseException", "application", name, "%s",
			request->err.message);
	return aws_fail_store(request);
}

int api_sync(struct aws_request *request)
{
	struct span strategy = text_of(request, "strategy"), target = text_of(request, "target"),
		    region = text_of(request, "region"), user = request->caller->user, id;
	const struct prepared *prepared = request->prepared;
	struct deployment_request order = {.application = api_key(request),
		.trigger = json_get_bool(request->input, "planOnly", false)
				   ? DEPLOYMENT_TRIGGER_PLAN
				   : DEPLOYMENT_TRIGGER_SYNC,
		.files = prepared->files,
		.flow_files = prepared->flow_files,
		.flow_choice = flow_choice(request),
		.application_file = application_file(request),
		.commit = text_of(request, "commit"),
		.message = text_of(request, "message"),
		.flow = SPAN(""),
		.created_by = fact_text_is_plain(user) ? user : SPAN(""),
		.region = region.length > 0 ? region : request->caller->region,
		.target = span_is(target, "local") ? SPAN("") : target,
		.role = text_of(request, "role"),
		.token = text_of(request, "clientToken"),
		.now_ms = request->now_ms,
		.random = request->random};
	const struct store_object *created;
	int code;

	for (unsigned i = 0; i < sizeof(strategy_names) / sizeof(strategy_names[0]); i++) {
		if (span_is(strategy, strategy_names[i]))
			order.strategy = (enum plan_strategy)i;
	}
	code = deployment_start(request->transaction, &order, &id, &request->err);
	if (code < 0)
		return fail_start(request, code);
	created = store_get(store_head(request->transaction), &deployment_kind,
		deployment_key(request->arena, order.application, id));
	buffer_format(request->out,
		"{\"application\":\"%.*s\",\"deploymentId\":\"%.*s\",\"number\":%lld,\"state\":\"%s"
		"\"}",
		SPAN_ARGS(json_get_text(request->input, "name")), SPAN_ARGS(id),
		(long long)deployment_facts(created)->number,
		pipeline_deployment_state_name(deployment_facts(created)->state));
	return 0;
}
