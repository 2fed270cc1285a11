/*
 * Control groups of every kind: detection from the mounts, and the values written. Files stand in
 * for hierarchies that this machine does not have; process_containers_test.c tests that limits hold
 * on those that it has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/cgroup.h"

#define V1(controllers, path)                                                                      \
	"30 29 0:26 / " path " rw,relatime - cgroup cgroup rw," controllers "\n"
#define OTHER "22 1 8:1 / / rw,relatime - ext4 /dev/vda rw\n"

static char *folder;

static int set_up(void **state)
{
	(void)state;
	folder = memory_format("%s/slipway-cgroup-XXXXXX",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
	(void)about;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
	return 0;
}

static void put(const char *path, const char *text)
{
	_free_ char *whole = memory_format("%s/%s", folder, path);
	struct err err;

	if (file_replace(whole, span_of(text), 0600, &err) < 0)
		fail_msg("%s", err.message);
}

static void make(const char *path)
{
	_free_ char *whole = memory_format("%s/%s", folder, path);
	struct err err;

	if (file_make_folder(whole, 0700, &err) < 0)
		fail_msg("%s", err.message);
}

static void expect(const char *path, const char *text)
{
	_free_ char *whole = memory_format("%s/%s", folder, path);
	_buffer_ struct buffer found = BUFFER_WITH_CAP(4096);
	struct err err;

	if (file_read(whole, 4000, &found, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(found.data, text);
}

static struct cgroup_mounts read_mounts(const char *format, ...)
{
	struct cgroup_mounts mounts;
	_free_ char *text = NULL;
	va_list list;

	va_start(list, format);
	assert_true(vasprintf(&text, format, list) >= 0);
	va_end(list);
	cgroup_read_mounts(text, &mounts);
	return mounts;
}

static void test_none(void **state)
{
	struct cgroup_mounts mounts = read_mounts(OTHER);

	(void)state;
	assert_int_equal(mounts.memory.kind, CGROUP_NONE);
	assert_int_equal(mounts.cpu.kind, CGROUP_NONE);
	/* A hierarchy of other controllers is none of ours. */
	mounts = read_mounts(OTHER V1("cpuset", "/c/cpuset") V1("pids", "/c/pids") "nonsense\n");
	assert_int_equal(mounts.cpu.kind, CGROUP_NONE);
}

static void test_v1(void **state)
{
	struct cgroup_mounts mounts =
		read_mounts(OTHER V1("cpu,cpuacct", "/c/cpu") V1("memory", "/c/memory"));

	(void)state;
	assert_int_equal(mounts.memory.kind, CGROUP_V1);
	assert_string_equal(mounts.memory.path, "/c/memory");
	assert_int_equal(mounts.cpu.kind, CGROUP_V1);
	assert_string_equal(mounts.cpu.path, "/c/cpu");
}

static void test_v2_and_hybrid(void **state)
{
	struct cgroup_mounts mounts;

	(void)state;
	put("cgroup.controllers", "cpuset cpu io memory pids\n");
	mounts = read_mounts(OTHER "31 29 0:27 / %s rw - cgroup2 cgroup2 rw\n", folder);
	assert_int_equal(mounts.memory.kind, CGROUP_V2);
	assert_int_equal(mounts.cpu.kind, CGROUP_V2);
	assert_string_equal(mounts.cpu.path, folder);
	/* Hybrid: what v1 has is not in the list of v2. */
	put("cgroup.controllers", "cpu\n");
	mounts = read_mounts(OTHER V1("memory",
				     "/c/memory") "31 29 0:27 / %s rw - cgroup2 cgroup2 rw\n",
		folder);
	assert_int_equal(mounts.memory.kind, CGROUP_V1);
	assert_int_equal(mounts.cpu.kind, CGROUP_V2);
	/* A v2 hierarchy without controllers is of no use. */
	put("cgroup.controllers", "\n");
	mounts = read_mounts("31 29 0:27 / %s rw - cgroup2 cgroup2 rw\n", folder);
	assert_int_equal(mounts.memory.kind, CGROUP_NONE);
}

static struct plan *limited_plan(struct arena *arena)
{
	struct plan *plan = arena_allocate(arena, sizeof(*plan));

	plan->token = SPAN("t1");
	plan->cpu = 512;
	plan->memory = 256;
	plan->container_count = 1;
	plan->containers[0].name = SPAN("app");
	plan->containers[0].cpu = 128;
	plan->containers[0].memory = 64;
	return plan;
}

static void test_v2_limits_are_written(void **state)
{
	static const char *const groups[] = {"", "slipway/", "slipway/t1/", "slipway/t1/app/"};
	static const char *const files[] = {
		"cgroup.subtree_control", "memory.max", "cpu.max", "cpu.weight"};
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer notes = {0};
	struct cgroup_mounts mounts;

	(void)state;
	put("cgroup.controllers", "cpu memory\n");
	make("slipway/t1/app");
	for (size_t i = 0; i < LENGTH(groups); i++)
		for (size_t j = 0; j < LENGTH(files); j++) {
			_free_ char *path = memory_format("%s%s", groups[i], files[j]);

			put(path, "");
		}
	mounts = read_mounts("31 29 0:27 / %s rw - cgroup2 cgroup2 rw\n", folder);
	cgroup_make(&mounts, limited_plan(arena), &notes);
	assert_int_equal(notes.length, 0);
	expect("slipway/t1/memory.max", "268435456");
	expect("slipway/t1/cpu.max", "50000 100000");
	expect("slipway/t1/app/memory.max", "67108864");
	expect("slipway/t1/app/cpu.weight", "5");
	/* Both controllers are handed down, and not to the containers' own groups. */
	expect("slipway/t1/app/cgroup.subtree_control", "");
}

static void test_what_cannot_be_set_is_noted(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer notes = {0};
	struct cgroup_mounts mounts = {0};

	(void)state;
	cgroup_make(&mounts, limited_plan(arena), &notes);
	assert_non_null(strstr(notes.data, "memory is reserved, not limited: no control group"));
	assert_non_null(strstr(notes.data, "cpu is reserved, not limited: no control group"));
	buffer_reset(&notes);
	/* The hierarchy does not take controllers. */
	put("cgroup.controllers", "cpu memory\n");
	mounts = read_mounts("31 29 0:27 / %s rw - cgroup2 cgroup2 rw\n", folder);
	cgroup_make(&mounts, limited_plan(arena), &notes);
	assert_int_equal(mounts.memory.kind, CGROUP_NONE);
	assert_non_null(strstr(notes.data, "memory is reserved, not limited: No such file"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_none),
		TEST(test_v1),
		TEST(test_v2_and_hybrid),
		TEST(test_v2_limits_are_written),
		TEST(test_what_cannot_be_set_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
