/* Applications as flows see them, from what is stored: their files are not read. */
#ifndef FLOW_APPLICATION_H
#define FLOW_APPLICATION_H

#include "flow/kinds.h"

/* application: the stored object. Of one that comes from Git the last poll counts, of others the last deployment. Labels
 * only if they are asked for. */
void flow_application_read(const struct store_view *view, const struct store_object *application,
	bool with_labels, struct arena *arena, struct flow_application *ret_application);

/* The commit of an application from Git, for a flow whose head has that message: false if it does not come from Git. The
 * commit may be a tag or a branch, from a trailer, or "" for a branch that was never polled; the controller finds its ID
 * (flow_resolve_commits()). head: of the application; commit: of its deployment. */
bool flow_application_find_commit(const struct store_view *view, struct span application,
	struct span head, struct span commit, struct span message, struct arena *arena,
	struct span *ret_commit, enum flow_commit_source *ret_source);
/* The commit of the branch at the last poll; "" */
struct span flow_application_branch_commit(const struct store_view *view, struct span application,
	struct arena *arena);
/* Whether it is the full ID of a commit. */
bool flow_commit_is_full(struct span commit);

#endif
