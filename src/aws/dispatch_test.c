#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "aws/dispatch.h"
#include "aws/policy.h"
#include "base/buffer.h"
#include "base/memory.h"

/* ---- a small service over ECS's shapes: clusters are names ---- */

static const struct store_kind cluster_kind = {.name = "cluster"};
static const struct store_kind *const kinds[] = {&cluster_kind};

struct behaviour {
	atomic_int prepared;
	atomic_int ran;
};

static int prepare_create(struct aws_request *request)
{
	struct behaviour *behaviour = request->context;

	assert_null(request->view);
	behaviour->prepared++;
	request->prepared = (void *)arena_format(request->arena, "{\"clusterName\":\"%.*s\"}",
		SPAN_ARGS(json_get_text(request->input, "clusterName")))
				    .data;
	return 0;
}

static int run_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "clusterName");
	struct behaviour *behaviour = request->context;
	int code;

	behaviour->ran++;
	assert_non_null(request->transaction);
	if (span_is(name, "taken"))
		return aws_fail(request, "ClientException", "Cluster '%s' exists.", "taken");
	code = store_put(request->transaction, &cluster_kind, name, span_of(request->prepared),
		SPAN(""), STORE_ABSENT, &request->err);
	if (code < 0)
		return aws_fail_store(request);
	if (span_is(name, "regretted")) {
		struct json *extra = json_new_object(request->arena);

		json_set_string(request->arena, extra, "resourceIds", SPAN("x\"y"));
		aws_fail(request, "ConflictException", "Not this one.");
		request->failure.extra = extra;
		return -EPERM;
	}
	if (span_is(name, "confused"))
		return -EBADF;
	if (span_is(name, "disguised")) {
		aws_fail(request, "ClientException", "Said no, returned yes.");
		return 0;
	}
	if (span_is(name, "huge"))
		request->out->failed = true;
	request->resource =
		arena_format(request->arena, "arn:aws:ecs:r:1:cluster/%.*s", SPAN_ARGS(name));
	buffer_format(request->out, "{\"cluster\":%s}", (const char *)request->prepared);
	return 0;
}

static void create_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span name = json_get_text(request->input, "clusterName");

	if (span_is(name, "many")) {
		resources->overflow = true;
		return;
	}
	resources->arns[resources->count++] =
		arena_format(request->arena, "arn:aws:ecs:r:1:cluster/%.*s", SPAN_ARGS(name));
}

static int run_describe(struct aws_request *request)
{
	const struct json *names = json_get(request->input, "clusters");
	bool first = true;

	assert_null(request->transaction);
	buffer_add_string(request->out, "{\"clusters\":[");
	JSON_EACH_ITEM (names, name) {
		const struct store_object *cluster =
			store_get(request->view, &cluster_kind, json_text(name));

		if (!cluster)
			continue;
		if (!first)
			buffer_add_char(request->out, ',');
		first = false;
		buffer_add_span(request->out, cluster->api);
	}
	buffer_add_string(request->out, "]}");
	return 0;
}

static int run_list(struct aws_request *request)
{
	(void)request; /* no text: the answer is {} */
	return 0;
}

static const char *wrong_answer;

static int run_wrong(struct aws_request *request)
{
	buffer_add_string(request->out, wrong_answer);
	return 0;
}

static int run_execute(struct aws_request *request)
{
	assert_null(request->view);
	buffer_add_string(request->out, "{\"interactive\":true}");
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "CreateCluster",
		.mode = AWS_WRITE,
		.prepare = prepare_create,
		.run = run_create,
		.resources = create_resources},
	{.name = "DeleteCluster", .mode = AWS_UNBUILT},
	{.name = "DescribeClusters", .mode = AWS_READ, .run = run_describe},
	{.name = "ExecuteCommand", .mode = AWS_BLOCKING, .run = run_execute},
	{.name = "ListClusters", .mode = AWS_READ, .run = run_list},
	{.name = "ListServices", .mode = AWS_READ, .run = run_wrong},
};

static const struct aws_service service = {
	.name = "ecs",
	.json_target = "AmazonEC2ContainerServiceV20141113",
	.shapes = &shape_ecs,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException",
};

static int run_hello(struct aws_request *request)
{
	buffer_add_string(request->out, "{\"hello\":1}");
	return 0;
}

static const struct aws_operation own_operations[] = {
	{.name = "Hello", .mode = AWS_READ, .run = run_hello},
};
static const struct aws_operation internal_operations[] = {
	{.name = "Hush", .mode = AWS_READ, .run = run_hello},
};
static const struct aws_service own_service = {.name = "slipway",
	.operations = own_operations,
	.operation_count = 1,
	.internal_operations = internal_operations,
	.internal_operation_count = 1};

/* ---- a dispatcher, and a call that is waited for ---- */

struct fixture {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct clock_manual clock;
	struct behaviour behaviour;
	struct store_faults faults;
	atomic_int commit_code; /* the answer of before_commit */
	struct buffer audit;    /* a line each */
	sem_t gate, at_gate;    /* for one test */
	pthread_t blocking;
	bool has_blocking;
	struct aws_dispatch_config config;
};

static int before_commit(void *context)
{
	return ((struct fixture *)context)->commit_code;
}

static void write_audit(void *context, const struct aws_audit *audit)
{
	struct fixture *fixture = context;

	buffer_format(&fixture->audit, "%.*s %s %.*s %.*s %s %d %s\n",
		SPAN_ARGS(audit->caller->user), audit->service, SPAN_ARGS(audit->operation),
		SPAN_ARGS(audit->resource), audit->error_type ? audit->error_type : "-",
		audit->status, audit->write ? "write" : "read");
	assert_int_equal(strlen(audit->request_id), ID_UUID_SIZE - 1);
}

struct job {
	void (*function)(void *);
	void *context;
};

static void *run_job(void *context)
{
	struct job *job = context;

	job->function(job->context);
	free(job);
	return NULL;
}

static int run_on_thread(void *context, void (*function)(void *), void *function_context)
{
	struct fixture *fixture = context;
	struct job *job = memory_allocate(sizeof(*job));

	*job = (struct job){function, function_context};
	fixture->has_blocking = true;
	return -pthread_create(&fixture->blocking, NULL, run_job, job);
}

static struct fixture *fixture_new(bool inline_writes)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct store_config store_config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.inline_writes = inline_writes,
		.faults = &fixture->faults,
	};
	struct err err = {0};

	fixture->faults = (struct store_faults){.before_commit = before_commit, .context = fixture};
	if (store_open(&store_config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
	clock_manual_init(&fixture->clock, INT64_C(1440938160000));
	fixture->config = (struct aws_dispatch_config){
		.store = fixture->store,
		.clock = &fixture->clock.clock,
		.random = random_system(),
		.audit = write_audit,
		.audit_context = fixture,
		.run_blocking = run_on_thread,
		.run_blocking_context = fixture,
	};
	return fixture;
}

static void fixture_start(struct fixture *fixture)
{
	fixture->dispatcher = aws_dispatcher_new(&fixture->config);
	aws_dispatcher_register(fixture->dispatcher, &service, &fixture->behaviour);
	aws_dispatcher_register(fixture->dispatcher, &own_service, NULL);
}

static void fixture_free(struct fixture *fixture)
{
	if (fixture->has_blocking)
		pthread_join(fixture->blocking, NULL);
	aws_dispatcher_free(fixture->dispatcher);
	store_close(fixture->store);
	buffer_clear(&fixture->audit);
	free(fixture);
}

struct answer {
	pthread_mutex_t lock;
	pthread_cond_t come;
	int times;
	int status;
	char type[128];
	char body[4096];
};

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct answer *taken = context;

	pthread_mutex_lock(&taken->lock);
	taken->times++;
	taken->status = answer->status;
	snprintf(taken->type, sizeof(taken->type), "%s",
		answer->error_type ? answer->error_type : "");
	snprintf(taken->body, sizeof(taken->body), "%.*s", SPAN_ARGS(answer->body));
	pthread_cond_signal(&taken->come);
	pthread_mutex_unlock(&taken->lock);
}

static void dispatch(struct fixture *fixture, const struct aws_service *to, const char *operation,
	const struct aws_caller *caller, const char *body, struct answer *answer)
{
	_arena_ struct arena *arena = arena_new(0);

	*answer = (struct answer){
		.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};
	aws_dispatch(fixture->dispatcher, to, span_of(operation), caller, span_of(body), arena,
		take_answer, answer);
	pthread_mutex_lock(&answer->lock);
	while (answer->times == 0)
		pthread_cond_wait(&answer->come, &answer->lock);
	pthread_mutex_unlock(&answer->lock);
	assert_int_equal(answer->times, 1);
}

static const struct aws_caller admin = {
	.account = {"123456789012", 12}, .user = {"admin", 5}, .region = {"eu-west-1", 9}};

static void call(struct fixture *fixture, const char *operation, const char *body,
	struct answer *answer)
{
	dispatch(fixture, &service, operation, &admin, body, answer);
}

static void expect(struct fixture *fixture, const char *operation, const char *body, int status,
	const char *answer_body)
{
	struct answer answer;

	call(fixture, operation, body, &answer);
	if (answer.status != status || strcmp(answer.body, answer_body) != 0)
		fail_msg("%s %s: %d %s", operation, body, answer.status, answer.body);
}

/* ---- tests ---- */

static void writes_are_seen_by_reads(void **state)
{
	for (int inline_writes = 0; inline_writes < 2; inline_writes++) {
		struct fixture *fixture = fixture_new(inline_writes);

		(void)state;
		fixture_start(fixture);
		expect(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", 200,
			"{\"cluster\":{\"clusterName\":\"a\"}}");
		expect(fixture, "DescribeClusters", "{\"clusters\":[\"a\",\"b\"]}", 200,
			"{\"clusters\":[{\"clusterName\":\"a\"}]}");
		expect(fixture, "ListClusters", "", 200, "{}");
		expect(fixture, "ExecuteCommand",
			"{\"command\":\"sh\",\"interactive\":true,\"task\":\"t\"}", 200,
			"{\"interactive\":true}");
		assert_int_equal(fixture->behaviour.prepared, 1);
		assert_string_equal(fixture->audit.data,
			"admin ecs CreateCluster arn:aws:ecs:r:1:cluster/a - 200 write\n"
			"admin ecs DescribeClusters  - 200 read\n"
			"admin ecs ListClusters  - 200 read\n"
			"admin ecs ExecuteCommand  - 200 write\n");
		fixture_free(fixture);
	}
}

static void finds_services(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	assert_ptr_equal(aws_dispatcher_find(fixture->dispatcher, SPAN("ecs")), &service);
	assert_ptr_equal(aws_dispatcher_find(fixture->dispatcher, SPAN("slipway")), &own_service);
	assert_null(aws_dispatcher_find(fixture->dispatcher, SPAN("ec2")));
	assert_ptr_equal(aws_dispatcher_find_target(fixture->dispatcher,
				 SPAN("AmazonEC2ContainerServiceV20141113")),
		&service);
	assert_null(aws_dispatcher_find_target(fixture->dispatcher, SPAN("")));
	/* A service without shapes has the operations of its table and no others. */
	dispatch(fixture, &own_service, "Hello", &admin, "{}", &answer);
	assert_string_equal(answer.body, "{\"hello\":1}");
	dispatch(fixture, &own_service, "Bye", &admin, "{}", &answer);
	assert_string_equal(answer.type, "UnknownOperationException");
	fixture_free(fixture);
}

/* For aws_call(): to all others they are names that no operation has. */
static void internal_operations_are_for_internal_callers(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct aws_caller internal = admin;
	struct answer answer;

	(void)state;
	internal.is_internal = true;
	fixture_start(fixture);
	dispatch(fixture, &own_service, "Hush", &admin, "{}", &answer);
	assert_string_equal(answer.type, "UnknownOperationException");
	dispatch(fixture, &own_service, "Hush", &internal, "{}", &answer);
	assert_string_equal(answer.body, "{\"hello\":1}");
	dispatch(fixture, &own_service, "Hello", &internal, "{}", &answer);
	assert_string_equal(answer.body, "{\"hello\":1}");
	fixture_free(fixture);
}

static void refuses_what_it_does_not_do(void **state)
{
	static const struct {
		const char *operation, *body;
		int status;
		const char *answer;
	} cases[] = {
		{"CreateCluter", "{}", 400,
			"{\"__type\":\"UnknownOperationException\",\"message\":\"ecs has no "
			"operation "
			"'CreateCluter'.\"}"},
		{"", "{}", 400,
			"{\"__type\":\"UnknownOperationException\",\"message\":\"ecs has no "
			"operation "
			"''.\"}"},
		{"\xff", "{}", 400,
			"{\"__type\":\"UnknownOperationException\",\"message\":\"ecs has no "
			"operation "
			"'\ufffd'.\"}"},
		/* In the table, and only in the model. */
		{"DeleteCluster", "{}", 400,
			"{\"__type\":\"UnsupportedFeatureException\",\"message\":\"slipway does "
			"not "
			"support DeleteCluster yet.\"}"},
		{"RunTask", "{}", 400,
			"{\"__type\":\"UnsupportedFeatureException\",\"message\":\"slipway does "
			"not "
			"support RunTask yet.\"}"},
		{"ListClusters", "[]", 400,
			"{\"__type\":\"SerializationException\",\"message\":\"The request must be "
			"a "
			"JSON object, not an array.\"}"},
		{"ListClusters", "null", 400,
			"{\"__type\":\"SerializationException\",\"message\":\"The request must be "
			"a "
			"JSON object, not null.\"}"},
	};
	struct fixture *fixture = fixture_new(true);
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	for (size_t i = 0; i < LENGTH(cases); i++)
		expect(fixture, cases[i].operation, cases[i].body, cases[i].status,
			cases[i].answer);
	call(fixture, "ListClusters", "{\"maxResults\":", &answer);
	assert_int_equal(answer.status, 400);
	assert_string_equal(answer.type, "SerializationException");
	call(fixture, "ListClusters", "{\"maxResults\":\"ten\"}", &answer);
	assert_string_equal(answer.type, "SerializationException");
	assert_non_null(strstr(answer.body, "maxResults"));
	call(fixture, "ExecuteCommand", "{\"interactive\":true,\"task\":\"t\"}", &answer);
	assert_string_equal(answer.type, "InvalidParameterException");
	assert_non_null(strstr(answer.body, "command"));
	/* None of them reached a handler. */
	assert_int_equal(fixture->behaviour.prepared, 0);
	fixture_free(fixture);
}

static void too_long_a_body_is_refused(void **state)
{
	struct fixture *fixture = fixture_new(true);
	_buffer_ struct buffer body = {0};
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	memset(buffer_reserve(&body, AWS_REQUEST_BODY_MAX + 1), ' ', AWS_REQUEST_BODY_MAX + 1);
	body.length = AWS_REQUEST_BODY_MAX + 1;
	body.data[body.length] = '\0';
	call(fixture, "ListClusters", body.data, &answer);
	assert_int_equal(answer.status, 413);
	assert_string_equal(answer.type, "RequestEntityTooLargeException");
	fixture_free(fixture);
}

static void policies_are_asked_before_anything_is_looked_at(void **state)
{
	static const char policy_text[] =
		"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:*\",\"Resource\":"
		"\"arn:aws:ecs:*:*:cluster/team-*\"},{\"Effect\":\"Allow\",\"Action\":"
		"\"ecs:ListClusters\",\"Resource\":\"*\"},{\"Effect\":\"Deny\",\"Action\":\"*\","
		"\"Resource\":\"arn:aws:ecs:*:*:cluster/team-x\"}]}";
	struct fixture *fixture = fixture_new(true);
	_arena_ struct arena *arena = arena_new(0);
	struct aws_caller caller = {
		.account = SPAN("123456789012"), .user = SPAN("ci"), .region = SPAN("eu-west-1")};
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	assert_int_equal(aws_policy_parse(span_of(policy_text), arena, &caller.policy, NULL), 0);
	dispatch(fixture, &service, "CreateCluster", &caller, "{\"clusterName\":\"team-a\"}",
		&answer);
	assert_int_equal(answer.status, 200);
	dispatch(fixture, &service, "ListClusters", &caller, "{}", &answer);
	assert_int_equal(answer.status, 200);

	dispatch(fixture, &service, "CreateCluster", &caller, "{\"clusterName\":\"b\"}", &answer);
	assert_int_equal(answer.status, 400);
	assert_string_equal(answer.body,
		"{\"__type\":\"AccessDeniedException\",\"message\":\"User: "
		"arn:aws:iam::123456789012:user/ci is not authorized to perform: ecs:CreateCluster "
		"on resource: arn:aws:ecs:r:1:cluster/b because no identity-based policy allows "
		"the ecs:CreateCluster action\"}");
	dispatch(fixture, &service, "CreateCluster", &caller, "{\"clusterName\":\"team-x\"}",
		&answer);
	assert_non_null(strstr(answer.body,
		"cluster/team-x with an explicit deny in an identity-based policy\""));
	/* More resources than can be named, and none. */
	dispatch(fixture, &service, "CreateCluster", &caller, "{\"clusterName\":\"many\"}",
		&answer);
	assert_string_equal(answer.type, "AccessDeniedException");
	assert_non_null(strstr(answer.body, "on resource: * because"));
	dispatch(fixture, &service, "DescribeClusters", &caller, "{}", &answer);
	assert_string_equal(answer.type, "AccessDeniedException");
	/* Invalid and unimplemented requests reveal nothing to unauthorised callers. */
	dispatch(fixture, &service, "ExecuteCommand", &caller, "{\"command\":5}", &answer);
	assert_string_equal(answer.type, "AccessDeniedException");
	dispatch(fixture, &service, "RunTask", &caller, "{}", &answer);
	assert_string_equal(answer.type, "AccessDeniedException");
	assert_non_null(strstr(fixture->audit.data,
		"ci ecs CreateCluster arn:aws:ecs:r:1:cluster/b AccessDeniedException 400 "
		"write\n"));
	fixture_free(fixture);
}

static void calls_are_limited_per_account(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct aws_caller other = {
		.account = SPAN("210987654321"), .user = SPAN("x"), .region = SPAN("r")};
	struct answer answer;

	(void)state;
	fixture->config.reads_per_second = 3;
	fixture->config.writes_per_second = 1;
	fixture_start(fixture);
	for (int i = 0; i < 3; i++)
		expect(fixture, "ListClusters", "{}", 200, "{}");
	expect(fixture, "ListClusters", "{}", 400,
		"{\"__type\":\"ThrottlingException\",\"message\":\"Rate exceeded\"}");
	dispatch(fixture, &service, "ListClusters", &other, "{}", &answer);
	assert_int_equal(answer.status, 200);
	call(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", &answer);
	assert_int_equal(answer.status, 200);
	call(fixture, "CreateCluster", "{\"clusterName\":\"b\"}", &answer);
	assert_string_equal(answer.type, "ThrottlingException");
	clock_manual_advance_ms(&fixture->clock, 1000);
	expect(fixture, "ListClusters", "{}", 200, "{}");
	call(fixture, "CreateCluster", "{\"clusterName\":\"b\"}", &answer);
	assert_int_equal(answer.status, 200);
	fixture_free(fixture);
}

static void a_failed_write_changes_nothing(void **state)
{
	static const struct {
		const char *name;
		int status;
		const char *answer; /* how it begins */
	} cases[] = {
		{"taken", 400,
			"{\"__type\":\"ClientException\",\"message\":\"Cluster 'taken' exists.\"}"},
		{"regretted", 400,
			"{\"__type\":\"ConflictException\",\"message\":\"Not this one.\","
			"\"resourceIds\":\"x\\\"y\"}"},
		{"confused", 500,
			"{\"__type\":\"ServerException\",\"message\":\"CreateCluster failed inside "
			"of "
			"slipway (Bad file descriptor)."},
		{"disguised", 400,
			"{\"__type\":\"ClientException\",\"message\":\"Said no, returned yes.\"}"},
		{"huge", 500,
			"{\"__type\":\"ServerException\",\"message\":\"The answer to CreateCluster "
			"is "
			"larger than 64 MB; ask for less at once.\"}"},
	};
	struct fixture *fixture = fixture_new(false);

	(void)state;
	fixture_start(fixture);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char body[128];
		struct answer answer;

		snprintf(body, sizeof(body), "{\"clusterName\":\"%s\"}", cases[i].name);
		call(fixture, "CreateCluster", body, &answer);
		assert_int_equal(answer.status, cases[i].status);
		if (strncmp(answer.body, cases[i].answer, strlen(cases[i].answer)) != 0)
			fail_msg("%s: %s", cases[i].name, answer.body);
		snprintf(body, sizeof(body), "{\"clusters\":[\"%s\"]}", cases[i].name);
		expect(fixture, "DescribeClusters", body, 200, "{\"clusters\":[]}");
	}
	/* The store's own refusal: the key is there already. */
	expect(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", 200,
		"{\"cluster\":{\"clusterName\":\"a\"}}");
	{
		struct answer answer;

		call(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", &answer);
		assert_int_equal(answer.status, 500);
		assert_string_equal(answer.type, "ServerException");
	}
	fixture_free(fixture);
}

static void a_store_that_cannot_write_is_a_server_fault(void **state)
{
	struct fixture *fixture = fixture_new(false);
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	fixture->commit_code = -ENOSPC;
	call(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", &answer);
	assert_int_equal(answer.status, 500);
	assert_string_equal(answer.type, "ServerException");
	assert_non_null(strstr(answer.body, "could not be made durable and was not kept"));
	expect(fixture, "DescribeClusters", "{\"clusters\":[\"a\"]}", 200, "{\"clusters\":[]}");
	fixture->commit_code = 0;
	expect(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", 200,
		"{\"cluster\":{\"clusterName\":\"a\"}}");
	fixture_free(fixture);
}

/* ---- a blocked writer ---- */

static int wait_for_gate(void *context)
{
	struct fixture *fixture = context;

	sem_post(&fixture->at_gate);
	while (sem_wait(&fixture->gate) < 0)
		;
	sem_post(&fixture->gate); /* open for all that follow */
	return 0;
}

static int write_nothing(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)transaction;
	(void)context;
	(void)err;
	return 0;
}

static void ignore_done(void *context, int code, uint64_t revision, const struct err *err)
{
	(void)context;
	(void)code;
	(void)revision;
	(void)err;
}

static void count_answer(void *context, const struct aws_answer *answer)
{
	assert_int_equal(answer->status, 200);
	sem_post(context);
}

static void a_full_queue_is_a_server_fault(void **state)
{
	struct fixture *fixture = fixture_new(false);
	_arena_ struct arena *arena = arena_new(0);
	struct answer answer;
	sem_t answered;

	(void)state;
	sem_init(&answered, 0, 0);
	sem_init(&fixture->gate, 0, 0);
	sem_init(&fixture->at_gate, 0, 0);
	fixture->faults.before_commit = wait_for_gate;
	fixture->config.audit = NULL;
	fixture_start(fixture);
	/* One write is being made durable and does not get on; then the queue is filled. */
	aws_dispatch(fixture->dispatcher, &service, SPAN("CreateCluster"), &admin,
		SPAN("{\"clusterName\":\"a\"}"), arena, count_answer, &answered);
	while (sem_wait(&fixture->at_gate) < 0)
		;
	while (store_write(fixture->store, write_nothing, ignore_done, NULL, NULL) == 0)
		;
	call(fixture, "CreateCluster", "{\"clusterName\":\"b\"}", &answer);
	assert_int_equal(answer.status, 500);
	assert_string_equal(answer.type, "ServerException");
	assert_non_null(strstr(answer.body,
		"Too many changes are waiting to be written. Nothing was changed; try again in a "
		"moment"));
	/* Reads continue. */
	expect(fixture, "DescribeClusters", "{\"clusters\":[\"a\",\"b\"]}", 200,
		"{\"clusters\":[]}");
	sem_post(&fixture->gate);
	while (sem_wait(&answered) < 0)
		;
	expect(fixture, "DescribeClusters", "{\"clusters\":[\"a\",\"b\"]}", 200,
		"{\"clusters\":[{\"clusterName\":\"a\"}]}");
	sem_destroy(&answered);
	fixture_free(fixture);
}

static void without_a_thread_nothing_blocks(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct answer answer;

	(void)state;
	fixture->config.run_blocking = NULL;
	fixture_start(fixture);
	call(fixture, "ExecuteCommand", "{\"command\":\"sh\",\"interactive\":true,\"task\":\"t\"}",
		&answer);
	assert_int_equal(answer.status, 500);
	assert_non_null(strstr(answer.body, "No thread is free to run ExecuteCommand."));
	fixture_free(fixture);
}

static void write_count(void *context, const char *service_name, const char *operation,
	const char *result, uint64_t calls, double seconds)
{
	(void)seconds;
	buffer_format(context, "%s %s %s %d\n", service_name, operation, result, (int)calls);
}

static void results_are_counted(void **state)
{
	struct fixture *fixture = fixture_new(true);
	_buffer_ struct buffer counts = {0};
	struct aws_caller internal = admin;
	struct answer answer;

	(void)state;
	fixture_start(fixture);
	call(fixture, "CreateCluster", "{\"clusterName\":\"a\"}", &answer);
	call(fixture, "CreateCluster", "{\"clusterName\":\"taken\"}", &answer);
	call(fixture, "ListClusters", "{}", &answer);
	call(fixture, "ListClusters", "{}", &answer);
	call(fixture, "RunTask", "{}", &answer);
	call(fixture, "Nothing", "{}", &answer);
	call(fixture, "NothingElse", "{}", &answer);
	dispatch(fixture, &own_service, "Hello", &admin, "{}", &answer);
	internal.is_internal = true;
	dispatch(fixture, &own_service, "Hush", &internal, "{}", &answer);
	aws_dispatcher_each_count(fixture->dispatcher, write_count, &counts);
	assert_string_equal(counts.data, "ecs CreateCluster success 1\n"
					 "ecs CreateCluster ClientException 1\n"
					 "ecs ListClusters success 2\n"
					 "ecs RunTask UnsupportedFeatureException 1\n"
					 "ecs unknown UnknownOperationException 2\n"
					 "slipway Hello success 1\n"
					 "slipway Hush success 1\n");
	fixture_free(fixture);
}

#define THREADS 4
#define WRITES 100

struct worker {
	struct fixture *fixture;
	int number;
	int failed;
};

static void *write_and_read(void *context)
{
	struct worker *worker = context;

	for (int i = 0; i < WRITES; i++) {
		char body[128];
		struct answer answer;

		snprintf(body, sizeof(body), "{\"clusterName\":\"c-%d-%d\"}", worker->number, i);
		dispatch(worker->fixture, &service, "CreateCluster", &admin, body, &answer);
		worker->failed += answer.status != 200;
		snprintf(body, sizeof(body), "{\"clusters\":[\"c-%d-%d\"]}", worker->number, i);
		dispatch(worker->fixture, &service, "DescribeClusters", &admin, body, &answer);
		/* An answered write is durable and published: the next read finds it. */
		worker->failed += !strstr(answer.body, "clusterName");
	}
	return NULL;
}

static void many_threads_at_once(void **state)
{
	struct fixture *fixture = fixture_new(false);
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	fixture->config.audit = NULL;
	fixture->config.clock = clock_system();
	fixture->config.reads_per_second = fixture->config.writes_per_second = 1e9;
	fixture_start(fixture);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.fixture = fixture, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].failed, 0);
	}
	assert_int_equal(fixture->behaviour.ran, THREADS * WRITES);
	fixture_free(fixture);
}

/* Scenario tests set it on every server. */
static void answers_are_compared_with_the_model(void **state)
{
	static const struct {
		const char *answer, *complaint; /* NULL: it matches */
	} rows[] = {
		{"{}", NULL},
		{"{\"serviceArns\":[\"arn:x\"],\"nextToken\":null}", NULL},
		{"{\"serviceArns\":[1]}", "serviceArns[0]: expected a string, not a number"},
		{"{\"arns\":[]}", "arns: the model has no such member"},
		{"{\"serviceArns\":", "is not JSON"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct fixture *fixture = fixture_new(true);
		struct answer answer;

		fixture->config.check_answers = true;
		fixture_start(fixture);
		wrong_answer = rows[i].answer;
		call(fixture, "ListServices", "{}", &answer);
		if (!rows[i].complaint)
			assert_string_equal(answer.body, rows[i].answer);
		else if (answer.status != 500 || !strstr(answer.body, rows[i].complaint))
			fail_msg("%s: %d %s", rows[i].answer, answer.status, answer.body);
		fixture_free(fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_compared_with_the_model),
		cmocka_unit_test(writes_are_seen_by_reads),
		cmocka_unit_test(finds_services),
		cmocka_unit_test(internal_operations_are_for_internal_callers),
		cmocka_unit_test(refuses_what_it_does_not_do),
		cmocka_unit_test(too_long_a_body_is_refused),
		cmocka_unit_test(policies_are_asked_before_anything_is_looked_at),
		cmocka_unit_test(calls_are_limited_per_account),
		cmocka_unit_test(a_failed_write_changes_nothing),
		cmocka_unit_test(a_store_that_cannot_write_is_a_server_fault),
		cmocka_unit_test(a_full_queue_is_a_server_fault),
		cmocka_unit_test(without_a_thread_nothing_blocks),
		cmocka_unit_test(results_are_counted),
		cmocka_unit_test(many_threads_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
