/*
 * Service deployments and service revisions, as their own operations show them. A service
 * deployment is a deployment that a client requested; a rollback is shown with the deployment that
 * failed and not by itself (service_revision.h).
 */
#include "aws/arn.h"
#include "aws/document.h"
#include "aws/page.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/service/service.h"

#define LIST_DEFAULT 20
#define LIST_MAX 100
#define DESCRIBE_MAX 20
#define BREAKER_LEAST 3
#define BREAKER_MOST 200

/* ---- finding ---- */

/* The object that an ARN "…:TYPE/CLUSTER/SERVICE/NUMBER" means, or NULL. */
static const struct store_object *get(struct aws_request *request, const char *type,
	const struct store_kind *kind, struct span requested)
{
	struct span rest, cluster, service, number;

	if (!aws_arn_looks_like(requested) ||
		!ecs_try_resolve(request->caller, type, requested, &rest) ||
		!span_split(rest, '/', &cluster, &service) ||
		!span_split(service, '/', &service, &number) || !ecs_is_name(cluster) ||
		!ecs_is_name(service) || !ecs_is_name(number))
		return NULL;
	return store_get(request->view, kind, aws_key(request, rest));
}

static const struct store_object *get_deployment(struct aws_request *request, struct span requested)
{
	const struct store_object *deployment =
		get(request, "service-deployment", &service_deployment_kind, requested);

	return deployment && !service_deployment_facts(deployment)->rollback ? deployment : NULL;
}

void service_deployment_resources(struct aws_request *request, struct aws_resources *resources)
{
	static const struct {
		const char *member;
		const char *type;
	} members[] = {{"serviceDeploymentArn", "service-deployment"},
		{"serviceDeploymentArns", "service-deployment"},
		{"serviceRevisionArns", "service-revision"}};

	for (size_t i = 0; i < LENGTH(members); i++) {
		const struct json *requested = json_get(request->input, members[i].member);

		if (json_is(requested, JSON_STRING))
			resources->arns[resources->count++] =
				ecs_canonical_arn(request, members[i].type, json_text(requested));
		JSON_EACH_ITEM (requested, item) {
			if (resources->count == AWS_RESOURCES_MAX) {
				resources->overflow = true;
				return;
			}
			resources->arns[resources->count++] =
				ecs_canonical_arn(request, members[i].type, json_text(item));
		}
	}
}

/* ---- answers ---- */

static struct span arn_of(struct aws_request *request, const char *type, struct span key)
{
	return ecs_arn(request, type, aws_name_of_key(key));
}

static struct span revision_arn(struct aws_request *request, const struct store_object *deployment,
	struct span number)
{
	return arn_of(request, "service-revision",
		service_component_key(request->arena, service_key_of_component(deployment->key),
			number));
}

static bool is_finished(enum service_deployment_status state)
{
	return state == SERVICE_DEPLOYMENT_SUCCESSFUL || state == SERVICE_DEPLOYMENT_STOPPED ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_SUCCESSFUL ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_FAILED;
}

static bool is_rolled_back(enum service_deployment_status state)
{
	return state == SERVICE_DEPLOYMENT_ROLLBACK_REQUESTED ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_SUCCESSFUL ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_FAILED;
}

/* The reason for its state, from the controller or from the state itself; none for one that is in
 * progress or succeeded. */
static struct span status_reason(const struct service_deployment_facts *facts,
	const struct json *stored)
{
	struct span own = json_get_text(stored, "statusReason");

	if (own.length > 0)
		return own;
	if (facts->requested)
		return is_rolled_back(facts->state)
			       ? SPAN("Service deployment rollback was requested by a user.")
			       : SPAN("Service deployment was stopped by a user.");
	if (is_rolled_back(facts->state))
		return SPAN("Service deployment rolled back because the circuit breaker threshold "
			    "was exceeded.");
	if (facts->state != SERVICE_DEPLOYMENT_STOPPED)
		return SPAN("");
	if (facts->rollout == ROLLOUT_FAILED)
		return SPAN("Service deployment stopped because the circuit breaker threshold was "
			    "exceeded.");
	return SPAN("Service deployment stopped because it was replaced by a newer one.");
}

static const struct json *stored_document(struct aws_request *request,
	const struct store_object *deployment)
{
	struct json *document;

	if (json_parse(deployment->api, request->arena, &document, NULL) < 0)
		return json_new_object(request->arena);
	return document;
}

/* The members that both operations show. */
static struct json *brief(struct aws_request *request, const struct store_object *deployment,
	const struct json *stored)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct arena *arena = request->arena;
	struct json *shown = json_new_object(arena);
	struct span service_key = service_key_of_component(deployment->key);
	struct span reason = status_reason(facts, stored);

	json_set_string(arena, shown, "serviceDeploymentArn",
		arn_of(request, "service-deployment", deployment->key));
	json_set_string(arena, shown, "serviceArn", arn_of(request, "service", service_key));
	json_set_string(arena, shown, "clusterArn",
		arn_of(request, "cluster", task_cluster_key(service_key)));
	json_set_time(arena, shown, "createdAt", facts->created_ms);
	json_set_time(arena, shown, "startedAt", facts->created_ms);
	if (is_finished(facts->state) && facts->finished_ms > 0)
		json_set_time(arena, shown, "finishedAt", facts->finished_ms);
	json_set_string(arena, shown, "status",
		span_of(service_deployment_status_name(facts->state)));
	if (reason.length > 0)
		json_set_string(arena, shown, "statusReason", reason);
	return shown;
}

/* The live tasks of a revision: those of all deployments that have it. */
static struct json *revision_summary(struct aws_request *request,
	const struct store_object *deployment, struct span number)
{
	struct span service_key = service_key_of_component(deployment->key);
	const struct store_object *service = store_get(request->view, &service_kind, service_key);
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = service_key,
		.exact = true};
	struct json *shown = json_new_object(request->arena);
	int64_t requested = 0, running = 0, pending = 0;
	const struct store_object *live;

	while ((live = store_next(&cursor))) {
		const struct service_deployment_facts *facts = service_deployment_facts(live);
		int64_t sums[STORE_MEASURES];

		if (!span_equal(facts->service_revision, number))
			continue;
		service_sum_tasks(request->view, service_key, facts->number, sums);
		running += sums[TASK_SUM_RUNNING];
		pending += sums[TASK_SUM_PENDING];
		requested += facts->status == DEPLOYMENT_PRIMARY && service
				     ? service_facts(service)->desired
				     : sums[TASK_SUM_RUNNING] + sums[TASK_SUM_PENDING];
	}
	json_set_string(request->arena, shown, "arn", revision_arn(request, deployment, number));
	json_set_integer(request->arena, shown, "requestedTaskCount", requested);
	json_set_integer(request->arena, shown, "runningTaskCount", running);
	json_set_integer(request->arena, shown, "pendingTaskCount", pending);
	return shown;
}

/* Half of the desired count, within limits. */
static int64_t breaker_threshold(int64_t desired)
{
	int64_t half = (desired + 1) / 2;

	return half < BREAKER_LEAST ? BREAKER_LEAST : half > BREAKER_MOST ? BREAKER_MOST : half;
}

/* The controller has kept the numbers of the moment when it tripped. */
static const struct json *breaker_as_shown(struct aws_request *request,
	const struct store_object *deployment, const struct json *stored)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	const struct store_object *service =
		store_get(request->view, &service_kind, service_key_of_component(deployment->key));
	struct json *breaker = json_new_object(request->arena);
	bool enabled = json_is_true(json_path(stored,
		"deploymentConfiguration.deploymentCircuitBreaker.enable"));
	struct span status = SPAN("DISABLED");

	if (!json_is_absent(json_get(stored, "deploymentCircuitBreaker")))
		return json_get(stored, "deploymentCircuitBreaker");
	if (enabled)
		status = facts->rollout == ROLLOUT_IN_PROGRESS ? SPAN("MONITORING")
							       : SPAN("MONITORING_COMPLETE");
	json_set_string(request->arena, breaker, "status", status);
	json_set_integer(request->arena, breaker, "failureCount", facts->failed);
	json_set_integer(request->arena, breaker, "threshold",
		breaker_threshold(service ? service_facts(service)->desired : 0));
	return breaker;
}

static const struct json *deployment_as_shown(struct aws_request *request,
	const struct store_object *deployment)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct arena *arena = request->arena;
	const struct json *stored = stored_document(request, deployment);
	struct json *shown = brief(request, deployment, stored);
	struct json *sources = json_new_array(arena), *alarms = json_new_object(arena);

	json_set_time(arena, shown, "updatedAt", facts->updated_ms);
	if (facts->state == SERVICE_DEPLOYMENT_STOPPED && facts->finished_ms > 0)
		json_set_time(arena, shown, "stoppedAt", facts->finished_ms);
	if (facts->source.length > 0)
		json_append(arena, sources, revision_summary(request, deployment, facts->source));
	json_set(arena, shown, "sourceServiceRevisions", sources);
	json_set(arena, shown, "targetServiceRevision",
		revision_summary(request, deployment, facts->service_revision));
	json_set(arena, shown, "deploymentConfiguration",
		json_get(stored, "deploymentConfiguration"));
	if (is_rolled_back(facts->state))
		json_set(arena, shown, "rollback", json_get(stored, "rollback"));
	json_set(arena, shown, "deploymentCircuitBreaker",
		breaker_as_shown(request, deployment, stored));
	json_set_string(arena, alarms, "status", SPAN("DISABLED"));
	json_set(arena, shown, "alarms", alarms);
	return shown;
}

/* ---- lists ---- */

struct filters {
	const struct json *states; /* absent: all */
	double before, after;      /* seconds; negative: not said */
};

static int read_filters(struct aws_request *request, struct filters *ret_filters)
{
	const struct json *created = json_get(request->input, "createdAt");

	*ret_filters = (struct filters){
		.states = json_get(request->input, "status"), .before = -1, .after = -1};
	json_double(json_get(created, "before"), &ret_filters->before);
	json_double(json_get(created, "after"), &ret_filters->after);
	if (ret_filters->before >= 0 && ret_filters->after >= 0 &&
		ret_filters->after > ret_filters->before)
		return aws_fail_input(request, "createdAt: after must not be later than before");
	return 0;
}

static bool passes(const struct service_deployment_facts *facts, const struct filters *filters)
{
	double created = (double)facts->created_ms / 1000;

	if (facts->rollback)
		return false;
	if (json_count(filters->states) > 0 &&
		!document_list_has(filters->states,
			span_of(service_deployment_status_name(facts->state))))
		return false;
	return (filters->before < 0 || created < filters->before) &&
	       (filters->after < 0 || created > filters->after);
}

static struct span filters_text(struct aws_request *request, const struct store_object *service,
	const struct filters *filters)
{
	struct span states =
		filters->states ? json_to_text(filters->states, request->arena) : SPAN("");

	return arena_format(request->arena, "%.*s %.*s %.3f %.3f", SPAN_ARGS(service->key),
		SPAN_ARGS(states), filters->before, filters->after);
}

int service_deployment_list(struct aws_request *request)
{
	const struct store_object *cluster, *service, *deployment, *last = NULL;
	struct json *deployments = json_new_array(request->arena);
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.descending = true};
	struct span text, last_text = SPAN_NONE;
	struct filters filters;
	struct aws_page page;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		service_find(request, cluster, &service) < 0 || read_filters(request, &filters) < 0)
		return -EPERM;
	text = filters_text(request, service, &filters);
	if (aws_page_read(request, LIST_DEFAULT, LIST_MAX, text, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key));
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	while ((deployment = store_next(&cursor))) {
		const struct service_deployment_facts *facts = service_deployment_facts(deployment);
		struct json *shown;

		if (!passes(facts, &filters))
			continue;
		if (json_count(deployments) == page.most)
			break;
		shown = brief(request, deployment, stored_document(request, deployment));
		json_set_string(request->arena, shown, "targetServiceRevisionArn",
			revision_arn(request, deployment, facts->service_revision));
		json_append(request->arena, deployments, shown);
		last = deployment;
		last_text = arena_copy_span(request->arena, cursor.text);
	}
	buffer_add_string(request->out, "{\"serviceDeployments\":");
	json_write(deployments, request->out);
	if (deployment && last)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, text, last_text, last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- describe ---- */

static int describe(struct aws_request *request, const char *member, const char *answered,
	const struct json *(*show)(struct aws_request *request, struct span requested))
{
	const struct json *requested = json_get(request->input, member);
	struct json *found = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);

	if (json_count(requested) == 0)
		return aws_fail_input(request, "%s: must not be empty", member);
	if (json_count(requested) > DESCRIBE_MAX)
		return aws_fail_input(request, "%s: %zu are given, the limit is %d", member,
			json_count(requested), DESCRIBE_MAX);
	JSON_EACH_ITEM (requested, item) {
		const struct json *shown = show(request, json_text(item));

		if (!aws_arn_looks_like(json_text(item)))
			return aws_fail_input(request, "%s: '%.*s' is not an ARN", member,
				SPAN_ARGS(json_text(item)));
		if (shown)
			json_append(request->arena, found, shown);
		else
			json_append(request->arena, failures,
				ecs_failure_missing(request, json_text(item)));
	}
	buffer_format(request->out, "{\"%s\":", answered);
	json_write(found, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static const struct json *show_deployment(struct aws_request *request, struct span requested)
{
	const struct store_object *deployment = get_deployment(request, requested);

	return deployment ? deployment_as_shown(request, deployment) : NULL;
}

int service_deployment_describe(struct aws_request *request)
{
	return describe(request, "serviceDeploymentArns", "serviceDeployments", show_deployment);
}

static const struct json *show_revision(struct aws_request *request, struct span requested)
{
	const struct store_object *revision =
		get(request, "service-revision", &service_revision_kind, requested);
	struct json *document;

	if (!revision || json_parse(revision->api, request->arena, &document, NULL) < 0)
		return NULL;
	return document;
}

int service_revision_describe(struct aws_request *request)
{
	return describe(request, "serviceRevisionArns", "serviceRevisions", show_revision);
}

/* ---- stop and continue ---- */

static int find(struct aws_request *request, const struct store_object **ret_deployment)
{
	struct span requested = json_get_text(request->input, "serviceDeploymentArn");

	if (!aws_arn_looks_like(requested))
		return aws_fail_input(request, "serviceDeploymentArn: '%.*s' is not an ARN",
			SPAN_ARGS(requested));
	*ret_deployment = get_deployment(request, requested);
	if (!*ret_deployment)
		return aws_fail(request, "ServiceDeploymentNotFoundException",
			"Service deployment not found: %.*s", SPAN_ARGS(requested));
	return 0;
}

static int fail_conflict(struct aws_request *request, const struct store_object *deployment)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct json *extra = json_new_object(request->arena), *ids = json_new_array(request->arena);
	struct span arn = arn_of(request, "service-deployment", deployment->key);

	json_append(request->arena, ids, json_new_string(request->arena, arn));
	json_set(request->arena, extra, "resourceIds", ids);
	aws_fail(request, "ConflictException",
		"The service deployment cannot be stopped because it is in state %s.",
		service_deployment_status_name(facts->state));
	request->failure.extra = extra;
	return -EPERM;
}

int service_deployment_stop(struct aws_request *request)
{
	struct span type = json_get_text(request->input, "stopType");
	const struct store_object *deployment;
	struct service_deployment_facts facts;

	if (find(request, &deployment) < 0)
		return -EPERM;
	facts = *service_deployment_facts(deployment);
	if (facts.state != SERVICE_DEPLOYMENT_PENDING &&
		facts.state != SERVICE_DEPLOYMENT_IN_PROGRESS)
		return fail_conflict(request, deployment);
	facts.state = span_is(type, "ABORT") ? SERVICE_DEPLOYMENT_STOP_REQUESTED
					     : SERVICE_DEPLOYMENT_ROLLBACK_REQUESTED;
	facts.requested = true;
	facts.updated_ms = request->now_ms;
	if (service_object_put_facts(request->transaction, deployment, &facts, request->arena,
		    &request->err) < 0)
		return aws_fail_store(request);
	request->resource = arn_of(request, "service-deployment", deployment->key);
	buffer_format(request->out, "{\"serviceDeploymentArn\":\"%.*s\"}",
		SPAN_ARGS(request->resource));
	return 0;
}

/* Rolling deployments have no lifecycle hooks, so none of them can wait at one. */
int service_deployment_continue(struct aws_request *request)
{
	struct span hook = json_get_text(request->input, "hookId");
	const struct store_object *deployment;

	if (find(request, &deployment) < 0)
		return -EPERM;
	return aws_fail_input(request,
		"hookId: the service deployment is not paused at a lifecycle hook '%.*s'",
		SPAN_ARGS(hook));
}
