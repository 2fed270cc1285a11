/* slipway flow …; see flow.h. */
#include "cli/flow.h"

#include <stdio.h>

#include "cli/env.h"

/* ---- reading ---- */

static const char *flow_path(const struct app *app, const char *rest)
{
	return arena_format(app->arena, "/v1/flows/%s%s", app->name, rest).data;
}

int flow_read(struct app *app, bool again, struct json **ret_flow)
{
	struct json *all = NULL;
	struct span token = SPAN("");

	do {
		const char *path = token.length == 0 ? flow_path(app, "")
						     : arena_format(app->arena, "%s?nextToken=%.*s",
							       flow_path(app, ""), SPAN_ARGS(token))
							       .data;
		struct json *page;
		int code =
			again ? app_ask(app, path, &page) : app_call(app, "GET", path, NULL, &page);

		if (code != EXIT_OK)
			return code;
		token = app_text(page, "nextToken");
		if (!all)
			*ret_flow = page;
		else
			JSON_EACH_ITEM (json_get(page, "nodes"), node)
				json_append(app->arena, all, node);
		if (!all)
			all = (struct json *)json_get(page, "nodes");
	} while (token.length > 0);
	return EXIT_OK;
}

bool flow_has_ended(const struct json *flow)
{
	return app_has_ended(flow);
}

/* ---- verbs ---- */

int flow_list(struct app *app)
{
	const char *path = app->name ? arena_format(app->arena, "/v1/flows?head=%s", app->name).data
				     : "/v1/flows";
	struct json *items;
	int code = app_read_list(app, path, "flows", &items);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(items);
	printf("%-36s  %-20s  %-12s  %6s  %-12s  %s\n", "ID", "HEAD", "STATE", "NODES", "TRIGGER",
		"CREATED");
	JSON_EACH_ITEM (items, item)
		printf("%-36.*s  %-20.*s  %-12.*s  %6lld  %-12.*s  %.*s\n",
			SPAN_ARGS(app_text(item, "id")), SPAN_ARGS(app_text(item, "head")),
			SPAN_ARGS(app_text(item, "state")), env_number(item, "nodeCount"),
			SPAN_ARGS(app_text(item, "trigger")),
			SPAN_ARGS(app_clock(app, item, "createdAt")));
	return EXIT_OK;
}

int flow_show(struct app *app)
{
	struct json *flow;
	int code = flow_read(app, false, &flow);

	if (code != EXIT_OK)
		return code;
	if (app->dot)
		flow_print_dot(flow);
	else if (app->format)
		return env_print_json(flow);
	else
		flow_print(app, flow);
	return EXIT_OK;
}

static const struct json *find_node(const struct json *flow, const char *name)
{
	JSON_EACH_ITEM (json_get(flow, "nodes"), node) {
		if (span_is(app_text(node, "application"), name))
			return node;
	}
	return NULL;
}

/* The plan is shown, and the vote is bound to it: a plan that has changed meanwhile is not approved. */
static int vote(struct app *app, const char *verb, const char *done)
{
	struct json *body = json_new_object(app->arena), *flow, *answer;
	const struct json *node;
	struct span digest;
	int code = flow_read(app, false, &flow);

	if (code != EXIT_OK)
		return code;
	node = find_node(flow, app->argument);
	if (!node)
		return command_failed("flow %.*s has no node \"%s\"",
			SPAN_ARGS(app_text(flow, "id")), app->argument);
	digest = app_text(node, "digest");
	if (digest.length > 0)
		json_set_string(app->arena, body, "digest", digest);
	if (app->comment)
		json_set_string(app->arena, body, "comment", span_of(app->comment));
	if (!app->format)
		flow_print_plan(app, node);
	code = app_call(app, "POST",
		arena_format(app->arena, "/v1/flows/%.*s/nodes/%s/%s",
			SPAN_ARGS(app_text(flow, "id")), app->argument, verb)
			.data,
		body, &answer);
	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(answer);
	printf("Node %s of flow %.*s: %s\n", app->argument, SPAN_ARGS(app_text(flow, "id")), done);
	return EXIT_OK;
}

int flow_approve(struct app *app)
{
	return vote(app, "approve", "approved");
}

int flow_reject(struct app *app)
{
	return vote(app, "reject", "rejected");
}

static int order(struct app *app, const char *rest, struct json *body, const char *done)
{
	struct json *answer;
	int code = app_call(app, "POST", flow_path(app, rest), body, &answer);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(answer);
	printf("Flow %.*s of application %.*s: %s\n", SPAN_ARGS(app_text(answer, "id")),
		SPAN_ARGS(app_text(answer, "head")), done);
	return EXIT_OK;
}

int flow_cancel(struct app *app)
{
	struct json *body = json_new_object(app->arena);

	if (app->no_rollback)
		json_set_bool(app->arena, body, "rollback", false);
	return order(app, "/cancel", body, "cancelling");
}

int flow_retry(struct app *app)
{
	return order(app, "/retry", json_new_object(app->arena), "retrying");
}
