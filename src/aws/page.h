/*
 * Pagination: maxResults and nextToken of List and Describe operations. A token is opaque to clients:
 * base64url of (format, operation, hash of the filters, position), so that a token of another operation
 * or of other filters is refused instead of giving nonsense.
 */
#ifndef AWS_PAGE_H
#define AWS_PAGE_H

#include "aws/service.h"

struct aws_page {
	size_t most;            /* results on this page */
	struct span after_text; /* position to go on behind; data NULL: from the start */
	struct span after_key;
};

/* Reads `maxResults` (1..100 or the limits given) and `nextToken` of the input, as the service spells
 * them; `filters` is any text that names the filters in force. Fails the request with the service's invalid-input error. */
int aws_page_read(struct aws_request *request, size_t most_default, size_t most_allowed,
	struct span filters, struct aws_page *ret_page);
/* The token for the position behind (text, key). */
struct span aws_page_token(struct aws_request *request, struct span filters, struct span text,
	struct span key);

#endif
