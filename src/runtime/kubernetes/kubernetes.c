/* The runtime as a whole: opening, closing, and reports from the informers' objects. */
#include "runtime/kubernetes/kubernetes.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "kube/kubeconfig.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/node.h"
#include "runtime/kubernetes/pod_task.h"

#define TOKEN_MAX ((size_t)64 * 1024)
#define CHORE_BACKOFF_MOST_US INT64_C(30000000)

/* ---- reporting ---- */

static int list_instances(struct runtime *base, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_list_ struct kube_object_list nodes = {0};
	struct runtime_instance *instances;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	kube_informer_all(kubernetes_informer(runtime, KUBERNETES_NODES), arena, &nodes);
	instances = arena_allocate_array(arena, nodes.count, sizeof(*instances));
	for (size_t i = 0; i < nodes.count; i++) {
		struct runtime_instance *instance = &instances[i];

		kubernetes_node_report(nodes.objects[i]->name, nodes.objects[i]->data, arena,
			instance);
		instance->id = arena_copy_span(arena, instance->id);
		instance->name = arena_copy_span(arena, instance->name);
		instance->address = arena_copy_span(arena, instance->address);
	}
	*ret_instances = instances;
	*ret_count = nodes.count;
	return 0;
}

static int list_tasks(struct runtime *base, struct arena *arena, struct span **ret_tokens,
	size_t *ret_count, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_list_ struct kube_object_list shown = {0}, fresh = {0};
	_map_ struct map seen = {0};
	struct span *tokens;
	size_t count = 0;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	kube_informer_all(kubernetes_informer(runtime, KUBERNETES_PODS), arena, &shown);
	kubernetes_fresh_all(&runtime->pods, arena, &fresh.objects, &fresh.count);
	tokens = arena_allocate_array(arena, shown.count + fresh.count, sizeof(*tokens));
	/* Fresh objects are newer: one may show that a listed pod was acknowledged. */
	for (size_t i = 0; i < fresh.count + shown.count; i++) {
		const struct kubernetes_pod *pod = i < fresh.count
							   ? fresh.objects[i]->data
							   : shown.objects[i - fresh.count]->data;

		if (map_has(&seen, pod->token))
			continue;
		map_put(&seen, pod->token, &seen);
		if (!pod->acknowledged)
			tokens[count++] = arena_copy_span(arena, pod->token);
	}
	*ret_tokens = tokens;
	*ret_count = count;
	return 0;
}

static struct span copy(struct arena *arena, struct span text)
{
	return text.length > 0 ? arena_copy_span(arena, text) : SPAN("");
}

/* The report points into an object that is about to be released. */
static void keep_texts(struct runtime_task *task, struct arena *arena)
{
	struct span *texts[] = {&task->token, &task->instance, &task->group, &task->version,
		&task->reason, &task->address, &task->mac, &task->notes};

	for (size_t i = 0; i < LENGTH(texts); i++)
		*texts[i] = copy(arena, *texts[i]);
	for (size_t i = 0; i < task->container_count; i++) {
		struct runtime_container *container = &task->containers[i];

		container->name = copy(arena, container->name);
		container->runtime_id = copy(arena, container->runtime_id);
		container->reason = copy(arena, container->reason);
		for (size_t j = 0; j < container->binding_count; j++)
			container->bindings[j].address =
				copy(arena, container->bindings[j].address);
	}
}

/* A waiting pod without a reason of its own gets the text of its latest warning event: a volume
 * that cannot be mounted, a network that cannot be created. */
static struct span find_warning(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct arena *arena)
{
	_kube_object_list_ struct kube_object_list events = {0};
	const struct kubernetes_event *last = NULL;

	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_EVENTS), "object", pod->uid,
		arena, &events);
	for (size_t i = 0; i < events.count; i++) {
		const struct kubernetes_event *event = events.objects[i]->data;

		if (!last || event->at_ms > last->at_ms)
			last = event;
	}
	return last ? arena_copy_span(arena, last->text) : SPAN("");
}

static int get(struct runtime *base, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *pod = NULL;
	struct kubernetes_reported *reported;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	if (!pod)
		return err_set(err, -ENOENT, "there is no task '%.*s'", SPAN_ARGS(token));
	reported = kubernetes_pod_report(pod->data, runner_wall_ms(runtime->runner), arena);
	keep_texts(&reported->task, arena);
	if (reported->task.phase == RUNTIME_PENDING && reported->task.reason.length == 0)
		reported->task.reason = find_warning(runtime, pod, arena);
	*ret_task = &reported->task;
	return 0;
}

bool runtime_kubernetes_is_synced(struct runtime *base)
{
	return kubernetes_check_synced(KUBERNETES_RUNTIME(base), NULL) == 0;
}

/* ---- closing ---- */

static void close_runtime(struct runtime *base)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);

	if (runtime->chores)
		work_queue_shut_down(runtime->chores);
	if (runtime->runner)
		runner_stop(runtime->runner);
	if (runtime->client)
		kube_client_cancel(runtime->client);
	/* Its threads may be using the informers. */
	if (runtime->workers)
		runner_join(runtime->workers, NULL);
	kubernetes_watch_stop(runtime);
	if (runtime->runner)
		runner_join(runtime->runner, NULL);
	work_queue_free(runtime->chores);
	kube_client_free(runtime->client);
	http_client_free(runtime->http);
	kubernetes_fresh_destroy(&runtime->pods);
	kubernetes_fresh_destroy(&runtime->groups);
	map_clear(&runtime->namespaces);
	map_clear(&runtime->refusing);
	kubernetes_published_clear(runtime);
	lock_destroy(&runtime->lock);
	runner_free(runtime->workers);
	runner_free(runtime->runner);
	arena_free(runtime->arena);
	free(runtime);
}

/* ---- opening ---- */

static const struct runtime_operations operations = {
	.name = "kubernetes",
	.groups = &kubernetes_group_operations,
	.list_instances = list_instances,
	.list_tasks = list_tasks,
	.start = kubernetes_start,
	.stop = kubernetes_stop,
	.get = get,
	.acknowledge = kubernetes_acknowledge,
	.exec = kubernetes_exec,
	.read_logs = kubernetes_read_logs,
	.close = close_runtime,
};

static const char *copy_or_null(struct arena *arena, const char *text)
{
	return text ? arena_copy_string(arena, text) : NULL;
}

static struct kubernetes_runtime *new_runtime(const struct runtime_kubernetes_config *config)
{
	static const struct work_queue_config queue = {.backoff_most_us = CHORE_BACKOFF_MOST_US};
	struct kubernetes_runtime *runtime = memory_allocate(sizeof(*runtime));
	struct arena *arena = arena_new(0);

	runtime->runtime.operations = &operations;
	runtime->arena = arena;
	runtime->config = *config;
	runtime->config.host = arena_copy_span(arena, config->host);
	runtime->config.kubeconfig = copy_or_null(arena, config->kubeconfig);
	runtime->config.kube_context = copy_or_null(arena, config->kube_context);
	if (runtime->config.resync_ms == 0)
		runtime->config.resync_ms = RUNTIME_KUBERNETES_RESYNC_MS;
	runtime->template = (struct kubernetes_template_config){
		.host = runtime->config.host,
		.helper_image = arena_copy_span(arena,
			span_of(config->helper_image ? config->helper_image : "")),
		.pull_policy = arena_copy_span(arena,
			span_of(config->pull_policy ? config->pull_policy : "IfNotPresent")),
		.restricted = config->restricted,
	};
	lock_init(&runtime->lock);
	kubernetes_fresh_init(&runtime->pods);
	kubernetes_fresh_init(&runtime->groups);
	runtime->runner = runner_group_new(config->runner, "kubernetes");
	runtime->workers = runner_group_new(runtime->runner, "chores");
	runtime->chores = work_queue_new(runtime->runner, &queue);
	return runtime;
}

/* The user of a token: the "sub" of its payload, which is the part between its two dots. */
static struct span subject_of(struct span token, struct arena *arena)
{
	struct span head, payload, signature, padded, text;
	struct json *claims;
	char *standard;

	if (!span_split(span_trim(token), '.', &head, &payload) ||
		!span_split(payload, '.', &payload, &signature))
		return SPAN("");
	/* The alphabet of URLs, without padding. */
	padded = arena_format(arena, "%.*s===", SPAN_ARGS(payload));
	standard = arena_copy(arena, padded.data, padded.length);
	for (char *c = standard; *c; c++)
		*c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
	payload.length += (4 - payload.length % 4) % 4;
	if (!base64_decode((struct span){standard, payload.length}, arena, &text) ||
		json_parse(text, arena, &claims, NULL) < 0)
		return SPAN("");
	return json_get_text(claims, "sub");
}

static struct span account_of(const struct kube_access *access, struct arena *arena)
{
	_buffer_ struct buffer text = {0};
	struct span token = access->token.text, subject;

	if (access->token.path.length > 0 &&
		file_read(access->token.path.data, TOKEN_MAX, &text, NULL) == 0)
		token = arena_copy_span(arena, buffer_span(&text));
	subject = token.length > 0 ? subject_of(token, arena) : SPAN("");
	return span_starts_with(subject, SPAN(KUBERNETES_ACCOUNT_PREFIX)) ? subject : SPAN("");
}

static int connect_client(struct kubernetes_runtime *runtime, struct err *err)
{
	struct kube_access *access;
	struct kube_client_config config = {
		.runner = runtime->runner,
		.qps = runtime->config.qps,
		.burst = runtime->config.burst,
	};
	int code = kubeconfig_find(runtime->config.kubeconfig,
		span_of(runtime->config.kube_context), runtime->arena, &access, err);

	if (code == 0)
		code = http_client_new(&runtime->http, err);
	if (code < 0)
		return code;
	runtime->account = account_of(access, runtime->arena);
	config.http = runtime->http;
	config.access = access;
	return kube_client_new(&config, &runtime->client, err);
}

static int start_workers(struct kubernetes_runtime *runtime, struct err *err)
{
	for (unsigned i = 0; i < KUBERNETES_WORKERS; i++) {
		int code = runner_spawn(runtime->workers, "kubernetes-chores",
			kubernetes_chores_run, runtime, err);

		if (code < 0)
			return code;
	}
	kubernetes_chore_add(runtime, KUBERNETES_CHORE_SWEEP, SPAN("secrets"));
	return 0;
}

int runtime_kubernetes_open(const struct runtime_kubernetes_config *config,
	struct runtime **ret_runtime, struct err *err)
{
	struct kubernetes_runtime *runtime;
	int code;

	if (config->host.length == 0)
		return err_set(err, -EINVAL, "the Kubernetes runtime needs the name of a host");
	runtime = new_runtime(config);
	code = connect_client(runtime, err);
	if (code == 0)
		code = kubernetes_watch_start(runtime, err);
	if (code == 0)
		code = start_workers(runtime, err);
	if (code < 0) {
		close_runtime(&runtime->runtime);
		return err_prefix(err, code, "open the Kubernetes runtime");
	}
	*ret_runtime = &runtime->runtime;
	return 0;
}
