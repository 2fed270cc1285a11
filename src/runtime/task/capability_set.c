/* Names and sets of capabilities; see capability_set.h. */
#include "runtime/task/capability_set.h"

#include <linux/capability.h>

#include "base/memory.h"

/* In the kernel's order: the index is the number. */
static const char *const names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};
_Static_assert(LENGTH(names) == CAP_CHECKPOINT_RESTORE + 1, "the names are the kernel's");

#define BIT(number) (UINT64_C(1) << (number))
#define DEFAULT_SET                                                                                \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) | BIT(CAP_FOWNER) |              \
		BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) | BIT(CAP_SETGID) | BIT(CAP_SETUID) |            \
		BIT(CAP_SETFCAP) | BIT(CAP_SETPCAP) | BIT(CAP_NET_BIND_SERVICE) |                  \
		BIT(CAP_SYS_CHROOT) | BIT(CAP_KILL) | BIT(CAP_AUDIT_WRITE))

/* 0 for a name that is unknown. Docker's own commands write them with CAP_, ECS without. */
static uint64_t find(struct span name)
{
	if (span_equal_ignoring_case(name, SPAN("ALL")))
		return CAPABILITY_SET_ALL;
	if (name.length > 4 && span_equal_ignoring_case((struct span){name.data, 4}, SPAN("CAP_")))
		name = (struct span){name.data + 4, name.length - 4};
	for (size_t i = 0; i < LENGTH(names); i++)
		if (span_equal_ignoring_case(name, span_of(names[i])))
			return BIT(i);
	return 0;
}

static bool read_names(const struct json *list, uint64_t *ret_set, struct span *ret_unknown)
{
	*ret_set = 0;
	JSON_EACH_ITEM (list, item) {
		struct span name = json_text(item);
		uint64_t found = name.data ? find(name) : 0;

		if (!found) {
			*ret_unknown = name.data ? name : SPAN("");
			return false;
		}
		*ret_set |= found;
	}
	return true;
}

bool capability_set_read(const struct json *capabilities, bool privileged, uint64_t *ret_set,
	struct span *ret_unknown)
{
	uint64_t add, drop;

	if (!read_names(json_get(capabilities, "add"), &add, ret_unknown) ||
		!read_names(json_get(capabilities, "drop"), &drop, ret_unknown))
		return false;
	if (privileged)
		*ret_set = CAPABILITY_SET_ALL;
	else if (add == CAPABILITY_SET_ALL)
		*ret_set = drop == CAPABILITY_SET_ALL ? 0 : CAPABILITY_SET_ALL & ~drop;
	else
		*ret_set = (DEFAULT_SET & ~drop) | add;
	return true;
}
