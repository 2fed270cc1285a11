/* See integrity.h. The MAC is fetched and keyed once; each seal starts the same context anew, which
 * costs no allocation and no key schedule. */
#include "store/integrity.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"

#define SEAL_VERSION 1 /* of what is sealed; not STORE_FORMAT: old seals outlive a migration */
#define FINGERPRINT_TEXT "\0slipway key" /* begins with no version of a seal */
#define KEY_SIZE 32
#define KEY_TEXT_SIZE (2 * KEY_SIZE) /* as hexadecimal digits, and a line end that may be missing */

struct integrity {
	char *path;
	bool saved; /* this process has made the file */
	unsigned char key[KEY_SIZE];
	EVP_MAC *mac;
	EVP_MAC_CTX *context;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static int key_parse(const char *path, struct span text, unsigned char ret_key[KEY_SIZE],
	struct err *err)
{
	if (text.length > 0 && text.data[text.length - 1] == '\n')
		text.length--;
	if (text.length != KEY_TEXT_SIZE)
		return err_set(err, -EINVAL,
			"key file '%s' has %zu characters, not %d hexadecimal digits", path,
			text.length, KEY_TEXT_SIZE);
	for (size_t i = 0; i < KEY_SIZE; i++) {
		int high = hex_digit(text.data[2 * i]), low = hex_digit(text.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return err_set(err, -EINVAL,
				"key file '%s' has something else than hexadecimal digits", path);
		ret_key[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static int key_read(const char *path, unsigned char ret_key[KEY_SIZE], struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(path, KEY_TEXT_SIZE + 1, &text, err);

	if (code == 0)
		code = key_parse(path, buffer_span(&text), ret_key, err);
	if (text.data)
		OPENSSL_cleanse(text.data, text.length);
	return code;
}

static int integrity_use_key(struct integrity *integrity, struct err *err)
{
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 0),
		OSSL_PARAM_construct_end(),
	};

	if (!EVP_MAC_init(integrity->context, integrity->key, KEY_SIZE, parameters))
		return err_set(err, -EIO, "OpenSSL cannot set up HMAC-SHA256");
	return 0;
}

int integrity_open(const char *key_path, struct integrity **ret_integrity, bool *ret_fresh,
	struct err *err)
{
	struct integrity *integrity = memory_allocate(sizeof(*integrity));
	struct err reading = {0};
	bool fresh = false;
	int code;

	integrity->path = memory_copy_string(key_path);
	integrity->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	integrity->context = integrity->mac ? EVP_MAC_CTX_new(integrity->mac) : NULL;
	if (!integrity->context) {
		integrity_free(integrity);
		return err_set(err, -EIO, "OpenSSL offers no HMAC");
	}
	code = key_read(key_path, integrity->key, &reading);
	if (code == -ENOENT) {
		random_system()->fill(random_system(), integrity->key, KEY_SIZE);
		fresh = true;
	} else if (code < 0) {
		integrity_free(integrity);
		return err_set(err, code, "%s", reading.message);
	}
	code = integrity_use_key(integrity, err);
	if (code < 0) {
		integrity_free(integrity);
		return code;
	}
	*ret_integrity = integrity;
	*ret_fresh = fresh;
	return 0;
}

static int sync_folder_of(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	_free_ char *folder = slash ? memory_copy_string_n(path, (size_t)(slash - path) + 1)
				    : memory_copy_string(".");
	_close_ int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (descriptor < 0 || fsync(descriptor) < 0)
		return err_errno(err, "sync folder '%s'", folder);
	return 0;
}

/* The file is written whole under a name of its own and then linked, which fails if there is one by
 * now: two servers that start together must not end up with two keys. */
int integrity_save(struct integrity *integrity, struct err *err)
{
	_free_ char *own = memory_format("%s.%016llx", integrity->path,
		(unsigned long long)random_u64(random_system()));
	_buffer_ struct buffer text = {0};
	int code, number;

	buffer_add_hex(&text, integrity->key, KEY_SIZE);
	buffer_add_char(&text, '\n');
	code = file_replace(own, buffer_span(&text), 0600, err);
	OPENSSL_cleanse(text.data, text.length);
	if (code < 0)
		return code;
	number = link(own, integrity->path) < 0 ? errno : 0;
	unlink(own);
	if (number == EEXIST) {
		code = key_read(integrity->path, integrity->key, err);
		return code < 0 ? code : integrity_use_key(integrity, err);
	}
	if (number)
		return err_system(err, number, "make key file '%s'", integrity->path);
	integrity->saved = true;
	return sync_folder_of(integrity->path, err);
}

void integrity_forget(struct integrity *integrity)
{
	if (integrity->saved)
		unlink(integrity->path);
	integrity->saved = false;
}

void integrity_free(struct integrity *integrity)
{
	if (!integrity)
		return;
	EVP_MAC_CTX_free(integrity->context);
	EVP_MAC_free(integrity->mac);
	OPENSSL_cleanse(integrity->key, KEY_SIZE);
	free(integrity->path);
	free(integrity);
}

static void put_number(unsigned char **at, uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*(*at)++ = (unsigned char)(number >> (8 * i));
}

int integrity_seal(struct integrity *integrity, const struct store_row *row,
	unsigned char ret_mac[STORE_MAC_SIZE], struct err *err)
{
	const struct span texts[] = {row->kind, row->key, row->api, row->private_};
	unsigned char numbers[2 + 8 + LENGTH(texts) * 4], *at = numbers;
	EVP_MAC_CTX *context = integrity->context;
	size_t size = 0;
	bool fine;

	/* All lengths come first, so that no two records give the same bytes. */
	put_number(&at, SEAL_VERSION, 1);
	put_number(&at, row->deleted, 1);
	put_number(&at, row->revision, 8);
	for (size_t i = 0; i < LENGTH(texts); i++)
		put_number(&at, texts[i].length, 4);
	fine = EVP_MAC_init(context, NULL, 0, NULL) &&
	       EVP_MAC_update(context, numbers, (size_t)(at - numbers));
	for (size_t i = 0; i < LENGTH(texts) && fine; i++)
		fine = texts[i].length == 0 ||
		       EVP_MAC_update(context, (const unsigned char *)texts[i].data,
			       texts[i].length);
	fine = fine && EVP_MAC_final(context, ret_mac, &size, STORE_MAC_SIZE) &&
	       size == STORE_MAC_SIZE;
	return fine ? 0 : err_set(err, -EIO, "OpenSSL cannot compute HMAC-SHA256");
}

int integrity_fingerprint(struct integrity *integrity, uint64_t *ret_fingerprint, struct err *err)
{
	unsigned char mac[STORE_MAC_SIZE];
	EVP_MAC_CTX *context = integrity->context;
	uint64_t fingerprint = 0;
	size_t size = 0;

	if (!EVP_MAC_init(context, NULL, 0, NULL) ||
		!EVP_MAC_update(context, (const unsigned char *)FINGERPRINT_TEXT,
			sizeof(FINGERPRINT_TEXT) - 1) ||
		!EVP_MAC_final(context, mac, &size, sizeof(mac)) || size != sizeof(mac))
		return err_set(err, -EIO, "OpenSSL cannot compute HMAC-SHA256");
	for (size_t i = 0; i < sizeof(fingerprint); i++)
		fingerprint = fingerprint << 8 | mac[i];
	*ret_fingerprint = fingerprint ? fingerprint : 1;
	return 0;
}

int integrity_check(struct integrity *integrity, const struct store_row *row, struct err *err)
{
	unsigned char mac[STORE_MAC_SIZE];
	int code = integrity_seal(integrity, row, mac, err);

	if (code < 0)
		return code;
	if (CRYPTO_memcmp(mac, row->mac, STORE_MAC_SIZE) != 0)
		return err_set(err, -EBADMSG,
			"the record is not what was written (its seal is broken)");
	return 0;
}
