/* The steps that the engine asks for, in the transaction that stores the records. */
#include "base/memory.h"
#include "delivery/approval.h"
#include "flow/pass.h"
#include "pipeline/deployments.h"
#include "pipeline/source.h"

#define STEPS_MAX 200 /* of one transaction */
#define USER "slipway-flows"

/* ---- steps ---- */

static void list_step(struct flow_pass *pass, uint32_t node)
{
	struct flow_pass_node *at = flow_pass_node(pass, node);

	if (!at->is_listed)
		*(uint32_t *)fields_append(pass->arena, &pass->steps, sizeof(node)) = node;
	at->is_listed = true;
}

static int take_steps(struct flow_pass *pass, struct err *err)
{
	struct flow_step step;
	const uint32_t *read;
	size_t count;
	int code = 0;

	while (code >= 0 && flow_engine_next_step(pass->engine, &step)) {
		const struct flow_node_facts *facts = &flow_pass_node(pass, step.node)->facts;

		switch (step.type) {
		case FLOW_STEP_OBSERVE:
			flow_pass_again_at(pass, pass->now_ms + PASS_POLL_MS);
			continue;
		case FLOW_STEP_START: break;
		case FLOW_STEP_PLAN: code = flow_plan_node(pass, step.node, err); break;
		case FLOW_STEP_WITHDRAW:
		case FLOW_STEP_CANCEL:
			/* It was not made, and is not made any more. */
			if (facts->deployment_run != step.run)
				code = flow_pass_apply(pass, FLOW_EVENT_DEPLOYMENT_CANCELLED,
					step.node, err);
			break;
		case FLOW_STEP_UNDO:
			if (facts->before.length > 0)
				break;
			flow_pass_set_detail(pass, step.node,
				SPAN("first deployment, nothing to roll back to"));
			code = flow_pass_apply(pass, FLOW_EVENT_UNDO_FAILED, step.node, err);
			break;
		}
		list_step(pass, step.node);
	}
	/* A new plan of a node that waits for approval is no step of the engine. */
	read = flow_pass_nodes(pass, &count);
	for (size_t i = 0; i < count; i++) {
		if (flow_pass_node(pass, read[i])->needs_plan)
			list_step(pass, read[i]);
	}
	return code;
}

/* Whether a deployment is to be made or stopped for the node. */
static bool has_step(struct flow_pass *pass, uint32_t node)
{
	const struct flow_pass_node *at = flow_pass_node(pass, node);
	const struct flow_node_facts *facts = &at->facts;
	struct deployment_record deployment;

	if (at->is_held)
		return false;
	if (at->needs_plan && facts->plan_deployment.length == 0)
		return facts->phase == FLOW_PHASE_PLANNING ||
		       facts->state == FLOW_NODE_WAITING_APPROVAL;
	if (facts->phase == FLOW_PHASE_UNDOING)
		return facts->undo.length == 0;
	if (facts->stop == FLOW_STOP_NOT)
		return facts->phase == FLOW_PHASE_STARTING && facts->deployment_run != facts->run;
	return facts->deployment_run == facts->run &&
	       flow_pass_find_deployment(pass, flow_pass_application(pass, node), facts->deployment,
		       &deployment) &&
	       !pipeline_deployment_is_terminal(deployment.facts.state) &&
	       deployment.facts.order == DEPLOYMENT_ORDER_NONE;
}

/* At most STEPS_MAX; the next pass makes the others. */
static void filter_steps(struct flow_pass *pass)
{
	uint32_t *steps = pass->steps.items;
	size_t count = 0;

	for (size_t i = 0; i < pass->steps.count; i++) {
		bool is_needed = has_step(pass, steps[i]);

		if (is_needed && count < STEPS_MAX)
			steps[count++] = steps[i];
		else
			flow_pass_node(pass, steps[i])->is_listed = false;
		if (is_needed && count == STEPS_MAX)
			flow_pass_again_at(pass, pass->now_ms);
	}
	pass->steps.count = count;
}

/* For streams, which see the node alone. */
static void write_names(struct flow_pass *pass, uint32_t node)
{
	struct json *document = flow_pass_document(pass, node);
	struct span reason = flow_pass_reason(pass, node);

	json_set_string(pass->arena, document, "application", pass->definition.nodes[node].name);
	json_unset(document, "reason");
	if (reason.length > 0)
		json_set_string(pass->arena, document, "reason", reason);
}

/* Notes of the controller beside the engine's record. */
static void update_node(struct flow_pass *pass, uint32_t node)
{
	const struct flow_node_record *record = flow_engine_node(pass->engine, node);
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;

	flow_node_facts_set_record(facts, record, pass->arena);
	write_names(pass, node);
	if (record->phase != FLOW_PHASE_PLANNING && record->state != FLOW_NODE_WAITING_APPROVAL)
		facts->plan_deployment = SPAN("");
	if (record->state == FLOW_NODE_WAITING_APPROVAL && pass->definition.nodes[node].is_latest)
		flow_pass_again_at(pass, pass->now_ms + PASS_POLL_MS);
	if (record->state == FLOW_NODE_RUNNING && facts->started_ms == 0)
		facts->started_ms = pass->now_ms;
	if (!flow_node_state_is_terminal(record->state))
		facts->ended_ms = 0;
	else if (facts->ended_ms == 0)
		facts->ended_ms = pass->now_ms;
}

static bool take_changes(struct flow_pass *pass)
{
	bool changed = flow_engine_take_record_changed(pass->engine);
	const uint32_t *read;
	size_t count;
	uint32_t node;

	while ((node = flow_engine_next_changed(pass->engine)) != FLOW_NO_NODE) {
		update_node(pass, node);
		flow_pass_node(pass, node)->must_write = true;
	}
	pass->changed = (struct field_list){0};
	read = flow_pass_nodes(pass, &count);
	for (size_t i = 0; i < count; i++) {
		if (flow_pass_node(pass, read[i])->must_write)
			*(uint32_t *)fields_append(pass->arena, &pass->changed, sizeof(*read)) =
				read[i];
	}
	flow_facts_set_record(&pass->facts, flow_engine_record(pass->engine));
	if (pass->facts.is_started && pass->facts.started_ms == 0)
		pass->facts.started_ms = pass->now_ms;
	if (!flow_state_is_terminal(pass->facts.state))
		pass->facts.ended_ms = 0;
	else if (pass->facts.ended_ms == 0)
		pass->facts.ended_ms = pass->now_ms;
	return changed;
}

/* ---- deployments ---- */

static int read_files(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	const struct flow_node_facts *facts, struct deployment_source *ret_source, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct json *entry;
	int code = 0;

	if (pass->definition.nodes[node].is_git) {
		*ret_source = (struct deployment_source){.application_file = SPAN("")};
		return 0;
	}
	if (facts->from.length > 0)
		return deployment_source_read(store_head(transaction),
			deployment_key(arena, flow_pass_application(pass, node), facts->from),
			arena, ret_source, err);
	if (!pass->loaded->files)
		code = flow_loaded_read_files(pass->loaded,
			store_get(pass->view, &flow_files_kind, pass->key), err);
	if (code < 0)
		return code;
	entry = json_get_span(pass->loaded->files, pass->definition.nodes[node].name);
	*ret_source = (struct deployment_source){.files = json_get(entry, "files"),
		.application_file = json_get_text(entry, "applicationFile")};
	return ret_source->files ? 0 : err_set(err, -ENOENT, "the files of the node are missing");
}

/* Where the application was deployed last; the head's, for its first deployment. */
static void set_place(const struct flow_pass *pass, struct store_transaction *transaction,
	struct deployment_request *request)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *application =
		store_get(head, &application_kind, request->application);
	struct span last = application ? application_facts(application)->succeeded : SPAN("");
	const struct store_object *object = store_get(head, &deployment_kind,
		last.length > 0 ? deployment_key(pass->arena, request->application, last)
				: deployment_key(pass->arena, pass->facts.head, pass->facts.id));

	request->region = object ? deployment_facts(object)->region : SPAN("");
	request->target = object ? deployment_facts(object)->target : SPAN("");
	request->role = object ? deployment_facts(object)->role : SPAN("");
}

static struct span approvers_of(struct flow_pass *pass, uint32_t node)
{
	const struct flow_pass_node *at = flow_pass_node(pass, node);
	_buffer_ struct buffer text = {0};
	struct json *document = at->document;

	if (!document && at->stored &&
		json_parse(at->stored->api, pass->arena, &document, NULL) < 0)
		return SPAN("");
	JSON_EACH_ITEM (json_path(document, "approval.votes"), vote)
		buffer_format(&text, "%s%.*s", text.length > 0 ? ", " : "",
			SPAN_ARGS(json_get_text(vote, "user")));
	return arena_copy_span(pass->arena, buffer_span(&text));
}

static struct deployment_request new_request(const struct flow_pass *pass, uint32_t node)
{
	return (struct deployment_request){.application = flow_pass_application(pass, node),
		.trigger = DEPLOYMENT_TRIGGER_FLOW,
		.commit = SPAN(""),
		.message = SPAN(""),
		.flow = pass->facts.id,
		.approved_by = SPAN(""),
		.wanted_digest = SPAN(""),
		.created_by = pass->facts.created_by,
		.now_ms = pass->now_ms,
		.random = pass->config->random};
}

/* The deployment cannot be made: the pass notes why, and the transaction ends with -ECANCELED. */
static int refuse(struct flow_pass *pass, uint32_t node, const struct err *err)
{
	pass->refused = node;
	pass->refusal = *err;
	return -ECANCELED;
}

static int order_deployment(struct flow_pass *pass, struct store_transaction *transaction,
	uint32_t node, struct deployment_request *request, const struct deployment_source *source,
	struct span *ret_id, struct err *err)
{
	int code;

	request->files = source->files;
	request->application_file = source->application_file;
	set_place(pass, transaction, request);
	code = deployment_start(transaction, request, ret_id, err);
	if (code != -ENOENT && code != -EBUSY && code != -E2BIG && code != -EALREADY)
		return code;
	return refuse(pass, node, err);
}

static int start_plan(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	struct flow_node_facts *facts, struct err *err)
{
	struct deployment_request request = new_request(pass, node);
	struct deployment_source source;
	int code = read_files(pass, transaction, node, facts, &source, err);

	if (code < 0)
		return code == -ENOENT || code == -EINVAL ? refuse(pass, node, err) : code;
	facts->plan_count++;
	request.trigger = DEPLOYMENT_TRIGGER_PLAN;
	request.commit = facts->commit;
	request.needs_approval = true;
	request.token = arena_format(pass->arena, "%.*s-%u-plan-%lld", SPAN_ARGS(pass->facts.id),
		node, (long long)facts->plan_count);
	return order_deployment(pass, transaction, node, &request, &source, &facts->plan_deployment,
		err);
}

static int start(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	struct flow_node_facts *facts, struct err *err)
{
	struct deployment_request request = new_request(pass, node);
	const struct store_object *application =
		store_get(store_head(transaction), &application_kind, request.application);
	struct deployment_source source;
	int code = read_files(pass, transaction, node, facts, &source, err);

	if (code < 0)
		return code == -ENOENT || code == -EINVAL ? refuse(pass, node, err) : code;
	/* A rollback of the flow returns to the state before its first run. */
	if (!facts->is_deployed)
		facts->before = application ? arena_copy_span(pass->arena,
						      application_facts(application)->succeeded)
					    : SPAN("");
	request.commit = facts->commit;
	request.needs_approval = pass->definition.node_rules[node].requires_approval;
	if (request.needs_approval) {
		request.approved_by = approvers_of(pass, node);
		request.wanted_digest = facts->digest;
	}
	request.token = arena_format(pass->arena, "%.*s-%u-%lld", SPAN_ARGS(pass->facts.id), node,
		(long long)facts->run);
	facts->deployment_run = facts->run;
	return order_deployment(pass, transaction, node, &request, &source, &facts->deployment,
		err);
}

static int undo(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	struct flow_node_facts *facts, struct err *err)
{
	struct deployment_request request = new_request(pass, node);
	struct arena *arena = store_transaction_arena(transaction);
	struct span key = deployment_key(arena, request.application, facts->before);
	const struct store_object *before =
		store_get(store_head(transaction), &deployment_kind, key);
	struct deployment_source source;
	int code =
		before ? deployment_source_read(store_head(transaction), key, arena, &source, err)
		       : -ENOENT;

	if (code == -ENOENT) {
		(void)err_set(err, -ENOENT,
			"the files of the deployment before the flow were deleted");
		return refuse(pass, node, err);
	}
	if (code < 0)
		return code;
	request.trigger = DEPLOYMENT_TRIGGER_ROLLBACK;
	request.commit = deployment_facts(before)->commit;
	request.token = arena_format(pass->arena, "%.*s-%u-undo-%lld", SPAN_ARGS(pass->facts.id),
		node, (long long)facts->run);
	return order_deployment(pass, transaction, node, &request, &source, &facts->undo, err);
}

static int stop(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	const struct flow_node_facts *facts, struct err *err)
{
	struct span application = flow_pass_application(pass, node);
	const struct store_object *object = store_get(store_head(transaction), &deployment_kind,
		deployment_key(pass->arena, application, facts->deployment));
	const struct deployment_facts *deployment = object ? deployment_facts(object) : NULL;

	if (!deployment || pipeline_deployment_is_terminal(deployment->state) ||
		deployment->order != DEPLOYMENT_ORDER_NONE ||
		(facts->stop == FLOW_STOP_WITHDRAW &&
			deployment->state != PIPELINE_DEPLOYMENT_PENDING))
		return 0;
	return deployment_cancel(transaction, application, facts->deployment,
		pass->facts.rolls_back, pass->now_ms, err);
}

/* ---- approvals ---- */

/* Each wait asks anew: votes of an earlier one are void. */
static int bind_approval(struct flow_pass *pass, struct store_transaction *transaction,
	uint32_t node, const struct flow_node_facts *facts, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct flow_approval_rules *rules = &pass->definition.nodes[node].approval;
	const struct store_object *stored = flow_pass_node(pass, node)->stored;
	struct span key = flow_node_key(arena, pass->key, node);
	struct approval approval = {.subject = key,
		.digest = facts->digest,
		.approvers = rules->approvers,
		.approver_count = rules->approver_count,
		.minimum = rules->minimum,
		.requester = pass->facts.created_by,
		.refuses_requester = rules->excludes_requester,
		.deadline_ms = facts->deadline_ms};

	if (facts->state != FLOW_NODE_WAITING_APPROVAL)
		return 0;
	if (stored && flow_node_facts(stored)->state == FLOW_NODE_WAITING_APPROVAL &&
		span_equal(flow_node_facts(stored)->digest, facts->digest))
		return 0;
	return store_put(transaction, &flow_approval_kind, key,
		json_to_text(approval_write(&approval, arena), arena), SPAN("{}"), STORE_ANY, err);
}

/* A vote that was accepted counts, also when the pass that ends the wait has not seen it: that pass runs again. */
static int require_votes(struct flow_pass *pass, struct store_transaction *transaction,
	uint32_t node, const struct flow_node_facts *facts, struct err *err)
{
	const struct store_object *stored = flow_pass_node(pass, node)->stored, *seen, *now;
	struct span key;

	if (!stored || flow_node_facts(stored)->state != FLOW_NODE_WAITING_APPROVAL ||
		facts->state == FLOW_NODE_WAITING_APPROVAL)
		return 0;
	key = flow_node_key(store_transaction_arena(transaction), pass->key, node);
	seen = store_get(pass->view, &flow_approval_kind, key);
	now = store_get(store_head(transaction), &flow_approval_kind, key);
	if (!now || (seen && seen->revision == now->revision))
		return 0;
	return err_set(err, -ESTALE, "a vote about node %u of flow %.*s came meanwhile", node,
		SPAN_ARGS(pass->facts.id));
}

/* ---- the transaction ---- */

/* One of those for which has_step() is true. */
static int put_step(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	struct flow_node_facts *facts, struct err *err)
{
	if (flow_pass_node(pass, node)->needs_plan)
		return start_plan(pass, transaction, node, facts, err);
	if (facts->phase == FLOW_PHASE_UNDOING)
		return undo(pass, transaction, node, facts, err);
	return facts->stop == FLOW_STOP_NOT ? start(pass, transaction, node, facts, err)
					    : stop(pass, transaction, node, facts, err);
}

static int put_node(struct flow_pass *pass, struct store_transaction *transaction, uint32_t node,
	const struct flow_node_facts *facts, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct flow_pass_node *at = flow_pass_node(pass, node);
	struct span api = at->document ? json_to_text(at->document, arena)
			  : at->stored ? at->stored->api
				       : SPAN("{}");
	int code = require_votes(pass, transaction, node, facts, err);

	if (code >= 0)
		code = bind_approval(pass, transaction, node, facts, err);
	return code < 0 ? code
			: flow_node_put(transaction, flow_node_key(arena, pass->key, node), api,
				  facts, err);
}

/* When the head has reached this flow, older ones of it give way. Orders of users come first; such a flow sees the newer
 * one when it takes the order. */
static int supersede_older(const struct flow_pass *pass, struct store_transaction *transaction,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &flow_kind,
		.index = FLOW_OPEN,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(pass->facts.head))};
	const struct store_object *object;
	struct field_list older = {0};
	int code = 0;

	if (flow_facts(pass->object)->state != FLOW_PENDING || pass->facts.state == FLOW_PENDING)
		return 0;
	while ((object = store_next(&cursor))) {
		if (flow_facts(object)->number < pass->facts.number &&
			!store_get(store_head(transaction), &flow_order_kind, object->key))
			*(struct span *)fields_append(arena, &older, sizeof(struct span)) =
				arena_copy_span(arena, object->key);
	}
	for (size_t i = 0; i < older.count && code >= 0; i++)
		code = flow_order_put(transaction, ((struct span *)older.items)[i],
			FLOW_ORDER_SUPERSEDE, err);
	return code;
}

static int put_pass(struct store_transaction *transaction, void *context, struct err *err)
{
	struct flow_pass *pass = context;
	const uint32_t *steps = pass->steps.items, *changed = pass->changed.items;
	int code;

	if (pass->must_write)
		pass->revision = store_next_revision(transaction);
	code = pass->must_write ? flow_put(transaction, pass->key, pass->object->api, &pass->facts,
					  pass->object->revision, err)
				: 0;

	if (code >= 0 && pass->must_write)
		code = supersede_older(pass, transaction, err);
	if (code >= 0 && pass->order)
		code = store_delete(transaction, &flow_order_kind, pass->key, pass->order->revision,
			err);
	for (size_t i = 0; i < pass->steps.count && code >= 0; i++) {
		struct flow_node_facts facts = flow_pass_node(pass, steps[i])->facts;

		code = put_step(pass, transaction, steps[i], &facts, err);
		if (code >= 0)
			code = put_node(pass, transaction, steps[i], &facts, err);
	}
	for (size_t i = 0; i < pass->changed.count && code >= 0; i++) {
		const struct flow_pass_node *at = flow_pass_node(pass, changed[i]);

		if (!at->is_listed) /* else it was put with its step */
			code = put_node(pass, transaction, changed[i], &at->facts, err);
	}
	return code;
}

/* The deployment of a node is refused: an event, and the pass continues without it. */
static int take_refusal(struct flow_pass *pass, struct err *err)
{
	uint32_t node = pass->refused;
	struct flow_pass_node *at = flow_pass_node(pass, node);
	bool may_pass = pass->refusal.code == -EBUSY || pass->refusal.code == -E2BIG;
	const struct flow_node_record *record = flow_engine_node(pass->engine, node);
	enum flow_event_type type = may_pass                               ? FLOW_EVENT_UNAVAILABLE
				    : record->phase == FLOW_PHASE_PLANNING ? FLOW_EVENT_PLAN_FAILED
				    : record->phase == FLOW_PHASE_UNDOING
					    ? FLOW_EVENT_UNDO_FAILED
					    : FLOW_EVENT_DEPLOYMENT_FAILED;

	at->is_held = true;
	flow_pass_set_detail(pass, node,
		arena_copy_span(pass->arena, span_of(pass->refusal.message)));
	flow_pass_again_at(pass, pass->now_ms + PASS_POLL_MS);
	return flow_pass_apply(pass, type, node, err);
}

static void write_audit(struct flow_pass *pass)
{
	const uint32_t *steps = pass->steps.items;
	struct span account, head = pass->facts.head;
	char id[ID_UUID_SIZE];

	span_split(pass->facts.head, '/', &account, &head);
	for (size_t i = 0; pass->config->audit && i < pass->steps.count; i++) {
		const struct flow_node_facts *facts = &flow_pass_node(pass, steps[i])->facts;
		const struct aws_caller caller = {.account = pass->facts.account,
			.user = pass->facts.created_by.length > 0 ? pass->facts.created_by
								  : SPAN(USER),
			.access_key = SPAN(""),
			.region = SPAN(""),
			.is_internal = true};
		struct aws_audit audit = {.time_ms = pass->now_ms,
			.caller = &caller,
			.service = "slipway",
			.operation = SPAN("StartFlowNode"),
			.status = 200,
			.request_id = id,
			.write = true};

		if (facts->phase != FLOW_PHASE_STARTING || facts->stop != FLOW_STOP_NOT ||
			facts->deployment_run == facts->run)
			continue;
		id_uuid(pass->config->random, id);
		audit.resource = arena_format(pass->arena,
			"application/%.*s commit %.*s by flow %.*s of application/%.*s commit "
			"%.*s, triggered by %s",
			SPAN_ARGS(pass->definition.nodes[steps[i]].name), SPAN_ARGS(facts->commit),
			SPAN_ARGS(pass->facts.id), SPAN_ARGS(head), SPAN_ARGS(pass->facts.commit),
			deployment_trigger_name(pass->facts.trigger));
		pass->config->audit(pass->config->audit_context, &audit);
	}
}

int flow_carry_out(struct flow_pass *pass, struct err *err)
{
	flow_engine_repeat_steps(pass->engine);
	for (;;) {
		int code = take_steps(pass, err);

		if (code < 0)
			return code;
		pass->must_write |= take_changes(pass);
		filter_steps(pass);
		if (!pass->must_write && !pass->order && pass->changed.count == 0 &&
			pass->steps.count == 0)
			return 0;
		code = claims_write(pass->config->claims, &pass->claim, put_pass, pass, NULL, err);
		if (code >= 0)
			write_audit(pass);
		if (code != -ECANCELED || pass->refused == FLOW_NO_NODE)
			return code;
		code = take_refusal(pass, err);
		pass->refused = FLOW_NO_NODE;
		if (code < 0)
			return code;
	}
}
