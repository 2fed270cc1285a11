/*
 * One poll of a repository: what its branch has now, which applications are there, and which of them changed since the
 * commit up to which they were seen. It calls git, so it runs as a job, and decides nothing that needs the store.
 */
#ifndef PIPELINE_POLL_H
#define PIPELINE_POLL_H

#include "pipeline/origin.h"
#include "pipeline/repositories.h"

#define POLL_BYTES_MAX ((size_t)16 * 1024 * 1024) /* of files of one poll; the next one continues */
#define POLL_CHANGED_MAX 1000                     /* paths that a deployment keeps, for skipOn */

/* An application that is known. Members as of origin_facts. */
struct poll_place {
	struct span name, folder, file, seen;
	bool is_found;
	bool is_valid; /* when it was seen */
	/* Of a valid one: which paths outside of its folder concern it, as the poll found them. NULL: not known. */
	const struct json *watched;
};

struct poll_request {
	struct span url, branch;
	bool follows;
	struct span path;
	struct span commit; /* of the last poll */
	const struct poll_place *places;
	size_t place_count;
	const struct span *used; /* commits of deployments, which stay; NULL: not checked */
	size_t used_count;
};

/*
 * {"error": "…"} or {"commit", "message", "more", "applications": […]}, of which each is as seen at the commit:
 *
 *   name, folder, file, found    whether it was known by this name: "known"
 *   unchanged                    nothing that concerns it has changed; the other members are absent
 *   state, problem, kind, description, labels
 *   watched                      {"paths": patterns, "files": […]}: for poll_place
 *   deploy, because, replace     whether a deployment starts, why, and whether it replaces those that wait
 *   files, applicationFile       if it starts
 *   changed                      paths, unless there are too many
 *
 * more: applications were left out; the next poll has them.
 */
const struct json *poll_run(struct repositories *repositories, const struct poll_request *request,
	int cancel, struct arena *arena);

#endif
