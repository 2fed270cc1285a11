/*
 * Applications in a commit of a repository: finds their files and reads them together with what they name. A file with an
 * error is a result, with file and line; only what fails for all of them is a failure.
 */
#ifndef PIPELINE_SCAN_H
#define PIPELINE_SCAN_H

#include "pipeline/bundle.h"
#include "pipeline/origin.h"
#include "pipeline/repository.h"

#define SCAN_SUFFIX ".pipecd.yaml" /* of application files */

struct scan_place {
	struct span folder; /* "": the repository */
	struct span
		file; /* in it; "": app.pipecd.yaml, or the only one that ends with SCAN_SUFFIX */
};

struct scan_result {
	struct span name; /* spec.name; "" if there is none that can be read */
	struct span file;
	enum origin_state state;
	struct span problem;                   /* "" */
	const struct application *application; /* NULL: it cannot be read */
	const struct json *files; /* of its bundle, texts by path; NULL unless the state is VALID */
	struct field_list paths;  /* struct span: where these are in the repository */
	size_t bytes;             /* of the files */
};

/* All application files below a folder, in the order of their paths. ret_places: struct scan_place. */
int scan_find(const struct repository *repository, struct span commit, struct span folder,
	struct arena *arena, struct field_list *ret_places, struct err *err);
int scan_read(const struct repository *repository, struct span commit,
	const struct scan_place *places, size_t count, struct arena *arena,
	struct scan_result *ret_results, struct err *err);

#endif
