/*
 * Operations on rules. The default rule is the listener's default action: it is shown here, and changed there.
 *
 * A priority is free or it is not, and several can be changed at once: whether they are all free in the end
 * is looked at in the end, against head, and if not nothing is kept.
 */
#include "aws/document.h"
#include "aws/key.h"
#include "aws/page.h"
#include "base/memory.h"
#include "elb/action.h"
#include "elb/condition.h"
#include "elb/listener.h"
#include "elb/tags.h"
#include "proxy/proxy.h"

#include <stdio.h>

#define DESCRIBE_MAX 400

_Static_assert(ELB_RULES_MAX <= PROXY_RULES_MAX && ELB_CONDITION_VALUES_MAX <= PROXY_VALUES_MAX &&
		       ELB_CONDITION_VALUES_MAX <= PROXY_CONDITIONS_MAX,
	"the data plane takes every rule");

/* ---- finding ---- */

static int fail_missing(struct aws_request *request, struct span arn)
{
	return aws_fail(request, "RuleNotFoundException", "Rule '%.*s' not found", SPAN_ARGS(arn));
}

/* One that can be changed. */
static int get_rule(struct aws_request *request, struct span arn,
	const struct store_object **ret_rule)
{
	struct span scope = aws_key_prefix(request);
	const struct store_object *rule = elb_rule_find(request->view, scope, arn);

	if (!rule && elb_listener_find_by_default_rule(request->view, scope, arn))
		return aws_fail(request, "OperationNotPermittedException",
			"The default rule of a listener goes with it: change it with "
			"ModifyListener, delete it with DeleteListener");
	if (!rule)
		return fail_missing(request, arn);
	*ret_rule = rule;
	return 0;
}

static const struct store_object *listener_of(const struct store_view *view,
	const struct store_object *rule)
{
	return store_get(view, &elb_listener_kind,
		(struct span){
			rule->key.data, rule->key.length - elb_rule_facts(rule)->id.length - 1});
}

/* The one with this priority, or NULL. */
static const struct store_object *find_priority(struct aws_request *request,
	const struct store_view *view, struct span listener_key, int64_t priority)
{
	struct store_cursor cursor = {.view = view,
		.kind = &elb_rule_kind,
		.index = ELB_RULE_BY_PRIORITY,
		.prefix = arena_format(request->arena, "%.*s/%05lld", SPAN_ARGS(listener_key),
			(long long)priority),
		.exact = true};

	return store_next(&cursor);
}

static void set_place(struct aws_request *request, const struct store_object *listener,
	struct elb_action_place *place)
{
	*place = (struct elb_action_place){
		.load_balancer = elb_listener_balancer(request->view, listener),
		.protocol = elb_listener_facts(listener)->protocol,
		.port = elb_listener_facts(listener)->port,
	};
}

/* ---- requests ---- */

static int check_transforms(struct aws_request *request)
{
	if (json_count(json_get(request->input, "Transforms")) > 0)
		return aws_fail_input(request,
			"Transforms: slipway does not rewrite the host or the path of requests "
			"that it forwards");
	return 0;
}

int elb_rule_prepare(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Conditions");
	struct json *conditions;

	if (json_is_absent(requested))
		return check_transforms(request);
	if (elb_conditions_read(request, requested, &conditions) < 0)
		return -EPERM;
	request->prepared = conditions;
	return check_transforms(request);
}

/* ---- operations ---- */

static int answer(struct aws_request *request, const struct json *rule)
{
	struct json *list = json_new_array(request->arena);
	struct json *document = json_new_object(request->arena);

	json_append(request->arena, list, rule);
	json_set(request->arena, document, "Rules", list);
	json_write(document, request->out);
	return 0;
}

static int put_rule(struct aws_request *request, struct span key, const struct json *api,
	struct span private_, uint64_t expected)
{
	struct span text;

	if (document_text(request, api, &text) < 0)
		return -EPERM;
	if (store_put(request->transaction, &elb_rule_kind, key, text, private_, expected,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static int check_new(struct aws_request *request, const struct store_object *listener,
	const struct elb_action_place *place, int64_t priority)
{
	struct span prefix =
		arena_format(request->arena, "%.*s/", SPAN_ARGS(place->load_balancer->key));

	if (elb_load_balancer_facts(place->load_balancer)->type == ELB_NETWORK)
		return aws_fail(request, "UnsupportedProtocolException",
			"Listeners of %s have no rules: a network load balancer forwards by its "
			"default action alone",
			elb_protocol_name(place->protocol));
	if (find_priority(request, request->view, listener->key, priority))
		return aws_fail(request, "PriorityInUseException",
			"Priority '%lld' is currently in use", (long long)priority);
	if (store_count(request->view, &elb_rule_kind, -1, prefix, false) >= ELB_RULES_MAX)
		return aws_fail(request, "TooManyRulesException",
			"A load balancer has at most %d rules, its default rules not counted",
			ELB_RULES_MAX);
	return 0;
}

int elb_rule_create(struct aws_request *request)
{
	int64_t priority = json_get_integer(request->input, "Priority", 0);
	struct json *api = json_new_object(request->arena);
	struct json *private_ = json_new_object(request->arena), *actions;
	const struct store_object *listener;
	struct elb_action_place place;
	const struct json *tags;
	char id[ELB_ID_SIZE];

	if (elb_listener_get(request, json_get_text(request->input, "ListenerArn"), &listener) < 0)
		return -EPERM;
	set_place(request, listener, &place);
	if (check_new(request, listener, &place, priority) < 0 ||
		elb_tags_read(request, &tags) < 0 ||
		elb_actions_read(request, "Actions", &place, &actions) < 0)
		return -EPERM;
	elb_new_id(request->random, id);
	request->resource = elb_rule_arn(request->arena, place.load_balancer,
		elb_listener_facts(listener)->id, span_of(id));
	json_set_string(request->arena, api, "RuleArn", request->resource);
	json_set(request->arena, api, "Priority",
		json_new_format(request->arena, "%lld", (long long)priority));
	json_set(request->arena, api, "Conditions", request->prepared);
	json_set(request->arena, api, "Actions", actions);
	json_set_bool(request->arena, api, "IsDefault", false);
	json_set(request->arena, private_, "tags", tags);
	if (put_rule(request, arena_format(request->arena, "%.*s/%s", SPAN_ARGS(listener->key), id),
		    api, json_to_text(private_, request->arena), STORE_ABSENT) < 0 ||
		elb_actions_check_limits(request, place.load_balancer) < 0)
		return -EPERM;
	return answer(request, api);
}

int elb_rule_modify(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Actions");
	struct json *api, *private_, *actions;
	const struct store_object *rule;
	struct elb_action_place place;

	if (get_rule(request, json_get_text(request->input, "RuleArn"), &rule) < 0 ||
		elb_parse_object(request, rule, &api, &private_) < 0)
		return -EPERM;
	set_place(request, listener_of(request->view, rule), &place);
	if (request->prepared)
		json_set(request->arena, api, "Conditions", request->prepared);
	if (!json_is_absent(requested)) {
		if (elb_actions_read(request, "Actions", &place, &actions) < 0)
			return -EPERM;
		json_set(request->arena, api, "Actions", actions);
	}
	if (put_rule(request, rule->key, api, rule->private_, rule->revision) < 0 ||
		elb_actions_check_limits(request, place.load_balancer) < 0)
		return -EPERM;
	return answer(request, api);
}

int elb_rule_delete(struct aws_request *request)
{
	const struct store_object *rule;

	if (get_rule(request, json_get_text(request->input, "RuleArn"), &rule) < 0)
		return -EPERM;
	if (store_delete(request->transaction, &elb_rule_kind, rule->key, rule->revision,
		    &request->err) < 0)
		return aws_fail_store(request);
	buffer_add_string(request->out, "{}");
	return 0;
}

/* ---- priorities ---- */

/* A rule and what it is to become. */
struct move {
	const struct store_object *rule;
	int64_t priority;
};

static int read_moves(struct aws_request *request, const struct json *pairs, struct move *moves)
{
	size_t count = 0;

	JSON_EACH_ITEM (pairs, pair) {
		struct move *move = &moves[count];
		struct span arn = json_get_text(pair, "RuleArn");

		move->priority = json_get_integer(pair, "Priority", 0);
		if (!arn.data || move->priority == 0)
			return aws_fail_input(request,
				"RulePriorities: every item needs RuleArn and Priority");
		if (get_rule(request, arn, &move->rule) < 0)
			return -EPERM;
		if (!span_equal(listener_of(request->view, move->rule)->key,
			    listener_of(request->view, moves[0].rule)->key))
			return aws_fail_input(request,
				"RulePriorities: all rules must be of one listener");
		for (size_t i = 0; i < count; i++) {
			if (moves[i].rule == move->rule)
				return aws_fail_input(request,
					"RulePriorities: rule '%.*s' is given twice",
					SPAN_ARGS(arn));
			if (moves[i].priority == move->priority)
				return aws_fail_input(request,
					"RulePriorities: priority %lld is given twice",
					(long long)move->priority);
		}
		count++;
	}
	return 0;
}

/* Those that keep their priority must not be in the way of those that move. */
static int check_moves(struct aws_request *request, const struct move *moves, size_t count)
{
	struct span listener = listener_of(request->view, moves[0].rule)->key;

	for (size_t i = 0; i < count; i++) {
		const struct store_object *there =
			find_priority(request, request->view, listener, moves[i].priority);
		bool moves_too = false;

		for (size_t k = 0; there && k < count; k++)
			moves_too |= moves[k].rule == there;
		if (there && !moves_too)
			return aws_fail(request, "PriorityInUseException",
				"Priority '%lld' is currently in use",
				(long long)moves[i].priority);
	}
	return 0;
}

int elb_rule_set_priorities(struct aws_request *request)
{
	const struct json *pairs = json_get(request->input, "RulePriorities");
	size_t count = json_count(pairs);
	struct json *answered = json_new_object(request->arena);
	struct json *rules = json_new_array(request->arena), *api, *private_;
	struct move *moves;

	if (count == 0 || count > ELB_RULES_MAX)
		return aws_fail_input(request, "RulePriorities: 1 to %d items are needed",
			ELB_RULES_MAX);
	moves = arena_allocate_array(request->arena, count, sizeof(*moves));
	if (read_moves(request, pairs, moves) < 0 || check_moves(request, moves, count) < 0)
		return -EPERM;
	for (size_t i = 0; i < count; i++) {
		if (elb_parse_object(request, moves[i].rule, &api, &private_) < 0)
			return -EPERM;
		json_set(request->arena, api, "Priority",
			json_new_format(request->arena, "%lld", (long long)moves[i].priority));
		if (put_rule(request, moves[i].rule->key, api, moves[i].rule->private_,
			    moves[i].rule->revision) < 0)
			return -EPERM;
		json_append(request->arena, rules, api);
	}
	json_set(request->arena, answered, "Rules", rules);
	json_write(answered, request->out);
	return 0;
}

/* ---- describing ---- */

/* The default rule as DescribeRules shows it. */
static struct span default_rule(struct aws_request *request, const struct store_object *listener)
{
	struct json *shown = json_new_object(request->arena), *stored;
	struct span id = elb_listener_facts(listener)->id;
	const struct store_object *balancer = elb_listener_balancer(request->view, listener);

	if (!balancer || json_parse(listener->api, request->arena, &stored, NULL) < 0)
		return SPAN("{}");
	json_set_string(request->arena, shown, "RuleArn",
		elb_rule_arn(request->arena, balancer, id, id));
	json_set_string(request->arena, shown, "Priority", SPAN("default"));
	json_set(request->arena, shown, "Conditions", json_new_array(request->arena));
	json_set(request->arena, shown, "Actions", json_get(stored, "DefaultActions"));
	json_set_bool(request->arena, shown, "IsDefault", true);
	return json_to_text(shown, request->arena);
}

static int describe_named(struct aws_request *request, const struct json *arns)
{
	struct span scope = aws_key_prefix(request);
	size_t count = 0;

	if (json_count(arns) > DESCRIBE_MAX)
		return aws_fail_input(request, "RuleArns: %zu are given, the limit is %d",
			json_count(arns), DESCRIBE_MAX);
	elb_answer_begin(request, "Rules");
	JSON_EACH_ITEM (arns, item) {
		struct span arn = json_text(item);
		const struct store_object *rule = elb_rule_find(request->view, scope, arn);
		const struct store_object *listener =
			rule ? NULL : elb_listener_find_by_default_rule(request->view, scope, arn);

		if (!rule && !listener)
			return fail_missing(request, arn);
		elb_answer_item(request, count++,
			rule ? rule->api : default_rule(request, listener));
	}
	elb_answer_end(request, SPAN_NONE);
	return 0;
}

/* In the order of priority, and the default rule behind all others. */
static int describe_of_listener(struct aws_request *request, struct span arn)
{
	struct store_cursor cursor = {
		.view = request->view, .kind = &elb_rule_kind, .index = ELB_RULE_BY_PRIORITY};
	const struct store_object *listener, *rule;
	struct span text = SPAN(""), key = SPAN(""), next = SPAN_NONE;
	struct aws_page page;
	size_t count = 0;

	if (elb_listener_get(request, arn, &listener) < 0 ||
		aws_page_read(request, DESCRIBE_MAX, DESCRIBE_MAX, listener->key, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(listener->key));
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	elb_answer_begin(request, "Rules");
	while (count < page.most && (rule = store_next(&cursor))) {
		elb_answer_item(request, count++, rule->api);
		text = cursor.text;
		key = rule->key;
	}
	if (count < page.most)
		elb_answer_item(request, count, default_rule(request, listener));
	else
		next = aws_page_token(request, listener->key, text, key);
	elb_answer_end(request, next);
	return 0;
}

int elb_rule_describe(struct aws_request *request)
{
	struct span listener = json_get_text(request->input, "ListenerArn");
	const struct json *arns = json_get(request->input, "RuleArns");

	if ((listener.length > 0) == (json_count(arns) > 0))
		return aws_fail_input(request, "Give either ListenerArn or RuleArns");
	if (listener.length > 0)
		return describe_of_listener(request, listener);
	return describe_named(request, arns);
}
