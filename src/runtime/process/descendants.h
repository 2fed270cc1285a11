/*
 * Ends all descendants of this process. The caller is a subreaper, so a process that leaves its
 * parent, its group or its session is still found here.
 */
#ifndef RUNTIME_PROCESS_DESCENDANTS_H
#define RUNTIME_PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* SIGKILL to every child that is not among `spared`. No allocation. */
void descendants_kill_children(const pid_t *spared, size_t spared_count);

/* Kills children, their orphans and theirs until none is left. The status of `watched` goes to
 * *ret_status if it was among them. */
void descendants_end(pid_t watched, int *ret_status);

#endif
