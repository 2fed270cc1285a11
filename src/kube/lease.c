/* See lease.h. One thread reads, takes and renews; each write carries the resourceVersion that was read. */
#include "kube/lease.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/memory.h"

/* Of the duration: renewals are sent after this part of it, and the holder stops acting a margin before
 * its end, since its requests may still be under way. */
#define RENEW_PART 3
#define MARGIN_PART 5
#define VERSION_SIZE 64

struct kube_lease {
	struct kube_lease_config config;
	struct arena *arena;
	struct runner *group;
	struct runner_event *stopping;
	int64_t duration_us;
	/* The lease as it was last seen, and when that first was; on the lease's own thread. */
	char seen_version[VERSION_SIZE];
	int64_t seen_us;
	bool reported; /* the last argument of `changed` */

	struct lock lock;
	int64_t held_until_us; /* 0: not held */
	bool stopped;
};

/* ---- reading and writing ---- */

static struct kube_target target_of(const struct kube_lease *lease)
{
	return (struct kube_target){
		&kube_leases, lease->config.namespace, lease->config.name, NULL};
}

/* A MicroTime: "2026-11-18T23:00:00.123000Z". */
static struct span format_time(int64_t wall_ms, struct arena *arena)
{
	char text[CLOCK_ISO_SIZE];
	size_t length;

	clock_format_iso(wall_ms, text);
	length = strlen(text);
	return arena_format(arena, "%.*s000Z", (int)length - 1, text);
}

/* The lease with this holder ("" gives it back). */
static struct json *make_lease(struct kube_lease *lease, const struct json *before,
	struct span holder, struct arena *arena)
{
	const struct json *spec = json_get(before, "spec");
	struct json *object = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *next = json_new_object(arena);
	bool same = span_equal(json_get_text(spec, "holderIdentity"), holder);
	int64_t transitions = json_get_integer(spec, "leaseTransitions", 0);
	struct span now = format_time(runner_wall_ms(lease->group), arena);

	json_set_string(arena, metadata, "name", lease->config.name);
	json_set_string(arena, metadata, "namespace", lease->config.namespace);
	json_set(arena, metadata, "resourceVersion",
		json_get(json_get(before, "metadata"), "resourceVersion"));
	json_set(arena, object, "metadata", metadata);
	json_set_string(arena, next, "holderIdentity", holder);
	json_set_integer(arena, next, "leaseDurationSeconds",
		holder.length > 0 ? lease->config.duration_s : 1);
	if (same && json_get(spec, "acquireTime"))
		json_set(arena, next, "acquireTime", json_get(spec, "acquireTime"));
	else
		json_set_string(arena, next, "acquireTime", now);
	json_set_string(arena, next, "renewTime", now);
	json_set_integer(arena, next, "leaseTransitions",
		same || !before ? transitions : transitions + 1);
	json_set(arena, object, "spec", next);
	return object;
}

/* True if the lease may be taken: it is free, ours, or was not renewed for its duration. */
static bool may_take(struct kube_lease *lease, const struct json *object, int64_t now_us)
{
	const struct json *spec = json_get(object, "spec");
	struct span holder = json_get_text(spec, "holderIdentity");
	struct span version = json_get_text(json_get(object, "metadata"), "resourceVersion");
	int64_t duration_s = json_get_integer(spec, "leaseDurationSeconds", KUBE_LEASE_DURATION_S);

	if (!span_equal(version, span_of(lease->seen_version))) {
		snprintf(lease->seen_version, sizeof(lease->seen_version), "%.*s",
			(int)version.length, version.data ? version.data : "");
		lease->seen_us = now_us;
	}
	if (holder.length == 0 || span_equal(holder, lease->config.identity))
		return true;
	return now_us - lease->seen_us >= duration_s * 1000000;
}

static void set_held_until(struct kube_lease *lease, int64_t until_us)
{
	lock_take(&lease->lock);
	lease->held_until_us = lease->stopped ? 0 : until_us;
	lock_release(&lease->lock);
}

/* Takes or renews. 0: held; 1: another program holds it; negative: not known. */
static int acquire(struct kube_lease *lease, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = target_of(lease);
	struct kube_options options = {.timeout_ms = lease->duration_us / 1000 / RENEW_PART};
	struct json *object = NULL, *answer;
	int64_t sent_us;
	int code;

	code = kube_get(lease->config.client, &target, &options, arena, &object, err);
	if (code < 0 && code != -ENOENT)
		return code;
	sent_us = runner_now_us(lease->group);
	if (code == -ENOENT) {
		code = kube_create(lease->config.client, &target,
			make_lease(lease, NULL, lease->config.identity, arena), &options, arena,
			&answer, err);
	} else if (!may_take(lease, object, sent_us)) {
		set_held_until(lease, 0);
		return 1;
	} else {
		code = kube_update(lease->config.client, &target,
			make_lease(lease, object, lease->config.identity, arena), &options, arena,
			&answer, err);
	}
	if (code == -EAGAIN || code == -EEXIST) { /* another one wrote it meanwhile */
		set_held_until(lease, 0);
		return 1;
	}
	if (code < 0)
		return code;
	set_held_until(lease, sent_us + lease->duration_us - lease->duration_us / MARGIN_PART);
	return 0;
}

static void give_back(struct kube_lease *lease)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = target_of(lease);
	struct kube_options options = {.timeout_ms = lease->duration_us / 1000 / RENEW_PART};
	struct json *object, *answer;

	if (kube_get(lease->config.client, &target, &options, arena, &object, NULL) < 0 ||
		!span_equal(json_get_text(json_get(object, "spec"), "holderIdentity"),
			lease->config.identity))
		return;
	(void)kube_update(lease->config.client, &target, make_lease(lease, object, SPAN(""), arena),
		&options, arena, &answer, NULL);
}

/* ---- the thread ---- */

static void report(struct kube_lease *lease)
{
	bool held = kube_lease_is_held(lease);

	if (held == lease->reported)
		return;
	lease->reported = held;
	if (lease->config.changed)
		lease->config.changed(lease->config.context, held);
}

static void run(void *context)
{
	struct kube_lease *lease = context;

	for (;;) {
		uint64_t seen = runner_event_count(lease->stopping);
		struct err err;
		bool stopped;
		int code;

		lock_take(&lease->lock);
		stopped = lease->stopped;
		lock_release(&lease->lock);
		if (stopped)
			return;
		code = acquire(lease, &err);
		if (code < 0 && code != -ECANCELED && lease->config.failed)
			lease->config.failed(lease->config.context, &err);
		report(lease);
		if (runner_wait(lease->group, lease->stopping, seen,
			    runner_deadline_us(lease->group,
				    lease->duration_us / RENEW_PART / 2)) == -ECANCELED)
			return;
		report(lease);
	}
}

int kube_lease_start(const struct kube_lease_config *config, struct kube_lease **ret_lease,
	struct err *err)
{
	struct kube_lease *lease;
	int code;

	if (!kube_is_path_segment(config->name) || !kube_is_path_segment(config->namespace) ||
		config->identity.length == 0 || config->identity.length > KUBE_LEASE_IDENTITY_MAX)
		return err_set(err, -EINVAL, "a lease needs a namespace, a name and an identity");
	lease = memory_allocate(sizeof(*lease));
	lease->config = *config;
	lease->arena = arena_new(0);
	lease->config.namespace = arena_copy_span(lease->arena, config->namespace);
	lease->config.name = arena_copy_span(lease->arena, config->name);
	lease->config.identity = arena_copy_span(lease->arena, config->identity);
	if (lease->config.duration_s <= 0)
		lease->config.duration_s = KUBE_LEASE_DURATION_S;
	lease->duration_us = (int64_t)lease->config.duration_s * 1000000;
	lease->group = runner_group_new(config->runner, "lease");
	lease->stopping = runner_event_new(lease->group, "lease stops");
	lock_init(&lease->lock);
	code = runner_spawn(lease->group, "lease", run, lease, err);
	if (code < 0) {
		kube_lease_stop(lease);
		return code;
	}
	*ret_lease = lease;
	return 0;
}

void kube_lease_stop(struct kube_lease *lease)
{
	bool held;

	if (!lease)
		return;
	lock_take(&lease->lock);
	held = lease->held_until_us > 0;
	lease->stopped = true;
	lease->held_until_us = 0;
	lock_release(&lease->lock);
	runner_signal(lease->stopping);
	runner_join(lease->group, NULL);
	if (held)
		give_back(lease);
	runner_event_free(lease->stopping);
	runner_free(lease->group);
	lock_destroy(&lease->lock);
	arena_free(lease->arena);
	free(lease);
}

bool kube_lease_is_held(struct kube_lease *lease)
{
	int64_t now_us = runner_now_us(lease->config.runner);
	bool held;

	lock_take(&lease->lock);
	held = now_us < lease->held_until_us;
	lock_release(&lease->lock);
	return held;
}

int64_t kube_lease_margin_ms(const struct kube_lease *lease)
{
	return lease->duration_us / MARGIN_PART / 1000;
}
