/*
 * Names of service discovery as Kubernetes has them: a Service without a selector and without an
 * address of its own, and EndpointSlices with the addresses of its tasks, which the cluster's DNS
 * serves. Pure.
 *
 * A slice holds endpoints of one family of addresses and one port. Endpoints are in the order of
 * their addresses, so that equal lists make equal slices.
 */
#ifndef RUNTIME_KUBERNETES_ENDPOINTS_H
#define RUNTIME_KUBERNETES_ENDPOINTS_H

#include "base/arena.h"
#include "base/json.h"
#include "runtime/runtime.h"

#define KUBERNETES_SLICE_MAX 100 /* endpoints of one slice, as in Kubernetes' own controller */
#define KUBERNETES_SLICE_SERVICE "kubernetes.io/service-name"
#define KUBERNETES_SLICE_MANAGER "endpointslice.kubernetes.io/managed-by"

/* The Service's name for a name of service discovery: the name itself if possible, as the cluster's
 * DNS serves it. */
struct span kubernetes_service_name(struct arena *arena, struct span name);
/* Its name if another Service has that name already. */
struct span kubernetes_service_long_name(struct arena *arena, struct span name, struct span domain);

struct kubernetes_place {
	struct runtime_endpoint endpoint;
	struct span node, pod, uid; /* of its pod, if that is known; "" */
};

struct kubernetes_slices_request {
	struct span host, namespace;
	struct span service;             /* name of the Service */
	struct span uid;                 /* of the Service that owns the slices */
	struct span full_name;           /* "web.shop.local" */
	bool beta;                       /* discovery.k8s.io/v1beta1, before Kubernetes 1.21 */
	struct kubernetes_place *places; /* sorted here */
	size_t place_count;
};

struct json *kubernetes_service_document(struct arena *arena, struct span host,
	struct span namespace, struct span service, struct span full_name);
/* An array of EndpointSlices; their names are SERVICE-0, SERVICE-1, …. */
struct json *kubernetes_slice_documents(struct arena *arena,
	const struct kubernetes_slices_request *request);

#endif
