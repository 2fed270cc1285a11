/*
 * Calls to a Kubernetes API server: JSON over the HTTP client, from any number of threads at once. Each
 * call blocks only its caller; it must not be made in simulation.
 *
 * Objects are the API's JSON (base/json.h), in the caller's arena. A body without "apiVersion" and "kind"
 * gets those of the kind in the version that the server offers, so that most callers need not know it.
 *
 * Refusals. An API server refuses with a Status object; it becomes a code and a sentence:
 *
 *     -EINVAL      400, 422   the object is wrong                        "Deployment 'web': spec.replicas: …"
 *     -EACCES      401, 403   authentication or authorization failed
 *     -ENOENT      404        no such object, or no such kind of object
 *     -EOPNOTSUPP  405, 406, 415
 *     -EEXIST      409        AlreadyExists
 *     -EAGAIN      409        Conflict: it changed meanwhile, or a precondition does not hold; read again
 *     -ESTALE      410        the resourceVersion or the continue token is too old; list again
 *     -EFBIG       413        the request is too large
 *     -EBUSY       429        too many requests (after our own patience), or a disruption budget forbids
 *     -ETIMEDOUT   504        the server's time was over
 *     -EIO         500, 502, 503 and whatever else
 *
 * and a call that was not answered has the codes of http_client.h: -ECONNREFUSED, -EHOSTUNREACH,
 * -ECONNRESET, -ETIMEDOUT, -ECANCELED, -EPROTO, -EACCES (TLS), -EFBIG, -E2BIG. After those of a call that
 * changes something, whether it did is not known: look. A caller that needs more of the Status gets it
 * through kube_options.failure.
 *
 * Patience. All calls together are held to `qps` with `burst` at once. A 429, or a 503 that says when to
 * come back, is tried again by the client as the server says (Retry-After), while the call's time lasts;
 * a 401 once, with credentials fetched anew. Nothing else is repeated. A create without a name
 * (generateName) goes over a connection of its own, so that it is not sent twice.
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/span.h"
#include "control/runner.h"
#include "io/http_client.h"
#include "kube/kind.h"
#include "kube/kubeconfig.h"

#define KUBE_QPS 50
#define KUBE_BURST 100
#define KUBE_TIMEOUT_MS INT64_C(30000)
#define KUBE_ANSWER_MAX ((size_t)16 * 1024 * 1024)
#define KUBE_PATH_MAX 2048 /* with the query */
#define KUBE_RETRY_AFTER_MAX_MS INT64_C(60000)
#define KUBE_PAGE_SIZE 500
#define KUBE_LIST_MAX ((size_t)64 * 1024 * 1024) /* bytes of all pages of kube_list() */
/* A miss repeats discovery, but not more often than this. */
#define KUBE_DISCOVERY_AGAIN_MS INT64_C(10000)

struct kube_client;

struct kube_client_config {
	struct http_client *http; /* outlives the client; may be shared with others */
	struct runner *runner;    /* its clock and chance; waiting ends when it is stopped */
	const struct kube_access *access;
	const char *field_manager; /* NULL: "slipway" */
	/* 0: the defaults above. */
	double qps;
	unsigned burst;
	int64_t timeout_ms; /* of one call, waiting included */
	size_t answer_max;
};

/* Does not connect. The access is copied. */
int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
	struct err *err);
/* No call may be running (kube_client_cancel() ends them); NULL is fine. */
void kube_client_free(struct kube_client *client);

/* Every call without a cancellation of its own, running or to come, ends with -ECANCELED. Does not wait. */
void kube_client_cancel(struct kube_client *client);

struct span kube_client_default_namespace(const struct kube_client *client);

/* ---- discovery ---- */

struct kube_version {
	int major, minor; /* 1, 20 */
	struct span git;  /* "v1.20.2" */
};
/* Asked each time; also says whether the server answers at all. */
int kube_server_version(struct kube_client *client, struct arena *arena,
	struct kube_version *ret_version, struct err *err);

#define KUBE_WORD_SIZE 64 /* of versions and kinds, with the NUL */
/* A kind as the server offers it. */
struct kube_resource {
	const struct kube_kind *kind;
	char version[KUBE_WORD_SIZE];                     /* "v1beta1" */
	char api_version[KUBE_NAME_MAX + KUBE_WORD_SIZE]; /* "discovery.k8s.io/v1beta1", "v1" */
	/* "/apis/discovery.k8s.io/v1beta1", "/api/v1" */
	char path[KUBE_NAME_MAX + KUBE_WORD_SIZE + 8];
	bool namespaced; /* as the server says it */
};
/* The first of the kind's versions that the server has and has this kind in. Remembered; -ENOENT if there
 * is none, with a sentence that says which versions are known and which are offered. */
int kube_resource_find(struct kube_client *client, const struct kube_kind *kind,
	struct kube_resource *ret_resource, struct err *err);
/* The kind of objects that have this apiVersion ("apps/v1", "v1") and kind ("Deployment"), as the server
 * offers it: for objects that are known at run time only. It lives as long as the client. -ENOENT: the server
 * has no such kind now (asked each time); -EINVAL: these cannot be an apiVersion and a kind. */
int kube_kind_find(struct kube_client *client, struct span api_version, struct span kind,
	const struct kube_kind **ret_kind, struct err *err);
/* Forgets what the server offers, after it was upgraded, or a resource definition made. */
void kube_discovery_forget(struct kube_client *client);

/* ---- objects ---- */

/* The object or collection that a call addresses. */
struct kube_target {
	const struct kube_kind *kind;
	struct span namespace;   /* SPAN_NONE: of all namespaces (lists), or a kind that has none */
	struct span name;        /* SPAN_NONE for lists and creates */
	const char *subresource; /* "status", "scale", …; or NULL */
};

/* More about a refusal than its code. */
struct kube_failure {
	int status;      /* of HTTP; 0: there was no answer */
	char reason[64]; /* "AlreadyExists", "Conflict", "Invalid", "Expired", …; "" */
	char cause[64];  /* of its details: "NamespaceTerminating", "DisruptionBudget", …; "" */
	int64_t retry_after_ms; /* 0: not said */
};

/* How a call is made; NULL in its place: all zero. */
struct kube_options {
	struct kube_failure *failure;      /* filled when the call fails; or NULL */
	struct http_client_cancel *cancel; /* with http_client_cancel() of the client's http */
	const char *field_manager;         /* NULL: the client's */
	int64_t timeout_ms;                /* 0: the client's */
	bool dry_run;                      /* dryRun=All: checked, not done */
	bool impatient; /* a 429 or 503 is answered at once instead of tried again */
};

int kube_get(struct kube_client *client, const struct kube_target *target,
	const struct kube_options *options, struct arena *arena, struct json **ret_object,
	struct err *err);

/* The target's name is not used; the object has it in its metadata. */
int kube_create(struct kube_client *client, const struct kube_target *target,
	const struct json *object, const struct kube_options *options, struct arena *arena,
	struct json **ret_object, struct err *err);

/* Replaces; with metadata.resourceVersion in the object only if it is still that one (-EAGAIN). */
int kube_update(struct kube_client *client, const struct kube_target *target,
	const struct json *object, const struct kube_options *options, struct arena *arena,
	struct json **ret_object, struct err *err);

enum kube_patch_type {
	KUBE_PATCH_MERGE,     /* RFC 7386: null removes; arrays are replaced whole */
	KUBE_PATCH_JSON,      /* RFC 6902: an array of operations, "test" among them */
	KUBE_PATCH_STRATEGIC, /* Kubernetes's own; not for custom resources */
};
int kube_patch(struct kube_client *client, const struct kube_target *target,
	enum kube_patch_type type, const struct json *patch, const struct kube_options *options,
	struct arena *arena, struct json **ret_object, struct err *err);

/* Server-side apply: the object has all desired fields and no others; it is created if absent.
 * Fields that this manager owns and that are no longer in it are removed. Without force, a field
 * that another manager owns with another value is -EAGAIN. */
int kube_apply(struct kube_client *client, const struct kube_target *target,
	const struct json *object, bool force, const struct kube_options *options,
	struct arena *arena, struct json **ret_object, struct err *err);

enum kube_propagation {
	KUBE_PROPAGATION_DEFAULT, /* as the kind has it */
	KUBE_PROPAGATION_ORPHAN,
	KUBE_PROPAGATION_BACKGROUND,
	KUBE_PROPAGATION_FOREGROUND,
};
struct kube_deletion {
	enum kube_propagation propagation;
	int64_t grace_period_s; /* with has_grace_period; 0 is "now", without asking the node */
	bool has_grace_period;
	struct span uid;              /* only if it still is this object (-EAGAIN); or SPAN_NONE */
	struct span resource_version; /* likewise */
};
/* deletion NULL: as the kind has it. The answer (the object on its way out, or a Status) is dropped.
 * -ENOENT if the object does not exist. */
int kube_delete(struct kube_client *client, const struct kube_target *target,
	const struct kube_deletion *deletion, const struct kube_options *options, struct err *err);

/* Sets spec.replicas through the scale subresource. */
int kube_scale(struct kube_client *client, const struct kube_target *target, int64_t replicas,
	const struct kube_options *options, struct err *err);

/* ---- lists ---- */

struct kube_selection {
	const char *labels; /* "app=web,tier in (a,b)"; or NULL */
	const char *fields; /* "spec.nodeName=a"; or NULL */
};

/* A consistent list, read in pages of KUBE_PAGE_SIZE. An expired continue token (410) restarts it.
 * Returns all of it or an error. To follow changes, use an informer. *ret_items is an array of
 * objects without apiVersion and kind, as in the API. resource_version: of the list; or NULL. */
int kube_list(struct kube_client *client, const struct kube_target *target,
	const struct kube_selection *selection, const struct kube_options *options,
	struct arena *arena, struct json **ret_items, struct span *ret_resource_version,
	struct err *err);

/* ---- anything else ---- */

/* A request by its path ("/readyz", "/apis/metrics.k8s.io/…", with the query). The answer is parsed if it
 * is JSON, else it is a string. */
int kube_raw(struct kube_client *client, const char *method, const char *path,
	const struct json *body, const struct kube_options *options, struct arena *arena,
	struct json **ret_answer, struct err *err);

struct kube_client_statistics {
	uint64_t requests; /* sent, each attempt */
	uint64_t failures; /* not answered, or refused, each attempt */
	uint64_t retries;
	uint64_t throttled; /* 429s */
	uint64_t waited_us; /* for our own rate limit */
	uint64_t refreshes; /* credentials fetched anew */
};
void kube_client_statistics(struct kube_client *client,
	struct kube_client_statistics *ret_statistics);

#endif
