/*
 * Listeners and rules as objects: their facts, their indexes, their ARNs, and finding one.
 *
 * A listener's private text has, beside attributes and tags, "certificates": the ARNs that were added to
 * its default one, which is the only one that its API text shows.
 */
#include "aws/arn.h"
#include "aws/key.h"
#include "elb/elb.h"
#include "elb/listener.h"
#include "store/fact_table.h"

#include <stdio.h>

#define PARTS_MAX 7 /* of an ARN's resource, and one */

/* ---- parts of keys and ARNs ---- */

/* Cuts at every '/'; how many parts there are, at most PARTS_MAX. */
static size_t split_parts(struct span text, struct span parts[PARTS_MAX])
{
	size_t count = 0;

	while (count < PARTS_MAX - 1 && span_split(text, '/', &parts[count], &text))
		count++;
	parts[count++] = text;
	return count;
}

/* "ACCOUNT/REGION/" of a key, with the slash. */
static struct span scope_of(struct span key)
{
	return (struct span){key.data, key.length - aws_name_of_key(key).length};
}

bool elb_group_name_of_arn(struct span arn, struct span *ret_name)
{
	struct span parts[PARTS_MAX];
	struct aws_arn parsed;

	if (!aws_arn_parse(arn, &parsed) || split_parts(parsed.resource, parts) != 3 ||
		!span_is(parts[0], "targetgroup"))
		return false;
	*ret_name = parts[1];
	return true;
}

/* ---- facts ---- */

static const struct fact_row listener_rows[] = {
	FACT(FACT_NUMBER, elb_listener_facts, created_ms, "created"),
};

static int listener_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct elb_listener_facts *listener = facts;
	struct span parts[PARTS_MAX];
	struct json *api, *private_;
	int code = json_parse(object->api, scratch, &api, err);

	if (code == 0)
		code = json_parse(object->private_, scratch, &private_, err);
	if (code == 0)
		code = fact_table_read(listener_rows, LENGTH(listener_rows), private_, facts, err);
	if (code < 0)
		return code;
	if (split_parts(object->key, parts) != 4)
		return err_set(err, -EINVAL, "'%.*s' is not the key of a listener",
			SPAN_ARGS(object->key));
	listener->load_balancer = parts[2];
	listener->id = parts[3];
	listener->port = json_get_integer(api, "Port", 0);
	if (!elb_protocol_read(json_get_text(api, "Protocol"), &listener->protocol))
		return err_set(err, -EINVAL, "listener '%.*s' has no protocol",
			SPAN_ARGS(object->key));
	return 0;
}

static int rule_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct elb_rule_facts *rule = facts;
	struct span parts[PARTS_MAX];
	struct json *api;
	uint64_t priority;
	int code = json_parse(object->api, scratch, &api, err);

	if (code < 0)
		return code;
	if (split_parts(object->key, parts) != 5)
		return err_set(err, -EINVAL, "'%.*s' is not the key of a rule",
			SPAN_ARGS(object->key));
	rule->load_balancer = parts[2];
	rule->listener = parts[3];
	rule->id = parts[4];
	if (!span_to_unsigned(json_get_text(api, "Priority"), ELB_PRIORITY_MAX, &priority))
		return err_set(err, -EINVAL, "rule '%.*s' has no priority", SPAN_ARGS(object->key));
	rule->priority = (int64_t)priority;
	return 0;
}

void elb_listener_facts_write(const struct elb_listener_facts *facts, struct arena *arena,
	struct json *private_)
{
	fact_table_write(listener_rows, LENGTH(listener_rows), facts, arena, private_);
}

/* ---- indexes ---- */

static void write_port(const struct store_object *object, struct store_index_writer *writer)
{
	const struct elb_listener_facts *facts = elb_listener_facts(object);

	store_index_add_format(writer, "%.*s%.*s/%lld", SPAN_ARGS(scope_of(object->key)),
		SPAN_ARGS(facts->load_balancer), (long long)facts->port);
}

static void write_certificates(const struct store_object *object, struct store_index_writer *writer)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *api, *private_;

	if (json_parse(object->api, arena, &api, NULL) == 0)
		JSON_EACH_ITEM (json_get(api, "Certificates"), certificate)
			store_index_add(writer, json_get_text(certificate, "CertificateArn"));
	if (json_parse(object->private_, arena, &private_, NULL) == 0)
		JSON_EACH_ITEM (json_get(private_, "certificates"), certificate)
			store_index_add(writer, json_text(certificate));
}

/* A group is in a list of actions at most once: checks see to that. */
static void write_groups(const struct store_object *object, const char *actions,
	struct store_index_writer *writer)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *api;
	struct span name;

	if (json_parse(object->api, arena, &api, NULL) < 0)
		return;
	JSON_EACH_ITEM (json_get(api, actions), action)
		JSON_EACH_ITEM (json_path(action, "ForwardConfig.TargetGroups"), group)
			if (elb_group_name_of_arn(json_get_text(group, "TargetGroupArn"), &name))
				store_index_add_format(writer, "%.*s%.*s",
					SPAN_ARGS(scope_of(object->key)), SPAN_ARGS(name));
}

static void write_listener_groups(const struct store_object *object,
	struct store_index_writer *writer)
{
	write_groups(object, "DefaultActions", writer);
}

static void write_rule_groups(const struct store_object *object, struct store_index_writer *writer)
{
	write_groups(object, "Actions", writer);
}

static void write_priority(const struct store_object *object, struct store_index_writer *writer)
{
	const struct elb_rule_facts *facts = elb_rule_facts(object);

	store_index_add_format(writer, "%.*s%.*s/%.*s/%05lld", SPAN_ARGS(scope_of(object->key)),
		SPAN_ARGS(facts->load_balancer), SPAN_ARGS(facts->listener),
		(long long)facts->priority);
}

static const struct store_index listener_indexes[] = {
	[ELB_LISTENER_BY_PORT] = {.name = "port", .write = write_port},
	[ELB_LISTENER_BY_CERTIFICATE] = {.name = "certificate", .write = write_certificates},
	[ELB_LISTENER_BY_GROUP] = {.name = "group", .write = write_listener_groups},
};
static const struct store_index rule_indexes[] = {
	[ELB_RULE_BY_PRIORITY] = {.name = "priority", .write = write_priority},
	[ELB_RULE_BY_GROUP] = {.name = "group", .write = write_rule_groups},
};

const struct store_kind elb_listener_kind = {
	.name = "elb.listener",
	.facts_size = sizeof(struct elb_listener_facts),
	.extract = listener_extract,
	.indexes = listener_indexes,
	.index_count = LENGTH(listener_indexes),
};
const struct store_kind elb_rule_kind = {
	.name = "elb.rule",
	.facts_size = sizeof(struct elb_rule_facts),
	.extract = rule_extract,
	.indexes = rule_indexes,
	.index_count = LENGTH(rule_indexes),
};

/* ---- ARNs ---- */

static const char *type_part(enum elb_type type)
{
	return type == ELB_NETWORK ? "net" : "app";
}

struct span elb_listener_arn(struct arena *arena, const struct store_object *load_balancer,
	struct span listener_id)
{
	const struct elb_load_balancer_facts *facts = elb_load_balancer_facts(load_balancer);

	return aws_arn_of_key(arena, "elasticloadbalancing", load_balancer->key,
		arena_format(arena, "listener/%s/%.*s/%.*s/%.*s", type_part(facts->type),
			SPAN_ARGS(facts->name), SPAN_ARGS(facts->id), SPAN_ARGS(listener_id)));
}

struct span elb_rule_arn(struct arena *arena, const struct store_object *load_balancer,
	struct span listener_id, struct span rule_id)
{
	const struct elb_load_balancer_facts *facts = elb_load_balancer_facts(load_balancer);

	return aws_arn_of_key(arena, "elasticloadbalancing", load_balancer->key,
		arena_format(arena, "listener-rule/%s/%.*s/%.*s/%.*s/%.*s", type_part(facts->type),
			SPAN_ARGS(facts->name), SPAN_ARGS(facts->id), SPAN_ARGS(listener_id),
			SPAN_ARGS(rule_id)));
}

/* ---- finding ---- */

/* The parts of the resource of an ARN of this scope, if they are as many and begin with the type. */
static bool read_arn(struct span scope, struct span arn, const char *type, size_t count,
	struct span parts[PARTS_MAX])
{
	struct aws_arn parsed;
	struct span account, region;

	return arn.data && arn.length <= AWS_ARN_MAX && aws_arn_parse(arn, &parsed) &&
	       span_split(scope, '/', &account, &region) && region.length > 0 &&
	       span_is(parsed.service, "elasticloadbalancing") &&
	       span_equal(parsed.account, account) &&
	       span_equal(parsed.region, (struct span){region.data, region.length - 1}) &&
	       span_equal(parsed.partition, aws_partition_of(parsed.region)) &&
	       split_parts(parsed.resource, parts) == count && span_is(parts[0], type);
}

static const struct store_object *get(const struct store_view *view, const struct store_kind *kind,
	struct span scope, const struct span *names, size_t count)
{
	char key[STORE_KEY_MAX];
	size_t length = scope.length;

	if (length > sizeof(key))
		return NULL;
	memcpy(key, scope.data, length);
	for (size_t i = 0; i < count; i++) {
		if (names[i].length == 0 || length + names[i].length + 1 > sizeof(key))
			return NULL;
		if (i > 0)
			key[length++] = '/';
		memcpy(key + length, names[i].data, names[i].length);
		length += names[i].length;
	}
	return store_get(view, kind, (struct span){key, length});
}

/* Another load balancer may have come under the same name: its id must be that of the ARN. */
static bool is_of_balancer(const struct store_view *view, struct span scope,
	const struct span parts[PARTS_MAX])
{
	const struct store_object *balancer =
		get(view, &elb_load_balancer_kind, scope, &parts[2], 1);

	return balancer && span_equal(elb_load_balancer_facts(balancer)->id, parts[3]) &&
	       span_is(parts[1], type_part(elb_load_balancer_facts(balancer)->type));
}

const struct store_object *elb_listener_find(const struct store_view *view, struct span scope,
	struct span arn)
{
	struct span parts[PARTS_MAX];

	if (!read_arn(scope, arn, "listener", 5, parts) || !is_of_balancer(view, scope, parts))
		return NULL;
	return get(view, &elb_listener_kind, scope, (struct span[]){parts[2], parts[4]}, 2);
}

const struct store_object *elb_rule_find(const struct store_view *view, struct span scope,
	struct span arn)
{
	struct span parts[PARTS_MAX];

	if (!read_arn(scope, arn, "listener-rule", 6, parts) || !is_of_balancer(view, scope, parts))
		return NULL;
	return get(view, &elb_rule_kind, scope, (struct span[]){parts[2], parts[4], parts[5]}, 3);
}

const struct store_object *elb_listener_find_by_default_rule(const struct store_view *view,
	struct span scope, struct span arn)
{
	struct span parts[PARTS_MAX];

	if (!read_arn(scope, arn, "listener-rule", 6, parts) || !span_equal(parts[4], parts[5]) ||
		!is_of_balancer(view, scope, parts))
		return NULL;
	return get(view, &elb_listener_kind, scope, (struct span[]){parts[2], parts[4]}, 2);
}

const struct store_object *elb_listener_balancer(const struct store_view *view,
	const struct store_object *listener)
{
	return get(view, &elb_load_balancer_kind, scope_of(listener->key),
		&elb_listener_facts(listener)->load_balancer, 1);
}

bool elb_target_group_is_used(const struct store_view *view, const struct store_object *group)
{
	return store_count(view, &elb_listener_kind, ELB_LISTENER_BY_GROUP, group->key, true) > 0 ||
	       store_count(view, &elb_rule_kind, ELB_RULE_BY_GROUP, group->key, true) > 0;
}
