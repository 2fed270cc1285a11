/* Deployments as clients ask for them and see them. They are carried out by the manager. */
#include "aws/page.h"
#include "environment/api/operations.h"
#include "environment/model/deployment_states.h"
#include "environment/model/fail.h"
#include "environment/model/token.h"
#include "store/fact_table.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 100

/* ---- documents ---- */

static int answer(struct aws_request *request, struct span id, const char *status)
{
	buffer_format(request->out, "{\"deploymentId\":\"%.*s\",\"status\":\"%s\"}", SPAN_ARGS(id),
		status);
	return 0;
}

static int answer_stored(struct aws_request *request, const struct store_object *deployment)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(deployment);

	return answer(request, facts->id, environment_deployment_status_name(facts->status));
}

/* ---- asking for one ---- */

int environment_deployment_prepare(struct aws_request *request)
{
	return daemon_token_prepare(request);
}

static void tokens_of(const struct store_object *deployment, struct span *ret_tokens,
	struct span *ret_hashes)
{
	*ret_tokens = environment_deployment_facts(deployment)->token;
	*ret_hashes = environment_deployment_facts(deployment)->token_hash;
}

/* The deployment that an earlier request with this token created, or NULL. */
static int find_created(struct aws_request *request, const struct store_object *environment,
	const struct store_object **ret_deployment)
{
	return daemon_token_find(request, &environment_deployment_kind,
		ENVIRONMENT_DEPLOYMENT_BY_TOKEN, environment->key, tokens_of, ret_deployment);
}

/* The deployment that already rolls this version out, in progress or pending. */
static const struct store_object *find_same(struct aws_request *request,
	const struct store_object *environment, struct span version)
{
	const struct environment_facts *facts = environment_facts(environment);
	const struct span ids[] = {facts->pending, facts->in_progress};

	for (size_t i = 0; i < LENGTH(ids); i++) {
		const struct store_object *found = environment_deployment_of(request->view,
			request->arena, environment->key, ids[i]);
		const struct environment_deployment_facts *running =
			found ? environment_deployment_facts(found) : NULL;

		if (running && running->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
			running->status != ENVIRONMENT_DEPLOYMENT_to_be_stopped &&
			span_equal(running->version, version))
			return found;
		/* A version that waits behind another one is wanted all the same. */
		if (i == 0 && found)
			break;
	}
	return NULL;
}

/* The requested deployment exists already. From now on it has the token, also after it ended. */
static int answer_same(struct aws_request *request, const struct store_object *deployment)
{
	struct environment_deployment_facts facts = *environment_deployment_facts(deployment);

	if (daemon_token_add(request, &facts.token, &facts.token_hash) &&
		environment_put(request->transaction, &environment_deployment_kind, deployment->key,
			deployment->api, &facts, deployment->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer_stored(request, deployment);
}

/* The caller as in the audit log; "" if it cannot be stored. */
static struct span caller_arn(struct aws_request *request)
{
	struct span arn = arena_format(request->arena, "arn:aws:iam::%.*s:user/%.*s",
		SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->user));

	return fact_text_is_plain(arn) ? arn : SPAN("");
}

/* It waits for its turn; a user's that waited before it never gets one. */
static int add(struct aws_request *request, const struct store_object *environment,
	struct environment_facts *facts, const struct store_object *version, bool rollback)
{
	struct deployment_scope scope = {.transaction = request->transaction,
		.webhooks = daemon_webhooks(request),
		.environment = environment->key,
		.facts = facts,
		.now_ms = request->now_ms};
	struct environment_deployment_facts created = {.id = environment_new_id(request),
		.type = ENVIRONMENT_DEPLOYMENT_TYPE_user,
		.rollback = rollback,
		.version = environment_version_facts(version)->id,
		.previous = SPAN(""),
		.created_by = caller_arn(request),
		.reason = SPAN(""),
		.token = daemon_token_text(request),
		.token_hash = daemon_token_hash(request)};

	if (facts->pending.length > 0 &&
		deployment_move(&scope, facts->pending, ENVIRONMENT_DEPLOYMENT_canceled,
			SPAN("SUPERSEDED"), &request->err) < 0)
		return aws_fail_store(request);
	if (deployment_add(&scope, &created, &request->err) < 0)
		return aws_fail_store(request);
	facts->pending = created.id;
	if (environment_save(request, environment, facts) < 0)
		return -EPERM;
	return answer(request, created.id, "pending");
}

static int check_order(struct aws_request *request, const struct store_object *environment,
	const struct store_object *version)
{
	const struct environment_facts *facts = environment_facts(environment);
	const struct store_object *target;

	if (facts->target.length == 0)
		return 0;
	if (environment_version_find(request, environment, facts->target, &target) < 0)
		return -EPERM;
	if (environment_version_facts(version)->number >= environment_version_facts(target)->number)
		return 0;
	return daemon_fail(request, "VersionConflictException", "environmentVersion", facts->target,
		"environmentVersion: %.*s is older than %.*s, which is deployed; roll back to it "
		"instead",
		SPAN_ARGS(environment_version_facts(version)->id), SPAN_ARGS(facts->target));
}

int environment_deployment_start(struct aws_request *request)
{
	const struct store_object *environment, *version, *same, *created;
	struct environment_facts facts;

	if (environment_find(request, &environment) < 0)
		return -EPERM;
	if (find_created(request, environment, &created) < 0)
		return -EPERM;
	if (created)
		return answer_stored(request, created);
	facts = *environment_facts(environment);
	if (environment_refuse_deleting(request, &facts) < 0 ||
		environment_version_find(request, environment,
			json_get_text(request->input, "environmentVersion"), &version) < 0 ||
		check_order(request, environment, version) < 0 ||
		environment_check_overlap(request, facts.type, environment,
			environment_version_facts(version)) < 0)
		return -EPERM;
	same = find_same(request, environment, environment_version_facts(version)->id);
	if (same)
		return answer_same(request, same);
	return add(request, environment, &facts, version, false);
}

/* ---- rolling back ---- */

/* The version of the last completed deployment of a user before the current one. */
static int find_previous(struct aws_request *request, const struct store_object *environment,
	const struct store_object **ret_version)
{
	const struct environment_facts *facts = environment_facts(environment);
	struct span previous =
		span_equal(facts->completed, facts->target) ? facts->previous : facts->completed;

	if (previous.length > 0)
		return environment_version_find(request, environment, previous, ret_version);
	return daemon_fail(request, "ResourceInUseException", "environment", facts->name,
		"No other version than the one that is deployed was ever completed in environment "
		"'%.*s'",
		SPAN_ARGS(facts->name));
}

int environment_deployment_rollback(struct aws_request *request)
{
	struct span wanted = json_get_text(request->input, "environmentVersion");
	const struct store_object *environment, *version, *same, *created;
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = request->transaction,
		.webhooks = daemon_webhooks(request),
		.facts = &facts,
		.now_ms = request->now_ms};

	if (environment_find(request, &environment) < 0)
		return -EPERM;
	if (find_created(request, environment, &created) < 0)
		return -EPERM;
	if (created)
		return answer_stored(request, created);
	facts = *environment_facts(environment);
	scope.environment = environment->key;
	if (environment_refuse_deleting(request, &facts) < 0)
		return -EPERM;
	if (wanted.data ? environment_version_find(request, environment, wanted, &version) < 0
			: find_previous(request, environment, &version) < 0)
		return -EPERM;
	if (environment_check_overlap(request, facts.type, environment,
		    environment_version_facts(version)) < 0)
		return -EPERM;
	same = find_same(request, environment, environment_version_facts(version)->id);
	if (same)
		return answer_same(request, same);
	/* The deployment in progress is the one to roll back: it does not have to end first. */
	if (facts.in_progress.length > 0 &&
		deployment_move(&scope, facts.in_progress, ENVIRONMENT_DEPLOYMENT_to_be_stopped,
			SPAN("ROLLED_BACK"), &request->err) < 0)
		return aws_fail_store(request);
	return add(request, environment, &facts, version, true);
}

/* ---- stopping ---- */

static int find_deployment(struct aws_request *request, const struct store_object *environment,
	const struct store_object **ret_deployment)
{
	struct span id = json_get_text(request->input, "deploymentId");

	*ret_deployment =
		environment_deployment_of(request->view, request->arena, environment->key, id);
	if (!*ret_deployment)
		return daemon_fail(request, "ResourceNotFoundException", "deployment", id,
			"Environment '%.*s' has no deployment '%.*s'",
			SPAN_ARGS(environment_facts(environment)->name), SPAN_ARGS(id));
	return 0;
}

static bool is_stopped(enum environment_deployment_status status)
{
	return status == ENVIRONMENT_DEPLOYMENT_to_be_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_canceled;
}

int environment_deployment_stop(struct aws_request *request)
{
	const struct store_object *environment, *deployment;
	enum environment_deployment_status status;
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = request->transaction,
		.webhooks = daemon_webhooks(request),
		.facts = &facts,
		.now_ms = request->now_ms};
	bool waits;

	if (environment_find(request, &environment) < 0 ||
		find_deployment(request, environment, &deployment) < 0)
		return -EPERM;
	facts = *environment_facts(environment);
	scope.environment = environment->key;
	status = environment_deployment_facts(deployment)->status;
	if (is_stopped(status))
		return answer_stored(request, deployment);
	if (environment_deployment_has_ended(status))
		return daemon_fail(request, "ResourceInUseException", "deployment",
			environment_deployment_facts(deployment)->id,
			"The deployment is %s and cannot be stopped any more",
			environment_deployment_status_name(status));
	waits = status == ENVIRONMENT_DEPLOYMENT_pending;
	status = waits ? ENVIRONMENT_DEPLOYMENT_canceled : ENVIRONMENT_DEPLOYMENT_to_be_stopped;
	if (deployment_move(&scope, environment_deployment_facts(deployment)->id, status,
		    SPAN("STOPPED_BY_USER"), &request->err) < 0)
		return aws_fail_store(request);
	if (!waits && facts.status == ENVIRONMENT_active)
		facts.status = ENVIRONMENT_inactive;
	if (environment_save(request, environment, &facts) < 0)
		return -EPERM;
	return answer(request, environment_deployment_facts(deployment)->id,
		environment_deployment_status_name(status));
}

/* ---- reading ---- */

int environment_deployment_get(struct aws_request *request)
{
	const struct store_object *environment, *deployment;

	if (environment_find(request, &environment) < 0 ||
		find_deployment(request, environment, &deployment) < 0)
		return -EPERM;
	json_write(environment_deployment_document(request->view, request->arena, deployment),
		request->out);
	return 0;
}

/* Those of an index, the latest first, whose text begins so. */
static int list(struct aws_request *request, int index, struct span prefix)
{
	struct json *created = json_new_array(request->arena);
	struct store_cursor cursor = {.view = request->view,
		.kind = &environment_deployment_kind,
		.index = index,
		.prefix = prefix,
		.descending = true};
	const struct store_object *deployment;
	struct span token = SPAN("");
	struct aws_page page;
	size_t found = 0;

	if (aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, prefix, &page) < 0)
		return -EPERM;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	while ((deployment = store_next(&cursor))) {
		json_append(request->arena, created,
			environment_deployment_document(request->view, request->arena, deployment));
		if (++found == page.most) {
			token = aws_page_token(request, prefix, cursor.text, deployment->key);
			break;
		}
	}
	buffer_add_string(request->out, "{\"deployments\":");
	json_write(created, request->out);
	if (token.length > 0) {
		buffer_add_string(request->out, ",\"nextToken\":");
		json_write_string(token, request->out);
	}
	buffer_add_char(request->out, '}');
	return 0;
}

int environment_deployment_list(struct aws_request *request)
{
	struct span status = json_get_text(request->input, "status");
	const struct store_object *environment;

	if (environment_find(request, &environment) < 0)
		return -EPERM;
	if (!status.data)
		return list(request, ENVIRONMENT_DEPLOYMENT_BY_NUMBER,
			arena_format(request->arena, "%.*s/", SPAN_ARGS(environment->key)));
	return list(request, ENVIRONMENT_DEPLOYMENT_BY_STATUS,
		arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(environment->key),
			SPAN_ARGS(status)));
}

int environment_deployment_list_by_status(struct aws_request *request)
{
	return list(request, ENVIRONMENT_DEPLOYMENT_OF_ACCOUNT,
		arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(request->caller->account),
			SPAN_ARGS(json_get_text(request->input, "status"))));
}
