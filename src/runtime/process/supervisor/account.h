/* The user and groups of a container's program, from /etc/passwd and /etc/group (the supervisor is
 * static: no NSS). */
#ifndef RUNTIME_PROCESS_SUPERVISOR_ACCOUNT_H
#define RUNTIME_PROCESS_SUPERVISOR_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define ACCOUNT_GROUPS_MAX 64
#define ACCOUNT_HOME_MAX 256

struct account {
	bool change; /* false: stay as the supervisor is */
	uid_t user;
	gid_t group;
	gid_t groups[ACCOUNT_GROUPS_MAX];
	size_t group_count;
	char home[ACCOUNT_HOME_MAX];
};

/* text: "user", "uid", "user:group", "uid:gid", as ECS has it; NULL for the supervisor's own. */
int account_find(const char *text, struct account *ret_account, struct err *err);

#endif
