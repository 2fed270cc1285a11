/* Checks a certificate first: HAProxy would reject it only after other changes. */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "proxy/haproxy/supervisor.h"

int haproxy_check_certificate(const struct proxy_certificate *certificate, struct err *err)
{
	const char *name = certificate->name ? certificate->name : "";
	const char *wrong = NULL;
	BIO *text = BIO_new_mem_buf(certificate->pem, -1);
	X509 *first = PEM_read_bio_X509(text, NULL, NULL, NULL);
	EVP_PKEY *key;

	BIO_free(text);
	text = BIO_new_mem_buf(certificate->pem, -1);
	/* An empty passphrase rather than a question on the terminal. */
	key = PEM_read_bio_PrivateKey(text, NULL, NULL, (void *)"");
	BIO_free(text);
	if (!first)
		wrong = "has no certificate that can be read";
	else if (!key)
		wrong = "has no private key that can be read";
	else if (X509_check_private_key(first, key) != 1)
		wrong = "has a private key that is not its own";
	X509_free(first);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return wrong ? err_set(err, -EINVAL, "certificate '%.64s' %s", name, wrong) : 0;
}

int certificate_check(const char *listener, const struct proxy_certificate *certificate,
	struct err *err)
{
	int code = haproxy_check_certificate(certificate, err);

	return code < 0 ? err_prefix(err, code, "listener '%s'", listener) : 0;
}
