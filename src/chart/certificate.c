/* See certificate.h. */
#include "chart/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/dsa.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

static void free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void free_certificate(X509 **certificate)
{
	X509_free(*certificate);
}

static void free_bio(BIO **bio)
{
	BIO_free_all(*bio);
}

#define _key_ CLEANUP(free_key)
#define _certificate_ CLEANUP(free_certificate)
#define _bio_ CLEANUP(free_bio)

static int openssl_fail(struct err *err, const char *what)
{
	char reason[160];

	ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
	ERR_clear_error();
	return err_set(err, -EINVAL, "%s: %s", what, reason);
}

static struct span take_text(struct arena *arena, BIO *bio)
{
	char *data;
	long length = BIO_get_mem_data(bio, &data);

	return arena_copy_span(arena, (struct span){data, (size_t)length});
}

static EVP_PKEY *read_key(struct span pem)
{
	_bio_ BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.length);

	return PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
}

static X509 *read_certificate(struct span pem)
{
	_bio_ BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.length);

	return PEM_read_bio_X509(bio, NULL, NULL, NULL);
}

/* RSA, EC and DSA keys have formats of their own; others are PKCS#8. */
static int write_key(struct arena *arena, EVP_PKEY *key, struct span *ret_pem, struct err *err)
{
	_bio_ BIO *bio = BIO_new(BIO_s_mem());
	int written;

	if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "EC") || EVP_PKEY_is_a(key, "DSA"))
		written = PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL);
	else
		written = PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	if (written != 1)
		return openssl_fail(err, "write private key");
	*ret_pem = take_text(arena, bio);
	return 0;
}

static EVP_PKEY *new_dsa_key(void)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "DSA", NULL);
	EVP_PKEY *parameters = NULL, *key = NULL;

	if (context && EVP_PKEY_paramgen_init(context) == 1 &&
		EVP_PKEY_CTX_set_dsa_paramgen_bits(context, CERTIFICATE_DSA_BITS) == 1 &&
		EVP_PKEY_CTX_set_dsa_paramgen_q_bits(context, 256) == 1)
		EVP_PKEY_paramgen(context, &parameters);
	EVP_PKEY_CTX_free(context);
	context = parameters ? EVP_PKEY_CTX_new(parameters, NULL) : NULL;
	if (context && EVP_PKEY_keygen_init(context) == 1)
		EVP_PKEY_keygen(context, &key);
	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(parameters);
	return key;
}

int certificate_make_key(struct arena *arena, struct span type, struct span *ret_key,
	struct err *err)
{
	_key_ EVP_PKEY *key = NULL;

	if (type.length == 0 || span_is(type, "rsa"))
		key = EVP_RSA_gen(CERTIFICATE_PRIVATE_KEY_BITS);
	else if (span_is(type, "ecdsa"))
		key = EVP_EC_gen("P-256");
	else if (span_is(type, "ed25519"))
		key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	else if (span_is(type, "dsa"))
		key = new_dsa_key();
	else
		return err_set(err, -EINVAL, "Unknown type %.*s", SPAN_ARGS(type));
	if (!key)
		return openssl_fail(err, "failed to generate private key");
	return write_key(arena, key, ret_key, err);
}

/* ---- certificates -------------------------------------------------------------------------------- */

static int add_extension(X509 *certificate, X509 *issuer, int nid, const char *value,
	struct err *err)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	int added;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	if (!extension)
		return openssl_fail(err, "create certificate extension");
	added = X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	return added == 1 ? 0 : openssl_fail(err, "add certificate extension");
}

static int add_address(GENERAL_NAMES *names, struct span text, struct err *err)
{
	unsigned char bytes[16];
	char copy[64];
	int length = 0;
	GENERAL_NAME *name;
	ASN1_OCTET_STRING *octets;

	if (text.length < sizeof(copy)) {
		memcpy(copy, text.data, text.length);
		copy[text.length] = '\0';
		if (inet_pton(AF_INET, copy, bytes) == 1)
			length = 4;
		else if (inet_pton(AF_INET6, copy, bytes) == 1)
			length = 16;
	}
	if (length == 0)
		return err_set(err, -EINVAL, "error parsing ip: %.*s", SPAN_ARGS(text));
	octets = ASN1_OCTET_STRING_new();
	ASN1_OCTET_STRING_set(octets, bytes, length);
	name = GENERAL_NAME_new();
	GENERAL_NAME_set0_value(name, GEN_IPADD, octets);
	sk_GENERAL_NAME_push(names, name);
	return 0;
}

static int add_alternative_names(X509 *certificate, const struct certificate_request *request,
	struct err *err)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	int code = 0;

	for (size_t i = 0; i < request->name_count; i++) {
		ASN1_IA5STRING *text = ASN1_IA5STRING_new();
		GENERAL_NAME *name = GENERAL_NAME_new();

		ASN1_STRING_set(text, request->names[i].data, (int)request->names[i].length);
		GENERAL_NAME_set0_value(name, GEN_DNS, text);
		sk_GENERAL_NAME_push(names, name);
	}
	for (size_t i = 0; code == 0 && i < request->address_count; i++)
		code = add_address(names, request->addresses[i], err);
	if (code == 0 && sk_GENERAL_NAME_num(names) > 0 &&
		X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) != 1)
		code = openssl_fail(err, "add alternative names");
	GENERAL_NAMES_free(names);
	return code;
}

static int fill(X509 *certificate, X509 *issuer, EVP_PKEY *key,
	const struct certificate_request *request, struct err *err)
{
	unsigned char serial[16];
	BIGNUM *number;
	X509_NAME *name = X509_get_subject_name(certificate);
	int code;

	if (RAND_bytes(serial, sizeof(serial)) != 1)
		return openssl_fail(err, "draw serial number");
	serial[0] &= 0x7F;
	number = BN_bin2bn(serial, sizeof(serial), NULL);
	BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
	BN_free(number);
	X509_set_version(certificate, X509_VERSION_3);
	X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
		(const unsigned char *)request->common_name.data, (int)request->common_name.length,
		-1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
	ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)request->now);
	ASN1_TIME_set(X509_getm_notAfter(certificate),
		(time_t)(request->now + request->days * 86400));
	X509_set_pubkey(certificate, key);
	code = add_extension(certificate, issuer, NID_key_usage,
		request->authority ? "critical,digitalSignature,keyEncipherment,keyCertSign"
				   : "critical,digitalSignature,keyEncipherment",
		err);
	if (code == 0)
		code = add_extension(certificate, issuer, NID_ext_key_usage,
			"serverAuth,clientAuth", err);
	if (code == 0)
		code = add_extension(certificate, issuer, NID_basic_constraints,
			request->authority ? "critical,CA:TRUE" : "critical,CA:FALSE", err);
	if (code == 0 && request->authority)
		code = add_extension(certificate, issuer, NID_subject_key_identifier, "hash", err);
	if (code == 0 && issuer != certificate)
		code = add_extension(certificate, issuer, NID_authority_key_identifier, "keyid",
			err);
	return code < 0 ? code : add_alternative_names(certificate, request, err);
}

int certificate_make(struct arena *arena, const struct certificate_request *request,
	struct span *ret_certificate, struct span *ret_key, struct err *err)
{
	_key_ EVP_PKEY *key = NULL, *issuer_key = NULL;
	_certificate_ X509 *certificate = X509_new(), *issuer = NULL;
	_bio_ BIO *bio = BIO_new(BIO_s_mem());
	EVP_PKEY *signer;
	const EVP_MD *digest;
	struct span certificate_text;
	int code;

	key = request->key.data ? read_key(request->key) : EVP_RSA_gen(CERTIFICATE_RSA_BITS);
	if (!key)
		return openssl_fail(err, "private key");
	if (request->issuer.data) {
		issuer = read_certificate(request->issuer);
		issuer_key = read_key(request->issuer_key);
		if (!issuer || !issuer_key)
			return openssl_fail(err, "certificate authority");
	}
	code = fill(certificate, issuer ? issuer : certificate, key, request, err);
	if (code < 0)
		return code;
	signer = issuer_key ? issuer_key : key;
	digest = EVP_PKEY_is_a(signer, "ED25519") ? NULL : EVP_sha256();
	if (X509_sign(certificate, signer, digest) == 0 ||
		PEM_write_bio_X509(bio, certificate) != 1)
		return openssl_fail(err, "sign certificate");
	certificate_text = take_text(arena, bio);
	code = write_key(arena, key, ret_key, err);
	if (code == 0)
		*ret_certificate = certificate_text;
	return code;
}

int certificate_check_pair(struct span certificate, struct span key, struct err *err)
{
	_certificate_ X509 *parsed = read_certificate(certificate);
	_key_ EVP_PKEY *parsed_key = read_key(key);

	if (!parsed)
		return openssl_fail(err, "unable to decode certificate");
	return parsed_key ? 0 : openssl_fail(err, "unable to decode key");
}
