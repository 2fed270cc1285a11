/* The admin key; see admin_key.h. */
#include "server/admin_key.h"

#include <stdio.h>

#include "aws/access_key.h"
#include "base/file.h"
#include "base/json.h"

#define FILE_MAX ((size_t)16 * 1024)

int admin_key_read(const char *path, char *ret_id, size_t id_size, char *ret_secret,
		   size_t secret_size, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *document;
	struct span id, secret;
	int code = file_read(path, FILE_MAX, &text, err);

	if (code < 0)
		return code;
	code = json_parse(buffer_span(&text), arena, &document, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	id = json_get_text(document, "accessKeyId");
	secret = json_get_text(document, "secretAccessKey");
	if (id.length == 0 || id.length >= id_size || secret.length == 0 ||
	    secret.length >= secret_size)
		return err_set(err, -EINVAL, "%s: must have accessKeyId and secretAccessKey", path);
	snprintf(ret_id, id_size, "%.*s", SPAN_ARGS(id));
	snprintf(ret_secret, secret_size, "%.*s", SPAN_ARGS(secret));
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
	key->made = true;
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

int admin_key_open(struct store *store, const char *folder, const char *account,
		   struct random *random, struct clock *clock, struct admin_key *ret_key,
		   struct err *err)
{
	struct admin_key key = {0};
	struct putting putting = {.key = {.account = span_of(account), .user = SPAN("admin")},
				  .now_ms = clock_wall_ms(clock)};
	int code = -ENOENT;

	if (folder) {
		key.path = memory_format("%s/%s", folder, ADMIN_KEY_FILE);
		code = admin_key_read(key.path, key.id, sizeof(key.id), key.secret,
				      sizeof(key.secret), err);
	}
	if (code == -ENOENT) {
		code = make(&key, account, random, err);
		if (code == 0 && folder)
			code = write_file(&key, account, err);
	}
	if (code == 0) {
		snprintf(putting.key.id, sizeof(putting.key.id), "%s", key.id);
		snprintf(putting.key.secret, sizeof(putting.key.secret), "%s", key.secret);
		code = store_write_wait(store, put, &putting, NULL, err);
	}
	if (code < 0) {
		admin_key_clear(&key);
		return err_prefix(err, code, "admin key");
	}
	*ret_key = key;
	return 0;
}

void admin_key_clear(struct admin_key *key)
{
	explicit_bzero(key->secret, sizeof(key->secret));
	free(key->path);
	key->path = NULL;
}
