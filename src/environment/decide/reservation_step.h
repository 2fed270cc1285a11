/*
 * The next step towards the reservation that an environment shall have (model/reservation.h). Pure: an input in, a step
 * out. act/reservation.c carries it out.
 */
#ifndef ENVIRONMENT_DECIDE_RESERVATION_STEP_H
#define ENVIRONMENT_DECIDE_RESERVATION_STEP_H

#include "environment/model/reservation.h"

enum reservation_step_type {
	RESERVATION_STEP_NONE,
	RESERVATION_STEP_RELEASE, /* delete the recorded one, then record the wanted one */
	RESERVATION_STEP_RECORD,  /* record the wanted one, which may be put after that */
	RESERVATION_STEP_PUT,     /* put the recorded one, as the target version requires it */
};

struct reservation_input {
	struct arena *arena;
	struct span environment; /* its key */
	const struct environment_facts *facts;
	const struct environment_version_facts *target; /* NULL: none */
	/* The version for which it was put under the present claim; "": not yet. */
	struct span put;
};

struct reservation_step {
	enum reservation_step_type type;
	struct span wanted; /* its key; "": none */
};

struct reservation_step reservation_decide(const struct reservation_input *input);

#endif
