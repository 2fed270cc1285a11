/*
 * ECS services of remote clusters: the wanted ones, by name, as DescribeServices describes them. ECS services have no
 * versions, so each is kept with the time of the call, and an older answer never replaces a newer one. Events of services
 * carry no state either: they only cause an earlier call.
 */
#include <assert.h>
#include <stdio.h>

#include "aws/call.h"
#include "base/memory.h"
#include "delivery/observe/document.h"
#include "delivery/observe/observe_internal.h"

#define DESCRIBE_MAX 10 /* services of one call, as ECS allows */

/* A service as last described. */
struct known {
	uint64_t resource_version;
	int64_t requested_us;
	size_t length; /* 0: there is no such service */
	char text[];
};

bool observe_services_has(const struct observed_cluster *cluster, struct span name)
{
	return map_has(&cluster->services, name);
}

void observe_services_forget(struct observed_cluster *cluster)
{
	MAP_EACH (&cluster->services, entry)
		free(entry->value);
	map_clear(&cluster->services);
	map_clear(&cluster->services_wanted);
	cluster->services_error[0] = '\0';
}

/* ---- asking ---- */

struct asking {
	struct observer *service;
	struct observed_cluster *cluster;
	struct aws_target *target;
	struct arena *arena;
	uint64_t resource_version; /* of the call */
	int64_t requested_us;
	struct map wanted;    /* names to be refreshed */
	struct span *changed; /* names, in the arena */
	size_t changed_count;
};

static struct json *request_for(struct asking *asking, const struct span *names, size_t count)
{
	struct arena *arena = asking->arena;
	struct json *request = json_new_object(arena), *services = json_new_array(arena),
		    *include = json_new_array(arena);

	for (size_t i = 0; i < count; i++)
		json_append(arena, services, json_new_string(arena, names[i]));
	json_append(arena, include, json_new_string(arena, SPAN("TAGS")));
	json_set_string(arena, request, "cluster", asking->cluster->ref.cluster);
	json_set(arena, request, "services", services);
	json_set(arena, request, "include", include);
	return request;
}

/* The service in an answer; NULL: the answer says that it is missing. Fails if the answer does not mention it. */
static int find_answer(const struct json *answer, struct span name, const struct json **ret_service,
	struct err *err)
{
	*ret_service = NULL;
	JSON_EACH_ITEM (json_get(answer, "services"), found)
		if (span_equal(json_get_text(found, "serviceName"), name)) {
			*ret_service = found;
			return 0;
		}
	JSON_EACH_ITEM (json_get(answer, "failures"), failure) {
		struct span arn = json_get_text(failure, "arn");

		if (arn.data && span_equal(observe_document_id(arn), name) &&
			span_is(json_get_text(failure, "reason"), "MISSING"))
			return 0;
	}
	return err_set(err, -EREMOTEIO, "DescribeServices does not mention '%.*s'",
		SPAN_ARGS(name));
}

/* Under the lock. */
static void keep(struct asking *asking, struct span name, const struct json *found)
{
	struct observed_cluster *cluster = asking->cluster;
	struct known *before = map_get(&cluster->services, name), *now;
	struct span text = found ? json_to_text(found, asking->arena) : SPAN("");
	bool same;

	if (before && before->resource_version > asking->resource_version)
		return;
	same = before && span_equal(text, (struct span){before->text, before->length});
	now = memory_allocate(sizeof(*now) + text.length);
	now->resource_version = asking->resource_version;
	now->requested_us = asking->requested_us;
	now->length = text.length;
	if (text.length > 0)
		memcpy(now->text, text.data, text.length);
	map_put(&cluster->services, name, now);
	free(before);
	/* A consumer that waits for a resource version gets a change even if the service is the same. */
	if (!same || map_has(&asking->wanted, name))
		asking->changed[asking->changed_count++] = name;
}

static int ask(struct asking *asking, const struct span *names, size_t count, struct err *err)
{
	struct observer *service = asking->service;
	struct json *answer;
	int code;

	asking->requested_us = runner_now_us(service->runner);
	asking->resource_version = (uint64_t)(asking->requested_us / 1000);
	code = aws_call(asking->target, "ecs", "DescribeServices",
		request_for(asking, names, count), asking->arena, &answer, NULL, err);
	for (size_t i = 0; code == 0 && i < count; i++) {
		const struct json *found;

		code = find_answer(answer, names[i], &found, err);
		if (code < 0)
			break;
		lock_take(&service->lock);
		keep(asking, names[i], found);
		lock_release(&service->lock);
	}
	return code;
}

/* Under the lock: forgets services that are not wanted any more. */
static void forget_others(struct observed_cluster *cluster, const struct span *names, size_t count)
{
	_map_ struct map needed = {0};

	for (size_t i = 0; i < count; i++)
		map_put(&needed, names[i], cluster);
	MAP_EACH (&cluster->services, entry)
		if (!map_has(&needed, entry->key))
			free(map_remove(&cluster->services, entry->key));
}

static void report(const struct asking *asking)
{
	for (size_t i = 0; i < asking->changed_count; i++)
		observe_report(asking->service,
			&(struct observe_change){.type = OBSERVE_CHANGE_SERVICE,
				.cluster = asking->cluster->ref,
				.instance = SPAN(""),
				.group = SPAN(""),
				.service = asking->changed[i],
				.error = SPAN("")});
}

/* Under the lock: the services that consumers want, in the arena; how many. */
static size_t list_needed(const struct observed_cluster *cluster, struct arena *arena,
	struct span **ret_names)
{
	size_t count = 0;

	*ret_names = arena_allocate_array(arena, cluster->services_needed.count + 1,
		sizeof(**ret_names));
	MAP_EACH (&cluster->services_needed, entry)
		(*ret_names)[count++] = arena_copy_span(arena, entry->key);
	return count;
}

/* Keeps the names to be refreshed, in place; how many. */
static size_t keep_wanted(const struct asking *asking, struct span *names, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (map_has(&asking->wanted, names[i]))
			names[kept++] = names[i];
	return kept;
}

int observe_services_refresh(struct observer *service, struct observed_cluster *cluster, bool all,
	struct aws_target *target, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct asking asking = {
		.service = service, .cluster = cluster, .target = target, .arena = arena};
	struct span *names;
	size_t count;
	int code = 0;

	/* A refresh that is requested from now on needs a later call. */
	lock_take(&service->lock);
	count = list_needed(cluster, arena, &names);
	asking.wanted = cluster->services_wanted;
	cluster->services_wanted = (struct map){0};
	lock_release(&service->lock);
	if (!all)
		count = keep_wanted(&asking, names, count);
	asking.changed = arena_allocate_array(arena, count + 1, sizeof(*asking.changed));
	for (size_t i = 0; code == 0 && i < count; i += DESCRIBE_MAX)
		code = ask(&asking, names + i, count - i < DESCRIBE_MAX ? count - i : DESCRIBE_MAX,
			err);
	lock_take(&service->lock);
	if (all)
		forget_others(cluster, names, count);
	if (all || code < 0)
		snprintf(cluster->services_error, sizeof(cluster->services_error), "%s",
			code < 0 ? err->message : "");
	lock_release(&service->lock);
	report(&asking);
	map_clear(&asking.wanted);
	return code;
}

/* ---- reading ---- */

void observe_get_service(struct observer *service, struct cluster_ref ref, struct span name,
	struct arena *arena, struct observe_service_info *ret_info)
{
	const struct observed_cluster *cluster;
	const struct known *known;
	struct span text = SPAN("");
	struct json *document;
	int64_t now_us = runner_now_us(service->runner);

	*ret_info = (struct observe_service_info){.stale = true};
	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	known = cluster ? map_get(&cluster->services, name) : NULL;
	if (known) {
		ret_info->known = true;
		ret_info->resource_version = known->resource_version;
		/* If the cluster cannot be listed, its services are stale, too. */
		ret_info->stale =
			cluster->operations->is_late(cluster, known->requested_us, now_us) ||
			cluster->operations->is_late(cluster, cluster->listed_us, now_us);
		text = arena_copy_span(arena, (struct span){known->text, known->length});
	}
	if (cluster)
		snprintf(ret_info->error, sizeof(ret_info->error), "%s",
			cluster->services_error[0] ? cluster->services_error : cluster->error);
	lock_release(&service->lock);
	if (text.length > 0 && json_parse(text, arena, &document, NULL) == 0)
		ret_info->service = document;
}

/* ---- desired state ---- */

void observe_want_service(struct observer *service, struct cluster_ref ref, struct span name)
{
	struct map *needed;

	lock_take(&service->lock);
	needed = &observed_cluster_get(service, ref)->services_needed;
	map_put(needed, name, (void *)((uintptr_t)map_get(needed, name) + 1));
	lock_release(&service->lock);
}

void observe_release_service(struct observer *service, struct cluster_ref ref, struct span name)
{
	struct map *needed;
	uintptr_t wants;

	lock_take(&service->lock);
	needed = &observed_cluster_get(service, ref)->services_needed;
	wants = (uintptr_t)map_get(needed, name);
	assert(wants > 0);
	if (wants > 1)
		map_put(needed, name, (void *)(wants - 1));
	else
		map_remove(needed, name);
	lock_release(&service->lock);
}

void observe_refresh_service(struct observer *service, struct cluster_ref ref, struct span name)
{
	struct observed_cluster *cluster;
	bool first = false;

	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	if (cluster && cluster->remote && !map_has(&cluster->services_wanted, name)) {
		map_put(&cluster->services_wanted, name, cluster);
		first = true;
	}
	lock_release(&service->lock);
	if (first)
		runner_signal(service->wanted);
}
