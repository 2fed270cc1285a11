/*
 * An EndpointSlice reduced to what the proxy needs: the Service's name, its ports and its addresses.
 */
#ifndef RELEASE_CANARY_SLICE_H
#define RELEASE_CANARY_SLICE_H

#include "kube/object.h"

#define CANARY_SLICE_SERVICE "kubernetes.io/service-name"

struct canary_slice_port {
	struct span name; /* of the Service's port; "" */
	bool udp;
	int64_t port; /* of the pods */
};

struct canary_slice_endpoint {
	struct span address;
	bool ready;
};

struct canary_slice {
	struct span service;
	const struct canary_slice_port *ports;
	size_t port_count;
	const struct canary_slice_endpoint *endpoints;
	size_t endpoint_count;
};

/* A kube_reduce. Slices of Services that are no copy (-forked, -canary) are left out. */
int canary_slice_reduce(void *unused, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

#endif
