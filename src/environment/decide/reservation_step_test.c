/* Reservations: what is recorded, what an environment shall have, and the step between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "environment/decide/reservation_step.h"

#define ENVIRONMENT "1/watch"
#define HERE ":1/r/default"
#define RESERVED "1/r/default/env:watch"

static const struct row {
	const char *name;
	enum environment_type type;
	enum environment_status status;
	const char *target, *cluster; /* of the environment's target version; NULL: it has none */
	const char *recorded, *put;
	enum reservation_step_type step;
	const char *wanted;
} rows[] = {
	{"a daemon that becomes active records it first", ENVIRONMENT_TYPE_Daemon,
		ENVIRONMENT_active, "v1", HERE, "", "", RESERVATION_STEP_RECORD, RESERVED},
	{"then it is put", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active, "v1", HERE, RESERVED, "",
		RESERVATION_STEP_PUT, RESERVED},
	{"and not again", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active, "v1", HERE, RESERVED, "v1",
		RESERVATION_STEP_NONE, RESERVED},
	{"another target version puts it again", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active, "v2",
		HERE, RESERVED, "v1", RESERVATION_STEP_PUT, RESERVED},
	{"another cluster releases the old one first", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active,
		"v2", ":1/r/other", RESERVED, "v1", RESERVATION_STEP_RELEASE,
		"1/r/other/env:watch"},
	{"a remote cluster places by itself", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active, "v1",
		"far:1/r/default", "", "", RESERVATION_STEP_NONE, ""},
	{"moving to a remote cluster releases it", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_active,
		"v2", "far:1/r/default", RESERVED, "v1", RESERVATION_STEP_RELEASE, ""},
	{"deleting releases it", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_deleting, "v1", HERE,
		RESERVED, "v1", RESERVATION_STEP_RELEASE, ""},
	{"deleting, and released", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_deleting, "v1", HERE, "",
		"v1", RESERVATION_STEP_NONE, ""},
	{"before its first deployment it has none", ENVIRONMENT_TYPE_Daemon, ENVIRONMENT_inactive,
		NULL, HERE, "", "", RESERVATION_STEP_NONE, ""},
	{"a service has none", ENVIRONMENT_TYPE_Service, ENVIRONMENT_active, "v1", HERE, "", "",
		RESERVATION_STEP_NONE, ""},
	{"a cron has none", ENVIRONMENT_TYPE_Cron, ENVIRONMENT_active, "v1", HERE, "", "",
		RESERVATION_STEP_NONE, ""},
};

static void the_table_of_steps(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		const struct environment_facts facts = {.type = row->type,
			.status = row->status,
			.target = row->target ? span_of(row->target) : SPAN(""),
			.reserved = span_of(row->recorded)};
		/* Without a target version the latest one is in its place. */
		const struct environment_version_facts target = {
			.id = row->target ? span_of(row->target) : SPAN("v1"),
			.cluster_ref = span_of(row->cluster)};
		const struct reservation_input input = {.arena = arena,
			.environment = SPAN(ENVIRONMENT),
			.facts = &facts,
			.target = &target,
			.put = span_of(row->put)};
		struct reservation_step step = reservation_decide(&input);

		if (step.type != row->step || !span_is(step.wanted, row->wanted))
			fail_msg("%s: step %d, '%.*s'", row->name, step.type,
				SPAN_ARGS(step.wanted));
	}
}

static void the_key_names_the_cluster(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct cluster_ref cluster =
		environment_reserved_cluster(arena, SPAN(ENVIRONMENT), SPAN(RESERVED));

	(void)state;
	assert_true(span_is(cluster.text, HERE));
	assert_true(span_is(cluster.cluster, "default"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_steps),
		cmocka_unit_test(the_key_names_the_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
