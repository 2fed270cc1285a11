/* Shared by template.c and template_container.c; not for other files. */
#ifndef RUNTIME_KUBERNETES_TEMPLATE_INTERNAL_H
#define RUNTIME_KUBERNETES_TEMPLATE_INTERNAL_H

#include "base/buffer.h"
#include "runtime/kubernetes/resources.h"
#include "runtime/kubernetes/start_order.h"
#include "runtime/kubernetes/template.h"

#define TEMPLATE_PROGRAM_VOLUME "slipway-program"
#define TEMPLATE_MARKS_VOLUME "slipway-marks"
#define TEMPLATE_OWN_PREFIX "slipway-"

struct making {
	struct arena *arena;
	const struct kubernetes_template_config *config;
	const struct kubernetes_template_request *request;
	const struct json *spec, *containers;
	struct kubernetes_start_order order;
	struct kubernetes_size sizes[RUNTIME_CONTAINERS_MAX];
	struct span names[RUNTIME_CONTAINERS_MAX]; /* in Kubernetes, by index */
	int64_t hold;                              /* seconds */
	bool restarts;                             /* Kubernetes starts its containers again */
	struct json *secrets;
	bool uses_program, uses_marks;   /* the container that is being made */
	bool needs_program, needs_marks; /* any of them */
	struct buffer notes;
	struct err *err;
};

/* A name of a container or volume, distinct from slipway's own names. */
struct span template_name(struct making *making, struct span name);
/* With the container's name before it. */
int template_refuse(struct making *making, const struct json *container, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define template_refuse(...) ERR_NEGATIVE(template_refuse(__VA_ARGS__))
/* Adds {"name","mountPath"} with "readOnly" if it is. */
void template_add_mount(struct making *making, struct json *mounts, const char *volume,
	const char *path, bool readonly);

int template_make_container(struct making *making, size_t index, struct json **ret_container);

/* The requirements of "restricted" on each container. */
void template_restrict(struct arena *arena, struct json *rights);

#endif
