/* The block `targets:` of slipway.yaml: remote ECS (aws/targets.h). */
#ifndef SERVER_CONFIG_TARGETS_H
#define SERVER_CONFIG_TARGETS_H

#include "base/json.h"
#include "server/config.h"
#include "server/config_list.h"

#define SERVER_TARGET_NAME_MAX 32

extern const struct config_list config_targets;

/* Reads the block into the configuration. path: of the file. Texts live in the arena. */
int config_targets_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err);
/* PipeCD's block `platformProviders`: those of type ECS are targets of the same names; the others are left out. */
int config_platform_providers_read(struct server_config *config, const struct json *block,
	const char *path, struct arena *arena, struct err *err);
/* Fills in what follows from the rest of the configuration. */
void config_targets_settle(struct server_config *config, struct arena *arena);
/* Checks that the keys can be read: a start does not require it, but users want to know early. */
int config_targets_check_keys(const struct server_config *config, struct err *err);

#endif
