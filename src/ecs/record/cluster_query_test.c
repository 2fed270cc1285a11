/* The cluster query language: what is understood, what it means, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ecs/record/attribute.h"
#include "ecs/record/cluster_query.h"

static const struct span groups[] = {SPAN("service:web"), SPAN("family:batch")};

static struct cluster_query_instance instance(struct arena *arena)
{
	struct json *attributes;

	assert_int_equal(json_parse(SPAN("[{\"name\":\"ecs.instance-type\",\"value\":\"t2.small\"},"
					 "{\"name\":\"zone\",\"value\":\"eu-1a\"},"
					 "{\"name\":\"gpu\"},"
					 "{\"name\":\"slots\",\"value\":\"12\"}]"),
				 arena, &attributes, NULL),
		0);
	return (struct cluster_query_instance){
		.attributes = attribute_pack(arena, attributes),
		.agent_connected = true,
		.agent_version = SPAN("1.18.0"),
		.registered_ms = INT64_C(1767225600000), /* 2026-01-01 */
		.running_tasks = 5,
		.ec2_instance_id = SPAN_NONE,
		.groups = groups,
		.group_count = LENGTH(groups),
	};
}

static void test_meaning(void **state)
{
	static const struct {
		const char *text;
		bool matches;
	} table[] = {
		{"attribute:zone == eu-1a", true},
		{"attribute:zone==eu-1a", true},
		{"attribute:zone equals eu-1b", false},
		{"attribute:zone != eu-1b", true},
		{"attribute:absent != x", true},
		{"attribute:absent == x", false},
		{"attribute:gpu exists", true},
		{"attribute:gpu !exists", false},
		{"attribute:absent not_exists", true},
		{"attribute:zone in [eu-1b, eu-1a]", true},
		{"attribute:zone in [eu-1b,eu-1c]", false},
		{"attribute:zone not_in [eu-1b]", true},
		{"attribute:zone !in [eu-1a]", false},
		{"attribute:ecs.instance-type =~ t2.*", true},
		{"attribute:ecs.instance-type =~ t2", false},
		{"attribute:ecs.instance-type matches (t2|t3).small", true},
		{"attribute:ecs.instance-type !~ m.*", true},
		{"(attribute:ecs.instance-type =~ t2.*)", true},
		{"attribute:slots > 9", true},
		{"attribute:slots less_than 100", true},
		{"attribute:slots == 012", false},
		{"runningTasksCount > 4", true},
		{"runningTasksCount >= 6", false},
		{"runningTasksCount <= 5", true},
		{"runningTasksCount in [4, 5]", true},
		{"agentConnected == true", true},
		{"agentConnected == false", false},
		{"agentVersion < 1.18.1", true},
		{"agentVersion greater_than_equal 1.18", true},
		{"agentVersion > 1.9.0", true},
		{"agentVersion == 1.18", true},
		{"registeredAt > 2025-12-31", true},
		{"registeredAt > 2026-01-01T00:00:01Z", false},
		{"ec2InstanceId exists", false},
		{"ec2InstanceId != i-1", true},
		{"task:group == service:web", true},
		{"task:group == service:api", false},
		{"task:group != service:web", false},
		{"not(task:group == service:api)", true},
		{"task:group =~ service:.*", true},
		{"!(task:group exists)", false},
		{"attribute:zone == a or attribute:zone == eu-1a and agentConnected == true", true},
		{"(attribute:zone == eu-1a or attribute:zone == b) && agentConnected == false",
			false},
		{"attribute:zone == b || not attribute:zone == c", true},
		{"not not attribute:gpu exists", true},
		{"  attribute:gpu   exists  ", true},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct cluster_query_instance subject = instance(arena);

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_cluster_query_ struct cluster_query *query = NULL;
		struct err err;

		if (cluster_query_parse(span_of(table[i].text), &query, &err) < 0)
			fail_msg("'%s': %s", table[i].text, err.message);
		if (cluster_query_matches(query, &subject) != table[i].matches)
			fail_msg("'%s' should be %s", table[i].text,
				table[i].matches ? "true" : "false");
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *complaint;
	} table[] = {
		{"", "a subject is missing"},
		{"zone == a", "'zone' is not a subject"},
		{"attribute: == a", "is not a subject"},
		{"attribute:zone", "an operator is missing"},
		{"attribute:zone ~ a", "an operator is missing"},
		{"attribute:zone ==", "a value is missing"},
		{"attribute:zone in a", "a list is missing"},
		{"attribute:zone in [a", "the list does not end"},
		{"attribute:zone in [a,,b]", "an empty item"},
		{"attribute:zone in []", "an empty item"},
		{"(attribute:zone == a", "')' is missing"},
		{"attribute:zone == a)", "'and' or 'or' is missing"},
		{"attribute:zone == a attribute:gpu exists", "'and' or 'or' is missing"},
		{"attribute:zone == a and", "a subject is missing"},
		{"attribute:zone =~ (a", "not a pattern"},
		{"attribute:zone =~ a{9}", "not supported"},
		{"runningTasksCount > many", "cannot be compared"},
		{"runningTasksCount =~ 1.*", "patterns are for texts"},
		{"registeredAt > yesterday", "cannot be compared"},
		{"agentVersion > new", "cannot be compared"},
		{"agentConnected > true", "has no order"},
		{"task:group > a", "has no order"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct cluster_query *query = NULL;
		struct err err;

		if (cluster_query_parse(span_of(table[i].text), &query, &err) == 0) {
			cluster_query_free(query);
			fail_msg("'%s' should be refused", table[i].text);
		}
		if (!strstr(err.message, table[i].complaint))
			fail_msg("'%s': '%s' does not say '%s'", table[i].text, err.message,
				table[i].complaint);
	}
}

static void test_limits(void **state)
{
	_buffer_ struct buffer text = {0};
	struct cluster_query *query;
	struct err err;

	(void)state;
	for (int i = 0; i < 100; i++)
		buffer_add_string(&text, "(");
	assert_int_equal(cluster_query_parse(buffer_span(&text), &query, &err), -EINVAL);
	assert_non_null(strstr(err.message, "too deep"));
	buffer_reset(&text);
	for (int i = 0; i < 65; i++)
		buffer_format(&text, "%sattribute:a exists", i ? " or " : "");
	assert_int_equal(cluster_query_parse(buffer_span(&text), &query, &err), -EINVAL);
	assert_non_null(strstr(err.message, "too many terms"));
	buffer_reset(&text);
	for (int i = 0; i < CLUSTER_QUERY_TEXT_MAX; i++)
		buffer_add_string(&text, "xx");
	assert_int_equal(cluster_query_parse(buffer_span(&text), &query, &err), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
