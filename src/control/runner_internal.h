/* Shared by runner.c and the two kinds of runner; no other file includes it. */
#ifndef CONTROL_RUNNER_INTERNAL_H
#define CONTROL_RUNNER_INTERNAL_H

#include "control/runner.h"

struct runner_operations {
	bool simulated;
	struct runner *(*group_new)(struct runner *parent, const char *name);
	void (*free)(struct runner *runner);
	int (*spawn)(struct runner *runner, const char *name, void (*function)(void *),
		void *context, struct err *err);
	void (*stop)(struct runner *runner);
	bool (*is_stopped)(struct runner *runner);
	int (*join)(struct runner *runner, struct err *err);
	struct runner_event *(*event_new)(struct runner *runner, const char *name);
	void (*event_free)(struct runner_event *event);
	uint64_t (*event_count)(struct runner_event *event);
	void (*signal)(struct runner_event *event);
	void (*signal_one)(struct runner_event *event);
	/* event NULL: nothing but time or a stop ends it. */
	int (*wait)(struct runner *runner, struct runner_event *event, uint64_t seen,
		int64_t deadline_us, bool certain);
	int (*yield)(struct runner *runner);
	void (*trace)(struct runner *runner, const char *text);
};

/* The beginning of both kinds of runner. */
struct runner {
	const struct runner_operations *operations;
	struct clock *clock;
	struct random *random;
	char name[RUNNER_NAME_MAX + 1];
	/* The tree of groups; changed and walked under the implementation's own lock. */
	struct runner *parent, *first_child, *next_sibling;
};

struct runner_event {
	const struct runner_operations *operations;
	const char *name;
};

/* "PARENT/NAME", cut at RUNNER_NAME_MAX. */
void runner_set_name(struct runner *runner, const struct runner *parent, const char *name);
void runner_link(struct runner *parent, struct runner *child);
void runner_unlink(struct runner *child);

#endif
