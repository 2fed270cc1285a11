/* Keeping the directory; see zone_directory.h. */
#include "cloudmap/zone_directory.h"

#include "aws/key.h"

void zone_labels_of(const struct dns_name *name, struct zone_labels *ret_labels)
{
	size_t at = 0;

	ret_labels->name = name;
	ret_labels->count = 0;
	while (name->bytes[at] != 0) {
		ret_labels->starts[ret_labels->count++] = (uint8_t)at;
		at += 1 + (size_t)name->bytes[at];
	}
	ret_labels->starts[ret_labels->count] = (uint8_t)at;
}

/* ---- names of a namespace ---- */

/* Counts a service and instances in at its name and at all names above it, up to the namespace. Names
 * that nothing is left of are forgotten. Returns the node of the name itself, if it is left. */
static struct zone_node *count_in(struct zone_namespace *namespace_, struct span labels,
	int64_t services, int64_t instances)
{
	struct zone_node *first = NULL;

	for (struct span rest = labels; rest.length > 0;) {
		struct zone_node *node = map_get(&namespace_->nodes, rest);
		size_t label = 1 + (size_t)(uint8_t)rest.data[0];

		if (!node) {
			node = memory_allocate(sizeof(*node));
			map_put(&namespace_->nodes, rest, node);
		}
		node->services += (uint64_t)services;
		node->instances += (uint64_t)instances;
		if (node->services == 0) {
			map_remove(&namespace_->nodes, rest);
			free(node);
		} else if (rest.length == labels.length) {
			first = node;
		}
		rest = (struct span){rest.data + label, rest.length - label};
	}
	return first;
}

static struct span relative_of(const struct zone_service *service)
{
	return (struct span){(const char *)service->relative.bytes, service->relative.length};
}

/* The instances that make its name exist. */
static int64_t instances_with_records(const struct zone_service *service)
{
	return service->records ? (int64_t)service->instances : 0;
}

/* ---- services ---- */

void zone_service_drop_answers(struct zone_service *service)
{
	zone_answers_free(atomic_exchange(&service->answers, NULL));
	for (size_t i = 0; i < ZONE_QUESTION_COUNT; i++)
		service->drawing[i] = false;
}

static void free_service(struct zone_service *service)
{
	zone_service_drop_answers(service);
	for (size_t i = 0; i < ZONE_QUESTION_COUNT; i++)
		dns_weighted_clear(&service->draws[i]);
	lock_destroy(&service->lock);
	free((char *)service->key.data);
	free(service);
}

static void remove_service(struct zone_directory *directory, struct zone_service *service)
{
	struct zone_node *node = map_get(&service->parent->nodes, relative_of(service));

	map_remove(&directory->services, service->key);
	if (node && node->service == service)
		node->service = NULL;
	count_in(service->parent, relative_of(service), -1, -instances_with_records(service));
	free_service(service);
}

static void read_service(struct zone_service *service, const struct cloudmap_service_facts *facts)
{
	service->records = facts->records;
	service->weighted = facts->weighted;
	service->ttls[ZONE_A] = (uint32_t)facts->ttl_a;
	service->ttls[ZONE_AAAA] = (uint32_t)facts->ttl_aaaa;
	service->ttls[ZONE_SRV] = (uint32_t)facts->ttl_srv;
	service->ttls[ZONE_CNAME] = (uint32_t)facts->ttl_cname;
}

/* "NAME.NAMESPACE" as a name. False: it is none. */
static bool name_service(struct zone_service *service, struct span name)
{
	const struct dns_name *parent = &service->parent->spelt;
	struct dns_name own;
	struct err err;
	size_t length;

	if (dns_name_from_text(name, &own, &err) < 0 || own.length == 1)
		return false;
	length = (size_t)own.length - 1;
	if (length + parent->length > DNS_NAME_MAX)
		return false;
	memcpy(own.bytes + length, parent->bytes, parent->length);
	own.length = (uint8_t)(length + parent->length);
	dns_name_copy(&service->name, &own);
	dns_name_copy_lower(&service->relative, &own);
	service->relative.length = (uint8_t)length;
	return true;
}

static void add_service(struct zone_directory *directory, const struct store_object *object,
	uint64_t instances)
{
	const struct cloudmap_service_facts *facts = cloudmap_service_facts(object);
	size_t scope = object->key.length - facts->id.length;
	char *parent_key = memory_format("%.*s%.*s", (int)scope, object->key.data,
		SPAN_ARGS(facts->namespace_id));
	struct zone_namespace *parent = map_get(&directory->namespaces, span_of(parent_key));
	struct zone_service *service;
	struct zone_node *node;

	free(parent_key);
	if (!parent)
		return; /* of type HTTP: DNS does not resolve its names */
	service = memory_allocate(sizeof(*service));
	service->parent = parent;
	service->key = (struct span){
		memory_copy_string_n(object->key.data, object->key.length), object->key.length};
	service->instances = instances;
	lock_init(&service->lock);
	read_service(service, facts);
	if (!name_service(service, facts->name)) {
		free_service(service);
		return;
	}
	map_put(&directory->services, service->key, service);
	node = count_in(parent, relative_of(service), 1, instances_with_records(service));
	if (node && !node->service)
		node->service = service;
}

static void change_service(struct zone_directory *directory, const struct store_object *before,
	const struct store_object *after)
{
	struct zone_service *service;
	int64_t counted;

	if (!before) {
		add_service(directory, after, 0);
		return;
	}
	service = map_get(&directory->services, before->key);
	if (!service)
		return;
	if (!after) {
		remove_service(directory, service);
		return;
	}
	counted = instances_with_records(service);
	read_service(service, cloudmap_service_facts(after));
	count_in(service->parent, relative_of(service), 0,
		instances_with_records(service) - counted);
	zone_service_drop_answers(service);
}

static void change_instance(struct zone_directory *directory, const struct store_object *before,
	const struct store_object *after)
{
	const struct store_object *object = after ? after : before;
	const struct cloudmap_instance_facts *facts = cloudmap_instance_facts(object);
	/* "ACCOUNT/REGION/srv-ID/INSTANCE" without the last part. */
	struct span key = {object->key.data, object->key.length - facts->id.length - 1};
	struct zone_service *service = map_get(&directory->services, key);
	int64_t counted;

	if (!service)
		return;
	counted = instances_with_records(service);
	service->instances += (uint64_t)((after != NULL) - (before != NULL));
	count_in(service->parent, relative_of(service), 0,
		instances_with_records(service) - counted);
	zone_service_drop_answers(service);
}

/* ---- namespaces ---- */

static bool is_older(const struct zone_namespace *a, const struct zone_namespace *b)
{
	return a->created_ms != b->created_ms ? a->created_ms < b->created_ms
					      : span_compare(a->key, b->key) < 0;
}

/* Into the list of those with its name, the oldest first. */
static void add_to_apex(struct zone_directory *directory, struct zone_namespace *namespace_)
{
	struct span name = dns_name_key(&namespace_->name);
	struct zone_namespace *first = map_get(&directory->apexes, name);
	struct zone_namespace **at = &first;
	struct zone_labels labels;

	while (*at && is_older(*at, namespace_))
		at = &(*at)->younger;
	namespace_->younger = *at;
	*at = namespace_;
	map_put(&directory->apexes, name, first);
	zone_labels_of(&namespace_->name, &labels);
	if (labels.count > directory->labels_max)
		directory->labels_max = labels.count;
}

static void remove_from_apex(struct zone_directory *directory, struct zone_namespace *namespace_)
{
	struct span name = dns_name_key(&namespace_->name);
	struct zone_namespace *first = map_get(&directory->apexes, name);
	struct zone_namespace **at = &first;

	while (*at != namespace_)
		at = &(*at)->younger;
	*at = namespace_->younger;
	if (first)
		map_put(&directory->apexes, name, first);
	else
		map_remove(&directory->apexes, name);
}

static void free_namespace(struct zone_namespace *namespace_)
{
	MAP_EACH (&namespace_->nodes, entry) {
		free(entry->value);
	}
	map_clear(&namespace_->nodes);
	free((char *)namespace_->key.data);
	free(namespace_);
}

static void add_namespace(struct zone_directory *directory, const struct store_object *object)
{
	const struct cloudmap_namespace_facts *facts = cloudmap_namespace_facts(object);
	struct zone_namespace *namespace_;
	struct dns_name name;
	struct err err;

	if (facts->type != CLOUDMAP_DNS_PRIVATE || dns_name_from_text(facts->name, &name, &err) < 0)
		return;
	namespace_ = memory_allocate(sizeof(*namespace_));
	namespace_->key = (struct span){
		memory_copy_string_n(object->key.data, object->key.length), object->key.length};
	dns_name_copy(&namespace_->spelt, &name);
	dns_name_copy_lower(&namespace_->name, &name);
	namespace_->soa_ttl = (uint32_t)facts->soa_ttl;
	namespace_->created_ms = facts->created_ms;
	map_put(&directory->namespaces, namespace_->key, namespace_);
	add_to_apex(directory, namespace_);
}

static void remove_namespace(struct zone_directory *directory, struct zone_namespace *namespace_)
{
	MAP_EACH (&directory->services, entry) {
		struct zone_service *service = entry->value;

		if (service->parent == namespace_)
			remove_service(directory, service);
	}
	remove_from_apex(directory, namespace_);
	map_remove(&directory->namespaces, namespace_->key);
	free_namespace(namespace_);
}

static void change_namespace(struct zone_directory *directory, const struct store_object *before,
	const struct store_object *after)
{
	struct zone_namespace *namespace_;

	if (!before) {
		add_namespace(directory, after);
		return;
	}
	namespace_ = map_get(&directory->namespaces, before->key);
	if (namespace_ && after)
		namespace_->soa_ttl = (uint32_t)cloudmap_namespace_facts(after)->soa_ttl;
	else if (namespace_)
		remove_namespace(directory, namespace_);
}

/* ---- the whole ---- */

void zone_directory_apply(struct zone_directory *directory, const struct store_change *change)
{
	static const struct {
		const struct store_kind *kind;
		void (*change)(struct zone_directory *directory, const struct store_object *before,
			const struct store_object *after);
	} rows[] = {
		{&cloudmap_namespace_kind, change_namespace},
		{&cloudmap_service_kind, change_service},
		{&cloudmap_instance_kind, change_instance},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		if (change->kind == rows[i].kind)
			rows[i].change(directory, change->before, change->after);
}

void zone_directory_load(struct zone_directory *directory, const struct store_view *view)
{
	struct store_cursor namespaces = {
		.view = view, .kind = &cloudmap_namespace_kind, .index = -1};
	struct store_cursor services = {.view = view, .kind = &cloudmap_service_kind, .index = -1};
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object;

	while ((object = store_next(&namespaces)))
		add_namespace(directory, object);
	while ((object = store_next(&services))) {
		struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(object->key));

		add_service(directory, object,
			store_count(view, &cloudmap_instance_kind, -1, prefix, false));
		arena_reset(arena);
	}
}

void zone_directory_clear(struct zone_directory *directory)
{
	MAP_EACH (&directory->services, entry) {
		free_service(entry->value);
	}
	MAP_EACH (&directory->namespaces, entry) {
		free_namespace(entry->value);
	}
	map_clear(&directory->services);
	map_clear(&directory->namespaces);
	map_clear(&directory->apexes);
	directory->labels_max = 0;
}

const struct zone_namespace *zone_directory_find(const struct zone_directory *directory,
	const struct zone_labels *labels, size_t *ret_first)
{
	size_t first =
		labels->count > directory->labels_max ? labels->count - directory->labels_max : 0;

	for (; first < labels->count; first++) {
		struct span name = {(const char *)labels->name->bytes + labels->starts[first],
			(size_t)labels->name->length - labels->starts[first]};
		const struct zone_namespace *found = map_get(&directory->apexes, name);

		if (found) {
			*ret_first = first;
			return found;
		}
	}
	return NULL;
}
