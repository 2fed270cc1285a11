/*
 * Weights of a CanaryRelease as a command line has them: "web:80=10", "web:53/UDP=0.1", and their place in a spec. Pure.
 */
#ifndef CLI_CANARY_PORTS_H
#define CLI_CANARY_PORTS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

/* spec.services with the weight of one port changed, or with the port, or its Service, added. word:
 * SERVICE:PORT[/PROTOCOL]=WEIGHT, the weight in percent with at most one decimal. services: an array, or NULL. */
int canary_ports_set(struct arena *arena, const struct json *services, const char *word,
	const struct json **ret_services, struct err *err);
/* With this weight ("20", "0.1") at every listed port. */
int canary_ports_set_all(struct arena *arena, const struct json *services, const char *weight,
	const struct json **ret_services, struct err *err);

#endif
