/* The block `webhooks:` of slipway.yaml: addresses that get changes (delivery/notice.h). */
#ifndef SERVER_CONFIG_WEBHOOKS_H
#define SERVER_CONFIG_WEBHOOKS_H

#include "base/json.h"
#include "server/config.h"
#include "server/config_list.h"

extern const struct config_list config_webhooks;

/* Reads the block, and the secrets that it names. Texts live in the arena. */
int config_webhooks_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err);

#endif
