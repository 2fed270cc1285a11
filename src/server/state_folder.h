/*
 * The state folder: one server uses it at a time, and it belongs to the machine and path that it was first used
 * at. A copy names the same tasks and containers as the original, so a server on a copy leaves them alone until
 * it is started with --adopt.
 */
#ifndef SERVER_STATE_FOLDER_H
#define SERVER_STATE_FOLDER_H

#include <stdbool.h>

#include "base/err.h"

struct state_folder;

/* Makes the folder if there is none, locks it and reads where it belongs to. -EBUSY: another server uses it. */
int state_folder_open(const char *path, struct state_folder **ret_folder, struct err *err);
void state_folder_close(struct state_folder *folder); /* NULL is fine */

/* Differs from that of every copy, also on other machines, and is the same after a restart of the server. */
const char *state_folder_id(const struct state_folder *folder);

/* Whether it belongs to another machine or path than it is used at. False as long as it belongs to none. */
bool state_folder_is_copy(const struct state_folder *folder);
/* Where it belongs to, for people. */
const char *state_folder_origin(const struct state_folder *folder);
/* Whether a server uses the folder that this one is a copy of, as far as that can be seen from here. */
bool state_folder_origin_is_used(const struct state_folder *folder);
/* From now on it belongs to this machine and path. */
int state_folder_keep(struct state_folder *folder, struct err *err);

#endif
