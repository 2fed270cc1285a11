/* The orders of users for applications and deployments that exist. */
#include "pipeline/api.h"
#include "pipeline/bundle.h"
#include "pipeline/deployments.h"
#include "pipeline/source.h"

struct changing {
	struct deployment_record record;
	struct stage_record *stage; /* that runs */
};

static int open_deployment(struct aws_request *request, struct changing *ret_changing)
{
	const struct store_object *object;

	if (api_find_deployment(request, &object) < 0)
		return -EPERM;
	if (deployment_read(object, request->arena, &ret_changing->record, &request->err) < 0)
		return aws_fail_store(request);
	ret_changing->stage = deployment_next_stage(&ret_changing->record);
	return 0;
}

static int save(struct aws_request *request, const struct changing *changing)
{
	if (deployment_put(request->transaction, &changing->record, &request->err) < 0)
		return aws_fail_store(request);
	json_write(deployment_document(&changing->record, request->arena), request->out);
	return 0;
}

static int fail_state(struct aws_request *request, const struct changing *changing,
	const char *what)
{
	return api_fail(request, "ResourceInUseException", "deployment", changing->record.facts.id,
		"deployment %lld is %s; %s", (long long)changing->record.facts.number,
		pipeline_deployment_state_name(changing->record.facts.state), what);
}

/* Fails the request unless the deployment waits in a stage of that kind (STAGE_KIND_COUNT: any that waits). */
static int require_waiting(struct aws_request *request, const struct changing *changing,
	enum stage_kind kind, const char *what)
{
	const struct stage_record *stage = changing->stage;

	if (changing->record.facts.state != PIPELINE_DEPLOYMENT_RUNNING || !stage ||
		stage->state != PIPELINE_STAGE_RUNNING)
		return fail_state(request, changing, what);
	if (kind == STAGE_KIND_COUNT
			? stage->kind == STAGE_WAIT || stage->kind == STAGE_WAIT_APPROVAL ||
				  stage->kind == STAGE_ANALYSIS
			: stage->kind == kind)
		return 0;
	return fail_state(request, changing, what);
}

/* ---- approvals ---- */

static int read_options(struct aws_request *request, const struct changing *changing,
	const struct stage_options **ret_options)
{
	struct deployment_source source;
	struct bundle bundle;
	const struct stage *stages;

	*ret_options = NULL;
	if (deployment_source_read(request->view, changing->record.key, request->arena, &source,
		    &request->err) < 0 ||
		bundle_load(source.files, source.application_file, request->arena, &bundle,
			&request->err) < 0)
		return aws_fail_store(request);
	stages = application_stages(bundle.application);
	for (size_t i = 0; i < bundle.application->stages.count; i++) {
		if (span_equal(stages[i].id, changing->stage->id))
			*ret_options = &stages[i].options;
	}
	return 0;
}

static int require_approver(struct aws_request *request, const struct changing *changing)
{
	const struct stage_options *options;
	struct span user = request->caller->user;

	if (read_options(request, changing, &options) < 0)
		return -EPERM;
	if (!options || options->approvers.count == 0)
		return 0;
	for (size_t i = 0; i < options->approvers.count; i++) {
		if (span_equal(((struct span *)options->approvers.items)[i], user))
			return 0;
	}
	return api_fail(request, "AccessDeniedException", "deployment", changing->record.facts.id,
		"user \"%.*s\" is not among the approvers of stage %.*s", SPAN_ARGS(user),
		SPAN_ARGS(changing->stage->id));
}

/* The same user counts once. */
static const struct json *add_approval(struct aws_request *request, const struct json *details)
{
	struct json *changed = details ? json_copy_object(request->arena, details)
				       : json_new_object(request->arena),
		    *approvals = json_new_array(request->arena),
		    *approval = json_new_object(request->arena);
	struct span user = request->caller->user,
		    comment = json_get_text(request->input, "comment");

	JSON_EACH_ITEM (json_get(details, "approvals"), other) {
		if (span_equal(json_get_text(other, "user"), user))
			return details;
		json_append(request->arena, approvals, other);
	}
	json_set_string(request->arena, approval, "user", user);
	json_set_time(request->arena, approval, "time", request->now_ms);
	if (comment.length > 0)
		json_set_string(request->arena, approval, "comment", comment);
	json_append(request->arena, approvals, approval);
	json_set(request->arena, changed, "approvals", approvals);
	return changed;
}

int api_approve(struct aws_request *request)
{
	struct changing changing;

	if (open_deployment(request, &changing) < 0 ||
		require_waiting(request, &changing, STAGE_WAIT_APPROVAL,
			"no stage waits for an approval") < 0 ||
		require_approver(request, &changing) < 0)
		return -EPERM;
	changing.stage->details = add_approval(request, changing.stage->details);
	return save(request, &changing);
}

int api_reject(struct aws_request *request)
{
	struct changing changing;
	struct json *details;

	if (open_deployment(request, &changing) < 0 ||
		require_waiting(request, &changing, STAGE_WAIT_APPROVAL,
			"no stage waits for an approval") < 0 ||
		require_approver(request, &changing) < 0)
		return -EPERM;
	details = changing.stage->details
			  ? json_copy_object(request->arena, changing.stage->details)
			  : json_new_object(request->arena);
	json_set_string(request->arena, details, "rejectedBy", request->caller->user);
	changing.stage->details = details;
	return save(request, &changing);
}

/* ---- stages and deployments ---- */

int api_skip(struct aws_request *request)
{
	struct changing changing;

	if (open_deployment(request, &changing) < 0 ||
		require_waiting(request, &changing, STAGE_KIND_COUNT,
			"only a stage that waits can be skipped") < 0)
		return -EPERM;
	stage_set_state(changing.stage, PIPELINE_STAGE_SKIPPED, request->now_ms);
	changing.stage->reason =
		arena_format(request->arena, "skipped by %.*s", SPAN_ARGS(request->caller->user));
	if (deployment_log(request->transaction, changing.record.key, changing.stage->id,
		    changing.stage->reason, request->now_ms, &request->err) < 0)
		return aws_fail_store(request);
	return save(request, &changing);
}

int api_cancel(struct aws_request *request)
{
	bool roll_back = json_get_bool(request->input, "rollback", true);
	struct changing changing;
	int code;

	if (open_deployment(request, &changing) < 0)
		return -EPERM;
	code = deployment_cancel(request->transaction, changing.record.facts.application,
		changing.record.facts.id, roll_back, request->now_ms, &request->err);
	if (code == -EALREADY)
		return fail_state(request, &changing, "it cannot be cancelled any more");
	if (code < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	if (open_deployment(request, &changing) < 0)
		return -EPERM;
	json_write(deployment_document(&changing.record, request->arena), request->out);
	return 0;
}

int api_delete_application(struct aws_request *request)
{
	const struct store_object *application;
	struct span name = json_get_text(request->input, "name");
	int code;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	code = application_delete(request->transaction, application->key, &request->err);
	if (code == -EBUSY)
		return api_fail(request, "ResourceInUseException", "application", name, "%s",
			request->err.message);
	if (code < 0)
		return aws_fail_store(request);
	buffer_format(request->out, "{\"name\":\"%.*s\"}", SPAN_ARGS(name));
	return 0;
}
