/*
 * The docker runtime: tasks are containers of a Docker Engine, or of Podman, on its unix socket. A
 * container keeps running without slipway; a restarted server finds its containers by their names
 * and labels, and its decisions in the folder of each task.
 *
 * Two servers on one daemon never touch each other's containers: each has a host (32 hexadecimal
 * digits that live in its state folder), every name begins with it and every label carries it.
 *
 * One open runtime at a time has a folder.
 */
#ifndef RUNTIME_DOCKER_DOCKER_H
#define RUNTIME_DOCKER_DOCKER_H

#include "base/err.h"
#include "control/runner.h"
#include "runtime/runtime.h"

#define RUNTIME_DOCKER_SOCKET "/var/run/docker.sock"
#define RUNTIME_DOCKER_INSTANCES_MAX 1000

struct runtime_docker_config {
	struct runner *runner;   /* its threads; real ones */
	const char *folder;      /* made when missing */
	const char *socket;      /* NULL: RUNTIME_DOCKER_SOCKET */
	const char *host;        /* owner of these containers: 32 hexadecimal digits */
	const char *pause;       /* path of slipway-pause; NULL: beside this program */
	unsigned instances;      /* that share the machine's resources evenly; 0 is 1 */
	bool forgets;            /* the folder goes when it is closed, and so do ended tasks */
	bool answers_dns;        /* slipway answers DNS, and on runtime_docker_dns_address() too */
	runtime_changed changed; /* may be NULL */
	void *context;
};

/* Fails if the daemon cannot be reached, unless there are tasks to adopt: those wait for it. */
int runtime_docker_open(const struct runtime_docker_config *config, struct runtime **ret_runtime,
	struct err *err);

/* The address whose port 53 is the name server of containers: that of Docker's default bridge. NULL: slipway cannot
 * listen there, and containers have Docker's name servers; *ret_reason says why. */
const char *runtime_docker_dns_address(const struct runtime *runtime, const char **ret_reason);

#endif
