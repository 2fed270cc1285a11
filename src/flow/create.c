/*
 * Creating flows, for the engine of applications: when a deployment is planned whose application file has a flow, the
 * names of the graph are resolved, and the flow is stored together with the plan. Where the files and commits of the
 * nodes come from is decided here, once.
 */
#include "base/memory.h"
#include "flow/application.h"
#include "flow/controller.h"
#include "flow/definition.h"
#include "flow/kinds.h"
#include "pipeline/bundle.h"

struct creation {
	struct span key;
	struct flow_facts facts;
	struct flow_definition definition;
	const struct json *files; /* NULL */
};

/* ---- the applications of the account ---- */

struct applications {
	struct arena *arena;
	struct flow_application *items;
	size_t count;
};

static struct flow_application *find(const struct applications *applications, struct span name)
{
	for (size_t i = 0; i < applications->count; i++) {
		if (span_equal(applications->items[i].name, name))
			return &applications->items[i];
	}
	return NULL;
}

static void list_stored(const struct post_sync_head *head, struct span account, bool is_chain,
	struct applications *applications)
{
	struct span prefix = arena_format(applications->arena, "%.*s/", SPAN_ARGS(account));
	uint64_t count = store_count(head->view, &application_kind, -1, prefix, false);
	struct store_cursor cursor = {
		.view = head->view, .kind = &application_kind, .index = -1, .prefix = prefix};
	const struct store_object *object;

	applications->items = arena_allocate_array(applications->arena,
		count + (head->flow_files ? head->flow_files->object.count : 0) + 1,
		sizeof(struct flow_application));
	while ((object = store_next(&cursor)))
		flow_application_read(head->view, object, is_chain, applications->arena,
			&applications->items[applications->count++]);
}

/* Files that came with the head's say more than what was deployed before. */
static int add_new(const struct post_sync_head *head, struct span account,
	struct applications *applications, struct err *err)
{
	const struct json *files = head->flow_files;

	for (size_t i = 0; files && i < files->object.count; i++) {
		struct span name = files->object.members[i].name;
		const struct json *entry = files->object.members[i].value;
		struct flow_application *application = find(applications, name);
		struct bundle bundle;
		int code = bundle_load(json_get(entry, "files"),
			json_get_text(entry, "applicationFile"), applications->arena, &bundle, err);

		if (code < 0)
			return err_prefix(err, code, "application %.*s", SPAN_ARGS(name));
		if (!application)
			application = &applications->items[applications->count++];
		*application = (struct flow_application){
			.id = application_key(applications->arena, account, name),
			.name = name,
			.kind = bundle.application->kind,
			.labels = &bundle.application->labels,
			.on_flow = bundle.application->trigger.on_flow,
			.on_chain = bundle.application->trigger.on_chain};
	}
	return 0;
}

/* ---- the flow ---- */

static void define_node(const struct post_sync_head *head, const struct flow_config *config,
	const struct flow_plan_node *planned, struct arena *arena,
	struct flow_node_definition *node, struct flow_node_rules *rules)
{
	const struct flow_node_config *own = planned->config;
	const struct store_object *application =
		store_get(head->view, &application_kind, planned->application->id);

	*node = (struct flow_node_definition){.name = planned->application->name,
		.is_chain = config->is_chain,
		.has_files = json_get_span(head->flow_files, planned->application->name) != NULL,
		.is_latest = own && own->commit == FLOW_COMMIT_LATEST,
		.commit = SPAN(""),
		.from = application ? application_facts(application)->succeeded : SPAN("")};
	if (own)
		node->approval = (struct flow_approval_rules){.approvers = own->approvers.items,
			.approver_count = own->approvers.count,
			.minimum = own->minimum_approvers > 0 ? own->minimum_approvers : 1,
			.excludes_requester = own->excludes_requester};
	if (!node->has_files)
		node->is_git = flow_application_find_commit(head->view, planned->application->id,
			head->key, head->deployment->commit, head->message, arena, &node->commit,
			&node->source);
	*rules = (struct flow_node_rules){.is_disabled = planned->is_disabled,
		.requires_approval = own && own->requires_approval,
		.soak_ms = own && own->soak_ms >= 0 ? own->soak_ms : config->soak_ms};
}

static void define(const struct post_sync_head *head, const struct flow_plan *plan,
	struct arena *arena, struct flow_definition *ret_definition)
{
	const struct flow_config *config = head->config;
	uint32_t count = plan->graph->node_count;

	*ret_definition = (struct flow_definition){.graph = plan->graph,
		.rules = {.on_failure = (enum flow_failure_policy)config->on_failure,
			.sync_timeout_ms = config->sync_timeout_ms,
			.queue_timeout_ms = config->queue_timeout_ms,
			.approval_timeout_ms = config->approval_timeout_ms},
		.node_rules = arena_allocate_array(arena, count, sizeof(struct flow_node_rules)),
		.nodes = arena_allocate_array(arena, count, sizeof(struct flow_node_definition))};
	for (uint32_t i = 0; i < count; i++)
		define_node(head, config, &plan->nodes[i], arena, &ret_definition->nodes[i],
			&ret_definition->node_rules[i]);
}

static int prepare(void *context, const struct post_sync_head *head, struct arena *arena,
	void **ret_prepared, struct err *err)
{
	const struct deployment_facts *deployment = head->deployment;
	struct creation *creation = arena_allocate(arena, sizeof(*creation));
	struct applications applications = {.arena = arena};
	struct span account = SPAN(""), name = SPAN("");
	struct flow_plan plan;
	int code;

	(void)context;
	span_split(head->key, '/', &account, &name);
	list_stored(head, account, head->config->is_chain, &applications);
	code = add_new(head, account, &applications, err);
	if (code >= 0)
		code = flow_config_resolve(head->config, applications.items, applications.count,
			head->key, arena, &plan, err);
	if (code < 0)
		return code;
	define(head, &plan, arena, &creation->definition);
	creation->key = flow_key(arena, account, deployment->id);
	creation->files = head->flow_files;
	creation->facts = (struct flow_facts){.head = head->key,
		.number = deployment->number,
		.trigger = deployment->trigger,
		.created_by = deployment->created_by,
		.commit = deployment->commit,
		.node_count = plan.graph->node_count,
		.created_ms = head->now_ms};
	*ret_prepared = creation;
	return 0;
}

/* One is made at a time, so deleting one each time is enough. */
static int delete_oldest(struct store_transaction *transaction, struct span head, struct err *err)
{
	const struct store_view *view = store_head(transaction);
	struct store_cursor cursor = {.view = view,
		.kind = &flow_kind,
		.index = FLOW_BY_HEAD,
		.prefix = arena_format(store_transaction_arena(transaction), "%.*s/",
			SPAN_ARGS(head))};
	const struct store_object *oldest;

	if (store_count(view, &flow_kind, FLOW_BY_HEAD, cursor.prefix, false) < FLOWS_KEPT)
		return 0;
	while ((oldest = store_next(&cursor))) {
		struct flow_facts facts = *flow_facts(oldest);

		if (!flow_state_is_terminal(facts.state) || facts.is_deleting)
			continue;
		facts.is_deleting = true;
		return flow_put(transaction, oldest->key, oldest->api, &facts, oldest->revision,
			err);
	}
	return 0;
}

static int create(struct store_transaction *transaction, void *prepared, struct err *err)
{
	const struct creation *creation = prepared;
	struct arena *arena = store_transaction_arena(transaction);
	struct flow_facts facts = creation->facts;
	struct flow_record record = {.closing_cause = FLOW_NO_NODE};
	int code = delete_oldest(transaction, facts.head, err);

	flow_facts_set_record(&facts, &record);
	if (code >= 0)
		code = flow_put(transaction, creation->key, SPAN("{}"), &facts, STORE_ABSENT, err);
	if (code >= 0)
		code = store_put(transaction, &flow_graph_kind, creation->key,
			json_to_text(flow_definition_write(&creation->definition, arena), arena),
			SPAN("{}"), STORE_ABSENT, err);
	if (code >= 0 && creation->files)
		code = store_put(transaction, &flow_files_kind, creation->key,
			json_to_text(creation->files, arena), SPAN("{}"), STORE_ABSENT, err);
	return code;
}

static enum post_sync_state find_state(const struct store_view *view, struct span account,
	struct span flow)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object =
		store_get(view, &flow_kind, flow_key(arena, account, flow));

	if (!object || flow_state_is_terminal(flow_facts(object)->state))
		return POST_SYNC_CANCELLED;
	return flow_facts(object)->state == FLOW_PENDING ? POST_SYNC_WAITS : POST_SYNC_STARTED;
}

const struct post_sync flow_post_sync = {
	.prepare = prepare,
	.create = create,
	.find_state = find_state,
};
