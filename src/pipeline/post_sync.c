/* Flows that follow a deployment: whether there is one, and the stage that starts it. See the header. */
#include "pipeline/post_sync.h"

#include "pipeline/stage_run.h"

#define POLL_MS 100

bool post_sync_is_wanted(const struct deployment_pass *pass)
{
	const struct deployment_facts *facts = &pass->deployment.facts;
	const struct flow_config *config = pass->bundle.application->flow;

	/* A deployment of a flow starts no flow of its own, so that flows end. */
	if (!config || !pass->config->post_sync || facts->flow.length > 0 ||
		facts->flow_choice == DEPLOYMENT_FLOW_OFF)
		return false;
	if (facts->flow_choice == DEPLOYMENT_FLOW_ON)
		return true;
	return (facts->trigger == DEPLOYMENT_TRIGGER_SYNC ||
		       facts->trigger == DEPLOYMENT_TRIGGER_COMMIT ||
		       facts->trigger == DEPLOYMENT_TRIGGER_PLAN) &&
	       flow_config_conditions_hold(config, pass->deployment.message);
}

int post_sync_prepare(struct deployment_pass *pass, struct err *err)
{
	const struct post_sync *post_sync = pass->config->post_sync;
	const struct post_sync_head head = {.view = pass->view,
		.key = pass->key,
		.deployment = &pass->deployment.facts,
		.message = pass->deployment.message,
		.config = pass->bundle.application->flow,
		.flow_files = pass->source.flow_files,
		.now_ms = pass->now_ms};
	void *prepared;
	int code = post_sync->prepare(post_sync->context, &head, pass->arena, &prepared, err);

	if (code < 0 || pass->deployment.facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return code;
	pass->post_sync = prepared;
	pass->deployment.facts.starts_flow = true;
	return 0;
}

/* Done when the flow has noted that its head is here. Its nodes start when the deployment has succeeded. */
int stage_run_post_sync(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct span account, name, id = pass->deployment.facts.id;

	(void)options;
	(void)err;
	if (!pass->config->post_sync || !span_split(pass->key, '/', &account, &name)) {
		stage_fail(ret_step, SPAN("this server runs no flows"));
		return 0;
	}
	if (!stage->details) {
		struct json *details = json_new_object(pass->arena);

		json_set_string(pass->arena, details, "flow", id);
		stage->details = details;
		pass->must_write = true;
	}
	switch (pass->config->post_sync->find_state(pass->view, account, id)) {
	case POST_SYNC_WAITS: ret_step->wake_ms = pass->now_ms + POLL_MS; break;
	case POST_SYNC_STARTED:
		ret_step->progress = STAGE_DONE;
		ret_step->reason = arena_format(pass->arena, "flow %.*s is started", SPAN_ARGS(id));
		break;
	case POST_SYNC_CANCELLED:
		ret_step->progress = STAGE_SKIPS;
		ret_step->reason =
			arena_format(pass->arena, "flow %.*s is cancelled", SPAN_ARGS(id));
		break;
	}
	return 0;
}
