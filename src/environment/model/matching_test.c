/* Which instances a version is for, and whose a task is: tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "environment/model/matching.h"

#define HERE ":1/us-east-1/default"

/* The attributes that a version requires and those of an instance, both packed, and whether they match. */
static const struct match {
	const char *wanted, *has;
	bool matches;
} matches[] = {
	{"", "", true},
	{"", ";a=b;", true},
	/* A value. */
	{";a=b;", ";a=b;", true},
	{";a=b;", ";x=y;a=b;z=;", true},
	{";a=b;", "", false},
	{";a=b;", ";a=;", false},
	{";a=b;", ";a=c;", false},
	{";a=b;", ";a=bb;", false},
	{";a=bb;", ";a=b;", false},
	{";a=b;", ";A=b;", false},
	{";a=b;", ";a=B;", false},
	/* Only that it is there. */
	{";gpu;", ";gpu=;", true},
	{";gpu;", ";gpu=v100;", true},
	{";gpu;", "", false},
	{";gpu;", ";gpus=4;", false},
	{";gpu;", ";agpu=4;", false},
	{";gpu;", ";a=gpu;", false},
	{";gpu;", ";a=x gpu=y;", false},
	/* All of them. */
	{";a=b;gpu;", ";a=b;gpu=1;", true},
	{";a=b;gpu;", ";gpu=1;a=b;", true},
	{";gpu;a=b;", ";a=b;gpu=;", true},
	{";a=b;gpu;", ";a=b;", false},
	{";a=b;gpu;", ";gpu=1;", false},
	{";a=b;a=c;", ";a=b;", false},
	{";a;b;c;", ";c=3;b=2;a=1;", true},
	/* A name that is part of another one, before it or behind it. */
	{";a=b;", ";aa=b;a=b;", true},
	{";a=b;", ";aa=x;a=b;", true},
	{";b=a;", ";a.b=a;b=a;", true},
	{";b=a;", ";a.b=a;", false},
	{";stack=prod;", ";com.me.stack=prod;", false},
	/* Other characters of values. */
	{";os=linux 6.1@x/y:z;", ";os=linux 6.1@x/y:z;", true},
	{";os=linux 6.1;", ";os=linux 6.1@x;", false},
};

static void test_attributes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(matches); i++) {
		const struct match *match = &matches[i];
		struct environment_version_facts version = {
			.cluster_ref = SPAN(HERE), .attributes = span_of(match->wanted)};
		struct observe_instance instance = {
			.id = SPAN("i"), .attributes = span_of(match->has)};

		if (environment_version_matches(&version, cluster_ref_of(SPAN(HERE)), &instance) !=
			match->matches)
			fail_msg("'%s' %s '%s'", match->wanted,
				match->matches ? "does not match" : "matches", match->has);
		/* And nowhere else, whatever it has. */
		assert_false(environment_version_matches(&version, cluster_ref_of(SPAN(HERE "2")),
			&instance));
		assert_false(environment_version_matches(&version, cluster_ref_of(SPAN("far" HERE)),
			&instance));
		assert_false(environment_version_matches(&version, cluster_ref_of(SPAN("")),
			&instance));
	}
}

static const struct owner {
	const char *group, *name; /* "": of no environment */
} owners[] = {
	{"env:log", "log"},
	{"env:log2", "log2"},
	{"env:env:log", "env:log"},
	{"env:", ""},
	{"env", ""},
	{"", ""},
	{"service:env:log", ""},
	{"family:log", ""},
	{"Env:log", ""},
	{"log", ""},
};

static void test_owners(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(owners); i++) {
		struct observe_task task = {.group = span_of(owners[i].group)};
		struct span name = span_of(owners[i].name);

		assert_true(span_equal(environment_name_of_group(task.group), name));
		if (name.length > 0) {
			assert_true(environment_owns_any(&task));
			assert_true(environment_owns(name, &task));
		}
		assert_false(environment_owns(SPAN("lo"), &task));
		assert_int_equal(environment_owns(SPAN("log"), &task), span_is(name, "log"));
	}
}

static void test_instances_that_match(void **state)
{
	(void)state;
	for (enum observe_task_status last = OBSERVE_TASK_PROVISIONING;
		last <= OBSERVE_TASK_STOPPED; last++) {
		struct observe_task task = {.last = last, .wanted = true};

		assert_int_equal(observe_task_stays(&task), last <= OBSERVE_TASK_RUNNING);
		task.wanted = false;
		assert_false(observe_task_stays(&task));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_instances_that_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
