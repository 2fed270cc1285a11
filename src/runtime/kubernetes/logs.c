/*
 * Logs of containers. Kubernetes has no offsets in a log, only times, so an offset is a time here: that of the
 * latest line that was given, in nanoseconds since 1970, which nodes write before each line. The lines of the
 * second in which it lies are read again and those up to it dropped.
 */
#include "base/memory.h"
#include "kube/pod.h"
#include "runtime/kubernetes/internal.h"

#define NANOSECONDS UINT64_C(1000000000)
#define FRACTION_DIGITS 9
#define LINE_MAX_LENGTH ((size_t)1024 * 1024)
#define LOG_IDLE_MS 30000

struct log {
	uint64_t after; /* lines up to this time were returned before */
	uint64_t last;
	size_t max;
	struct buffer *out;
	struct runtime_log_times *times; /* NULL: not wanted */
	size_t begin;                    /* of this piece in out */
	struct buffer line;              /* of an incomplete line */
};

/* 0 if it is not a time. */
static uint64_t read_time(struct span text)
{
	struct json value = {.type = JSON_STRING, .text = text};
	int64_t ms = kube_time_ms(&value);
	const char *dot = memchr(text.data, '.', text.length);
	uint64_t fraction = 0;
	unsigned digits = 0;

	if (ms <= 0)
		return 0;
	for (const char *c = dot ? dot + 1 : NULL; c && c < text.data + text.length; c++) {
		if (*c < '0' || *c > '9' || digits == FRACTION_DIGITS)
			break;
		fraction = fraction * 10 + (uint64_t)(*c - '0');
		digits++;
	}
	for (; digits < FRACTION_DIGITS; digits++)
		fraction *= 10;
	return (uint64_t)(ms / 1000) * NANOSECONDS + fraction;
}

/* Returns 1 when the buffer is full. */
static int take_line(struct log *log, struct span line)
{
	struct span time = SPAN(""), text = line;
	uint64_t at = 0;

	if (span_split(line, ' ', &time, &text))
		at = read_time(time);
	/* A line without a time belongs to the line before. */
	if (at == 0) {
		text = line;
		at = log->last;
	}
	if (at <= log->after)
		return 0;
	/* A line longer than the whole buffer is cut, so that reading makes progress. */
	if (log->out->length > 0 && log->out->length + text.length + 1 > log->max)
		return 1;
	if (text.length + 1 > log->max)
		text.length = log->max - 1;
	if (log->times)
		runtime_log_times_add(log->times, log->out->length - log->begin,
			(int64_t)(at / (NANOSECONDS / 1000)));
	buffer_add_span(log->out, text);
	buffer_add_char(log->out, '\n');
	/* Lines of the two streams may be in another order than their times: a line read earlier would be read again. */
	if (at > log->last)
		log->last = at;
	return log->out->length >= log->max;
}

static int take_bytes(void *context, struct span data)
{
	struct log *log = context;
	struct span line, rest = data;

	while (span_split(rest, '\n', &line, &rest)) {
		int code;

		if (log->line.length > 0) {
			buffer_add_span(&log->line, line);
			line = buffer_span(&log->line);
		}
		code = take_line(log, line);
		buffer_reset(&log->line);
		if (code != 0)
			return code;
	}
	if (log->line.length + rest.length <= LINE_MAX_LENGTH)
		buffer_add_span(&log->line, rest);
	return 0;
}

int kubernetes_read_logs(struct runtime *base, struct span token, struct span container,
	uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
	uint64_t *ret_offset, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *pod = NULL;
	const struct kubernetes_container *found;
	struct log log = {.after = offset,
		.last = offset,
		.max = max,
		.out = out,
		.times = times,
		.begin = out->length};
	struct kube_log_request request = {.timestamps = true, .idle_timeout_ms = LOG_IDLE_MS};
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	found = pod ? kubernetes_find_container(pod->data, container) : NULL;
	if (!found)
		return err_set(err, -ENOENT, "there is no container '%.*s' of a task '%.*s'",
			SPAN_ARGS(container), SPAN_ARGS(token));
	request.namespace = pod->namespace;
	request.pod = pod->name;
	request.container = found->as;
	request.since_ms = (int64_t)(offset / 1000000);
	/* After a restart, the previous run's output counts. */
	request.previous = found->restart_count > 0 && !found->restarts && found->last;
	code = kube_pod_logs(runtime->client, &request, take_bytes, &log, NULL, err);
	if (code >= 0 && code != 1 && log.line.length > 0 && buffer_span(&log.line).data[0] != '\0')
		take_line(&log, buffer_span(&log.line));
	buffer_clear(&log.line);
	if (code == -EINVAL) /* "container is waiting to start" */
		return err_set(err, -ENOENT, "container '%.*s' has not started yet",
			SPAN_ARGS(container));
	if (code < 0)
		return code;
	*ret_offset = log.last;
	return 0;
}
