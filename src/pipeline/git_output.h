/*
 * Reads the output of git commands. A repository may belong to anyone, so nothing in the output is trusted: sizes,
 * counts and IDs are checked, and paths are bytes that may have line breaks. Pure.
 *
 * IDs and paths point into the output; texts of commits are copied, with U+FFFD for bytes that are not UTF-8.
 */
#ifndef PIPELINE_GIT_OUTPUT_H
#define PIPELINE_GIT_OUTPUT_H

#include "pipeline/fields.h"

#define GIT_PATHS_MAX 100000        /* of one listing */
#define GIT_COMMITS_MAX 1000        /* of one log */
#define GIT_FILE_MAX (1024 * 1024)  /* bytes of one file that is read */
#define GIT_MESSAGE_MAX (64 * 1024) /* bytes of a commit message that are kept */
#define GIT_COMMIT_MAX (256 * 1024) /* bytes of a commit with its headers */

enum git_file_kind {
	GIT_FILE,
	GIT_LINK,   /* symbolic */
	GIT_MODULE, /* the commit of another repository */
};

struct git_file {
	enum git_file_kind kind;
	struct span id, path;
};

struct git_commit {
	struct span id, parent;      /* the first one; "": none */
	struct span author, message; /* author: "Name <mail>" */
	int64_t time_ms;             /* of the committer */
	struct field_list paths; /* struct span: changed against the first parent; only in logs */
};

struct git_object {
	struct span id;
	struct span type; /* "blob", "commit", …; "": the repository does not have it */
	uint64_t size;
};

/* 40 or 64 hexadecimal digits in lower case. */
bool git_is_id(struct span text);

/* One ID and a line break. All functions below: -EINVAL: not what git prints; -E2BIG: beyond a limit. */
int git_read_id(struct span output, struct span *ret_id, struct err *err);
/* Of ls-tree -r -z. */
int git_read_tree(struct span output, struct arena *arena, struct field_list *ret_files,
	struct err *err);
/* Of ls-remote: IDs of those branches; an empty text for one that the repository does not have. */
int git_read_heads(struct span output, const struct span *branches, size_t count,
	struct span *ret_ids, struct err *err);
/* Of cat-file --batch-check. */
int git_read_objects(struct span output, struct arena *arena, struct field_list *ret_objects,
	struct err *err);
/* Of cat-file --batch: the contents of so many objects of that type, in their order. */
int git_read_contents(struct span output, const char *type, struct span *ret_contents, size_t count,
	struct err *err);
/* A commit as git stores it. Fills author, message and time. */
int git_read_commit(struct span text, struct arena *arena, struct git_commit *commit,
	struct err *err);
/* Of rev-list --parents: IDs and first parents. */
int git_read_history(struct span output, struct arena *arena, struct field_list *ret_commits,
	struct err *err);
/* Of diff-tree -r -z --no-renames: the paths that differ. */
int git_read_changes(struct span output, struct arena *arena, struct field_list *ret_paths,
	struct err *err);
/* Of diff-tree --stdin -r -z --no-renames: the paths of each of the commits, which have their IDs. */
int git_read_log(struct span output, struct arena *arena, struct git_commit *commits, size_t count,
	struct err *err);

/* Valid UTF-8, with U+FFFD for each byte that is not. */
struct span git_clean_text(struct span text, struct arena *arena);

#endif
