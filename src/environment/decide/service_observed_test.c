/* The ECS service that a version requires, and the state read from DescribeServices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "environment/decide/service_observed.h"

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* ' for " */
static const struct json *parse(const char *text)
{
	struct span copy = arena_copy_span(arena, span_of(text));
	struct json *value;
	struct err err = {0};

	for (size_t i = 0; i < copy.length; i++)
		if (copy.data[i] == '\'')
			((char *)copy.data)[i] = '"';
	if (json_parse(copy, arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

#define VERSION                                                                                    \
	"{'taskDefinition':'web:2','instanceGroup':{'cluster':'c','attributes':['stack=prod',"     \
	"'gpu',{'name':'zone','value':'a'}]},'deploymentConfiguration':{'desiredCount':3,"         \
	"'minHealthyPercent':50,'maxActivePercent':150,'onFailure':'rollback'}}"
#define DESCRIBED(more)                                                                            \
	"{'status':'ACTIVE','taskDefinition':'web:2','desiredCount':3,'runningCount':3,"           \
	"'pendingCount':0,'deploymentConfiguration':{'minimumHealthyPercent':50,"                  \
	"'maximumPercent':150,'deploymentCircuitBreaker':{'enable':true,'rollback':false}},"       \
	"'loadBalancers':[],'placementConstraints':[{'type':'memberOf','expression':"              \
	"'attribute:stack == prod and attribute:gpu exists and attribute:zone == a'}],"            \
	"'tags':[{'key':'other','value':'web'},{'key':'slipway:environment','value':'web'}],"      \
	"'deployments':[{'status':'PRIMARY','id':'ecs-svc/2','rolloutState':'COMPLETED',"          \
	"'runningCount':3,'failedTasks':0}]" more "}"

static const struct json *wanted(void)
{
	return service_wanted(arena, SPAN("c"), SPAN("web"), parse(VERSION), NULL);
}

static struct service_observed pass(const char *described)
{
	struct service_observed observed;

	service_observe(described ? parse(described) : NULL, wanted(), SPAN("web"), 1000,
		&observed);
	return observed;
}

static void test_wanted(void **state)
{
	const struct json *create = wanted(), *update = service_wanted_update(arena, create, true);

	(void)state;
	assert_true(span_is(json_get_text(create, "serviceName"), "env-web"));
	assert_true(span_is(json_get_text(update, "service"), "env-web"));
	assert_null(json_get(update, "serviceName"));
	assert_null(json_get(update, "tags"));
	assert_true(json_get_bool(update, "forceNewDeployment", false));
	assert_int_equal(json_get_integer(create, "desiredCount", 0), 3);
	assert_int_equal(json_get_integer(json_get(create, "deploymentConfiguration"),
				 "maximumPercent", 0),
		150);
	assert_int_equal(service_constraint(arena, parse("[]")).length, 0);
}

static void test_as_wanted(void **state)
{
	struct service_observed observed = pass(DESCRIBED(""));
	struct environment_counts counts;

	(void)state;
	assert_true(observed.exists && observed.is_ours && observed.as_wanted && !observed.drains);
	assert_int_equal(observed.rollout, SERVICE_ROLLOUT_COMPLETED);
	service_count(&observed, 3, &counts);
	assert_int_equal(counts.active, 3);
	assert_int_equal(counts.total, 3);
	assert_int_equal(counts.completed, 3);
}

static void test_not_there(void **state)
{
	static const char *const texts[] = {NULL, "{'status':'INACTIVE'}", "{}"};
	struct environment_counts counts;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct service_observed observed = pass(texts[i]);

		assert_false(observed.exists || observed.is_ours || observed.as_wanted);
		service_count(&observed, 3, &counts);
		assert_int_equal(counts.missing, 3);
		assert_int_equal(counts.total, 3);
	}
}

/* Each change alone is seen; only another task definition needs a rollout of its own. */
static void test_differences(void **state)
{
	static const struct {
		const char *before, *after;
		bool runs_it;
	} rows[] = {
		{"'taskDefinition':'web:2'", "'taskDefinition':'web:1'", false},
		{"'desiredCount':3", "'desiredCount':2", true},
		{"'minimumHealthyPercent':50", "'minimumHealthyPercent':51", true},
		{"'maximumPercent':150", "'maximumPercent':200", true},
		{"'enable':true", "'enable':false", true},
		{"attribute:zone == a", "attribute:zone == b", true},
		{"'loadBalancers':[]", "'loadBalancers':[{'targetGroupArn':'t'}]", true},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		static const char text[] = DESCRIBED("");
		const char *at = strstr(text, rows[i].before);
		struct service_observed observed;

		assert_non_null(at);
		observed = pass(arena_format(arena, "%.*s%s%s", (int)(at - text), text,
			rows[i].after, at + strlen(rows[i].before))
					.data);
		assert_false(observed.as_wanted);
		assert_int_equal(observed.runs_it, rows[i].runs_it);
		assert_true(observed.is_ours);
	}
}

static void test_foreign(void **state)
{
	static const char *const tags[] = {"[]", "[{'key':'slipway:environment','value':'other'}]",
		"[{'key':'environment','value':'web'}]"};

	(void)state;
	for (size_t i = 0; i < LENGTH(tags); i++) {
		struct service_observed observed =
			pass(arena_format(arena, "{'status':'ACTIVE','tags':%s}", tags[i]).data);

		assert_true(observed.exists);
		assert_false(observed.is_ours);
	}
}

/* The last event says why nothing can be started, if it is of this rollout. */
static void test_hindrances(void **state)
{
	static const struct {
		const char *message, *at, *blocker;
	} rows[] = {
		{"(service env-web) was unable to place a task because …", "1.5",
			"UNABLE_TO_PLACE"},
		{"(service env-web) was unable to place a task because …", "0.5", NULL},
		{"(service env-web) was unable to stop or start tasks during a deployment because "
		 "of the service deployment configuration.",
			"1.5", "MIN_HEALTHY_UNSATISFIABLE"},
		{"(service env-web) has started 1 tasks", "1.5", NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct environment_counts counts;
		struct service_observed observed = pass(arena_format(arena,
			"{'status':'ACTIVE','desiredCount':3,'runningCount':1,'pendingCount':1,"
			"'tags':[{'key':'slipway:environment','value':'web'}],"
			"'events':[{'createdAt':%s,'message':'%s'},{'createdAt':1.4,'message':"
			"'was unable to place a task'}]}",
			rows[i].at, rows[i].message)
								.data);

		if (rows[i].blocker)
			assert_string_equal(observed.blocker, rows[i].blocker);
		else
			assert_null(observed.blocker);
		service_count(&observed, 3, &counts);
		assert_int_equal(counts.active + counts.launching + counts.unhealthy +
					 counts.missing,
			counts.total);
		assert_int_equal(counts.unhealthy, rows[i].blocker ? 1 : 0);
		assert_int_equal(counts.outdated, counts.active);
	}
}

/* A remote ECS has another clock: an event counts if it is later than the beginning of its rollout. */
static void test_hindrances_by_another_clock(void **state)
{
	static const struct {
		const char *begun, *at;
		bool blocked;
	} rows[] = {{"100", "101", true}, {"100", "99", false}, {"9e9", "9.1e9", true},
		{"9e9", "8.9e9", false}};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct service_observed observed;

		service_observe(parse(arena_format(arena,
					"{'status':'ACTIVE','desiredCount':3,'deployments':"
					"[{'status':'PRIMARY','id':'a','createdAt':%s}],'events':"
					"[{'createdAt':%s,'message':'was unable to place a "
					"task'}]}",
					rows[i].begun, rows[i].at)
						.data),
			wanted(), SPAN("web"), SERVICE_SINCE_ROLLOUT, &observed);
		assert_int_equal(observed.blocker != NULL, rows[i].blocked);
	}
}

/* The service gets the network configuration of the version. */
static void test_networks(void **state)
{
	static const struct {
		const char *is, *wanted;
		bool same;
	} rows[] = {
		{"{}", "{}", true},
		{"{'awsvpcConfiguration':{'subnets':['a']}}", "{}", true},
		{"{'awsvpcConfiguration':{'subnets':['a']}}",
			"{'awsvpcConfiguration':{'subnets':['a']}}", true},
		{"{}", "{'awsvpcConfiguration':{'subnets':['a']}}", false},
		{"{'awsvpcConfiguration':{'subnets':['b','a']}}",
			"{'awsvpcConfiguration':{'subnets':['a','b']}}", true},
		{"{'awsvpcConfiguration':{'subnets':['a','c']}}",
			"{'awsvpcConfiguration':{'subnets':['a','b']}}", false},
		{"{'awsvpcConfiguration':{'subnets':['a','b']}}",
			"{'awsvpcConfiguration':{'subnets':['a']}}", false},
		/* Those of the network, when none are given. */
		{"{'awsvpcConfiguration':{'subnets':['a'],'securityGroups':['default']}}",
			"{'awsvpcConfiguration':{'subnets':['a']}}", true},
		{"{'awsvpcConfiguration':{'subnets':['a'],'securityGroups':['g']}}",
			"{'awsvpcConfiguration':{'subnets':['a'],'securityGroups':['h']}}", false},
		{"{'awsvpcConfiguration':{'subnets':['a'],'assignPublicIp':'DISABLED'}}",
			"{'awsvpcConfiguration':{'subnets':['a']}}", true},
		{"{'awsvpcConfiguration':{'subnets':['a'],'assignPublicIp':'DISABLED'}}",
			"{'awsvpcConfiguration':{'subnets':['a'],'assignPublicIp':'ENABLED'}}",
			false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct json *version = json_copy_object(arena, parse(VERSION));
		struct service_observed observed;

		json_set(arena, version, "networkConfiguration", parse(rows[i].wanted));
		service_observe(parse(arena_format(arena, DESCRIBED(",'networkConfiguration':%s"),
					rows[i].is)
						.data),
			service_wanted(arena, SPAN("c"), SPAN("web"), version, NULL), SPAN("web"),
			1000, &observed);
		assert_int_equal(observed.as_wanted, rows[i].same);
		assert_true(observed.runs_it);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_as_wanted),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_hindrances),
		cmocka_unit_test(test_hindrances_by_another_clock),
		cmocka_unit_test(test_networks),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
