/*
 * A CanaryRelease as it was read from the API server: spec, and what earlier passes recorded in its status.
 * Immutable; texts live in the JSON that was read. Shared by the controller, the proxy and the commands.
 *
 * Shares are thousandths of the connections (of the requests, for protocol HTTP) that go to the canary.
 */
#ifndef RELEASE_CANARY_H
#define RELEASE_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"
#include "release/canary_rollout.h"

#define CANARY_SERVICES_MAX 100
#define CANARY_PORTS_MAX 100          /* of one Service */
#define CANARY_PROXIED_PORTS_MAX 1000 /* of all Services together */
#define CANARY_SECRETS_MAX 20         /* with certificates */
#define CANARY_MATCHES_MAX 10         /* of one port */
#define CANARY_SHARE_ALL 1000
#define CANARY_DRAIN_SECONDS 30 /* without spec.drainSeconds */
#define CANARY_FIRST_PROXY_PORT 8080
#define CANARY_FINALIZER "slipway.dev/canary"

/* Of a port of the spec. */
#define CANARY_PROTOCOLS(X)                                                                        \
	X(DEFAULT, "") /* the Service port's own */                                                \
	X(HTTP, "HTTP")                                                                            \
	X(HTTPS, "HTTPS") /* TLS passed through */                                                 \
	X(TCP, "TCP")                                                                              \
	X(UDP, "UDP")

/* The steps of the journal, in their order; each is recorded in status.step before its first effect. */
#define CANARY_STEPS(X)                                                                            \
	X(NONE, "")                                                                                \
	X(C3, "C3") /* create the canary's objects and its -canary Services; manifest recorded */  \
	X(C5, "C5") /* create the -forked Services */                                              \
	X(C6, "C6") /* start the proxy and wait until it listens */                                \
	X(C7, "C7") /* take the Services over */                                                   \
	X(C8, "C8") /* available */                                                                \
	X(A1, "A1") /* point the Services to the canary */                                         \
	X(A2, "A2") /* write the canary's values and names into the Release */                     \
	X(A3, "A3") /* wait for the Release's new version */                                       \
	X(A4, "A4") /* wait until the canary's objects belong to the Release alone */              \
	X(A5, "A5") /* delete the -forked and -canary Services */                                  \
	X(A7, "A7") /* phase Adopted is recorded; remove the proxy */                              \
	X(D1, "D1") /* restore the Services */                                                     \
	X(D2, "D2") /* drain */                                                                    \
	X(D3, "D3") /* delete the canary's objects and -canary Services */                         \
	X(D4, "D4") /* delete the -forked Services */                                              \
	X(D6, "D6") /* phase Deprecated is recorded; remove the proxy */                           \
	X(DONE, "Done")

#define CANARY_ENUM_(name, text) CANARY_##name,
enum canary_protocol { CANARY_PROTOCOLS(CANARY_ENUM_) CANARY_PROTOCOL_COUNT };
#undef CANARY_ENUM_
#define CANARY_ENUM_(name, text) CANARY_STEP_##name,
enum canary_step { CANARY_STEPS(CANARY_ENUM_) CANARY_STEP_COUNT };
#undef CANARY_ENUM_

const char *canary_step_name(enum canary_step step);
static inline bool canary_step_adopts(enum canary_step step)
{
	return step >= CANARY_STEP_A1 && step <= CANARY_STEP_A7;
}
static inline bool canary_step_deprecates(enum canary_step step)
{
	return step >= CANARY_STEP_D1 && step <= CANARY_STEP_D6;
}

enum canary_transition { CANARY_STAYS, CANARY_ADOPTED, CANARY_DEPRECATED };
/* "", "Adopted", "Deprecated". */
const char *canary_transition_name(enum canary_transition transition);

/* Requests with this field go to the canary, whatever its share. In the value "*" stands for any text. */
struct canary_match {
	const char *header, *value;
};

/* A port as the user listed it. */
struct canary_port {
	int64_t port;
	enum canary_protocol protocol;
	uint32_t share;
	struct canary_match *matches; /* HTTP only; one of them is enough */
	size_t match_count;
	bool proxy_v2;        /* a PROXY protocol header has the client's address; not UDP */
	bool per_datagram;    /* UDP: each datagram is divided anew */
	int64_t idle_seconds; /* UDP: of a client without datagrams; 0: the data plane's limit */
	struct span
		secret; /* HTTPS: TLS ends at the proxy, with the certificate of this Secret; "" */
	bool reencrypt; /* with secret: pods speak TLS, too */
};

struct canary_service {
	struct span name;
	struct canary_port *ports;
	size_t port_count;
};

/* A port of a Service that the proxy serves, as status.services records it: all ports of a listed Service, listed
 * or not. */
struct canary_proxied_port {
	int64_t port;
	bool udp;
	struct span name;   /* of the Service's port; "" */
	int64_t proxy_port; /* where the proxy listens */
	const struct json
		*target_port; /* of the Service before it was taken over: a number or a name */
};

struct canary_proxied_service {
	struct span name;
	struct canary_proxied_port *ports;
	size_t port_count;
	const struct json *selector; /* before it was taken over */
	int64_t restored_ms; /* it left spec.services, and was restored then; 0: it is listed */
};

struct canary {
	struct span namespace, name, uid, resource_version;
	int64_t generation;
	bool deleting;
	bool has_finalizer;
	const struct json *finalizers; /* or NULL */

	/* spec */
	struct span release;
	int64_t version;
	struct span path;
	struct span config;
	struct canary_service *services;
	size_t service_count;
	const struct json *resources; /* or NULL */
	int64_t proxy_replicas;
	int64_t drain_seconds;
	enum canary_transition transition;
	struct canary_rollout rollout; /* spec.steps, and status.rollout */

	/* status */
	enum canary_step step;
	int64_t step_ms; /* when it was recorded; 0 */
	enum canary_transition phase;
	struct span manifest;       /* the canary's own objects, YAML */
	const struct json *naming;  /* of the canary; or NULL */
	int64_t planned_generation; /* of the spec that manifest and services are from; 0: none */
	struct canary_proxied_service *proxied;
	size_t proxied_count;
	struct span release_uid;    /* of the Release that it was planned for; "" */
	int64_t adopted_from;       /* the Release's version before A2; 0 */
	const struct json *proxies; /* status.proxies: by replica, its report; or NULL */
	const struct json *status;  /* or NULL */
};

/* object: as the API server sends it. -EINVAL with the field. */
int canary_read(struct arena *arena, const struct json *object, struct canary *ret_canary,
	struct err *err);

/* The Service of the spec, or NULL. */
const struct canary_service *canary_find_service(const struct canary *canary, struct span name);
const struct canary_proxied_service *canary_find_proxied(const struct canary *canary,
	struct span name);
/* The port of the spec for one that the proxy serves, by number and transport; NULL: it is not listed. 53/TCP is not
 * 53/UDP. A port that is listed without protocol is found for
 * either. */
const struct canary_port *canary_find_port(const struct canary_service *service,
	const struct canary_proxied_port *port);
/* No: it is adopted or deprecated, and all traffic goes to one side. */
bool canary_divides(const struct canary *canary);
/* The share of the canary now: as the spec has it; all of it from A1 on, nothing from D1 on. */
uint32_t canary_share(const struct canary *canary, struct span service,
	const struct canary_proxied_port *port);

/* The status.services of these. */
struct json *canary_write_proxied(struct arena *arena,
	const struct canary_proxied_service *services, size_t count);

/* The Secrets of all ports, each once, at most CANARY_SECRETS_MAX. Returns how many. */
size_t canary_secrets(const struct canary *canary, struct span ret_secrets[CANARY_SECRETS_MAX]);

/* "NAME-proxy": the Deployment of the proxy and what belongs to it. */
struct span canary_proxy_name(struct arena *arena, struct span canary);
/* "NAMESPACE.NAME": the value of RELEASE_CREATED_BY_LABEL, at most 63 bytes. */
struct span canary_created_by(struct arena *arena, struct span namespace, struct span name);

#endif
