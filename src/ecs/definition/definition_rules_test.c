/* The rules for task definitions, one row each: the input and the error message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/test_server.h"

#define OK NULL
#define APP "{'name':'app','image':'i','memory':64}"
#define WITH(members) "'containerDefinitions':[{'name':'app','image':'i','memory':64," members "}]"
#define TWO(first, second)                                                                         \
	"'containerDefinitions':[{'name':'one','image':'i','memory':64" first                      \
	"},{'name':'two','image':'i','memory':64" second "}]"
#define DEPENDS(name, condition)                                                                   \
	",'dependsOn':[{'containerName':'" name "','condition':'" condition "'}]"
#define FARGATE "'networkMode':'awsvpc','requiresCompatibilities':['FARGATE'],"
#define BARE "'containerDefinitions':[{'name':'app','image':'i'}]"

static const struct {
	const char *members;
	const char *words; /* NULL: accepted */
} rows[] = {
	{"'containerDefinitions':[" APP "]", OK},
	/* containers */
	{"'containerDefinitions':[]", "Container list cannot be empty."},
	{"'containerDefinitions':[" APP "," APP "]", "'app' is used more than once"},
	{"'containerDefinitions':[{'image':'i','memory':64}]", "Container.name should not be null"},
	{"'containerDefinitions':[{'name':'a b','image':'i','memory':64}]", "'a b'"},
	{"'containerDefinitions':[{'name':'a','memory':64}]", "Container.image should not be null"},
	{"'containerDefinitions':[{'name':'a','image':'i\\u0000','memory':64}]", "'image'"},
	{WITH("'essential':false"), "At least one container must be essential."},
	{TWO(",'essential':false", ""), OK},
	/* memory and CPU */
	{BARE, "At least one of 'memory' or 'memoryReservation' must be specified"},
	{BARE ",'memory':'512'", OK},
	{"'containerDefinitions':[{'name':'a','image':'i','memoryReservation':4}]", OK},
	{"'containerDefinitions':[{'name':'a','image':'i','memoryReservation':3}]", "at least 4"},
	{WITH("'memoryReservation':64"), OK},
	{WITH("'memoryReservation':65"), "must be greater than 'memoryReservation'"},
	{WITH("'cpu':1") ",'memory':'63'",
		"The 'memory' setting for container 'app' is greater than for the task."},
	{TWO("", "") ",'memory':'128'", OK},
	{TWO("", "") ",'memory':'127'", "adds up to 128 MiB"},
	{TWO(",'memoryReservation':32", ",'memoryReservation':32") ",'memory':'64'", OK},
	{TWO(",'cpu':64", ",'cpu':64") ",'cpu':'128'", OK},
	{TWO(",'cpu':64", ",'cpu':65") ",'cpu':'128'", "add up to 129"},
	{WITH("'cpu':-1"), "'cpu' must not be negative"},
	{"'containerDefinitions':[" APP "],'cpu':'127'", "from 128 to 196608"},
	{"'containerDefinitions':[" APP "],'cpu':'196609'", "from 128 to 196608"},
	{"'containerDefinitions':[" APP "],'cpu':'192 vCPU'", OK},
	{"'containerDefinitions':[" APP "],'memory':'much'", "'much'"},
	/* dependencies */
	{TWO(DEPENDS("two", "START"), ""), OK},
	{TWO(DEPENDS("two", "START"), DEPENDS("one", "START")), "form a cycle"},
	{TWO(DEPENDS("one", "START"), ""), "cannot depend on itself"},
	{TWO(DEPENDS("three", "START"), ""), "there is no container 'three'"},
	{TWO(DEPENDS("two", "HEALTHY"), ""), "has no health check"},
	{TWO(DEPENDS("two", "HEALTHY"), ",'healthCheck':{'command':['true']}"), OK},
	{TWO(DEPENDS("two", "SUCCESS"), ""), "essential"},
	{TWO(DEPENDS("two", "SUCCESS"), ",'essential':false"), OK},
	{TWO(",'links':['two:alias']", ""), OK},
	{TWO(",'links':['two']", ",'links':['one:o']"), "form a cycle"},
	{TWO(",'links':['two']", DEPENDS("one", "START")), "form a cycle"},
	{TWO(",'volumesFrom':[{'sourceContainer':'two'}]",
		 ",'volumesFrom':[{'sourceContainer':'one'}]"),
		"form a cycle"},
	{TWO(",'volumesFrom':[{}]", ""), "Invalid 'volumesFrom'"},
	/* ports */
	{WITH("'portMappings':[{'containerPort':80,'hostPort':8080}]"), OK},
	{WITH("'portMappings':[{'containerPort':0}]"), "'containerPort' must be between"},
	{WITH("'portMappings':[{'containerPort':80,'hostPort':81}]") ",'networkMode':'awsvpc'",
		"must match"},
	{WITH("'portMappings':[{'containerPort':80}]") ",'networkMode':'none'", "networkMode=none"},
	{WITH("'portMappings':[{'containerPortRange':'1-65535'}]"), OK},
	{WITH("'portMappings':[{'containerPortRange':'1-65536'}]"), "'containerPortRange'"},
	{WITH("'portMappings':[{'containerPortRange':'7-7'}]"), "'containerPortRange'"},
	{WITH("'portMappings':[{'containerPort':1,'hostPort':9},{'containerPort':2,'hostPort':9}]"),
		"host port 9/tcp"},
	{WITH("'portMappings':[{'containerPort':1,'hostPort':9},"
	      "{'containerPort':1,'hostPort':9,'protocol':'udp'}]"),
		OK},
	/* volumes */
	{"'containerDefinitions':[" APP "],'volumes':[{'name':'v'},{'name':'v'}]",
		"more than once"},
	{WITH("'mountPoints':[{'sourceVolume':'v','containerPath':'/v'}]") ",'volumes':[{'name':'v'"
									   "}]",
		OK},
	{WITH("'mountPoints':[{'sourceVolume':'w','containerPath':'/v'}]") ",'volumes':[{'name':'v'"
									   "}]",
		"Unknown volume 'w'."},
	{"'containerDefinitions':[" APP "],'volumes':[{'name':'v','host':{},"
	 "'dockerVolumeConfiguration':{}}]",
		"more than one source"},
	/* Fargate */
	{FARGATE BARE ",'cpu':'256','memory':'512'", OK},
	{FARGATE BARE ",'cpu':'.25 vCPU','memory':'.5 GB'", OK},
	{FARGATE BARE ",'cpu':'256','memory':'4096'", "No Fargate configuration exists"},
	{FARGATE BARE ",'memory':'512'", "requires that 'cpu' be defined"},
	{FARGATE WITH("'cpu':1") ",'cpu':'256'", "requires that 'memory' be defined"},
	{"'requiresCompatibilities':['FARGATE']," BARE ",'cpu':'256','memory':'512'",
		"only supports network mode 'awsvpc'"},
	{FARGATE WITH("'stopTimeout':120") ",'cpu':'256','memory':'512'", OK},
	{FARGATE WITH("'stopTimeout':121") ",'cpu':'256','memory':'512'",
		"'stopTimeout' is at most 120"},
	{FARGATE WITH("'linuxParameters':{'devices':[]}") ",'cpu':'256','memory':'512'", OK},
	{FARGATE WITH("'linuxParameters':{'maxSwap':0}") ",'cpu':'256','memory':'512'",
		"'maxSwap'"},
	{"'networkMode':'awsvpc','requiresCompatibilities':['EXTERNAL']," BARE ",'memory':'512'",
		"EXTERNAL"},
};

static void every_rule(void **state)
{
	struct test_server *server = *state;
	int64_t accepted = 0;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		if (rows[i].words) {
			test_refused(server, "RegisterTaskDefinition", "ClientException",
				rows[i].words, "{'family':'f',%s}", rows[i].members);
			continue;
		}
		test_call(server, "RegisterTaskDefinition", "{'family':'f',%s}", rows[i].members);
		/* A rejected request uses no revision number. */
		assert_int_equal(json_get_integer(json_get(server->answer, "taskDefinition"),
					 "revision", 0),
			++accepted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(every_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
