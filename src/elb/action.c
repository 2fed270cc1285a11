/* Actions of listeners and rules; see the header. */
#include "elb/action.h"

#include <stdio.h>

#include "aws/key.h"
#include "base/memory.h"
#include "elb/listener.h"
#include "proxy/proxy.h"

#define STICKY_DEFAULT_S 86400

_Static_assert(ELB_ACTION_GROUPS_MAX <= PROXY_ROUTES_MAX, "the data plane takes every action");

static int fail_action(struct aws_request *request, const char *name, const char *reason)
{
	return aws_fail(request, "InvalidLoadBalancerActionException", "%s: %s", name, reason);
}

/* ---- forward ---- */

/* Which groups a listener's protocol can send to, as bits. */
static const unsigned fitting[ELB_PROTOCOL_COUNT] = {
	[ELB_HTTP] = 1 << ELB_HTTP | 1 << ELB_HTTPS,
	[ELB_HTTPS] = 1 << ELB_HTTP | 1 << ELB_HTTPS,
	[ELB_TCP] = 1 << ELB_TCP | 1 << ELB_TCP_UDP,
	[ELB_TLS] = 1 << ELB_TCP | 1 << ELB_TLS,
	[ELB_UDP] = 1 << ELB_UDP | 1 << ELB_TCP_UDP,
	[ELB_TCP_UDP] = 1 << ELB_TCP_UDP,
};

/* A target group belongs to one load balancer. */
static int check_association(struct aws_request *request, const struct store_object *group,
	const struct store_object *load_balancer)
{
	struct span name = elb_load_balancer_facts(load_balancer)->name, other = SPAN_NONE;
	struct store_cursor listeners = {.view = request->view,
		.kind = &elb_listener_kind,
		.index = ELB_LISTENER_BY_GROUP,
		.prefix = group->key,
		.exact = true};
	struct store_cursor rules = {.view = request->view,
		.kind = &elb_rule_kind,
		.index = ELB_RULE_BY_GROUP,
		.prefix = group->key,
		.exact = true};
	/* All its users belong to one load balancer, so one of each kind is enough. */
	const struct store_object *listener = store_next(&listeners), *rule = store_next(&rules);

	if (listener)
		other = elb_listener_facts(listener)->load_balancer;
	else if (rule)
		other = elb_rule_facts(rule)->load_balancer;
	if (!other.data || span_equal(other, name))
		return 0;
	return aws_fail(request, "TargetGroupAssociationLimitException",
		"Target group '%.*s' is used by the load balancer '%.*s' and can be used by one "
		"only",
		SPAN_ARGS(elb_target_group_facts(group)->name), SPAN_ARGS(other));
}

static int check_group(struct aws_request *request, struct span arn,
	const struct elb_action_place *place)
{
	const struct store_object *group =
		elb_target_group_find(request->view, aws_key_prefix(request), arn);
	const struct elb_target_group_facts *facts;

	if (!group)
		return aws_fail(request, "TargetGroupNotFoundException",
			"Target group '%.*s' not found", SPAN_ARGS(arn));
	facts = elb_target_group_facts(group);
	if (!(fitting[place->protocol] & 1U << facts->protocol))
		return aws_fail(request, "IncompatibleProtocolsException",
			"Target group '%.*s' has the protocol %s, which does not go with a "
			"listener of %s",
			SPAN_ARGS(facts->name), elb_protocol_name(facts->protocol),
			elb_protocol_name(place->protocol));
	return check_association(request, group, place->load_balancer);
}

/* TargetGroupArn and ForwardConfig may both be there only if they name one and the same group. */
static int find_groups(struct aws_request *request, const char *name, const struct json *requested,
	const struct json **ret_groups)
{
	const struct json *groups = json_path(requested, "ForwardConfig.TargetGroups");
	struct span arn = json_get_text(requested, "TargetGroupArn");
	struct json *list, *tuple;

	if (json_count(groups) == 0 && arn.length == 0)
		return fail_action(request, name,
			"a forward action needs TargetGroupArn or ForwardConfig.TargetGroups");
	if (arn.length > 0 && json_count(groups) > 0 &&
		(json_count(groups) > 1 ||
			!span_equal(arn, json_get_text(json_item(groups, 0), "TargetGroupArn"))))
		return fail_action(request, name,
			"TargetGroupArn and ForwardConfig must name one and the same target group "
			"when both are given");
	if (json_count(groups) > ELB_ACTION_GROUPS_MAX)
		return aws_fail(request, "InvalidLoadBalancerActionException",
			"%s: a forward action has at most %d target groups", name,
			ELB_ACTION_GROUPS_MAX);
	if (json_count(groups) == 0) {
		list = json_new_array(request->arena);
		tuple = json_new_object(request->arena);
		json_set_string(request->arena, tuple, "TargetGroupArn", arn);
		json_append(request->arena, list, tuple);
		groups = list;
	}
	*ret_groups = groups;
	return 0;
}

/* That weights are from 0 to 999, and times from 1 s to a week, the model has checked. */
static int read_groups(struct aws_request *request, const char *name, const struct json *requested,
	const struct elb_action_place *place, struct json **ret_groups)
{
	struct json *groups = json_new_array(request->arena);

	JSON_EACH_ITEM (requested, item) {
		struct span arn = json_get_text(item, "TargetGroupArn");
		int64_t weight = json_get_integer(item, "Weight", 1);
		struct json *tuple = json_new_object(request->arena);

		if (arn.length == 0)
			return fail_action(request, name,
				"a target group of ForwardConfig has no TargetGroupArn");
		JSON_EACH_ITEM (groups, other)
			if (span_equal(json_get_text(other, "TargetGroupArn"), arn))
				return fail_action(request, name,
					"a target group is in ForwardConfig twice");
		if (check_group(request, arn, place) < 0)
			return -EPERM;
		json_set_string(request->arena, tuple, "TargetGroupArn", arn);
		json_set_integer(request->arena, tuple, "Weight", weight);
		json_append(request->arena, groups, tuple);
	}
	*ret_groups = groups;
	return 0;
}

static int read_sticky(struct aws_request *request, const char *name, const struct json *requested,
	const struct elb_action_place *place, struct json **ret_sticky)
{
	bool network = elb_load_balancer_facts(place->load_balancer)->type == ELB_NETWORK;
	struct json *sticky = json_new_object(request->arena);
	bool enabled = json_get_bool(requested, "Enabled", false);
	int64_t seconds = json_get_integer(requested, "DurationSeconds", STICKY_DEFAULT_S);
	bool said = !json_is_absent(json_get(requested, "DurationSeconds"));

	if (enabled && network)
		return fail_action(request, name,
			"TargetGroupStickinessConfig is for application load balancers only");
	json_set_bool(request->arena, sticky, "Enabled", enabled);
	if (enabled || said)
		json_set_integer(request->arena, sticky, "DurationSeconds", seconds);
	*ret_sticky = sticky;
	return 0;
}

static int read_forward(struct aws_request *request, const char *name, const struct json *requested,
	const struct elb_action_place *place, struct json *action)
{
	struct json *config = json_new_object(request->arena), *groups, *sticky;
	const struct json *requested_groups;

	if (find_groups(request, name, requested, &requested_groups) < 0 ||
		read_groups(request, name, requested_groups, place, &groups) < 0 ||
		read_sticky(request, name,
			json_path(requested, "ForwardConfig.TargetGroupStickinessConfig"), place,
			&sticky) < 0)
		return -EPERM;
	if (json_count(groups) == 1)
		json_set_string(request->arena, action, "TargetGroupArn",
			json_get_text(json_item(groups, 0), "TargetGroupArn"));
	json_set(request->arena, config, "TargetGroups", groups);
	json_set(request->arena, config, "TargetGroupStickinessConfig", sticky);
	json_set(request->arena, action, "ForwardConfig", config);
	return 0;
}

/* ---- redirect ---- */

#define KEYWORD_MAX 16

/* In the order in which they are answered. */
static const struct part {
	const char *name;
	const char *otherwise; /* as in the request */
	const char *keywords;  /* that may stand in it */
} parts[] = {
	{"Protocol", "#{protocol}", "#{protocol}"},
	{"Port", "#{port}", "#{port}"},
	{"Host", "#{host}", "#{host}"},
	{"Path", "/#{path}", "#{host} #{path} #{port}"},
	{"Query", "#{query}", "#{protocol} #{host} #{path} #{port} #{query}"},
};

/* Every "#{" must begin a keyword that the part may have; all other characters must be
 * printable. */
static bool is_part(const struct part *part, struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		char word[KEYWORD_MAX];
		const char *end;
		size_t length;

		if (text.data[i] <= 0x20 || text.data[i] >= 0x7f)
			return false;
		if (text.data[i] != '#' || i + 1 == text.length || text.data[i + 1] != '{')
			continue;
		end = memchr(text.data + i, '}', text.length - i);
		length = end ? (size_t)(end - (text.data + i)) + 1 : sizeof(word);
		if (length >= sizeof(word))
			return false;
		snprintf(word, sizeof(word), "%.*s", (int)length, text.data + i);
		if (!strstr(part->keywords, word))
			return false;
	}
	return true;
}

static int check_redirect(struct aws_request *request, const char *name, const struct json *config,
	const struct elb_action_place *place)
{
	struct span protocol = json_get_text(config, "Protocol");
	struct span port = json_get_text(config, "Port");
	struct span path = json_get_text(config, "Path");
	bool keeps_protocol = span_is(protocol, "#{protocol}") ||
			      span_is(protocol, elb_protocol_name(place->protocol));
	uint64_t number = (uint64_t)place->port;

	if (!span_is(protocol, "#{protocol}") && !span_is(protocol, "HTTP") &&
		!span_is(protocol, "HTTPS"))
		return fail_action(request, name,
			"RedirectConfig.Protocol must be HTTP, HTTPS or #{protocol}");
	if (place->protocol == ELB_HTTPS && span_is(protocol, "HTTP"))
		return fail_action(request, name,
			"RedirectConfig: HTTPS is not redirected to HTTP");
	if (!span_is(port, "#{port}") && (!span_to_unsigned(port, 65535, &number) || number == 0))
		return fail_action(request, name,
			"RedirectConfig.Port must be from 1 to 65535, or #{port}");
	if (!span_starts_with(path, SPAN("/")))
		return fail_action(request, name, "RedirectConfig.Path must begin with '/'");
	if (keeps_protocol && number == (uint64_t)place->port &&
		span_is(json_get_text(config, "Host"), "#{host}") && span_is(path, "/#{path}"))
		return fail_action(request, name,
			"RedirectConfig: a redirect must change the protocol, the host, the port "
			"or "
			"the path, or it would lead to itself");
	return 0;
}

static int read_redirect(struct aws_request *request, const char *name,
	const struct json *requested, const struct elb_action_place *place, struct json *action)
{
	const struct json *from = json_get(requested, "RedirectConfig");
	struct json *config = json_new_object(request->arena);

	if (json_is_absent(from))
		return fail_action(request, name, "a redirect action needs RedirectConfig");
	for (size_t i = 0; i < LENGTH(parts); i++) {
		struct span text = json_get_text(from, parts[i].name);

		if (!text.data)
			text = span_of(parts[i].otherwise);
		if (!is_part(&parts[i], text))
			return aws_fail(request, "InvalidLoadBalancerActionException",
				"%s: RedirectConfig.%s has a character or a #{keyword} that it "
				"must not have (it may have %s)",
				name, parts[i].name, parts[i].keywords);
		json_set_string(request->arena, config, parts[i].name, text);
	}
	json_set(request->arena, config, "StatusCode", json_get(from, "StatusCode"));
	if (check_redirect(request, name, config, place) < 0)
		return -EPERM;
	json_set(request->arena, action, "RedirectConfig", config);
	return 0;
}

/* ---- fixed response ---- */

static const char *const content_types[] = {
	"text/plain", "text/css", "text/html", "application/javascript", "application/json"};

static bool is_content_type(struct span text)
{
	for (size_t i = 0; i < LENGTH(content_types); i++)
		if (span_is(text, content_types[i]))
			return true;
	return false;
}

static int read_fixed(struct aws_request *request, const char *name, const struct json *requested,
	const struct elb_action_place *place, struct json *action)
{
	const struct json *from = json_get(requested, "FixedResponseConfig");
	struct span status = json_get_text(from, "StatusCode");
	struct span type = json_get_text(from, "ContentType");
	struct span body = json_get_text(from, "MessageBody");
	struct json *config = json_new_object(request->arena);
	uint64_t number;

	(void)place;
	if (json_is_absent(from))
		return fail_action(request, name,
			"a fixed-response action needs FixedResponseConfig");
	if (status.length != 3 || !span_to_unsigned(status, 599, &number) || number < 200 ||
		(number >= 300 && number < 400))
		return aws_fail_input(request,
			"1 validation error detected: Value '%.*s' at "
			"'fixedResponseConfig.statusCode' failed to satisfy constraint: Member "
			"must "
			"satisfy regular expression pattern: ^(2|4|5)\\d\\d$",
			SPAN_ARGS(status.data ? status : SPAN("")));
	if (type.length > 0 && !is_content_type(type))
		return fail_action(request, name,
			"FixedResponseConfig.ContentType must be text/plain, text/css, text/html, "
			"application/javascript or application/json");
	/* The model's limit is in characters, the data plane's in bytes. */
	if (body.length > PROXY_BODY_MAX)
		return aws_fail(request, "InvalidLoadBalancerActionException",
			"%s: FixedResponseConfig.MessageBody has %zu bytes, at most %d are allowed",
			name, body.length, PROXY_BODY_MAX);
	if (body.data && memchr(body.data, '\0', body.length))
		return fail_action(request, name,
			"FixedResponseConfig.MessageBody must not have a zero byte");
	if (body.data)
		json_set_string(request->arena, config, "MessageBody", body);
	json_set_string(request->arena, config, "StatusCode", status);
	if (type.length > 0)
		json_set_string(request->arena, config, "ContentType", type);
	json_set(request->arena, action, "FixedResponseConfig", config);
	return 0;
}

/* ---- lists ---- */

static const struct action_type {
	const char *name;
	const char *config; /* its member, beside TargetGroupArn with forward */
	bool network;       /* for network load balancers too */
	int (*read)(struct aws_request *request, const char *name, const struct json *requested,
		const struct elb_action_place *place, struct json *action); /* NULL: refused */
} types[] = {
	{"forward", "ForwardConfig", true, read_forward},
	{"redirect", "RedirectConfig", false, read_redirect},
	{"fixed-response", "FixedResponseConfig", false, read_fixed},
	{"authenticate-oidc", "AuthenticateOidcConfig", false, NULL},
	{"authenticate-cognito", "AuthenticateCognitoConfig", false, NULL},
	{"jwt-validation", "JwtValidationConfig", false, NULL},
};

/* A …Config of another type is an error: it would be dropped silently. */
static int check_configs(struct aws_request *request, const char *name,
	const struct json *requested, const struct action_type *type)
{
	for (size_t i = 0; i < LENGTH(types); i++)
		if (&types[i] != type && !json_is_absent(json_get(requested, types[i].config)))
			return aws_fail(request, "InvalidLoadBalancerActionException",
				"%s: %s does not go with the type %s", name, types[i].config,
				type->name);
	if (type != &types[0] && !json_is_absent(json_get(requested, "TargetGroupArn")))
		return aws_fail(request, "InvalidLoadBalancerActionException",
			"%s: TargetGroupArn does not go with the type %s", name, type->name);
	return 0;
}

static int read_action(struct aws_request *request, const char *name, const struct json *requested,
	const struct elb_action_place *place, struct json *action)
{
	struct span type_name = json_get_text(requested, "Type");
	const struct action_type *type = NULL;
	const struct json *order = json_get(requested, "Order");

	for (size_t i = 0; i < LENGTH(types); i++)
		if (span_is(type_name, types[i].name))
			type = &types[i];
	if (!type || !type->read)
		return aws_fail(request, "InvalidLoadBalancerActionException",
			"%s: slipway does not support actions of type %.*s: a load balancer here "
			"forwards, redirects or answers by itself, and knows no users",
			name, SPAN_ARGS(type_name));
	if (!type->network && elb_load_balancer_facts(place->load_balancer)->type == ELB_NETWORK)
		return aws_fail(request, "InvalidLoadBalancerActionException",
			"%s: a network load balancer only has forward actions, not %s", name,
			type->name);
	json_set_string(request->arena, action, "Type", span_of(type->name));
	if (!json_is_absent(order))
		json_set(request->arena, action, "Order", order);
	else if (type != &types[0])
		json_set_integer(request->arena, action, "Order", 1);
	if (check_configs(request, name, requested, type) < 0)
		return -EPERM;
	return type->read(request, name, requested, place, action);
}

int elb_actions_read(struct aws_request *request, const char *name,
	const struct elb_action_place *place, struct json **ret_actions)
{
	const struct json *requested = json_get(request->input, name);
	struct json *actions = json_new_array(request->arena);

	if (json_count(requested) == 0)
		return fail_action(request, name,
			"exactly one action is needed: forward, redirect or fixed-response");
	JSON_EACH_ITEM (requested, item) {
		struct json *action = json_new_object(request->arena);

		if (read_action(request, name, item, place, action) < 0)
			return -EPERM;
		json_append(request->arena, actions, action);
	}
	/* Only authentication could come before an answer, and it is not supported. */
	if (json_count(actions) > 1)
		return aws_fail(request, "TooManyActionsException",
			"%s: there must be exactly one forward, redirect or fixed-response action, "
			"and %zu are given",
			name, json_count(actions));
	*ret_actions = actions;
	return 0;
}

int elb_actions_check_groups(struct aws_request *request, const struct json *actions,
	const struct elb_action_place *place)
{
	JSON_EACH_ITEM (actions, action)
		JSON_EACH_ITEM (json_path(action, "ForwardConfig.TargetGroups"), group)
			if (check_group(request, json_get_text(group, "TargetGroupArn"), place) < 0)
				return -EPERM;
	return 0;
}

/* ---- limits ---- */

/* How many groups are in use at all. Both indexes are in the order of groups. */
static size_t count_used_groups(const struct store_view *view)
{
	struct store_cursor cursors[] = {
		{.view = view, .kind = &elb_listener_kind, .index = ELB_LISTENER_BY_GROUP},
		{.view = view, .kind = &elb_rule_kind, .index = ELB_RULE_BY_GROUP},
	};
	const struct store_object *heads[2] = {store_next(&cursors[0]), store_next(&cursors[1])};
	size_t count = 0;

	for (; heads[0] || heads[1]; count++) {
		struct span group = !heads[0] || (heads[1] && span_compare(cursors[1].text,
								      cursors[0].text) < 0)
					    ? cursors[1].text
					    : cursors[0].text;

		for (size_t i = 0; i < 2; i++)
			while (heads[i] && span_equal(cursors[i].text, group))
				heads[i] = store_next(&cursors[i]);
	}
	return count;
}

static void add_groups(struct json *found, struct arena *arena, const struct store_object *object,
	const char *actions)
{
	struct json *api;
	struct span name;

	if (json_parse(object->api, arena, &api, NULL) < 0)
		return;
	JSON_EACH_ITEM (json_get(api, actions), action)
		JSON_EACH_ITEM (json_path(action, "ForwardConfig.TargetGroups"), group)
			if (elb_group_name_of_arn(json_get_text(group, "TargetGroupArn"), &name))
				json_set(arena, found, arena_copy(arena, name.data, name.length),
					json_new_null(arena));
}

/* The names of the groups of a load balancer, as members of an object. */
static const struct json *groups_of(struct aws_request *request,
	const struct store_object *load_balancer, const struct store_view *view)
{
	struct json *found = json_new_object(request->arena);
	struct span prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(load_balancer->key));
	struct store_cursor listeners = {
		.view = view, .kind = &elb_listener_kind, .index = -1, .prefix = prefix};
	struct store_cursor rules = {
		.view = view, .kind = &elb_rule_kind, .index = -1, .prefix = prefix};
	const struct store_object *object;

	while ((object = store_next(&listeners)))
		add_groups(found, request->arena, object, "DefaultActions");
	while ((object = store_next(&rules)))
		add_groups(found, request->arena, object, "Actions");
	return found;
}

int elb_actions_check_limits(struct aws_request *request, const struct store_object *load_balancer)
{
	const struct store_view *view = store_head(request->transaction);
	const struct json *groups = groups_of(request, load_balancer, view);
	bool network = elb_load_balancer_facts(load_balancer)->type == ELB_NETWORK;
	uint64_t most = network ? ELB_NETWORK_TARGETS_MAX : ELB_APPLICATION_TARGETS_MAX;
	uint64_t uses =
		store_count(view, &elb_listener_kind, ELB_LISTENER_BY_GROUP, SPAN(""), false) +
		store_count(view, &elb_rule_kind, ELB_RULE_BY_GROUP, SPAN(""), false);
	uint64_t targets = 0;

	if (json_count(groups) > ELB_BALANCER_GROUPS_MAX)
		return aws_fail(request, "TooManyUniqueTargetGroupsPerLoadBalancerException",
			"A load balancer has at most %d target groups", ELB_BALANCER_GROUPS_MAX);
	/* The exact number is only worth its walk when it could be too large. */
	if (uses > PROXY_GROUPS_MAX && count_used_groups(view) > PROXY_GROUPS_MAX)
		return aws_fail(request, "TooManyUniqueTargetGroupsPerLoadBalancerException",
			"All load balancers together have at most %d target groups",
			PROXY_GROUPS_MAX);
	for (size_t i = 0; i < groups->object.count; i++)
		targets += store_count(view, &elb_target_kind, -1,
			aws_key(request, arena_format(request->arena, "%.*s/",
						 SPAN_ARGS(groups->object.members[i].name))),
			false);
	if (targets > most)
		return aws_fail(request, "TooManyTargetsException",
			"The load balancer would have %llu targets, at most %llu are allowed",
			(unsigned long long)targets, (unsigned long long)most);
	return 0;
}
