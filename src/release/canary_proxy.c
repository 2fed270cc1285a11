/* See canary_proxy.h. */
#include "release/canary_proxy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"
#include "io/http_server.h"
#include "kube/informer.h"
#include "proxy/haproxy/haproxy.h"
#include "proxy/l4/l4.h"
#include "release/canary_plane.h"
#include "release/release_names.h"

#define REPORT_US INT64_C(5000000) /* between two reports of counters alone */
#define REPORT_DRAINING_US                                                                         \
	INT64_C(500000)           /* likewise, while the controller waits for connections to end */
#define QUIET_US INT64_C(2000000) /* without anything new, and kube-proxy sends nothing more */
#define DRAIN_CHECK_US INT64_C(100000)
#define DRAIN_MARGIN_S 5

struct canary_proxy {
	struct arena *arena; /* the configuration */
	struct canary_proxy_config config;
	struct runner *runner;
	struct runner *group; /* the thread that follows */
	struct runner_event *changed;
	struct http_client *http;
	struct kube_client *client;
	struct kube_informer *canaries; /* its own CanaryRelease */
	struct kube_informer *slices;
	struct http_server *health;
	struct proxy *proxy;
	struct proxy_driver *l4, *haproxy;
	atomic_bool ready, draining;
	atomic_llong drain_seconds;
	struct lock lock;      /* for weights */
	struct buffer weights; /* their metrics */

	/* Of the thread that follows. */
	struct canary_plane *plane;
	struct canary_certificates *certificates;
	const struct kube_object *seen; /* the CanaryRelease as it was last; NULL: not yet */
	struct buffer reported;         /* the report without counters that the API server has */
	struct buffer counted;          /* the same with counters */
	int64_t reported_us;
	bool is_reported;              /* all that was carried until the last pass */
	uint64_t carried;              /* canary_plane_carried() then */
	uint64_t followed;             /* changes, at the last pass */
	int64_t interval_us;           /* of reports */
	int64_t pass_us;               /* when the next pass is due without a change; 0: no time */
	char failure[ERR_MESSAGE_MAX]; /* noted last */
};

static void note(struct canary_proxy *proxy, bool failure, const char *message)
{
	if (proxy->config.note)
		proxy->config.note(proxy->config.context, failure, message);
}

/* A failure that stays the same is noted once. */
static void note_failure(struct canary_proxy *proxy, const struct err *err)
{
	if (strcmp(proxy->failure, err->message) == 0)
		return;
	snprintf(proxy->failure, sizeof(proxy->failure), "%s", err->message);
	note(proxy, true, err->message);
}

/* ---- informers ---- */

/* Without members that the data plane does not need, of which some are large. */
static int reduce_canary(void *unused, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *status = json_get(object, "status"), *spec = json_get(object, "spec");
	struct json *kept = json_copy_object(arena, object);
	struct span *text = kube_keep_memory(keep, sizeof(*text));

	(void)unused;
	(void)err;
	if (json_is(status, JSON_OBJECT)) {
		struct json *copy = json_copy_object(arena, status);

		json_unset(copy, "manifest");
		json_unset(copy, "naming");
		json_unset(copy, "proxies");
		json_set(arena, kept, "status", copy);
	}
	if (json_is(spec, JSON_OBJECT)) {
		struct json *copy = json_copy_object(arena, spec);

		json_unset(copy, "config");
		json_set(arena, kept, "spec", copy);
	}
	*text = kube_keep_json(keep, kept);
	*ret_data = text;
	return 0;
}

static void object_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct canary_proxy *proxy = context;

	(void)before;
	(void)after;
	runner_signal(proxy->changed);
}

static void list_complete(void *context)
{
	struct canary_proxy *proxy = context;

	runner_signal(proxy->changed);
}

static void informer_failed(void *context, const struct err *err)
{
	note(context, true, err->message);
}

static int start_informers(struct canary_proxy *proxy, struct err *err)
{
	struct kube_informer_config config = {
		.client = proxy->client,
		.runner = proxy->runner,
		.kind = &release_canary_kind,
		.namespace = span_of(proxy->config.namespace),
		.selection = {.fields = arena_format(proxy->arena, "metadata.name=%s",
				      proxy->config.name)
						.data},
		.reduce = reduce_canary,
		.changed = object_changed,
		.synced = list_complete,
		.failed = informer_failed,
		.context = proxy,
	};
	int code = kube_informer_start(&config, &proxy->canaries, err);

	if (code < 0)
		return code;
	config.kind = &kube_endpoint_slices;
	config.selection = (struct kube_selection){0};
	config.reduce = canary_slice_reduce;
	return kube_informer_start(&config, &proxy->slices, err);
}

/* ---- the data plane ---- */

/* Takes over the CanaryRelease as it is now. True: it is there. Another one of its name is not ours. */
static bool see_canary(struct canary_proxy *proxy)
{
	const struct kube_object *object = kube_informer_get(proxy->canaries,
		span_of(proxy->config.namespace), span_of(proxy->config.name));
	bool ours = object && (!proxy->seen || span_equal(object->uid, proxy->seen->uid));

	if (ours) {
		kube_object_release(proxy->seen);
		proxy->seen = object;
	} else {
		kube_object_release(object);
	}
	return ours;
}

/* The controller is about to delete the Services, or has: their slices say nothing more. */
static bool is_frozen(const struct canary *canary)
{
	return canary->phase != CANARY_STAYS ||
	       (canary_step_adopts(canary->step) && canary->step >= CANARY_STEP_A5) ||
	       (canary_step_deprecates(canary->step) && canary->step >= CANARY_STEP_D3);
}

static int apply(struct canary_proxy *proxy, const struct proxy_state *state, struct err *err)
{
	int code = 0;

	/* A failure of one driver leaves the other's listeners working. */
	for (size_t i = 0; i < proxy_driver_count(proxy->proxy); i++) {
		int applied = proxy_apply_driver(proxy->proxy, i, state, err);

		code = applied < 0 ? applied : code;
	}
	return code;
}

static int compute(struct canary_proxy *proxy, struct arena *arena, struct canary *canary,
	bool exists, struct kube_object_list *slices, struct canary_plane_state *ret_state,
	struct err *err)
{
	const struct canary_slice **list;
	struct canary_plane_input input = {
		.canary = canary,
		.address = proxy->config.address ? proxy->config.address : "0.0.0.0",
		.has_http = proxy->haproxy != NULL,
		.certificates = proxy->certificates,
		.frozen = !exists || is_frozen(canary),
		.now_us = runner_now_us(proxy->runner),
	};

	kube_informer_all(proxy->slices, arena, slices);
	list = arena_allocate_array(arena, slices->count, sizeof(*list));
	for (size_t i = 0; i < slices->count; i++)
		list[i] = slices->objects[i]->data;
	input.slices = list;
	input.slice_count = slices->count;
	return canary_plane_update(proxy->plane, &input, arena, ret_state, err);
}

/* ---- reports ---- */

static void send_report(struct canary_proxy *proxy, struct arena *arena, const struct json *report,
	struct span urgent, struct span whole)
{
	struct json *patch = json_new_object(arena), *status = json_new_object(arena),
		    *proxies = json_new_object(arena), *answer;
	struct kube_target target = {&release_canary_kind, span_of(proxy->config.namespace),
		span_of(proxy->config.name), "status"};
	struct err err;

	json_set(arena, proxies, proxy->config.replica, report);
	json_set(arena, status, "proxies", proxies);
	json_set(arena, patch, "status", status);
	proxy->reported_us = runner_now_us(proxy->runner);
	if (kube_patch(proxy->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena, &answer,
		    &err) < 0) {
		note_failure(proxy, &err);
		return;
	}
	buffer_reset(&proxy->reported);
	buffer_add_span(&proxy->reported, urgent);
	buffer_reset(&proxy->counted);
	buffer_add_span(&proxy->counted, whole);
}

/* Sends what changed: weights and endpoints at once, counters now and then. Returns when it is due again; 0: when
 * something changes. */
static int64_t report(struct canary_proxy *proxy, struct arena *arena, const struct canary *canary,
	const struct canary_plane_state *state)
{
	bool draining = canary->step == CANARY_STEP_D2 || canary_step_adopts(canary->step);
	int64_t due_us = proxy->reported_us + (draining ? REPORT_DRAINING_US : REPORT_US);
	struct span urgent, whole;
	struct proxy_report carried;
	const struct json *object;

	if (canary->phase != CANARY_STAYS)
		return 0;
	urgent = json_to_text(canary_plane_report(arena, state, NULL, canary->generation), arena);
	proxy_report(proxy->proxy, arena, &carried);
	proxy->carried = canary_plane_carried(&carried);
	proxy->interval_us = draining ? REPORT_DRAINING_US : REPORT_US;
	object = canary_plane_report(arena, state, &carried, canary->generation);
	whole = json_to_text(object, arena);
	if (!span_equal(urgent, buffer_span(&proxy->reported)) ||
		(due_us <= runner_now_us(proxy->runner) &&
			!span_equal(whole, buffer_span(&proxy->counted))))
		send_report(proxy, arena, object, urgent, whole);
	proxy->is_reported = span_equal(whole, buffer_span(&proxy->counted));
	return runner_now_us(proxy->runner) + proxy->interval_us;
}

/* ---- the thread ---- */

static int64_t earlier(int64_t a_us, int64_t b_us)
{
	return a_us == 0 || (b_us != 0 && b_us < a_us) ? b_us : a_us;
}

static void keep_weights(struct canary_proxy *proxy, const struct canary_plane_state *state)
{
	lock_take(&proxy->lock);
	buffer_reset(&proxy->weights);
	canary_plane_write_weights(state, &proxy->weights);
	lock_release(&proxy->lock);
}

/* Ready when all ports of the recorded Services are served. */
static void become_ready(struct canary_proxy *proxy, const struct canary *canary,
	const struct canary_plane_state *state)
{
	if (canary->proxied_count == 0 || state->state.listener_count == 0)
		return;
	if (!atomic_exchange(&proxy->ready, true))
		note(proxy, false, "ready");
}

/* One pass. Returns when the next one is due; 0: when something changes. */
static int64_t follow(struct canary_proxy *proxy)
{
	int64_t next_us;
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list slices = {0};
	struct canary_plane_state state;
	struct canary canary;
	struct json *object;
	bool exists, has_certificates = false;
	struct err err;

	if (!kube_informer_is_synced(proxy->canaries) || !kube_informer_is_synced(proxy->slices))
		return 0;
	exists = see_canary(proxy);
	if (!proxy->seen)
		return 0;
	if (json_parse(*(const struct span *)proxy->seen->data, arena, &object, &err) < 0 ||
		canary_read(arena, object, &canary, &err) < 0) {
		note_failure(proxy, &err);
		return 0;
	}
	has_certificates = canary_certificates_read(proxy->certificates, &canary);
	if (compute(proxy, arena, &canary, exists, &slices, &state, &err) < 0 ||
		apply(proxy, &state.state, &err) < 0) {
		note_failure(proxy, &err);
		return runner_deadline_us(proxy->runner, REPORT_US);
	}
	proxy->failure[0] = '\0';
	atomic_store(&proxy->drain_seconds, canary.drain_seconds);
	keep_weights(proxy, &state);
	become_ready(proxy, &canary, &state);
	next_us = has_certificates ? earlier(state.next_us, runner_deadline_us(proxy->runner,
								    CANARY_CERTIFICATE_READ_US))
				   : state.next_us;
	proxy->pass_us = next_us;
	return exists ? earlier(next_us, report(proxy, arena, &canary, &state)) : next_us;
}

/* Nothing changed since the last pass, and nothing was carried that is not reported: most proxies, most of the time. */
static bool is_quiet(struct canary_proxy *proxy, uint64_t changes)
{
	_arena_ struct arena *arena = NULL;
	struct proxy_report carried;

	if (!proxy->is_reported || changes != proxy->followed ||
		(proxy->pass_us != 0 && proxy->pass_us <= runner_now_us(proxy->runner)))
		return false;
	arena = arena_new(0);
	proxy_report(proxy->proxy, arena, &carried);
	return canary_plane_carried(&carried) == proxy->carried;
}

static int64_t follow_if_needed(struct canary_proxy *proxy, uint64_t changes)
{
	if (is_quiet(proxy, changes))
		return earlier(proxy->pass_us,
			runner_deadline_us(proxy->runner, proxy->interval_us));
	proxy->is_reported = false;
	proxy->followed = changes;
	return follow(proxy);
}

static void run(void *context)
{
	struct canary_proxy *proxy = context;

	for (;;) {
		uint64_t seen = runner_event_count(proxy->changed);
		int64_t next_us = follow_if_needed(proxy, seen);

		if (runner_wait(proxy->group, proxy->changed, seen,
			    next_us ? next_us : INT64_MAX) == -ECANCELED)
			return;
	}
}

static void answer_metrics(struct canary_proxy *proxy, struct http_exchange *exchange)
{
	const struct http_header type = {SPAN("Content-Type"), SPAN("text/plain; version=0.0.4")};
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct proxy_report carried;
	size_t size;
	char *text;

	lock_take(&proxy->lock);
	buffer_add_span(&out, buffer_span(&proxy->weights));
	lock_release(&proxy->lock);
	proxy_report(proxy->proxy, arena, &carried);
	canary_plane_write_counters(&carried, &out);
	text = buffer_take(&out, &size);
	http_respond(exchange, 200, &type, 1, HTTP_BODY_OWNED(text, size));
}

static void answer_health(struct http_exchange *exchange, const struct http_request *request,
	void *context)
{
	struct canary_proxy *proxy = context;
	bool ready = atomic_load(&proxy->ready) && !atomic_load(&proxy->draining);

	if (span_is(request->path, "/readyz"))
		http_respond(exchange, ready ? 200 : 503, NULL, 0,
			HTTP_BODY_STATIC(ready ? SPAN("ok\n") : SPAN("not ready\n")));
	else if (span_is(request->path, "/metrics"))
		answer_metrics(proxy, exchange);
	else if (span_is(request->path, "/livez"))
		http_respond(exchange, 200, NULL, 0, HTTP_BODY_STATIC(SPAN("ok\n")));
	else
		http_respond(exchange, 404, NULL, 0, HTTP_BODY_STATIC(SPAN("not found\n")));
}

/* ---- start and stop ---- */

static int connect_client(struct canary_proxy *proxy, struct err *err)
{
	struct kube_access *access;
	struct kube_client_config config = {.runner = proxy->runner,
		.field_manager =
			arena_format(proxy->arena, "slipway-canary-proxy-%s", proxy->config.replica)
				.data};
	int code = kubeconfig_find(proxy->config.kubeconfig, SPAN_NONE, proxy->arena, &access, err);

	if (code == 0)
		code = http_client_new(&proxy->http, err);
	if (code < 0)
		return code;
	config.http = proxy->http;
	config.access = access;
	return kube_client_new(&config, &proxy->client, err);
}

static int open_plane(struct canary_proxy *proxy, struct err *err)
{
	const struct l4_options l4 = {.workers = proxy->config.workers};
	const struct haproxy_options haproxy = {.folder = proxy->config.haproxy_folder};
	struct proxy_driver *drivers[2];
	size_t count = 0;
	int code = l4_new(proxy->runner, &l4, &proxy->l4, err);

	if (code < 0)
		return code;
	drivers[count++] = proxy->l4;
	if (proxy->config.haproxy_folder) {
		code = haproxy_new(proxy->runner, &haproxy, &proxy->haproxy, err);
		if (code < 0)
			return code;
		drivers[count++] = proxy->haproxy;
	}
	return proxy_new(drivers, count, &proxy->proxy, err);
}

static int open_health(struct canary_proxy *proxy, struct err *err)
{
	const struct http_server_config config = {
		.address = proxy->config.address ? proxy->config.address : "0.0.0.0",
		.port = (uint16_t)(proxy->config.health_port ? proxy->config.health_port
							     : CANARY_PROXY_HEALTH_PORT),
		.handler = answer_health,
		.context = proxy,
	};

	return http_server_open(&config, &proxy->health, err);
}

int canary_proxy_start(const struct canary_proxy_config *config, struct canary_proxy **ret_proxy,
	struct err *err)
{
	struct canary_proxy *proxy = memory_allocate(sizeof(*proxy));
	int code;

	proxy->arena = arena_new(0);
	proxy->config = *config;
	proxy->runner = runner_threads_new(clock_system(), random_system());
	proxy->group = runner_group_new(proxy->runner, "follow");
	proxy->changed = runner_event_new(proxy->group, "canary");
	proxy->plane = canary_plane_new();
	proxy->certificates = canary_certificates_new(config->certificates ? config->certificates
									   : CANARY_CERTIFICATES);
	lock_init(&proxy->lock);
	code = open_plane(proxy, err);
	if (code == 0)
		code = connect_client(proxy, err);
	if (code == 0)
		code = open_health(proxy, err);
	if (code == 0)
		code = start_informers(proxy, err);
	if (code == 0)
		code = runner_spawn(proxy->group, "canary-proxy", run, proxy, err);
	if (code < 0) {
		canary_proxy_stop(proxy);
		return code;
	}
	*ret_proxy = proxy;
	return 0;
}

void canary_proxy_drain(struct canary_proxy *proxy)
{
	int64_t limit_us = (atomic_load(&proxy->drain_seconds) + DRAIN_MARGIN_S) * 1000000;
	int64_t begin_us = runner_now_us(proxy->runner), quiet_since_us = begin_us;
	uint64_t traffic = 0;

	atomic_store(&proxy->draining, true);
	for (;;) {
		_arena_ struct arena *arena = arena_new(0);
		int64_t now_us = runner_now_us(proxy->runner);
		struct proxy_report carried;

		proxy_report(proxy->proxy, arena, &carried);
		if (canary_plane_active(&carried) > 0 || canary_plane_traffic(&carried) != traffic)
			quiet_since_us = now_us;
		traffic = canary_plane_traffic(&carried);
		if (now_us - quiet_since_us >= QUIET_US || now_us - begin_us >= limit_us)
			return;
		if (runner_sleep_until(proxy->runner,
			    runner_deadline_us(proxy->runner, DRAIN_CHECK_US)) < 0)
			return;
	}
}

void canary_proxy_stop(struct canary_proxy *proxy)
{
	if (!proxy)
		return;
	kube_informer_stop(proxy->canaries);
	kube_informer_stop(proxy->slices);
	runner_stop(proxy->group);
	if (proxy->client)
		kube_client_cancel(proxy->client);
	http_server_close(proxy->health);
	runner_join(proxy->group, NULL);
	proxy_free(proxy->proxy);
	runner_stop(proxy->runner);
	runner_join(proxy->runner, NULL);
	kube_client_free(proxy->client);
	http_client_free(proxy->http);
	kube_object_release(proxy->seen);
	canary_plane_free(proxy->plane);
	canary_certificates_free(proxy->certificates);
	buffer_clear(&proxy->weights);
	lock_destroy(&proxy->lock);
	buffer_clear(&proxy->reported);
	buffer_clear(&proxy->counted);
	runner_event_free(proxy->changed);
	runner_free(proxy->group);
	runner_free(proxy->runner);
	arena_free(proxy->arena);
	free(proxy);
}
