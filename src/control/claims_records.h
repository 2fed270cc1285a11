/* What the records of servers and claims mean; for claims.c. The kinds themselves are in claims.h. */
#ifndef CONTROL_CLAIMS_RECORDS_H
#define CONTROL_CLAIMS_RECORDS_H

#include "control/claims.h"

/* Whether the record of this server is there and of this incarnation: the one meaning of "alive". */
bool server_is_alive(const struct store_view *view, struct span server, struct span incarnation);
bool claim_owner_is_alive(const struct store_view *view, const struct store_object *claim);
/* claim may be NULL: there is no record. */
bool claim_is_free(const struct store_view *view, const struct store_object *claim);

#endif
