/* Commits of nodes that are names when the flow is created: their IDs are read from the repositories once, and kept. */
#include "flow/application.h"
#include "flow/pass.h"
#include "pipeline/origin.h"
#include "pipeline/repositories.h"

static int read_commit(const struct flow_pass *pass, const struct repository_facts *repository,
	struct span name, struct span *ret_commit, struct err *err)
{
	struct repository clone;
	struct span head;
	int code = repositories_open(pass->config->repositories, repository->url, 0, pass->arena,
		&clone, err);

	if (code >= 0)
		code = repository_poll(&clone, &repository->branch, 1, pass->arena, &head, err);
	if (code < 0)
		return code;
	if (name.length > 0)
		return repository_fetch(&clone, name, pass->arena, ret_commit, err);
	*ret_commit = head;
	return head.length > 0 ? 0
			       : err_set(err, -ENOENT, "the repository has no branch \"%.*s\"",
					 SPAN_ARGS(repository->branch));
}

void flow_resolve_commits(struct flow_pass *pass)
{
	for (uint32_t i = 0; i < pass->definition.graph->node_count; i++) {
		const struct flow_node_definition *node = &pass->definition.nodes[i];
		struct flow_node_facts *facts;
		const struct store_object *repository = NULL;
		struct err err = {0};

		if (!node->is_git || node->is_latest || flow_commit_is_full(node->commit))
			continue;
		facts = &flow_pass_node(pass, i)->facts;
		if (facts->commit.length > 0 || facts->state != FLOW_NODE_PENDING)
			continue;
		origin_find(pass->view, flow_pass_application(pass, i), pass->arena, &repository);
		if (!repository || !pass->config->repositories)
			continue;
		flow_pass_node(pass, i)->must_write = true;
		facts->source = node->source;
		/* The deployment tries once more to read a commit that cannot be read now, and says why. */
		if (read_commit(pass, repository_facts(repository), node->commit, &facts->commit,
			    &err) < 0)
			facts->commit = SPAN("");
	}
}
