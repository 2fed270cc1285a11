/* Registering, taking out and judging instances; see instance.h and cloudmap.h. */
#include "cloudmap/instance.h"

#include <stdio.h>
#include <sys/param.h>

#include "aws/arn.h"
#include "aws/key.h"
#include "base/memory.h"

static struct span cloudmap_instance_key(struct arena *arena, struct span service_key,
	struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(service_key), SPAN_ARGS(id));
}

const struct store_object *cloudmap_instance_get(const struct store_view *view,
	struct span service_key, struct span id, struct arena *arena)
{
	if (cloudmap_instance_check_id(id, NULL) < 0)
		return NULL;
	return store_get(view, &cloudmap_instance_kind,
		cloudmap_instance_key(arena, service_key, id));
}

bool cloudmap_instance_is_healthy(const struct cloudmap_service_facts *service,
	const struct cloudmap_instance_facts *instance, int64_t now_ms)
{
	return !service->checked || instance->unhealthy_ms == 0 || now_ms < instance->unhealthy_ms;
}

/* ---- changing ---- */

/* The number of the store's next change: it grows whatever is deleted and made again. */
static int put_revision(struct store_transaction *transaction, const struct store_object *service,
	struct arena *arena, struct err *err)
{
	struct cloudmap_service_facts facts = *cloudmap_service_facts(service);

	facts.instances_revision = (int64_t)store_next_revision(transaction);
	return store_put(transaction, &cloudmap_service_kind, service->key, service->api,
		cloudmap_service_private(&facts, arena), service->revision, err);
}

static struct span zone_of(const struct store_view *view, const struct store_object *service,
	struct arena *arena)
{
	size_t scope = service->key.length - aws_name_of_key(service->key).length;
	const struct store_object *namespace_ = store_get(view, &cloudmap_namespace_kind,
		arena_format(arena, "%.*s%.*s", (int)scope, service->key.data,
			SPAN_ARGS(cloudmap_service_facts(service)->namespace_id)));

	return namespace_ ? cloudmap_namespace_facts(namespace_)->name : SPAN("");
}

int cloudmap_instance_put(struct store_transaction *transaction, struct span service_key,
	struct span id, const struct json *attributes, struct span creator_request_id,
	int64_t now_ms, struct arena *arena, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *service = store_get(head, &cloudmap_service_kind, service_key);
	const struct store_object *existing;
	struct cloudmap_instance_facts facts;
	struct json *private_ = json_new_object(arena);
	struct span key;
	int code;

	if (!service)
		return err_set(err, -EINVAL, "there is no service %.*s",
			SPAN_ARGS(aws_name_of_key(service_key)));
	code = cloudmap_instance_check(cloudmap_service_facts(service),
		zone_of(head, service, arena), id, attributes, now_ms, &facts, err);
	if (code < 0)
		return code;
	key = cloudmap_instance_key(arena, service_key, id);
	existing = store_get(head, &cloudmap_instance_kind, key);
	if (existing)
		facts.created_ms = cloudmap_instance_facts(existing)->created_ms;
	else if (store_count(head, &cloudmap_instance_kind, -1,
			 arena_format(arena, "%.*s/", SPAN_ARGS(service_key)),
			 false) >= INSTANCES_OF_SERVICE_MAX)
		return err_set(err, -EDQUOT,
			"service %.*s has %d instances, which is the limit of instances of a "
			"service",
			SPAN_ARGS(aws_name_of_key(service_key)), INSTANCES_OF_SERVICE_MAX);
	cloudmap_instance_write_facts(&facts, arena, private_);
	if (creator_request_id.length > 0)
		json_set_string(arena, private_, "creatorRequestId", creator_request_id);
	code = store_put(transaction, &cloudmap_instance_kind, key, json_to_text(attributes, arena),
		json_to_text(private_, arena), STORE_ANY, err);
	if (code < 0)
		return code;
	return put_revision(transaction, service, arena, err);
}

int cloudmap_instance_delete(struct store_transaction *transaction, struct span service_key,
	struct span id, struct arena *arena, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *instance = cloudmap_instance_get(head, service_key, id, arena);
	const struct store_object *service = store_get(head, &cloudmap_service_kind, service_key);
	int code;

	if (!instance)
		return err_set(err, -ENOENT, "there is no instance '%.*s'", SPAN_ARGS(id));
	code = store_delete(transaction, &cloudmap_instance_kind, instance->key, instance->revision,
		err);
	if (code < 0 || !service)
		return code;
	return put_revision(transaction, service, arena, err);
}

int cloudmap_instance_put_health(struct store_transaction *transaction,
	const struct store_object *instance, int64_t unhealthy_ms, struct arena *arena,
	struct err *err)
{
	struct cloudmap_instance_facts facts = *cloudmap_instance_facts(instance);
	struct json *old, *private_;
	int code;

	if (facts.unhealthy_ms == unhealthy_ms)
		return 0;
	code = json_parse(instance->private_, arena, &old, err);
	if (code < 0)
		return code;
	private_ = json_copy_object(arena, old);
	json_unset(private_, "unhealthy");
	facts.unhealthy_ms = unhealthy_ms;
	cloudmap_instance_write_facts(&facts, arena, private_);
	return store_put(transaction, &cloudmap_instance_kind, instance->key, instance->api,
		json_to_text(private_, arena), instance->revision, err);
}

/* ---- for ECS ---- */

const struct store_object *cloudmap_service_find(const struct store_view *view, struct span scope,
	struct span arn)
{
	struct span type, id;
	struct aws_arn parts;
	char key[STORE_KEY_MAX];
	int length;

	if (!aws_arn_parse(arn, &parts) || !span_is(parts.service, "servicediscovery") ||
		!span_split(parts.resource, '/', &type, &id) || !span_is(type, "service"))
		return NULL;
	length = snprintf(key, sizeof(key), "%.*s/%.*s/%.*s", SPAN_ARGS(parts.account),
		SPAN_ARGS(parts.region), SPAN_ARGS(id));
	if (length < 0 || (size_t)length >= sizeof(key) ||
		!span_starts_with((struct span){key, (size_t)length}, scope))
		return NULL;
	return store_get(view, &cloudmap_service_kind, (struct span){key, (size_t)length});
}

int cloudmap_register(struct store_transaction *transaction, const struct store_object *service,
	struct span instance_id, const struct json *attributes, int64_t now_ms, struct arena *arena,
	struct err *err)
{
	int code = cloudmap_instance_put(transaction, service->key, instance_id, attributes,
		SPAN(""), now_ms, arena, err);

	return code == -EDQUOT ? -EINVAL : code;
}

/* Of all types: a client may have asked for any of them. */
int64_t cloudmap_service_remembered_ms(const struct cloudmap_service_facts *service)
{
	return 1000 * MAX(MAX(service->ttl_a, service->ttl_aaaa),
			      MAX(service->ttl_srv, service->ttl_cname));
}

int cloudmap_deregister(struct store_transaction *transaction, struct span service_key,
	struct span instance_id, int64_t now_ms, struct arena *arena, int64_t *ret_remembered_ms,
	struct err *err)
{
	const struct store_object *service =
		store_get(store_head(transaction), &cloudmap_service_kind, service_key);
	int code = cloudmap_instance_delete(transaction, service_key, instance_id, arena, err);

	(void)now_ms;
	if (code < 0 && code != -ENOENT)
		return code;
	*ret_remembered_ms =
		code == 0 && service
			? cloudmap_service_remembered_ms(cloudmap_service_facts(service))
			: 0;
	return 0;
}

/* The time until which clients may cache instances that a client deregistered. */
static int64_t cached_until_ms(const struct store_view *view, struct span scope, struct span id,
	struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &cloudmap_operation_kind,
		.index = OPERATION_BY_DEREGISTERED,
		.prefix = arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope), SPAN_ARGS(id)),
		.exact = true};
	const struct store_object *operation;
	int64_t until_ms = 0;

	while ((operation = store_next(&cursor))) {
		const struct operation_facts *facts = operation_facts(operation);
		const struct store_object *service = store_get(view, &cloudmap_service_kind,
			arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope),
				SPAN_ARGS(facts->service_id)));

		if (service)
			until_ms = MAX(until_ms,
				facts->created_ms + cloudmap_service_remembered_ms(
							    cloudmap_service_facts(service)));
	}
	return until_ms;
}

int cloudmap_deregister_everywhere(struct store_transaction *transaction, struct span scope,
	struct span instance_id, int64_t now_ms, struct arena *arena, int64_t *ret_until_ms,
	struct err *err)
{
	const struct store_view *head = store_head(transaction);
	int64_t until_ms = cached_until_ms(head, scope, instance_id, arena);

	for (;;) {
		/* A new cursor each time: the one before has its place in what was deleted. */
		struct store_cursor cursor = {.view = head,
			.kind = &cloudmap_instance_kind,
			.index = CLOUDMAP_INSTANCE_BY_ID,
			.prefix = arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope),
				SPAN_ARGS(instance_id)),
			.exact = true};
		const struct store_object *instance = store_next(&cursor);
		int64_t remembered_ms;
		int code;

		if (!instance)
			break;
		code = cloudmap_deregister(transaction,
			arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope),
				SPAN_ARGS(cloudmap_instance_facts(instance)->service_id)),
			instance_id, now_ms, arena, &remembered_ms, err);
		if (code < 0)
			return code;
		until_ms = MAX(until_ms, now_ms + remembered_ms);
	}
	*ret_until_ms = until_ms > now_ms ? until_ms : 0;
	return 0;
}

static bool has_other_healthy(const struct store_view *view, const struct store_object *service,
	struct span instance_id, int64_t now_ms, struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &cloudmap_instance_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service->key))};
	const struct store_object *instance;

	while ((instance = store_next(&cursor))) {
		const struct cloudmap_instance_facts *facts = cloudmap_instance_facts(instance);

		if (!span_equal(facts->id, instance_id) &&
			cloudmap_instance_is_healthy(cloudmap_service_facts(service), facts,
				now_ms))
			return true;
	}
	return false;
}

bool cloudmap_has_instance(const struct store_view *view, struct span scope,
	struct span instance_id, int64_t now_ms, struct arena *arena, bool *ret_is_last)
{
	struct store_cursor cursor = {.view = view,
		.kind = &cloudmap_instance_kind,
		.index = CLOUDMAP_INSTANCE_BY_ID,
		.prefix = arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope), SPAN_ARGS(instance_id)),
		.exact = true};
	const struct store_object *instance;
	bool found = false;

	*ret_is_last = false;
	while ((instance = store_next(&cursor))) {
		const struct store_object *service = store_get(view, &cloudmap_service_kind,
			arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope),
				SPAN_ARGS(cloudmap_instance_facts(instance)->service_id)));

		found = true;
		*ret_is_last |=
			service && !has_other_healthy(view, service, instance_id, now_ms, arena);
	}
	return found;
}

int cloudmap_set_health(struct store_transaction *transaction, struct span service_key,
	struct span instance_id, bool healthy, int64_t now_ms, struct arena *arena, struct err *err)
{
	const struct store_object *instance =
		cloudmap_instance_get(store_head(transaction), service_key, instance_id, arena);
	int64_t since;

	if (!instance)
		return 0;
	since = cloudmap_instance_facts(instance)->unhealthy_ms;
	if (healthy)
		since = 0;
	else if (since == 0 || since > now_ms)
		since = MAX(now_ms, 1);
	return cloudmap_instance_put_health(transaction, instance, since, arena, err);
}
