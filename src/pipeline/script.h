/*
 * Scripts of SCRIPT_RUN stages and of analyses: a shell command in a folder of its own that has the files of the
 * deployment, with the variables that PipeCD gives to scripts and nothing of the server's own environment but PATH. When
 * the command has ended, however it ended, its process group is killed and the folder is removed.
 */
#ifndef PIPELINE_SCRIPT_H
#define PIPELINE_SCRIPT_H

#include "io/child.h"
#include "pipeline/fields.h"

#define SCRIPT_OUTPUT_MAX ((size_t)64 * 1024) /* bytes kept of each output */
#define SCRIPT_LINES_MAX 100                  /* of the output, the last ones, in results */

struct script_context {
	struct span deployment, application, commit, summary, user;
	int64_t triggered_ms;
	bool is_rollback;
	const struct field_list *labels; /* struct field_pair; NULL: none */
};

/* Ends with NULL. variables (struct field_pair) are added to those of the context and cannot replace them. */
const char *const *script_environment(const struct script_context *context,
	const struct field_list *variables, struct arena *arena);

/* A new folder with the files, an object of texts by path, each executable. Paths that leave the folder are refused with
 * -EINVAL. The caller removes it with script_remove_folder(). */
int script_make_folder(const struct json *files, struct arena *arena, const char **ret_folder,
	struct err *err);
void script_remove_folder(const char *folder); /* NULL is fine */

struct script {
	const char *command; /* for sh -c */
	const char *const *environment;
	const struct json *files;
	int64_t timeout_ms;
	int cancel;
};

struct script_result {
	bool succeeded;
	struct span failure;     /* "exit code 3"; "": it succeeded */
	struct field_list lines; /* struct span: the last of its output */
};

/* Negative: it did not start, or was cancelled (-ECANCELED). */
int script_run(const struct child_operations *children, const struct script *script,
	struct arena *arena, struct script_result *ret_result, struct err *err);

#endif
