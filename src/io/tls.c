#include "io/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/memory.h"

struct tls_context {
	SSL_CTX *ssl;
};

struct tls_session {
	SSL *ssl;
	BIO *input;  /* owned by ssl */
	BIO *output; /* owned by ssl */
};

/* OpenSSL's own words for what went wrong; empties its queue. */
static int openssl_error(struct err *err, const char *doing, const char *file)
{
	unsigned long number = ERR_get_error();
	char reason[256] = "unknown error";

	if (number != 0)
		ERR_error_string_n(number, reason, sizeof(reason));
	ERR_clear_error();
	return err_set(err, -EINVAL, "%s '%s': %s", doing, file, reason);
}

/* We speak one protocol; a client that offers others only gets the handshake refused. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_chosen, unsigned char *ret_length,
	const unsigned char *offered, unsigned int length, void *context)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)context;
	if (SSL_select_next_proto((unsigned char **)ret_chosen, ret_length, ours, sizeof(ours) - 1,
		    offered, length) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

static int fill_context(SSL_CTX *ssl, const char *certificate_file, const char *key_file,
	struct err *err)
{
	SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
	SSL_CTX_set_session_id_context(ssl, (const unsigned char *)"slipway", 7);
	if (SSL_CTX_use_certificate_chain_file(ssl, certificate_file) != 1)
		return openssl_error(err, "read certificate", certificate_file);
	if (SSL_CTX_use_PrivateKey_file(ssl, key_file, SSL_FILETYPE_PEM) != 1)
		return openssl_error(err, "read private key", key_file);
	if (SSL_CTX_check_private_key(ssl) != 1)
		return openssl_error(err, "match the certificate with private key", key_file);
	return 0;
}

int tls_context_load(const char *certificate_file, const char *key_file,
	struct tls_context **ret_context, struct err *err)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
	struct tls_context *context;
	int code;

	if (!ssl)
		return openssl_error(err, "set up TLS for", certificate_file);
	code = fill_context(ssl, certificate_file, key_file ? key_file : certificate_file, err);
	if (code < 0) {
		SSL_CTX_free(ssl);
		return code;
	}
	context = memory_allocate(sizeof(*context));
	context->ssl = ssl;
	*ret_context = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ssl);
	free(context);
}

struct tls_session *tls_session_new(struct tls_context *context)
{
	struct tls_session *session = memory_allocate(sizeof(*session));

	session->ssl = SSL_new(context->ssl);
	session->input = BIO_new(BIO_s_mem());
	session->output = BIO_new(BIO_s_mem());
	if (!session->ssl || !session->input || !session->output)
		abort();                            /* out of memory, as in base/memory.c */
	BIO_set_mem_eof_return(session->input, -1); /* empty means "not yet" */
	SSL_set_bio(session->ssl, session->input, session->output);
	SSL_set_accept_state(session->ssl);
	return session;
}

void tls_session_free(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	free(session);
}

void tls_session_feed(struct tls_session *session, const void *data, size_t length)
{
	const char *at = data;

	while (length > 0) {
		int part = length > INT_MAX ? INT_MAX : (int)length;

		if (BIO_write(session->input, at, part) != part)
			abort(); /* a memory BIO fails for want of memory only */
		at += part;
		length -= (size_t)part;
	}
}

int tls_session_read(struct tls_session *session, void *data, size_t size)
{
	int got;

	ERR_clear_error();
	got = SSL_read(session->ssl, data, size > INT_MAX ? INT_MAX : (int)size);
	if (got > 0)
		return got;
	switch (SSL_get_error(session->ssl, got)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE: return 0;
	case SSL_ERROR_ZERO_RETURN: return -EPIPE;
	default: ERR_clear_error(); return -EPROTO;
	}
}

int tls_session_write(struct tls_session *session, const void *data, size_t length)
{
	const char *at = data;

	if (!SSL_is_init_finished(session->ssl))
		return -EPROTO;
	while (length > 0) {
		int part = length > INT_MAX ? INT_MAX : (int)length;
		int written;

		ERR_clear_error();
		written = SSL_write(session->ssl, at, part);
		if (written <= 0) {
			ERR_clear_error();
			return -EPROTO;
		}
		at += written;
		length -= (size_t)written;
	}
	return 0;
}

void tls_session_shut_down(struct tls_session *session)
{
	ERR_clear_error();
	if (SSL_is_init_finished(session->ssl))
		SSL_shutdown(session->ssl);
	ERR_clear_error();
}

void tls_session_take_output(struct tls_session *session, struct buffer *out)
{
	size_t waiting = BIO_ctrl_pending(session->output);
	int got;

	if (waiting == 0)
		return;
	buffer_reserve(out, waiting);
	got = BIO_read(session->output, out->data + out->length, (int)waiting);
	if (got > 0)
		out->length += (size_t)got;
	out->data[out->length] = '\0';
}

bool tls_session_is_established(const struct tls_session *session)
{
	return SSL_is_init_finished(session->ssl);
}
