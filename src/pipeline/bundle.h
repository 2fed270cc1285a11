/*
 * The files of one application at one commit: the application file and the definition files that it names, read together.
 * Paths are relative to the folder of the application file, with "/" between their parts.
 */
#ifndef PIPELINE_BUNDLE_H
#define PIPELINE_BUNDLE_H

#include "pipeline/application.h"
#include "pipeline/definition.h"

#define BUNDLE_FILE_DEFAULT "app.pipecd.yaml"
#define BUNDLE_FILES_MAX 64
#define BUNDLE_BYTES_MAX (900 * 1024)

struct bundle {
	const struct application *application;
	bool has_task, has_service;
	struct task_file task;
	struct service_file service;
};

/* files: an object of texts by path. -EINVAL: "FILE:LINE: …", or that a file is missing. */
int bundle_load(const struct json *files, struct span application_file, struct arena *arena,
	struct bundle *ret_bundle, struct err *err);

/* Paths of the files that the application needs beside its own, struct span. */
void bundle_list_paths(const struct application *application, struct arena *arena,
	struct field_list *list);

#endif
