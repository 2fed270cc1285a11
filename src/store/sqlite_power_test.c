/*
 * Power cuts. A kill leaves to the kernel what a process wrote; a power cut leaves what was synced, and of
 * the rest whatever the disk happened to have written: any of it, in any order, torn at sectors. Here
 * SQLite writes through a disk of ours that remembers what is synced and what is not. At some operation
 * the power goes; what the disk might hold then is put into new files, and a store opened on them must
 * have every acknowledged write whole, and nothing but what was written.
 *
 * A test that finds nothing may be blind: on a disk that lies about syncing it must find losses.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

#define SECTOR 512
#define TEXT_MAX 150000

/* ---- the disk ---- */

struct pending {
	struct pending *next;
	sqlite3_int64 at;
	size_t length;
	bool truncates; /* to `at` */
	unsigned char data[];
};

struct disk_file {
	struct buffer synced;
	struct pending *first, **end;
};

enum disk_file_name { MAIN, WAL, JOURNAL, FILE_COUNT };
static const char *const suffixes[] = {[MAIN] = "", [WAL] = "-wal", [JOURNAL] = "-journal"};

static struct disk {
	struct disk_file files[FILE_COUNT];
	bool lies; /* says that it synced, and did not */
	bool off;
	long operations, off_at;
} disk;

static void file_forget_pending(struct disk_file *file)
{
	while (file->first) {
		struct pending *next = file->first->next;

		free(file->first);
		file->first = next;
	}
	file->end = &file->first;
}

static void disk_reset(void)
{
	for (int i = 0; i < FILE_COUNT; i++) {
		file_forget_pending(&disk.files[i]);
		buffer_clear(&disk.files[i].synced);
	}
	disk.lies = disk.off = false;
	disk.operations = 0;
	disk.off_at = LONG_MAX;
}

/* False: the power is off, or has just gone. */
static bool disk_has_power(void)
{
	if (disk.operations++ >= disk.off_at)
		disk.off = true;
	return !disk.off;
}

static void buffer_set_length(struct buffer *buffer, size_t length)
{
	static const char zeros[4096];

	while (buffer->length < length) {
		size_t missing = length - buffer->length;

		buffer_add(buffer, zeros, missing < sizeof(zeros) ? missing : sizeof(zeros));
	}
	buffer->length = length;
}

/* Applies a change: all of it, or its first `length` bytes. */
static void file_apply(struct buffer *content, const struct pending *pending, size_t length)
{
	if (pending->truncates) {
		if (content->length > (size_t)pending->at)
			content->length = (size_t)pending->at;
		return;
	}
	if (length == 0)
		return;
	if (content->length < (size_t)pending->at + length)
		buffer_set_length(content, (size_t)pending->at + length);
	memcpy(content->data + pending->at, pending->data, length);
}

static void file_add(struct disk_file *file, sqlite3_int64 at, const void *data, size_t length,
	bool truncates)
{
	struct pending *pending = memory_allocate(sizeof(*pending) + length);

	*pending = (struct pending){.at = at, .length = length, .truncates = truncates};
	if (length > 0)
		memcpy(pending->data, data, length);
	*file->end = pending;
	file->end = &pending->next;
}

static void file_sync(struct disk_file *file)
{
	if (disk.lies)
		return;
	for (struct pending *pending = file->first; pending; pending = pending->next)
		file_apply(&file->synced, pending, pending->length);
	file_forget_pending(file);
}

/* Computes the file after a power cut: each unsynced change survives at random. */
static void file_after_cut(struct disk_file *file, struct random *random)
{
	for (struct pending *pending = file->first; pending; pending = pending->next) {
		size_t sectors = (pending->length + SECTOR - 1) / SECTOR, kept;

		switch (random_below(random, 3)) {
		case 0: continue;
		case 1: kept = pending->length; break;
		default: kept = sectors > 0 ? random_below(random, sectors) * SECTOR : 0;
		}
		file_apply(&file->synced, pending, kept);
	}
	file_forget_pending(file);
}

/* ---- the disk as SQLite sees it: everything also goes to the real files, for reading ---- */

static sqlite3_vfs *real_vfs, power_vfs;

struct power_file {
	sqlite3_file base;
	struct disk_file *file;
	sqlite3_file *real;
};

static struct power_file *power_of(sqlite3_file *file)
{
	return (struct power_file *)file;
}

#define REAL(file, method, ...)                                                                    \
	power_of(file)->real->pMethods->method(power_of(file)->real, ##__VA_ARGS__)

static int power_close(sqlite3_file *file)
{
	return REAL(file, xClose);
}

static int power_read(sqlite3_file *file, void *out, int length, sqlite3_int64 at)
{
	return REAL(file, xRead, out, length, at);
}

static int power_write(sqlite3_file *file, const void *data, int length, sqlite3_int64 at)
{
	if (!disk_has_power())
		return SQLITE_IOERR_WRITE;
	file_add(power_of(file)->file, at, data, (size_t)length, false);
	return REAL(file, xWrite, data, length, at);
}

static int power_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	if (!disk_has_power())
		return SQLITE_IOERR_TRUNCATE;
	file_add(power_of(file)->file, size, NULL, 0, true);
	return REAL(file, xTruncate, size);
}

static int power_sync(sqlite3_file *file, int flags)
{
	(void)flags;
	if (!disk_has_power())
		return SQLITE_IOERR_FSYNC;
	file_sync(power_of(file)->file);
	return SQLITE_OK;
}

static int power_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	return REAL(file, xFileSize, ret_size);
}

static int power_lock(sqlite3_file *file, int lock)
{
	return REAL(file, xLock, lock);
}

static int power_unlock(sqlite3_file *file, int lock)
{
	return REAL(file, xUnlock, lock);
}

static int power_check_lock(sqlite3_file *file, int *ret_locked)
{
	return REAL(file, xCheckReservedLock, ret_locked);
}

static int power_control(sqlite3_file *file, int operation, void *argument)
{
	/* None of it: some of them write past this disk. */
	(void)file;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int power_sector(sqlite3_file *file)
{
	return REAL(file, xSectorSize);
}

static int power_characteristics(sqlite3_file *file)
{
	return REAL(file, xDeviceCharacteristics) & SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods power_methods = {
	.iVersion = 1, /* no shared memory, no mapping: the store needs neither */
	.xClose = power_close,
	.xRead = power_read,
	.xWrite = power_write,
	.xTruncate = power_truncate,
	.xSync = power_sync,
	.xFileSize = power_size,
	.xLock = power_lock,
	.xUnlock = power_unlock,
	.xCheckReservedLock = power_check_lock,
	.xFileControl = power_control,
	.xSectorSize = power_sector,
	.xDeviceCharacteristics = power_characteristics,
};

static struct disk_file *file_of(const char *path)
{
	for (int i = FILE_COUNT - 1; i > 0; i--)
		if (strlen(path) > strlen(suffixes[i]) &&
			strcmp(path + strlen(path) - strlen(suffixes[i]), suffixes[i]) == 0)
			return &disk.files[i];
	return &disk.files[MAIN];
}

static int power_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
	int *ret_flags)
{
	struct power_file *power = power_of(file);
	int code;

	(void)vfs;
	assert_non_null(path); /* a temporary file would be somewhere else */
	power->base.pMethods = NULL;
	power->file = file_of(path);
	power->real = (sqlite3_file *)(power + 1);
	code = real_vfs->xOpen(real_vfs, path, power->real, flags, ret_flags);
	if (power->real->pMethods)
		power->base.pMethods = &power_methods;
	return code;
}

static int power_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
	(void)vfs;
	if (!disk_has_power())
		return SQLITE_IOERR_DELETE;
	file_forget_pending(file_of(path));
	buffer_clear(&file_of(path)->synced);
	return real_vfs->xDelete(real_vfs, path, sync_folder);
}

static int set_up(void **state)
{
	(void)state;
	real_vfs = sqlite3_vfs_find(NULL);
	power_vfs = *real_vfs;
	power_vfs.zName = "power";
	power_vfs.szOsFile = (int)sizeof(struct power_file) + real_vfs->szOsFile;
	power_vfs.xOpen = power_open;
	power_vfs.xDelete = power_delete;
	disk_reset();
	return sqlite3_vfs_register(&power_vfs, 0);
}

static int tear_down(void **state)
{
	(void)state;
	disk_reset();
	return sqlite3_vfs_unregister(&power_vfs);
}

/* ---- writing until the power goes ---- */

struct pair {
	unsigned number;
	struct span text;
};

/* Two changes that must be there together. */
static int write_pair(struct store_transaction *transaction, void *context, struct err *err)
{
	static const char *const sides[] = {"left", "right"};
	const struct pair *pair = context;

	for (size_t i = 0; i < LENGTH(sides); i++) {
		char key[32];
		int code;

		snprintf(key, sizeof(key), "%s%03u", sides[i], pair->number);
		code = store_put(transaction, &note_kind, span_of(key), pair->text, SPAN(""),
			STORE_ABSENT, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Returns how many writes were acknowledged before the power went, at the latest after the last. */
static unsigned write_until_cut(struct test_store *test, unsigned writes, struct span text,
	long off_at)
{
	unsigned acknowledged = 0;

	sqlite3_vfs_register(&power_vfs, 1);
	test_store_open(test);
	disk.operations = 0;
	disk.off_at = off_at;
	while (acknowledged < writes) {
		struct pair pair = {acknowledged, text};

		if (store_write_wait(test->store, write_pair, &pair, NULL, NULL) < 0)
			break;
		acknowledged++;
	}
	disk.off = true;
	store_close(TAKE(test->store));
	sqlite3_vfs_register(real_vfs, 1);
	return acknowledged;
}

/* Is everything there that was acknowledged, whole, and at most the one write more that was under way? */
static bool holds(struct test_store *after, unsigned acknowledged, struct span text)
{
	_view_ struct store_view *view = NULL;
	uint64_t left;

	if (store_open(&after->config, &after->store, NULL) < 0)
		return false;
	view = store_view_open(after->store);
	left = store_count(view, &note_kind, -1, SPAN("left"), false);
	if (after->reports.length > 0 || left < acknowledged || left > acknowledged + 1 ||
		left != store_count(view, &note_kind, -1, SPAN("right"), false) ||
		store_view_revision(view) != 2 * left)
		return false;
	for (uint64_t i = 0; i < left; i++) {
		const struct store_object *object;
		char key[32];

		snprintf(key, sizeof(key), "right%03u", (unsigned)i);
		object = store_get(view, &note_kind, span_of(key));
		if (!object || !span_equal(object->api, text))
			return false;
	}
	return true;
}

/* One life: write, power cut, open what is left. */
static bool survives(uint64_t seed, unsigned writes, size_t text_length, long operations, bool lies)
{
	struct test_store *before = test_store_new(true, true), *after = test_store_new(true, true);
	struct random_seeded random;
	_free_ char *text = memory_allocate(text_length);
	struct span text_span = {memset(text, 'x', text_length), text_length};
	unsigned acknowledged;
	bool fine;

	random_seeded_init(&random, seed);
	disk_reset();
	disk.lies = lies;
	acknowledged = write_until_cut(before, writes, text_span,
		(long)random_below(&random.random, (uint64_t)operations));
	for (int i = 0; i < FILE_COUNT; i++) {
		_free_ char *path = memory_format("%s%s", after->path, suffixes[i]);
		struct err err;

		file_after_cut(&disk.files[i], &random.random);
		if (disk.files[i].synced.length > 0)
			assert_int_equal(file_replace(path, buffer_span(&disk.files[i].synced),
						 0600, &err),
				0);
	}
	after->config.key_path = before->key_path;
	fine = holds(after, acknowledged, text_span);
	test_store_free(after);
	test_store_free(before);
	return fine;
}

static void what_was_acknowledged_survives(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++)
		if (!survives(seed, 30, 100, 230, false))
			fail_msg("seed %llu", (unsigned long long)seed);
}

/* Large texts, so that the WAL is copied into the database on the way. */
static void checkpoints_survive(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		if (!survives(seed, 40, TEXT_MAX, 8400, false))
			fail_msg("seed %llu", (unsigned long long)seed);
}

static void a_disk_that_lies_is_found_out(void **state)
{
	int lost = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		lost += !survives(seed, 30, 100, 230, true);
	assert_true(lost > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_acknowledged_survives),
		cmocka_unit_test(checkpoints_survive),
		cmocka_unit_test(a_disk_that_lies_is_found_out),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
