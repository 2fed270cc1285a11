/*
 * The canonical form of a request: what both sides of a signature hash, independent of the freedoms
 * that HTTP leaves (order and case of headers, spaces, order and encoding of the query, dots in the
 * path).
 */
#ifndef AWS_SIGV4_CANONICAL_H
#define AWS_SIGV4_CANONICAL_H

#include "aws/sigv4.h"
#include "base/buffer.h"

#define SIGV4_CANONICAL_MAX (1024 * 1024)
#define SIGV4_QUERY_PAIRS_MAX 256

enum sigv4_path {
	SIGV4_PATH_NORMAL, /* dots removed, then encoded once more than on the wire */
	SIGV4_PATH_S3,     /* as it is: keys of objects may hold dots and double slashes */
};

/* -E2BIG beyond a limit. signed_headers is lower-case, separated by ';', in the order to be used;
 * payload_hash is in hex. */
int sigv4_canonical_write(const struct sigv4_request *request, struct span signed_headers,
	struct span payload_hash, enum sigv4_path path, struct buffer *out);

/* Every header of the request, lower-case, sorted, each once, separated by ';'. */
struct span sigv4_canonical_names(const struct sigv4_header *headers, size_t count,
	struct arena *arena);

#endif
