/* See the header. */
#include "runtime/kubernetes/endpoints.h"

#include <stdlib.h>

#include "base/memory.h"
#include "runtime/kubernetes/names.h"

#define SLICE_NUMBER_MAX 10 /* digits and dash that slices add to the name of their Service */

static bool begins_with_letter(struct span text)
{
	return text.length > 0 && text.data[0] >= 'a' && text.data[0] <= 'z';
}

struct span kubernetes_service_name(struct arena *arena, struct span name)
{
	struct span built =
		kubernetes_label_name(arena, name, KUBERNETES_LABEL_MAX - SLICE_NUMBER_MAX);

	return begins_with_letter(built) ? built : arena_format(arena, "x%.*s", SPAN_ARGS(built));
}

struct span kubernetes_service_long_name(struct arena *arena, struct span name, struct span domain)
{
	/* No name has a dot, so this one always gets a hash. */
	return kubernetes_service_name(arena,
		arena_format(arena, "%.*s.%.*s", SPAN_ARGS(name), SPAN_ARGS(domain)));
}

static struct json *new_metadata(struct arena *arena, struct span host, struct span namespace,
	struct span name, struct span full_name)
{
	struct json *metadata = json_new_object(arena), *annotations = json_new_object(arena);

	json_set_string(arena, annotations, KUBERNETES_HOST, host);
	json_set_string(arena, annotations, KUBERNETES_NAME, full_name);
	json_set_string(arena, metadata, "name", name);
	json_set_string(arena, metadata, "namespace", namespace);
	json_set(arena, metadata, "labels", kubernetes_labels(arena, host));
	json_set(arena, metadata, "annotations", annotations);
	return metadata;
}

struct json *kubernetes_service_document(struct arena *arena, struct span host,
	struct span namespace, struct span service, struct span full_name)
{
	struct json *document = json_new_object(arena), *spec = json_new_object(arena);

	json_set_string(arena, spec, "clusterIP", SPAN("None"));
	json_set(arena, document, "metadata",
		new_metadata(arena, host, namespace, service, full_name));
	json_set(arena, document, "spec", spec);
	return document;
}

/* ---- slices ---- */

static bool is_ipv6(struct span address)
{
	return memchr(address.data, ':', address.length) != NULL;
}

static int compare_places(const void *a, const void *b)
{
	const struct runtime_endpoint *one = &((const struct kubernetes_place *)a)->endpoint;
	const struct runtime_endpoint *other = &((const struct kubernetes_place *)b)->endpoint;

	if (is_ipv6(one->address) != is_ipv6(other->address))
		return is_ipv6(one->address) ? 1 : -1;
	if (one->port != other->port)
		return one->port < other->port ? -1 : 1;
	return span_compare(one->address, other->address);
}

static bool fit_together(const struct kubernetes_place *one, const struct kubernetes_place *other)
{
	return one->endpoint.port == other->endpoint.port &&
	       is_ipv6(one->endpoint.address) == is_ipv6(other->endpoint.address);
}

static struct json *write_target(struct arena *arena,
	const struct kubernetes_slices_request *request, const struct kubernetes_place *place)
{
	struct json *target = json_new_object(arena);

	json_set_string(arena, target, "kind", SPAN("Pod"));
	json_set_string(arena, target, "namespace", request->namespace);
	json_set_string(arena, target, "name", place->pod);
	json_set_string(arena, target, "uid", place->uid);
	return target;
}

static struct json *write_place(struct arena *arena,
	const struct kubernetes_slices_request *request, const struct kubernetes_place *place)
{
	struct json *built = json_new_object(arena), *conditions = json_new_object(arena);
	struct json *addresses = json_new_array(arena), *topology = json_new_object(arena);

	json_append(arena, addresses, json_new_string(arena, place->endpoint.address));
	json_set_bool(arena, conditions, "ready", place->endpoint.ready);
	json_set(arena, built, "addresses", addresses);
	json_set(arena, built, "conditions", conditions);
	if (place->pod.length > 0)
		json_set(arena, built, "targetRef", write_target(arena, request, place));
	if (place->node.length > 0 && request->beta) {
		json_set_string(arena, topology, "kubernetes.io/hostname", place->node);
		json_set(arena, built, "topology", topology);
	} else if (place->node.length > 0) {
		json_set_string(arena, built, "nodeName", place->node);
	}
	return built;
}

static struct json *write_ports(struct arena *arena, uint16_t port)
{
	struct json *list = json_new_array(arena), *entry = json_new_object(arena);

	if (port == 0)
		return list;
	json_set_string(arena, entry, "name", SPAN(""));
	json_set_integer(arena, entry, "port", port);
	json_set_string(arena, entry, "protocol", SPAN("TCP"));
	json_append(arena, list, entry);
	return list;
}

static struct json *write_owner(struct arena *arena,
	const struct kubernetes_slices_request *request)
{
	struct json *owner = json_new_object(arena), *list = json_new_array(arena);

	json_set_string(arena, owner, "apiVersion", SPAN("v1"));
	json_set_string(arena, owner, "kind", SPAN("Service"));
	json_set_string(arena, owner, "name", request->service);
	json_set_string(arena, owner, "uid", request->uid);
	json_append(arena, list, owner);
	return list;
}

static struct json *write_slice(struct arena *arena,
	const struct kubernetes_slices_request *request, size_t number,
	const struct kubernetes_place *places, size_t count)
{
	struct json *slice = json_new_object(arena), *endpoints = json_new_array(arena);
	struct json *metadata = new_metadata(arena, request->host, request->namespace,
		arena_format(arena, "%.*s-%zu", SPAN_ARGS(request->service), number),
		request->full_name);
	struct json *labels = json_copy_object(arena, json_get(metadata, "labels"));

	json_set_string(arena, labels, KUBERNETES_SLICE_SERVICE, request->service);
	json_set_string(arena, labels, KUBERNETES_SLICE_MANAGER, SPAN(KUBERNETES_MANAGER));
	json_set(arena, metadata, "labels", labels);
	json_set(arena, metadata, "ownerReferences", write_owner(arena, request));
	for (size_t i = 0; i < count; i++)
		json_append(arena, endpoints, write_place(arena, request, &places[i]));
	json_set(arena, slice, "metadata", metadata);
	json_set_string(arena, slice, "addressType",
		is_ipv6(places[0].endpoint.address) ? SPAN("IPv6") : SPAN("IPv4"));
	json_set(arena, slice, "endpoints", endpoints);
	json_set(arena, slice, "ports", write_ports(arena, places[0].endpoint.port));
	return slice;
}

struct json *kubernetes_slice_documents(struct arena *arena,
	const struct kubernetes_slices_request *request)
{
	struct json *slices = json_new_array(arena);
	struct kubernetes_place *places = request->places;
	size_t count = request->place_count, first = 0;

	if (count > 1)
		qsort(places, count, sizeof(*places), compare_places);
	while (first < count) {
		size_t next = first + 1;

		while (next < count && next - first < KUBERNETES_SLICE_MAX &&
			fit_together(&places[first], &places[next]))
			next++;
		json_append(arena, slices,
			write_slice(arena, request, json_count(slices), &places[first],
				next - first));
		first = next;
	}
	return slices;
}
