/* The operations on instances. */
#include "aws/page.h"
#include "base/memory.h"
#include "cloudmap/api.h"
#include "cloudmap/instance.h"
#include "cloudmap/listing.h"

#define HEALTH_PAGE_MAX 100
#define HEALTH_INSTANCES_MAX 1000 /* that one request can name */

/* The service and the instance that a request names. */
static int find_instance(struct aws_request *request, const struct store_object **ret_service,
	const struct store_object **ret_instance)
{
	struct span id = json_get_text(request->input, "InstanceId");
	const struct store_object *service, *instance;

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	instance = cloudmap_instance_get(request->view, service->key, id, request->arena);
	if (!instance)
		return aws_fail(request, "InstanceNotFound",
			"Instance %.*s was not found in service %.*s", SPAN_ARGS(id),
			SPAN_ARGS(cloudmap_service_facts(service)->id));
	*ret_service = service;
	*ret_instance = instance;
	return 0;
}

/* ---- registering ---- */

/* The same request once more: it has been done, and its answer was lost. */
static bool is_done(struct aws_request *request, const struct store_object *instance,
	const struct json *attributes)
{
	struct span requested = json_get_text(request->input, "CreatorRequestId");
	struct json *stored, *private_;

	return instance && json_parse(instance->api, request->arena, &stored, NULL) == 0 &&
	       json_parse(instance->private_, request->arena, &private_, NULL) == 0 &&
	       span_equal(json_get_text(private_, "creatorRequestId"), requested) &&
	       json_equal(stored, attributes);
}

int cloudmap_instance_register(struct aws_request *request)
{
	struct span id = json_get_text(request->input, "InstanceId");
	struct span requested = json_get_text(request->input, "CreatorRequestId");
	const struct json *attributes = json_get(request->input, "Attributes");
	struct operation_facts operation = {.type = OPERATION_REGISTER_INSTANCE, .instance_id = id};
	const struct store_object *service, *before;
	int code;

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	operation.service_id = cloudmap_service_facts(service)->id;
	operation.request = cloudmap_operation_request(request, "CreatorRequestId",
		OPERATION_REGISTER_INSTANCE, operation.service_id);
	before = cloudmap_operation_of_request(request, operation.request);
	if (before && !span_equal(operation_facts(before)->instance_id, id))
		return cloudmap_operation_fail_duplicate(request, before);
	if (before &&
		is_done(request,
			cloudmap_instance_get(request->view, service->key, id, request->arena),
			attributes))
		return cloudmap_operation_answer(request, before);
	code = cloudmap_instance_put(request->transaction, service->key, id, attributes,
		requested.data ? requested : SPAN(""), request->now_ms, request->arena,
		&request->err);
	if (code == -EINVAL)
		return aws_fail_input(request, "%s", request->err.message);
	if (code == -EDQUOT)
		return aws_fail(request, "ResourceLimitExceeded", "%s", request->err.message);
	if (code < 0)
		return aws_fail_store(request);
	return cloudmap_operation_succeed(request, operation);
}

int cloudmap_instance_deregister(struct aws_request *request)
{
	const struct store_object *service, *instance;

	if (find_instance(request, &service, &instance) < 0)
		return -EPERM;
	if (cloudmap_instance_delete(request->transaction, service->key,
		    cloudmap_instance_facts(instance)->id, request->arena, &request->err) < 0)
		return aws_fail_store(request);
	return cloudmap_operation_succeed(request,
		(struct operation_facts){.type = OPERATION_DEREGISTER_INSTANCE,
			.service_id = cloudmap_service_facts(service)->id,
			.instance_id = cloudmap_instance_facts(instance)->id});
}

/* ---- showing ---- */

static struct span account_of(const struct store_object *object)
{
	struct span account, rest;

	return span_split(object->key, '/', &account, &rest) ? account : SPAN("");
}

static void write_instance(struct aws_request *request, const struct store_object *instance)
{
	struct buffer *out = request->out;

	buffer_add_string(out, "{\"Id\":");
	json_write_string(cloudmap_instance_facts(instance)->id, out);
	buffer_add_string(out, ",\"Attributes\":");
	buffer_add_span(out, instance->api);
	buffer_add_string(out, ",\"CreatedByAccount\":");
	json_write_string(account_of(instance), out);
}

static void write_summary(struct aws_request *request, const struct store_object *instance)
{
	write_instance(request, instance);
	buffer_add_char(request->out, '}');
}

int cloudmap_instance_describe(struct aws_request *request)
{
	const struct store_object *service, *instance;
	struct json *private_;
	struct span creator;

	if (find_instance(request, &service, &instance) < 0)
		return -EPERM;
	if (json_parse(instance->private_, request->arena, &private_, &request->err) < 0)
		return aws_fail_store(request);
	creator = json_get_text(private_, "creatorRequestId");
	buffer_add_string(request->out, "{\"ResourceOwner\":");
	json_write_string(account_of(instance), request->out);
	buffer_add_string(request->out, ",\"Instance\":");
	write_instance(request, instance);
	if (creator.data) {
		buffer_add_string(request->out, ",\"CreatorRequestId\":");
		json_write_string(creator, request->out);
	}
	buffer_add_string(request->out, "}}");
	return 0;
}

static struct store_cursor instances_of(struct aws_request *request,
	const struct store_object *service)
{
	return (struct store_cursor){.view = request->view,
		.kind = &cloudmap_instance_kind,
		.index = -1,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key))};
}

int cloudmap_instance_list(struct aws_request *request)
{
	const struct store_object *service;
	struct store_cursor cursor;

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	cursor = instances_of(request, service);
	return cloudmap_listing_answer(request, "Instances", &cursor, NULL, write_summary);
}

/* ---- health ---- */

const char *cloudmap_instance_health(const struct store_object *service,
	const struct store_object *instance, int64_t now_ms)
{
	const struct cloudmap_service_facts *facts = cloudmap_service_facts(service);

	if (!facts->checked)
		return "UNKNOWN";
	return cloudmap_instance_is_healthy(facts, cloudmap_instance_facts(instance), now_ms)
		       ? "HEALTHY"
		       : "UNHEALTHY";
}

static void write_health(struct aws_request *request, const struct store_object *service,
	const struct store_object *instance, size_t before)
{
	if (before > 0)
		buffer_add_char(request->out, ',');
	json_write_string(cloudmap_instance_facts(instance)->id, request->out);
	buffer_format(request->out, ":\"%s\"",
		cloudmap_instance_health(service, instance, request->now_ms));
}

/* Those that the request names: in its order, each once. The token says after which to go on. */
static int health_of_named(struct aws_request *request, const struct store_object *service,
	const struct json *named, const struct aws_page *page)
{
	struct span last = SPAN_NONE;
	bool started = !page->after_key.data, more = false;
	struct json *seen = json_new_object(request->arena);
	size_t count = 0;

	JSON_EACH_ITEM (named, item) {
		struct span id = json_text(item);
		const struct store_object *instance =
			cloudmap_instance_get(request->view, service->key, id, request->arena);

		if (!instance)
			return aws_fail(request, "InstanceNotFound",
				"Instance %.*s was not found in service %.*s", SPAN_ARGS(id),
				SPAN_ARGS(cloudmap_service_facts(service)->id));
		if (json_get_span(seen, id))
			continue;
		json_set_bool(request->arena, seen, arena_copy(request->arena, id.data, id.length),
			true);
		if (!started) {
			started = span_equal(instance->key, page->after_key);
			continue;
		}
		if (count == page->most) {
			more = true;
			continue;
		}
		write_health(request, service, instance, count++);
		last = instance->key;
	}
	buffer_add_char(request->out, '}');
	if (more)
		buffer_format(request->out, ",\"NextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, json_to_text(named, request->arena),
				SPAN(""), last)));
	return 0;
}

static void health_of_all(struct aws_request *request, const struct store_object *service,
	const struct aws_page *page)
{
	struct store_cursor cursor = instances_of(request, service);
	const struct store_object *instance, *last = NULL;
	size_t count = 0;

	cursor.after_key = page->after_key;
	while ((instance = store_next(&cursor)) && count < page->most) {
		write_health(request, service, instance, count++);
		last = instance;
	}
	buffer_add_char(request->out, '}');
	if (instance && last)
		buffer_format(request->out, ",\"NextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, SPAN(""), SPAN(""), last->key)));
}

int cloudmap_instance_health_list(struct aws_request *request)
{
	const struct json *named = json_get(request->input, "Instances");
	const struct store_object *service;
	struct aws_page page;

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	if (json_count(named) > HEALTH_INSTANCES_MAX)
		return aws_fail_input(request, "Instances: %zu are given, the limit is %d",
			json_count(named), HEALTH_INSTANCES_MAX);
	if (aws_page_read(request, HEALTH_PAGE_MAX, HEALTH_PAGE_MAX,
		    json_is_absent(named) ? SPAN("") : json_to_text(named, request->arena),
		    &page) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{\"Status\":{");
	if (json_is_absent(named))
		health_of_all(request, service, &page);
	else if (health_of_named(request, service, named, &page) < 0)
		return -EPERM;
	buffer_add_char(request->out, '}');
	return 0;
}

/* UNHEALTHY takes effect later, unless HEALTHY comes before: as at AWS. */
int cloudmap_instance_health_update(struct aws_request *request)
{
	bool healthy = span_is(json_get_text(request->input, "Status"), "HEALTHY");
	const struct store_object *service, *instance;
	int64_t since;

	if (find_instance(request, &service, &instance) < 0)
		return -EPERM;
	if (!cloudmap_service_facts(service)->checked)
		return aws_fail(request, "CustomHealthNotFound",
			"Service %.*s has no HealthCheckCustomConfig: the health of its instances "
			"cannot be set",
			SPAN_ARGS(cloudmap_service_facts(service)->id));
	since = cloudmap_instance_facts(instance)->unhealthy_ms;
	if (healthy)
		since = 0;
	else if (since == 0)
		since = request->now_ms + UNHEALTHY_AFTER_MS;
	if (cloudmap_instance_put_health(request->transaction, instance, since, request->arena,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}
