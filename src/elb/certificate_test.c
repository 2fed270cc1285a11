/* Certificates from files: what is taken, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "elb/certificate.h"

#define ACM "arn:aws:acm:eu-west-1:123456789012:certificate/"
#define IAM "arn:aws:iam::123456789012:server-certificate/"

struct fixture {
	char folder[64];
	char certificate[2][4096], key[2][4096]; /* of two pairs */
	char locked[4096];                       /* the first key behind a password */
};

static void take(BIO *bio, char *out, size_t size)
{
	int length = BIO_read(bio, out, (int)size - 1);

	assert_true(length > 0);
	out[length] = '\0';
	BIO_free(bio);
}

static void make_pair(struct fixture *fixture, int index)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);
	BIO *text = BIO_new(BIO_s_mem());

	X509_set_version(certificate, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), index + 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1,
		-1, 0);
	X509_set_issuer_name(certificate, name);
	X509_set_pubkey(certificate, key);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	PEM_write_bio_X509(text, certificate);
	take(text, fixture->certificate[index], sizeof(fixture->certificate[index]));
	text = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(text, key, NULL, NULL, 0, NULL, NULL);
	take(text, fixture->key[index], sizeof(fixture->key[index]));
	if (index == 0) {
		text = BIO_new(BIO_s_mem());
		PEM_write_bio_PrivateKey(text, key, EVP_aes_128_cbc(), NULL, 0, NULL,
			(void *)"secret");
		take(text, fixture->locked, sizeof(fixture->locked));
	}
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static void write_file(const struct fixture *fixture, const char *name, struct span text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	assert_int_equal(file_replace(path, text, 0600, NULL), 0);
}

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-certificates-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	make_pair(fixture, 0);
	make_pair(fixture, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	DIR *folder = opendir(fixture->folder);
	const struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(fixture->folder);
	free(fixture);
	return 0;
}

static void expect_read(const struct fixture *fixture, const char *arn, struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span pem;
	struct err err;

	if (elb_certificate_read(fixture->folder, span_of(arn), arena, &pem, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(span_equal(pem, text));
	assert_int_equal(pem.data[pem.length], '\0');
}

static void expect_refused(const char *folder, const char *arn, int code, const char *words)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span pem;
	struct err err = {0};

	assert_int_equal(elb_certificate_read(folder, span_of(arn), arena, &pem, &err), code);
	if (!strstr(err.message, words))
		fail_msg("wanted '%s' in '%s'", words, err.message);
}

static void test_chain_and_key_in_any_order(void **state)
{
	const struct fixture *fixture = *state;
	_arena_ struct arena *arena = arena_new(0);
	struct span usual = arena_format(arena, "%s%s%s", fixture->certificate[0],
		fixture->certificate[1], fixture->key[0]);
	struct span key_first =
		arena_format(arena, "%s%s", fixture->key[0], fixture->certificate[0]);

	write_file(fixture, "usual.pem", usual);
	write_file(fixture, "key-first_2.x.pem", key_first);
	expect_read(fixture, ACM "usual", usual);
	expect_read(fixture, IAM "usual", usual);
	expect_read(fixture, ACM "key-first_2.x", key_first);
}

static void test_what_is_no_certificate_with_key(void **state)
{
	const struct fixture *fixture = *state;
	_arena_ struct arena *arena = arena_new(0);
	const char *good = fixture->certificate[0], *key = fixture->key[0];
	struct span many = SPAN("");
	const struct {
		const char *name;
		struct span text;
		const char *words;
	} files[] = {
		{"empty", SPAN(""), "no certificate"},
		{"text", SPAN("not a certificate\n"), "no certificate"},
		{"no-key", span_of(good), "no private key"},
		{"no-certificate", span_of(key), "no certificate"},
		{"other-key", arena_format(arena, "%s%s", good, fixture->key[1]),
			"is not that of its first certificate"},
		{"locked", arena_format(arena, "%s%s", good, fixture->locked),
			"without a password"},
		{"cut", arena_format(arena, "%.*s", (int)strlen(good) / 2, good), "no certificate"},
		{"bad-chain",
			arena_format(arena,
				"%s%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END "
				"CERTIFICATE-----\n",
				good, key),
			"certificate 2 of it cannot be read"},
		{"zero", (struct span){"a\0b", 3}, "zero byte"},
	};

	for (size_t i = 0; i < LENGTH(files); i++) {
		char file[64], arn[256];

		snprintf(file, sizeof(file), "%s.pem", files[i].name);
		snprintf(arn, sizeof(arn), "%s%s", ACM, files[i].name);
		write_file(fixture, file, files[i].text);
		expect_refused(fixture->folder, arn, -EINVAL, files[i].words);
		expect_refused(fixture->folder, arn, -EINVAL, files[i].name);
	}
	while (many.length < 65536)
		many = arena_format(arena, "%.*s%s", SPAN_ARGS(many), good);
	write_file(fixture, "large.pem", many);
	expect_refused(fixture->folder, ACM "large", -EFBIG, "large");
}

static void test_names_stay_in_the_folder(void **state)
{
	const struct fixture *fixture = *state;
	static const char *const names[] = {"", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden",
		"a b", "a%2fb", "a\nb", "\xc3\xa4"};
	char arn[256];

	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(arn, sizeof(arn), "%s%s", ACM, names[i]);
		expect_refused(fixture->folder, arn, -EINVAL, "must be 1 to 128 letters");
	}
	snprintf(arn, sizeof(arn), "%s%0130d", ACM, 1);
	expect_refused(fixture->folder, arn, -EINVAL, "must be 1 to 128 letters");
}

static void test_what_is_not_there(void **state)
{
	const struct fixture *fixture = *state;

	expect_refused(fixture->folder, ACM "missing", -ENOENT,
		"there is no certificate 'missing'");
	expect_refused(NULL, ACM "missing", -ENOENT, "no folder of certificates is configured");
	expect_refused(fixture->folder, "missing", -EINVAL, "is not the ARN of a certificate");
	expect_refused(fixture->folder, "arn:aws:acm:eu-west-1:1:thing/x", -EINVAL,
		"is not the ARN of a certificate");
	expect_refused(fixture->folder, "arn:aws:ecs:eu-west-1:1:certificate/x", -EINVAL,
		"is not the ARN of a certificate");
	expect_refused(fixture->folder, "arn:aws:iam::1:certificate/x", -EINVAL,
		"is not the ARN of a certificate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_chain_and_key_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_certificate_with_key, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_names_stay_in_the_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
