/*
 * DiscoverInstances: the operation that programs call all the time. Two lookups by name, then one walk over
 * the instances of the service; without parameters no text is parsed, and attributes go out as they are
 * stored.
 *
 * What is found is shuffled, so that clients which take the first spread themselves.
 */
#include "base/memory.h"
#include "cloudmap/api.h"
#include "cloudmap/instance.h"

#define DISCOVER_DEFAULT 100
#define DISCOVER_MAX 1000

static int find_service(struct aws_request *request, const struct store_object **ret_namespace,
	const struct store_object **ret_service)
{
	struct span owner = json_get_text(request->input, "OwnerAccount");
	struct span zone = json_get_text(request->input, "NamespaceName");
	struct span name = json_get_text(request->input, "ServiceName");
	const struct store_object *namespace_, *service;

	/* Namespaces are not shared between accounts. */
	namespace_ = owner.length > 0 && !span_equal(owner, request->caller->account)
			     ? NULL
			     : cloudmap_namespace_of_name(request, zone);
	if (!namespace_)
		return aws_fail(request, "NamespaceNotFound", "Namespace %.*s was not found",
			SPAN_ARGS(cloudmap_shown(zone)));
	service = cloudmap_service_of_name(request, namespace_, name);
	if (!service)
		return aws_fail(request, "ServiceNotFound",
			"Service %.*s was not found in namespace %.*s",
			SPAN_ARGS(cloudmap_shown(name)), SPAN_ARGS(cloudmap_shown(zone)));
	*ret_namespace = namespace_;
	*ret_service = service;
	return 0;
}

/* ---- choosing ---- */

struct found {
	const struct store_object **items;
	size_t count;
};

static bool has_all(const struct json *attributes, const struct json *wanted)
{
	for (size_t i = 0; json_is(wanted, JSON_OBJECT) && i < wanted->object.count; i++) {
		const struct json_member *member = &wanted->object.members[i];

		if (!span_equal(json_text(json_get_span(attributes, member->name)),
			    json_text(member->value)))
			return false;
	}
	return true;
}

/* Keeps those for which the parameters hold. If `or_else_all`, and none is left, all stay. */
static void keep_matching(struct aws_request *request, struct found *found, const char *parameters,
	bool or_else_all)
{
	const struct json *wanted = json_get(request->input, parameters);
	struct arena *arena;
	size_t kept = 0;

	if (json_count(wanted) == 0)
		return;
	arena = arena_new(0);
	for (size_t i = 0; i < found->count; i++) {
		const struct store_object *instance = found->items[i];
		struct json *attributes;

		if (json_parse(instance->api, arena, &attributes, NULL) == 0 &&
			has_all(attributes, wanted)) {
			/* Items that are not kept move to the end, so that none is lost. */
			found->items[i] = found->items[kept];
			found->items[kept++] = instance;
		}
		arena_reset(arena);
	}
	arena_free(arena);
	if (kept > 0 || !or_else_all)
		found->count = kept;
}

static void keep_health(struct aws_request *request, struct found *found,
	const struct cloudmap_service_facts *service, bool healthy, bool or_else_all)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct store_object *instance = found->items[i];

		if (cloudmap_instance_is_healthy(service, cloudmap_instance_facts(instance),
			    request->now_ms) == healthy) {
			found->items[i] = found->items[kept];
			found->items[kept++] = instance;
		}
	}
	if (kept > 0 || !or_else_all)
		found->count = kept;
}

static void choose_by_health(struct aws_request *request, struct found *found,
	const struct cloudmap_service_facts *service)
{
	static const struct {
		const char *name;
		bool healthy, or_else_all;
	} rows[] = {
		{"HEALTHY", true, false},
		{"UNHEALTHY", false, false},
		{"HEALTHY_OR_ELSE_ALL", true, true},
	};
	struct span requested = json_get_text(request->input, "HealthStatus");

	/* Without health checks the parameter is ignored. */
	if (!service->checked)
		return;
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (span_is(requested.data ? requested : SPAN("HEALTHY_OR_ELSE_ALL"), rows[i].name))
			keep_health(request, found, service, rows[i].healthy, rows[i].or_else_all);
}

static struct found all_of(struct aws_request *request, const struct store_object *service)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_instance_kind,
		.index = -1,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key))};
	struct found found = {.items = arena_allocate_array(request->arena,
				      cloudmap_service_count_instances(request, service) + 1,
				      sizeof(*found.items))};
	const struct store_object *instance;

	while ((instance = store_next(&cursor)))
		found.items[found.count++] = instance;
	return found;
}

/* The first `most` of a random order. */
static void shuffle(struct aws_request *request, struct found *found, size_t most)
{
	struct random_seeded chance;

	random_seeded_init(&chance, random_u64(request->random));
	for (size_t i = 0; i < found->count && i < most; i++) {
		size_t other = i + random_below(&chance.random, found->count - i);
		const struct store_object *instance = found->items[i];

		found->items[i] = found->items[other];
		found->items[other] = instance;
	}
	if (found->count > most)
		found->count = most;
}

/* ---- operations ---- */

int cloudmap_discover_instances(struct aws_request *request)
{
	size_t most = (size_t)json_get_integer(request->input, "MaxResults", DISCOVER_DEFAULT);
	const struct store_object *namespace_, *service;
	struct buffer *out = request->out;
	struct found found;

	if (most < 1 || most > DISCOVER_MAX)
		return aws_fail_input(request, "MaxResults: must be from 1 to %d", DISCOVER_MAX);
	if (find_service(request, &namespace_, &service) < 0)
		return -EPERM;
	found = all_of(request, service);
	keep_matching(request, &found, "QueryParameters", false);
	choose_by_health(request, &found, cloudmap_service_facts(service));
	keep_matching(request, &found, "OptionalParameters", true);
	shuffle(request, &found, most);
	buffer_add_string(out, "{\"Instances\":[");
	for (size_t i = 0; i < found.count; i++) {
		buffer_add_string(out, i > 0 ? ",{\"InstanceId\":" : "{\"InstanceId\":");
		json_write_string(cloudmap_instance_facts(found.items[i])->id, out);
		buffer_add_string(out, ",\"NamespaceName\":");
		json_write_string(cloudmap_namespace_facts(namespace_)->name, out);
		buffer_add_string(out, ",\"ServiceName\":");
		json_write_string(cloudmap_service_facts(service)->name, out);
		buffer_format(out, ",\"HealthStatus\":\"%s\",\"Attributes\":",
			cloudmap_instance_health(service, found.items[i], request->now_ms));
		buffer_add_span(out, found.items[i]->api);
		buffer_add_char(out, '}');
	}
	buffer_format(out, "],\"InstancesRevision\":%lld}",
		(long long)cloudmap_service_facts(service)->instances_revision);
	return 0;
}

int cloudmap_discover_instances_revision(struct aws_request *request)
{
	const struct store_object *namespace_, *service;

	if (find_service(request, &namespace_, &service) < 0)
		return -EPERM;
	buffer_format(request->out, "{\"InstancesRevision\":%lld}",
		(long long)cloudmap_service_facts(service)->instances_revision);
	return 0;
}
