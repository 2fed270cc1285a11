/*
 * What the data plane reads from others: control messages, the beginnings of answers to health checks,
 * and matchers. A control message that passes must be one that a worker can obey without looking again.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy/l4/control.h"
#include "proxy/l4/shared.h"
#include "proxy/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_control(const uint8_t *data, size_t size, bool has_descriptor, bool to_worker)
{
	struct control_message message;
	struct err err = {.message = ""};
	int r = control_check(data, size, has_descriptor, to_worker, &message, &err);

	if (r < 0) {
		if (r != -EPROTO || !err.message[0])
			abort();
		return;
	}
	if (message.slot >= PROXY_LISTENERS_MAX ||
		(message.kind == CONTROL_HELLO && message.slot >= L4_WORKER_SLOTS) ||
		(message.kind == CONTROL_SYNCED) == to_worker)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	struct probe_matcher matcher;
	int status = probe_status_of(text);

	for (int flags = 0; flags < 4; flags++)
		fuzz_control(data, size, flags & 1, flags & 2);
	/* More of the same answer does not change what was read. */
	if (status < -1 || status > 999 || (status > 0 && status < 100))
		abort();
	if (size > 0 && status == 0 && probe_status_of((struct span){text.data, size - 1}) != 0)
		abort();
	if (probe_matcher_parse(text, &matcher, NULL) == 0) {
		int some = 0;

		for (int code = 0; code < 700; code++)
			some |= probe_matcher_has(&matcher, code);
		if (!some)
			abort();
	}
	return 0;
}
