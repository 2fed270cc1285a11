/*
 * Targets as objects: facts, indexes, and the few ways in which they change. Clients and ECS register and
 * deregister, the plane writes what it found out and deletes what has drained.
 *
 * Invariant: a target that drains stays draining until it is deleted or registered anew.
 */
#include "elb/target.h"

#include <arpa/inet.h>

#include "aws/key.h"
#include "base/memory.h"
#include "store/fact_table.h"

static const char *const state_names[] = {
#define X(name, text) [ELB_TARGET_##name] = (text),
	ELB_TARGET_STATES(X)
#undef X
};
static const char *const reason_names[] = {
#define X(name, ...) [PROBE_REASON_##name] = #name,
	PROBE_REASONS(X)
#undef X
};

const char *elb_target_state_name(enum elb_target_state state)
{
	return state_names[state];
}

/* ---- facts ---- */

static const struct fact_row fact_rows[] = {
	FACT(FACT_TEXT, elb_target_facts, owner, "owner"),
	FACT_NAMED(elb_target_facts, state, "state", state_names),
	FACT_NAMED(elb_target_facts, reason, "reason", reason_names),
	FACT(FACT_NUMBER, elb_target_facts, code, "code"),
	FACT(FACT_NUMBER, elb_target_facts, registered_ms, "registered"),
	FACT(FACT_NUMBER, elb_target_facts, changed_ms, "changed"),
	FACT(FACT_NUMBER, elb_target_facts, drain_until_ms, "drainUntil"),
};

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct elb_target_facts *target = facts;
	struct span rest, port;
	struct json *private_;
	uint64_t number;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	if (!span_split(aws_name_of_key(object->key), '/', &target->group, &rest) ||
		!span_split(rest, '/', &target->id, &port) ||
		!span_to_unsigned(port, UINT16_MAX, &number))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a target",
			SPAN_ARGS(object->key));
	target->port = (int64_t)number;
	return fact_table_read(fact_rows, LENGTH(fact_rows), private_, facts, err);
}

/* ---- indexes ---- */

static struct span group_key_of(const struct store_object *target)
{
	const struct elb_target_facts *facts = elb_target_facts(target);

	return (struct span){target->key.data,
		(size_t)(facts->group.data + facts->group.length - target->key.data)};
}

static void write_owner(const struct store_object *object, struct store_index_writer *writer)
{
	if (elb_target_facts(object)->owner.length > 0)
		store_index_add(writer, elb_target_facts(object)->owner);
}

static void write_state(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(group_key_of(object)),
		state_names[elb_target_facts(object)->state]);
}

static const struct store_index indexes[] = {
	[ELB_TARGET_BY_OWNER] = {.name = "owner", .write = write_owner},
	[ELB_TARGET_BY_STATE] = {.name = "state", .write = write_state},
};

const struct store_kind elb_target_kind = {
	.name = "elb.target",
	.facts_size = sizeof(struct elb_target_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

/* ---- ids ---- */

/* Addresses allowed behind a load balancer: only a host's own address, and no address whose
 * meaning depends on the machine (169.254.169.254 has credentials). */
static bool is_host_v4(const struct in_addr *address)
{
	uint32_t number = ntohl(address->s_addr);

	return number >> 24 != 0 && number >> 28 != 0xe && number >> 28 != 0xf &&
	       number >> 16 != 0xa9fe;
}

static bool is_host_v6(const struct in6_addr *address)
{
	return !IN6_IS_ADDR_UNSPECIFIED(address) && !IN6_IS_ADDR_MULTICAST(address) &&
	       !IN6_IS_ADDR_LINKLOCAL(address) && !IN6_IS_ADDR_V4MAPPED(address);
}

static int read_address(struct span requested, bool ipv6, struct arena *arena, struct span *ret_id,
	struct err *err)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;
	struct in6_addr v6;

	if (requested.length >= sizeof(text) || memchr(requested.data, '\0', requested.length))
		return err_set(err, -EINVAL, "'%.*s' is not an IP address", SPAN_ARGS(requested));
	memcpy(text, requested.data, requested.length);
	text[requested.length] = '\0';
	if (!ipv6 && inet_pton(AF_INET, text, &v4) == 1) {
		if (!is_host_v4(&v4))
			return err_set(err, -EINVAL, "'%s' is not an address of a host", text);
		inet_ntop(AF_INET, &v4, text, sizeof(text));
	} else if (ipv6 && inet_pton(AF_INET6, text, &v6) == 1) {
		if (!is_host_v6(&v6))
			return err_set(err, -EINVAL, "'%s' is not an address of a host", text);
		inet_ntop(AF_INET6, &v6, text, sizeof(text));
	} else {
		return err_set(err, -EINVAL, "'%s' is not an IP%s address", text,
			ipv6 ? "v6" : "v4");
	}
	*ret_id = arena_copy_span(arena, span_of(text));
	return 0;
}

static bool is_instance_id(struct span id)
{
	if (id.length < 3 || id.length > 64 || !span_starts_with(id, SPAN("i-")))
		return false;
	for (size_t i = 2; i < id.length; i++)
		if (!((id.data[i] >= '0' && id.data[i] <= '9') ||
			    (id.data[i] >= 'a' && id.data[i] <= 'z') || id.data[i] == '-'))
			return false;
	return true;
}

int elb_target_id_read(const struct store_object *group, struct span requested, struct arena *arena,
	struct span *ret_id, struct err *err)
{
	if (!elb_target_group_facts(group)->instances)
		return read_address(requested, elb_target_group_facts(group)->ipv6, arena, ret_id,
			err);
	/* A task may have ports at an address of its own, though its group is one of instances. */
	if (!is_instance_id(requested) && read_address(requested, false, arena, ret_id, err) == 0)
		return 0;
	if (!is_instance_id(requested))
		return err_set(err, -EINVAL, "'%.*s' is not the id of an instance (i-…)",
			SPAN_ARGS(requested));
	*ret_id = requested;
	return 0;
}

/* "GROUPKEY/ID/PORT" */
static struct span elb_target_key(struct arena *arena, struct span group_key, struct span id,
	int64_t port)
{
	return arena_format(arena, "%.*s/%.*s/%lld", SPAN_ARGS(group_key), SPAN_ARGS(id),
		(long long)port);
}

const struct store_object *elb_target_find(const struct store_view *view, struct span group_key,
	struct span id, int64_t port, struct arena *arena)
{
	return store_get(view, &elb_target_kind, elb_target_key(arena, group_key, id, port));
}

/* ---- changes ---- */

static int put(struct store_transaction *transaction, struct span key, struct span api,
	const struct elb_target_facts *facts, uint64_t expected, struct arena *arena,
	struct err *err)
{
	struct json *private_ = json_new_object(arena);

	fact_table_write(fact_rows, LENGTH(fact_rows), facts, arena, private_);
	return store_put(transaction, &elb_target_kind, key, api, json_to_text(private_, arena),
		expected, err);
}

/* The target as answers show it. */
static struct span target_text(struct arena *arena, struct span id, int64_t port, struct span zone)
{
	struct json *document = json_new_object(arena);

	json_set_string(arena, document, "Id", id);
	json_set_integer(arena, document, "Port", port);
	if (zone.length > 0)
		json_set_string(arena, document, "AvailabilityZone", zone);
	return json_to_text(document, arena);
}

int elb_target_register_in_zone(struct store_transaction *transaction,
	const struct store_object *group, struct span id, int64_t port, struct span zone,
	struct span owner, int64_t now_ms, struct arena *arena, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct elb_target_facts *old_facts;
	struct elb_target_facts facts = {
		.owner = owner, .registered_ms = now_ms, .changed_ms = now_ms};
	const struct store_object *old;
	struct span key, api;
	int code = elb_target_id_read(group, id, arena, &id, err);

	if (code < 0)
		return code;
	if (port == 0)
		port = elb_target_group_facts(group)->port;
	if (port < 1 || port > UINT16_MAX)
		return err_set(err, -EINVAL, "port %lld of '%.*s' is not from 1 to %d",
			(long long)port, SPAN_ARGS(id), UINT16_MAX);
	key = elb_target_key(arena, group->key, id, port);
	api = target_text(arena, id, port, zone);
	old = store_get(head, &elb_target_kind, key);
	old_facts = old ? elb_target_facts(old) : NULL;
	if (old && old_facts->state != ELB_TARGET_DRAINING && span_equal(old_facts->owner, owner)) {
		if (span_equal(old->api, api))
			return 0;
		return store_put(transaction, &elb_target_kind, key, api, old->private_,
			old->revision, err);
	}
	if (!old && store_count(head, &elb_target_kind, -1,
			    arena_format(arena, "%.*s/", SPAN_ARGS(group->key)),
			    false) >= ELB_TARGETS_MAX)
		return err_set(err, -EDQUOT, "target group '%.*s' has %d targets, the limit",
			SPAN_ARGS(elb_target_group_facts(group)->name), ELB_TARGETS_MAX);
	facts.state = ELB_TARGET_INITIAL;
	facts.reason = PROBE_REASON_REGISTERING;
	if (!elb_target_group_is_used(head, group)) {
		facts.state = ELB_TARGET_UNUSED;
		facts.reason = PROBE_REASON_NOT_IN_USE;
	}
	return put(transaction, key, api, &facts, old ? old->revision : STORE_ABSENT, arena, err);
}

int elb_target_register(struct store_transaction *transaction, const struct store_object *group,
	struct span id, int64_t port, struct span owner, int64_t now_ms, struct arena *arena,
	struct err *err)
{
	int code = elb_target_register_in_zone(transaction, group, id, port, SPAN(""), owner,
		now_ms, arena, err);

	return code == -EDQUOT ? -EINVAL : code;
}

int elb_target_deregister(struct store_transaction *transaction, struct span group_key,
	struct span id, int64_t port, int64_t now_ms, struct arena *arena, bool *ret_found,
	struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *group = store_get(head, &elb_target_group_kind, group_key);
	const struct store_object *target = elb_target_find(head, group_key, id, port, arena);
	struct elb_target_facts facts;
	int code = 0;

	/* The plane says that it is unused when nothing of it is open any more, which may be some time after
	 * the last listener has turned away from its group. */
	if (target && (!group || elb_target_facts(target)->state == ELB_TARGET_UNUSED)) {
		code = store_delete(transaction, &elb_target_kind, target->key, target->revision,
			err);
	} else if (target && elb_target_facts(target)->state != ELB_TARGET_DRAINING) {
		facts = *elb_target_facts(target);
		facts.state = ELB_TARGET_DRAINING;
		facts.reason = PROBE_REASON_DEREGISTERING;
		facts.code = 0;
		facts.changed_ms = now_ms;
		facts.drain_until_ms =
			now_ms + elb_target_group_facts(group)->deregistration_delay_ms;
		code = put(transaction, target->key, target->api, &facts, target->revision, arena,
			err);
	}
	if (code < 0)
		return code;
	*ret_found = target != NULL;
	return 0;
}

int elb_target_remove(struct store_transaction *transaction, struct span group_key, struct span id,
	int64_t port, struct err *err)
{
	const struct store_object *target = elb_target_find(store_head(transaction), group_key, id,
		port, store_transaction_arena(transaction));

	return target ? store_delete(transaction, &elb_target_kind, target->key, target->revision,
				err)
		      : 0;
}

int elb_target_set_state(struct store_transaction *transaction, const struct store_object *target,
	enum elb_target_state state, enum probe_reason reason, int64_t code, int64_t now_ms,
	struct arena *arena, struct err *err)
{
	struct elb_target_facts facts = *elb_target_facts(target);

	if (facts.state == ELB_TARGET_DRAINING ||
		(facts.state == state && facts.reason == reason && facts.code == code))
		return 0;
	if (facts.state != state)
		facts.changed_ms = now_ms;
	facts.state = state;
	facts.reason = reason;
	facts.code = code;
	return put(transaction, target->key, target->api, &facts, target->revision, arena, err);
}
