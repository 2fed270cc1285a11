/* Making, changing and deleting environments. Nothing here starts or stops a task: see manager.h. */
#include "aws/arn.h"
#include "base/seeded_bug.h"
#include "environment/api/operations.h"
#include "environment/model/deployment_states.h"
#include "environment/model/derived.h"
#include "environment/model/environment_type.h"
#include "environment/model/fail.h"
#include "environment/model/quarantine_guard.h"
#include "environment/model/token.h"
#include "environment/model/version_builder.h"

static enum daemon_bug bug_of(const struct aws_request *request)
{
	const struct daemon_context *context = request->context;

	return context ? context->bug : DAEMON_BUG_NONE;
}

/* ---- finding ---- */

static struct span environment_arn(struct aws_request *request, struct span name)
{
	return arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:environment/%.*s",
		SPAN_ARGS(request->caller->region), SPAN_ARGS(request->caller->account),
		SPAN_ARGS(name));
}

void environment_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span name = json_get_text(request->input, "name");

	if (name.data)
		resources->arns[resources->count++] = environment_arn(request, name);
}

static struct span key_of_input(struct aws_request *request)
{
	return environment_key(request->arena, request->caller->account,
		json_get_text(request->input, "name"));
}

int environment_find(struct aws_request *request, const struct store_object **ret_environment)
{
	struct span name = json_get_text(request->input, "name");
	const struct store_object *found =
		memchr(name.data, '/', name.length)
			? NULL
			: store_get(request->view, &environment_kind, key_of_input(request));

	if (!found && environment_refuse_damaged(request, key_of_input(request)) < 0)
		return -EPERM;
	if (!found)
		return daemon_fail(request, "ResourceNotFoundException", "environment", name,
			"There is no environment '%.*s'", SPAN_ARGS(name));
	request->resource = environment_arn(request, name);
	*ret_environment = found;
	return 0;
}

int environment_version_find(struct aws_request *request, const struct store_object *environment,
	struct span id, const struct store_object **ret_version)
{
	const struct store_object *found = store_get(request->view, &environment_version_kind,
		environment_child_key(request->arena, environment->key, id));

	if (!found && environment_refuse_damaged(request, environment->key) < 0)
		return -EPERM;
	if (!found)
		return daemon_fail(request, "ResourceNotFoundException", "environmentVersion", id,
			"Environment '%.*s' has no version '%.*s'",
			SPAN_ARGS(environment_facts(environment)->name), SPAN_ARGS(id));
	*ret_version = found;
	return 0;
}

int environment_save(struct aws_request *request, const struct store_object *environment,
	struct environment_facts *facts)
{
	facts->updated_ms = request->now_ms;
	environment_derive(request->transaction, bug_of(request), environment->key, facts);
	if (environment_put(request->transaction, &environment_kind, environment->key,
		    environment->api, facts, environment->revision, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* ---- prepared: the token ---- */

static int prepare(struct aws_request *request)
{
	if (daemon_token_prepare(request) < 0)
		return -EPERM;
	return version_builder_check(request);
}

static int check_name(struct aws_request *request, struct span name)
{
	bool good = name.length >= 1 && name.length <= ENVIRONMENT_NAME_MAX;

	for (size_t i = 0; good && i < name.length; i++) {
		char c = name.data[i];

		good = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		       (i > 0 && (c == '-' || c == '_'));
	}
	if (!good)
		return aws_fail_input(request,
			"name: has 1 to %d letters, digits, '-' and '_', and begins with a letter "
			"or digit",
			ENVIRONMENT_NAME_MAX);
	return 0;
}

int environment_create_prepare(struct aws_request *request)
{
	if (check_name(request, json_get_text(request->input, "name")) < 0)
		return -EPERM;
	return prepare(request);
}

int environment_update_prepare(struct aws_request *request)
{
	return prepare(request);
}

/* ---- overlap ---- */

/* Another environment of this place and task definition. */
static int check_daemons(struct aws_request *request, const struct store_object *environment,
	const struct environment_version_facts *version)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &environment_kind,
		.index = ENVIRONMENT_BY_CLAIM,
		.prefix = version_builder_claim(request->arena, version),
		.exact = true};
	const struct store_object *other;

	while ((other = store_next(&cursor)))
		if (!environment || !span_equal(other->key, environment->key))
			return daemon_fail(request, "ResourceInUseException", "environment",
				environment_facts(other)->name,
				"Environment '%.*s' runs task definition %.*s in the same cluster",
				SPAN_ARGS(environment_facts(other)->name),
				SPAN_ARGS(version->task_definition));
	return 0;
}

int environment_check_overlap(struct aws_request *request, enum environment_type type,
	const struct store_object *environment, const struct environment_version_facts *version)
{
	if (type == ENVIRONMENT_TYPE_Daemon)
		return check_daemons(request, environment, version);
	return environment_check_service(request, type, json_get_text(request->input, "name"),
		version);
}

/* ---- versions ---- */

static int put_version(struct aws_request *request, struct span key,
	struct environment_facts *environment, struct version_builder *builder)
{
	struct environment_version_facts *facts = &builder->facts;
	struct span id = environment->latest;

	facts->environment = key;
	facts->id = id;
	facts->number = ++environment->version_count;
	facts->token = daemon_token_text(request);
	facts->token_hash = daemon_token_hash(request);
	json_set_string(request->arena, builder->document, "environmentVersion", id);
	json_set_integer(request->arena, builder->document, "number", facts->number);
	json_set_time(request->arena, builder->document, "createdAt", request->now_ms);
	if (environment_put(request->transaction, &environment_version_kind,
		    environment_child_key(request->arena, key, id),
		    json_to_text(builder->document, request->arena), facts, STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

struct span environment_new_id(struct aws_request *request)
{
	char id[ID_UUID_SIZE];

	id_uuid(request->random, id);
	return arena_copy_span(request->arena, span_of(id));
}

static int answer_version(struct aws_request *request, struct span name, struct span version)
{
	buffer_format(request->out, "{\"name\":\"%.*s\",\"environmentVersion\":\"%.*s\"}",
		SPAN_ARGS(name), SPAN_ARGS(version));
	return 0;
}

static void tokens_of(const struct store_object *version, struct span *ret_tokens,
	struct span *ret_hashes)
{
	*ret_tokens = environment_version_facts(version)->token;
	*ret_hashes = environment_version_facts(version)->token_hash;
}

/* A version that this token made, or NULL. */
static int find_created(struct aws_request *request, struct span key,
	const struct store_object **ret_version)
{
	return daemon_token_find(request, &environment_version_kind, ENVIRONMENT_VERSION_BY_TOKEN,
		key, tokens_of, ret_version);
}

/* ---- operations ---- */

static int check_limit(struct aws_request *request)
{
	const struct daemon_context *context = request->context;
	int64_t most = context && context->environments_max ? context->environments_max
							    : DAEMON_ENVIRONMENTS_MAX;
	struct span prefix =
		arena_format(request->arena, "%.*s/", SPAN_ARGS(request->caller->account));

	if ((int64_t)store_count(request->view, &environment_kind, -1, prefix, false) >= most)
		return aws_fail(request, "LimitExceededException",
			"The account has %lld environments, which is the limit", (long long)most);
	return 0;
}

int environment_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "name"), key = key_of_input(request);
	struct environment_facts facts = {.type = environment_type_of_input(request->input),
		.status = ENVIRONMENT_inactive,
		.created_ms = request->now_ms,
		.updated_ms = request->now_ms};
	const struct store_object *created;
	struct version_builder builder;

	if (find_created(request, key, &created) < 0)
		return -EPERM;
	if (created)
		return answer_version(request, name, environment_version_facts(created)->id);
	if (store_get(request->view, &environment_kind, key) &&
		!SEEDED_BUG(bug_of(request) == DAEMON_BUG_CREATE_OVER))
		return daemon_fail(request, "ResourceExistsException", "environment", name,
			"There is an environment '%.*s' already", SPAN_ARGS(name));
	if (check_limit(request) < 0 ||
		version_builder_make(request, facts.type, NULL, &builder) < 0 ||
		environment_check_overlap(request, facts.type, NULL, &builder.facts) < 0)
		return -EPERM;
	request->resource = environment_arn(request, name);
	facts.latest = environment_new_id(request);
	facts.cluster_refs = builder.facts.cluster_ref;
	if (put_version(request, key, &facts, &builder) < 0)
		return -EPERM;
	environment_derive(request->transaction, bug_of(request), key, &facts);
	if (environment_put(request->transaction, &environment_kind, key, SPAN(""), &facts,
		    SEEDED_BUG(bug_of(request) == DAEMON_BUG_CREATE_OVER) ? STORE_ANY
									  : STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	return answer_version(request, name, facts.latest);
}

int environment_refuse_deleting(struct aws_request *request, const struct environment_facts *facts)
{
	if (environment_refuse_damaged(request, key_of_input(request)) < 0)
		return -EPERM;
	if (facts->status != ENVIRONMENT_deleting)
		return 0;
	return daemon_fail(request, "ResourceInUseException", "environment", facts->name,
		"Environment '%.*s' is being deleted", SPAN_ARGS(facts->name));
}

static bool user_deploys(struct aws_request *request, const struct store_object *environment)
{
	const struct store_object *running = environment_deployment_of(request->view,
		request->arena, environment->key, environment_facts(environment)->in_progress);

	return running &&
	       environment_deployment_facts(running)->type == ENVIRONMENT_DEPLOYMENT_TYPE_user;
}

/* "status" of an update. */
static int set_status(struct aws_request *request, const struct store_object *environment,
	const struct deployment_scope *scope)
{
	struct span status = json_get_text(request->input, "status");
	struct environment_facts *facts = scope->facts;

	if (!status.data)
		return 0;
	if (span_is(status, "inactive") && user_deploys(request, environment))
		return daemon_fail(request, "ResourceInUseException", "deployment",
			facts->in_progress,
			"status: deployment %.*s is in progress; stop it instead",
			SPAN_ARGS(facts->in_progress));
	/* A monitor's has nothing to do any more. */
	if (span_is(status, "inactive") && facts->in_progress.length > 0 &&
		deployment_move(scope, facts->in_progress, ENVIRONMENT_DEPLOYMENT_to_be_stopped,
			SPAN("INACTIVE"), &request->err) < 0)
		return aws_fail_store(request);
	if (span_is(status, "active") && facts->target.length == 0)
		facts->target = facts->latest;
	if (span_is(status, "active") && facts->status != ENVIRONMENT_active)
		facts->active_ms = request->now_ms;
	facts->status = span_is(status, "active") ? ENVIRONMENT_active : ENVIRONMENT_inactive;
	return 0;
}

static int cancel_pending(struct aws_request *request, struct deployment_scope *scope)
{
	if (scope->facts->pending.length > 0 &&
		deployment_move(scope, scope->facts->pending, ENVIRONMENT_DEPLOYMENT_canceled,
			SPAN("SUPERSEDED"), &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* Nothing that a version says is in the request. */
static bool sets_status_alone(const struct json *input)
{
	static const char *const of_versions[] = {"taskDefinition", "instanceGroup", "target",
		"role", "deploymentConfiguration", "networkConfiguration", "priority"};

	if (json_is_absent(json_get(input, "status")))
		return false;
	for (size_t i = 0; i < LENGTH(of_versions); i++)
		if (!json_is_absent(json_get(input, of_versions[i])))
			return false;
	return true;
}

static int add_version(struct aws_request *request, const struct store_object *environment,
	struct environment_facts *facts)
{
	const struct store_object *latest;
	struct version_builder builder;

	if (environment_version_find(request, environment, facts->latest, &latest) < 0 ||
		version_builder_make(request, facts->type, latest, &builder) < 0 ||
		environment_check_overlap(request, facts->type, environment, &builder.facts) < 0)
		return -EPERM;
	if (SEEDED_BUG(bug_of(request) == DAEMON_BUG_DROP_GROUP))
		builder.facts.attributes = SPAN("");
	facts->latest = environment_new_id(request);
	/* Nothing was ever started, so there is only one place that matters. */
	if (facts->target.length == 0)
		facts->cluster_refs = builder.facts.cluster_ref;
	return put_version(request, environment->key, facts, &builder);
}

int environment_update(struct aws_request *request)
{
	struct span base = json_get_text(request->input, "baseVersion"),
		    name = json_get_text(request->input, "name"), answered;
	const struct store_object *environment, *created;
	bool status_alone = sets_status_alone(request->input);
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = request->transaction,
		.webhooks = daemon_webhooks(request),
		.facts = &facts,
		.now_ms = request->now_ms};

	if (environment_find(request, &environment) < 0)
		return -EPERM;
	facts = *environment_facts(environment);
	scope.environment = environment->key;
	if (find_created(request, environment->key, &created) < 0)
		return -EPERM;
	if (created)
		return answer_version(request, name, environment_version_facts(created)->id);
	if (daemon_token_find_answer(request, facts.tokens, facts.token_hashes,
		    facts.token_versions, &answered) < 0)
		return -EPERM;
	if (answered.data)
		return answer_version(request, name, answered);
	if (environment_refuse_deleting(request, &facts) < 0)
		return -EPERM;
	if (base.data && !span_equal(base, facts.latest) &&
		!SEEDED_BUG(bug_of(request) == DAEMON_BUG_LOST_UPDATE))
		return daemon_fail(request, "VersionConflictException", "environmentVersion",
			facts.latest,
			"baseVersion: the latest version of environment '%.*s' is %.*s, not %.*s",
			SPAN_ARGS(name), SPAN_ARGS(facts.latest), SPAN_ARGS(base));
	if ((!status_alone && add_version(request, environment, &facts) < 0) ||
		set_status(request, environment, &scope) < 0)
		return -EPERM;
	/* A pending deployment would make it active again. */
	if ((!status_alone || facts.status == ENVIRONMENT_inactive) &&
		cancel_pending(request, &scope) < 0)
		return -EPERM;
	if (status_alone)
		daemon_token_add_answer(request, &facts.tokens, &facts.token_hashes,
			&facts.token_versions, facts.latest);
	if (environment_save(request, environment, &facts) < 0)
		return -EPERM;
	return answer_version(request, name, facts.latest);
}

int environment_delete(struct aws_request *request)
{
	const struct store_object *environment;
	struct environment_facts facts;
	struct deployment_scope scope = {.transaction = request->transaction,
		.webhooks = daemon_webhooks(request),
		.facts = &facts,
		.now_ms = request->now_ms};

	if (environment_find(request, &environment) < 0)
		return -EPERM;
	facts = *environment_facts(environment);
	scope.environment = environment->key;
	if (environment_refuse_damaged(request, environment->key) < 0)
		return -EPERM;
	if (user_deploys(request, environment))
		return daemon_fail(request, "ResourceInUseException", "deployment",
			facts.in_progress,
			"Deployment %.*s is in progress; stop it before deleting the environment",
			SPAN_ARGS(facts.in_progress));
	facts.terminate |= json_get_bool(request->input, "terminateTasks", false);
	facts.status = ENVIRONMENT_deleting;
	if (cancel_pending(request, &scope) < 0)
		return -EPERM;
	if (facts.in_progress.length > 0 &&
		deployment_move(&scope, facts.in_progress, ENVIRONMENT_DEPLOYMENT_to_be_stopped,
			SPAN("DELETED"), &request->err) < 0)
		return aws_fail_store(request);
	if (environment_save(request, environment, &facts) < 0)
		return -EPERM;
	buffer_format(request->out, "{\"name\":\"%.*s\",\"status\":\"deleting\"}",
		SPAN_ARGS(facts.name));
	return 0;
}
