/*
 * The plane between a store that requests write to and a data plane that only records calls:
 * applied state, state written back, and behavior when the data plane rejects a change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/dispatch.h"
#include "base/memory.h"
#include "elb/plane_components.h"

#define SCOPE "123456789012/eu-west-1/"
#define PATIENCE_US INT64_C(60000000)
#define POLL_US INT64_C(1000)

/* ---- a data plane that remembers ---- */

struct fake {
	struct proxy_driver driver;
	struct lock lock;
	char *applied; /* the last state, as text */
	unsigned applies, weights;
	const char *refused; /* part of the name of a listener that cannot be bound */
	int refusal;
	bool broken;
	uint64_t active; /* of every target */
};

static void write_routes(const struct proxy_route *routes, size_t count, struct buffer *out)
{
	for (size_t i = 0; i < count; i++)
		buffer_format(out, " %s=%u", routes[i].group, routes[i].weight);
}

/* Writes the options that differ from the defaults. */
static void write_options(const struct proxy_listener *listener, struct buffer *out)
{
	const struct proxy_options *options = &listener->options;
	const struct proxy_http *http = &listener->http;

	if (options->idle_timeout_ms != (listener->protocol == PROXY_HTTP ? 60000 : 350000) &&
		listener->protocol != PROXY_UDP)
		buffer_format(out, " idle %u", options->idle_timeout_ms);
	buffer_add_string(out, options->proxy_v2 ? " proxy-v2" : "");
	buffer_add_string(out, options->sticky_source ? " sticky-source" : "");
	if (http->forwarded != PROXY_FORWARDED_APPEND)
		buffer_format(out, " forwarded %d", http->forwarded);
	buffer_add_string(out, http->forwarded_port ? " forwarded-port" : "");
	buffer_add_string(out, http->drop_invalid_headers ? " drop-invalid" : "");
	buffer_add_string(out, http->no_http2 ? " no-http2" : "");
}

static void write_settings(const struct proxy_group *group, struct buffer *out)
{
	if (group->balance != PROXY_ROUND_ROBIN)
		buffer_format(out, " balance %d", group->balance);
	if (group->sticky != PROXY_STICKY_NONE)
		buffer_format(out, " sticky %d %u %s", group->sticky, group->sticky_s,
			group->sticky_name ? group->sticky_name : "-");
	if (group->slow_start_ms > 0)
		buffer_format(out, " slow-start %u", group->slow_start_ms);
}

static void write_state(const struct proxy_state *state, struct buffer *out)
{
	char address[PROXY_ADDRESS_TEXT_SIZE];

	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];

		buffer_format(out, "%s port %u:", proxy_protocol_name(listener->protocol),
			proxy_address_port(&listener->address));
		write_routes(listener->routes, listener->route_count, out);
		write_routes(listener->http.otherwise.routes, listener->http.otherwise.route_count,
			out);
		for (size_t k = 0; k < listener->http.rule_count; k++) {
			buffer_add_string(out, " rule");
			write_routes(listener->http.rules[k].action.routes,
				listener->http.rules[k].action.route_count, out);
		}
		write_options(listener, out);
		buffer_add_char(out, '\n');
	}
	for (size_t i = 0; i < state->group_count; i++) {
		buffer_format(out, "%s:", state->groups[i].name);
		write_settings(&state->groups[i], out);
		for (size_t k = 0; k < state->groups[i].target_count; k++) {
			const struct proxy_target *target = &state->groups[i].targets[k];

			proxy_address_format(&target->address, address);
			buffer_format(out, " %s %s", address,
				proxy_target_state_name(target->state));
		}
		buffer_add_char(out, '\n');
	}
}

static int fake_apply(struct proxy_driver *driver, const struct proxy_state *state, struct err *err)
{
	struct fake *fake = CONTAINER_OF(driver, struct fake, driver);
	struct buffer out = {0};
	size_t length;
	int code = 0;

	lock_take(&fake->lock);
	if (fake->broken)
		code = err_set(err, -EIO, "the program does not start");
	for (size_t i = 0; fake->refused && i < state->listener_count && code == 0; i++) {
		char address[PROXY_ADDRESS_TEXT_SIZE];

		proxy_address_format(&state->listeners[i].address, address);
		if (strstr(address, fake->refused))
			code = proxy_listener_fault(state, &state->listeners[i],
				err_set(err, fake->refusal, "bind %s: not today", address));
	}
	if (code == 0) {
		buffer_add_string(&out, "");
		write_state(state, &out);
		free(fake->applied);
		fake->applied = buffer_take(&out, &length);
		fake->applies++;
	}
	lock_release(&fake->lock);
	return code;
}

static int fake_set_weights(struct proxy_driver *driver, const char *listener,
	const struct proxy_route *routes, size_t count, struct err *err)
{
	struct fake *fake = CONTAINER_OF(driver, struct fake, driver);

	(void)listener;
	(void)routes;
	(void)count;
	(void)err;
	lock_take(&fake->lock);
	fake->weights++;
	lock_release(&fake->lock);
	return 0;
}

/* One group, one target; by the first of them. */
static void fake_report(struct proxy_driver *driver, struct arena *arena,
	struct proxy_report *report)
{
	struct fake *fake = CONTAINER_OF(driver, struct fake, driver);

	if (report->group_count > 0)
		return;
	report->groups = arena_allocate(arena, sizeof(*report->groups));
	report->group_count = 1;
	report->groups[0].name = SCOPE "blue";
	report->groups[0].targets = arena_allocate(arena, sizeof(*report->groups[0].targets));
	report->groups[0].target_count = 1;
	proxy_address_parse("127.0.0.1", 1, &report->groups[0].targets[0].address, NULL);
	lock_take(&fake->lock);
	report->groups[0].targets[0].counters.active = fake->active;
	lock_release(&fake->lock);
}

static void fake_free(struct proxy_driver *driver)
{
	struct fake *fake = CONTAINER_OF(driver, struct fake, driver);

	free(fake->applied);
	lock_destroy(&fake->lock);
	free(fake);
}

static struct fake *fake_new(unsigned protocols)
{
	struct fake *fake = memory_allocate(sizeof(*fake));

	lock_init(&fake->lock);
	fake->driver = (struct proxy_driver){.name = "fake",
		.protocols = protocols,
		.apply = fake_apply,
		.set_weights = fake_set_weights,
		.report = fake_report,
		.free = fake_free};
	return fake;
}

/* ---- the fixture ---- */

struct fixture {
	struct runner *runner;
	struct runner_event *answered;
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct elb_context context;
	struct aws_caller caller;
	struct fake *fake; /* TCP, UDP */
	struct fake *web;  /* HTTP */
	struct proxy *proxy;
	struct elb_plane *plane;
	struct arena *arena; /* of the last call */
	struct json *answer;
	char error[256];
	char balancer[256], blue[256], green[256], listener[256];
};

static void start_plane(struct fixture *fixture)
{
	struct elb_plane_config config = {.runner = fixture->runner,
		.store = fixture->store,
		.proxy = fixture->proxy,
		.elb = &fixture->context};

	assert_int_equal(elb_plane_start(&config, &fixture->plane, NULL), 0);
}

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct store_config store = {.url = "memory:",
		.kinds = elb_kinds,
		.kind_count = elb_kind_count,
		.clock = clock_system()};
	struct aws_dispatch_config dispatch = {.clock = clock_system(), .random = random_system()};
	struct proxy_driver *drivers[2];

	fixture->runner = runner_threads_new(clock_system(), random_system());
	fixture->answered = runner_event_new(fixture->runner, "answer");
	fixture->context = (struct elb_context){
		.domain = SPAN("slipway.internal"), .addresses = SPAN("127.192.0.0/16")};
	fixture->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	assert_int_equal(store_open(&store, &fixture->store, NULL), 0);
	dispatch.store = fixture->store;
	fixture->dispatcher = aws_dispatcher_new(&dispatch);
	aws_dispatcher_register(fixture->dispatcher, &elb_service, &fixture->context);
	fixture->fake = fake_new(1u << PROXY_TCP | 1u << PROXY_UDP);
	fixture->web = fake_new(1u << PROXY_HTTP);
	drivers[0] = &fixture->fake->driver;
	drivers[1] = &fixture->web->driver;
	assert_int_equal(proxy_new(drivers, LENGTH(drivers), &fixture->proxy, NULL), 0);
	start_plane(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	elb_plane_stop(fixture->plane);
	proxy_free(fixture->proxy);
	aws_dispatcher_free(fixture->dispatcher);
	store_close(fixture->store);
	arena_free(fixture->arena);
	runner_stop(fixture->runner);
	runner_join(fixture->runner, NULL);
	runner_event_free(fixture->answered);
	runner_free(fixture->runner);
	free(fixture);
	return 0;
}

/* On whatever thread has the answer. */
static void take_answer(void *context, const struct aws_answer *answer)
{
	struct fixture *fixture = context;
	struct span body = arena_copy_span(fixture->arena, answer->body);

	snprintf(fixture->error, sizeof(fixture->error), "%s",
		answer->error_type ? answer->error_type : "");
	assert_int_equal(json_parse(body, fixture->arena, &fixture->answer, NULL), 0);
	runner_signal(fixture->answered);
}

/* A call that must work; written with ' for ". */
__attribute__((format(printf, 3, 4))) static const struct json *call(struct fixture *fixture,
	const char *operation, const char *format, ...)
{
	struct arena *arena = arena_new(0);
	uint64_t seen = runner_event_count(fixture->answered);
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	arena_free(fixture->arena);
	fixture->arena = arena;
	aws_dispatch(fixture->dispatcher, &elb_service, span_of(operation), &fixture->caller, body,
		arena, take_answer, fixture);
	while (runner_event_count(fixture->answered) == seen)
		runner_wait(fixture->runner, fixture->answered, seen, RUNNER_FOREVER);
	if (fixture->error[0])
		fail_msg("%s: %s: %.*s", operation, fixture->error,
			SPAN_ARGS(json_to_text(fixture->answer, arena)));
	return fixture->answer;
}

static void keep_text(const struct json *answer, const char *list, const char *name, char out[256])
{
	struct span text = json_get_text(json_item(json_get(answer, list), 0), name);

	snprintf(out, 256, "%.*s", SPAN_ARGS(text));
}

#define WAIT_UNTIL(fixture, condition)                                                             \
	do {                                                                                       \
		int64_t until_ = runner_deadline_us((fixture)->runner, PATIENCE_US);               \
		while (!(condition)) {                                                             \
			if (runner_now_us((fixture)->runner) > until_)                             \
				fail_msg("never: %s; applied:\n%s", #condition,                    \
					(fixture)->fake->applied);                                 \
			runner_sleep_until((fixture)->runner,                                      \
				runner_deadline_us((fixture)->runner, POLL_US));                   \
		}                                                                                  \
	} while (0)

static bool fake_has(struct fake *fake, const char *text)
{
	bool same;

	lock_take(&fake->lock);
	same = fake->applied && strcmp(fake->applied, text) == 0;
	lock_release(&fake->lock);
	return same;
}

static bool is_applied(struct fixture *fixture, const char *text)
{
	return fake_has(fixture->fake, text);
}

static bool applied_has(struct fixture *fixture, const char *text)
{
	bool has;

	lock_take(&fixture->fake->lock);
	has = fixture->fake->applied && strstr(fixture->fake->applied, text);
	lock_release(&fixture->fake->lock);
	return has;
}

static unsigned count_applies(struct fixture *fixture)
{
	unsigned count;

	lock_take(&fixture->fake->lock);
	count = fixture->fake->applies;
	lock_release(&fixture->fake->lock);
	return count;
}

static unsigned count_weights(struct fixture *fixture)
{
	unsigned count;

	lock_take(&fixture->fake->lock);
	count = fixture->fake->weights;
	lock_release(&fixture->fake->lock);
	return count;
}

static bool state_is(struct fixture *fixture, const char *code)
{
	const struct json *balancer =
		json_item(json_get(call(fixture, "DescribeLoadBalancers", "{}"), "LoadBalancers"),
			0);

	return span_is(json_text(json_path(balancer, "State.Code")), code);
}

/* Does any target of the group have the state and reason? */
static bool target_is(struct fixture *fixture, const char *group, int64_t port, const char *state,
	const char *reason)
{
	const struct json *answer =
		call(fixture, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", group);

	JSON_EACH_ITEM (json_get(answer, "TargetHealthDescriptions"), one) {
		struct span why = json_text(json_path(one, "TargetHealth.Reason"));

		if (json_get_integer(json_get(one, "Target"), "Port", 0) == port)
			return span_is(json_text(json_path(one, "TargetHealth.State")), state) &&
			       span_is(why.data ? why : SPAN(""), reason);
	}
	return !state;
}

/* A network load balancer with the groups blue (targets 127.0.0.1:1 and :2) and green (none). No
 * process listens on these ports, and the second check is minutes away: the stored state stays. */
static void make_balancer(struct fixture *fixture)
{
	static const char *const group =
		"{'Name':'%s','Protocol':'TCP','Port':80,'TargetType':'ip','VpcId':'vpc-1',"
		"'HealthCheckIntervalSeconds':300,'UnhealthyThresholdCount':10}";

	keep_text(call(fixture, "CreateLoadBalancer",
			  "{'Name':'lb','Type':'network','Subnets':['subnet-1']}"),
		"LoadBalancers", "LoadBalancerArn", fixture->balancer);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	keep_text(call(fixture, "CreateTargetGroup", group, "blue"), "TargetGroups",
		"TargetGroupArn", fixture->blue);
	keep_text(call(fixture, "CreateTargetGroup", group, "green"), "TargetGroups",
		"TargetGroupArn", fixture->green);
#pragma GCC diagnostic pop
	for (int port = 1; port <= 2; port++)
		call(fixture, "RegisterTargets",
			"{'TargetGroupArn':'%s','Targets':[{'Id':'127.0.0.1','Port':%d}]}",
			fixture->blue, port);
}

static void listen_on(struct fixture *fixture, int port)
{
	keep_text(call(fixture, "CreateListener",
			  "{'LoadBalancerArn':'%s','Protocol':'TCP','Port':%d,'DefaultActions':[{"
			  "'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s'"
			  ",'Weight':9},{'TargetGroupArn':'%s','Weight':1}]}}]}",
			  fixture->balancer, port, fixture->blue, fixture->green),
		"Listeners", "ListenerArn", fixture->listener);
}

static void weigh(struct fixture *fixture, int blue, int green)
{
	call(fixture, "ModifyListener",
		"{'ListenerArn':'%s','DefaultActions':[{'Type':'forward','ForwardConfig':{"
		"'TargetGroups':[{'TargetGroupArn':'%s','Weight':%d},{'TargetGroupArn':'%s',"
		"'Weight':%d}]}}]}",
		fixture->listener, fixture->blue, blue, fixture->green, green);
}

struct judgement {
	struct fixture *fixture;
	int64_t port;
	enum elb_target_state state;
	enum probe_reason reason;
};

static int write_judgement(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct judgement *judgement = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *target = elb_target_find(store_head(transaction),
		SPAN(SCOPE "blue"), SPAN("127.0.0.1"), judgement->port, arena);

	assert_non_null(target);
	return elb_target_set_state(transaction, target, judgement->state, judgement->reason, 0, 1,
		arena, err);
}

/* As if it had been found out before. */
static void judge(struct fixture *fixture, int64_t port, enum elb_target_state state,
	enum probe_reason reason)
{
	struct judgement judgement = {fixture, port, state, reason};

	assert_int_equal(store_write_wait(fixture->store, write_judgement, &judgement, NULL, NULL),
		0);
}

#define LISTENER(port) "tcp port " #port ": " SCOPE "blue=9 " SCOPE "green=1\n"

/* ---- tests ---- */

static void what_is_stored_is_applied(void **state)
{
	struct fixture *fixture = *state;

	make_balancer(fixture);
	WAIT_UNTIL(fixture, state_is(fixture, "active"));
	WAIT_UNTIL(fixture, target_is(fixture, fixture->blue, 1, "unused", "Target.NotInUse"));
	assert_int_equal(count_applies(fixture), 0);
	listen_on(fixture, 5000);
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	/* No target is known to be healthy, so all of them get traffic. */
	assert_true(is_applied(fixture, LISTENER(5000) SCOPE
		"blue: 127.0.0.1:1 active 127.0.0.1:2 active\n" SCOPE "green:\n"));
	WAIT_UNTIL(fixture,
		target_is(fixture, fixture->blue, 1, "initial", "Elb.InitialHealthChecking"));
	call(fixture, "DeleteListener", "{'ListenerArn':'%s'}", fixture->listener);
	WAIT_UNTIL(fixture, is_applied(fixture, ""));
	WAIT_UNTIL(fixture, target_is(fixture, fixture->blue, 1, "unused", "Target.NotInUse"));
}

static void weights_alone_go_the_fast_way(void **state)
{
	struct fixture *fixture = *state;
	unsigned applies;

	make_balancer(fixture);
	listen_on(fixture, 5000);
	WAIT_UNTIL(fixture,
		target_is(fixture, fixture->blue, 2, "initial", "Elb.InitialHealthChecking"));
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	applies = count_applies(fixture);
	for (int i = 0; i < 10; i++) {
		weigh(fixture, i, 10 - i);
		WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
		assert_int_equal(count_weights(fixture), i + 1);
	}
	assert_int_equal(count_applies(fixture), applies);
	/* The same once more is nothing. */
	weigh(fixture, 9, 1);
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	assert_int_equal(count_weights(fixture), 10);
}

static void only_healthy_targets_get_traffic(void **state)
{
	struct fixture *fixture = *state;

	make_balancer(fixture);
	listen_on(fixture, 5000);
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	judge(fixture, 1, ELB_TARGET_HEALTHY, PROBE_REASON_NONE);
	/* One that is not checked yet gets nothing new as long as another one is healthy. */
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 draining\n" SCOPE "green:\n"));
	judge(fixture, 2, ELB_TARGET_UNHEALTHY, PROBE_REASON_TIMEOUT);
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 down\n" SCOPE "green:\n"));
	judge(fixture, 1, ELB_TARGET_UNHEALTHY, PROBE_REASON_TIMEOUT);
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 active\n" SCOPE "green:\n"));
	/* Connections to unhealthy targets are kept if the group says so. */
	judge(fixture, 1, ELB_TARGET_HEALTHY, PROBE_REASON_NONE);
	call(fixture, "ModifyTargetGroupAttributes",
		"{'TargetGroupArn':'%s','Attributes':[{'Key':'target_health_state.unhealthy."
		"connection_termination.enabled','Value':'false'}]}",
		fixture->blue);
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 draining\n" SCOPE "green:\n"));
}

static void what_is_known_survives_a_restart(void **state)
{
	struct fixture *fixture = *state;
	const char *expected =
		LISTENER(5000) SCOPE "blue: 127.0.0.1:1 active 127.0.0.1:2 down\n" SCOPE "green:\n";
	unsigned applies;

	make_balancer(fixture);
	listen_on(fixture, 5000);
	judge(fixture, 1, ELB_TARGET_HEALTHY, PROBE_REASON_NONE);
	judge(fixture, 2, ELB_TARGET_UNHEALTHY, PROBE_REASON_FAILED);
	WAIT_UNTIL(fixture, is_applied(fixture, expected));
	elb_plane_stop(fixture->plane);
	applies = count_applies(fixture);
	start_plane(fixture);
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	assert_true(elb_plane_has_started(fixture->plane));
	assert_true(is_applied(fixture, expected));
	assert_int_equal(count_applies(fixture), applies + 1);
	assert_true(target_is(fixture, fixture->blue, 1, "healthy", ""));
	assert_true(target_is(fixture, fixture->blue, 2, "unhealthy", "Target.FailedHealthChecks"));
}

static void a_draining_target_goes_with_its_last_connection(void **state)
{
	struct fixture *fixture = *state;

	make_balancer(fixture);
	listen_on(fixture, 5000);
	/* A target that is not in use yet, or not known to be, is removed at once. */
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 active\n" SCOPE "green:\n"));
	for (int64_t port = 1; port <= 2; port++)
		WAIT_UNTIL(fixture, target_is(fixture, fixture->blue, port, "initial",
					    "Elb.InitialHealthChecking"));
	lock_take(&fixture->fake->lock);
	fixture->fake->active = 1;
	lock_release(&fixture->fake->lock);
	call(fixture, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'127.0.0.1','Port':1}]}", fixture->blue);
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5000) SCOPE
			"blue: 127.0.0.1:2 active 127.0.0.1:1 draining\n" SCOPE "green:\n"));
	assert_true(target_is(fixture, fixture->blue, 1, "draining",
		"Target.DeregistrationInProgress"));
	/* The other one is idle, whatever its delay. */
	call(fixture, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'127.0.0.1','Port':2}]}", fixture->blue);
	WAIT_UNTIL(fixture, is_applied(fixture, LISTENER(5000) SCOPE
				    "blue: 127.0.0.1:1 draining\n" SCOPE "green:\n"));
	assert_true(target_is(fixture, fixture->blue, 2, NULL, NULL));
	lock_take(&fixture->fake->lock);
	fixture->fake->active = 0;
	lock_release(&fixture->fake->lock);
	WAIT_UNTIL(fixture, target_is(fixture, fixture->blue, 1, NULL, NULL));
	WAIT_UNTIL(fixture, is_applied(fixture, LISTENER(5000) SCOPE "blue:\n" SCOPE "green:\n"));
}

static void refuse(struct fixture *fixture, const char *listener, int code)
{
	lock_take(&fixture->fake->lock);
	fixture->fake->refused = listener;
	fixture->fake->refusal = code;
	lock_release(&fixture->fake->lock);
}

static void a_listener_that_cannot_be_bound_stops_no_other(void **state)
{
	struct fixture *fixture = *state;
	const struct json *balancer;

	make_balancer(fixture);
	WAIT_UNTIL(fixture, state_is(fixture, "active"));
	refuse(fixture, ":5000", -EADDRINUSE);
	listen_on(fixture, 5000);
	listen_on(fixture, 5001);
	WAIT_UNTIL(fixture,
		is_applied(fixture, LISTENER(5001) SCOPE
			"blue: 127.0.0.1:1 active 127.0.0.1:2 active\n" SCOPE "green:\n"));
	WAIT_UNTIL(fixture, state_is(fixture, "active_impaired"));
	balancer =
		json_item(json_get(call(fixture, "DescribeLoadBalancers", "{}"), "LoadBalancers"),
			0);
	assert_true(span_ends_with(json_text(json_path(balancer, "State.Reason")),
		SPAN(":5000: not today")));
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	refuse(fixture, NULL, 0);
	WAIT_UNTIL(fixture, state_is(fixture, "active"));
	assert_true(applied_has(fixture, "tcp port 5000:"));
}

static void a_change_that_is_refused_leaves_what_was(void **state)
{
	struct fixture *fixture = *state;

	make_balancer(fixture);
	listen_on(fixture, 5000);
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	refuse(fixture, ":5005", -EINVAL);
	call(fixture, "ModifyListener", "{'ListenerArn':'%s','Port':5005}", fixture->listener);
	WAIT_UNTIL(fixture, state_is(fixture, "active_impaired"));
	assert_true(applied_has(fixture, "tcp port 5000:"));
	/* Others are applied, and it stays. */
	call(fixture, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'127.0.0.1','Port':3}]}", fixture->green);
	WAIT_UNTIL(fixture, applied_has(fixture, "127.0.0.1:3"));
	assert_true(applied_has(fixture, "tcp port 5000:"));
	refuse(fixture, NULL, 0);
	WAIT_UNTIL(fixture, state_is(fixture, "active"));
	assert_true(applied_has(fixture, "tcp port 5005:"));
	assert_false(applied_has(fixture, "tcp port 5000:"));
}

/* An application load balancer "web" with a listener that answers by itself, and a group. */
static void make_web(struct fixture *fixture, char group[256], char listener[256])
{
	char balancer[256];

	keep_text(call(fixture, "CreateLoadBalancer",
			  "{'Name':'web','Subnets':['subnet-1','subnet-2']}"),
		"LoadBalancers", "LoadBalancerArn", balancer);
	keep_text(call(fixture, "CreateTargetGroup",
			  "{'Name':'web','Protocol':'HTTP','Port':80,'TargetType':'ip','VpcId':"
			  "'vpc-1'}"),
		"TargetGroups", "TargetGroupArn", group);
	keep_text(call(fixture, "CreateListener",
			  "{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':8080,'DefaultActions':"
			  "[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'404'}}]}",
			  balancer),
		"Listeners", "ListenerArn", listener);
}

static void rules_follow_their_listener(void **state)
{
	struct fixture *fixture = *state;
	char group[256], listener[256];

	make_web(fixture, group, listener);
	WAIT_UNTIL(fixture, fake_has(fixture->web, "http port 8080:\n"));
	call(fixture, "CreateRule",
		"{'ListenerArn':'%s','Priority':7,'Conditions':[{'Field':'path-pattern','Values':"
		"['/a/*']}],'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		listener, group);
	WAIT_UNTIL(fixture,
		fake_has(fixture->web, "http port 8080: rule " SCOPE "web=1\n" SCOPE "web:\n"));
	/* None of that was for the other driver. */
	assert_int_equal(count_applies(fixture), 0);
}

static void set_attributes(struct fixture *fixture, const char *what, const char *arn,
	const char *attributes)
{
	_free_ char *operation = memory_format("Modify%sAttributes", what);

	call(fixture, operation, "{'%sArn':'%s','Attributes':[%s]}", what, arn, attributes);
}

static void attributes_act(void **state)
{
	struct fixture *fixture = *state;
	char web[256], listener[256], balancer[256];

	make_balancer(fixture);
	listen_on(fixture, 5000);
	set_attributes(fixture, "TargetGroup", fixture->blue,
		"{'Key':'proxy_protocol_v2.enabled','Value':'true'},"
		"{'Key':'stickiness.enabled','Value':'true'},"
		"{'Key':'stickiness.type','Value':'source_ip'}");
	WAIT_UNTIL(fixture, applied_has(fixture, "green=1 proxy-v2 sticky-source\n"));
	set_attributes(fixture, "Listener", fixture->listener,
		"{'Key':'tcp.idle_timeout.seconds','Value':'60'}");
	WAIT_UNTIL(fixture, applied_has(fixture, "green=1 idle 60000 proxy-v2 sticky-source\n"));

	make_web(fixture, web, listener);
	keep_text(call(fixture, "DescribeLoadBalancers", "{'Names':['web']}"), "LoadBalancers",
		"LoadBalancerArn", balancer);
	call(fixture, "ModifyListener",
		"{'ListenerArn':'%s','DefaultActions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		listener, web);
	set_attributes(fixture, "LoadBalancer", balancer,
		"{'Key':'idle_timeout.timeout_seconds','Value':'7'},"
		"{'Key':'routing.http2.enabled','Value':'false'},"
		"{'Key':'routing.http.xff_header_processing.mode','Value':'remove'},"
		"{'Key':'routing.http.xff_client_port.enabled','Value':'true'},"
		"{'Key':'routing.http.drop_invalid_header_fields.enabled','Value':'true'}");
	set_attributes(fixture, "TargetGroup", web,
		"{'Key':'load_balancing.algorithm.type','Value':'least_outstanding_requests'},"
		"{'Key':'stickiness.enabled','Value':'true'},"
		"{'Key':'stickiness.type','Value':'app_cookie'},"
		"{'Key':'stickiness.app_cookie.cookie_name','Value':'SHOP'},"
		"{'Key':'stickiness.app_cookie.duration_seconds','Value':'9'}");
	WAIT_UNTIL(fixture,
		fake_has(fixture->web,
			"http port 8080: " SCOPE "web=1 idle 7000 forwarded 2 forwarded-port "
			"drop-invalid no-http2\n" SCOPE "web: balance 1 sticky 2 9 SHOP\n"));
	set_attributes(fixture, "TargetGroup", web,
		"{'Key':'load_balancing.algorithm.type','Value':'round_robin'},"
		"{'Key':'slow_start.duration_seconds','Value':'30'},"
		"{'Key':'stickiness.type','Value':'lb_cookie'},"
		"{'Key':'stickiness.lb_cookie.duration_seconds','Value':'8'}");
	WAIT_UNTIL(fixture,
		fake_has(fixture->web,
			"http port 8080: " SCOPE "web=1 idle 7000 forwarded 2 forwarded-port "
			"drop-invalid no-http2\n" SCOPE "web: sticky 1 8 - slow-start 30000\n"));
}

static void a_driver_that_does_not_work_stops_no_other(void **state)
{
	struct fixture *fixture = *state;
	char group[256], listener[256];

	lock_take(&fixture->web->lock);
	fixture->web->broken = true;
	lock_release(&fixture->web->lock);
	make_web(fixture, group, listener);
	WAIT_UNTIL(fixture, state_is(fixture, "active_impaired"));
	WAIT_UNTIL(fixture, elb_plane_is_settled(fixture->plane));
	make_balancer(fixture);
	listen_on(fixture, 5000);
	WAIT_UNTIL(fixture, applied_has(fixture, LISTENER(5000)));
	lock_take(&fixture->web->lock);
	fixture->web->broken = false;
	lock_release(&fixture->web->lock);
	WAIT_UNTIL(fixture, fake_has(fixture->web, "http port 8080:\n"));
	WAIT_UNTIL(fixture, !state_is(fixture, "active_impaired"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		T(what_is_stored_is_applied),
		T(weights_alone_go_the_fast_way),
		T(only_healthy_targets_get_traffic),
		T(what_is_known_survives_a_restart),
		T(a_draining_target_goes_with_its_last_connection),
		T(a_listener_that_cannot_be_bound_stops_no_other),
		T(a_change_that_is_refused_leaves_what_was),
		T(rules_follow_their_listener),
		T(attributes_act),
		T(a_driver_that_does_not_work_stops_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
