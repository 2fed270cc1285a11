/* sched_setattr(2), for which there is no function. */
#include "runtime/process/slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORTEST_NS 100000 /* that the kernel gives */

struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void set_slice(uint64_t nanoseconds)
{
	struct attributes attributes = {.size = sizeof(attributes)};

	/* Only for the default policy; a thread with another one keeps it. */
	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) < 0 ||
		attributes.policy != SCHED_OTHER)
		return;
	attributes.runtime = nanoseconds;
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void slice_shorten(void)
{
	set_slice(SHORTEST_NS);
}

void slice_restore(void)
{
	set_slice(0);
}
