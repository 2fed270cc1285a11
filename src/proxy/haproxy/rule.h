/*
 * A rule's conditions as one regular expression over one text that HAProxy makes of each request, the
 * subject:
 *
 *     m:GET
 *     h:www.example.org:8080
 *     p:/index.html
 *     q:a=1&b=2
 *     s:7F000001             the client's address in hex
 *     v:2                    the client's version of HTTP
 *     accept: text/html      all fields, names in lower case, lines ended by CR LF
 *
 * No component of a request can have an end of line, so none can imitate another. Patterns become
 * expressions that never backtrack over the text of a "*", so that no request makes them slow.
 */
#ifndef PROXY_HAPROXY_RULE_H
#define PROXY_HAPROXY_RULE_H

#include "base/buffer.h"
#include "proxy/proxy.h"

/* The log-format of the subject, without and with the fields. */
#define RULE_SUBJECT                                                                               \
	"m:%[method]\\nh:%[req.hdr(host)]\\np:%[path]\\nq:%[query]\\ns:%[src,hex]\\n"              \
	"v:%[fc_http_major]\\n"
#define RULE_SUBJECT_WITH_FIELDS RULE_SUBJECT "%[req.hdrs]"

/* Has no space and no end of line, and begins with "^". */
void rule_add_expression(struct buffer *out, const struct proxy_condition *conditions,
	size_t condition_count);
bool rule_needs_fields(const struct proxy_condition *conditions, size_t condition_count);
/* Literal text for an expression. */
void rule_add_literal(struct buffer *out, const char *text);

#endif
