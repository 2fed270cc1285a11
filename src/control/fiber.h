/*
 * A separate stack for a function, switched to and from explicitly, on one thread. Notifies the
 * address and thread sanitizers of every switch. Only the simulated runner uses it.
 */
#ifndef CONTROL_FIBER_H
#define CONTROL_FIBER_H

#include <stddef.h>

#define FIBER_STACK_SIZE ((size_t)512 * 1024) /* touched pages only cost memory */

struct fiber;

/* The stack we are on, so that it can be switched back to. */
struct fiber *fiber_of_main(void);
/* function must not return: it ends with fiber_end(). */
struct fiber *fiber_new(void (*function)(void *argument), void *argument);
/* Not the current one. NULL is fine. */
void fiber_free(struct fiber *fiber);

/* Continues `to` where it was left; returns when another fiber switches to `from` again. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* As fiber_switch, for ever. */
void fiber_end(struct fiber *from, struct fiber *to) __attribute__((noreturn));

#endif
