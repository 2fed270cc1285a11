/*
 * Notices: changes that are posted to the configured webhooks, and to no other address.
 *
 * A notice is written in the transaction that makes the change, one for each webhook that subscribes to the event, so
 * there is no change without its notice and no notice without its change. Sending is a controller of its own
 * (notice_sender.h): no rollout waits for it. A notice is deleted when the receiver has answered with 2xx, so it is
 * delivered at least once, and in order for each subject. When NOTICES_MAX notices of a subject wait for a receiver, the
 * oldest are dropped, and the next one carries how many.
 *
 * A notice has a subject: the object that changed, of any type.
 *
 *     notice   WEBHOOK/SUBJECT/CREATED-SEQUENCE   its API text is the body as it is posted
 *
 *     {"webhook", "event", "time", "sequence", "account", …members of the subject…, "dropped", …document…}
 */
#ifndef DELIVERY_NOTICE_H
#define DELIVERY_NOTICE_H

#include "base/json.h"
#include "store/store.h"

#define WEBHOOKS_MAX 32
#define WEBHOOK_NAME_MAX 64
#define WEBHOOK_EVENTS_MAX 32
#define NOTICES_MAX 1000 /* of one subject, for one webhook */

/* ---- webhooks ---- */

struct webhook {
	const char *name; /* letters, digits and '-' */
	const char *url;
	const char *secret; /* of the signature; NULL: none */
	const char *const
		*events; /* "deployment", "health", "deployment.completed", …; none: all */
	size_t event_count;
	const char *const *accounts; /* none: all */
	size_t account_count;
};

struct webhook_set {
	const struct webhook *items;
	size_t count;
};

const struct webhook *webhook_find(const struct webhook_set *set, struct span name);
/* Whether the webhook subscribes to an event of the account. */
bool webhook_wants(const struct webhook *webhook, struct span account, struct span event);

/* ---- subjects ---- */

struct notice_type {
	const char
		*name; /* "environment"; also the member of the body that has the subject's name */
	/* Begins SUBJECT, so that subjects of two types never have the same: "application:". That of environments is
	 * "", and only theirs. */
	const char *prefix;
	const struct store_kind *kind; /* of the subject, with the same key */
};

struct notice_subject {
	const struct notice_type *type;
	struct span key;    /* "ACCOUNT/NAME" */
	int64_t created_ms; /* of two subjects with the same key the later one sorts later */
	int64_t sequence;   /* from 1; counted in the subject, in the same transaction */
};

/* ---- notices ---- */

extern const struct store_kind notice_kind;

struct notice_facts {
	struct span event; /* "deployment.completed" */
	int64_t created_ms;
	int64_t dropped; /* before it, by the limit */
};

static inline const struct notice_facts *notice_facts(const struct store_object *object)
{
	return object->facts;
}

/* A change to report. */
struct notice {
	struct notice_subject subject;
	struct span event; /* "deployment.completed" */
	int64_t now_ms;
	const struct json *details; /* object: further members about the subject; NULL: none */
	const char *member;         /* of `document` in the body: "deployment"; NULL: none */
	const struct json *document;
};

/* Writes a notice for each webhook that subscribes to the event, in the transaction of the change. set may be NULL. */
int notice_add(struct store_transaction *transaction, const struct webhook_set *set,
	const struct notice *notice, struct err *err);
/* "WEBHOOK/SUBJECT" of the key of a notice. */
struct span notice_stream_of(struct span key);

#endif
