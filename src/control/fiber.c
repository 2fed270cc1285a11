/*
 * ucontext, because it is the one portable way to get onto a new stack. A guard page below each stack
 * turns an overflow into a fault instead of a corruption.
 */
#include "control/fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/memory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_THREAD_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIBER_ADDRESS_SANITIZER 1
#endif
#ifdef __SANITIZE_THREAD__
#define FIBER_THREAD_SANITIZER 1
#endif

#ifdef FIBER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

struct fiber {
	ucontext_t context;
	void (*function)(void *argument);
	void *argument;
	void *mapping; /* guard page and stack; NULL for main */
	size_t mapping_size;
	/* For the address sanitizer: the stack (main's is learnt at the first switch away from it),
	 * the fake stack kept while another fiber runs, and the fiber that switched to us last. */
	const void *stack;
	size_t stack_size;
	void *fake_stack;
	struct fiber *from;
	void *thread_sanitizer_fiber;
};

struct fiber *fiber_of_main(void)
{
	struct fiber *fiber = memory_allocate(sizeof(*fiber));

#ifdef FIBER_THREAD_SANITIZER
	fiber->thread_sanitizer_fiber = __tsan_get_current_fiber();
#endif
	return fiber;
}

/* We are on `self` now, coming from self->from. */
static void arrived(struct fiber *self)
{
#ifdef FIBER_ADDRESS_SANITIZER
	const void *stack;
	size_t size;

	__sanitizer_finish_switch_fiber(self->fake_stack, &stack, &size);
	if (self->from && !self->from->stack) {
		self->from->stack = stack;
		self->from->stack_size = size;
	}
#else
	(void)self;
#endif
}

/* Inlined always: the thread sanitizer counts function entries and exits per fiber, and this one would be
 * entered on one and left on the other. */
__attribute__((always_inline)) static inline void leaving(struct fiber *from, struct fiber *to,
	int for_ever)
{
	to->from = for_ever ? NULL : from;
#ifdef FIBER_ADDRESS_SANITIZER
	__sanitizer_start_switch_fiber(for_ever ? NULL : &from->fake_stack, to->stack,
		to->stack_size);
#endif
#ifdef FIBER_THREAD_SANITIZER
	__tsan_switch_to_fiber(to->thread_sanitizer_fiber, 0);
#endif
}

static void entry(unsigned high, unsigned low)
{
	struct fiber *self = (struct fiber *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low);

	arrived(self);
	self->function(self->argument);
	fprintf(stderr, "slipway: a fiber returned instead of ending\n");
	abort();
}

struct fiber *fiber_new(void (*function)(void *argument), void *argument)
{
	struct fiber *fiber = memory_allocate(sizeof(*fiber));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t self = (uintptr_t)fiber;

	fiber->function = function;
	fiber->argument = argument;
	fiber->mapping_size = FIBER_STACK_SIZE + page;
	fiber->mapping = mmap(NULL, fiber->mapping_size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (fiber->mapping == MAP_FAILED || mprotect(fiber->mapping, page, PROT_NONE) < 0 ||
		getcontext(&fiber->context) < 0) {
		perror("slipway: no stack for a fiber");
		abort();
	}
	fiber->stack = (char *)fiber->mapping + page;
	fiber->stack_size = FIBER_STACK_SIZE;
#ifdef FIBER_ADDRESS_SANITIZER
	/* The addresses may have been a stack before; its poison must not outlive it. */
	__asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
#ifdef FIBER_THREAD_SANITIZER
	fiber->thread_sanitizer_fiber = __tsan_create_fiber(0);
#endif
	fiber->context.uc_stack.ss_sp = (char *)fiber->mapping + page;
	fiber->context.uc_stack.ss_size = FIBER_STACK_SIZE;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, (void (*)(void))entry, 2, (unsigned)(self >> 16 >> 16),
		(unsigned)(self & UINT32_MAX));
	return fiber;
}

void fiber_free(struct fiber *fiber)
{
	if (!fiber)
		return;
	if (fiber->mapping) {
#ifdef FIBER_ADDRESS_SANITIZER
		__asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
#ifdef FIBER_THREAD_SANITIZER
		__tsan_destroy_fiber(fiber->thread_sanitizer_fiber);
#endif
		munmap(fiber->mapping, fiber->mapping_size);
	}
	free(fiber);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
	leaving(from, to, 0);
	swapcontext(&from->context, &to->context);
	arrived(from);
}

void fiber_end(struct fiber *from, struct fiber *to)
{
	leaving(from, to, 1);
	setcontext(&to->context);
	abort();
}
