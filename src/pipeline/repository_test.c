/*
 * Repositories with the real git: polls, files, commits and logs of a repository that changes, and repositories made to
 * do harm: hooks, links, submodules, large files, names of files with any bytes, URLs that run programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "pipeline/repository.h"

#define OUTPUT_MAX 100000
#define FOLDER_SIZE 64

struct world {
	char folder[FOLDER_SIZE]; /* has "source", the repository, and "clone" */
	char *clone, *url;
	struct arena *arena;
	struct repository repository;
};

static struct span run_script(const struct world *world, const char *script)
{
	const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.com",
		"GIT_COMMITTER_DATE=1700000000 +0100", NULL};
	struct child_request request = {
		.arguments = (const char *const[]){"sh", "-ec", script, NULL},
		.environment = environment,
		.folder = world->url,
		.output_max = OUTPUT_MAX,
	};
	_child_result_ struct child_result result = {0};
	struct span output;
	struct err err;

	if (child_run(child_system(), &request, &result, &err) < 0)
		fail_msg("%s", err.message);
	if (result.exit_code != 0)
		fail_msg("%s: %s", script, result.errors.data ? result.errors.data : "");
	output = arena_copy_span(world->arena, buffer_span(&result.output));
	while (output.length > 0 && output.data[output.length - 1] == '\n')
		output.length--;
	return output;
}

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct err err;

	snprintf(world->folder, sizeof(world->folder), "/tmp/slipway-repository-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	world->clone = memory_format("%s/clone", world->folder);
	world->url = memory_format("%s/source", world->folder);
	assert_int_equal(mkdir(world->url, 0700), 0);
	world->arena = arena_new(0);
	world->repository = (struct repository){
		.children = child_system(), .folder = world->clone, .url = world->url};
	run_script(world, "git init -q -b main . && git config uploadpack.allowFilter true");
	if (repository_open(&world->repository, &err) < 0)
		fail_msg("%s", err.message);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	world->url[strlen(world->folder)] = '\0'; /* the folder of both */
	run_script(world, "cd / && rm -rf \"$OLDPWD\"");
	arena_free(world->arena);
	free(world->clone);
	free(world->url);
	free(world);
	return 0;
}

static struct span commit_all(const struct world *world, const char *message)
{
	return run_script(world, arena_format(world->arena,
					 "git add -A && git commit -q --allow-empty -m '%s' && git "
					 "rev-parse HEAD",
					 message)
					 .data);
}

static struct span poll_branch(const struct world *world, const char *branch)
{
	struct span name = span_of(branch), commit;
	struct err err;

	if (repository_poll(&world->repository, &name, 1, world->arena, &commit, &err) < 0)
		fail_msg("%s", err.message);
	return commit;
}

static struct span read_file(const struct world *world, struct span commit, const char *path)
{
	struct span name = span_of(path), contents;
	struct err err;

	if (repository_read(&world->repository, commit, &name, 1, world->arena, &contents, &err) <
		0)
		fail_msg("%s", err.message);
	return contents;
}

static void assert_read_fails(const struct world *world, struct span commit, struct span path,
	int code, const char *reason)
{
	struct span contents;
	struct err err = {0};

	assert_int_equal(repository_read(&world->repository, commit, &path, 1, world->arena,
				 &contents, &err),
		code);
	if (!strstr(err.message, reason))
		fail_msg("\"%s\" is not in \"%s\"", reason, err.message);
}

#define assert_text(found, expected)                                                               \
	do {                                                                                       \
		struct span found_ = (found);                                                      \
		if (!span_is(found_, (expected)))                                                  \
			fail_msg("\"%.*s\" is not \"%s\"", SPAN_ARGS(found_), (expected));         \
	} while (0)
#define assert_same(found, expected) assert_true(span_equal((found), (expected)))

/* ---- use ---- */

static void test_poll_and_read(void **state)
{
	const struct world *world = *state;
	struct span branches[] = {SPAN("main"), SPAN("side/one"), SPAN("no-such")}, commits[3];
	struct span first, second, side, paths[2] = {SPAN("web/app.yaml"), SPAN("empty")},
					 contents[2];
	struct field_list files;
	struct err err;

	run_script(world, "mkdir web webs && echo one >web/app.yaml && echo x >webs/x && : >empty");
	first = commit_all(world, "first");
	assert_same(poll_branch(world, "main"), first);
	assert_text(read_file(world, first, "web/app.yaml"), "one\n");

	run_script(world, "echo two >web/app.yaml");
	second = commit_all(world, "second");
	side = run_script(world,
		"git branch side/one HEAD~1 && git branch x/main HEAD~1 && git rev-parse "
		"HEAD~1");
	assert_int_equal(repository_poll(&world->repository, branches, 3, world->arena, commits,
				 &err),
		0);
	assert_same(commits[0], second);
	assert_same(commits[1], side);
	assert_text(commits[2], "");
	assert_int_equal(repository_read(&world->repository, second, paths, 2, world->arena,
				 contents, &err),
		0);
	assert_text(contents[0], "two\n");
	assert_text(contents[1], "");
	assert_text(read_file(world, first, "web/app.yaml"), "one\n");

	assert_int_equal(repository_list(&world->repository, second, SPAN("web"), world->arena,
				 &files, &err),
		0);
	assert_int_equal(files.count, 1);
	assert_text(((const struct git_file *)files.items)->path, "web/app.yaml");
	assert_int_equal(repository_list(&world->repository, second, SPAN(""), world->arena, &files,
				 &err),
		0);
	assert_int_equal(files.count, 3);
	assert_int_equal(repository_list(&world->repository, second, SPAN("none"), world->arena,
				 &files, &err),
		0);
	assert_int_equal(files.count, 0);
	assert_read_fails(world, second, SPAN("web"), -ENOENT, "file \"web\" is not in commit");
	assert_read_fails(world, SPAN("main"), SPAN("web"), -EINVAL, "not the full ID");

	/* A rewritten branch is followed, and one that was removed is reported. */
	run_script(world, "git reset -q --hard HEAD~1 && git branch -D side/one");
	assert_int_equal(repository_poll(&world->repository, branches, 2, world->arena, commits,
				 &err),
		0);
	assert_same(commits[0], first);
	assert_text(commits[1], "");
}

/* The clone has the contents of those files only that were read, and reads them again without the source. */
#define POLLERS 4
#define ROUNDS 5

struct poller {
	const struct world *world;
	struct arena *arena;
	struct span commit;
	struct err err;
	int code;
	pthread_t thread;
};

static void *run_poller(void *context)
{
	struct poller *poller = context;
	struct span branch = SPAN("main");

	poller->code = repository_poll(&poller->world->repository, &branch, 1, poller->arena,
		&poller->commit, &poller->err);
	return NULL;
}

/* Each gets the new commit, although git lets one of them move the reference. */
static void test_polls_at_the_same_time(void **state)
{
	const struct world *world = *state;

	for (int round = 0; round < ROUNDS; round++) {
		struct span commit = commit_all(world, "change");
		struct poller pollers[POLLERS] = {0};

		for (size_t i = 0; i < POLLERS; i++) {
			pollers[i].world = world;
			pollers[i].arena = arena_new(0);
			assert_int_equal(pthread_create(&pollers[i].thread, NULL, run_poller,
						 &pollers[i]),
				0);
		}
		for (size_t i = 0; i < POLLERS; i++) {
			pthread_join(pollers[i].thread, NULL);
			if (pollers[i].code < 0)
				fail_msg("%s", pollers[i].err.message);
			assert_true(span_equal(pollers[i].commit, commit));
			arena_free(pollers[i].arena);
		}
	}
}

static void test_blobless(void **state)
{
	const struct world *world = *state;
	const char *const all =
		"git --git-dir=../clone cat-file --batch-all-objects --batch-check | grep -c "
		"blob || true";
	struct span commit, name = SPAN("a"), contents;
	struct err err;

	run_script(world, "echo a >a && echo b >b");
	commit = commit_all(world, "first");
	poll_branch(world, "main");
	assert_text(run_script(world, all), "0");
	assert_text(read_file(world, commit, "a"), "a\n");
	assert_text(run_script(world, all), "1");
	run_script(world, "mv .git away");
	assert_text(read_file(world, commit, "a"), "a\n");
	name = SPAN("b");
	assert_int_equal(repository_read(&world->repository, commit, &name, 1, world->arena,
				 &contents, &err),
		-EIO);
	assert_int_equal(repository_poll(&world->repository, &name, 1, world->arena, &contents,
				 &err),
		-EIO);
	assert_non_null(strstr(err.message, "git ls-remote: "));
	run_script(world, "mv away .git");
	assert_text(read_file(world, commit, "b"), "b\n");
}

static struct span join_paths(const struct world *world, const struct field_list *paths)
{
	const struct span *items = paths->items;
	struct span all = SPAN("");

	for (size_t i = 0; i < paths->count; i++)
		all = arena_format(world->arena, "%.*s<%.*s>", SPAN_ARGS(all), SPAN_ARGS(items[i]));
	return all;
}

static void test_log_and_changes(void **state)
{
	const struct world *world = *state;
	const struct repository *repository = &world->repository;
	const struct git_commit *commits;
	struct span first, head;
	struct field_list list;
	struct git_commit commit;
	struct err err;

	run_script(world, "echo 1 >a");
	first = commit_all(world, "first");
	run_script(world, "git checkout -q -b side && echo 1 >side-one");
	commit_all(world, "side one");
	run_script(world, "echo 1 >side-two");
	commit_all(world, "side two");
	run_script(world, "git checkout -q main && echo 2 >b");
	commit_all(world, "second\n\nwith a body");
	run_script(world, "git merge -q --no-ff -m merged side && git rm -q a");
	head = commit_all(world, "empty");
	poll_branch(world, "main");

	assert_int_equal(repository_log(repository, first, head, 100, world->arena, &list, &err),
		0);
	commits = list.items;
	assert_int_equal(list.count, 3);
	assert_text(commits[0].message, "empty");
	assert_text(join_paths(world, &commits[0].paths), "<a>");
	assert_text(commits[1].message, "merged");
	assert_text(join_paths(world, &commits[1].paths), "<side-one><side-two>");
	assert_text(commits[2].message, "second\n\nwith a body");
	assert_text(commits[2].author, "Ann <ann@example.com>");
	assert_true(commits[2].time_ms == INT64_C(1700000000000));
	assert_text(join_paths(world, &commits[2].paths), "<b>");
	assert_int_equal(repository_log(repository, SPAN(""), head, 2, world->arena, &list, &err),
		0);
	assert_int_equal(list.count, 2);
	assert_int_equal(repository_log(repository, SPAN(""), first, 2, world->arena, &list, &err),
		0);
	assert_int_equal(list.count, 1);
	assert_text(join_paths(world, &((const struct git_commit *)list.items)->paths), "<a>");
	assert_int_equal(repository_log(repository, head, head, 2, world->arena, &list, &err), 0);
	assert_int_equal(list.count, 0);

	assert_int_equal(repository_changes(repository, first, head, world->arena, &list, &err), 0);
	assert_text(join_paths(world, &list), "<a><b><side-one><side-two>");
	assert_int_equal(repository_commit(repository, first, world->arena, &commit, &err), 0);
	assert_text(commit.message, "first");
	assert_same(commit.id, first);
	assert_int_equal(repository_is_on_branch(repository, first, SPAN("main"), &err), 1);
}

static void test_named_commits(void **state)
{
	const struct world *world = *state;
	const struct repository *repository = &world->repository;
	struct span first, other, found;
	struct err err;

	first = commit_all(world, "first");
	run_script(world, "git tag light && git tag -m text heavy && git checkout -q -b other");
	other = commit_all(world, "other");
	run_script(world, "git checkout -q main");
	poll_branch(world, "main");
	assert_int_equal(repository_is_on_branch(repository, first, SPAN("main"), &err), 1);
	assert_int_equal(repository_fetch(repository, SPAN("light"), world->arena, &found, &err),
		0);
	assert_same(found, first);
	assert_int_equal(repository_fetch(repository, SPAN("heavy"), world->arena, &found, &err),
		0);
	assert_same(found, first);
	/* Not polled: its ID, and its branch */
	assert_int_equal(repository_fetch(repository, other, world->arena, &found, &err), 0);
	assert_same(found, other);
	assert_int_equal(repository_is_on_branch(repository, other, SPAN("main"), &err), 0);
	assert_int_equal(repository_fetch(repository, SPAN("other"), world->arena, &found, &err),
		0);
	assert_same(found, other);
	assert_int_equal(repository_fetch(repository, SPAN("none"), world->arena, &found, &err),
		-ENOENT);
	assert_int_equal(repository_fetch(repository,
				 SPAN("1111111111111111111111111111111111111111"), world->arena,
				 &found, &err),
		-EIO);
	assert_int_equal(repository_fetch(repository, SPAN("--upload-pack=x"), world->arena, &found,
				 &err),
		-EINVAL);
}

/* Those of the commits that references of the clone reach. */
static struct span reachable(const struct world *world)
{
	return run_script(world,
		"rm -rf ../copy && git init -q --bare ../copy && git --git-dir=../copy "
		"fetch -q ../clone '+refs/*:refs/*' && git --git-dir=../copy rev-list "
		"--no-walk --format=%s --all | grep -v ^commit | sort -u | tr '\\n' ' '");
}

/* A commit that a deployment uses survives a rewritten branch. */
static void test_kept_commits(void **state)
{
	const struct world *world = *state;
	struct span kept;
	struct git_commit commit;
	struct err err;

	commit_all(world, "first");
	kept = commit_all(world, "kept");
	poll_branch(world, "main");
	assert_int_equal(repository_keep(&world->repository, SPAN("dep-1"), kept, &err), 0);
	assert_int_equal(repository_keep(&world->repository, SPAN("dep-1"), kept, &err), 0);
	run_script(world, "git reset -q --hard HEAD~1");
	commit_all(world, "lost");
	poll_branch(world, "main");
	run_script(world, "git reset -q --hard HEAD~1");
	poll_branch(world, "main");
	assert_text(reachable(world), "first kept ");
	assert_int_equal(repository_commit(&world->repository, kept, world->arena, &commit, &err),
		0);
	assert_int_equal(repository_release(&world->repository, SPAN("dep-1"), &err), 0);
	assert_int_equal(repository_release(&world->repository, SPAN("dep-1"), &err), 0);
	assert_text(reachable(world), "first ");
	assert_int_equal(repository_keep(&world->repository, SPAN("../x"), kept, &err), -EINVAL);
}

/* ---- harm ---- */

/* Neither the source's settings, nor its hooks, nor templates run a program. */
static void test_no_program_runs(void **state)
{
	const struct world *world = *state;
	struct span commit;
	struct err err;

	run_script(world, "for hook in post-update pre-receive reference-transaction post-checkout "
			  "upload-pack; do "
			  "printf '#!/bin/sh\\ntouch ../ran\\n' >.git/hooks/$hook; chmod +x "
			  ".git/hooks/$hook; done; "
			  "cp -r .git/hooks ../clone/; "
			  "git config uploadpack.packObjectsHook \"touch $PWD/../ran; exec\"; "
			  "git config core.fsmonitor \"touch $PWD/../ran\"; "
			  "echo '* filter=x diff=x textconv=x' >.gitattributes; echo x >x");
	commit = run_script(world,
		"git -c core.hooksPath=/dev/null -c core.fsmonitor=false add -A && git -c "
		"core.hooksPath=/dev/null -c core.fsmonitor=false commit -q -m x && git "
		"rev-parse HEAD && rm -f ../ran");
	assert_int_equal(repository_open(&world->repository, &err), 0);
	assert_same(poll_branch(world, "main"), commit);
	assert_text(read_file(world, commit, "x"), "x\n");
	assert_text(run_script(world, "ls .."), "clone\nsource");
}

static void test_links_and_submodules(void **state)
{
	const struct world *world = *state;
	struct span commit;
	struct field_list files;
	struct err err;

	run_script(world,
		"ln -s /etc/passwd outside && mkdir web && ln -s ../../../etc/passwd web/up && "
		"ln -s web folder && echo x >web/x && git commit -q --allow-empty -m x && "
		"git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),module");
	commit = run_script(world,
		"git add outside folder web && git commit -q -m links && git rev-parse "
		"HEAD");
	poll_branch(world, "main");
	assert_read_fails(world, commit, SPAN("outside"), -EINVAL,
		"\"outside\" is a symbolic link");
	assert_read_fails(world, commit, SPAN("web/up"), -EINVAL, "symbolic link");
	assert_read_fails(world, commit, SPAN("folder/x"), -ENOENT, "is not in commit");
	assert_read_fails(world, commit, SPAN("module"), -EINVAL, "submodule");
	assert_read_fails(world, commit, SPAN("../source/x"), -EIO, "outside repository");
	assert_int_equal(repository_list(&world->repository, commit, SPAN(""), world->arena, &files,
				 &err),
		0);
	assert_int_equal(files.count, 5);
}

static void test_large_files(void **state)
{
	const struct world *world = *state;
	struct span commit;

	run_script(world,
		"head -c 1048577 /dev/zero >large && head -c 1048576 /dev/zero >allowed && "
		"truncate -s 100M huge");
	commit = commit_all(world, "large");
	poll_branch(world, "main");
	assert_read_fails(world, commit, SPAN("large"), -EFBIG,
		"file \"large\" has 1048577 bytes, more than 1048576");
	assert_read_fails(world, commit, SPAN("huge"), -EFBIG, "104857600 bytes");
	assert_int_equal(read_file(world, commit, "allowed").length, GIT_FILE_MAX);
}

/* Line breaks, quotes, options, bytes that are not UTF-8, and IDs as names of files. */
static void test_odd_names(void **state)
{
	static const char *const names[] = {"a\nb", "a\tb", "\"q\"", "-rf", "\xff\xfe", ":(top)x",
		"*", "0123456789012345678901234567890123456789", ":100644 100644"};
	const struct world *world = *state;
	struct span first = commit_all(world, "first"), commit;
	struct field_list paths, log;
	const struct git_commit *commits;
	struct err err;

	for (size_t i = 0; i < LENGTH(names); i++) {
		const char *path = arena_format(world->arena, "%s/%s", world->url, names[i]).data;
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fprintf(file, "%zu", i);
		fclose(file);
	}
	commit = commit_all(world, "odd names");
	poll_branch(world, "main");
	for (size_t i = 0; i < LENGTH(names); i++) {
		char number[] = {(char)('0' + i), '\0'};

		assert_text(read_file(world, commit, names[i]), number);
	}
	assert_int_equal(repository_changes(&world->repository, first, commit, world->arena, &paths,
				 &err),
		0);
	assert_int_equal(paths.count, LENGTH(names));
	assert_int_equal(repository_log(&world->repository, first, commit, 9, world->arena, &log,
				 &err),
		0);
	commits = log.items;
	assert_int_equal(commits[0].paths.count, LENGTH(names));
	assert_text(commits[0].message, "odd names");
}

/* Locks and temporary packs of a git that was killed do not stop the next one. */
static void test_leftovers(void **state)
{
	const struct world *world = *state;
	struct span commit = commit_all(world, "first");
	struct err err;

	poll_branch(world, "main");
	run_script(world, "cd ../clone && touch config.lock HEAD.lock packed-refs.lock "
			  "refs/slipway/branch/main.lock objects/pack/tmp_pack_x");
	commit = commit_all(world, "second");
	assert_int_equal(repository_open(&world->repository, &err), 0);
	assert_same(poll_branch(world, "main"), commit);
	assert_text(run_script(world, "find ../clone -name '*.lock' -o -name 'tmp_*'"), "");
}

static void test_failures(void **state)
{
	const struct world *world = *state;
	struct repository other = world->repository;
	struct span name = SPAN("main"), commit;
	struct err err;

	other.url = "/no/such/repository";
	assert_int_equal(repository_poll(&other, &name, 1, world->arena, &commit, &err), -EIO);
	/* A protocol that runs a program, had the check of the URL not refused it */
	other.url = memory_format("ext::touch %s/ran", world->folder);
	assert_int_equal(repository_poll(&other, &name, 1, world->arena, &commit, &err), -EIO);
	assert_non_null(strstr(err.message, "not allowed"));
	free((char *)other.url);
	assert_text(run_script(world, "ls .."), "clone\nsource");
	name = SPAN("a b");
	assert_int_equal(repository_poll(&world->repository, &name, 1, world->arena, &commit, &err),
		-EINVAL);
}

/* ---- names ---- */

static void test_urls(void **state)
{
	static const char *const good[] = {"/srv/web.git", "file:///srv/web",
		"https://example.com/web.git", "https://user@example.com/web",
		"ssh://git@example.com:2222/web", "git@example.com:web.git"};
	static const char *const bad[] = {"", "web", "http://example.com/web",
		"git://example.com/web", "ext::sh -c x", "file://host/web",
		"https://user:secret@example.com/web", "https:///web", "ssh://-oProxyCommand=x/web",
		"git@-oProxyCommand=x:web", "-oX@host:web", "x::y", "a@b::c",
		"https://example.com/a\nb", "--upload-pack=x", "/a\tb"};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		if (repository_check_url(span_of(good[i]), NULL) != 0)
			fail_msg("%s is refused", good[i]);
	}
	for (size_t i = 0; i < LENGTH(bad); i++) {
		if (repository_check_url(span_of(bad[i]), NULL) != -EINVAL)
			fail_msg("%s is accepted", bad[i]);
	}
}

static void test_paths(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	static const char *const rows[][3] = {
		{"web", "app.yaml", "web/app.yaml"},
		{"", "app.yaml", "app.yaml"},
		{"web", "../shared/./x", "shared/x"},
		{"apps//web/", "../../x", "x"},
		{"web", "", "web"},
		{"web", "..", ""},
		{"web", "../../x", NULL},
		{"web", "/x", NULL},
		{"..", "x", NULL},
	};
	struct span path;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		int code = repository_join(span_of(rows[i][0]), span_of(rows[i][1]), arena, &path,
			NULL);

		assert_int_equal(code, rows[i][2] ? 0 : -EINVAL);
		if (code == 0)
			assert_text(path, rows[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_poll_and_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blobless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_polls_at_the_same_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_log_and_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_named_commits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept_commits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_program_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_and_submodules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests_name("repository", tests, NULL, NULL);
}
