/*
 * Health of targets, checked by slipway itself and reported in the terms of Elastic Load Balancing.
 *
 * A target begins as initial. The first check that passes makes it healthy; unhealthy_threshold
 * failures in a row make it unhealthy, and healthy_threshold successes in a row healthy again. An
 * initial target is checked more often, so that it is in service as soon as possible, but a failure
 * counts only once per interval. Checks are TCP connections, or GET requests over HTTP or HTTPS
 * whose status must match; the certificate is not verified. Redirects are responses and not
 * followed.
 *
 * One thread runs any number of checks at once; a target that does not answer delays no other.
 */
#ifndef PROXY_PROBE_H
#define PROXY_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "control/runner.h"
#include "proxy/proxy.h"

#define PROBE_TARGETS_MAX 32768
#define PROBE_AT_ONCE_MAX 512 /* running checks; others wait for their turn */
#define PROBE_PATH_MAX 1024
#define PROBE_HOST_MAX 255
#define PROBE_INTERVAL_MIN_MS 10
#define PROBE_INTERVAL_MAX_MS 300000
#define PROBE_TIMEOUT_MAX_MS 120000
#define PROBE_THRESHOLD_MAX 10
#define PROBE_HEAD_MAX 1024 /* bytes of a response that are read */

/* name, reason code, description. The prober itself sets only the first four; the callers that know
 * about registration and use set the others. */
#define PROBE_REASONS(X)                                                                           \
	X(NONE, "", "")                                                                            \
	X(INITIAL, "Elb.InitialHealthChecking", "Initial health checks in progress")               \
	X(TIMEOUT, "Target.Timeout", "Request timed out")                                          \
	X(MISMATCH, "Target.ResponseCodeMismatch", "Health checks failed with these codes: [%d]")  \
	X(FAILED, "Target.FailedHealthChecks", "Health checks failed")                             \
	X(REGISTERING, "Elb.RegistrationInProgress", "Target registration is in progress")         \
	X(NOT_REGISTERED, "Target.NotRegistered", "Target is not registered to the target group")  \
	X(NOT_IN_USE, "Target.NotInUse",                                                           \
		"Target group is not configured to receive traffic from the load balancer")        \
	X(DEREGISTERING, "Target.DeregistrationInProgress",                                        \
		"Target deregistration is in progress")                                            \
	X(INVALID, "Target.InvalidState", "Target is in the stopped state")                        \
	X(DISABLED, "Target.HealthCheckDisabled", "Health checks are not enabled for this target") \
	X(INTERNAL, "Elb.InternalError", "Health checks failed due to an internal error")

enum probe_state { PROBE_INITIAL, PROBE_HEALTHY, PROBE_UNHEALTHY, PROBE_STATE_COUNT };
#define PROBE_ENUM_(name, ...) PROBE_REASON_##name,
enum probe_reason { PROBE_REASONS(PROBE_ENUM_) PROBE_REASON_COUNT };
#undef PROBE_ENUM_

enum probe_protocol { PROBE_TCP, PROBE_HTTP, PROBE_HTTPS };

const char *probe_reason_code(enum probe_reason reason);

/* The status codes that pass: bit n of codes stands for code n. */
struct probe_matcher {
	uint64_t codes[10];
};

/* "200", "200,202", "200-299" and mixtures, codes from 200 to 599: -EINVAL otherwise. */
int probe_matcher_parse(struct span text, struct probe_matcher *ret_matcher, struct err *err);
bool probe_matcher_has(const struct probe_matcher *matcher, int code);

struct probe_settings {
	enum probe_protocol protocol;
	const char *path; /* HTTP; NULL: "/" */
	const char *host; /* the Host header; NULL: the address */
	struct probe_matcher matcher;
	uint32_t interval_ms; /* from the start of one check to that of the next */
	uint32_t timeout_ms;  /* of one check as a whole */
	uint32_t healthy_threshold, unhealthy_threshold;
};

/* ---- one target's health, without any clock or network ---- */

struct probe_outcome {
	enum probe_reason reason; /* NONE: it passed */
	int code;                 /* with MISMATCH: the status */
};

struct probe_health {
	enum probe_state state;
	enum probe_reason reason; /* the reason it is not healthy */
	int code;
	uint32_t passed, failed; /* in a row */
};

#define PROBE_DESCRIPTION_SIZE 128
/* "" for none */
void probe_describe(enum probe_reason reason, int code, char out[PROBE_DESCRIPTION_SIZE]);
void probe_health_init(struct probe_health *health);
/* True if state, reason or code have changed. */
bool probe_health_note(struct probe_health *health, const struct probe_settings *settings,
	const struct probe_outcome *outcome);

/* The status of a response that begins with text: 0 more is needed, -1 this is not HTTP. */
int probe_status_of(struct span text);

/* ---- the prober ---- */

struct probe_target {
	const char *key; /* unique; the key of its results */
	union proxy_address address;
	struct probe_settings settings;
};

struct prober;

/* A target's health has changed, or it is new (initial). On the prober's thread; must not call the prober
 * but for prober_get(). */
typedef void (*prober_notify)(void *context, const char *key, const struct probe_health *health);

/* The runner must be one of threads. */
int prober_new(struct runner *runner, prober_notify report, void *context,
	struct prober **ret_prober, struct err *err);
void prober_free(struct prober *prober); /* NULL is fine */
/* The whole set. Targets with the same key, address and settings continue; others start anew.
 * -EINVAL, -E2BIG, -EEXIST with the key in the message: nothing has changed. */
int prober_set(struct prober *prober, const struct probe_target *targets, size_t count,
	struct err *err);
/* False: the target is unknown. */
bool prober_get(struct prober *prober, const char *key, struct probe_health *ret_health);

#endif
