/*
 * The task metadata endpoint, version 4: HTTP on an address that the task's programs reach, from
 * the variable ECS_CONTAINER_METADATA_URI_V4, which differs per container.
 *
 *     GET URI             the container            GET URI/stats         its use of resources
 *     GET URI/task        the task                 GET URI/task/stats    likewise for all containers
 *
 * One request a connection; connections, the size of a request and the time for it are limited.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_METADATA_H
#define RUNTIME_PROCESS_SUPERVISOR_METADATA_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define METADATA_CONNECTIONS_MAX 16
#define METADATA_REQUEST_MAX ((size_t)8 * 1024)
#define METADATA_PATIENCE_US ((int64_t)5 * 1000 * 1000)

struct task;
struct container;

struct metadata_connection {
	int descriptor; /* -1: free */
	struct buffer input, output;
	bool answered;
	int64_t deadline_us;
};

struct metadata {
	struct task *task;
	int listener;  /* -1: there is none */
	char base[64]; /* http://address:port/v4/ */
	struct metadata_connection connections[METADATA_CONNECTIONS_MAX];
};

/* address "": the machine's loopback; port 0: any. */
int metadata_open(struct metadata *metadata, struct task *task, const char *address, uint16_t port,
	struct err *err);
struct span metadata_uri_of(const struct metadata *metadata, struct span container_id,
	struct arena *arena);
size_t metadata_descriptors(const struct metadata *metadata, struct pollfd *polls, size_t max);
/* True if the event was one of its. */
bool metadata_handle(struct metadata *metadata, const struct pollfd *event);
/* Closes connections that are too slow. */
void metadata_step(struct metadata *metadata);
int64_t metadata_next_us(const struct metadata *metadata);

/* metadata_text.c: the answers, as JSON. */
void metadata_write_container(const struct container *container, struct buffer *out);
void metadata_write_task(const struct task *task, struct buffer *out);
void metadata_write_stats(const struct container *container, struct buffer *out);
void metadata_write_task_stats(const struct task *task, struct buffer *out);

#endif
