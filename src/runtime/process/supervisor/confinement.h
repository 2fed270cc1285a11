/*
 * Confines the programs of a task: they do not see the folders of slipway, have only the capabilities of their
 * container, and a bounded number of processes.
 *
 * Of root with namespaces, the folders are covered in the task's mount namespace. A supervisor that is an ordinary user
 * covers them for each program, in a user namespace of the program's own, where the kernel allows that; such a program
 * cannot look into processes outside of its namespace either.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_CONFINEMENT_H
#define RUNTIME_PROCESS_SUPERVISOR_CONFINEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Covers the folders in the mount namespace of the caller. The working folder may be below one; its own parent must
 * not be one, as "..", too, would be the cover. */
int confinement_cover(const char *const *folders, struct err *err);

/* In a new user namespace of the caller, in which user and group have the same numbers. Returns a negative code. */
int confinement_cover_as_user(const char *const *folders);
/* Whether the kernel allows that, by trying it in a child: 0, or a negative code. */
int confinement_try_as_user(const char *const *folders);

/* Capabilities: the first as root before the user changes, the second after it. */
int confinement_limit_capabilities(uint64_t set);
int confinement_take_capabilities(uint64_t set);

/* Processes and threads of a user, 0 if they cannot be counted. */
uint64_t confinement_count_processes(uid_t user);

#endif
