/* Load balancers as objects: facts, indexes, and how their state is written; see elb.h. */
#include "aws/key.h"
#include "base/memory.h"
#include "elb/load_balancer.h"
#include "store/fact_table.h"

static const char *const type_names[] = {
	[ELB_APPLICATION] = "application", [ELB_NETWORK] = "network"};
static const char *const state_names[] = {
	[ELB_PROVISIONING] = "provisioning",
	[ELB_ACTIVE] = "active",
	[ELB_ACTIVE_IMPAIRED] = "active_impaired",
	[ELB_FAILED] = "failed",
};

const char *elb_type_name(enum elb_type type)
{
	return type_names[type];
}

bool elb_type_read(struct span name, enum elb_type *ret_type)
{
	int found = fact_name_find(type_names, LENGTH(type_names), name);

	if (found < 0)
		return false;
	*ret_type = (enum elb_type)found;
	return true;
}

const char *elb_load_balancer_state_name(enum elb_load_balancer_state state)
{
	return state_names[state];
}

static const struct fact_row fact_rows[] = {
	FACT(FACT_TEXT, elb_load_balancer_facts, id, "id"),
	FACT_NAMED(elb_load_balancer_facts, type, "type", type_names),
	FACT(FACT_TEXT, elb_load_balancer_facts, address, "address"),
	FACT(FACT_TEXT, elb_load_balancer_facts, dns_name, "dnsName"),
	FACT_NAMED(elb_load_balancer_facts, state, "state", state_names),
	FACT(FACT_NUMBER, elb_load_balancer_facts, created_ms, "created"),
};

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct elb_load_balancer_facts *load_balancer = facts;
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	load_balancer->name = aws_name_of_key(object->key);
	return fact_table_read(fact_rows, LENGTH(fact_rows), private_, facts, err);
}

void elb_load_balancer_write_facts(const struct elb_load_balancer_facts *facts, struct arena *arena,
	struct json *private_)
{
	fact_table_write(fact_rows, LENGTH(fact_rows), facts, arena, private_);
}

static void write_address(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, elb_load_balancer_facts(object)->address);
}

static void write_dns_name(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, elb_load_balancer_facts(object)->dns_name);
}

static const struct store_index indexes[] = {
	[ELB_LOAD_BALANCER_BY_ADDRESS] = {.name = "address", .write = write_address},
	[ELB_LOAD_BALANCER_BY_DNS_NAME] = {.name = "dns_name", .write = write_dns_name},
};

const struct store_kind elb_load_balancer_kind = {
	.name = "elb.load_balancer",
	.facts_size = sizeof(struct elb_load_balancer_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

int elb_load_balancer_set_state(struct store_transaction *transaction,
	const struct store_object *load_balancer, enum elb_load_balancer_state state,
	struct span reason, struct arena *arena, struct err *err)
{
	struct json *old, *private_;
	int code = json_parse(load_balancer->private_, arena, &old, err);

	if (code < 0)
		return code;
	if (elb_load_balancer_facts(load_balancer)->state == state &&
		span_equal(json_get_text(old, "stateReason"), reason))
		return 0;
	private_ = json_copy_object(arena, old);
	json_set_string(arena, private_, "state", span_of(state_names[state]));
	json_unset(private_, "stateReason");
	if (reason.length > 0)
		json_set_string(arena, private_, "stateReason", reason);
	return store_put(transaction, &elb_load_balancer_kind, load_balancer->key,
		load_balancer->api, json_to_text(private_, arena), load_balancer->revision, err);
}
