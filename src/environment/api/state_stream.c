/* See the header. */
#include "environment/api/state_stream.h"

#include "aws/targets.h"
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "delivery/observe/change_log.h"
#include "delivery/observe/observe_internal.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "environment/api/operations.h"
#include "environment/model/fail.h"
#include "environment/model/version_names.h"

struct state_stream {
	struct arena *arena; /* for all of this */
	struct store *store;
	struct aws_caller caller;
	bool instances;                 /* not tasks */
	struct span cluster_ref;        /* remote; "" */
	struct change_log_reader *tail; /* remote */
	struct arena *snapshot_arena;   /* remote, until the snapshot is complete; else NULL */
	struct observe_snapshot snapshot;
	size_t reported; /* of the snapshot */
	/* Of this server: */
	const struct store_kind *kind;
	struct span prefix;      /* of keys: "ACCOUNT/REGION/" or "ACCOUNT/REGION/CLUSTER/" */
	struct span group;       /* of tasks; "" */
	struct store_feed *feed; /* from `position` on */
	uint64_t position;       /* everything up to here was sent */
	/* While the snapshot is sent: */
	struct store_view *view; /* NULL: it is complete, or the cluster is remote */
	struct store_cursor cursor;
	struct buffer first; /* what was read to see whether the position is good */
};

/* ---- lines ---- */

static bool is_meant(const struct state_stream *stream, const struct store_object *object)
{
	if (!object || object->kind != stream->kind ||
		!span_starts_with(object->key, stream->prefix))
		return false;
	return stream->group.length == 0 || span_equal(task_facts(object)->group, stream->group);
}

/* They are in the stream of tasks. */
static struct json *without_counts(struct json *instance)
{
	json_unset(instance, "runningTasks");
	json_unset(instance, "pendingTasks");
	return instance;
}

static struct json *document_of(const struct state_stream *stream,
	const struct store_object *object, const struct store_view *view, struct arena *arena)
{
	struct aws_request request = {.caller = &stream->caller, .view = view, .arena = arena};
	struct span cluster_ref = object->key;
	struct json *created;

	/* "ACCOUNT/REGION/CLUSTER" of "ACCOUNT/REGION/CLUSTER/ID" */
	while (cluster_ref.length > 0 && cluster_ref.data[cluster_ref.length - 1] != '/')
		cluster_ref.length--;
	cluster_ref =
		cluster_ref_of_key(arena, (struct span){cluster_ref.data, cluster_ref.length - 1});
	if (stream->kind == &task_kind) {
		struct observe_task task = source_own_task(object, arena);

		return state_api_task_document(&request, cluster_ref, &task);
	} else {
		struct observe_instance instance = source_own_instance(object, arena);

		created = state_api_instance_document(&request, cluster_ref, &instance);
	}
	return without_counts(created);
}

static void write_line(const struct state_stream *stream, const char *change, uint64_t version,
	const struct json *document, struct buffer *out)
{
	buffer_format(out, "{\"change\":\"%s\"", change);
	if (version > 0)
		buffer_format(out, ",\"entityVersion\":%llu", (unsigned long long)version);
	if (document) {
		buffer_format(out, ",\"%s\":", stream->instances ? "instance" : "task");
		json_write(document, out);
	}
	buffer_add_string(out, "}\n");
}

static bool is_reporting_snapshot(const struct state_stream *stream)
{
	return stream->view || stream->snapshot_arena;
}

void state_stream_report_position(const struct state_stream *stream, struct buffer *out)
{
	int64_t observed_ms = stream->tail ? change_log_reader_observed_ms(stream->tail) : 0;

	if (is_reporting_snapshot(stream))
		return;
	if (observed_ms == 0)
		write_line(stream, "position", stream->position, NULL, out);
	else
		buffer_format(out,
			"{\"change\":\"position\",\"entityVersion\":%llu,\"observedAt\":%lld.%03d}"
			"\n",
			(unsigned long long)stream->position, (long long)(observed_ms / 1000),
			(int)(observed_ms % 1000));
}

void state_stream_report_end(const struct state_stream *stream, const char *reason,
	struct buffer *out)
{
	buffer_add_string(out, "{\"change\":\"end\"");
	if (!is_reporting_snapshot(stream))
		buffer_format(out, ",\"entityVersion\":%llu", (unsigned long long)stream->position);
	buffer_format(out, ",\"reason\":\"%s\"}\n", reason);
}

/* ---- reading ---- */

static int read_snapshot(struct state_stream *stream, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object;

	for (size_t i = 0; i < STATE_STREAM_BATCH; i++) {
		object = store_next(&stream->cursor);
		if (!object) {
			store_view_close(TAKE(stream->view));
			state_stream_report_position(stream, out);
			return 1;
		}
		if (is_meant(stream, object))
			write_line(stream, "snapshot", 0,
				document_of(stream, object, stream->view, arena), out);
	}
	return 1;
}

/* Whether clients see a difference; the version is one of every change. */
static bool differ(struct json *before, struct json *after)
{
	json_unset(before, "version");
	json_unset(after, "version");
	return !json_equal(before, after);
}

static void report_change(const struct state_stream *stream, const struct store_change *change,
	const struct store_view *view, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	bool was = is_meant(stream, change->before), is = is_meant(stream, change->after);

	if (was && is &&
		!differ(document_of(stream, change->before, view, arena),
			document_of(stream, change->after, view, arena)))
		return;
	if (is)
		write_line(stream, "updated", change->revision,
			document_of(stream, change->after, view, arena), out);
	else if (was)
		write_line(stream, "deleted", change->revision,
			document_of(stream, change->before, view, arena), out);
}

static int read_feed(struct state_stream *stream, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(stream->store);
	struct store_change changes[STATE_STREAM_BATCH];
	int count = store_feed_next(stream->feed, changes, LENGTH(changes));

	for (int i = 0; i < count; i++) {
		report_change(stream, &changes[i], view, out);
		stream->position = changes[i].revision;
		store_change_release(&changes[i]);
	}
	return count > 0 ? 1 : count;
}

/* ---- remote clusters ---- */

static struct aws_request asking(const struct state_stream *stream, const struct store_view *view,
	struct arena *arena)
{
	return (struct aws_request){.caller = &stream->caller, .view = view, .arena = arena};
}

/* NULL: there is none, or it is not meant. */
static struct json *task_there(const struct state_stream *stream, const struct observe_task *task,
	const struct store_view *view, struct arena *arena)
{
	struct aws_request request = asking(stream, view, arena);

	if (!task || (stream->group.length > 0 && !span_equal(task->group, stream->group)))
		return NULL;
	return state_api_task_document(&request, stream->cluster_ref, task);
}

static struct json *instance_there(const struct state_stream *stream,
	const struct observe_instance *instance, const struct store_view *view, struct arena *arena)
{
	struct aws_request request = asking(stream, view, arena);

	return instance ? without_counts(state_api_instance_document(&request, stream->cluster_ref,
				  instance))
			: NULL;
}

static int read_snapshot_there(struct state_stream *stream, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(stream->store);
	const struct observe_snapshot *all = &stream->snapshot;
	size_t count = stream->instances ? all->instance_count : all->task_count;

	for (size_t i = 0; i < STATE_STREAM_BATCH && stream->reported < count;
		i++, stream->reported++) {
		const struct json *document =
			stream->instances
				? instance_there(stream, &all->instances[stream->reported], view,
					  arena)
				: task_there(stream, &all->tasks[stream->reported], view, arena);

		if (document)
			write_line(stream, "snapshot", 0, document, out);
	}
	if (stream->reported < count)
		return 1;
	arena_free(TAKE(stream->snapshot_arena));
	state_stream_report_position(stream, out);
	return 1;
}

static void report_change_there(const struct state_stream *stream,
	const struct replica_change *change, const struct store_view *view, struct arena *arena,
	struct buffer *out)
{
	struct json *before = stream->instances
				      ? instance_there(stream, change->instance_before, view, arena)
				      : task_there(stream, change->task_before, view, arena);
	struct json *after = stream->instances
				     ? instance_there(stream, change->instance_after, view, arena)
				     : task_there(stream, change->task_after, view, arena);

	if (before && after &&
		!differ(json_copy_object(arena, before), json_copy_object(arena, after)))
		return;
	if (after)
		write_line(stream, "updated", stream->position, after, out);
	else if (before)
		write_line(stream, "deleted", stream->position, before, out);
}

static int read_tail(struct state_stream *stream, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(stream->store);
	struct replica_change change;
	int code = 0;

	for (size_t i = 0; i < STATE_STREAM_BATCH; i++) {
		code = change_log_reader_next(stream->tail, arena, &change);
		if (code <= 0)
			return code < 0 ? code : i > 0;
		stream->position = change_log_reader_position(stream->tail);
		report_change_there(stream, &change, view, arena, out);
	}
	return 1;
}

static int begin_there(struct state_stream *stream, const struct state_stream_config *config,
	struct err *err)
{
	int64_t requested = 0;
	bool resumes = json_integer(json_get(config->input, "entityVersion"), &requested);
	uint64_t position = (uint64_t)requested;
	int code;

	stream->snapshot_arena = arena_new(0);
	code = observe_follow(config->state, stream->cluster_ref, resumes ? &position : NULL,
		config->wake, config->context, stream->snapshot_arena, &stream->snapshot,
		&stream->tail, err);
	if (code < 0)
		return code;
	stream->position = change_log_reader_position(stream->tail);
	if (resumes)
		arena_free(TAKE(stream->snapshot_arena));
	return 0;
}

/* ---- both ---- */

int state_stream_read(struct state_stream *stream, struct buffer *out)
{
	if (stream->tail)
		return stream->snapshot_arena ? read_snapshot_there(stream, out)
					      : read_tail(stream, out);
	if (stream->first.length > 0) {
		buffer_add_span(out, buffer_span(&stream->first));
		buffer_clear(&stream->first);
		return 1;
	}
	return stream->view ? read_snapshot(stream, out) : read_feed(stream, out);
}

/* ---- opening ---- */

/* Where it begins: at a position, or with all there is. */
static int begin(struct state_stream *stream, const struct state_stream_config *config,
	struct err *err)
{
	static const struct store_kind *const tasks[] = {&task_kind};
	static const struct store_kind *const instances[] = {&container_instance_kind};
	const struct json *requested = json_get(config->input, "entityVersion");
	int64_t position = 0;
	int code;

	if (json_integer(requested, &position)) {
		stream->position = (uint64_t)position;
	} else {
		stream->view = store_view_open(stream->store);
		stream->position = store_view_revision(stream->view);
		stream->cursor = (struct store_cursor){.view = stream->view,
			.kind = stream->kind,
			.index = -1,
			.prefix = stream->prefix};
	}
	code = store_feed_open(stream->store, stream->position, config->wake, config->context,
		&stream->feed, err);
	if (code < 0)
		return code;
	store_feed_narrow(stream->feed, config->instances ? instances : tasks, 1);
	if (stream->view)
		return 0;
	/* The feed says when it is asked. */
	if (read_feed(stream, &stream->first) < 0)
		return err_set(err, -ESTALE,
			"entityVersion: %lld is too old, or not of this server; begin without it",
			(long long)position);
	return 0;
}

int state_stream_open(const struct state_stream_config *config, struct state_stream **ret_stream,
	struct err *err)
{
	struct arena *arena = arena_new(0);
	struct state_stream *stream = arena_allocate(arena, sizeof(*stream));
	struct span environment = json_get_text(config->input, "environment"),
		    cluster = json_get_text(config->input, "cluster"),
		    cluster_ref = json_get_text(config->input, "place"), name;
	int code;

	*stream = (struct state_stream){.arena = arena,
		.store = config->store,
		.caller = {.account = arena_copy_span(arena, config->caller->account),
			.region = arena_copy_span(arena, config->caller->region),
			.user = SPAN(""),
			.access_key = SPAN("")},
		.instances = config->instances,
		.cluster_ref = cluster_ref.data ? arena_copy_span(arena, cluster_ref) : SPAN(""),
		.kind = config->instances ? &container_instance_kind : &task_kind,
		.group = SPAN("")};
	stream->prefix = arena_format(arena, "%.*s/%.*s/", SPAN_ARGS(stream->caller.account),
		SPAN_ARGS(stream->caller.region));
	if (cluster.data && ecs_try_resolve(config->caller, "cluster", cluster, &name))
		stream->prefix = arena_format(arena, "%.*s%.*s/", SPAN_ARGS(stream->prefix),
			SPAN_ARGS(name));
	if (environment.data)
		stream->group = arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s",
			SPAN_ARGS(environment));
	code = stream->cluster_ref.length > 0 ? begin_there(stream, config, err)
					      : begin(stream, config, err);
	if (code < 0) {
		state_stream_free(stream);
		return code;
	}
	*ret_stream = stream;
	return 0;
}

void state_stream_free(struct state_stream *stream)
{
	if (!stream)
		return;
	change_log_reader_close(stream->tail);
	arena_free(stream->snapshot_arena);
	if (stream->feed)
		store_feed_close(stream->feed);
	if (stream->view)
		store_view_close(stream->view);
	buffer_clear(&stream->first);
	arena_free(stream->arena);
}

/* ---- the operation ---- */

/* The cluster_ref of a remote cluster, for state_stream_open(). */
static int check_there(struct aws_request *request)
{
	struct json *input = json_copy_object(request->arena, request->input);
	struct span cluster_ref;

	if (!json_get_text(request->input, "cluster").data)
		return aws_fail_input(request,
			"cluster: is required with a target: a stream is of one cluster there");
	if (state_api_find_cluster(request, &cluster_ref) < 0)
		return -EPERM;
	json_set_string(request->arena, input, "place", cluster_ref);
	json_write(input, request->out);
	return 0;
}

/* A resumed stream may be of a cluster that is gone since. */
static bool resumes(const struct aws_request *request)
{
	return !json_is_absent(json_get(request->input, "entityVersion"));
}

static int check_cluster(struct aws_request *request, struct span requested)
{
	if (resumes(request) || version_names_cluster(request, requested))
		return 0;
	return daemon_fail(request, "ResourceNotFoundException", "cluster", requested,
		"There is no cluster '%.*s'", SPAN_ARGS(requested));
}

/* Everything that can be checked before the stream begins; its answer is the input of state_stream_open(). */
int state_stream_check(struct aws_request *request)
{
	struct span cluster = json_get_text(request->input, "cluster"), name,
		    target = json_get_text(request->input, "target");

	if (target.data && !span_is(target, AWS_TARGET_LOCAL))
		return check_there(request);
	if (cluster.data && (!ecs_try_resolve(request->caller, "cluster", cluster, &name) ||
				    !ecs_is_name(name)))
		return aws_fail_input(request,
			"cluster: '%.*s' is neither the name nor the ARN of a cluster of this "
			"account and region",
			SPAN_ARGS(cluster));
	if (cluster.data && check_cluster(request, cluster) < 0)
		return -EPERM;
	json_write(request->input, request->out);
	return 0;
}
