/* The files of the resolver share these: the name servers that it calls, and a call to one of them. */
#ifndef RUNTIME_PROCESS_SUPERVISOR_RESOLVER_INTERNAL_H
#define RUNTIME_PROCESS_SUPERVISOR_RESOLVER_INTERNAL_H

#include "runtime/process/supervisor/resolver.h"

#define RESOLVER_HEADER 12 /* bytes of a DNS message before its question */
#define RESOLVER_REFUSED 5 /* a code of DNS */

/* ---- resolver_servers.c ---- */

socklen_t resolver_address_length(const struct sockaddr_storage *address);
/* The address of slipway's DNS server, which writes it at every start; a server without DNS removes the file. */
bool resolver_read_slipway(const struct resolver *resolver, struct sockaddr_storage *ret_address);
size_t resolver_list_servers(const struct resolver *resolver,
	struct sockaddr_storage servers[RESOLVER_SERVERS_MAX]);

/* ---- resolver_call.c ---- */

int resolver_rcode(const struct buffer *message);
bool resolver_is_positive(const struct buffer *answer);
/* An answer without records: the question of the query with another header. */
void resolver_make_failure(const struct buffer *query, struct buffer *out);
int resolver_start_call(const struct resolver *resolver, struct resolver_call *call,
	const struct resolver_query *query, const struct sockaddr_storage *server);
/* Over TCP, two bytes with the length come before the message. Returns a negative code when the server cannot be
 * reached. */
int resolver_send_query(struct resolver_call *call, const struct buffer *query);
/* Returns 1 and the answer in call->input, 0 if it is not complete yet, or a negative code when the server failed. */
int resolver_read_answer(struct resolver_call *call, const struct buffer *query);
void resolver_end_call(struct resolver_call *call);

#endif
