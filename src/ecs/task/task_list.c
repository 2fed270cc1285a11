/*
 * ListTasks. Tasks come in the order of their ids, whatever the filter, so that a task that changes its
 * state between two pages is neither lost nor listed twice. The one exception is the filter by instance,
 * whose index puts stopped tasks behind live ones: a task that stops in between may come twice.
 */
#include "aws/page.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/service_kind.h"
#include "ecs/task/task_api.h"

/* Tasks that one request scans: a page may be short and still carry a token. */
#define TASKS_SCANNED_MAX 1000
/* A service with more tasks than this is searched among all tasks of its cluster. */
#define SERVICE_COLLECTED_MAX 10000
#define PAGE_MAX 100

struct filter {
	const struct store_object *cluster;
	struct span family, service, instance, started_by; /* data NULL: any */
	bool has_launch_type;
	enum task_launch_type launch_type;
	enum task_status desired;
};

/* ---- filters ---- */

/* "NAME", "CLUSTER/NAME" or an ARN, of this cluster; data NULL in *ret_rest if it is another's. */
static struct span within(struct aws_request *request, const struct store_object *cluster,
	const char *type, struct span requested)
{
	struct span name, in, rest;

	if (!ecs_try_resolve(request->caller, type, requested, &name))
		return SPAN_NONE;
	if (!span_split(name, '/', &in, &rest))
		return name;
	return span_equal(in, cluster_facts(cluster)->name) ? rest : SPAN_NONE;
}

static int read_service(struct aws_request *request, struct filter *filter)
{
	struct span requested = json_get_text(request->input, "serviceName");

	if (requested.length == 0)
		return 0;
	filter->service = within(request, filter->cluster, "service", requested);
	if (!filter->service.data ||
		!store_get(request->view, &service_kind,
			arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(filter->cluster->key),
				SPAN_ARGS(filter->service))))
		return aws_fail(request, "ServiceNotFoundException", "Service not found.");
	return 0;
}

static int read_instance(struct aws_request *request, struct filter *filter)
{
	struct span requested = json_get_text(request->input, "containerInstance");

	if (requested.length == 0)
		return 0;
	filter->instance = within(request, filter->cluster, "container-instance", requested);
	if (!filter->instance.data)
		return aws_fail_input(request, "containerInstance: '%.*s' is not of cluster '%.*s'",
			SPAN_ARGS(requested), SPAN_ARGS(cluster_facts(filter->cluster)->name));
	return 0;
}

static struct span text_or_none(struct aws_request *request, const char *member)
{
	struct span text = json_get_text(request->input, member);

	return text.length > 0 ? text : SPAN_NONE;
}

static int read_filter(struct aws_request *request, struct filter *filter)
{
	struct span desired = json_get_text(request->input, "desiredStatus");
	struct span type = json_get_text(request->input, "launchType");

	*filter = (struct filter){.desired = TASK_RUNNING};
	if (cluster_find(request, json_get_text(request->input, "cluster"), &filter->cluster) < 0)
		return -EPERM;
	if (text_or_none(request, "daemonName").data)
		return aws_fail_input(request, "daemonName: there are no daemons but services "
					       "with strategy DAEMON; use serviceName");
	filter->family = text_or_none(request, "family");
	filter->started_by = text_or_none(request, "startedBy");
	if (type.data) {
		filter->has_launch_type = true;
		/* A value that no task can have: nothing matches. */
		if (!task_launch_type_read(type, &filter->launch_type))
			filter->launch_type = TASK_LAUNCH_TYPE_COUNT;
	}
	if (desired.data)
		task_status_read(desired, &filter->desired);
	if (read_service(request, filter) < 0 || read_instance(request, filter) < 0)
		return -EPERM;
	if (filter->started_by.data && (filter->family.data || filter->service.data ||
					       filter->instance.data || filter->has_launch_type))
		return aws_fail_input(request, "startedBy: must be the only filter besides "
					       "desiredStatus");
	return 0;
}

static bool same_or_any(struct span wanted, struct span found)
{
	return !wanted.data || span_equal(wanted, found);
}

static bool matches(const struct filter *filter, const struct store_object *task)
{
	const struct task_facts *facts = task_facts(task);

	return facts->desired == filter->desired && same_or_any(filter->family, facts->family) &&
	       same_or_any(filter->service, facts->service) &&
	       same_or_any(filter->instance, facts->instance) &&
	       same_or_any(filter->started_by, facts->started_by) &&
	       (!filter->has_launch_type || filter->launch_type == facts->launch_type);
}

/* ---- pages ---- */

struct page_writer {
	struct aws_request *request;
	struct aws_page page;
	size_t count;
	struct span last_text, last_key;
};

static void write_task(struct page_writer *writer, const struct store_object *task)
{
	if (writer->count++ > 0)
		buffer_add_char(writer->request->out, ',');
	json_write_string(task_arn(writer->request, task), writer->request->out);
}

/* The index that fits the filter best, of those with one text or few. */
static void choose_index(struct aws_request *request, const struct filter *filter,
	struct store_cursor *cursor)
{
	struct span cluster = filter->cluster->key;
	const char *desired = task_status_name(filter->desired);

	cursor->exact = true;
	if (filter->started_by.data) {
		cursor->index = TASK_BY_STARTED_BY;
		cursor->prefix = arena_format(request->arena, "%.*s/%s/%.*s", SPAN_ARGS(cluster),
			desired, SPAN_ARGS(filter->started_by));
	} else if (filter->instance.data) {
		cursor->index = TASK_BY_INSTANCE;
		cursor->exact = false;
		cursor->prefix = arena_format(request->arena, "%.*s/%.*s/%s", SPAN_ARGS(cluster),
			SPAN_ARGS(filter->instance),
			filter->desired == TASK_RUNNING ? "live/" : "");
	} else if (filter->family.data) {
		cursor->index = TASK_BY_FAMILY;
		cursor->prefix = arena_format(request->arena, "%.*s/%s/%.*s", SPAN_ARGS(cluster),
			desired, SPAN_ARGS(filter->family));
	} else {
		cursor->index = TASK_BY_DESIRED;
		cursor->prefix =
			arena_format(request->arena, "%.*s/%s", SPAN_ARGS(cluster), desired);
	}
}

/* True when there may be more. */
static bool walk(struct page_writer *writer, const struct filter *filter)
{
	struct store_cursor cursor = {.view = writer->request->view, .kind = &task_kind};
	const struct store_object *task;
	size_t scanned = 0;

	choose_index(writer->request, filter, &cursor);
	if (writer->page.after_key.data) {
		cursor.after_text = cursor.exact ? cursor.prefix : writer->page.after_text;
		cursor.after_key = writer->page.after_key;
	}
	while ((task = store_next(&cursor)) && scanned++ < TASKS_SCANNED_MAX) {
		bool wanted = matches(filter, task);

		if (wanted && writer->count == writer->page.most)
			break;
		if (wanted)
			write_task(writer, task);
		writer->last_text = cursor.exact ? SPAN("") : cursor.text;
		writer->last_key = task->key;
	}
	return task != NULL;
}

/* The smallest keys of a service's tasks behind a position, in order. */
struct collected {
	const struct store_object *tasks[PAGE_MAX + 1];
	size_t count;
};

static void collect(struct collected *collected, size_t most, const struct store_object *task)
{
	size_t place = collected->count;

	while (place > 0 && span_compare(task->key, collected->tasks[place - 1]->key) < 0)
		place--;
	if (place == most)
		return;
	if (collected->count < most)
		collected->count++;
	memmove(&collected->tasks[place + 1], &collected->tasks[place],
		(collected->count - 1 - place) * sizeof(collected->tasks[0]));
	collected->tasks[place] = task;
}

/* The index by service has the state in its text, so its order changes all the time: all of the
 * service's tasks are collected, and the page is cut out of them in the order of keys. */
static bool walk_service(struct page_writer *writer, const struct filter *filter,
	struct span prefix)
{
	struct store_cursor cursor = {
		.view = writer->request->view,
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = prefix,
	};
	struct span after = writer->page.after_key;
	struct collected collected = {.count = 0};
	const struct store_object *task;

	while ((task = store_next(&cursor)))
		if (matches(filter, task) && (!after.data || span_compare(task->key, after) > 0))
			collect(&collected, writer->page.most + 1, task);
	for (size_t i = 0; i < collected.count && i < writer->page.most; i++) {
		write_task(writer, collected.tasks[i]);
		writer->last_key = collected.tasks[i]->key;
	}
	return collected.count > writer->page.most;
}

int task_list(struct aws_request *request)
{
	struct page_writer writer = {
		.request = request, .last_text = SPAN(""), .last_key = SPAN("")};
	struct span filters, prefix = SPAN_NONE;
	struct filter filter;
	bool more = false;

	if (read_filter(request, &filter) < 0)
		return -EPERM;
	filters = arena_format(request->arena, "%.*s %.*s %.*s %.*s %.*s %d %d",
		SPAN_ARGS(filter.cluster->key), SPAN_ARGS(filter.family), SPAN_ARGS(filter.service),
		SPAN_ARGS(filter.instance), SPAN_ARGS(filter.started_by),
		filter.has_launch_type ? (int)filter.launch_type : -1, (int)filter.desired);
	if (aws_page_read(request, PAGE_MAX, PAGE_MAX, filters, &writer.page) < 0)
		return -EPERM;
	if (filter.service.data)
		prefix = arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(filter.cluster->key),
			SPAN_ARGS(filter.service));
	buffer_add_string(request->out, "{\"taskArns\":[");
	/* No task has the desired status PENDING. */
	if (filter.desired == TASK_RUNNING || filter.desired == TASK_STOPPED)
		more = prefix.data && store_count(request->view, &task_kind, TASK_BY_SERVICE,
					      prefix, false) <= SERVICE_COLLECTED_MAX
			       ? walk_service(&writer, &filter, prefix)
			       : walk(&writer, &filter);
	buffer_add_char(request->out, ']');
	if (more)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, filters, writer.last_text,
				writer.last_key)));
	buffer_add_char(request->out, '}');
	return 0;
}
