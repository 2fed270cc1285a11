/*
 * AWS Signature Version 4, header authentication. Verification answers with AWS's own error names:
 * MissingAuthenticationTokenException, IncompleteSignatureException, UnrecognizedClientException,
 * ExpiredTokenException, InvalidSignatureException, also for clock skew ("Signature
 * expired: … is now earlier than …"). JSON services answer all of them with 400. Comparison takes
 * constant time. Signing keys (per key, day, region, service) are cached, so that a
 * request costs three or four hashes.
 */
#ifndef AWS_SIGV4_H
#define AWS_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define SIGV4_SKEW_MS (5 * 60 * 1000)
#define SIGV4_SIGNED_HEADERS_MAX 64
#define SIGV4_CREDENTIAL_MAX 256 /* KEY/DATE/REGION/SERVICE/aws4_request */

struct sigv4_header {
	struct span name; /* any case */
	struct span value;
};

struct sigv4_request {
	struct span method;
	struct span path;  /* as on the wire, before '?' */
	struct span query; /* after '?', may be empty */
	const struct sigv4_header *headers;
	size_t header_count;
	struct span body;
};

/* The content of the Authorization header, before verification. Spans point into the header. */
struct sigv4_claim {
	struct span access_key;
	struct span date; /* YYYYMMDD */
	struct span region;
	struct span service;
	struct span signed_headers;
	struct span signature;
	struct span amz_date;      /* X-Amz-Date (or Date, if it has the same form) */
	struct span session_token; /* X-Amz-Security-Token, or data NULL */
};

struct sigv4_failure {
	const char *type; /* AWS's name of the error */
	int status;       /* 400 or 403 as AWS answers */
	char message[512];
};

/* Reads the claim, and checks what can be checked without a secret: that host and every x-amz-* header
 * are signed, that the scope is for the day of the date. 0, or -EACCES with the failure filled. */
int sigv4_read(const struct sigv4_request *request, struct sigv4_claim *ret_claim,
	struct sigv4_failure *failure);

struct sigv4_cache; /* of signing keys; safe from many threads */
struct sigv4_cache *sigv4_cache_new(size_t entries);
void sigv4_cache_free(struct sigv4_cache *cache);

/* Checks the claim against the secret of its access key. cache may be NULL. */
int sigv4_verify(const struct sigv4_request *request, const struct sigv4_claim *claim,
	struct span secret, int64_t now_ms, struct sigv4_cache *cache,
	struct sigv4_failure *failure);
/* "Credential should be scoped to correct service: 'ecs'." unless the claim is for it. */
int sigv4_check_service(const struct sigv4_claim *claim, const char *service,
	struct sigv4_failure *failure);
/* Fills the failure (printable ASCII only, cut at its size) and returns -EACCES. */
int sigv4_refuse(struct sigv4_failure *failure, const char *type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct sigv4_credentials {
	struct span access_key;
	struct span secret;
	struct span session_token; /* data NULL: none */
};

/* The headers to add to a request (X-Amz-Date, Authorization, X-Amz-Security-Token,
 * X-Amz-Content-Sha256 if the service is s3): at most 4. All present headers are signed; host must be
 * among them, and none of those four. */
size_t sigv4_sign(const struct sigv4_request *request, const struct sigv4_credentials *credentials,
	struct span region, struct span service, int64_t now_ms, struct arena *arena,
	struct sigv4_header ret_headers[4]);

#endif
