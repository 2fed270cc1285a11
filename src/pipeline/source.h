/* The source of a deployment: its files, and the service as it was before, which a rollback returns to. */
#ifndef PIPELINE_SOURCE_H
#define PIPELINE_SOURCE_H

#include "base/json.h"
#include "pipeline/kinds.h"

struct deployment_source {
	const struct json *files; /* texts by path */
	struct span application_file;
	const struct json *before;  /* see observed.h; NULL: not planned yet */
	const struct json *changed; /* paths, for skipOn; NULL: not known */
	/* Of applications in the graph of the flow, by name: {"files", "applicationFile"}. NULL: none. */
	const struct json *flow_files;
};

/* -ENOENT: the deployment has none. */
int deployment_source_read(const struct store_view *view, struct span deployment,
	struct arena *arena, struct deployment_source *ret_source, struct err *err);
int deployment_source_put(struct store_transaction *transaction, struct span deployment,
	const struct deployment_source *source, struct err *err);

#endif
