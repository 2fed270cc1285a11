/* A store in a folder of its own for one test: memory or SQLite, with a writer's thread or inline. */
#ifndef STORE_TEST_STORE_H
#define STORE_TEST_STORE_H

#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/test_kinds.h"

struct test_store {
	bool durable;
	char folder[64];
	char path[128];
	char key_path[128];
	char url[160];
	struct store_config config; /* tests may change it before they open */
	struct store *store;
	pthread_mutex_t reports_lock; /* two stores of one test have two writers */
	struct buffer reports;        /* a line each */
};

static inline void test_store_report(void *context, const char *message)
{
	struct test_store *test = context;

	pthread_mutex_lock(&test->reports_lock);
	buffer_add_string(&test->reports, message);
	buffer_add_char(&test->reports, '\n');
	pthread_mutex_unlock(&test->reports_lock);
}

static inline struct test_store *test_store_new(bool durable, bool inline_writes)
{
	struct test_store *test = memory_allocate(sizeof(*test));

	test->durable = durable;
	pthread_mutex_init(&test->reports_lock, NULL);
	snprintf(test->folder, sizeof(test->folder), "%s/slipway-store-XXXXXX", P_tmpdir);
	if (!mkdtemp(test->folder))
		abort();
	snprintf(test->path, sizeof(test->path), "%s/store", test->folder);
	snprintf(test->key_path, sizeof(test->key_path), "%s/key", test->folder);
	snprintf(test->url, sizeof(test->url), durable ? "sqlite:%s" : "memory:", test->path);
	test->config = (struct store_config){
		.url = test->url,
		.key_path = test->key_path,
		.kinds = test_kinds,
		.kind_count = LENGTH(test_kinds),
		.inline_writes = inline_writes,
		.report = test_store_report,
		.report_context = test,
	};
	return test;
}

static inline struct store *test_store_open(struct test_store *test)
{
	struct err err = {0};

	if (store_open(&test->config, &test->store, &err) < 0) {
		fprintf(stderr, "store_open: %s\n", err.message);
		abort();
	}
	return test->store;
}

static inline struct store *test_store_reopen(struct test_store *test)
{
	store_close(TAKE(test->store));
	return test_store_open(test);
}

static inline void test_store_free(struct test_store *test)
{
	DIR *folder;
	struct dirent *file;

	store_close(test->store);
	buffer_clear(&test->reports);
	pthread_mutex_destroy(&test->reports_lock);
	folder = opendir(test->folder);
	while (folder && (file = readdir(folder)))
		unlinkat(dirfd(folder), file->d_name, 0); /* "." and ".." stay */
	if (folder)
		closedir(folder);
	rmdir(test->folder);
	free(test);
}

/* ---- for cmocka: a test with a store as its state ---- */

static inline int test_on_memory(void **state)
{
	*state = test_store_new(false, false);
	return 0;
}

static inline int test_on_memory_inline(void **state)
{
	*state = test_store_new(false, true);
	return 0;
}

static inline int test_on_sqlite(void **state)
{
	*state = test_store_new(true, false);
	return 0;
}

static inline int test_on_sqlite_inline(void **state)
{
	*state = test_store_new(true, true);
	return 0;
}

static inline int test_store_teardown(void **state)
{
	test_store_free(*state);
	return 0;
}

#define TEST_ON(test, where)                                                                       \
	{                                                                                          \
#test " on " #where, test, test_on_##where, test_store_teardown, NULL              \
	}
#define TEST_ON_ALL(test)                                                                          \
	TEST_ON(test, memory), TEST_ON(test, memory_inline), TEST_ON(test, sqlite),                \
		TEST_ON(test, sqlite_inline)

#endif
