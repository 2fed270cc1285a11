/*
 * Linux capabilities of a container's programs, as Docker grants them: a default set, without those that
 * linuxParameters.capabilities drops and with those that it adds. Bit N is capability N of the kernel.
 */
#ifndef RUNTIME_TASK_CAPABILITY_SET_H
#define RUNTIME_TASK_CAPABILITY_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/span.h"

#define CAPABILITY_SET_ALL UINT64_MAX

/* The member "capabilities" of a container, which may be absent. False if a name is no capability's: *ret_unknown. */
bool capability_set_read(const struct json *capabilities, bool privileged, uint64_t *ret_set,
	struct span *ret_unknown);

#endif
