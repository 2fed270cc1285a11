/*
 * Names of service discovery as Kubernetes has them: a Service without a selector and without an address of
 * its own, and EndpointSlices that say where its tasks are, from which the cluster's DNS answers. Pure.
 *
 * A slice holds endpoints of one family of addresses and one port. Endpoints stand in the order of their
 * addresses, so that the same ones make the same slices.
 */
#ifndef RUNTIME_KUBERNETES_ENDPOINTS_H
#define RUNTIME_KUBERNETES_ENDPOINTS_H

#include "base/arena.h"
#include "base/json.h"
#include "runtime/runtime.h"

#define KUBERNETES_SLICE_MAX 100 /* endpoints of one; Kubernetes's own controller has as many */
#define KUBERNETES_SLICE_SERVICE "kubernetes.io/service-name"
#define KUBERNETES_SLICE_MANAGER "endpointslice.kubernetes.io/managed-by"

/* What a name is called as a Service: itself if it can be, as DNS of Kubernetes finds it. */
struct span kubernetes_service_name(struct arena *arena, struct span name);
/* What it is called if another one has that name already. */
struct span kubernetes_service_long_name(struct arena *arena, struct span name, struct span domain);

struct kubernetes_place {
	struct runtime_endpoint endpoint;
	struct span node, pod, uid; /* of its pod, if that is known; "" */
};

struct kubernetes_slices_request {
	struct span host, namespace;
	struct span service;             /* what the Service is called */
	struct span uid;                 /* of the Service, whose they are */
	struct span full_name;           /* "web.shop.local" */
	bool beta;                       /* discovery.k8s.io/v1beta1, before Kubernetes 1.21 */
	struct kubernetes_place *places; /* are sorted */
	size_t place_count;
};

struct json *kubernetes_service_document(struct arena *arena, struct span host,
	struct span namespace, struct span service, struct span full_name);
/* An array of EndpointSlices; they are called SERVICE-0, SERVICE-1, …. */
struct json *kubernetes_slice_documents(struct arena *arena,
	const struct kubernetes_slices_request *request);

#endif
