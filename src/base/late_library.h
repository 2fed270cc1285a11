/*
 * Shared libraries that are loaded at their first use and not when the process starts. libcurl and libpq load
 * 28 others, which takes longer than all the rest of the start of a command that needs neither
 * (docs/performance.md, "Charts").
 *
 * A library has one source that defines the functions used of it, under their own names: io/libcurl.c and
 * store/libpq.c. Each calls the loaded function. Everything else includes the library's own header, and
 * calls the source's load function before it uses the library.
 */
#ifndef BASE_LATE_LIBRARY_H
#define BASE_LATE_LIBRARY_H

#include <stddef.h>

#include "base/err.h"
#include "base/lock.h"

struct late_function {
	const char *name;
	void *pointer; /* to a pointer to a function of that type */
};

struct late_library {
	const char *file_name; /* "libpq.so.5" */
	const struct late_function *functions;
	size_t function_count;
	struct lock lock;
	void *handle; /* NULL: not loaded yet; stays loaded until the process ends */
};

/* Loads the library and sets the pointers to its functions, if that has not been done; from any thread. A
 * library or function that is missing is -ENOENT. */
int late_library_load(struct late_library *library, struct err *err);

/* For a table of X(type, name, parameters, arguments). */
#define LATE_LIBRARY_POINTER(type, name, parameters, arguments)                                    \
	static __typeof__(name) *loaded_##name;
#define LATE_LIBRARY_ENTRY(type, name, parameters, arguments) {#name, &loaded_##name},
#define LATE_LIBRARY_FUNCTION(type, name, parameters, arguments)                                   \
	type name parameters                                                                       \
	{                                                                                          \
		return loaded_##name arguments;                                                    \
	}

#endif
