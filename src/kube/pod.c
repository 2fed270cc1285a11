#include "kube/pod.h"

#include "base/clock.h"
#include "kube/discovery.h"
#include "kube/request.h"

/* ---- logs ---- */

struct log_reader {
	int (*reader)(void *context, struct span data);
	void *context;
	int result;
};

static int read_log(void *context, struct span data, struct err *err)
{
	struct log_reader *log = context;

	log->result = log->reader(log->context, data);
	if (log->result < 0)
		return err_set(err, log->result, "the reader wants no more");
	return log->result;
}

static void write_log_query(const struct kube_log_request *request, struct buffer *path)
{
	char since[CLOCK_ISO_SIZE];

	kube_query_add(path, "container", request->container);
	if (request->follow)
		kube_query_add(path, "follow", SPAN("true"));
	if (request->previous)
		kube_query_add(path, "previous", SPAN("true"));
	if (request->timestamps)
		kube_query_add(path, "timestamps", SPAN("true"));
	if (request->has_tail)
		kube_query_add_integer(path, "tailLines", request->tail_lines);
	if (request->limit_bytes > 0)
		kube_query_add_integer(path, "limitBytes", request->limit_bytes);
	if (request->since_ms > 0) {
		clock_format_iso(request->since_ms / 1000 * 1000, since);
		kube_query_add(path, "sinceTime", span_of(since));
	}
}

int kube_pod_logs(struct kube_client *client, const struct kube_log_request *request,
	int (*reader)(void *context, struct span data), void *context,
	const struct kube_options *options, struct err *err)
{
	const struct kube_target target = {&kube_pods, request->namespace, request->pod, "log"};
	_buffer_ struct buffer path = BUFFER_WITH_CAP(KUBE_PATH_MAX);
	struct log_reader log = {reader, context, 0};
	struct kube_stream stream = {
		.chunk = read_log,
		.context = &log,
		.idle_ms = request->idle_timeout_ms > 0 ? request->idle_timeout_ms : -1,
		.total_ms = -1,
		.patient = true,
	};
	struct kube_request call = {.accept = "*/*", .options = options};
	struct kube_resource resource;
	int code;

	code = kube_discovery_find(client, &kube_pods, options, &resource, err);
	if (code == 0)
		code = kube_path_write(&resource, &target, &path, err);
	if (code < 0)
		return code;
	write_log_query(request, &path);
	code = kube_path_check(&path, err);
	if (code < 0)
		return code;
	call.path = buffer_span(&path);
	code = kube_request_stream(client, &call, &stream, err);
	return code < 0 ? code : log.result;
}

/* ---- eviction ---- */

int kube_pod_evict(struct kube_client *client, struct span namespace, struct span pod,
	const struct kube_deletion *deletion, const struct kube_options *options, struct err *err)
{
	const struct kube_target target = {&kube_pods, namespace, pod, "eviction"};
	_arena_ struct arena *arena = arena_new(0);
	struct json *body = json_new_object(arena), *metadata = json_new_object(arena), *answer;
	struct kube_options own = options ? *options : (struct kube_options){0};
	char version[KUBE_WORD_SIZE];
	int code;

	code = kube_discovery_eviction(client, options, version, err);
	if (code < 0)
		return code;
	json_set_string(arena, body, "apiVersion", span_of(version));
	json_set_string(arena, body, "kind", SPAN("Eviction"));
	json_set_string(arena, metadata, "name", pod);
	json_set_string(arena, metadata, "namespace", namespace);
	json_set(arena, body, "metadata", metadata);
	if (deletion)
		json_set(arena, body, "deleteOptions", kube_deletion_write(deletion, arena));
	/* A 429 comes from the disruption budget, not from a busy server. */
	own.impatient = true;
	return kube_create(client, &target, body, &own, arena, &answer, err);
}
