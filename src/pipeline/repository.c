/* See the header. */
#include "pipeline/repository_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

#define FOLDER_MODE 0700
#define FOLDER_DEPTH_MAX 16
#define FIRST_PRINTABLE 0x20
#define DELETE_CHARACTER 0x7f
#define SHORT_ID_LEAST 7
#define FETCH_ATTEMPTS 3

/* ---- names ---- */

static bool has_control_character(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if ((unsigned char)text.data[i] < FIRST_PRINTABLE ||
			text.data[i] == DELETE_CHARACTER)
			return true;
	}
	return false;
}

static bool contains(struct span text, const char *part)
{
	return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

/* The part of a URL that names the server, with the user. */
static struct span authority_of(struct span rest)
{
	struct span authority, path;

	return span_split(rest, '/', &authority, &path) ? authority : rest;
}

static struct span behind(struct span text, size_t length)
{
	return (struct span){text.data + length, text.length - length};
}

int repository_check_url(struct span url, struct err *err)
{
	static const char *const schemes[] = {"https://", "ssh://", "file:///"};
	struct span host, path, user, password;

	if (url.length == 0 || url.length > REPOSITORY_URL_MAX || has_control_character(url))
		return err_set(err, -EINVAL,
			"the URL of a repository has 1 to %d printable characters",
			REPOSITORY_URL_MAX);
	if (url.data[0] == '/')
		return 0;
	for (size_t i = 0; i < LENGTH(schemes); i++) {
		if (!span_starts_with(url, span_of(schemes[i])))
			continue;
		host = authority_of(behind(url, strlen(schemes[i])));
		if (i < 2 && (host.length == 0 || host.data[0] == '-'))
			return err_set(err, -EINVAL, "repository URL has no host");
		if (i < 2 && span_split(host, '@', &user, &host) &&
			span_split(user, ':', &user, &password))
			return err_set(err, -EINVAL,
				"repository URL has a password; use a credential helper in git's "
				"configuration");
		return 0;
	}
	/* user@host:path, but not "helper::address". */
	if (span_split(url, ':', &host, &path) && !contains(host, "/") && host.data[0] != '-' &&
		span_split(host, '@', &user, &host) && user.length > 0 && host.length > 0 &&
		host.data[0] != '-' && path.length > 0 && path.data[0] != ':')
		return 0;
	return err_set(err, -EINVAL,
		"repository URL \"%.*s\" is none of a path that begins with /, file://, https://, "
		"ssh:// "
		"and user@host:path",
		SPAN_ARGS(url));
}

/* The rules of git check-ref-format. */
int repository_check_branch(struct span branch, struct err *err)
{
	static const char *const forbidden[] = {
		"..", "//", "@{", "/.", ".lock/", " ", "~", "^", ":", "?", "*", "[", "\\"};
	bool valid = branch.length > 0 && branch.length <= REPOSITORY_BRANCH_MAX &&
		     !has_control_character(branch) && branch.data[0] != '-' &&
		     branch.data[0] != '/' && branch.data[0] != '.' && !span_is(branch, "@") &&
		     !span_ends_with(branch, SPAN("/")) && !span_ends_with(branch, SPAN(".")) &&
		     !span_ends_with(branch, SPAN(".lock"));

	for (size_t i = 0; valid && i < LENGTH(forbidden); i++)
		valid = !contains(branch, forbidden[i]);
	if (!valid)
		return err_set(err, -EINVAL, "\"%.*s\" is not a valid name of a branch",
			SPAN_ARGS(branch));
	return 0;
}

int repository_join(struct span folder, struct span path, struct arena *arena,
	struct span *ret_path, struct err *err)
{
	_buffer_ struct buffer joined = {0};
	struct span whole = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(folder), SPAN_ARGS(path)),
		    part;

	if (whole.length > REPOSITORY_PATH_MAX || memchr(whole.data, '\0', whole.length))
		return err_set(err, -EINVAL, "path is longer than %d bytes or has a NUL",
			REPOSITORY_PATH_MAX);
	if (path.length > 0 && path.data[0] == '/')
		return err_set(err, -EINVAL, "path \"%.*s\" is absolute; paths are relative",
			SPAN_ARGS(path));
	while (span_next_part(&whole, '/', &part)) {
		if (part.length == 0 || span_is(part, "."))
			continue;
		if (!span_is(part, "..")) {
			if (joined.length > 0)
				buffer_add_char(&joined, '/');
			buffer_add_span(&joined, part);
			continue;
		}
		if (joined.length == 0)
			return err_set(err, -EINVAL, "path \"%.*s\" leaves the repository",
				SPAN_ARGS(path));
		while (joined.length > 0 && joined.data[--joined.length] != '/') {
		}
	}
	*ret_path = arena_copy_span(arena, buffer_span(&joined));
	return 0;
}

/* ---- clone ---- */

static bool is_leftover(const char *folder_name, const char *name)
{
	struct span text = span_of(name);

	return span_ends_with(text, SPAN(".lock")) ||
	       (strcmp(folder_name, "pack") == 0 && span_starts_with(text, SPAN("tmp_")));
}

/* Locks and temporary packs of commands that were killed. Git would refuse to go on, or keep them for ever. */
static void remove_leftovers(int parent, const char *name, int depth)
{
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	const struct dirent *entry;

	if (!entries) {
		memory_close_descriptor(&folder);
		return;
	}
	while ((entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (is_leftover(name, entry->d_name))
			unlinkat(folder, entry->d_name, 0);
		else if (entry->d_type == DT_DIR && depth < FOLDER_DEPTH_MAX)
			remove_leftovers(folder, entry->d_name, depth + 1);
	}
	closedir(entries);
}

int repository_open(const struct repository *repository, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span output;
	int code;

	code = file_make_folder(repository->folder, FOLDER_MODE, err);
	if (code < 0)
		return code;
	remove_leftovers(AT_FDCWD, repository->folder, 0);
	/* Does no harm to a clone that is there. */
	code = repository_command_run(repository,
		&(struct repository_command){COMMAND("init", "--quiet", "--bare", "--template=")},
		arena, &output, err);
	return code < 0 ? code : 0;
}

static int fetch_references(const struct repository *repository, const char *const *references,
	size_t count, struct arena *arena, struct err *err)
{
	struct repository_command command = {
		COMMAND("fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--no-recurse-submodules", "--filter=blob:none", "origin"),
		.network = ONLINE,
	};
	struct span output;
	int code;

	for (size_t i = 0; i < count; i++)
		repository_add_argument(&command, arena, "%s", references[i]);
	code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : 0;
}

#define BRANCH_REFERENCE "refs/slipway/branch/"
#define KEPT_REFERENCE "refs/slipway/kept/"

/* 1: the commit is in the clone; 0: it is not. */
static int resolve(const struct repository *repository, const char *name, struct arena *arena,
	struct span *ret_commit, struct err *err)
{
	struct repository_command command = {
		COMMAND("rev-parse", "--quiet", "--verify", "--end-of-options",
			arena_format(arena, "%s^{commit}", name).data),
		.may_fail = true};
	struct span output;
	struct err failure = {0};
	int code = repository_command_run(repository, &command, arena, &output, &failure);

	/* Git fails otherwise than by exit code 1 when it would have to fetch the commit. */
	if (code == 1 || code == -EIO)
		return 0;
	if (code < 0)
		return err_set(err, code, "%s", failure.message);
	code = git_read_id(output, ret_commit, err);
	return code < 0 ? code : 1;
}

/* Branches that are not at those commits. */
static int list_outdated(const struct repository *repository, const struct span *branches,
	const struct span *commits, size_t count, struct arena *arena, const char **references,
	size_t *ret_wanted, struct err *err)
{
	struct span known;
	size_t wanted = 0;
	int code = 0;

	for (size_t i = 0; code >= 0 && i < count; i++) {
		const char *name =
			arena_format(arena, BRANCH_REFERENCE "%.*s", SPAN_ARGS(branches[i])).data;

		if (commits[i].length == 0)
			continue;
		code = resolve(repository, name, arena, &known, err);
		if (code == 0 || (code > 0 && !span_equal(known, commits[i])))
			references[wanted++] = arena_format(arena, "+refs/heads/%.*s:%s",
				SPAN_ARGS(branches[i]), name)
						       .data;
	}
	*ret_wanted = wanted;
	return code < 0 ? code : 0;
}

/* Git refuses to move a reference that another fetch moves at the same time; then it may be where it should be. */
static int fetch_branches(const struct repository *repository, const struct span *branches,
	const struct span *commits, size_t count, struct arena *arena, struct err *err)
{
	const char *references[REPOSITORY_BRANCHES_MAX];
	size_t wanted = 0;
	int code = -EIO;

	for (int i = 0; code == -EIO && i < FETCH_ATTEMPTS; i++) {
		code = list_outdated(repository, branches, commits, count, arena, references,
			&wanted, err);
		if (code >= 0 && wanted > 0)
			code = fetch_references(repository, references, wanted, arena, err);
	}
	return code;
}

int repository_poll(const struct repository *repository, const struct span *branches, size_t count,
	struct arena *arena, struct span *ret_commits, struct err *err)
{
	struct repository_command command = {
		COMMAND("ls-remote", "--quiet", "--heads", "origin"), .network = ONLINE};
	struct span commits[REPOSITORY_BRANCHES_MAX], output;
	int code = 0;

	if (count > REPOSITORY_BRANCHES_MAX)
		return err_set(err, -E2BIG, "more than %d branches of one repository",
			REPOSITORY_BRANCHES_MAX);
	for (size_t i = 0; i < count; i++) {
		code = repository_check_branch(branches[i], err);
		if (code < 0)
			return code;
		repository_add_argument(&command, arena, "refs/heads/%.*s", SPAN_ARGS(branches[i]));
	}
	code = repository_command_run(repository, &command, arena, &output, err);
	if (code >= 0)
		code = git_read_heads(output, branches, count, commits, err);
	if (code >= 0)
		code = fetch_branches(repository, branches, commits, count, arena, err);
	/* The branch may have moved since ls-remote. */
	for (size_t i = 0; code >= 0 && i < count; i++) {
		if (commits[i].length > 0)
			code = resolve(repository,
				arena_format(arena, BRANCH_REFERENCE "%.*s", SPAN_ARGS(branches[i]))
					.data,
				arena, &commits[i], err);
	}
	if (code < 0)
		return code;
	memcpy(ret_commits, commits, count * sizeof(*commits));
	return 0;
}

/* The ID of a tag or a branch of that name; of a tag that may be an object of its own. */
static int find_named(const struct repository *repository, struct span name, struct arena *arena,
	struct span *ret_id, struct err *err)
{
	const char *tag = arena_format(arena, "refs/tags/%.*s", SPAN_ARGS(name)).data,
		   *head = arena_format(arena, "refs/heads/%.*s", SPAN_ARGS(name)).data;
	struct repository_command command = {
		COMMAND("ls-remote", "--quiet", "origin", tag, head), .network = ONLINE};
	struct span output, line, id, found = SPAN("");
	int code = repository_command_run(repository, &command, arena, &output, err);

	if (code < 0)
		return code;
	while (span_next_part(&output, '\n', &line)) {
		if (!span_split(line, '\t', &id, &line) || !git_is_id(id))
			continue;
		if (span_is(line, tag) || (span_is(line, head) && found.length == 0))
			found = id;
	}
	if (found.length == 0)
		return err_set(err, -ENOENT, "the repository has no tag or branch \"%.*s\"",
			SPAN_ARGS(name));
	*ret_id = found;
	return 0;
}

static bool is_short_id(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		if (!strchr("0123456789abcdef", name.data[i]))
			return false;
	}
	return name.length >= SHORT_ID_LEAST;
}

int repository_fetch(const struct repository *repository, struct span name, struct arena *arena,
	struct span *ret_commit, struct err *err)
{
	struct span id = name;
	const char *text;
	int code;

	if (!git_is_id(name)) {
		code = repository_check_branch(name, err);
		if (code >= 0 && is_short_id(name))
			code = resolve(repository,
				arena_format(arena, "%.*s", SPAN_ARGS(name)).data, arena,
				ret_commit, err);
		if (code > 0)
			return 0;
		if (code >= 0)
			code = find_named(repository, name, arena, &id, err);
		if (code < 0)
			return code;
	}
	text = arena_format(arena, "%.*s", SPAN_ARGS(id)).data;
	code = resolve(repository, text, arena, ret_commit, err);
	if (code != 0)
		return code < 0 ? code : 0;
	code = fetch_references(repository, &text, 1, arena, err);
	if (code >= 0)
		code = resolve(repository, text, arena, ret_commit, err);
	if (code == 0)
		return err_set(err, -ENOENT, "\"%.*s\" is not a commit", SPAN_ARGS(name));
	return code < 0 ? code : 0;
}

int repository_is_on_branch(const struct repository *repository, struct span commit,
	struct span branch, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct repository_command command = {
		COMMAND("merge-base", "--is-ancestor",
			arena_format(arena, "%.*s", SPAN_ARGS(commit)).data,
			arena_format(arena, BRANCH_REFERENCE "%.*s", SPAN_ARGS(branch)).data),
		.may_fail = true};
	struct span output;
	int code = repository_check_commit(commit, err);

	if (code >= 0)
		code = repository_check_branch(branch, err);
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : code == 0;
}

/* ---- commits ---- */

/* Fills author, message and time of commits that have their IDs. */
static int read_commits(const struct repository *repository, struct git_commit *commits,
	size_t count, struct arena *arena, struct err *err)
{
	_buffer_ struct buffer ids = {0};
	struct repository_command command = {
		COMMAND("cat-file", "--batch"), .output_max = REPOSITORY_OUTPUT_MAX};
	struct span *contents = arena_allocate_array(arena, count + 1, sizeof(*contents)), output;
	int code;

	for (size_t i = 0; i < count; i++)
		buffer_format(&ids, "%.*s\n", SPAN_ARGS(commits[i].id));
	command.input = buffer_span(&ids);
	code = repository_command_run(repository, &command, arena, &output, err);
	if (code >= 0)
		code = git_read_contents(output, "commit", contents, count, err);
	for (size_t i = 0; code >= 0 && i < count; i++)
		code = git_read_commit(contents[i], arena, &commits[i], err);
	return code < 0 ? code : 0;
}

int repository_commit(const struct repository *repository, struct span commit, struct arena *arena,
	struct git_commit *ret_commit, struct err *err)
{
	struct git_commit read = {.id = arena_copy_span(arena, commit), .parent = SPAN("")};
	int code = repository_check_commit(commit, err);

	if (code >= 0)
		code = read_commits(repository, &read, 1, arena, err);
	if (code >= 0)
		*ret_commit = read;
	return code;
}

#define DIFF_OPTIONS "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw"

int repository_changes(const struct repository *repository, struct span from, struct span to,
	struct arena *arena, struct field_list *ret_paths, struct err *err)
{
	struct repository_command command = {COMMAND("diff-tree", DIFF_OPTIONS, "--end-of-options",
		arena_format(arena, "%.*s", SPAN_ARGS(from)).data,
		arena_format(arena, "%.*s", SPAN_ARGS(to)).data)};
	struct span output;
	int code = repository_check_commit(from, err);

	if (code >= 0)
		code = repository_check_commit(to, err);
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : git_read_changes(output, arena, ret_paths, err);
}

/* Against the first parent, which git would not choose for a merge. */
static int read_paths(const struct repository *repository, struct git_commit *commits, size_t count,
	struct arena *arena, struct err *err)
{
	_buffer_ struct buffer ids = {0};
	struct repository_command command = {
		COMMAND("diff-tree", "--stdin", "--root", DIFF_OPTIONS)};
	struct span output;
	int code;

	for (size_t i = 0; i < count; i++)
		buffer_format(&ids, "%.*s%s%.*s\n", SPAN_ARGS(commits[i].id),
			commits[i].parent.length > 0 ? " " : "", SPAN_ARGS(commits[i].parent));
	command.input = buffer_span(&ids);
	code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : git_read_log(output, arena, commits, count, err);
}

int repository_log(const struct repository *repository, struct span from, struct span to,
	size_t most, struct arena *arena, struct field_list *ret_commits, struct err *err)
{
	struct repository_command command = {COMMAND("rev-list", "--first-parent", "--parents",
		arena_format(arena, "--max-count=%zu",
			most < GIT_COMMITS_MAX ? most : GIT_COMMITS_MAX)
			.data,
		"--end-of-options", arena_format(arena, "%.*s", SPAN_ARGS(to)).data)};
	struct field_list list;
	struct span output;
	int code = repository_check_commit(to, err);

	if (code >= 0 && from.length > 0)
		code = repository_check_commit(from, err);
	if (from.length > 0)
		repository_add_argument(&command, arena, "^%.*s", SPAN_ARGS(from));
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	if (code >= 0)
		code = git_read_history(output, arena, &list, err);
	if (code >= 0 && list.count > 0) {
		code = read_commits(repository, list.items, list.count, arena, err);
		if (code >= 0)
			code = read_paths(repository, list.items, list.count, arena, err);
	}
	if (code >= 0)
		*ret_commits = list;
	return code < 0 ? code : 0;
}

/* ---- kept commits ---- */

static int update_kept(const struct repository *repository, struct span name, struct span commit,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const char *reference = arena_format(arena, KEPT_REFERENCE "%.*s", SPAN_ARGS(name)).data;
	struct repository_command command = {COMMAND("update-ref")};
	struct span output;
	int code = repository_check_branch(name, err);

	command.arguments[1] = commit.length > 0 ? reference : "-d";
	command.arguments[2] =
		commit.length > 0 ? arena_format(arena, "%.*s", SPAN_ARGS(commit)).data : reference;
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : 0;
}

int repository_keep(const struct repository *repository, struct span name, struct span commit,
	struct err *err)
{
	int code = repository_check_commit(commit, err);

	return code < 0 ? code : update_kept(repository, name, commit, err);
}

int repository_release(const struct repository *repository, struct span name, struct err *err)
{
	return update_kept(repository, name, SPAN(""), err);
}

int repository_list_kept(const struct repository *repository, struct arena *arena,
	struct field_list *ret_names, struct err *err)
{
	struct repository_command command = {
		COMMAND("for-each-ref", "--format=%(refname)", KEPT_REFERENCE)};
	struct field_list names = {0};
	struct span output, line;
	int code = repository_command_run(repository, &command, arena, &output, err);

	while (code >= 0 && span_next_part(&output, '\n', &line)) {
		if (span_starts_with(line, SPAN(KEPT_REFERENCE)))
			*(struct span *)fields_append(arena, &names, sizeof(line)) =
				behind(line, sizeof(KEPT_REFERENCE) - 1);
	}
	if (code >= 0)
		*ret_names = names;
	return code < 0 ? code : 0;
}
