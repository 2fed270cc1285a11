/*
 * State of a container, as the daemon reports it (GET /containers/ID/json). Pure, and forgiving:
 * Docker and Podman omit different members.
 */
#ifndef RUNTIME_DOCKER_FACTS_H
#define RUNTIME_DOCKER_FACTS_H

#include "base/arena.h"
#include "base/json.h"
#include "runtime/runtime.h"

#define DOCKER_ID_MAX 64
#define DOCKER_TEXT_MAX 256
#define DOCKER_ADDRESS_MAX 64

enum docker_status {
	DOCKER_UNSEEN, /* not inspected yet */
	DOCKER_ABSENT,
	DOCKER_CREATED, /* never started */
	DOCKER_RUNNING,
	DOCKER_ENDED,
};

#define DOCKER_HEALTH_MAX 320

struct docker_facts {
	enum docker_status status;
	char id[DOCKER_ID_MAX + 1];
	int exit_code;
	bool out_of_memory;
	char error[DOCKER_TEXT_MAX];  /* the error of its start */
	char stop_signal[32];         /* the image's; "": SIGTERM */
	int64_t started_ns, ended_ns; /* wall time; 0: not */
	enum runtime_health health;
	char health_reason[DOCKER_HEALTH_MAX]; /* of the last check, if it failed */
	char address[DOCKER_ADDRESS_MAX];      /* in the first network that it has one in */
	char mac[DOCKER_ADDRESS_MAX];
	struct runtime_binding *bindings; /* without addresses; in the arena */
	size_t binding_count;
};

void docker_facts_read(const struct json *inspected, struct arena *arena,
	struct docker_facts *facts);

/* "2026-11-16T21:43:47.850511355Z", also with an offset, to nanoseconds since 1970; 0 for year 1 and for
 * anything else. *ret_length gets how many bytes it took, if not NULL. */
int64_t docker_parse_time(struct span text, size_t *ret_length);

#endif
