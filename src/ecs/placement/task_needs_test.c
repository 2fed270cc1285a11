/* Resources that tasks need of an instance, by definition and overrides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ecs/placement/task_needs.h"

static struct json *parse(struct arena *arena, const char *text)
{
	struct span copy = arena_copy_span(arena, span_of(text));
	struct err err = {0};
	struct json *value;

	for (size_t i = 0; i < copy.length; i++)
		if (copy.data[i] == '\'')
			((char *)copy.data)[i] = '"';
	if (json_parse(copy, arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

#define CONTAINER(rest) "{'containerDefinitions':[{'name':'a'," rest "}]}"
#define PORTS                                                                                      \
	"'portMappings':[{'containerPort':80,'hostPort':8080,'protocol':'tcp'},"                   \
	"{'containerPort':53,'hostPort':53,'protocol':'udp'},{'containerPort':1,'hostPort':0}]"

static const struct {
	const char *document, *overrides;
	int64_t cpu, memory;
	const char *ports, *mode;
	bool checked;
} cases[] = {
	{CONTAINER("'cpu':10,'memory':64"), NULL, 10, 64, "", "bridge", false},
	{CONTAINER("'cpu':10,'memory':64,'memoryReservation':32"), NULL, 10, 32, "", "bridge",
		false},
	{"{'cpu':'256','memory':'512','containerDefinitions':[{'name':'a','cpu':1,'memory':2}]}",
		NULL, 256, 512, "", "bridge", false},
	{"{'cpu':'.5 vCPU','memory':'1 GB','containerDefinitions':[{'name':'a'}]}", NULL, 512, 1024,
		"", "bridge", false},
	{"{'containerDefinitions':[{'name':'a','cpu':10,'memory':64},{'name':'b','cpu':5,'memory':"
	 "6}]}",
		NULL, 15, 70, "", "bridge", false},
	{CONTAINER("'cpu':10,'memory':64"),
		"{'containerOverrides':[{'name':'a','cpu':20,'memoryReservation':8}]}", 20, 8, "",
		"bridge", false},
	{CONTAINER("'cpu':10,'memory':64"), "{'cpu':'128','memory':'256'}", 128, 256, "", "bridge",
		false},
	{CONTAINER(PORTS), NULL, 0, 0, "8080/tcp,53/udp", "bridge", false},
	{"{'networkMode':'awsvpc','containerDefinitions':[{'name':'a'," PORTS "}]}", NULL, 0, 0, "",
		"awsvpc", false},
	{"{'networkMode':'host','containerDefinitions':[{'name':'a'," PORTS "}]}", NULL, 0, 0,
		"80/tcp,53/udp,1/tcp", "host", false},
	{"{'networkMode':'host','containerDefinitions':[{'name':'a','portMappings':["
	 "{'containerPortRange':'8000-8002'}]}]}",
		NULL, 0, 0, "8000/tcp,8001/tcp,8002/tcp", "host", false},
	{CONTAINER("'healthCheck':{'command':['CMD','true']}"), NULL, 0, 0, "", "bridge", true},
	{CONTAINER("'essential':false,'healthCheck':{'command':['CMD','true']}"), NULL, 0, 0, "",
		"bridge", false},
};

static void needs_follow_from_definition_and_overrides(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct task_needs needs;
		struct err err = {0};

		if (task_needs_read(parse(arena, cases[i].document),
			    cases[i].overrides ? parse(arena, cases[i].overrides) : NULL, arena,
			    &needs, &err) < 0)
			fail_msg("case %zu: %s", i, err.message);
		assert_int_equal(needs.cpu, cases[i].cpu);
		assert_int_equal(needs.memory, cases[i].memory);
		assert_true(span_is(needs.ports_text, cases[i].ports));
		assert_true(span_is(needs.network_mode, cases[i].mode));
		assert_int_equal(needs.checked, cases[i].checked);
	}
}

static void too_many_ports_are_refused(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct task_needs needs;
	struct err err = {0};

	(void)state;
	assert_int_equal(task_needs_read(parse(arena,
						 "{'networkMode':'host','containerDefinitions':"
						 "[{'name':'a','portMappings':["
						 "{'containerPortRange':'8000-8100'}]}]}"),
				 NULL, arena, &needs, &err),
		-E2BIG);
	assert_non_null(strstr(err.message, "100 fixed host ports"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_follow_from_definition_and_overrides),
		cmocka_unit_test(too_many_ports_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
