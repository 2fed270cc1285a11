/* Starting and stopping one task of a service: its spec, its placement, its stop reason. */
#include "base/memory.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/capacity_provider.h"
#include "ecs/service/service_work.h"
#include "ecs/task/launch_options.h"
#include "ecs/task/task_create.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_traffic.h"

#define DOCUMENTS 3

struct service_launch {
	struct placement *placement;
	struct task_needs needs;
	struct task_request request;
	struct launch_shares shares;
};

/* NULL is fine */
static void service_launch_free(struct service_launch *launch)
{
	if (launch)
		placement_free(launch->placement);
	free(launch);
}

void service_launch_free_pointer(struct service_launch **launch)
{
	service_launch_free(*launch);
}

struct placement *service_launch_placement(struct service_launch *launch)
{
	return launch->placement;
}

static const struct json *parse(struct service_work *work, struct span text)
{
	struct json *value;

	return text.length > 0 && json_parse(text, work->arena, &value, NULL) == 0 ? value : NULL;
}

/* The documents that say how tasks of the component run, the most specific first. */
static void find_documents(struct service_work *work, const struct service_component *component,
	const struct json *documents[DOCUMENTS])
{
	const struct store_object *revision = NULL;

	if (!component->is_set && component->deployment.service_revision.length > 0)
		revision = store_get(service_head(work), &service_revision_kind,
			service_component_key(work->arena, work->key,
				component->deployment.service_revision));
	documents[0] = revision ? parse(work, revision->api) : NULL;
	documents[1] =
		component->document ? component->document : parse(work, component->object->api);
	documents[2] = service_document(work);
}

static const struct json *first_of(const struct json *const documents[DOCUMENTS], const char *name)
{
	for (size_t i = 0; i < DOCUMENTS; i++)
		if (!json_is_absent(json_get(documents[i], name)))
			return json_get(documents[i], name);
	return NULL;
}

static struct span text_or_empty(const struct json *value)
{
	struct span text = json_text(value);

	return text.data ? text : SPAN("");
}

/* A launch type or providers, from the more specific document. */
static void read_launch_type(struct service_launch *launch,
	const struct json *const documents[DOCUMENTS])
{
	for (size_t i = 0; i < DOCUMENTS; i++) {
		const struct json *providers = json_get(documents[i], "capacityProviderStrategy");

		if (task_launch_type_read(json_get_text(documents[i], "launchType"),
			    &launch->request.launch_type))
			return;
		if (json_count(providers) > 0) {
			launch->shares.strategy = providers;
			return;
		}
	}
}

/* How the deployment's tasks are shared among the providers. Counted only where there is a choice,
 * because it reads documents. */
static void count_shares(struct service_work *work, const struct service_component *component,
	struct service_launch *launch)
{
	struct store_cursor cursor = {.view = service_head(work),
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = arena_format(work->arena, "%.*s/live/" SERVICE_DEPLOYMENT_PREFIX "%.*s/",
			SPAN_ARGS(work->key), SPAN_ARGS(component->number))};
	_arena_ struct arena *scratch = arena_new(0);
	const struct store_object *task;

	if (json_count(launch->shares.strategy) < 2)
		return;
	while ((task = store_next(&cursor))) {
		struct json *document;

		if (task_facts(task)->desired == TASK_STOPPED)
			continue;
		arena_reset(scratch);
		if (json_parse(task->api, scratch, &document, NULL) == 0)
			launch_shares_add(&launch->shares,
				text_or_empty(json_get(document, "capacityProviderName")));
	}
}

/* All providers of a strategy are of one kind. */
static void open_providers(struct service_work *work, const struct service_component *component,
	struct service_launch *launch)
{
	struct span first =
		json_get_text(json_item(launch->shares.strategy, 0), "capacityProvider");

	launch->request.launch_type = first.data && capacity_provider_is_fargate(first)
					      ? TASK_LAUNCH_FARGATE
					      : TASK_LAUNCH_EC2;
	count_shares(work, component, launch);
}

static struct span next_provider(struct service_launch *launch)
{
	struct span next = launch_next_provider(&launch->shares);

	/* Without any weight. */
	if (next.length == 0)
		next = json_get_text(json_item(launch->shares.strategy, 0), "capacityProvider");
	return next;
}

static void add_tag(struct arena *arena, struct json *tags, const char *name, struct span value)
{
	struct json *tag = json_new_object(arena);

	json_set_string(arena, tag, "key", span_of(name));
	json_set_string(arena, tag, "value", value);
	json_append(arena, tags, tag);
}

static const struct json *tags_of(struct service_work *work, const struct store_object *definition)
{
	const struct json *document = service_document(work), *from = NULL;
	struct span propagate = json_get_text(document, "propagateTags");
	struct json *tags = json_new_array(work->arena);

	if (span_is(propagate, "SERVICE"))
		from = parse(work, work->service->private_);
	else if (span_is(propagate, "TASK_DEFINITION"))
		from = parse(work, definition->private_);
	JSON_EACH_ITEM (json_get(from, "tags"), tag)
		json_append(work->arena, tags, tag);
	if (json_get_bool(document, "enableECSManagedTags", false)) {
		add_tag(work->arena, tags, "aws:ecs:clusterName", work->facts.cluster);
		add_tag(work->arena, tags, "aws:ecs:serviceName", work->facts.name);
	}
	return json_count(tags) > 0 ? tags : NULL;
}

static void cannot_launch(struct service_work *work, const char *reason, struct span event)
{
	work->unplaced = true;
	work->failure = (struct placement_failure){.reason = span_of(reason), .event = event};
}

/* "ACCOUNT/REGION/FAMILY REVISION" */
static const struct store_object *find_definition(struct service_work *work,
	const struct service_component *component)
{
	struct span cluster_key = task_cluster_key(work->key);
	size_t prefix = cluster_key.length - work->facts.cluster.length;

	return store_get(service_head(work), &task_definition_kind,
		arena_format(work->arena, "%.*s%.*s %010lld", (int)prefix, work->key.data,
			SPAN_ARGS(component->family), (long long)component->revision));
}

static int open_placement(struct service_work *work, struct service_launch *launch, struct err *err)
{
	struct placement_config config = {
		.arena = work->arena,
		.random = work->random,
		.cluster_key = launch->request.cluster_key,
		.needs = &launch->needs,
		.constraints = json_get(service_document(work), "placementConstraints"),
		.strategy = json_get(service_document(work), "placementStrategy"),
		.group = launch->request.group,
		.service = launch->request.service,
		.daemon = launch->request.daemon,
		.now_ms = work->now_ms,
		.launch_type = launch->request.launch_type,
	};

	return placement_new(&config, &launch->placement, err);
}

/* The task's load balancers and names. */
static int open_traffic(struct service_work *work, const struct service_component *component,
	const struct json *const documents[DOCUMENTS], struct service_launch *launch,
	struct err *err)
{
	struct span cluster_key = task_cluster_key(work->key);
	struct span scope = {work->key.data, cluster_key.length - work->facts.cluster.length};

	return task_traffic_new(service_head(work), scope, first_of(documents, "loadBalancers"),
		first_of(documents, "serviceRegistries"),
		text_or_empty(component->is_set ? json_get(documents[1], "externalId") : NULL),
		work->arena, &launch->request.traffic, err);
}

const struct task_request *service_launch_request(struct service_launch *launch)
{
	if (launch->shares.strategy)
		launch->request.capacity_provider = next_provider(launch);
	return &launch->request;
}

int service_launch_read(struct service_work *work, const struct service_component *component,
	struct service_launch **ret_launch, struct err *err)
{
	_launch_ struct service_launch *launch = memory_allocate(sizeof(*launch));
	const struct store_object *definition = find_definition(work, component);
	const struct json *documents[DOCUMENTS];
	struct err reason = {0};
	struct json *document;
	int code;

	*ret_launch = NULL;
	if (!definition) {
		cannot_launch(work, "DEFINITION",
			arena_format(work->arena, "its task definition %.*s:%lld does not exist.",
				SPAN_ARGS(component->family), (long long)component->revision));
		return 0;
	}
	code = json_parse(definition->api, work->arena, &document, err);
	if (code < 0)
		return code;
	find_documents(work, component, documents);
	launch->request = (struct task_request){
		.arena = work->arena,
		.random = work->random,
		.now_ms = work->now_ms,
		.cluster_key = task_cluster_key(work->key),
		.definition = definition,
		.definition_document = document,
		.needs = &launch->needs,
		.network_configuration = first_of(documents, "networkConfiguration"),
		.tags = tags_of(work, definition),
		.group = arena_format(work->arena, "service:%.*s", SPAN_ARGS(work->facts.name)),
		.started_by = arena_format(work->arena, SERVICE_DEPLOYMENT_PREFIX "%.*s",
			SPAN_ARGS(component->number)),
		.service = work->facts.name,
		.reference = SPAN(""),
		.launch_type = TASK_LAUNCH_EC2,
		.capacity_provider = SPAN(""),
		.platform_version = text_or_empty(first_of(documents, "platformVersion")),
		.enable_execute_command =
			json_get_bool(service_document(work), "enableExecuteCommand", false),
		.daemon = work->facts.strategy == SERVICE_DAEMON,
		.desired = task_desired(work->arena, document,
			json_get(service_document(work), "placementConstraints"),
			json_get(service_document(work), "placementStrategy")),
	};
	launch->request.deployment = launch->request.started_by;
	read_launch_type(launch, documents);
	if (launch->shares.strategy)
		open_providers(work, component, launch);
	code = open_traffic(work, component, documents, launch, &reason);
	if (code < 0) {
		cannot_launch(work, "TRAFFIC", arena_format(work->arena, "%s", reason.message));
		return 0;
	}
	code = task_needs_read(document, NULL, work->arena, &launch->needs, &reason);
	if (code < 0) {
		cannot_launch(work, "DEFINITION", arena_format(work->arena, "%s.", reason.message));
		return 0;
	}
	*ret_launch = TAKE(launch);
	return 0;
}

int service_launch_open(struct service_work *work, const struct service_component *component,
	struct service_launch **ret_launch, struct err *err)
{
	_launch_ struct service_launch *launch = NULL;
	struct err reason = {0};
	int code = service_launch_read(work, component, &launch, err);

	*ret_launch = NULL;
	if (code < 0 || !launch)
		return code;
	if (open_placement(work, launch, &reason) < 0)
		cannot_launch(work, "DEFINITION", arena_format(work->arena, "%s.", reason.message));
	else
		*ret_launch = TAKE(launch);
	return 0;
}

static void note_task(struct service_work *work, struct service_reported_tasks *tasks, size_t most,
	struct span id)
{
	if (!tasks->ids)
		tasks->ids = arena_allocate_array(work->arena, most, sizeof(*tasks->ids));
	tasks->ids[tasks->count++] = arena_copy_span(work->arena, id);
}

int service_launch_start(struct service_work *work, struct service_launch *launch,
	const struct store_object *instance, bool *ret_placed, struct err *err)
{
	struct span key;
	int code;

	if (!service_may_write(work))
		return SERVICE_DUE;
	launch->request.instance =
		instance ? instance
			 : placement_choose(launch->placement, service_head(work), &work->failure);
	*ret_placed = launch->request.instance != NULL;
	if (!launch->request.instance) {
		work->unplaced = true;
		return 0;
	}
	if (launch->shares.strategy)
		launch->request.capacity_provider = next_provider(launch);
	code = task_create(work->transaction, &launch->request, &key, err);
	if (code < 0)
		return code;
	note_task(work, &work->started, SERVICE_STARTS_MAX,
		(struct span){key.data + launch->request.cluster_key.length + 1,
			key.length - launch->request.cluster_key.length - 1});
	return 0;
}

/* " Container app: Health check failed: exit code 1: OUTPUT", as the task reports it; "" if it does not. */
static struct span failed_check(struct service_work *work, const struct store_object *task)
{
	struct json *document;

	if (json_parse(task->api, work->arena, &document, NULL) < 0)
		return SPAN("");
	JSON_EACH_ITEM (json_get(document, "containers"), container) {
		struct span reason = json_get_text(container, "reason");

		if (reason.length > 0 &&
			span_is(json_get_text(container, "healthStatus"), "UNHEALTHY"))
			return arena_format(work->arena, " Container %.*s: %.*s",
				SPAN_ARGS(json_get_text(container, "name")), SPAN_ARGS(reason));
	}
	return SPAN("");
}

/* Why an unhealthy task is stopped, for it and for the events. */
static int explain_unhealthy(struct service_work *work, const struct store_object *task,
	struct span *ret_reason, struct err *err)
{
	const struct task_facts *facts = task_facts(task);
	struct task_traffic_trouble trouble;
	struct span which;

	*ret_reason = SPAN("Task failed container health checks");
	if ((facts->checked && facts->health == TASK_HEALTH_UNHEALTHY) ||
		!task_traffic_find_trouble(service_head(work), task, work->arena, &trouble))
		return service_report(work, err, "(task %.*s) failed container health checks.%.*s",
			SPAN_ARGS(facts->id), SPAN_ARGS(failed_check(work, task)));
	*ret_reason =
		arena_format(work->arena, "Task failed ELB health checks in (target-group %.*s)",
			SPAN_ARGS(trouble.group_arn));
	which = trouble.instance.length > 0
			? arena_format(work->arena, "(instance %.*s) ", SPAN_ARGS(trouble.instance))
			: SPAN("");
	return service_report(work, err,
		"%.*s(port %lld) is unhealthy in (target-group %.*s) due to (reason %.*s).",
		SPAN_ARGS(which), (long long)trouble.port, SPAN_ARGS(trouble.group_arn),
		SPAN_ARGS(trouble.reason));
}

/*
 * All stops of a service's tasks go through here. The task is deregistered from target groups and
 * names in the same transaction, and the task controller stops its program only after that
 * (task_traffic.h).
 */
int service_stop_task(struct service_work *work, struct service_component *component,
	const struct store_object *task, bool unhealthy, struct err *err)
{
	struct span reason;
	int code = 0;

	if (!service_may_write(work))
		return SERVICE_DUE;
	if (unhealthy)
		code = explain_unhealthy(work, task, &reason, err);
	else
		reason =
			arena_format(work->arena, "Scaling activity initiated by (deployment %.*s)",
				SPAN_ARGS(task_facts(task)->deployment));
	if (code == 0 && task_facts(task)->traffic == TASK_TRAFFIC_REGISTERED)
		code = service_event_count(work->transaction, work->key, task_facts(task)->id,
			work->now_ms, work->arena, "has begun draining connections on", "tasks.",
			err);
	if (code < 0)
		return code;
	code = task_want_stopped(work->transaction, task, "ServiceSchedulerInitiated", reason,
		work->now_ms, work->arena, err);
	if (code < 0)
		return code;
	if (unhealthy && component)
		service_component_failed(work, component);
	note_task(work, &work->stopped, SERVICE_STOPS_MAX, task_facts(task)->id);
	return 0;
}
