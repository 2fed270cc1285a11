/* The kinds of Cloud Map: what is known of an object without reading its texts, and where it is found. */
#include "cloudmap/kinds.h"

#include "aws/key.h"
#include "base/memory.h"
#include "store/fact_table.h"

static struct span scope_of_key(struct span key)
{
	return (struct span){key.data, key.length - aws_name_of_key(key).length};
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void add_lower(struct store_index_writer *writer, struct span before, struct span middle,
	struct span name)
{
	_buffer_ struct buffer text = {0};

	buffer_add_span(&text, before);
	buffer_add_span(&text, middle);
	if (middle.length > 0)
		buffer_add_char(&text, '/');
	for (size_t i = 0; i < name.length; i++)
		buffer_add_char(&text, lower(name.data[i]));
	store_index_add(writer, buffer_span(&text));
}

static int read_private(const struct store_object *object, const struct fact_row *rows,
	size_t count, void *facts, struct arena *scratch, struct err *err)
{
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	return fact_table_read(rows, count, private_, facts, err);
}

/* ---- namespaces ---- */

static const char *const namespace_types[] = {
	[CLOUDMAP_HTTP] = "HTTP", [CLOUDMAP_DNS_PRIVATE] = "DNS_PRIVATE"};

static const struct fact_row namespace_rows[] = {
	FACT(FACT_TEXT, cloudmap_namespace_facts, name, "name"),
	FACT_NAMED(cloudmap_namespace_facts, type, "type", namespace_types),
	FACT(FACT_NUMBER, cloudmap_namespace_facts, soa_ttl, "soaTtl"),
	FACT(FACT_NUMBER, cloudmap_namespace_facts, created_ms, "created"),
};

const char *cloudmap_namespace_type_name(enum cloudmap_namespace_type type)
{
	return namespace_types[type];
}

static int namespace_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct cloudmap_namespace_facts *namespace_ = facts;

	namespace_->id = aws_name_of_key(object->key);
	return read_private(object, namespace_rows, LENGTH(namespace_rows), facts, scratch, err);
}

void cloudmap_namespace_write_facts(const struct cloudmap_namespace_facts *facts,
	struct arena *arena, struct json *private_)
{
	fact_table_write(namespace_rows, LENGTH(namespace_rows), facts, arena, private_);
}

static void namespace_write_name(const struct store_object *object,
	struct store_index_writer *writer)
{
	add_lower(writer, scope_of_key(object->key), SPAN(""),
		cloudmap_namespace_facts(object)->name);
}

static void namespace_write_zone(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct cloudmap_namespace_facts *facts = cloudmap_namespace_facts(object);

	if (facts->type == CLOUDMAP_DNS_PRIVATE)
		add_lower(writer, SPAN(""), SPAN(""), facts->name);
}

static const struct store_index namespace_indexes[] = {
	[CLOUDMAP_NAMESPACE_BY_NAME] = {.name = "name", .write = namespace_write_name},
	[CLOUDMAP_NAMESPACE_BY_ZONE] = {.name = "zone", .write = namespace_write_zone},
};

const struct store_kind cloudmap_namespace_kind = {
	.name = "cloudmap.namespace",
	.facts_size = sizeof(struct cloudmap_namespace_facts),
	.extract = namespace_extract,
	.indexes = namespace_indexes,
	.index_count = LENGTH(namespace_indexes),
};

/* ---- services ---- */

static const struct fact_row service_rows[] = {
	FACT(FACT_TEXT, cloudmap_service_facts, name, "name"),
	FACT(FACT_TEXT, cloudmap_service_facts, namespace_id, "namespace"),
	FACT(FACT_NUMBER, cloudmap_service_facts, records, "records"),
	FACT(FACT_FLAG, cloudmap_service_facts, weighted, "weighted"),
	FACT(FACT_FLAG, cloudmap_service_facts, checked, "checked"),
	FACT(FACT_NUMBER, cloudmap_service_facts, ttl_a, "ttlA"),
	FACT(FACT_NUMBER, cloudmap_service_facts, ttl_aaaa, "ttlAaaa"),
	FACT(FACT_NUMBER, cloudmap_service_facts, ttl_srv, "ttlSrv"),
	FACT(FACT_NUMBER, cloudmap_service_facts, ttl_cname, "ttlCname"),
	FACT(FACT_NUMBER, cloudmap_service_facts, instances_revision, "instancesRevision"),
	FACT(FACT_NUMBER, cloudmap_service_facts, created_ms, "created"),
};

static int service_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct cloudmap_service_facts *service = facts;

	service->id = aws_name_of_key(object->key);
	return read_private(object, service_rows, LENGTH(service_rows), facts, scratch, err);
}

struct span cloudmap_service_private(const struct cloudmap_service_facts *facts,
	struct arena *arena)
{
	struct json *private_ = json_new_object(arena);

	fact_table_write(service_rows, LENGTH(service_rows), facts, arena, private_);
	return json_to_text(private_, arena);
}

static void service_write_name(const struct store_object *object, struct store_index_writer *writer)
{
	const struct cloudmap_service_facts *facts = cloudmap_service_facts(object);

	add_lower(writer, scope_of_key(object->key), facts->namespace_id, facts->name);
}

static const struct store_index service_indexes[] = {
	[CLOUDMAP_SERVICE_BY_NAME] = {.name = "name", .write = service_write_name},
};

const struct store_kind cloudmap_service_kind = {
	.name = "cloudmap.service",
	.facts_size = sizeof(struct cloudmap_service_facts),
	.extract = service_extract,
	.indexes = service_indexes,
	.index_count = LENGTH(service_indexes),
};

/* ---- instances ---- */

static const struct fact_row instance_rows[] = {
	FACT(FACT_TEXT, cloudmap_instance_facts, ipv4, "ipv4"),
	FACT(FACT_TEXT, cloudmap_instance_facts, ipv6, "ipv6"),
	FACT(FACT_TEXT, cloudmap_instance_facts, cname, "cname"),
	FACT(FACT_NUMBER, cloudmap_instance_facts, port, "port"),
	FACT(FACT_NUMBER, cloudmap_instance_facts, weight, "weight"),
	FACT(FACT_NUMBER, cloudmap_instance_facts, unhealthy_ms, "unhealthy"),
	FACT(FACT_NUMBER, cloudmap_instance_facts, created_ms, "created"),
};

static int instance_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct cloudmap_instance_facts *instance = facts;

	if (!span_split(aws_name_of_key(object->key), '/', &instance->service_id, &instance->id))
		return err_set(err, -EINVAL, "an instance has no service");
	return read_private(object, instance_rows, LENGTH(instance_rows), facts, scratch, err);
}

void cloudmap_instance_write_facts(const struct cloudmap_instance_facts *facts, struct arena *arena,
	struct json *private_)
{
	fact_table_write(instance_rows, LENGTH(instance_rows), facts, arena, private_);
}

static void instance_write_id(const struct store_object *object, struct store_index_writer *writer)
{
	struct span service_key = {object->key.data,
		object->key.length - cloudmap_instance_facts(object)->id.length - 1};

	store_index_add_format(writer, "%.*s%.*s", SPAN_ARGS(scope_of_key(service_key)),
		SPAN_ARGS(cloudmap_instance_facts(object)->id));
}

static const struct store_index instance_indexes[] = {
	[CLOUDMAP_INSTANCE_BY_ID] = {.name = "id", .write = instance_write_id},
};

const struct store_kind cloudmap_instance_kind = {
	.name = "cloudmap.instance",
	.facts_size = sizeof(struct cloudmap_instance_facts),
	.extract = instance_extract,
	.indexes = instance_indexes,
	.index_count = LENGTH(instance_indexes),
};

/* ---- operations ---- */

const char *const cloudmap_operation_types[OPERATION_TYPE_COUNT] = {
	[OPERATION_CREATE_NAMESPACE] = "CREATE_NAMESPACE",
	[OPERATION_DELETE_NAMESPACE] = "DELETE_NAMESPACE",
	[OPERATION_UPDATE_NAMESPACE] = "UPDATE_NAMESPACE",
	[OPERATION_UPDATE_SERVICE] = "UPDATE_SERVICE",
	[OPERATION_REGISTER_INSTANCE] = "REGISTER_INSTANCE",
	[OPERATION_DEREGISTER_INSTANCE] = "DEREGISTER_INSTANCE",
};

static const struct fact_row operation_rows[] = {
	FACT_NAMED(operation_facts, type, "type", cloudmap_operation_types),
	FACT(FACT_TEXT, operation_facts, namespace_id, "namespace"),
	FACT(FACT_TEXT, operation_facts, service_id, "service"),
	FACT(FACT_TEXT, operation_facts, instance_id, "instance"),
	FACT(FACT_TEXT, operation_facts, request, "request"),
	FACT(FACT_NUMBER, operation_facts, created_ms, "created"),
};

static int operation_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct operation_facts *operation = facts;

	operation->id = aws_name_of_key(object->key);
	return read_private(object, operation_rows, LENGTH(operation_rows), facts, scratch, err);
}

struct span cloudmap_operation_private(const struct operation_facts *facts, struct arena *arena)
{
	struct json *private_ = json_new_object(arena);

	fact_table_write(operation_rows, LENGTH(operation_rows), facts, arena, private_);
	return json_to_text(private_, arena);
}

/* Fifteen digits of milliseconds last for thirty thousand years. */
static void operation_write_time(const struct store_object *object,
	struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s%015lld", SPAN_ARGS(scope_of_key(object->key)),
		(long long)operation_facts(object)->created_ms);
}

static void operation_write_request(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct operation_facts *facts = operation_facts(object);

	if (facts->request.length > 0)
		store_index_add_format(writer, "%.*s%.*s", SPAN_ARGS(scope_of_key(object->key)),
			SPAN_ARGS(facts->request));
}

static void operation_write_deregistered(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct operation_facts *facts = operation_facts(object);

	if (facts->type == OPERATION_DEREGISTER_INSTANCE)
		store_index_add_format(writer, "%.*s%.*s", SPAN_ARGS(scope_of_key(object->key)),
			SPAN_ARGS(facts->instance_id));
}

static const struct store_index operation_indexes[] = {
	[OPERATION_BY_TIME] = {.name = "time", .write = operation_write_time},
	[OPERATION_BY_REQUEST] = {.name = "request", .write = operation_write_request},
	[OPERATION_BY_DEREGISTERED] = {.name = "deregistered",
		.write = operation_write_deregistered},
};

const struct store_kind cloudmap_operation_kind = {
	.name = "cloudmap.operation",
	.facts_size = sizeof(struct operation_facts),
	.extract = operation_extract,
	.indexes = operation_indexes,
	.index_count = LENGTH(operation_indexes),
};

/* ---- labels ---- */

const struct store_kind cloudmap_labels_kind = {
	.name = "cloudmap.labels",
};

/* ---- all ---- */

const struct store_kind *const cloudmap_kinds[] = {
	&cloudmap_instance_kind,
	&cloudmap_labels_kind,
	&cloudmap_namespace_kind,
	&cloudmap_operation_kind,
	&cloudmap_service_kind,
};
const size_t cloudmap_kind_count = LENGTH(cloudmap_kinds);
