/* The plan of a node: from which files it is deployed, and whether it has to be. */
#include "base/memory.h"
#include "delivery/approval.h"
#include "flow/application.h"
#include "flow/pass.h"
#include "pipeline/deployments.h"

#define TARGET_POLL_MS 1000

/* The deployment whose files a node deploys now; "" with those of the flow. False: there are none. */
static bool find_source(struct flow_pass *pass, uint32_t node, struct span *ret_from,
	struct span *ret_commit, enum flow_commit_source *ret_source)
{
	const struct flow_node_definition *definition = &pass->definition.nodes[node];
	struct span application = flow_pass_application(pass, node);
	const struct store_object *object = store_get(pass->view, &application_kind, application),
				  *deployment;

	if (definition->has_files) {
		*ret_from = SPAN("");
		*ret_commit = pass->facts.commit;
		*ret_source = FLOW_COMMIT_FROM_HEAD;
		return true;
	}
	if (!object)
		return false;
	if (definition->is_git) {
		const struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
		bool is_resolved = !definition->is_latest && facts->commit.length > 0;

		*ret_from = SPAN("");
		*ret_source =
			definition->is_latest ? FLOW_COMMIT_FROM_BRANCH_LATEST : definition->source;
		*ret_commit = definition->is_latest ? flow_application_branch_commit(pass->view,
							      application, pass->arena)
			      : is_resolved         ? facts->commit
						    : definition->commit;
		return true;
	}
	*ret_source = definition->is_latest || definition->from.length == 0
			      ? FLOW_COMMIT_FROM_LATEST
			      : FLOW_COMMIT_FROM_SUCCESS;
	*ret_from = *ret_source == FLOW_COMMIT_FROM_LATEST ? application_facts(object)->succeeded
							   : definition->from;
	deployment = ret_from->length > 0
			     ? store_get(pass->view, &deployment_kind,
				       deployment_key(pass->arena, application, *ret_from))
			     : NULL;
	if (!deployment)
		return false;
	*ret_commit = deployment_facts(deployment)->commit;
	return true;
}

static bool takes_part(const struct flow_pass *pass, uint32_t node,
	const struct store_object *application)
{
	const struct flow_node_definition *definition = &pass->definition.nodes[node];
	struct flow_application read;

	if (!application || definition->has_files)
		return true;
	flow_application_read(pass->view, application, false, pass->arena, &read);
	/* Without a kind it is not known yet. */
	return read.kind.length == 0 || (definition->is_chain ? read.on_chain : read.on_flow);
}

static bool is_unchanged(struct flow_pass *pass, uint32_t node, struct span application)
{
	const struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	const struct store_object *object = store_get(pass->view, &application_kind, application);

	if (facts->from.length > 0 || facts->commit.length == 0 || !object ||
		application_facts(object)->current.length > 0 ||
		!span_equal(facts->commit, application_running_commit(pass->view, application)))
		return false;
	/* Without a live state there is no drift. */
	return !application_facts(object)->has_service ||
	       application_find_sync(pass->view, application) == APPLICATION_SYNCED;
}

/* Where the node is deployed: as its last success, else as the head. */
static const struct deployment_facts *find_place(const struct flow_pass *pass,
	struct span application)
{
	const struct store_object *object = store_get(pass->view, &application_kind, application),
				  *last = NULL;

	if (object && application_facts(object)->succeeded.length > 0)
		last = store_get(pass->view, &deployment_kind,
			deployment_key(pass->arena, application,
				application_facts(object)->succeeded));
	if (!last)
		last = store_get(pass->view, &deployment_kind,
			deployment_key(pass->arena, pass->facts.head, pass->facts.id));
	return last ? deployment_facts(last) : NULL;
}

static bool is_reachable(struct flow_pass *pass, struct span application)
{
	const struct deployment_facts *place = find_place(pass, application);

	return !place || place->target.length == 0 ||
	       flow_controller_reaches(pass->controller, pass->facts.account, place->target,
		       place->role, pass->arena);
}

/* ---- plans for approval ---- */

static struct json *write_plan(const struct flow_pass *pass, const struct deployment_record *plan)
{
	static const char *const members[] = {
		"strategy", "summary", "changes", "stages", "warnings"};
	struct json *document = deployment_document(plan, pass->arena),
		    *shown = json_new_object(pass->arena);

	for (size_t i = 0; i < LENGTH(members); i++)
		json_set(pass->arena, shown, members[i], json_get(document, members[i]));
	return shown;
}

static void require_plan(struct flow_pass *pass, uint32_t node)
{
	struct flow_pass_node *at = flow_pass_node(pass, node);

	at->needs_plan = at->must_write = true;
}

/* The result of a deployment that only plans, as an event. */
static int take_plan(struct flow_pass *pass, uint32_t node, struct err *err)
{
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	struct flow_event event = {.type = FLOW_EVENT_PLANNED, .node = node};
	struct deployment_record plan;

	if (!flow_pass_find_deployment(pass, flow_pass_application(pass, node),
		    facts->plan_deployment, &plan)) {
		facts->plan_deployment = SPAN("");
		require_plan(pass, node);
		return 0;
	}
	if (!pipeline_deployment_is_terminal(plan.facts.state))
		return 0;
	facts->plan_deployment = SPAN("");
	if (plan.facts.state != PIPELINE_DEPLOYMENT_SUCCESS) {
		flow_pass_set_detail(pass, node, plan.reason);
		return flow_pass_apply(pass, FLOW_EVENT_PLAN_FAILED, node, err);
	}
	facts->digest = plan.facts.digest;
	if (pass->definition.nodes[node].is_git)
		facts->commit = plan.facts.commit;
	json_set(pass->arena, flow_pass_document(pass, node), "plan", write_plan(pass, &plan));
	event.plan = flow_plan_id_of(plan.facts.digest);
	return flow_pass_apply_event(pass, &event, err);
}

static int plan_for_approval(struct flow_pass *pass, uint32_t node, struct err *err)
{
	if (flow_pass_node(pass, node)->facts.plan_deployment.length > 0)
		return take_plan(pass, node, err);
	flow_pass_node(pass, node)->needs_plan = true;
	return 0;
}

/* ---- planning ---- */

static int plan_at_once(struct flow_pass *pass, uint32_t node, bool unchanged, struct err *err)
{
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	const struct span texts[] = {facts->commit, facts->from};
	struct flow_event event = {
		.type = FLOW_EVENT_PLANNED, .node = node, .is_unchanged = unchanged};
	char digest[APPROVAL_DIGEST_SIZE];

	approval_digest(texts, LENGTH(texts), digest);
	event.plan = flow_plan_id_of(span_of(digest));
	return flow_pass_apply_event(pass, &event, err);
}

int flow_plan_node(struct flow_pass *pass, uint32_t node, struct err *err)
{
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	struct span application = flow_pass_application(pass, node);
	const struct store_object *object = store_get(pass->view, &application_kind, application);

	if (!takes_part(pass, node, object))
		return flow_pass_apply(pass, FLOW_EVENT_PLAN_DISABLED, node, err);
	if (!find_source(pass, node, &facts->from, &facts->commit, &facts->source)) {
		flow_pass_set_detail(pass, node,
			SPAN("no deployment of the application has succeeded, and the head came "
			     "without its files"));
		return flow_pass_apply(pass, FLOW_EVENT_PLAN_FAILED, node, err);
	}
	if (!is_reachable(pass, application)) {
		flow_pass_again_at(pass, pass->now_ms + TARGET_POLL_MS);
		return flow_pass_apply(pass, FLOW_EVENT_UNAVAILABLE, node, err);
	}
	if (flow_pass_apply(pass, FLOW_EVENT_AVAILABLE, node, err) < 0)
		return -EINVAL;
	if (is_unchanged(pass, node, application))
		return plan_at_once(pass, node, true, err);
	return pass->definition.node_rules[node].requires_approval
		       ? plan_for_approval(pass, node, err)
		       : plan_at_once(pass, node, false, err);
}

int flow_plan_again(struct flow_pass *pass, uint32_t node, struct err *err)
{
	struct flow_node_facts *facts = &flow_pass_node(pass, node)->facts;
	struct span from, commit;
	enum flow_commit_source source;

	if (facts->plan_deployment.length > 0)
		return take_plan(pass, node, err);
	if (!pass->definition.nodes[node].is_latest ||
		!find_source(pass, node, &from, &commit, &source))
		return 0;
	flow_pass_again_at(pass, pass->now_ms + TARGET_POLL_MS);
	if (span_equal(from, facts->from) && span_equal(commit, facts->commit))
		return 0;
	facts->from = from;
	facts->commit = commit;
	facts->source = source;
	require_plan(pass, node);
	return 0;
}
