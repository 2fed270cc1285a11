/*
 * Publishes names of service discovery in a cluster's namespace: endpoints.h makes the desired
 * objects; this file compares them with the last written ones, and writes them. They are written
 * again after a while, because no informer watches them.
 */
#include "base/memory.h"
#include "runtime/kubernetes/endpoints.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"

#define PUBLISHED_MAX 10000
#define AGAIN_US INT64_C(240000000)

struct published {
	char hash[KUBERNETES_HASH_SIZE];
	int64_t at_us;
};

struct publishing {
	struct kubernetes_runtime *runtime;
	const struct runtime_name *name;
	struct arena *arena;
	struct span namespace, full_name;
	struct err *err;
};

/* ---- last written objects ---- */

static struct span key_of(const struct publishing *publishing)
{
	return arena_format(publishing->arena, "%.*s/%.*s", SPAN_ARGS(publishing->namespace),
		SPAN_ARGS(publishing->full_name));
}

static void hash_desired(const struct publishing *publishing, char ret_hash[KUBERNETES_HASH_SIZE])
{
	_buffer_ struct buffer text = {0};
	struct span whole;

	buffer_format(&text, "%d", publishing->name->exists);
	for (size_t i = 0; i < publishing->name->endpoint_count; i++) {
		const struct runtime_endpoint *endpoint = &publishing->name->endpoints[i];

		buffer_format(&text, " %.*s %.*s %u %d", SPAN_ARGS(endpoint->token),
			SPAN_ARGS(endpoint->address), endpoint->port, endpoint->ready);
	}
	whole = buffer_span(&text);
	kubernetes_hash(&whole, 1, ret_hash);
}

static bool was_written(struct publishing *publishing, const char *hash)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	const struct published *published;
	bool same;

	lock_take(&runtime->lock);
	published = map_get(&runtime->published, key_of(publishing));
	same = published && strcmp(published->hash, hash) == 0 &&
	       runner_now_us(runtime->runner) < published->at_us + AGAIN_US;
	lock_release(&runtime->lock);
	return same;
}

static void clear(struct map *map)
{
	MAP_EACH (map, entry)
		free(entry->value);
	map_clear(map);
}

void kubernetes_published_clear(struct kubernetes_runtime *runtime)
{
	clear(&runtime->published);
}

static void remember(struct publishing *publishing, const char *hash)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	struct published *published = memory_allocate(sizeof(*published));

	memcpy(published->hash, hash, sizeof(published->hash));
	published->at_us = runner_now_us(runtime->runner);
	lock_take(&runtime->lock);
	if (runtime->published.count >= PUBLISHED_MAX)
		clear(&runtime->published);
	free(map_put(&runtime->published, key_of(publishing), published));
	lock_release(&runtime->lock);
}

/* ---- Services ---- */

static struct kube_target service_target(const struct publishing *publishing, struct span service)
{
	return (struct kube_target){
		.kind = &kube_services, .namespace = publishing->namespace, .name = service};
}

/* Whether the Service has this name's label; *ret_taken: it belongs to another name. */
static int inspect_service(struct publishing *publishing, struct span service, bool *ret_is_it,
	bool *ret_taken)
{
	struct kube_target target = service_target(publishing, service);
	struct json *found;
	int code = kube_get(publishing->runtime->client, &target, NULL, publishing->arena, &found,
		publishing->err);

	*ret_is_it = *ret_taken = false;
	if (code == -ENOENT)
		return 0;
	if (code < 0)
		return code;
	*ret_is_it =
		kubernetes_claim(found, publishing->runtime->config.host) == KUBERNETES_OURS &&
		span_equal(json_get_text(json_path(found, "metadata.annotations"), KUBERNETES_NAME),
			publishing->full_name);
	*ret_taken = !*ret_is_it;
	return 0;
}

/* The EndpointSlices are deleted with it, as its own. */
static int remove_service(struct publishing *publishing, struct span service)
{
	struct kube_target target = service_target(publishing, service);
	bool is_it, taken;
	int code = inspect_service(publishing, service, &is_it, &taken);

	if (code < 0 || !is_it)
		return code;
	code = kube_delete(publishing->runtime->client, &target, NULL, NULL, publishing->err);
	return code == -ENOENT ? 0 : code;
}

static int withdraw(struct publishing *publishing)
{
	const struct runtime_name *name = publishing->name;
	int code =
		remove_service(publishing, kubernetes_service_name(publishing->arena, name->name));

	return code < 0 ? code
			: remove_service(publishing, kubernetes_service_long_name(publishing->arena,
							     name->name, name->domain));
}

/* ---- EndpointSlices ---- */

static struct kubernetes_place *find_places(struct publishing *publishing)
{
	const struct runtime_name *name = publishing->name;
	struct arena *arena = publishing->arena;
	struct kubernetes_place *places =
		arena_allocate_array(arena, name->endpoint_count, sizeof(*places));

	for (size_t i = 0; i < name->endpoint_count; i++) {
		_kube_object_ const struct kube_object *pod =
			kubernetes_find_pod(publishing->runtime, name->endpoints[i].token);

		places[i] = (struct kubernetes_place){
			.endpoint = name->endpoints[i],
			.node = SPAN(""),
			.pod = SPAN(""),
			.uid = SPAN(""),
		};
		if (!pod)
			continue;
		places[i].node =
			arena_copy_span(arena, ((const struct kubernetes_pod *)pod->data)->node);
		places[i].pod = arena_copy_span(arena, pod->name);
		places[i].uid = arena_copy_span(arena, pod->uid);
	}
	return places;
}

static bool has_name(const struct json *slices, struct span name)
{
	JSON_EACH_ITEM (slices, slice)
		if (span_equal(json_get_text(json_get(slice, "metadata"), "name"), name))
			return true;
	return false;
}

/* Lists our own slices. */
static int list_slices(struct publishing *publishing, struct span service, struct json **ret_slices)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	struct kube_target target = {
		.kind = &kube_endpoint_slices, .namespace = publishing->namespace};
	struct kube_selection selection = {
		.labels = arena_format(publishing->arena, "%.*s," KUBERNETES_SLICE_SERVICE "=%.*s",
			SPAN_ARGS(kubernetes_selector(publishing->arena, runtime->config.host)),
			SPAN_ARGS(service))
				  .data};

	return kube_list(runtime->client, &target, &selection, NULL, publishing->arena, ret_slices,
		NULL, publishing->err);
}

/* New slices are created and not applied: apply would take over a foreign slice with that name. */
static int write_slice(struct publishing *publishing, const struct json *slice, bool is_there)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	struct kube_target target = {.kind = &kube_endpoint_slices,
		.namespace = publishing->namespace,
		.name = json_get_text(json_get(slice, "metadata"), "name")};
	struct json *answer;
	int code;

	if (is_there)
		return kube_apply(runtime->client, &target, slice, true, NULL, publishing->arena,
			&answer, publishing->err);
	code = kube_create(runtime->client, &target, slice, NULL, publishing->arena, &answer,
		publishing->err);
	return code == -EEXIST
		       ? err_set(publishing->err, code,
				 "an EndpointSlice '%.*s' that is not slipway's is in the way",
				 SPAN_ARGS(target.name))
		       : code;
}

/* Removes slices beyond the current number of endpoints. */
static int remove_slices(struct publishing *publishing, const struct json *known,
	const struct json *wanted)
{
	struct kube_target target = {
		.kind = &kube_endpoint_slices, .namespace = publishing->namespace};

	JSON_EACH_ITEM (known, slice) {
		int code;

		target.name = json_get_text(json_get(slice, "metadata"), "name");
		if (has_name(wanted, target.name))
			continue;
		code = kube_delete(publishing->runtime->client, &target, NULL, NULL,
			publishing->err);
		if (code < 0 && code != -ENOENT)
			return code;
	}
	return 0;
}

static int write_slices(struct publishing *publishing, struct span service, struct span uid)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	struct kubernetes_slices_request request = {
		.host = runtime->config.host,
		.namespace = publishing->namespace,
		.service = service,
		.uid = uid,
		.full_name = publishing->full_name,
		.places = find_places(publishing),
		.place_count = publishing->name->endpoint_count,
	};
	struct kube_resource resource;
	struct json *slices, *known;
	int code = kube_resource_find(runtime->client, &kube_endpoint_slices, &resource,
		publishing->err);

	if (code == 0)
		code = list_slices(publishing, service, &known);
	if (code < 0)
		return code;
	request.beta = strcmp(resource.version, "v1beta1") == 0;
	slices = kubernetes_slice_documents(publishing->arena, &request);
	JSON_EACH_ITEM (slices, slice) {
		struct span name = json_get_text(json_get(slice, "metadata"), "name");

		code = write_slice(publishing, slice, has_name(known, name));
		if (code < 0)
			return code;
	}
	return remove_slices(publishing, known, slices);
}

/* ---- publishing ---- */

/* Its own name, or the longer one if a Service of another domain or another client has it. */
static int choose_name(struct publishing *publishing, struct span *ret_service)
{
	const struct runtime_name *name = publishing->name;
	struct span service = kubernetes_service_name(publishing->arena, name->name);
	struct span longer =
		kubernetes_service_long_name(publishing->arena, name->name, name->domain);
	bool is_it, taken;
	int code = inspect_service(publishing, service, &is_it, &taken);

	if (code < 0)
		return code;
	if (!taken) {
		*ret_service = service;
		return remove_service(publishing, longer);
	}
	code = inspect_service(publishing, longer, &is_it, &taken);
	if (code == 0 && taken)
		return err_set(publishing->err, -EEXIST,
			"Services '%.*s' and '%.*s' that are not slipway's are in the way",
			SPAN_ARGS(service), SPAN_ARGS(longer));
	*ret_service = longer;
	return code;
}

static int write_name(struct publishing *publishing)
{
	struct kubernetes_runtime *runtime = publishing->runtime;
	struct span service = SPAN("");
	struct kube_target target;
	struct json *answer;
	int code = kubernetes_namespace_ensure(runtime, publishing->name->cluster_arn,
		publishing->arena, &publishing->namespace, publishing->err);

	if (code == 0)
		code = choose_name(publishing, &service);
	if (code < 0)
		return code;
	target = service_target(publishing, service);
	code = kube_apply(runtime->client, &target,
		kubernetes_service_document(publishing->arena, runtime->config.host,
			publishing->namespace, service, publishing->full_name),
		true, NULL, publishing->arena, &answer, publishing->err);
	return code < 0 ? code
			: write_slices(publishing, service,
				  json_get_text(json_get(answer, "metadata"), "uid"));
}

int kubernetes_publish(struct runtime *base, const struct runtime_name *name, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct publishing publishing = {
		.runtime = KUBERNETES_RUNTIME(base), .name = name, .arena = arena, .err = err};
	char hash[KUBERNETES_HASH_SIZE];
	int code = kubernetes_check_synced(publishing.runtime, err);

	if (code == 0)
		code = kubernetes_namespace_name(arena, name->cluster_arn, &publishing.namespace,
			err);
	if (code < 0)
		return code;
	publishing.full_name =
		arena_format(arena, "%.*s.%.*s", SPAN_ARGS(name->name), SPAN_ARGS(name->domain));
	hash_desired(&publishing, hash);
	if (was_written(&publishing, hash))
		return 0;
	code = name->exists ? write_name(&publishing) : withdraw(&publishing);
	if (code < 0)
		return err_prefix(err, code, "publish '%.*s'", SPAN_ARGS(publishing.full_name));
	remember(&publishing, hash);
	return 0;
}
