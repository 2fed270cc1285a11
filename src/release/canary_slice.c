/* See canary_slice.h. */
#include "release/canary_slice.h"

#include "release/naming.h"

static struct span keep_text(struct kube_keep *keep, struct span text)
{
	return kube_keep_text(keep, text.data ? text : SPAN(""));
}

static void keep_ports(struct kube_keep *keep, const struct json *ports, struct canary_slice *slice)
{
	struct canary_slice_port *kept =
		kube_keep_array(keep, json_array_count(ports), sizeof(*kept));

	JSON_EACH_ITEM (ports, port) {
		kept[slice->port_count++] = (struct canary_slice_port){
			.name = keep_text(keep, json_get_text(port, "name")),
			.udp = span_is(json_get_text(port, "protocol"), "UDP"),
			.port = json_get_integer(port, "port", 0),
		};
	}
	slice->ports = kept;
}

/* An endpoint has the addresses of one pod, of which the first is enough. */
static void keep_endpoints(struct kube_keep *keep, const struct json *endpoints,
	struct canary_slice *slice)
{
	struct canary_slice_endpoint *kept =
		kube_keep_array(keep, json_array_count(endpoints), sizeof(*kept));

	JSON_EACH_ITEM (endpoints, endpoint) {
		const struct json *first = json_item(json_get(endpoint, "addresses"), 0);

		/* Without the condition it is ready. */
		kept[slice->endpoint_count++] = (struct canary_slice_endpoint){
			.address = keep_text(keep, json_text(first)),
			.ready = json_get_bool(json_get(endpoint, "conditions"), "ready", true),
		};
	}
	slice->endpoints = kept;
}

int canary_slice_reduce(void *unused, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct canary_slice *slice = kube_keep_memory(keep, sizeof(*slice));
	struct span service =
		json_get_text(json_path(object, "metadata.labels"), CANARY_SLICE_SERVICE);

	(void)unused;
	(void)err;
	*slice = (struct canary_slice){.service = keep_text(keep, service)};
	*ret_data = slice;
	if (!span_ends_with(slice->service, SPAN(NAMING_FORKED)) &&
		!span_ends_with(slice->service, SPAN(NAMING_CANARY)))
		return KUBE_REDUCE_IGNORE;
	keep_ports(keep, json_get(object, "ports"), slice);
	keep_endpoints(keep, json_get(object, "endpoints"), slice);
	return 0;
}
