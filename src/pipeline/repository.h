/*
 * Repositories of application files, by the git command. Each has a bare clone in a folder of its own, which never has a
 * working tree: nothing in a repository is run or written to disk under a name of its own. The clone has no contents of
 * files (where the server of the repository can leave them out); those that are read are fetched then.
 *
 * Hooks, protocols other than local paths, https and ssh, and prompts are off. Time, bytes, files and commits are limited.
 * Configuration of git comes from one file of the operator (credentials, proxies, authorities) and from nothing else; ssh
 * uses the keys and known hosts of the user that slipway runs as.
 *
 * One process uses a clone. Its functions may run at the same time, except repository_open().
 */
#ifndef PIPELINE_REPOSITORY_H
#define PIPELINE_REPOSITORY_H

#include "io/child.h"
#include "pipeline/git_output.h"

#define REPOSITORY_URL_MAX 2048
#define REPOSITORY_PATH_MAX 4096
#define REPOSITORY_BRANCH_MAX 255
#define REPOSITORY_BRANCHES_MAX 100          /* of one poll */
#define REPOSITORY_READ_MAX 64               /* files of one read */
#define REPOSITORY_FETCH_MS (10 * 60 * 1000) /* for a command that uses the network */
#define REPOSITORY_LOCAL_MS (60 * 1000)      /* for one that does not */
#define REPOSITORY_PACK_MAX (UINT64_C(4) * 1024 * 1024 * 1024) /* bytes of one file of a clone */
#define REPOSITORY_OUTPUT_MAX ((size_t)64 * 1024 * 1024)       /* of one command */

struct repository {
	const struct child_operations *children;
	const char *folder;        /* of the clone */
	const char *url;           /* that repository_check_url() accepts */
	const char *configuration; /* file for git; NULL: none */
	int cancel;                /* commands end when it becomes readable; 0: none */
};

/* A path ("/srv/web.git"), file://, https://, ssh:// or "user@host:path", without a password. -EINVAL. */
int repository_check_url(struct span url, struct err *err);
int repository_check_branch(struct span branch, struct err *err);
/* Joins a path in the repository and one relative to it ("../shared/task.yaml"). -EINVAL: it leaves the repository. The
 * result has no "." and "..", and is "" for the whole repository. */
int repository_join(struct span folder, struct span path, struct arena *arena,
	struct span *ret_path, struct err *err);

/* All functions below: -ENOENT: no such branch, commit or file; -ETIMEDOUT, -ECANCELED; -E2BIG, -EFBIG: beyond a limit;
 * -EIO: git failed, with the last line that it wrote. */

/* Makes the clone unless it is there, and removes files of commands that were killed. */
int repository_open(const struct repository *repository, struct err *err);
/* The commits of branches as they are now, fetched; an empty text for a branch that does not exist. */
int repository_poll(const struct repository *repository, const struct span *branches, size_t count,
	struct arena *arena, struct span *ret_commits, struct err *err);
/* A commit by its full ID, a tag, a branch, or the first digits of its ID (7 or more) if it was fetched before; it is
 * fetched unless it is there. Without repository_keep() it may be removed after
 * two weeks. */
int repository_fetch(const struct repository *repository, struct span name, struct arena *arena,
	struct span *ret_commit, struct err *err);
/* 1: the commit is on the branch as it was at the last poll; 0: it is not. */
int repository_is_on_branch(const struct repository *repository, struct span commit,
	struct span branch, struct err *err);

/* Everything below a folder, "" for all. None if the folder does not exist. ret_files: struct git_file. */
int repository_list(const struct repository *repository, struct span commit, struct span folder,
	struct arena *arena, struct field_list *ret_files, struct err *err);
/* The contents of files of one commit. A symbolic link is refused, and so is a file beyond GIT_FILE_MAX. */
int repository_read(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena, struct span *ret_contents,
	struct err *err);
/* The same for any number of files; what cannot be read has a reason instead of contents. */
struct repository_file {
	struct span content; /* data NULL: see the problem */
	struct span problem; /* "web/task.yaml: the file is not in commit …" */
};
int repository_read_each(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena,
	struct repository_file *ret_files, struct err *err);
/* Author, message and time. */
int repository_commit(const struct repository *repository, struct span commit, struct arena *arena,
	struct git_commit *ret_commit, struct err *err);
/* The paths that differ between two commits. -E2BIG: too many to list. ret_paths: struct span. */
int repository_changes(const struct repository *repository, struct span from, struct span to,
	struct arena *arena, struct field_list *ret_paths, struct err *err);
/* The commits after `from` up to `to`, newest first, with their paths; a merge counts as one commit with all that it brought.
 * from "": from the beginning. At most `most` of them. ret_commits: struct git_commit. */
int repository_log(const struct repository *repository, struct span from, struct span to,
	size_t most, struct arena *arena, struct field_list *ret_commits, struct err *err);

/* Keeps a commit, also when its branch is rewritten, until the name (of a deployment) is released. */
int repository_keep(const struct repository *repository, struct span name, struct span commit,
	struct err *err);
int repository_release(const struct repository *repository, struct span name, struct err *err);
/* The names of all kept commits. ret_names: struct span. */
int repository_list_kept(const struct repository *repository, struct arena *arena,
	struct field_list *ret_names, struct err *err);

#endif
