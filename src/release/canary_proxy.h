/*
 * The proxy of one CanaryRelease: the program in the proxy's pod. It follows its CanaryRelease and the EndpointSlices
 * of the -forked and -canary Services, and drives the data plane (proxy/proxy.h) as canary_plane.h computes it. It
 * changes nothing in the cluster but its own report in the CanaryRelease's status (status.proxies.REPLICA): all steps
 * of a canary are the controller's.
 *
 * It answers GET /readyz on the health port: 200 once all listeners of the recorded Services are open with their
 * weights. GET /metrics has what it carried, for Prometheus. It continues with its last state while the API server is
 * away.
 */
#ifndef RELEASE_CANARY_PROXY_H
#define RELEASE_CANARY_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CANARY_PROXY_HEALTH_PORT 7070
#define CANARY_CERTIFICATES "/etc/slipway/certificates"
#define CANARY_PROXY_WORKERS_MAX 8

struct canary_proxy_config {
	const char *kubeconfig; /* NULL: as kubectl finds it, or the pod's own account */
	const char *namespace, *name;
	const char *replica;  /* a name of this process: its pod's */
	const char *address;  /* to listen on; NULL: 0.0.0.0 */
	unsigned health_port; /* 0: CANARY_PROXY_HEALTH_PORT */
	unsigned workers;     /* of the L4 engine; 0: 1 */
	const char *
		haproxy_folder; /* for HAProxy's files; NULL: protocol HTTP is split per connection */
	const char *certificates; /* folder of the mounted Secrets; NULL: CANARY_CERTIFICATES */
	/* For the log; from any thread. */
	void (*note)(void *context, bool failure, const char *message);
	void *context;
};

struct canary_proxy;

/* Starts and returns; an API server that is away is no failure. */
int canary_proxy_start(const struct canary_proxy_config *config, struct canary_proxy **ret_proxy,
	struct err *err);
/* No longer ready; returns when no connection is open and nothing new comes, at most after drainSeconds. */
void canary_proxy_drain(struct canary_proxy *proxy);
/* Ends its threads and processes. NULL is fine. */
void canary_proxy_stop(struct canary_proxy *proxy);

#endif
