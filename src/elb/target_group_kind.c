/* Target groups as objects: facts and indexes; see elb.h. */
#include "aws/key.h"
#include "base/memory.h"
#include "elb/attribute.h"
#include "elb/target_group.h"
#include "store/fact_table.h"

static const char *const protocol_names[] = {"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP"};
_Static_assert(LENGTH(protocol_names) == ELB_PROTOCOL_COUNT, "as in protocol.c");

static const struct fact_row fact_rows[] = {
	FACT(FACT_TEXT, elb_target_group_facts, id, "id"),
	FACT_NAMED(elb_target_group_facts, protocol, "protocol", protocol_names),
	FACT(FACT_NUMBER, elb_target_group_facts, port, "port"),
	FACT(FACT_FLAG, elb_target_group_facts, instances, "instances"),
	FACT(FACT_FLAG, elb_target_group_facts, ipv6, "ipv6"),
	FACT(FACT_NUMBER, elb_target_group_facts, created_ms, "created"),
};

/* A number of seconds as attributes have it, in milliseconds. */
static int64_t seconds_of(struct span text)
{
	uint64_t seconds = 0;

	span_to_unsigned(text, INT32_MAX, &seconds);
	return (int64_t)seconds * 1000;
}

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct elb_target_group_facts *group = facts;
	const struct json *attributes;
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	group->name = aws_name_of_key(object->key);
	code = fact_table_read(fact_rows, LENGTH(fact_rows), private_, facts, err);
	if (code < 0)
		return code;
	attributes = json_get(private_, "attributes");
	group->proxy_v2 =
		span_is(elb_target_group_attribute(group, attributes, "proxy_protocol_v2.enabled"),
			"true");
	group->deregistration_delay_ms = seconds_of(elb_target_group_attribute(group, attributes,
		"deregistration_delay.timeout_seconds"));
	group->slow_start_ms = seconds_of(elb_target_group_attribute(group, attributes,
		"slow_start.duration_seconds"));
	return 0;
}

void elb_target_group_write_facts(const struct elb_target_group_facts *facts, struct arena *arena,
	struct json *private_)
{
	fact_table_write(fact_rows, LENGTH(fact_rows), facts, arena, private_);
}

static void write_id(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(object->key),
		SPAN_ARGS(elb_target_group_facts(object)->id));
}

static const struct store_index indexes[] = {
	[ELB_TARGET_GROUP_BY_ID] = {.name = "id", .write = write_id},
};

const struct store_kind elb_target_group_kind = {
	.name = "elb.target_group",
	.facts_size = sizeof(struct elb_target_group_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};
