/*
 * The source for remote clusters: one thread for each cluster lists all of it periodically. A listing is complete when
 * every page came, everything on the pages was described, and each known entity that was on no page was described by name
 * and is missing: lists that change between two pages leave entities out. An error before that ends the listing, which
 * then removes nothing, and the next one waits longer.
 *
 * Tasks that shall run are listed before those that shall stop: a task goes from the first to the second and
 * never back, so none slips through between.
 */
#include <stdio.h>

#include "aws/call.h"
#include "base/memory.h"
#include "delivery/observe/document.h"
#include "delivery/observe/observe_internal.h"

#define DESCRIBE_MAX 100
#define PAGES_MAX 10000
#define BACKOFF_MOST_PERIODS 6 /* after failures: a minute where one lists every ten seconds */
#define BACKOFF_MOST_US INT64_C(60000000)
#define BACKOFF_FIRST_US INT64_C(10000000) /* where one lists less often than that */
#define JITTER_PERCENT 20
#define VERSION_US 2000
#define TOMBSTONES_MAX 100000
#define STALE_PERIODS 3 /* without a complete listing, */
#define STALE_LISTINGS                                                                             \
	4 /* and as long as so many took: of large clusters they take longer than a period */
#define REPORTED_FAILURES 2       /* of listings in a row; one alone is put right by the next */
#define EARLY_US INT64_C(1000000) /* from one listing to the next if a consumer waits */
#define DEFINITIONS_MAX 10000     /* that are remembered */
#define DEFINITIONS_AT_ONCE 20    /* that are looked up after one listing */

struct source_remote {
	struct observer *service;
	struct observed_cluster *cluster;
	int64_t period_us;
	/* Guarded by the service's lock: task definitions by ARN. */
	struct map definitions;
};

static char checked, unchecked; /* values of the map */

static int64_t period_us_of(const struct observer *service, const struct observed_cluster *cluster)
{
	int64_t poll_ms = cluster->poll_ms > 0 ? cluster->poll_ms : service->config.poll_ms;

	return (poll_ms > 0 ? poll_ms : OBSERVE_POLL_MS) * 1000;
}

static struct aws_target *client_of(const struct source_remote *remote)
{
	struct aws_target *client;

	lock_take(&remote->service->lock);
	client = remote->cluster->client;
	lock_release(&remote->service->lock);
	return client;
}

/* ---- one listing ---- */

struct listing {
	struct source_remote *remote;
	struct aws_target *target;
	struct arena *arena; /* of one page and what is described of it */
	struct observe_changes changes;
};

/* One kind of entity: how it is listed and described. */
struct part {
	const char *list, *arns;      /* operation, and member of its answer */
	const char *desired;          /* desiredStatus, or NULL */
	const char *describe, *names; /* operation, and member of its request */
	const char *documents, *arn;  /* member of its answer, and of each of those */
	/* Under the lock. Takes one document. */
	int (*take)(struct listing *listing, const struct json *document, struct moment now,
		struct err *err);
	size_t (*missing)(struct replica *state, struct arena *arena, struct span **ret_names);
};

static int call(struct listing *listing, const char *operation, struct json *request,
	struct json **ret_answer, struct err *err)
{
	json_set_string(listing->arena, request, "cluster", listing->remote->cluster->ref.cluster);
	return aws_call(listing->target, "ecs", operation, request, listing->arena, ret_answer,
		NULL, err);
}

static int take_instance(struct listing *listing, const struct json *document, struct moment now,
	struct err *err)
{
	struct observed_cluster *cluster = listing->remote->cluster;
	struct observe_instance instance;
	bool gone, changed;

	if (observe_document_instance(document, listing->arena, &instance, &gone, err) < 0)
		return -EINVAL;
	changed =
		gone ? replica_remove_instance(cluster->replica, instance.id, instance.version, now)
		     : replica_list_instance(cluster->replica, &instance, now);
	if (changed)
		observe_changes_add(&listing->changes, cluster, instance.id);
	return 0;
}

static int take_task(struct listing *listing, const struct json *document, struct moment now,
	struct err *err)
{
	struct observed_cluster *cluster = listing->remote->cluster;
	struct observe_task task;

	if (observe_document_task(document, listing->arena, &task, err) < 0)
		return -EINVAL;
	if (replica_list_task(cluster->replica, &task, now))
		observe_changes_add_task(&listing->changes, cluster, task.instance, task.group);
	return 0;
}

static const struct part instances = {.list = "ListContainerInstances",
	.arns = "containerInstanceArns",
	.describe = "DescribeContainerInstances",
	.names = "containerInstances",
	.documents = "containerInstances",
	.arn = "containerInstanceArn",
	.take = take_instance,
	.missing = replica_list_missing_instances};

static const struct part running = {.list = "ListTasks",
	.arns = "taskArns",
	.desired = "RUNNING",
	.describe = "DescribeTasks",
	.names = "tasks",
	.documents = "tasks",
	.arn = "taskArn",
	.take = take_task,
	.missing = replica_list_missing_tasks};

static const struct part stopped = {.list = "ListTasks",
	.arns = "taskArns",
	.desired = "STOPPED",
	.describe = "DescribeTasks",
	.names = "tasks",
	.documents = "tasks",
	.arn = "taskArn",
	.take = take_task};

/* ---- describing ---- */

static int take_documents(struct listing *listing, const struct part *part,
	const struct json *documents, struct err *err)
{
	struct observer *service = listing->remote->service;
	struct moment now = runner_moment(service->runner);
	int code = 0;

	lock_take(&service->lock);
	JSON_EACH_ITEM (documents, document) {
		code = part->take(listing, document, now, err);
		if (code < 0)
			break;
	}
	lock_release(&service->lock);
	observe_changes_deliver(service, &listing->changes);
	return code < 0 ? err_prefix(err, code, "%s", part->describe) : 0;
}

/* Every name is described, or reported as missing. */
static int check_answer(const struct part *part, const struct json *names,
	const struct json *answer, struct err *err)
{
	_map_ struct map answered = {0};

	JSON_EACH_ITEM (json_get(answer, part->documents), document)
		map_put(&answered, observe_document_id(json_get_text(document, part->arn)),
			&checked);
	JSON_EACH_ITEM (json_get(answer, "failures"), failure) {
		struct span arn = json_get_text(failure, "arn");
		struct span reason = json_get_text(failure, "reason");

		if (arn.data && span_is(reason, "MISSING"))
			map_put(&answered, observe_document_id(arn), &checked);
	}
	JSON_EACH_ITEM (names, name)
		if (!map_has(&answered, observe_document_id(json_text(name))))
			return err_set(err, -EREMOTEIO, "%s does not mention '%.*s'",
				part->describe, SPAN_ARGS(json_text(name)));
	return 0;
}

static int describe(struct listing *listing, const struct part *part, const struct json *names,
	struct err *err)
{
	struct json *request = json_new_object(listing->arena), *answer;
	int code;

	if (json_count(names) == 0)
		return 0;
	json_set(listing->arena, request, part->names, names);
	code = call(listing, part->describe, request, &answer, err);
	/* The part of the entities that was described is kept. */
	if (code == 0)
		code = take_documents(listing, part, json_get(answer, part->documents), err);
	return code < 0 ? code : check_answer(part, names, answer, err);
}

/* ---- pages ---- */

/* The page behind *token, which is moved; data NULL: it was the last one. */
static int list_page(struct listing *listing, const struct part *part, char **token,
	struct err *err)
{
	struct json *request = json_new_object(listing->arena), *answer;
	const struct json *names;
	struct span next;
	int code;

	if (part->desired)
		json_set_string(listing->arena, request, "desiredStatus", span_of(part->desired));
	json_set_integer(listing->arena, request, "maxResults", DESCRIBE_MAX);
	if (*token)
		json_set_string(listing->arena, request, "nextToken", span_of(*token));
	code = call(listing, part->list, request, &answer, err);
	if (code < 0)
		return code;
	names = json_get(answer, part->arns);
	if (!json_is(names, JSON_ARRAY) || json_count(names) > DESCRIBE_MAX)
		return err_set(err, -EPROTO, "%s: the answer is no page", part->list);
	JSON_EACH_ITEM (names, name)
		if (!json_is(name, JSON_STRING))
			return err_set(err, -EPROTO, "%s: the answer is no page", part->list);
	code = describe(listing, part, names, err);
	if (code < 0)
		return code;
	next = json_get_text(answer, "nextToken");
	if (*token && span_is(next, *token))
		return err_set(err, -EPROTO, "%s: the same page comes again", part->list);
	free(*token);
	*token = next.length > 0 ? memory_copy_string_n(next.data, next.length) : NULL;
	return 0;
}

static int list_part(struct listing *listing, const struct part *part, struct err *err)
{
	_free_ char *token = NULL;
	int code;

	for (unsigned pages = 0; pages < PAGES_MAX; pages++) {
		code = list_page(listing, part, &token, err);
		arena_reset(listing->arena);
		observe_changes_init(&listing->changes, listing->arena);
		if (code < 0 || !token)
			return code;
	}
	return err_set(err, -E2BIG, "%s: more than %d pages", part->list, PAGES_MAX);
}

/* Entities that were on no page are described by name. */
static int confirm_missing(struct listing *listing, const struct part *part, struct err *err)
{
	struct observer *service = listing->remote->service;
	_arena_ struct arena *arena = arena_new(0);
	struct span *names;
	size_t count;
	int code = 0;

	lock_take(&service->lock);
	count = part->missing(listing->remote->cluster->replica, arena, &names);
	lock_release(&service->lock);
	for (size_t i = 0; i < count && code == 0; i += DESCRIBE_MAX) {
		struct json *some = json_new_array(listing->arena);

		for (size_t j = i; j < count && j < i + DESCRIBE_MAX; j++)
			json_append(listing->arena, some,
				json_new_string(listing->arena, names[j]));
		code = describe(listing, part, some, err);
		arena_reset(listing->arena);
		observe_changes_init(&listing->changes, listing->arena);
	}
	return code;
}

static int list_all(struct listing *listing, struct err *err)
{
	int code = list_part(listing, &instances, err);

	if (code == 0)
		code = list_part(listing, &running, err);
	if (code == 0)
		code = list_part(listing, &stopped, err);
	if (code == 0)
		code = confirm_missing(listing, &instances, err);
	if (code == 0)
		code = confirm_missing(listing, &running, err);
	return code;
}

static void note_removed(void *context, struct span instance)
{
	struct listing *listing = context;

	observe_changes_add(&listing->changes, listing->remote->cluster, instance);
}

static int list_cluster(struct listing *listing, struct err *err)
{
	struct source_remote *remote = listing->remote;
	struct observer *service = remote->service;
	int64_t began_us = runner_now_us(service->runner);
	int64_t began_ms = runner_wall_ms(service->runner);
	int code;

	lock_take(&service->lock);
	replica_list_begin(remote->cluster->replica);
	remote->cluster->listing_ms = began_ms;
	lock_release(&service->lock);
	code = list_all(listing, err);
	lock_take(&service->lock);
	if (code == 0) {
		replica_list_end(remote->cluster->replica, REPLICA_FOREVER,
			runner_moment(service->runner), note_removed, listing);
		remote->cluster->took_us = runner_now_us(service->runner) - began_us;
		observed_cluster_listed(service, remote->cluster, (uint64_t)(began_us / 1000),
			began_ms, began_us, &listing->changes);
	} else {
		replica_list_abort(remote->cluster->replica);
		if (err)
			snprintf(remote->cluster->error, sizeof(remote->cluster->error), "%s",
				err->message);
	}
	lock_release(&service->lock);
	observe_changes_deliver(service, &listing->changes);
	return code;
}

/* ---- which definitions have health checks ---- */

/* Those of tasks in indexed groups that are not known yet, each once, in the arena. */
static size_t list_definitions(struct source_remote *remote, struct arena *arena,
	struct span names[DEFINITIONS_AT_ONCE])
{
	const struct observe_task *task;
	struct span prefix = remote->service->config.group_prefix;
	_map_ struct map found = {0};
	size_t position = 0, count = 0;

	lock_take(&remote->service->lock);
	if (remote->definitions.count >= DEFINITIONS_MAX)
		map_clear(&remote->definitions);
	while (count < DEFINITIONS_AT_ONCE &&
		(task = replica_next_task(remote->cluster->replica, &position))) {
		if (prefix.length == 0 || task->health != OBSERVE_HEALTH_UNKNOWN ||
			task->last == OBSERVE_TASK_STOPPED ||
			!span_starts_with(task->group, prefix) ||
			map_has(&remote->definitions, task->task_definition) ||
			map_has(&found, task->task_definition))
			continue;
		map_put(&found, task->task_definition, &checked);
		names[count++] = arena_copy_span(arena, task->task_definition);
	}
	lock_release(&remote->service->lock);
	return count;
}

static bool has_check(const struct json *definition)
{
	JSON_EACH_ITEM (json_get(definition, "containerDefinitions"), container)
		if (json_get_bool(container, "essential", true) &&
			json_is(json_get(container, "healthCheck"), JSON_OBJECT))
			return true;
	return false;
}

/* The endpoint rejects the call, and would reject it again. */
static bool is_kept_from_us(int code, const struct aws_call_failure *failure)
{
	return code == -EREMOTEIO && failure->status >= 400 && failure->status < 500 &&
	       !aws_call_was_throttled(failure);
}

/* A definition that we may not read counts as one with a health check: its tasks are healthy when ECS says so. */
static void learn_definitions(struct listing *listing)
{
	struct source_remote *remote = listing->remote;
	_arena_ struct arena *arena = arena_new(0);
	struct span names[DEFINITIONS_AT_ONCE];
	size_t count = list_definitions(remote, arena, names);

	for (size_t i = 0; i < count; i++) {
		struct json *request = json_new_object(arena), *answer;
		struct aws_call_failure failure = {0};
		const struct json *definition;
		int code;

		json_set_string(arena, request, "taskDefinition", names[i]);
		code = aws_call(listing->target, "ecs", "DescribeTaskDefinition", request, arena,
			&answer, &failure, NULL);
		if (code < 0 && !is_kept_from_us(code, &failure))
			break;
		definition = code < 0 ? NULL : json_get(answer, "taskDefinition");
		if (code == 0 && !json_is(json_get(definition, "containerDefinitions"), JSON_ARRAY))
			continue;
		lock_take(&remote->service->lock);
		map_put(&remote->definitions, names[i],
			code < 0 || has_check(definition) ? &checked : &unchecked);
		observed_cluster_settled(remote->cluster, names[i]);
		observe_changes_add(&listing->changes, remote->cluster, SPAN(""));
		lock_release(&remote->service->lock);
		observe_changes_deliver(remote->service, &listing->changes);
	}
}

/* ---- periodically ---- */

static int pass(struct source_remote *remote, struct err *err)
{
	struct observer *service = remote->service;
	struct listing listing = {.remote = remote, .target = client_of(remote)};
	int code;

	if (!listing.target) {
		lock_take(&service->lock);
		snprintf(remote->cluster->error, sizeof(remote->cluster->error),
			"there is no target '%.*s'", SPAN_ARGS(remote->cluster->ref.target));
		lock_release(&service->lock);
		return err_set(err, -ENOENT, "there is no such target");
	}
	listing.arena = arena_new(0);
	observe_changes_init(&listing.changes, listing.arena);
	/* Definitions that are read before the cluster is complete need no change. */
	code = list_cluster(&listing, err);
	if (code == 0)
		learn_definitions(&listing);
	/* Instances and tasks are known even if the call for services is rejected. */
	if (code == 0)
		observe_services_refresh(service, remote->cluster, true, listing.target, err);
	arena_free(listing.arena);
	return code;
}

/* Between two listings: only the services to be refreshed. */
static void inspect_services(struct source_remote *remote)
{
	struct observer *service = remote->service;
	struct aws_target *target = client_of(remote);
	struct err err = {0};

	if (target)
		observe_services_refresh(service, remote->cluster, false, target, &err);
}

/* Spreads the listings of several clusters. */
static int64_t draw_spread(struct source_remote *remote, int64_t delay_us)
{
	return (int64_t)random_below(runner_random(remote->service->runner),
		(uint64_t)(delay_us * JITTER_PERCENT / 100 + 1));
}

/* After so many failures in a row: a period, doubling up to some. */
static int64_t backoff_us(int64_t period_us, unsigned failures)
{
	int64_t most_us = BACKOFF_MOST_PERIODS * period_us;
	int64_t delay_us = period_us < BACKOFF_FIRST_US ? period_us : BACKOFF_FIRST_US;

	if (most_us > BACKOFF_MOST_US)
		most_us = BACKOFF_MOST_US;
	while (failures-- > 0 && delay_us < most_us)
		delay_us *= 2;
	return delay_us < most_us ? delay_us : most_us;
}

/* When the next listing is due: earlier if a consumer waits for it. *ret_services: before that, services are. */
static int64_t next_due_us(const struct source_remote *remote, int64_t until_us, int64_t early_us,
	int64_t services_us, bool *ret_services)
{
	const struct observed_cluster *cluster = remote->cluster;
	int64_t due_us;

	lock_take(&remote->service->lock);
	due_us = early_us < until_us && cluster->waiting.count > 0 ? early_us : until_us;
	*ret_services = cluster->services_wanted.count > 0 && services_us < due_us;
	lock_release(&remote->service->lock);
	return *ret_services ? services_us : due_us;
}

/* Until then, or earlier if a consumer waits for the next listing. */
static int pause_until(struct source_remote *remote, int64_t until_us, int64_t early_us)
{
	struct observer *service = remote->service;
	int64_t services_us = early_us;

	for (;;) {
		uint64_t seen = runner_event_count(service->wanted);
		bool services;
		int64_t due_us = next_due_us(remote, until_us, early_us, services_us, &services);

		/* Resource versions are milliseconds: the call has to be in a later one than that which is waited for. */
		if (services && runner_now_us(service->runner) >= due_us) {
			if (runner_sleep_until(service->runner,
				    runner_deadline_us(service->runner, VERSION_US)) < 0)
				return -ECANCELED;
			inspect_services(remote);
			services_us = runner_deadline_us(service->runner, EARLY_US);
			continue;
		}
		if (runner_now_us(service->runner) >= due_us)
			return runner_sleep_until(service->runner,
				runner_deadline_us(service->runner, VERSION_US));
		if (runner_wait(service->runner, service->wanted, seen, due_us) == -ECANCELED)
			return -ECANCELED;
	}
}

/* Every consumer has released the cluster: its replica would grow old, so it is forgotten. True: it is, and `remote` is
 * freed. */
static bool retire(struct source_remote *remote)
{
	struct observer *service = remote->service;
	struct observed_cluster *cluster = remote->cluster;

	lock_take(&service->lock);
	if (cluster->wants > 0) {
		lock_release(&service->lock);
		return false;
	}
	observed_cluster_reset(service, cluster);
	cluster->complete = cluster->watched = false;
	cluster->listings = 0;
	cluster->listing_ms = cluster->listed_ms = 0;
	observe_services_forget(cluster);
	cluster->remote = NULL;
	cluster->client = NULL;
	cluster->poll_ms = 0;
	service->remote_count--;
	lock_release(&service->lock);
	source_remote_free(remote);
	return true;
}

/* When to list again: a period after the last one began, or sooner, so that no observation is older than that; when it failed, after the backoff. One that takes long leaves half of the calls that may be made to others. */
static int64_t next_listing_us(struct source_remote *remote, int64_t began_us, unsigned failures)
{
	int64_t now_us = runner_now_us(remote->service->runner), took_us = now_us - began_us;
	int64_t delay_us =
		failures > 0 ? backoff_us(remote->period_us, failures) : remote->period_us;
	int64_t spread_us = draw_spread(remote, delay_us);
	int64_t next_us =
		failures > 0 ? now_us + delay_us + spread_us : began_us + delay_us - spread_us;

	return next_us > now_us + took_us ? next_us : now_us + took_us;
}

/* err NULL: it can be listed again. */
static void report_reached(const struct source_remote *remote, const struct err *err)
{
	observe_report(remote->service,
		&(struct observe_change){
			.type = err ? OBSERVE_CHANGE_UNREACHABLE : OBSERVE_CHANGE_REACHABLE,
			.cluster = remote->cluster->ref,
			.instance = SPAN(""),
			.group = SPAN(""),
			.service = SPAN(""),
			.error = err ? span_of(err->message) : SPAN("")});
}

static void poll(void *context)
{
	struct source_remote *remote = context;
	struct runner *runner = remote->service->runner;
	unsigned failures = 0;
	bool reported = false;

	for (;;) {
		int64_t began_us = runner_now_us(runner), took_us, next_us;
		struct err err = {0};
		int code;

		if (retire(remote))
			return;
		code = pass(remote, &err);

		if (runner_is_stopped(runner))
			return;
		took_us = runner_now_us(runner) - began_us;
		failures = code < 0 ? failures + 1 : 0;
		if (failures == REPORTED_FAILURES || (failures == 0 && reported))
			report_reached(remote, code < 0 ? &err : NULL);
		reported = failures >= REPORTED_FAILURES;
		next_us = next_listing_us(remote, began_us, failures);
		if (pause_until(remote, next_us,
			    code < 0 ? RUNNER_FOREVER
				     : runner_deadline_us(runner,
					       took_us > EARLY_US ? took_us : EARLY_US)) < 0)
			return;
	}
}

static int start(struct observer *service, struct observed_cluster *cluster, struct err *err)
{
	struct source_remote *remote = memory_allocate(sizeof(*remote));
	char name[RUNNER_NAME_MAX + 1];
	int code;

	remote->service = service;
	remote->cluster = cluster;
	remote->period_us = period_us_of(service, cluster);
	lock_take(&service->lock);
	cluster->remote = remote;
	lock_release(&service->lock);
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(cluster->ref.text));
	code = runner_spawn(service->runner, name, poll, remote, err);
	if (code < 0) {
		lock_take(&service->lock);
		cluster->remote = NULL;
		lock_release(&service->lock);
		source_remote_free(remote);
	}
	return code;
}

void source_remote_free(struct source_remote *remote)
{
	if (!remote)
		return;
	map_clear(&remote->definitions);
	free(remote);
}

/* ---- remote clusters ---- */

static int follow_cluster(struct observer *service, struct observed_cluster *cluster,
	struct err *err)
{
	int code;

	lock_take(&service->lock);
	bool too_many = service->remote_count >= OBSERVE_REMOTE_CLUSTERS_MAX;
	service->remote_count += !too_many;
	lock_release(&service->lock);
	if (too_many)
		return err_set(err, -E2BIG, "more than %d remote clusters are wanted",
			OBSERVE_REMOTE_CLUSTERS_MAX);
	code = start(service, cluster, err);
	if (code < 0) {
		lock_take(&service->lock);
		service->remote_count--;
		lock_release(&service->lock);
	}
	return code;
}

/* A listing that begins at this millisecond or later begins after now. */
static uint64_t resource_version(const struct observer *service)
{
	return (uint64_t)(runner_now_us(service->runner) / 1000) + 1;
}

static uint64_t position(const struct observer *service)
{
	(void)service;
	return 0;
}

static void wait_for(struct observer *service, bool first)
{
	if (first)
		runner_signal(service->wanted);
}

static int64_t observed_ms(const struct observer *service, const struct observed_cluster *cluster)
{
	(void)service;
	return cluster->listed_ms;
}

static bool is_late(const struct observed_cluster *cluster, int64_t since_us, int64_t now_us)
{
	return !cluster->remote || now_us - since_us > STALE_PERIODS * cluster->remote->period_us +
							       STALE_LISTINGS * cluster->took_us;
}

static enum observe_health unknown_health(const struct observed_cluster *cluster,
	struct span task_definition)
{
	const void *known;

	if (!cluster->remote)
		return OBSERVE_HEALTH_UNKNOWN;
	known = map_get(&cluster->remote->definitions, task_definition);
	if (!known)
		return OBSERVE_HEALTH_UNSURE;
	return known == &unchecked ? OBSERVE_HEALTH_NONE : OBSERVE_HEALTH_UNKNOWN;
}

const struct observed_cluster_operations source_remote_operations = {
	.tombstones_max = TOMBSTONES_MAX,
	.follow = follow_cluster,
	.resource_version = resource_version,
	.position = position,
	.wait = wait_for,
	.observed_ms = observed_ms,
	.is_late = is_late,
	.unknown_health = unknown_health,
};
