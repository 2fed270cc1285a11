/*
 * TLS as a filter over memory: encrypted bytes in, plain bytes out, and the other way round. Sockets
 * are the caller's. TLS 1.2 and 1.3, ALPN "http/1.1".
 */
#ifndef IO_TLS_H
#define IO_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/err.h"

struct tls_context; /* certificate and key; may be used by several threads */
struct tls_session; /* one connection */

int tls_context_load(const char *certificate_file, const char *key_file,
	struct tls_context **ret_context, struct err *err);
void tls_context_free(struct tls_context *context); /* sessions keep what they need; NULL is fine */

/* The server's side of a connection. */
struct tls_session *tls_session_new(struct tls_context *context);
void tls_session_free(struct tls_session *session); /* NULL is fine */

/* Gives encrypted bytes from the client to the session. */
void tls_session_feed(struct tls_session *session, const void *data, size_t length);
/* Decrypts up to `size` bytes (doing the handshake first). Returns their number, 0 if more input is
 * needed, -EPIPE if the client said goodbye, -EPROTO if it does not speak TLS with us. */
int tls_session_read(struct tls_session *session, void *data, size_t size);
/* Encrypts all of data. Only after the handshake: -EPROTO otherwise. */
int tls_session_write(struct tls_session *session, const void *data, size_t length);
/* Says goodbye (in the output). */
void tls_session_shut_down(struct tls_session *session);
/* Appends to `out` what has to be sent to the client. */
void tls_session_take_output(struct tls_session *session, struct buffer *out);
bool tls_session_is_established(const struct tls_session *session);

#endif
