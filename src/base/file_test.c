/* Files, in a folder of the test's own that is gone afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static char folder[64];

static int make_test_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/slipway-file-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_test_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* fails if a test left something behind */
}

static char *path_of(const char *name)
{
	return memory_format("%s/%s", folder, name);
}

static void test_read_and_replace(void **state)
{
	_free_ char *path = path_of("note");
	_buffer_ struct buffer text = {0};
	struct stat status;
	struct err err;

	(void)state;
	assert_int_equal(file_read(path, 100, &text, &err), -ENOENT);
	assert_non_null(strstr(err.message, path));
	assert_int_equal(file_replace(path, SPAN("first"), 0600, &err), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(file_replace(path, SPAN("second\0text"), 0644, &err), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	buffer_add_string(&text, ">");
	assert_int_equal(file_read(path, 11, &text, &err), 0);
	assert_int_equal(text.length, 12);
	assert_memory_equal(text.data, ">second\0text", 13);
	unlink(path);
}

static void test_read_has_a_limit(void **state)
{
	_free_ char *path = path_of("large");
	_free_ char *content = memory_allocate(300000);
	_buffer_ struct buffer text = {0};
	_buffer_ struct buffer small = BUFFER_WITH_CAP(1000);
	struct err err;

	(void)state;
	assert_int_equal(file_replace(path, (struct span){content, 300000}, 0600, &err), 0);
	assert_int_equal(file_read(path, 299999, &text, &err), -EFBIG);
	assert_int_equal(text.length, 0);
	assert_int_equal(file_read(path, 300000, &text, &err), 0);
	assert_int_equal(text.length, 300000);
	assert_int_equal(file_read(path, 300000, &small, &err), -EFBIG);
	assert_int_equal(file_read(folder, 10, &text, &err), -EISDIR);
	unlink(path);
}

static void test_a_failed_replace_leaves_nothing(void **state)
{
	_free_ char *path = path_of("no/such/folder");
	_free_ char *taken = path_of("taken");
	struct err err;

	(void)state;
	assert_int_equal(file_replace(path, SPAN("x"), 0600, &err), -ENOENT);
	assert_int_equal(mkdir(taken, 0700), 0);
	/* A folder is in the way of the rename; the temporary file must go, which the folder's own
	 * removal at the end of the tests shows. */
	assert_true(file_replace(taken, SPAN("x"), 0600, &err) < 0);
	assert_int_equal(rmdir(taken), 0);
}

static void test_folders(void **state)
{
	_free_ char *one = path_of("a");
	_free_ char *two = path_of("a/b");
	_free_ char *three = path_of("a/b/c/");
	_free_ char *file = path_of("a/file");
	_free_ char *below = path_of("a/file/x");
	struct stat status;
	struct err err;

	(void)state;
	assert_int_equal(file_make_folder(three, 0700, &err), 0);
	assert_int_equal(file_make_folder(three, 0700, &err), 0);
	assert_int_equal(stat(three, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	assert_int_equal(file_replace(file, SPAN("x"), 0600, &err), 0);
	assert_int_equal(file_make_folder(file, 0700, &err), -ENOTDIR);
	assert_int_equal(file_make_folder(below, 0700, &err), -ENOTDIR);
	unlink(file);
	rmdir(three);
	rmdir(two);
	rmdir(one);
}

static void test_lock(void **state)
{
	_free_ char *path = path_of("lock");
	int descriptor = -1;
	int second = -1;
	int status = 0;
	struct err err;
	pid_t child;

	(void)state;
	assert_int_equal(file_lock(path, &descriptor, &err), 0);
	assert_true(descriptor >= 0);
	child = fork();
	if (child == 0) {
		close(descriptor); /* the lock belongs to the parent's open file */
		_exit(file_lock(path, &second, &err) == -EBUSY ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(descriptor);
	assert_int_equal(file_lock(path, &second, &err), 0);
	close(second);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_and_replace),
		cmocka_unit_test(test_read_has_a_limit),
		cmocka_unit_test(test_a_failed_replace_leaves_nothing),
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
