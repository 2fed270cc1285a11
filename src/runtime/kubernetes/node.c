/* See the header. */
#include "runtime/kubernetes/node.h"

#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/placement.h"

#define UNITS_PER_PROCESSOR 1024
#define MILLI 1000
#define MILLI_CPU_MAX INT64_C(1000000000) /* a million processors */
#define MEBIBYTE (1024 * 1024)

static struct span find_address(const struct json *status, const char *type)
{
	JSON_EACH_ITEM (json_get(status, "addresses"), address)
		if (span_equal(json_get_text(address, "type"), span_of(type)) &&
			json_get_text(address, "address").data)
			return json_get_text(address, "address");
	return SPAN("");
}

static bool is_ready(const struct json *status)
{
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		if (span_equal(json_get_text(condition, "type"), SPAN("Ready")))
			return span_equal(json_get_text(condition, "status"), SPAN("True"));
	return false;
}

/* PreferNoSchedule taints are only a preference. */
static bool is_tainted(const struct json *spec)
{
	JSON_EACH_ITEM (json_get(spec, "taints"), taint)
		if (!span_equal(json_get_text(taint, "effect"), SPAN("PreferNoSchedule")))
			return true;
	return false;
}

static void keep_labels(const struct json *labels, struct kube_keep *keep,
	struct kubernetes_node *node)
{
	size_t count = json_count(labels);

	if (count > KUBERNETES_NODE_LABELS_MAX)
		count = KUBERNETES_NODE_LABELS_MAX;
	node->labels = kube_keep_array(keep, count, sizeof(*node->labels));
	for (size_t i = 0; i < count; i++) {
		const struct json_member *member = &labels->object.members[i];

		if (member->name.length > KUBERNETES_ATTRIBUTE_NAME_MAX ||
			kubernetes_is_drained_label(member->name) || !json_text(member->value).data)
			continue;
		node->labels[node->label_count++] = (struct kubernetes_label){
			kube_keep_text(keep, member->name),
			kube_keep_text(keep, json_text(member->value)),
		};
	}
}

int kubernetes_node_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	const struct json *metadata = json_get(object, "metadata");
	const struct json *status = json_get(object, "status"),
			  *room = json_get(status, "allocatable");
	struct kubernetes_node *node = kube_keep_memory(keep, sizeof(*node));
	int64_t milli_cpu = 0, milli_bytes = 0;

	(void)context;
	(void)err;
	if (!json_is(room, JSON_OBJECT))
		room = json_get(status, "capacity");
	kube_quantity_milli(json_get(room, "cpu"), &milli_cpu);
	kube_quantity_milli(json_get(room, "memory"), &milli_bytes);
	if (milli_cpu > MILLI_CPU_MAX)
		milli_cpu = MILLI_CPU_MAX;
	node->cpu = milli_cpu * UNITS_PER_PROCESSOR / MILLI;
	node->memory = milli_bytes / MILLI / MEBIBYTE;
	node->address = kube_keep_text(keep, find_address(status, "InternalIP"));
	node->host_name = kube_keep_text(keep, find_address(status, "Hostname"));
	node->away = !is_ready(status);
	node->closed = json_get_bool(json_get(object, "spec"), "unschedulable", false);
	node->tainted = is_tainted(json_get(object, "spec"));
	node->closer = kube_keep_text(keep,
		json_get_text(json_get(metadata, "annotations"), KUBERNETES_CORDONED));
	if (!node->closer.data)
		node->closer = SPAN("");
	keep_labels(json_get(metadata, "labels"), keep, node);
	*ret_data = node;
	return 0;
}

/* ---- reporting ---- */

static void add_attribute(struct arena *arena, struct json *list, struct span name,
	struct span value)
{
	struct json *attribute = json_new_object(arena);

	json_set_string(arena, attribute, "name", name);
	if (value.length > 0)
		json_set_string(arena, attribute, "value", value);
	json_append(arena, list, attribute);
}

static const struct json *attributes_of(struct span name, const struct kubernetes_node *node,
	struct arena *arena)
{
	struct json *list = json_new_array(arena);

	add_attribute(arena, list, SPAN("ecs.instance-name"), name);
	for (size_t i = 0; i < node->label_count; i++) {
		struct span label = node->labels[i].name;
		struct span value =
			kubernetes_attribute_value_from_label(label, node->labels[i].value);
		struct span attribute = kubernetes_label_attribute(label);

		if (attribute.data)
			add_attribute(arena, list, attribute, value);
		if (span_is(label, "kubernetes.io/os") && span_is(value, "linux"))
			add_attribute(arena, list, SPAN("ecs.os-family"), SPAN("LINUX"));
	}
	for (size_t i = 0; i < node->label_count; i++)
		add_attribute(arena, list, node->labels[i].name, node->labels[i].value);
	return list;
}

void kubernetes_node_report(struct span name, const struct kubernetes_node *node,
	struct arena *arena, struct runtime_instance *ret_instance)
{
	*ret_instance = (struct runtime_instance){
		.id = name,
		.name = node->host_name.length > 0 ? node->host_name : name,
		.cpu = node->cpu,
		.memory = node->memory,
		.address = node->address,
		.attributes = attributes_of(name, node, arena),
		.away = node->away,
	};
}
