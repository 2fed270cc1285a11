/*
 * Lists and watches object by object, as they come. Each object is parsed in an arena that is emptied for
 * the next one. Inside kube/ only.
 */
#ifndef KUBE_LIST_H
#define KUBE_LIST_H

#include "kube/client.h"
#include "kube/pieces.h"

/* Memory limit for parsing one object; a long text of many small values needs most. */
#define KUBE_PARSE_MAX ((size_t)256 * 1024 * 1024)
#define KUBE_RESOURCE_VERSION_SIZE 64
#define KUBE_LIST_RESTARTS_MAX 3

/* The target of a list or watch. */
struct kube_following {
	struct kube_client *client;
	const struct kube_kind *kind;
	struct span namespace;
	const struct kube_selection *selection;
	const struct kube_options *options;
	size_t object_max;
	unsigned page_size;
	int64_t idle_ms;
	/* So many bytes were received; may be NULL. */
	void (*heard)(void *context, size_t bytes);
	/* A watch is open; may be NULL. */
	void (*opened)(void *context);
	/* One object or event; returns 0 to go on, or a negative code with err filled. */
	int (*object)(void *context, const struct json *object, struct err *err);
	/* A list begins, or restarts after an expired page: earlier objects are void. */
	void (*begin)(void *context);
	void *context;
};

/* Everything, page by page. 0 means: all of it was given since the last `begin`. */
int kube_following_list(struct kube_following *following,
	char ret_resource_version[KUBE_RESOURCE_VERSION_SIZE], struct err *err);

/* Gives events ({"type", "object"}) from the version on, until the server ends it (0), or it fails. seconds:
 * how long the server is asked to go on. */
int kube_following_watch(struct kube_following *following, const char *resource_version,
	unsigned seconds, struct err *err);

#endif
