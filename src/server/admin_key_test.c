/* The admin key: made once, private, the file is the master copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aws/access_key.h"
#include "base/file.h"
#include "base/memory.h"
#include "server/admin_key.h"

#define ACCOUNT "123456789012"

static const struct store_kind *const kinds[] = {&access_key_kind};

struct fixture {
	char folder[64];
	char path[128];
	struct store *store;
};

static void open_store(struct fixture *fixture)
{
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.inline_writes = true};
	struct err err;

	if (store_open(&config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-admin-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/%s", fixture->folder, ADMIN_KEY_FILE);
	open_store(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	store_close(fixture->store);
	unlink(fixture->path);
	rmdir(fixture->folder);
	free(fixture);
	return 0;
}

static int open_key(struct fixture *fixture, const char *folder, const char *account,
	struct admin_key *ret_key, struct err *err)
{
	return admin_key_open(fixture->store, folder, account, random_system(), clock_system(),
		ret_key, err);
}

static void must_open(struct fixture *fixture, const char *folder, struct admin_key *ret_key)
{
	struct err err;

	if (open_key(fixture, folder, ACCOUNT, ret_key, &err) < 0)
		fail_msg("%s", err.message);
}

static void assert_known(struct fixture *fixture, const struct admin_key *key)
{
	_view_ struct store_view *view = store_view_open(fixture->store);
	const struct store_object *object = store_get(view, &access_key_kind, span_of(key->id));
	const struct access_key_facts *facts;

	assert_non_null(object);
	facts = object->facts;
	assert_true(span_is(facts->secret, key->secret));
	assert_true(span_is(facts->account, ACCOUNT));
	assert_true(span_is(facts->user, "admin"));
	assert_null(facts->policy.data);
}

static void is_made_once(void **state)
{
	struct fixture *fixture = *state;
	struct admin_key first, second, read;
	struct stat status;
	struct err err;

	must_open(fixture, fixture->folder, &first);
	assert_true(first.created);
	assert_string_equal(first.path, fixture->path);
	assert_known(fixture, &first);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);

	must_open(fixture, fixture->folder, &second);
	assert_false(second.created);
	assert_string_equal(second.id, first.id);
	assert_string_equal(second.secret, first.secret);
	assert_int_equal(admin_key_read(fixture->path, &read, &err), 0);
	assert_string_equal(read.secret, first.secret);
	assert_string_equal(read.account, ACCOUNT);
	admin_key_clear(&first);
	assert_int_equal(first.secret[0], 0);
	assert_null(first.path);
	admin_key_clear(&second);
	admin_key_clear(&read);
}

/* A new database gets the key from the file: read access to the folder is always enough. */
static void a_new_store_is_reported(void **state)
{
	struct fixture *fixture = *state;
	struct admin_key first, second;

	must_open(fixture, fixture->folder, &first);
	store_close(fixture->store);
	open_store(fixture);
	must_open(fixture, fixture->folder, &second);
	assert_string_equal(second.id, first.id);
	assert_known(fixture, &first);
	admin_key_clear(&first);
	admin_key_clear(&second);
}

static void without_a_folder_it_is_kept_nowhere(void **state)
{
	struct fixture *fixture = *state;
	struct admin_key first, second;

	must_open(fixture, NULL, &first);
	must_open(fixture, NULL, &second);
	assert_null(first.path);
	assert_string_not_equal(first.id, second.id);
	assert_string_not_equal(first.secret, second.secret);
	assert_known(fixture, &first);
	assert_known(fixture, &second);
	admin_key_clear(&first);
	admin_key_clear(&second);
}

static void does_not_change_its_account(void **state)
{
	struct fixture *fixture = *state;
	struct admin_key key, other;
	struct err err;

	must_open(fixture, fixture->folder, &key);
	assert_int_equal(open_key(fixture, fixture->folder, "000000000001", &other, &err), -EINVAL);
	assert_non_null(strstr(err.message, "is of account " ACCOUNT ", not 000000000001"));
	admin_key_clear(&key);
}

/* A damaged file is reported, and never silently replaced by a new key. */
static void a_damaged_file_is_reported(void **state)
{
#define KEY(id, secret, account)                                                                   \
	"{\"accessKeyId\":" id ",\"secretAccessKey\":" secret ",\"account\":" account "}"
	static const char *const texts[] = {
		"",
		"nonsense",
		"[]",
		"{}",
		KEY("\"\"", "\"s\"", "\"" ACCOUNT "\""),
		KEY("\"A\\nB\"", "\"s\"", "\"" ACCOUNT "\""),
		KEY("\"A\"", "\"s\\nuser root\"", "\"" ACCOUNT "\""),
		KEY("\"A\"", "7", "\"" ACCOUNT "\""),
		KEY("\"A\"", "\"s\"", "null"),
		KEY("\"A123456789012345678901234567890123\"", "\"s\"", "\"" ACCOUNT "\""),
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(texts); i++) {
		_buffer_ struct buffer after = {0};
		struct admin_key key;
		struct err err;

		assert_int_equal(file_replace(fixture->path, span_of(texts[i]), 0600, &err), 0);
		if (open_key(fixture, fixture->folder, ACCOUNT, &key, &err) == 0)
			fail_msg("not refused: %s", texts[i]);
		assert_non_null(strstr(err.message, "admin key: "));
		assert_non_null(strstr(err.message, fixture->path));
		assert_int_equal(file_read(fixture->path, 4096, &after, &err), 0);
		assert_true(span_is(buffer_span(&after), texts[i]));
	}
}

static void a_missing_folder_is_reported(void **state)
{
	struct fixture *fixture = *state;
	struct admin_key key;
	struct err err;

	assert_int_equal(open_key(fixture, "/nonexistent/folder", ACCOUNT, &key, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/folder/" ADMIN_KEY_FILE));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_made_once),
		TEST(a_new_store_is_reported),
		TEST(without_a_folder_it_is_kept_nowhere),
		TEST(does_not_change_its_account),
		TEST(a_damaged_file_is_reported),
		TEST(a_missing_folder_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
