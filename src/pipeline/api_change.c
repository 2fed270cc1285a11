/* The orders of users for applications and deployments that exist. */
#include "base/memory.h"
#include "delivery/approval.h"
#include "pipeline/api.h"
#include "pipeline/deployments.h"
#include "pipeline/origin.h"

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

static int fail_vote(struct aws_request *request, const struct changing *changing, int code)
{
	static const struct {
		int code;
		const char *type;
	} types[] = {{-EACCES, "AccessDeniedException"}, {-ESTALE, "ResourceInUseException"},
		{-ETIMEDOUT, "ResourceInUseException"}, {-EALREADY, "ResourceInUseException"},
		{-E2BIG, "InvalidParameterException"}};

	for (size_t i = 0; i < LENGTH(types); i++) {
		if (code == types[i].code)
			return api_fail(request, types[i].type, "deployment",
				changing->record.facts.id, "stage %.*s: %s",
				SPAN_ARGS(changing->stage->id), request->err.message);
	}
	return aws_fail_store(request);
}

static int add_vote(struct aws_request *request, bool approves)
{
	struct span comment = json_get_text(request->input, "comment"),
		    digest = json_get_text(request->input, "digest");
	struct approval_vote vote = {.user = request->caller->user,
		.comment = comment.data ? comment : SPAN(""),
		.at_ms = request->now_ms,
		.approves = approves};
	struct changing changing;
	struct approval approval;
	int code;

	if (open_deployment(request, &changing) < 0 ||
		require_waiting(request, &changing, STAGE_WAIT_APPROVAL,
			"no stage waits for an approval") < 0)
		return -EPERM;
	code = approval_read(changing.stage->details, request->arena, &approval, &request->err);
	if (code >= 0)
		code = approval_add_vote(&approval, &vote, digest.data ? digest : SPAN(""),
			request->arena, &request->err);
	if (code < 0)
		return fail_vote(request, &changing, code);
	changing.stage->details = approval_write(&approval, request->arena);
	return save(request, &changing);
}

int api_approve(struct aws_request *request)
{
	return add_vote(request, true);
}

int api_reject(struct aws_request *request)
{
	return add_vote(request, false);
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

/* The deployment as an order has changed it. */
static int show_changed(struct aws_request *request)
{
	struct changing changing;

	request->view = store_head(request->transaction);
	if (open_deployment(request, &changing) < 0)
		return -EPERM;
	json_write(deployment_document(&changing.record, request->arena), request->out);
	return 0;
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
	return code < 0 ? aws_fail_store(request) : show_changed(request);
}

int api_retry_rollback(struct aws_request *request)
{
	struct changing changing;
	int code;

	if (open_deployment(request, &changing) < 0)
		return -EPERM;
	code = deployment_retry_rollback(request->transaction, changing.record.facts.application,
		changing.record.facts.id, request->now_ms, &request->err);
	if (code == -EALREADY)
		return fail_state(request, &changing, request->err.message);
	return code < 0 ? aws_fail_store(request) : show_changed(request);
}

int api_roll_back(struct aws_request *request)
{
	struct changing changing;
	int code;

	if (open_deployment(request, &changing) < 0)
		return -EPERM;
	code = deployment_roll_back(request->transaction, changing.record.facts.application,
		changing.record.facts.id, request->caller->user, request->now_ms, &request->err);
	if (code == -EALREADY)
		return fail_state(request, &changing, request->err.message);
	return code < 0 ? aws_fail_store(request) : show_changed(request);
}

int api_delete_application(struct aws_request *request)
{
	const struct store_object *application, *origin;
	struct span name = json_get_text(request->input, "name");
	int code;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	origin = store_get(request->view, &origin_kind, application->key);
	if (origin && origin_facts(origin)->is_found &&
		origin_facts(origin)->state != ORIGIN_MISSING)
		return api_fail(request, "ResourceInUseException", "application", name,
			"application \"%.*s\" would be found again; remove its file from the "
			"repository, or delete repository %.*s",
			SPAN_ARGS(name), SPAN_ARGS(origin_facts(origin)->repository));
	code = application_delete(request->transaction, application->key, &request->err);
	if (code == -EBUSY)
		return api_fail(request, "ResourceInUseException", "application", name, "%s",
			request->err.message);
	if (code < 0)
		return aws_fail_store(request);
	buffer_format(request->out, "{\"name\":\"%.*s\"}", SPAN_ARGS(name));
	return 0;
}
