/*
 * Polls with the real git: which applications a commit has, which of them changed, and what is wrong with the others; and
 * which URLs the configuration allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/poll.h"

#define OUTPUT_MAX 100000
#define FOLDER_SIZE 64
#define PLACES_MAX 8

#define HEAD "apiVersion: pipecd.dev/v1beta1\nkind: KubernetesApp\nspec:\n  name: "
#define PIPELINE "\n  pipeline:\n    stages:\n    - name: WAIT\n      with: {duration: 1s}\n"

struct world {
	char folder[FOLDER_SIZE];
	char *url;
	struct arena *arena;
	struct pipeline_settings settings;
	struct repositories *repositories;
	struct poll_place places[PLACES_MAX];
	struct poll_request request;
};

static struct span run_script(const struct world *world, const char *script)
{
	const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.com", NULL};
	struct child_request request = {
		.arguments = (const char *const[]){"sh", "-ec", script, NULL},
		.environment = environment,
		.folder = world->folder,
		.output_max = OUTPUT_MAX,
	};
	_child_result_ struct child_result result = {0};
	struct span output;
	struct err err;

	if (child_run(child_system(), &request, &result, &err) < 0)
		fail_msg("%s", err.message);
	if (result.exit_code != 0)
		fail_msg("%s: %s", script, result.errors.data ? result.errors.data : "");
	output = buffer_span(&result.output);
	while (output.length > 0 && output.data[output.length - 1] == '\n')
		output.length--;
	return arena_copy_span(world->arena, output);
}

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct repositories_config config = {.children = child_system()};

	snprintf(world->folder, sizeof(world->folder), "/tmp/slipway-poll-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	world->arena = arena_new(0);
	world->url = memory_format("%s/source", world->folder);
	world->settings.repositories = world->folder;
	config.settings = &world->settings;
	config.folder = arena_format(world->arena, "%s/clones", world->folder).data;
	world->repositories = repositories_new(&config);
	world->request = (struct poll_request){.url = span_of(world->url),
		.branch = SPAN("main"),
		.follows = true,
		.path = SPAN(""),
		.commit = SPAN(""),
		.places = world->places};
	run_script(world, "git init -q -b main source");
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	repositories_free(world->repositories);
	run_script(world, "cd / && rm -rf \"$OLDPWD\"");
	arena_free(world->arena);
	free(world->url);
	free(world);
	return 0;
}

static void put(const struct world *world, const char *path, const char *text)
{
	run_script(world,
		arena_format(world->arena,
			"cd source && mkdir -p \"$(dirname '%s')\" && cat > '%s' <<'END'\n%s\nEND",
			path, path, text)
			.data);
}

static void put_application(const struct world *world, const char *folder, const char *name,
	const char *rest)
{
	put(world, arena_format(world->arena, "%s/app.pipecd.yaml", folder).data,
		arena_format(world->arena, HEAD "%s\n%s" PIPELINE, name, rest).data);
}

static struct span commit_all(const struct world *world)
{
	return run_script(world, "cd source && git add -A && git commit -q --allow-empty -m "
				 "Change && git rev-parse HEAD");
}

static const struct json *poll(const struct world *world)
{
	const struct json *result = poll_run(world->repositories, &world->request, 0, world->arena);

	if (json_get(result, "error"))
		fail_msg("%s", json_get_text(result, "error").data);
	return result;
}

static const struct json *find(const struct json *result, const char *folder)
{
	JSON_EACH_ITEM (json_get(result, "applications"), item) {
		if (span_is(json_get_text(item, "folder"), folder))
			return item;
	}
	return NULL;
}

static void assert_text(const struct json *object, const char *name, const char *expected)
{
	struct span text = json_get_text(object, name);

	if (!text.data || !span_is(text, expected))
		fail_msg("%s is \"%.*s\", not \"%s\"", name, (int)text.length,
			text.data ? text.data : "", expected);
}

/* The next poll knows what this one has found. */
static void remember(struct world *world, const struct json *result)
{
	world->request.commit = json_get_text(result, "commit");
	world->request.place_count = 0;
	JSON_EACH_ITEM (json_get(result, "applications"), item)
		world->places[world->request.place_count++] =
			(struct poll_place){.name = json_get_text(item, "name"),
				.folder = json_get_text(item, "folder"),
				.file = json_get_text(item, "file"),
				.seen = json_get_text(result, "commit"),
				.is_found = true,
				.is_valid = span_is(json_get_text(item, "state"), "VALID"),
				.watched = json_get(item, "watched")};
}

/* ---- polls ---- */

static void test_applications_are_found(void **state)
{
	struct world *world = *state;
	const struct json *result, *item;
	struct span commit;

	put_application(world, "web", "web", "  labels: {team: a}");
	put_application(world, "deep/er", "other", "");
	put(world, ".pipe/event.pipecd.yaml", "kind: EventWatcher");
	put(world, "broken/x.pipecd.yaml", HEAD "broken\n  timeout: never");
	put(world, "lambda/app.pipecd.yaml",
		"apiVersion: pipecd.dev/v1beta1\nkind: LambdaApp\nspec:\n  name: fn");
	run_script(world, "ln -s /etc/passwd source/web/link.pipecd.yaml");
	commit = commit_all(world);
	result = poll(world);
	assert_text(result, "commit", commit.data);
	assert_int_equal(json_count(json_get(result, "applications")), 4);
	item = find(result, "web");
	assert_text(item, "name", "web");
	assert_text(item, "state", "VALID");
	assert_text(json_get(item, "labels"), "team", "a");
	assert_text(item, "because", "the application was added");
	assert_true(json_get_bool(item, "deploy", false));
	assert_non_null(json_get_span(json_get(item, "files"), SPAN("app.pipecd.yaml")));
	assert_text(find(result, "deep/er"), "name", "other");
	item = find(result, "broken");
	assert_text(item, "name", "broken");
	assert_text(item, "state", "INVALID_CONFIG");
	assert_true(span_starts_with(json_get_text(item, "problem"),
		SPAN("broken/x.pipecd.yaml:5: ")));
	assert_false(json_get_bool(item, "deploy", false));
	assert_text(find(result, "lambda"), "state", "UNDEPLOYABLE");

	/* Nothing is read again without a new commit. */
	remember(world, result);
	assert_int_equal(json_count(json_get(poll(world), "applications")), 0);
}

static void test_changes(void **state)
{
	struct world *world = *state;
	const struct json *result;

	put_application(world, "web", "web",
		"  trigger: {onCommit: {paths: [\"shared/**\"], ignores: [\"web/*.md\"]}}");
	put_application(world, "other", "other", "  trigger: {onCommit: {disabled: true}}");
	commit_all(world);
	remember(world, poll(world));
	put(world, "web/README.md", "text");
	put(world, "other/x", "text");
	commit_all(world);
	result = poll(world);
	assert_text(find(result, "web"), "state", "VALID");
	assert_false(json_get_bool(find(result, "web"), "deploy", false));
	assert_false(json_get_bool(find(result, "other"), "deploy", false));
	put(world, "shared/deep/base.yaml", "a: 1");
	commit_all(world);
	result = poll(world);
	assert_text(find(result, "web"), "because", "shared/deep/base.yaml has changed");
	assert_int_equal(json_count(json_get(find(result, "web"), "changed")), 3);
	/* The commit that was seen is not in the repository any more. */
	run_script(world,
		"cd source && git checkout -q --orphan new && git commit -q -m New && git "
		"branch -M new main && git reflog expire --expire=now --all && git gc "
		"-q --prune=now");
	world->places[0].seen = SPAN("0123456789012345678901234567890123456789");
	world->places[1].seen = world->places[0].seen;
	result = poll(world);
	assert_text(find(result, "web"), "because", "the branch was rewritten");
}

/* Their files are not read: an error in one would be seen. */
static void test_applications_that_no_change_concerns(void **state)
{
	struct world *world = *state;
	const struct json *result;

	put_application(world, "a", "a", "  trigger: {onCommit: {paths: [\"*.txt\"]}}");
	put_application(world, "b", "b", "");
	commit_all(world);
	remember(world, poll(world));
	put(world, "b/x", "text");
	commit_all(world);
	result = poll(world);
	assert_int_equal(json_count(json_get(result, "applications")), 2);
	assert_true(json_get_bool(json_item(json_get(result, "applications"), 0), "unchanged",
		false));
	assert_text(find(result, "b"), "because", "b/x has changed");
	put(world, "all.txt", "text");
	commit_all(world);
	assert_text(find(poll(world), "a"), "because", "all.txt has changed");
}

static void test_files_of_other_folders(void **state)
{
	struct world *world = *state;
	const char *file = "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  name: web\n"
			   "  input: {taskDefinitionFile: %s}";
	const struct json *result;

	put(world, "web/app.pipecd.yaml",
		arena_format(world->arena, file, "../shared/task.yaml").data);
	put(world, "shared/task.yaml", "family: web\ncontainerDefinitions: [{name: a, image: b}]");
	commit_all(world);
	result = poll(world);
	assert_text(find(result, "web"), "state", "VALID");
	assert_non_null(json_get_span(json_get(find(result, "web"), "files"),
		SPAN("../shared/task.yaml")));
	remember(world, result);
	put(world, "shared/task.yaml", "family: web\ncontainerDefinitions: [{name: a, image: c}]");
	commit_all(world);
	assert_text(find(poll(world), "web"), "because", "shared/task.yaml has changed");
	put(world, "web/app.pipecd.yaml",
		arena_format(world->arena, file, "../../etc/passwd").data);
	commit_all(world);
	assert_text(find(poll(world), "web"), "state", "INVALID_CONFIG");
	put(world, "web/app.pipecd.yaml", arena_format(world->arena, file, "absent.yaml").data);
	commit_all(world);
	assert_text(find(poll(world), "web"), "problem",
		"web/absent.yaml: the file does not exist");
	run_script(world, "ln -s /etc/passwd source/web/absent.yaml");
	commit_all(world);
	assert_text(find(poll(world), "web"), "problem",
		"web/absent.yaml: a symbolic link, which is not followed");
	run_script(world, "cd source/web && rm absent.yaml && printf '\\377' > absent.yaml");
	commit_all(world);
	assert_text(find(poll(world), "web"), "problem", "web/absent.yaml: is not text in UTF-8");
	/* Fixed: deployed, whatever changed. */
	world->places[0].is_valid = false;
	put(world, "web/app.pipecd.yaml",
		arena_format(world->arena, file, "../shared/task.yaml").data);
	commit_all(world);
	assert_text(find(poll(world), "web"), "because", "its files were fixed");
}

static void test_a_branch_that_does_not_exist(void **state)
{
	struct world *world = *state;

	commit_all(world);
	world->request.branch = SPAN("absent");
	assert_text(poll_run(world->repositories, &world->request, 0, world->arena), "error",
		"the repository has no branch \"absent\"");
}

static void test_commits_are_kept_while_they_are_used(void **state)
{
	struct world *world = *state;
	struct span first, second, used[1];
	const char *list = "git --git-dir=\"$(echo clones/*)\" for-each-ref "
			   "--format='%(refname:lstrip=3)' refs/slipway/kept/";

	put_application(world, "web", "web", "");
	first = commit_all(world);
	remember(world, poll(world));
	put(world, "web/x", "1");
	second = commit_all(world);
	remember(world, poll(world));
	assert_non_null(strstr(run_script(world, list).data, first.data));
	assert_non_null(strstr(run_script(world, list).data, second.data));
	used[0] = second;
	world->request.used = used;
	world->request.used_count = 1;
	poll(world);
	assert_true(span_equal(run_script(world, list), second));
}

/* ---- URLs ---- */

static void test_allowed_urls(void **state)
{
	static const struct {
		const char *configured, *url;
		int code;
	} rows[] = {
		{NULL, "https://git.example.com/a", 0},
		{NULL, "git@git.example.com:a", 0},
		{NULL, "/srv/git/a", -EACCES},
		{NULL, "file:///srv/git/a", -EACCES},
		{NULL, "ext::sh", -EINVAL},
		{"/srv/git", "/srv/git/a", 0},
		{"/srv/git", "/srv/git", 0},
		{"/srv/git", "/srv/git-secret/a", -EACCES},
		{"/srv/git", "/srv/git/../secret", -EACCES},
		{"/srv/git", "/etc", -EACCES},
		{"/srv/git", "https://git.example.com/a", -EACCES},
		{"https://git.example.com/team, /srv/", "https://git.example.com/team/a", 0},
		{"https://git.example.com/team, /srv/", "https://git.example.com/team-b", -EACCES},
		{"https://git.example.com/team, /srv/", "/srv/x", 0},
		{"https://git.example.com/team", "https://git.example.com/team/%2e%2e/b", -EACCES},
		{"https://git.example.com", "https://git.example.com.evil.org/a", -EACCES},
		{"git@git.example.com:team", "git@git.example.com:team/a", 0},
		{"git@git.example.com:", "git@git.example.com:team/a", 0},
		{" ,", "https://git.example.com/a", -EACCES},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pipeline_settings settings = {.repositories = rows[i].configured};
		struct err err = {0};

		if (repositories_check_url(&settings, span_of(rows[i].url), &err) != rows[i].code)
			fail_msg("\"%s\" with \"%s\": %s", rows[i].url,
				rows[i].configured ? rows[i].configured : "", err.message);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_applications_are_found),
		TEST(test_changes),
		TEST(test_applications_that_no_change_concerns),
		TEST(test_files_of_other_folders),
		TEST(test_a_branch_that_does_not_exist),
		TEST(test_commits_are_kept_while_they_are_used),
		cmocka_unit_test(test_allowed_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
