/* Certificates from files; see the header. */
#include "elb/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "aws/arn.h"
#include "base/file.h"
#include "base/memory.h"
#include "proxy/proxy.h"

#define CHAIN_MAX 16 /* certificates of one file */

static void free_bio(BIO **bio)
{
	BIO_free(*bio);
}

static void free_certificate(X509 **certificate)
{
	X509_free(*certificate);
}

static void free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

/* ---- names ---- */

static bool is_name(struct span name)
{
	if (name.length == 0 || name.length > ELB_CERTIFICATE_NAME_MAX || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_' || c == '.'))
			return false;
	}
	return true;
}

int elb_certificate_name(struct span arn, struct span *ret_name, struct err *err)
{
	struct aws_arn parsed;
	struct span type, name;

	if (arn.length > AWS_ARN_MAX)
		return err_set(err, -EINVAL,
			"a certificate's ARN has %zu characters, at most %d are allowed",
			arn.length, AWS_ARN_MAX);
	if (!aws_arn_parse(arn, &parsed) || !span_split(parsed.resource, '/', &type, &name) ||
		!((span_is(parsed.service, "acm") && span_is(type, "certificate")) ||
			(span_is(parsed.service, "iam") && span_is(type, "server-certificate"))))
		return err_set(err, -EINVAL,
			"'%.*s' is not the ARN of a certificate: "
			"arn:aws:acm:REGION:ACCOUNT:certificate/NAME "
			"or arn:aws:iam::ACCOUNT:server-certificate/NAME",
			SPAN_ARGS(arn));
	if (!is_name(name))
		return err_set(err, -EINVAL,
			"the name of the certificate '%.*s' must be 1 to %d letters, digits, '-', "
			"'_' "
			"or '.', and not begin with '.'",
			SPAN_ARGS(arn), ELB_CERTIFICATE_NAME_MAX);
	*ret_name = name;
	return 0;
}

/* ---- contents of a file ---- */

/* No user can be prompted: a key with a password cannot be read. */
static int no_password(char *password, int size, int writing, void *context)
{
	(void)password, (void)size, (void)writing, (void)context;
	return -1;
}

/* How many certificates the text has, and the first of them; those behind it must be readable too. */
static int read_chain(struct span text, X509 **ret_first, struct err *err)
{
	CLEANUP(free_bio) BIO *bio = BIO_new_mem_buf(text.data, (int)text.length);
	CLEANUP(free_certificate)
	X509 *first = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
	int count = 1;

	if (!first)
		return err_set(err, -EINVAL, "it has no certificate in PEM that can be read");
	for (;;) {
		CLEANUP(free_certificate)
		X509 *next = PEM_read_bio_X509(bio, NULL, no_password, NULL);

		if (!next)
			break;
		if (++count > CHAIN_MAX)
			return err_set(err, -EINVAL, "it has more than %d certificates", CHAIN_MAX);
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return err_set(err, -EINVAL, "certificate %d of it cannot be read", count + 1);
	*ret_first = TAKE(first);
	return 0;
}

static int check_text(struct span text, struct err *err)
{
	CLEANUP(free_bio) BIO *bio = BIO_new_mem_buf(text.data, (int)text.length);
	CLEANUP(free_certificate) X509 *certificate = NULL;
	CLEANUP(free_key) EVP_PKEY *key = NULL;
	int code = read_chain(text, &certificate, err);

	if (code < 0)
		return code;
	key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
	if (!key)
		return err_set(err, -EINVAL,
			"it has no private key in PEM that can be read without a password");
	if (X509_check_private_key(certificate, key) != 1)
		return err_set(err, -EINVAL,
			"its private key is not that of its first certificate");
	return 0;
}

int elb_certificate_read(const char *folder, struct span arn, struct arena *arena,
	struct span *ret_pem, struct err *err)
{
	_buffer_ struct buffer buffer = {0};
	struct span name, path;
	int code = elb_certificate_name(arn, &name, err);

	if (code < 0)
		return code;
	if (!folder)
		return err_set(err, -ENOENT,
			"certificate '%.*s': no folder of certificates is configured "
			"(balancers.certificates, or --certificates DIR)",
			SPAN_ARGS(name));
	path = arena_format(arena, "%s/%.*s.pem", folder, SPAN_ARGS(name));
	code = file_read(path.data, PROXY_CERTIFICATE_TEXT_MAX - 1, &buffer, err);
	if (code == -ENOENT)
		return err_set(err, -ENOENT, "there is no certificate '%.*s': no file '%.*s'",
			SPAN_ARGS(name), SPAN_ARGS(path));
	if (code < 0)
		return err_prefix(err, code, "certificate '%.*s'", SPAN_ARGS(name));
	if (memchr(buffer.data, '\0', buffer.length))
		code = err_set(err, -EINVAL, "it has a zero byte");
	else
		code = check_text(buffer_span(&buffer), err);
	/* OpenSSL keeps errors per thread: removes these for the next caller. */
	ERR_clear_error();
	if (code < 0)
		return err_prefix(err, code, "certificate '%.*s', file '%.*s'", SPAN_ARGS(name),
			SPAN_ARGS(path));
	*ret_pem = arena_copy_span(arena, buffer_span(&buffer));
	return 0;
}
