/* Hashes, passwords, random bytes, keys and certificates. */
#include <crypt.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <zlib.h>

#include "chart/certificate.h"
#include "chart/encoding.h"
#include "chart/function.h"
#include "chart/number.h"

/* Cost of bcrypt, and the longest password that it takes. */
#define BCRYPT_COST 10
#define BCRYPT_PASSWORD_MAX 72

static int hash(struct run *run, struct span text, const EVP_MD *digest, struct value *ret_value)
{
	_buffer_ struct buffer out = {0};
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned length;

	if (EVP_Digest(text.data, text.length, bytes, &length, digest, NULL) != 1)
		return run_fail(run, "hash not available");
	buffer_add_hex(&out, bytes, length);
	return function_return(run, &out, ret_value);
}

static int crypto_sha1sum(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return hash(run, arguments[0].text, EVP_sha1(), ret_value);
}

static int crypto_sha256sum(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return hash(run, arguments[0].text, EVP_sha256(), ret_value);
}

static int crypto_sha512sum(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return hash(run, arguments[0].text, EVP_sha512(), ret_value);
}

static int crypto_adler32sum(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	uLong sum = adler32_z(adler32(0, NULL, 0), (const Bytef *)arguments[0].text.data,
		arguments[0].text.length);

	(void)count;
	*ret_value = value_string(arena_format(run->arena, "%lu", sum));
	return 0;
}

/* ---- passwords ----------------------------------------------------------------------------------- */

/* "$2a$10$…" with a salt of 16 random bytes. */
static int bcrypt_text(struct run *run, struct span password, struct span *ret_text)
{
	char copy[BCRYPT_PASSWORD_MAX + 1], salt[CRYPT_GENSALT_OUTPUT_SIZE], bytes[16];
	struct crypt_data *data;
	const char *result;

	if (password.length > BCRYPT_PASSWORD_MAX) {
		*ret_text = arena_format(run->arena,
			"failed to encrypt string with bcrypt: bcrypt: password length exceeds %d "
			"bytes",
			BCRYPT_PASSWORD_MAX);
		return 0;
	}
	memcpy(copy, password.data, password.length);
	copy[password.length] = '\0';
	run->random->fill(run->random, bytes, sizeof(bytes));
	if (!crypt_gensalt_rn("$2a$", BCRYPT_COST, bytes, sizeof(bytes), salt, sizeof(salt)))
		return run_fail(run, "bcrypt is not available");
	data = arena_allocate(run->arena, sizeof(*data));
	result = crypt_r(copy, salt, data);
	if (!result || result[0] == '*')
		return run_fail(run, "bcrypt is not available");
	*ret_text = arena_copy_span(run->arena, span_of(result));
	return run_reserve(run, 0);
}

static int crypto_bcrypt(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span text;
	int code = bcrypt_text(run, arguments[0].text, &text);

	(void)count;
	if (code == 0)
		*ret_value = value_string(text);
	return code;
}

static int crypto_htpasswd(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span user = arguments[0].text, text;
	int code;

	(void)count;
	if (memchr(user.data, ':', user.length)) {
		*ret_value = value_string(arena_format(run->arena, "invalid username: %.*s",
			SPAN_ARGS(user)));
		return 0;
	}
	code = bcrypt_text(run, arguments[1].text, &text);
	if (code == 0)
		*ret_value = value_string(arena_format(run->arena, "%.*s:%.*s", SPAN_ARGS(user),
			SPAN_ARGS(text)));
	return code;
}

static int crypto_rand_bytes(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t length = arguments[0].integer;
	char *bytes;
	int code;

	(void)count;
	if (length < 0 || (uint64_t)length > RUN_MEMORY_MAX)
		return run_fail(run, "randBytes: bad count");
	code = run_reserve(run, (size_t)length * 3);
	if (code < 0)
		return code;
	bytes = arena_allocate(run->arena, (size_t)length + 1);
	run->random->fill(run->random, bytes, (size_t)length);
	*ret_value = value_string(number_base64(run->arena, (struct span){bytes, (size_t)length}));
	return 0;
}

static int crypto_uuidv4(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	unsigned char b[16];

	(void)arguments;
	(void)count;
	run->random->fill(run->random, b, sizeof(b));
	b[6] = (b[6] & 0x0F) | 0x40;
	b[8] = (b[8] & 0x3F) | 0x80;
	*ret_value = value_string(arena_format(run->arena,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]));
	return 0;
}

/* ---- keys and certificates ----------------------------------------------------------------------- */

/* sprig.certificate */
struct certificate_object {
	struct object object;
	struct span certificate, key;
};

static int certificate_get(struct run *run, struct object *object, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct certificate_object *pair = (const struct certificate_object *)object;

	(void)run;
	(void)arguments;
	(void)count;
	if (span_is(name, "Cert"))
		*ret_value = value_string(pair->certificate);
	else if (span_is(name, "Key"))
		*ret_value = value_string(pair->key);
	else
		return 1;
	return 0;
}

static void certificate_print(const struct object *object, struct buffer *out)
{
	const struct certificate_object *pair = (const struct certificate_object *)object;

	buffer_format(out, "{%.*s %.*s}", SPAN_ARGS(pair->certificate), SPAN_ARGS(pair->key));
}

static struct value certificate_plain(struct arena *arena, const struct object *object)
{
	const struct certificate_object *pair = (const struct certificate_object *)object;
	struct value_map *map = value_map_new(arena, 2);

	value_map_put(arena, map, "Cert", value_string(pair->certificate));
	value_map_put(arena, map, "Key", value_string(pair->key));
	return value_of_map(map);
}

static const struct object_class certificate_class = {"sprig.certificate", "struct",
	certificate_get, certificate_print, certificate_plain, true, NULL, NULL};

static struct value pair_value(struct run *run, struct span certificate, struct span key)
{
	struct certificate_object *pair = arena_allocate(run->arena, sizeof(*pair));

	pair->object.class = &certificate_class;
	pair->certificate = certificate;
	pair->key = key;
	return value_of_object(&pair->object);
}

static int read_names(struct run *run, struct value list, const struct span **ret_names,
	size_t *ret_count)
{
	struct span *names;

	*ret_count = 0;
	*ret_names = NULL;
	if (value_is_absent(list))
		return 0;
	if (list.type != TYPE_LIST)
		return run_fail(run, "wrong type for value; expected []interface {}; got %s",
			value_type_name(list));
	if (list.list->count > CERTIFICATE_NAMES_MAX)
		return run_fail(run, "too many names (limit %d)", CERTIFICATE_NAMES_MAX);
	names = arena_allocate_array(run->arena, (size_t)list.list->count + 1, sizeof(*names));
	for (uint32_t i = 0; i < list.list->count; i++) {
		if (list.list->items[i].kind != VALUE_STRING)
			return run_fail(run, "error processing names: not a string");
		names[i] = list.list->items[i].text;
	}
	*ret_names = names;
	*ret_count = list.list->count;
	return 0;
}

static int make(struct run *run, struct certificate_request *request, struct value *ret_value)
{
	struct span certificate, key;
	struct err err;

	request->now = clock_wall_ms(run->clock) / 1000;
	if (certificate_make(run->arena, request, &certificate, &key, &err) < 0)
		return run_fail(run, "%s", err.message);
	*ret_value = pair_value(run, certificate, key);
	return 0;
}

/* genCA cn days [key] */
static int crypto_gen_ca(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct certificate_request request = {.common_name = arguments[0].text,
		.days = arguments[1].integer,
		.authority = true,
		.key = count > 2 ? arguments[2].text : SPAN_NONE};

	return make(run, &request, ret_value);
}

/* genSelfSignedCert cn ips names days [key] */
static int crypto_gen_self_signed(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct certificate_request request = {.common_name = arguments[0].text,
		.days = arguments[3].integer,
		.key = count > 4 ? arguments[4].text : SPAN_NONE};
	int code = read_names(run, arguments[1], &request.addresses, &request.address_count);

	if (code == 0)
		code = read_names(run, arguments[2], &request.names, &request.name_count);
	return code < 0 ? code : make(run, &request, ret_value);
}

/* genSignedCert cn ips names days ca [key] */
static int crypto_gen_signed(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	const struct certificate_object *authority;
	struct certificate_request request = {
		.common_name = arguments[0].text, .days = arguments[3].integer};
	struct value key = count > 5 ? arguments[5] : value_none();
	int code;

	if (arguments[4].kind != VALUE_OBJECT || arguments[4].object->class != &certificate_class)
		return run_fail(run, "wrong type for value; expected sprig.certificate; got %s",
			value_is_absent(arguments[4]) ? "nil" : value_type_name(arguments[4]));
	authority = (const struct certificate_object *)arguments[4].object;
	request.issuer = authority->certificate;
	request.issuer_key = authority->key;
	request.key = key.kind == VALUE_STRING ? key.text : SPAN_NONE;
	code = read_names(run, arguments[1], &request.addresses, &request.address_count);
	if (code == 0)
		code = read_names(run, arguments[2], &request.names, &request.name_count);
	return code < 0 ? code : make(run, &request, ret_value);
}

/* buildCustomCert base64-certificate base64-key */
static int crypto_build_custom(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span certificate, key;
	struct err err;
	size_t bad;

	(void)count;
	if (!encoding_decode(run->arena, arguments[0].text, false, &certificate, &bad) ||
		!encoding_decode(run->arena, arguments[1].text, false, &key, &bad))
		return run_fail(run, "unable to decode base64 certificate or key");
	if (certificate_check_pair(certificate, key, &err) < 0)
		return run_fail(run, "%s", err.message);
	*ret_value = pair_value(run, certificate, key);
	return 0;
}

static int crypto_gen_private_key(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span key;
	struct err err;

	(void)count;
	if (certificate_make_key(run->arena, arguments[0].text, &key, &err) < 0)
		key = arena_format(run->arena, "%s", err.message);
	*ret_value = value_string(key);
	return 0;
}

static const struct function rows[] = {
	{"adler32sum", "s", crypto_adler32sum, false},
	{"bcrypt", "s", crypto_bcrypt, false},
	{"buildCustomCert", "ss", crypto_build_custom, false},
	{"genCA", "si", crypto_gen_ca, false},
	{"genCAWithKey", "sis", crypto_gen_ca, false},
	{"genPrivateKey", "s", crypto_gen_private_key, false},
	{"genSelfSignedCert", "saai", crypto_gen_self_signed, false},
	{"genSelfSignedCertWithKey", "saais", crypto_gen_self_signed, false},
	{"genSignedCert", "saaia", crypto_gen_signed, false},
	{"genSignedCertWithKey", "saaias", crypto_gen_signed, false},
	{"htpasswd", "ss", crypto_htpasswd, false},
	{"randBytes", "i", crypto_rand_bytes, false},
	{"sha1sum", "s", crypto_sha1sum, false},
	{"sha256sum", "s", crypto_sha256sum, false},
	{"sha512sum", "s", crypto_sha512sum, false},
	{"uuidv4", "", crypto_uuidv4, false},
};

const struct function_table functions_crypto = {rows, LENGTH(rows)};
