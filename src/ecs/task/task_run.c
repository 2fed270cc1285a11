/* RunTask, which places tasks, and StartTask, which gets the instances. */
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/task/task_api.h"
#include "ecs/task/task_launch.h"

#define RUN_STARTED_BY_MAX 128
#define START_STARTED_BY_MAX 128
#define TOKEN_MAX 64

/* ---- RunTask ---- */

int task_run_prepare(struct aws_request *request)
{
	struct task_launch_input *input = arena_allocate(request->arena, sizeof(*input));
	int64_t count = json_get_integer(request->input, "count", 1);
	const struct json *requested;

	request->prepared = input;
	if (task_launch_prepare(request, RUN_STARTED_BY_MAX, input) < 0 ||
		client_token_prepare(request, TOKEN_MAX, &input->token) < 0)
		return -EPERM;
	requested = input->requested;
	if (count < 1 || count > TASK_LAUNCH_MAX)
		return aws_fail_input(request, "count: must be between 1 and %d", TASK_LAUNCH_MAX);
	if (json_count(json_get(requested, "placementConstraints")) > PLACEMENT_CONSTRAINTS_MAX)
		return aws_fail_input(request, "placementConstraints: the limit is %d of them",
			PLACEMENT_CONSTRAINTS_MAX);
	if (json_count(json_get(requested, "placementStrategy")) > PLACEMENT_STRATEGIES_MAX)
		return aws_fail_input(request, "placementStrategy: the limit is %d of them",
			PLACEMENT_STRATEGIES_MAX);
	return 0;
}

/* The tasks of a client token that still exist. */
static size_t find_known(struct aws_request *request, const struct store_object *cluster,
	const struct json *ids, const struct store_object *known[TASK_LAUNCH_MAX])
{
	size_t count = 0;

	JSON_EACH_ITEM (ids, id) {
		const struct store_object *task = task_in(request, cluster, json_text(id));

		if (task && count < TASK_LAUNCH_MAX)
			known[count++] = task;
	}
	return count;
}

/*
 * A repeated request returns the tasks of the first one, as they are now. When all of them are
 * deleted, the token is unused again. *ret_answered: the request is done.
 */
static int answer_known(struct aws_request *request, const struct store_object *cluster,
	struct task_launch *launch, bool *ret_answered)
{
	const struct task_launch_input *input = request->prepared;
	const struct store_object *known[TASK_LAUNCH_MAX];
	struct json *extra, *arns;
	const struct json *ids;
	enum client_token_use use = client_token_find(request, &input->token, cluster->key, &ids);
	size_t count = find_known(request, cluster, ids, known);

	*ret_answered = count > 0;
	if (count == 0)
		return 0;
	if (use == CLIENT_TOKEN_SAME) {
		*launch = (struct task_launch){.failures = json_new_array(request->arena)};
		for (size_t i = 0; i < count; i++)
			task_launch_add(launch, known[i]->key);
		return task_launch_answer(request, launch);
	}
	arns = json_new_array(request->arena);
	for (size_t i = 0; i < count; i++)
		json_append(request->arena, arns,
			json_new_string(request->arena, task_arn(request, known[i])));
	extra = json_new_object(request->arena);
	json_set(request->arena, extra, "resourceIds", arns);
	(void)aws_fail(request, "ConflictException",
		"The clientToken '%.*s' is already in use with a different request.",
		SPAN_ARGS(input->token.text));
	request->failure.extra = extra;
	return -EPERM;
}

static int keep_token(struct aws_request *request, const struct task_launch *launch)
{
	struct json *ids;
	struct span cluster, id;

	if (!launch->input->token.text.data || launch->count == 0)
		return 0;
	ids = json_new_array(request->arena);
	for (size_t i = 0; i < launch->count; i++)
		if (span_split(aws_name_of_key(launch->keys[i]), '/', &cluster, &id))
			json_append(request->arena, ids, json_new_string(request->arena, id));
	return client_token_keep(request, &launch->input->token, launch->cluster->key, ids);
}

/* The runtime chooses the instances: it gets the constraints, and reports its choice later. */
static int leave_all(struct aws_request *request, struct task_launch *launch, int64_t count)
{
	const struct json *requested = launch->input->requested;
	struct launch_shares shares = {.strategy = launch->options.strategy};
	_placement_ struct placement *placement = NULL;

	/* Only for its errors about invalid constraints. */
	if (task_launch_placement(request, launch, json_get(requested, "placementConstraints"),
		    json_get(requested, "placementStrategy"), &placement) < 0)
		return -EPERM;
	launch->request.desired = task_desired(request->arena, launch->request.definition_document,
		json_get(requested, "placementConstraints"),
		json_get(requested, "placementStrategy"));
	for (int64_t i = 0; i < count; i++) {
		launch->request.capacity_provider = launch_next_provider(&shares);
		if (task_launch_on(request, launch, NULL) < 0)
			return -EPERM;
	}
	return 0;
}

/* Room only shrinks: when one task is not placed, none after it would be. */
static int place_all(struct aws_request *request, struct task_launch *launch, int64_t count)
{
	const struct json *requested = launch->input->requested;
	struct launch_shares shares = {.strategy = launch->options.strategy};
	_placement_ struct placement *placement = NULL;
	struct placement_failure failure = {0};
	struct span arn = SPAN_NONE;
	int64_t placed = 0;

	if (launch->request.host.length > 0)
		return leave_all(request, launch, count);
	if (task_launch_placement(request, launch, json_get(requested, "placementConstraints"),
		    json_get(requested, "placementStrategy"), &placement) < 0)
		return -EPERM;
	for (; placed < count; placed++) {
		const struct store_object *instance =
			placement_choose(placement, store_head(request->transaction), &failure);

		if (!instance)
			break;
		launch->request.capacity_provider = launch_next_provider(&shares);
		if (task_launch_on(request, launch, instance) < 0)
			return -EPERM;
	}
	if (placed == count)
		return 0;
	if (failure.instance.data)
		arn = ecs_arn(request, "container-instance", aws_name_of_key(failure.instance));
	else if (placed == 0)
		return aws_fail_input(request, "%.*s", SPAN_ARGS(failure.reason));
	for (; placed < count; placed++)
		task_launch_failed(request, launch, arn, failure.reason);
	return 0;
}

/* Fargate has no instances that a client could choose from. */
static int check_choice(struct aws_request *request, const struct task_launch *launch)
{
	const struct json *requested = launch->input->requested;

	if (launch->request.launch_type != TASK_LAUNCH_FARGATE)
		return 0;
	if (json_count(json_get(requested, "placementConstraints")) > 0)
		return aws_fail_input(request,
			"Placement constraints are not supported with FARGATE launch type.");
	if (json_count(json_get(requested, "placementStrategy")) > 0)
		return aws_fail_input(request,
			"Placement strategies are not supported with FARGATE launch type.");
	return 0;
}

int task_run(struct aws_request *request)
{
	const struct task_launch_input *input = request->prepared;
	const struct store_object *cluster;
	struct task_launch launch;
	bool answered;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		answer_known(request, cluster, &launch, &answered) < 0)
		return -EPERM;
	if (answered)
		return 0;
	if (task_launch_begin(request, input, cluster, input->requested, &launch) < 0 ||
		check_choice(request, &launch) < 0 ||
		place_all(request, &launch, json_get_integer(input->requested, "count", 1)) < 0 ||
		keep_token(request, &launch) < 0)
		return -EPERM;
	return task_launch_answer(request, &launch);
}

/* ---- StartTask ---- */

int task_start_prepare(struct aws_request *request)
{
	struct task_launch_input *input = arena_allocate(request->arena, sizeof(*input));
	size_t count = json_count(json_get(request->input, "containerInstances"));

	request->prepared = input;
	if (count == 0 || count > TASK_LAUNCH_MAX)
		return aws_fail_input(request, "containerInstances: give 1 to %d of them",
			TASK_LAUNCH_MAX);
	return task_launch_prepare(request, START_STARTED_BY_MAX, input);
}

/* The live task that was started there with this reference; NULL if there is none. */
static const struct store_object *find_referenced(struct aws_request *request,
	const struct store_object *instance, struct span reference)
{
	struct store_cursor cursor = {
		.view = store_head(request->transaction),
		.kind = &task_kind,
		.index = TASK_BY_REFERENCE,
		.exact = true,
	};

	if (reference.length == 0)
		return NULL;
	cursor.prefix = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(instance->key),
		SPAN_ARGS(reference));
	return store_next(&cursor);
}

static int start_on(struct aws_request *request, struct task_launch *launch,
	struct placement *placement, struct span requested)
{
	const struct store_object *instance =
		container_instance_in(request, launch->cluster, requested);
	const struct store_object *known;
	struct placement_failure failure;
	struct span arn;

	if (!instance) {
		arn = ecs_canonical_arn(request, "container-instance",
			memchr(requested.data, '/', requested.length)
				? requested
				: arena_format(request->arena, "%.*s/%.*s",
					  SPAN_ARGS(cluster_facts(launch->cluster)->name),
					  SPAN_ARGS(requested)));
		task_launch_failed(request, launch, arn, SPAN("MISSING"));
		return 0;
	}
	known = find_referenced(request, instance, launch->input->reference);
	if (known) {
		task_launch_add(launch, known->key);
		return 0;
	}
	if (!placement_fits(placement, store_head(request->transaction), instance, true,
		    &failure)) {
		task_launch_failed(request, launch,
			ecs_arn(request, "container-instance", aws_name_of_key(instance->key)),
			failure.reason);
		return 0;
	}
	return task_launch_on(request, launch, instance);
}

int task_start(struct aws_request *request)
{
	const struct task_launch_input *input = request->prepared;
	struct json *requested = json_new_object(request->arena);
	_placement_ struct placement *placement = NULL;
	const struct store_object *cluster;
	struct task_launch launch;

	json_set_string(request->arena, requested, "launchType", SPAN("EC2"));
	json_set(request->arena, requested, "networkConfiguration",
		json_get(input->requested, "networkConfiguration"));
	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		task_launch_begin(request, input, cluster, requested, &launch) < 0 ||
		task_launch_placement(request, &launch, NULL, NULL, &placement) < 0)
		return -EPERM;
	launch.request.reference = input->reference;
	JSON_EACH_ITEM (json_get(input->requested, "containerInstances"), item)
		if (start_on(request, &launch, placement, json_text(item)) < 0)
			return -EPERM;
	return task_launch_answer(request, &launch);
}
