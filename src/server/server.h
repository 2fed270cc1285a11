/*
 * A whole slipway server in this process: store, dispatcher, controllers and HTTP, wired by a
 * configuration. `slipway up` is a thin command over it, and tests can open one too.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/err.h"
#include "base/log.h"
#include "server/config.h"

struct server;

/* config must be checked and live as long as the server. */
int server_open(const struct server_config *config, struct log *log, struct server **ret_server,
	struct err *err);
/* Drains, then stops everything. NULL is fine. */
void server_close(struct server *server);

/* "http://127.0.0.1:4780" */
const char *server_url(const struct server *server);
/* "127.0.0.1:4753"; NULL: off. */
const char *server_dns_address(const struct server *server);
/* True if this start made the admin key. */
bool server_made_key(const struct server *server);
/* True until a request was signed with any key, in this or an earlier run. */
bool server_key_is_unused(const struct server *server);
const char *server_admin_key_id(const struct server *server);
const char *server_admin_key_secret(const struct server *server);
/* Where the key is kept; NULL when it is in memory only. */
const char *server_admin_key_path(const struct server *server);

/* Tasks that keep running when the server ends. */
uint64_t server_lasting_tasks(struct server *server);

/* Certificates and the audit log again (SIGHUP). */
int server_reload(struct server *server, struct err *err);

#endif
