/*
 * Ownership you can see: cleanup attributes for locals, TAKE() to hand over, allocation that does
 * not return NULL. Running out of memory ends the process with a message: every promise to a
 * client is already on disk, and a half-handled allocation failure is worse than a restart.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))
#define _free_ CLEANUP(memory_free_pointer)
#define _close_ CLEANUP(memory_close_descriptor)

/* Moves a pointer out of a variable and leaves NULL behind. */
#define TAKE(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})

/* Moves a descriptor out of a variable and leaves -1 behind. */
#define TAKE_FD(descriptor)                                                                        \
	({                                                                                         \
		int taken_ = (descriptor);                                                         \
		(descriptor) = -1;                                                                 \
		taken_;                                                                            \
	})

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The structure of which pointer is the named member. */
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

void *memory_allocate(size_t size);                     /* zeroed */
void *memory_allocate_array(size_t count, size_t size); /* zeroed, overflow-checked */
void *memory_resize(void *old, size_t size);            /* new part not zeroed */
void *memory_copy(const void *from, size_t size);
char *memory_copy_string(const char *text); /* NULL stays NULL */
char *memory_copy_string_n(const char *text, size_t length);
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Free pages in the pools of all threads go back to the system; takes milliseconds. For after much work that comes
 * seldom. */
void memory_give_back(void);

void memory_free_pointer(void *pointer_to_pointer);
void memory_close_descriptor(int *descriptor);

#endif
