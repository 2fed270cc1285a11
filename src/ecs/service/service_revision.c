/* Edits of services, their revisions, and how deployments begin; see the header. */
#include "ecs/service/service_revision.h"

#include "base/memory.h"

#define REVISION_MAX 2147483647

/* Members of a revision, in the order of answers. */
static const char *const revision_members[] = {"taskDefinition", "capacityProviderStrategy",
	"launchType", "platformVersion", "platformFamily", "networkConfiguration", "loadBalancers",
	"serviceRegistries"};

/* ---- edits ---- */

int service_edit_open(const struct store_object *service, struct arena *arena,
	struct service_edit *ret_edit, struct err *err)
{
	struct json *document, *private_;
	int code = json_parse(service->api, arena, &document, err);

	if (code == 0)
		code = json_parse(service->private_, arena, &private_, err);
	if (code < 0)
		return code;
	*ret_edit = (struct service_edit){.arena = arena,
		.key = service->key,
		.facts = *service_facts(service),
		.document = json_copy_object(arena, document),
		.tags = json_get(private_, "tags"),
		.revision = service->revision};
	return 0;
}

int service_edit_save(struct store_transaction *transaction, const struct service_edit *edit,
	struct err *err)
{
	return service_object_put(transaction, &service_kind, edit->key, edit->document,
		&edit->facts, edit->tags, edit->revision, edit->arena, err);
}

static void copy_revision_members(struct arena *arena, const struct json *from, struct json *to)
{
	for (size_t i = 0; i < LENGTH(revision_members); i++) {
		json_unset(to, revision_members[i]);
		json_set(arena, to, revision_members[i], json_get(from, revision_members[i]));
	}
}

/* ---- revisions ---- */

bool service_definition_of_arn(struct span arn, struct span *ret_family, int64_t *ret_revision)
{
	struct span prefix = SPAN("task-definition/"), family, digits;
	uint64_t revision;

	for (size_t i = 0; i + prefix.length < arn.length; i++) {
		struct span rest = {arn.data + i, arn.length - i};

		if (!span_starts_with(rest, prefix))
			continue;
		rest = (struct span){rest.data + prefix.length, rest.length - prefix.length};
		if (!span_split(rest, ':', &family, &digits) ||
			!span_to_unsigned(digits, REVISION_MAX, &revision))
			return false;
		*ret_family = family;
		*ret_revision = (int64_t)revision;
		return true;
	}
	return false;
}

static const struct json *container_images(struct arena *arena, const struct json *definition)
{
	struct json *images = json_new_array(arena);

	JSON_EACH_ITEM (json_get(definition, "containerDefinitions"), container) {
		struct json *image = json_new_object(arena);

		json_set(arena, image, "containerName", json_get(container, "name"));
		json_set(arena, image, "image", json_get(container, "image"));
		json_append(arena, images, image);
	}
	return images;
}

int service_revision_add(struct store_transaction *transaction, const struct service_edit *edit,
	const struct json *definition, struct random *random, int64_t now_ms,
	struct span *ret_number, struct err *err)
{
	struct arena *arena = edit->arena;
	struct span number = service_number_new(arena, random);
	struct span key = service_component_key(arena, edit->key, number);
	struct json *document = json_new_object(arena);
	int code;

	json_set_string(arena, document, "serviceRevisionArn",
		ecs_arn_of_key(arena, "service-revision", key));
	json_set_string(arena, document, "serviceArn", ecs_arn_of_key(arena, "service", edit->key));
	json_set_string(arena, document, "clusterArn",
		ecs_arn_of_key(arena, "cluster", task_cluster_key(edit->key)));
	copy_revision_members(arena, edit->document, document);
	json_set(arena, document, "containerImages", container_images(arena, definition));
	json_set_bool(arena, document, "guardDutyEnabled", false);
	json_set_time(arena, document, "createdAt", now_ms);
	code = service_object_put(transaction, &service_revision_kind, key, document, NULL, NULL,
		STORE_ABSENT, arena, err);
	if (code == 0)
		*ret_number = number;
	return code;
}

/* ---- deployments ---- */

static bool is_under_way(enum service_deployment_status state)
{
	return state == SERVICE_DEPLOYMENT_PENDING || state == SERVICE_DEPLOYMENT_IN_PROGRESS ||
	       state == SERVICE_DEPLOYMENT_STOP_REQUESTED ||
	       state == SERVICE_DEPLOYMENT_ROLLBACK_REQUESTED;
}

/* The state of a deployment that a new one replaces; false if it stays as it is. */
static bool supersede(const struct store_object *deployment, bool back,
	struct service_deployment_facts *ret_facts)
{
	struct service_deployment_facts facts = *service_deployment_facts(deployment);
	bool changed = false;

	if (facts.status == DEPLOYMENT_PRIMARY) {
		facts.status = DEPLOYMENT_ACTIVE;
		changed = true;
	}
	if (is_under_way(facts.state)) {
		facts.state = SERVICE_DEPLOYMENT_STOPPED;
		changed = true;
	} else if (facts.state == SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS && !back) {
		facts.state = SERVICE_DEPLOYMENT_ROLLBACK_FAILED;
		changed = true;
	}
	*ret_facts = facts;
	return changed;
}

/* Replaces whatever is PRIMARY or in progress. The new deployment must be newer than all others,
 * even within a millisecond or after the clock was set back: *ret_created_ms. */
static int supersede_all(struct store_transaction *transaction, const struct service_edit *edit,
	bool back, int64_t now_ms, struct span *ret_source, int64_t *ret_created_ms,
	struct err *err)
{
	const struct store_object *changed[SERVICE_DEPLOYMENTS_MAX * 2], *deployment;
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &service_deployment_kind,
		.index = -1,
		.prefix = arena_format(edit->arena, "%.*s/", SPAN_ARGS(edit->key))};
	struct service_deployment_facts facts;
	size_t count = 0;

	*ret_source = SPAN("");
	*ret_created_ms = now_ms;
	while ((deployment = store_next(&cursor)) && count < LENGTH(changed)) {
		if (service_deployment_facts(deployment)->created_ms >= *ret_created_ms)
			*ret_created_ms = service_deployment_facts(deployment)->created_ms + 1;
		if (service_deployment_facts(deployment)->status == DEPLOYMENT_PRIMARY)
			*ret_source = service_deployment_facts(deployment)->service_revision;
		if (supersede(deployment, back, &facts))
			changed[count++] = deployment;
	}
	for (size_t i = 0; i < count; i++) {
		int code;

		supersede(changed[i], back, &facts);
		facts.updated_ms = now_ms;
		if (facts.finished_ms == 0 &&
			facts.state != SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS)
			facts.finished_ms = now_ms;
		code = service_object_put_facts(transaction, changed[i], &facts, edit->arena, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Is there a deployment of this revision of the service, other than the one given? */
static bool revision_is_used(const struct store_view *view, const struct store_object *but)
{
	const struct store_object *deployment;
	struct span service_key = service_key_of_component(but->key);
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = -1,
		.prefix = (struct span){service_key.data, service_key.length + 1}};

	while ((deployment = store_next(&cursor)))
		if (!span_equal(deployment->key, but->key) &&
			span_equal(service_deployment_facts(deployment)->service_revision,
				service_deployment_facts(but)->service_revision))
			return true;
	return false;
}

static int delete_deployment(struct store_transaction *transaction, struct arena *arena,
	const struct store_object *deployment, struct err *err)
{
	struct span revision =
		service_component_key(arena, service_key_of_component(deployment->key),
			service_deployment_facts(deployment)->service_revision);
	bool used = revision_is_used(store_head(transaction), deployment);
	int code = store_delete(transaction, &service_deployment_kind, deployment->key,
		deployment->revision, err);

	if (code < 0 || used ||
		!store_get(store_head(transaction), &service_revision_kind, revision))
		return code;
	return store_delete(transaction, &service_revision_kind, revision, STORE_ANY, err);
}

static int delete_oldest(struct store_transaction *transaction, const struct service_edit *edit,
	struct err *err)
{
	struct span prefix = arena_format(edit->arena, "%.*s/", SPAN_ARGS(edit->key));

	while (store_count(store_head(transaction), &service_deployment_kind, -1, prefix, false) >
		SERVICE_DEPLOYMENTS_MAX) {
		struct store_cursor cursor = {.view = store_head(transaction),
			.kind = &service_deployment_kind,
			.index = DEPLOYMENT_BY_CREATED,
			.prefix = prefix};
		const struct store_object *oldest;
		int code;

		while ((oldest = store_next(&cursor)))
			if (service_deployment_facts(oldest)->status == DEPLOYMENT_INACTIVE)
				break;
		if (!oldest)
			return 0;
		code = delete_deployment(transaction, edit->arena, oldest, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Puts the deployment itself: facts are its state, the document is what answers show. */
static int put_deployment(struct store_transaction *transaction, const struct service_edit *edit,
	const struct service_deployment_facts *facts, struct span back_to, struct err *err)
{
	struct arena *arena = edit->arena;
	struct json *document = json_new_object(arena);

	copy_revision_members(arena, edit->document, document);
	json_set(arena, document, "deploymentConfiguration",
		json_get(edit->document, "deploymentConfiguration"));
	if (back_to.length > 0)
		json_set_string(arena, document, "rollbackTo",
			arena_format(arena, SERVICE_DEPLOYMENT_PREFIX "%.*s", SPAN_ARGS(back_to)));
	return service_object_put(transaction, &service_deployment_kind,
		service_component_key(arena, edit->key, facts->number), document, facts, NULL,
		STORE_ABSENT, arena, err);
}

int service_deployment_begin(struct store_transaction *transaction, struct service_edit *edit,
	struct span revision_number, struct span back_to, struct random *random, int64_t now_ms,
	struct span *ret_number, struct err *err)
{
	struct arena *arena = edit->arena;
	struct service_deployment_facts facts = {
		.number = service_number_new(arena, random),
		.service_revision = revision_number,
		.status = DEPLOYMENT_PRIMARY,
		.rollout = ROLLOUT_IN_PROGRESS,
		.state = SERVICE_DEPLOYMENT_IN_PROGRESS,
		.rollback = back_to.length > 0,
		.updated_ms = now_ms,
	};
	const struct store_object *revision = store_get(store_head(transaction),
		&service_revision_kind, service_component_key(arena, edit->key, revision_number));
	struct json *document;
	int code;

	if (!revision)
		return err_set(err, -ENOENT, "service '%.*s' has no revision '%.*s'",
			SPAN_ARGS(edit->key), SPAN_ARGS(revision_number));
	code = json_parse(revision->api, arena, &document, err);
	if (code < 0)
		return code;
	if (!service_definition_of_arn(json_get_text(document, "taskDefinition"), &facts.family,
		    &facts.revision))
		return err_set(err, -EINVAL, "revision '%.*s' has no task definition",
			SPAN_ARGS(revision->key));
	copy_revision_members(arena, document, edit->document);
	edit->facts.launch_type = json_get_text(document, "launchType");
	if (!edit->facts.launch_type.data)
		edit->facts.launch_type = SPAN("");
	edit->facts.reported = SPAN("");
	edit->facts.reported_ms = 0;
	code = supersede_all(transaction, edit, facts.rollback, now_ms, &facts.source,
		&facts.created_ms, err);
	if (code == 0)
		code = put_deployment(transaction, edit, &facts, back_to, err);
	if (code == 0)
		code = delete_oldest(transaction, edit, err);
	if (code == 0)
		*ret_number = facts.number;
	return code;
}

/* ---- the end ---- */

static int delete_kind(struct store_transaction *transaction, const struct store_kind *kind,
	struct span prefix, struct err *err)
{
	for (;;) {
		struct store_cursor cursor = {.view = store_head(transaction),
			.kind = kind,
			.index = -1,
			.prefix = prefix};
		const struct store_object *object = store_next(&cursor);
		int code;

		if (!object)
			return 0;
		code = store_delete(transaction, kind, object->key, object->revision, err);
		if (code < 0)
			return code;
	}
}

int service_components_delete(struct store_transaction *transaction, struct span service_key,
	struct err *err)
{
	static const struct store_kind *const kinds[] = {&service_deployment_kind,
		&service_revision_kind, &task_set_kind, &service_event_kind};
	struct span prefix =
		arena_format(store_transaction_arena(transaction), "%.*s/", SPAN_ARGS(service_key));

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		int code = delete_kind(transaction, kinds[i], prefix, err);

		if (code < 0)
			return code;
	}
	return 0;
}
