/*
 * The stored objects of applications from Git. Those that deploy from a folder only have none.
 *
 *   repository   ACCOUNT/ID      a branch that is polled; with a folder of which all application files are followed
 *   origin       ACCOUNT/NAME    where the files of an application are, and what was found there
 *
 * ID is made of URL, branch and followed folder, so that adding the same again is not an error. Texts that may have quotes
 * (problems, labels) are in the API text.
 */
#ifndef PIPELINE_ORIGIN_H
#define PIPELINE_ORIGIN_H

#include "pipeline/kinds.h"

#define REPOSITORIES_MAX 1000 /* of an account */
#define REPOSITORY_ID_LENGTH 16
#define REPOSITORY_PROBLEMS_MAX 100 /* that are kept */

extern const struct store_kind repository_kind;
extern const struct store_kind origin_kind;

/* ---- repositories ---- */

struct repository_facts {
	struct span account, id;
	struct span url, branch;
	bool follows;     /* all application files below the folder are applications */
	struct span path; /* that folder; "": the whole repository */
	struct span region, target, role; /* of the applications that are found */
	struct span created_by;
	struct span commit; /* of the last poll that succeeded; "" */
	bool has_failed;    /* the last poll */
	int64_t created_ms, polled_ms,
		requested_ms; /* polled_ms: the last one, also if it failed */
};

static inline const struct repository_facts *repository_facts(const struct store_object *object)
{
	return object->facts;
}

struct span repository_id(struct arena *arena, struct span url, struct span branch, bool follows,
	struct span path);
struct span repository_key(struct arena *arena, struct span account, struct span id);
/* api: {"error", "problems": [{"file", "message"}]}. */
int repository_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct repository_facts *facts, uint64_t expected, struct err *err);

/* ---- origins ---- */

#define ORIGIN_STATES(X)                                                                           \
	X(UNKNOWN) /* not read yet */                                                              \
	X(VALID)                                                                                   \
	X(INVALID_CONFIG) /* a file has an error */                                                \
	X(UNDEPLOYABLE)   /* its files are right, but slipway does not have what they need */      \
	X(MISSING)        /* the application file does not exist */

enum origin_state {
#define X(name) ORIGIN_##name,
	ORIGIN_STATES(X)
#undef X
};

const char *origin_state_name(enum origin_state state);
/* -1: there is none of that name. */
int origin_state_find(struct span name);

struct origin_facts {
	struct span account, name;
	struct span repository; /* ID */
	struct span folder,
		file; /* of the application file; file "": the one that the folder has */
	struct span region, target, role;
	bool is_found;    /* because the repository is followed; false: added by name */
	struct span seen; /* the commit up to which triggers were checked; "" */
	enum origin_state state;
};

enum origin_index {
	ORIGIN_BY_REPOSITORY, /* "ACCOUNT/ID/NAME" */
	ORIGIN_INDEX_COUNT
};

static inline const struct origin_facts *origin_facts(const struct store_object *object)
{
	return object->facts;
}

/* api: {"kind", "description", "labels", "offFlow", "onChain", "problem"}. */
int origin_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct origin_facts *facts, uint64_t expected, struct err *err);
/* NULL: the application is not from Git. *ret_repository: NULL if it was deleted. */
const struct store_object *origin_find(const struct store_view *view, struct span application,
	struct arena *arena, const struct store_object **ret_repository);

#endif
