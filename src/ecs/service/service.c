/* Services: finding one, and CreateService, UpdateService, DeleteService; see the header. */
#include "ecs/service/service.h"

#include "aws/arn.h"
#include "aws/client_token.h"
#include "aws/document.h"
#include "aws/tag_list.h"
#include "base/memory.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/service/task_set.h"

#define CLIENT_TOKEN_MAX 36

/* ---- finding ---- */

static struct span cluster_requested(struct aws_request *request)
{
	struct span requested = json_get_text(request->input, "cluster");

	return requested.data ? requested : SPAN("default");
}

/* "CLUSTER/NAME" or, as ECS once wrote ARNs, "NAME". */
static bool split_name(struct span resolved, struct span cluster, struct span *ret_cluster,
	struct span *ret_name)
{
	if (!span_split(resolved, '/', ret_cluster, ret_name)) {
		*ret_cluster = cluster;
		*ret_name = resolved;
	}
	return ecs_is_name(*ret_name);
}

const struct store_object *service_get(struct aws_request *request,
	const struct store_object *cluster, struct span requested, struct span *ret_name)
{
	struct span resolved, of_cluster, name;

	*ret_name = SPAN_NONE;
	if (!ecs_try_resolve(request->caller, "service", requested, &resolved) ||
		(!aws_arn_looks_like(requested) && memchr(requested.data, '/', requested.length)) ||
		!split_name(resolved, cluster_facts(cluster)->name, &of_cluster, &name))
		return NULL;
	*ret_name = name;
	if (!span_equal(of_cluster, cluster_facts(cluster)->name))
		return NULL;
	return store_get(request->view, &service_kind,
		service_component_key(request->arena, cluster->key, name));
}

int service_find(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_service)
{
	struct span requested = json_get_text(request->input, "service"), name;
	const struct store_object *service = service_get(request, cluster, requested, &name);

	if (requested.length == 0)
		return aws_fail_input(request, "service: must not be empty");
	if (!service)
		return aws_fail(request, "ServiceNotFoundException", "Service not found: %.*s",
			SPAN_ARGS(requested));
	*ret_service = service;
	return 0;
}

int service_find_active(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_service)
{
	if (service_find(request, cluster, ret_service) < 0)
		return -EPERM;
	if (service_facts(*ret_service)->status != SERVICE_ACTIVE)
		return aws_fail(request, "ServiceNotActiveException", "Service was not ACTIVE.");
	return 0;
}

/* ---- for policies ---- */

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span requested)
{
	struct span cluster, resolved, of_cluster, name;

	if (resources->count == AWS_RESOURCES_MAX) {
		resources->overflow = true;
		return;
	}
	if (ecs_try_resolve(request->caller, "cluster", cluster_requested(request), &cluster) &&
		ecs_try_resolve(request->caller, "service", requested, &resolved) &&
		split_name(resolved, cluster, &of_cluster, &name))
		requested = ecs_arn(request, "service",
			arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(of_cluster),
				SPAN_ARGS(name)));
	resources->arns[resources->count++] = requested.data ? requested : SPAN("");
}

void service_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span requested = json_get_text(request->input, "service");

	add_resource(request, resources,
		requested.data ? requested : json_get_text(request->input, "serviceName"));
}

void service_list_resources(struct aws_request *request, struct aws_resources *resources)
{
	JSON_EACH_ITEM (json_get(request->input, "services"), service)
		add_resource(request, resources, json_text(service));
}

/* ---- create ---- */

struct prepared {
	struct client_token token;
	const struct json *tags;
};

int service_create_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	const struct json *tags = json_get(request->input, "tags");

	if (ecs_check_name(request, "serviceName", json_get_text(request->input, "serviceName")) <
			0 ||
		client_token_prepare(request, CLIENT_TOKEN_MAX, &prepared->token) < 0 ||
		aws_tag_list_check(request, tags) < 0 ||
		aws_tag_list_merge(request, NULL, tags, &prepared->tags) < 0)
		return -EPERM;
	request->prepared = prepared;
	return 0;
}

static bool token_created(const struct json *ids, struct span name)
{
	return span_equal(json_text(json_item(ids, 0)), name);
}

/* Conflicts of a new service; *ret_same: it was created already, by this request. */
static int check_free(struct aws_request *request, const struct store_object *cluster,
	const struct store_object *existing, bool *ret_same)
{
	const struct prepared *prepared = request->prepared;
	const struct json *ids;
	enum client_token_use use =
		client_token_find(request, &prepared->token, cluster->key, &ids);

	*ret_same = false;
	if (existing && service_facts(existing)->status == SERVICE_DRAINING)
		return aws_fail_input(request, "Unable to Start a service that is still Draining.");
	if (existing && service_facts(existing)->status == SERVICE_ACTIVE) {
		*ret_same = use == CLIENT_TOKEN_SAME &&
			    token_created(ids, service_facts(existing)->name);
		if (!*ret_same)
			return aws_fail_input(request, "Creation of service was not idempotent.");
	}
	if (use == CLIENT_TOKEN_OTHER)
		return aws_fail_input(request, "Creation of service was not idempotent.");
	return 0;
}

static int keep_token(struct aws_request *request, const struct store_object *cluster,
	struct span name)
{
	const struct prepared *prepared = request->prepared;
	struct json *ids = json_new_array(request->arena);

	json_append(request->arena, ids, json_new_string(request->arena, name));
	return client_token_keep(request, &prepared->token, cluster->key, ids);
}

/* The first revision and its deployment, or those of an update. */
static int deploy(struct aws_request *request, struct service_edit *edit,
	const struct json *definition)
{
	struct span revision, number;

	if (service_revision_add(request->transaction, edit, definition, request->random,
		    request->now_ms, &revision, &request->err) < 0 ||
		service_deployment_begin(request->transaction, edit, revision, SPAN(""),
			request->random, request->now_ms, &number, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static int save(struct aws_request *request, const struct service_edit *edit)
{
	struct span text;

	if (document_text(request, edit->document, &text) < 0)
		return -EPERM;
	if (service_edit_save(request->transaction, edit, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

int service_create(struct aws_request *request)
{
	const struct prepared *prepared = request->prepared;
	struct span name = json_get_text(request->input, "serviceName");
	struct service_edit edit = {.arena = request->arena,
		.document = json_new_object(request->arena),
		.tags = prepared->tags,
		.revision = STORE_ABSENT};
	const struct store_object *cluster, *existing;
	const struct json *definition;
	bool same;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	edit.key = service_component_key(request->arena, cluster->key, name);
	edit.facts.cluster = cluster_facts(cluster)->name;
	edit.facts.name = name;
	edit.facts.created_ms = request->now_ms;
	existing = store_get(request->view, &service_kind, edit.key);
	if (check_free(request, cluster, existing, &same) < 0)
		return -EPERM;
	if (same)
		return service_answer(request, edit.key);
	if (service_check_create(request, cluster, &edit, &definition) < 0)
		return -EPERM;
	if (existing) {
		/* An INACTIVE service is deleted with all its components. */
		if (service_components_delete(request->transaction, edit.key, &request->err) < 0)
			return aws_fail_store(request);
		edit.revision = existing->revision;
	}
	if (definition && deploy(request, &edit, definition) < 0)
		return -EPERM;
	if (save(request, &edit) < 0 || keep_token(request, cluster, name) < 0)
		return -EPERM;
	return service_answer(request, edit.key);
}

/* ---- update ---- */

int service_update(struct aws_request *request)
{
	const struct store_object *cluster, *service;
	const struct json *definition;
	struct service_edit edit;
	int64_t desired;
	bool deploys;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		service_find_active(request, cluster, &service) < 0)
		return -EPERM;
	if (service_edit_open(service, request->arena, &edit, &request->err) < 0)
		return aws_fail_store(request);
	desired = edit.facts.desired;
	if (service_check_update(request, cluster, &edit, &definition, &deploys) < 0)
		return -EPERM;
	if (deploys && deploy(request, &edit, definition) < 0)
		return -EPERM;
	if (edit.facts.desired != desired &&
		edit.facts.controller == SERVICE_CONTROLLED_BY_EXTERNAL &&
		task_set_rescale(request->transaction, edit.key, edit.facts.desired,
			request->now_ms, request->arena, &request->err) < 0)
		return aws_fail_store(request);
	if (save(request, &edit) < 0)
		return -EPERM;
	return service_answer(request, edit.key);
}

/* ---- delete ---- */

static int check_deletable(struct aws_request *request, const struct store_object *service)
{
	const struct service_facts *facts = service_facts(service);

	if (json_get_bool(request->input, "force", false))
		return 0;
	if (facts->strategy == SERVICE_REPLICA && facts->desired > 0)
		return aws_fail_input(request,
			"The service cannot be stopped while it is scaled above 0.");
	if (task_set_count(request->view, service->key) > 0)
		return aws_fail_input(request,
			"The service cannot be stopped while it has task sets. Delete them first, "
			"or use force.");
	return 0;
}

int service_delete(struct aws_request *request)
{
	const struct store_object *cluster, *service;
	struct service_facts facts;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		service_find(request, cluster, &service) < 0)
		return -EPERM;
	facts = *service_facts(service);
	if (facts.status == SERVICE_INACTIVE)
		return aws_fail(request, "ServiceNotFoundException", "Service not found: %.*s",
			SPAN_ARGS(facts.name));
	if (facts.status == SERVICE_DRAINING)
		return service_answer(request, service->key);
	if (check_deletable(request, service) < 0)
		return -EPERM;
	facts.status = SERVICE_DRAINING;
	facts.desired = 0;
	facts.reported = SPAN("");
	if (task_set_drain_all(request->transaction, service->key, request->now_ms, request->arena,
		    &request->err) < 0 ||
		service_object_put_facts(request->transaction, service, &facts, request->arena,
			&request->err) < 0)
		return aws_fail_store(request);
	return service_answer(request, service->key);
}
