/* The admin key; see admin_key.h. */
#include "server/admin_key.h"

#include <stdio.h>
#include <unistd.h>

#include "aws/access_key.h"
#include "base/file.h"
#include "base/json.h"

#define FILE_MAX ((size_t)16 * 1024)

/* Characters of keys: none that could be mistaken for the end of a value in another format. */
static bool is_key_text(struct span text, size_t size)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return text.length > 0 && text.length < size;
}

static int read_file(const char *path, struct admin_key *ret_key, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *document;
	struct span id, secret, account;
	int code = file_read(path, FILE_MAX, &text, err);

	if (code < 0)
		return code;
	code = json_parse(buffer_span(&text), arena, &document, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	id = json_get_text(document, "accessKeyId");
	secret = json_get_text(document, "secretAccessKey");
	account = json_get_text(document, "account");
	if (!is_key_text(id, sizeof(ret_key->id)) ||
		!is_key_text(secret, sizeof(ret_key->secret)) ||
		!is_key_text(account, sizeof(ret_key->account)))
		return err_set(err, -EINVAL,
			"%s: must have accessKeyId, secretAccessKey and account", path);
	snprintf(ret_key->id, sizeof(ret_key->id), "%.*s", SPAN_ARGS(id));
	snprintf(ret_key->secret, sizeof(ret_key->secret), "%.*s", SPAN_ARGS(secret));
	snprintf(ret_key->account, sizeof(ret_key->account), "%.*s", SPAN_ARGS(account));
	explicit_bzero(text.data, text.length);
	return 0;
}

int admin_key_read(const char *path, struct admin_key *ret_key, struct err *err)
{
	struct admin_key key = {0};
	int code = read_file(path, &key, err);

	if (code < 0)
		return code;
	key.path = memory_copy_string(path);
	*ret_key = key;
	return 0;
}

static int make(struct admin_key *key, const char *account, struct random *random, struct err *err)
{
	struct access_key_new fresh = {.account = span_of(account), .user = SPAN("admin")};
	int code = access_key_make(&fresh, random, err);

	if (code < 0)
		return code;
	snprintf(key->id, sizeof(key->id), "%s", fresh.id);
	snprintf(key->secret, sizeof(key->secret), "%s", fresh.secret);
	snprintf(key->account, sizeof(key->account), "%s", account);
	key->created = true;
	return 0;
}

static int write_file(const struct admin_key *key, const char *account, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *document = json_new_object(arena);

	json_set_string(arena, document, "accessKeyId", span_of(key->id));
	json_set_string(arena, document, "secretAccessKey", span_of(key->secret));
	json_set_string(arena, document, "account", span_of(account));
	json_set_string(arena, document, "user", SPAN("admin"));
	json_write_pretty(document, &text);
	buffer_add_char(&text, '\n');
	return file_replace(key->path, buffer_span(&text), 0600, err);
}

struct putting {
	struct access_key_new key;
	int64_t now_ms;
};

static int put(struct store_transaction *transaction, void *context, struct err *err)
{
	struct putting *putting = context;

	if (store_get(store_head(transaction), &access_key_kind, span_of(putting->key.id)))
		return 0;
	return access_key_put(transaction, &putting->key, putting->now_ms, err);
}

static int report_store(struct store *store, const struct admin_key *key, struct clock *clock,
	struct err *err)
{
	struct putting putting = {.key = {.account = span_of(key->account), .user = SPAN("admin")},
		.now_ms = clock_wall_ms(clock)};
	int code;

	snprintf(putting.key.id, sizeof(putting.key.id), "%s", key->id);
	snprintf(putting.key.secret, sizeof(putting.key.secret), "%s", key->secret);
	code = store_write_wait(store, put, &putting, NULL, err);
	explicit_bzero(&putting, sizeof(putting));
	return code;
}

static int make_and_keep(struct admin_key *key, const char *account, struct random *random,
	struct err *err)
{
	int code = make(key, account, random, err);

	return code == 0 && key->path ? write_file(key, account, err) : code;
}

static bool store_is_readable(struct store *store)
{
	struct store_statistics statistics;

	store_statistics(store, &statistics);
	return statistics.objects > 0;
}

int admin_key_open(struct store *store, const char *folder, const char *account,
	struct random *random, struct clock *clock, struct admin_key *ret_key, struct err *err)
{
	struct admin_key key = {0};
	int code = -ENOENT;

	if (folder) {
		key.path = memory_format("%s/%s", folder, ADMIN_KEY_FILE);
		key.used_path = memory_format("%s/%s", folder, ADMIN_KEY_USED_FILE);
		code = read_file(key.path, &key, err);
	}
	if (code == -ENOENT)
		code = make_and_keep(&key, account, random, err);
	/* The account decides what a key may do and see: a key never moves implicitly. */
	if (code == 0 && strcmp(key.account, account) != 0)
		code = err_set(err, -EINVAL,
			"%s is of account %s, not %s: start with that account, or remove the "
			"file to have a new key made",
			key.path, key.account, account);
	if (code == 0)
		code = report_store(store, &key, clock, err);
	/* One damaged record must not lock everybody out. But when nothing can be read at all, it is
	 * the seal's key that is wrong, and nothing may be changed. */
	if (code == -EBADMSG && store_is_readable(store)) {
		code = make_and_keep(&key, account, random, err);
		if (code == 0)
			code = report_store(store, &key, clock, err);
	} else if (code == -EBADMSG) {
		err_prefix(err, code, "is integrity.key the one of this database?");
	}
	if (code < 0) {
		admin_key_clear(&key);
		return err_prefix(err, code, "admin key");
	}
	key.used = key.used_path && access(key.used_path, F_OK) == 0;
	*ret_key = key;
	return 0;
}

void admin_key_note_use(struct admin_key *key)
{
	if (atomic_load_explicit(&key->used, memory_order_relaxed) ||
		atomic_exchange(&key->used, true) || !key->used_path)
		return;
	/* Should this fail, the key is printed once more on the next terminal. */
	file_replace(key->used_path, SPAN(""), 0600, NULL);
}

void admin_key_clear(struct admin_key *key)
{
	explicit_bzero(key->secret, sizeof(key->secret));
	free(key->path);
	key->path = NULL;
	free(key->used_path);
	key->used_path = NULL;
}
