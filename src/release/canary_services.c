/* See canary_services.h. */
#include "release/canary_services.h"

#include "base/memory.h"
#include "release/canary_objects.h"
#include "release/release_names.h"

/* The wanted target of a port of a Service. */
struct targets {
	const struct json *selector;
	const struct canary_proxied_service *proxied; /* of its recorded ports; or NULL */
	bool to_proxy;
	const struct json *other; /* else of this Service's ports */
};

static bool is_udp(const struct json *port)
{
	return span_is(json_get_text(port, "protocol"), "UDP");
}

/* NULL: it stays. */
static const struct json *find_target(struct arena *arena, const struct targets *targets,
	const struct json *port)
{
	int64_t number = json_get_integer(port, "port", 0);

	for (size_t i = 0; targets->proxied && i < targets->proxied->port_count; i++) {
		const struct canary_proxied_port *each = &targets->proxied->ports[i];

		if (each->port == number && each->udp == is_udp(port))
			return targets->to_proxy ? json_new_integer(arena, each->proxy_port)
						 : each->target_port;
	}
	JSON_EACH_ITEM (json_path(targets->other, "spec.ports"), each) {
		const struct json *target = json_get(each, "targetPort");

		if (json_get_integer(each, "port", 0) == number && is_udp(each) == is_udp(port))
			return json_is_absent(target) ? json_new_integer(arena, number) : target;
	}
	return NULL;
}

static struct json *change_ports(struct arena *arena, const struct targets *targets,
	const struct json *ports)
{
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (ports, port) {
		struct json *copy = json_copy_object(arena, port);

		json_set(arena, copy, "targetPort", find_target(arena, targets, port));
		json_append(arena, list, copy);
	}
	return list;
}

static struct json *change_metadata(struct arena *arena, const struct json *metadata,
	struct span holder)
{
	struct json *changed = json_copy_object(arena, metadata);
	const struct json *annotations = json_get(metadata, "annotations");
	struct json *copy = json_is(annotations, JSON_OBJECT) ? json_copy_object(arena, annotations)
							      : json_new_object(arena);

	json_unset(copy, RELEASE_TAKEN_OVER_ANNOTATION);
	if (holder.length > 0)
		json_set_string(arena, copy, RELEASE_TAKEN_OVER_ANNOTATION, holder);
	json_unset(changed, "annotations");
	if (json_count(copy) > 0)
		json_set(arena, changed, "annotations", copy);
	return changed;
}

static const struct json *change(struct arena *arena, const struct targets *targets,
	struct span holder, const struct json *live)
{
	const struct json *spec = json_get(live, "spec");
	struct json *service = json_copy_object(arena, live);
	struct json *changed = json_copy_object(arena, spec);

	json_set(arena, changed, "selector", targets->selector);
	json_set(arena, changed, "ports", change_ports(arena, targets, json_get(spec, "ports")));
	json_set(arena, service, "spec", changed);
	json_set(arena, service, "metadata",
		change_metadata(arena, json_get(live, "metadata"), holder));
	return json_equal(service, live) ? NULL : service;
}

const struct json *canary_service_to_proxy(struct arena *arena, const struct canary *canary,
	const struct canary_proxied_service *proxied, const struct json *live)
{
	const struct targets targets = {.selector = canary_proxy_selector(arena, canary),
		.proxied = proxied,
		.to_proxy = true};

	return change(arena, &targets, canary->name, live);
}

const struct json *canary_service_like(struct arena *arena, const struct canary *canary,
	const struct json *other, const struct json *live, bool keep)
{
	const struct targets targets = {
		.selector = json_path(other, "spec.selector"), .other = other};

	return change(arena, &targets, keep ? canary->name : SPAN(""), live);
}

const struct json *canary_service_as_recorded(struct arena *arena,
	const struct canary_proxied_service *proxied, const struct json *live)
{
	const struct targets targets = {.selector = proxied->selector, .proxied = proxied};

	return change(arena, &targets, SPAN(""), live);
}

struct span canary_service_holder(const struct json *live)
{
	struct span name = json_get_text(json_path(live, "metadata.annotations"),
		RELEASE_TAKEN_OVER_ANNOTATION);

	return name.data ? name : SPAN("");
}
