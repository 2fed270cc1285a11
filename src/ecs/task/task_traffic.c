/* Registering and deregistering tasks with target groups and names; see the header. */
#include "ecs/task/task_traffic.h"

#include "aws/key.h"
#include "base/seeded_bug.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/service_kind.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"
#include "elb/elb.h"

/* Time until all clients have stopped using a name: the change is stored and the DNS server
 * follows; a client that resolved the name just before caches it for the TTL, and may connect at
 * the last moment. */
#define NAME_LAG_MS 1000
#define NAME_KEPT_POLL_MS 100

/* ---- the record ---- */

static const struct json *groups_of(const struct json *traffic)
{
	return json_get(traffic, "groups");
}

static const struct json *registry_of(const struct json *traffic)
{
	return json_get(traffic, "registry");
}

/* "ACCOUNT/REGION/" of a key. */
static struct span scope_of(struct span key)
{
	return (struct span){key.data, (size_t)(aws_name_of_key(key).data - key.data)};
}

static struct json *new_entry(struct arena *arena, struct span arn, struct span key,
	const struct json *requested)
{
	struct json *entry = json_new_object(arena);
	struct span container = json_get_text(requested, "containerName");

	json_set_string(arena, entry, "arn", arn);
	json_set_string(arena, entry, "key", key);
	if (container.length > 0)
		json_set_string(arena, entry, "container", container);
	return entry;
}

static int add_groups(const struct store_view *view, struct span scope,
	const struct json *balancers, struct arena *arena, struct json *traffic, struct err *err)
{
	struct json *groups = json_new_array(arena);

	JSON_EACH_ITEM (balancers, balancer) {
		struct span arn = json_get_text(balancer, "targetGroupArn");
		const struct store_object *group = elb_target_group_find(view, scope, arn);
		struct json *entry;

		if (!group)
			return err_set(err, -ENOENT,
				"its target group (target-group %.*s) does not exist.",
				SPAN_ARGS(arn));
		entry = new_entry(arena, arn, group->key, balancer);
		json_set_integer(arena, entry, "port",
			json_get_integer(balancer, "containerPort", 0));
		json_append(arena, groups, entry);
	}
	if (json_count(groups) > 0)
		json_set(arena, traffic, "groups", groups);
	return 0;
}

static int add_registry(const struct store_view *view, struct span scope,
	const struct json *registry, struct arena *arena, struct json *traffic, struct err *err)
{
	struct span arn = json_get_text(registry, "registryArn");
	const struct store_object *service = cloudmap_service_find(view, scope, arn);
	struct json *entry;

	if (!service)
		return err_set(err, -ENOENT, "its service registry (%.*s) does not exist.",
			SPAN_ARGS(arn));
	entry = new_entry(arena, arn, service->key, registry);
	json_set(arena, entry, "containerPort", json_get(registry, "containerPort"));
	json_set(arena, entry, "port", json_get(registry, "port"));
	json_set(arena, traffic, "registry", entry);
	return 0;
}

int task_traffic_new(const struct store_view *view, struct span scope, const struct json *balancers,
	const struct json *registries, struct span external_id, struct arena *arena,
	const struct json **ret_traffic, struct err *err)
{
	struct json *traffic = json_new_object(arena);
	int code = add_groups(view, scope, balancers, arena, traffic, err);

	if (code == 0 && json_count(registries) > 0)
		code = add_registry(view, scope, json_item(registries, 0), arena, traffic, err);
	if (code < 0)
		return code;
	if (external_id.length > 0 && registry_of(traffic))
		json_set_string(arena, traffic, "externalId", external_id);
	*ret_traffic = json_count(traffic) > 0 ? traffic : NULL;
	return 0;
}

int64_t task_traffic_hold_seconds(const struct store_view *view, struct span scope,
	const struct json *traffic)
{
	const struct json *entry = registry_of(traffic);
	const struct store_object *registry =
		entry ? cloudmap_service_find(view, scope, json_get_text(entry, "arn")) : NULL;
	int64_t longest_ms = 0;

	if (registry)
		longest_ms = cloudmap_service_remembered_ms(cloudmap_service_facts(registry)) +
			     NAME_LAG_MS;
	JSON_EACH_ITEM (groups_of(traffic), target) {
		const struct store_object *group =
			elb_target_group_find(view, scope, json_get_text(target, "arn"));
		int64_t delay_ms =
			group ? elb_target_group_facts(group)->deregistration_delay_ms : 0;

		longest_ms = delay_ms > longest_ms ? delay_ms : longest_ms;
	}
	return (longest_ms + 999) / 1000;
}

/* ---- addresses ---- */

static const struct json *container_of(const struct json *document, struct span name)
{
	JSON_EACH_ITEM (json_get(document, "containers"), container)
		if (span_equal(json_get_text(container, "name"), name))
			return container;
	return NULL;
}

/* The address of a task with an interface of its own. */
static struct span own_address(const struct task_edit *edit)
{
	JSON_EACH_ITEM (json_get(edit->document, "containers"), container) {
		struct span address =
			json_get_text(json_item(json_get(container, "networkInterfaces"), 0),
				"privateIpv4Address");

		if (address.length > 0)
			return address;
	}
	JSON_EACH_ITEM (json_get(edit->document, "attachments"), attachment)
		JSON_EACH_ITEM (json_get(attachment, "details"), detail)
			if (span_is(json_get_text(detail, "name"), "privateIPv4Address"))
				return json_get_text(detail, "value");
	return SPAN("");
}

static const struct json *binding_of(const struct task_edit *edit, struct span container,
	int64_t port, bool udp)
{
	const struct json *bindings =
		json_get(container_of(edit->document, container), "networkBindings");

	JSON_EACH_ITEM (bindings, binding)
		if (json_get_integer(binding, "containerPort", 0) == port &&
			span_is(json_get_text(binding, "protocol"), "udp") == udp)
			return binding;
	return NULL;
}

/* The host port of a container's port; on the host's own network they are the same. */
static int64_t host_port(const struct task_edit *edit, struct span container, int64_t port,
	bool udp)
{
	return json_get_integer(binding_of(edit, container, port, udp), "hostPort", port);
}

/* Where runtimes have no ports of the instance (Kubernetes), a port is at an address of the task's
 * own, though ECS shows no interface for the task. "": it is at the instance's. */
static struct span bound_address(const struct task_edit *edit,
	const struct container_instance_facts *instance, struct span container, int64_t port,
	bool udp)
{
	struct span address = json_get_text(binding_of(edit, container, port, udp), "bindIP");

	if (!address.data || !instance || span_equal(address, instance->address) ||
		span_is(address, "0.0.0.0") || span_is(address, "::") ||
		span_starts_with(address, SPAN("127.")))
		return SPAN("");
	return address;
}

static const struct container_instance_facts *instance_of(const struct store_view *view,
	const struct task_edit *edit)
{
	const struct store_object *instance = store_get(view, &container_instance_kind,
		arena_format(edit->arena, "%.*s/%.*s", SPAN_ARGS(task_cluster_key(edit->key)),
			SPAN_ARGS(edit->facts.instance)));

	return instance ? container_instance_facts(instance) : NULL;
}

/* ---- target groups ---- */

static int find_target(const struct store_view *view, const struct task_edit *edit,
	const struct store_object *group, const struct json *entry, struct span *ret_id,
	int64_t *ret_port, struct err *err)
{
	const struct elb_target_group_facts *facts = elb_target_group_facts(group);
	const struct container_instance_facts *instance = instance_of(view, edit);
	int64_t port = json_get_integer(entry, "port", 0);

	if (facts->instances) {
		struct span container = json_get_text(entry, "container");
		bool udp = facts->protocol == ELB_UDP;

		*ret_id = bound_address(edit, instance, container, port, udp);
		if (ret_id->length == 0)
			*ret_id = instance ? instance->ec2_instance_id : SPAN("");
		*ret_port = host_port(edit, container, port, udp);
	} else {
		*ret_id = own_address(edit);
		*ret_port = port;
	}
	if (ret_id->length == 0)
		return err_set(err, -EINVAL, "%s",
			facts->instances ? "its container instance has no EC2 instance id"
					 : "it has no address of its own");
	return 0;
}

/* Whether a target is registered, and belongs to this task. */
static const struct store_object *own_target(const struct store_view *view, struct span task_key,
	const struct json *entry, struct arena *arena)
{
	struct span id = json_get_text(entry, "id");
	const struct store_object *target;

	if (id.length == 0)
		return NULL;
	target = elb_target_find(view, json_get_text(entry, "key"), id,
		json_get_integer(entry, "at", 0), arena);
	return target && span_equal(elb_target_facts(target)->owner, task_key) ? target : NULL;
}

static int register_target(struct store_transaction *transaction, struct task_edit *edit,
	struct json *entry, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *group =
		elb_target_group_find(head, scope_of(edit->key), json_get_text(entry, "arn"));
	const struct store_object *there;
	struct span id;
	int64_t port;
	int code;

	if (!group)
		return err_set(err, -EINVAL, "the target group does not exist");
	code = find_target(head, edit, group, entry, &id, &port, err);
	if (code < 0)
		return code;
	/* A leftover of an earlier task with the same address. */
	there = elb_target_find(head, group->key, id, port, edit->arena);
	if (there && !span_equal(elb_target_facts(there)->owner, edit->key))
		code = elb_target_remove(transaction, group->key, id, port, err);
	if (code == 0)
		code = elb_target_register(transaction, group, id, port, edit->key, edit->now_ms,
			edit->arena, err);
	if (code < 0)
		return code;
	json_set_string(edit->arena, entry, "id", id);
	json_set_integer(edit->arena, entry, "at", port);
	edit->facts.balance = TASK_BALANCE_WAITING;
	return 0;
}

/* ---- names ---- */

static int64_t registry_port(const struct task_edit *edit, const struct json *entry)
{
	int64_t port = json_get_integer(entry, "port", 0);
	int64_t container_port = json_get_integer(entry, "containerPort", 0);
	struct span container = json_get_text(entry, "container");

	if (port != 0 || container.length == 0)
		return port;
	return edit->facts.network ? container_port
				   : host_port(edit, container, container_port, false);
}

static const struct json *instance_attributes(const struct store_view *view,
	const struct task_edit *edit, const struct store_object *service, const struct json *entry)
{
	const struct task_facts *facts = &edit->facts;
	const struct container_instance_facts *instance = instance_of(view, edit);
	struct arena *arena = edit->arena;
	struct json *attributes = json_new_object(arena);
	struct span address =
		facts->network ? own_address(edit)
			       : bound_address(edit, instance, json_get_text(entry, "container"),
					 json_get_integer(entry, "containerPort", 0), false);
	struct span zone = json_get_text(edit->document, "availabilityZone");
	struct span external_id = json_get_text(edit->traffic, "externalId"), account, region;
	int64_t port = registry_port(edit, entry);

	span_split(edit->key, '/', &account, &region);
	span_split(region, '/', &region, &(struct span){0});
	if (address.length == 0 && !facts->network && instance)
		address = instance->address;
	if (cloudmap_service_facts(service)->checked)
		json_set_string(arena, attributes, "AWS_INIT_HEALTH_STATUS", SPAN("HEALTHY"));
	if (address.length > 0)
		json_set_string(arena, attributes, "AWS_INSTANCE_IPV4", address);
	if (port != 0)
		json_set(arena, attributes, "AWS_INSTANCE_PORT",
			json_new_format(arena, "%lld", (long long)port));
	if (zone.length > 0)
		json_set_string(arena, attributes, "AVAILABILITY_ZONE", zone);
	json_set_string(arena, attributes, "REGION", region);
	json_set_string(arena, attributes, "ECS_CLUSTER_NAME", facts->cluster);
	json_set_string(arena, attributes, "ECS_SERVICE_NAME", facts->service);
	json_set_string(arena, attributes, "ECS_TASK_DEFINITION_FAMILY", facts->family);
	if (facts->launch_type != TASK_LAUNCH_FARGATE && instance &&
		instance->ec2_instance_id.length > 0)
		json_set_string(arena, attributes, "EC2_INSTANCE_ID", instance->ec2_instance_id);
	if (external_id.length > 0)
		json_set_string(arena, attributes, "ECS_TASK_SET_EXTERNAL_ID", external_id);
	return attributes;
}

static int register_name(struct store_transaction *transaction, const struct task_edit *edit,
	const struct json *entry, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *service =
		cloudmap_service_find(head, scope_of(edit->key), json_get_text(entry, "arn"));

	if (!service)
		return err_set(err, -EINVAL, "the service does not exist");
	return cloudmap_register(transaction, service, edit->facts.id,
		instance_attributes(head, edit, service, entry), edit->now_ms, edit->arena, err);
}

/* Writes the health by container checks to Cloud Map when it changes; other updates in between
 * stay. */
static int report_health(struct store_transaction *transaction, const struct task_edit *edit,
	const struct store_object *before, struct err *err)
{
	const struct json *entry = registry_of(edit->traffic);
	const struct task_facts *facts = &edit->facts;
	const struct store_object *service;

	if (!entry || !before || !facts->checked || facts->health == TASK_HEALTH_UNKNOWN ||
		task_facts(before)->health == facts->health)
		return 0;
	service = cloudmap_service_find(store_head(transaction), scope_of(edit->key),
		json_get_text(entry, "arn"));
	if (!service || !cloudmap_service_facts(service)->checked)
		return 0;
	return cloudmap_set_health(transaction, service->key, facts->id,
		facts->health == TASK_HEALTH_HEALTHY, edit->now_ms, edit->arena, err);
}

/* ---- events ---- */

static struct span service_key_of(const struct task_edit *edit)
{
	return arena_format(edit->arena, "%.*s/%.*s", SPAN_ARGS(task_cluster_key(edit->key)),
		SPAN_ARGS(edit->facts.service));
}

static int report_targets(struct store_transaction *transaction, const struct task_edit *edit,
	const char *verb, struct span arn, struct err *err)
{
	return service_event_count(transaction, service_key_of(edit), edit->facts.id, edit->now_ms,
		edit->arena, verb,
		arena_format(edit->arena, "targets in (target-group %.*s)", SPAN_ARGS(arn)).data,
		err);
}

/* ---- deregistering ---- */

/* A client may have registered the target again: it still points to the task, so it is removed with
 * it. */
static int own_again(struct store_transaction *transaction, const struct task_edit *edit,
	const struct json *entry, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	const struct store_object *group =
		elb_target_group_find(head, scope_of(edit->key), json_get_text(entry, "arn"));
	struct span id = json_get_text(entry, "id");
	int64_t port = json_get_integer(entry, "at", 0);
	const struct store_object *target =
		group && id.length > 0 ? elb_target_find(head, group->key, id, port, edit->arena)
				       : NULL;

	if (!target || elb_target_facts(target)->owner.length > 0)
		return 0;
	return elb_target_register(transaction, group, id, port, edit->key, edit->now_ms,
		edit->arena, err);
}

static int take_out_targets(struct store_transaction *transaction, struct task_edit *edit,
	bool at_once, bool *ret_drain, struct err *err)
{
	JSON_EACH_ITEM (groups_of(edit->traffic), entry) {
		struct span key = json_get_text(entry, "key"), id = json_get_text(entry, "id");
		int64_t port = json_get_integer(entry, "at", 0);
		bool found = false;
		int code = own_again(transaction, edit, entry, err);

		if (code < 0)
			return code;
		if (!own_target(store_head(transaction), edit->key, entry, edit->arena))
			continue;
		code = at_once ? elb_target_remove(transaction, key, id, port, err)
			       : elb_target_deregister(transaction, key, id, port, edit->now_ms,
					 edit->arena, &found, err);
		if (code == 0)
			code = report_targets(transaction, edit, "deregistered",
				json_get_text(entry, "arn"), err);
		if (code < 0)
			return code;
		*ret_drain |= found;
	}
	return 0;
}

static int take_out_names(struct store_transaction *transaction, const struct task_edit *edit,
	int64_t *ret_cached_until_ms, struct err *err)
{
	return cloudmap_deregister_everywhere(transaction, scope_of(edit->key), edit->facts.id,
		edit->now_ms, edit->arena, ret_cached_until_ms, err);
}

/* Whether the service will start another task in its place. */
static bool is_replaced(struct store_transaction *transaction, const struct task_edit *edit)
{
	const struct store_object *service =
		edit->facts.service.length > 0
			? store_get(store_head(transaction), &service_kind, service_key_of(edit))
			: NULL;

	return service && service_facts(service)->status == SERVICE_ACTIVE &&
	       (service_facts(service)->strategy == SERVICE_DAEMON ||
		       service_facts(service)->desired > 0);
}

/* A client has registered it, and will have to register its replacement. */
static bool is_last_of_name(struct store_transaction *transaction, const struct task_edit *edit)
{
	bool is_last;

	return is_replaced(transaction, edit) && !registry_of(edit->traffic) &&
	       cloudmap_has_instance(store_head(transaction), scope_of(edit->key), edit->facts.id,
		       edit->now_ms, edit->arena, &is_last) &&
	       is_last;
}

static int take_out(struct store_transaction *transaction, struct task_edit *edit, bool at_once,
	struct err *err)
{
	bool registered = edit->facts.traffic == TASK_TRAFFIC_REGISTERED, drains = false;
	int64_t cached_until_ms = 0;
	int code = take_out_targets(transaction, edit, at_once, &drains, err);

	if (code == 0 && !at_once && is_last_of_name(transaction, edit))
		cached_until_ms = edit->now_ms + TASK_NAME_KEPT_MS - NAME_LAG_MS;
	else if (code == 0)
		code = take_out_names(transaction, edit, &cached_until_ms, err);
	if (code < 0)
		return code;
	edit->facts.balance = TASK_BALANCE_NONE;
	edit->facts.leaves_ms = 0;
	/* Neither the service nor a client has ever sent traffic to it. */
	if (edit->facts.traffic == TASK_TRAFFIC_NONE && cached_until_ms == 0)
		return 0;
	edit->facts.traffic = TASK_TRAFFIC_LEFT;
	if (at_once)
		return 0;
	if (cached_until_ms > 0)
		edit->facts.leaves_ms = cached_until_ms + NAME_LAG_MS;
	if (drains || cached_until_ms > 0)
		edit->facts.traffic = TASK_TRAFFIC_LEAVING;
	if ((registered || edit->facts.traffic == TASK_TRAFFIC_LEAVING) &&
		edit->facts.last < TASK_DEACTIVATING)
		edit->facts.last = TASK_DEACTIVATING;
	return 0;
}

/* ---- following a task ---- */

/* An agent does not report the health of its tasks. */
static bool is_ready(const struct task_edit *edit)
{
	const struct task_facts *facts = &edit->facts;

	return (facts->last == TASK_ACTIVATING || facts->last == TASK_RUNNING) &&
	       (!facts->checked || facts->health == TASK_HEALTH_HEALTHY ||
		       facts->host.length == 0 || SEEDED_BUG(edit->bug_register_early));
}

/* It will never get traffic, which its service needs: the replacement may succeed. */
static int fail(struct store_transaction *transaction, struct task_edit *edit,
	const struct json *entry, const struct err *reason, struct err *err)
{
	bool group = entry != registry_of(edit->traffic);
	int code = task_traffic_remove(transaction, edit, err);

	if (code < 0)
		return code;
	edit->facts.desired = TASK_STOPPED;
	edit->facts.stopping_ms = edit->now_ms;
	edit->facts.failed = true;
	json_set_string(edit->arena, edit->document, "stopCode",
		SPAN(TASK_STOP_CODE_FAILED_TO_START));
	json_set_string(edit->arena, edit->document, "stoppedReason",
		arena_format(edit->arena,
			"ResourceInitializationError: unable to register it in (%s %.*s): %s",
			group ? "target-group" : "registry", SPAN_ARGS(json_get_text(entry, "arn")),
			reason->message));
	return 0;
}

/* A copy of the record with room for the new values. */
static struct json *copy_record(struct task_edit *edit)
{
	struct json *groups = json_new_array(edit->arena);
	struct json *traffic = json_copy_object(edit->arena, edit->traffic);

	JSON_EACH_ITEM (groups_of(edit->traffic), entry)
		json_append(edit->arena, groups, json_copy_object(edit->arena, entry));
	if (json_count(groups) > 0)
		json_set(edit->arena, traffic, "groups", groups);
	return traffic;
}

static int register_all(struct store_transaction *transaction, struct task_edit *edit,
	struct err *err)
{
	struct json *traffic = copy_record(edit);
	const struct json *registry = registry_of(traffic), *groups = groups_of(traffic);
	struct err reason = {0};
	int code = 0;

	edit->traffic = traffic;
	for (size_t i = 0; i < json_count(groups); i++) {
		struct json *entry = groups->array.items[i];

		code = register_target(transaction, edit, entry, &reason);
		if (code == -EINVAL)
			return fail(transaction, edit, entry, &reason, err);
		if (code == 0)
			code = report_targets(transaction, edit, "registered",
				json_get_text(entry, "arn"), &reason);
		if (code < 0)
			return err_set(err, code, "%s", reason.message);
	}
	if (registry)
		code = register_name(transaction, edit, registry, &reason);
	if (code == -EINVAL)
		return fail(transaction, edit, registry, &reason, err);
	if (code < 0)
		return err_set(err, code, "%s", reason.message);
	edit->facts.traffic = TASK_TRAFFIC_REGISTERED;
	if (!task_awaits_traffic(&edit->facts))
		edit->facts.last = TASK_RUNNING;
	return 0;
}

static int64_t latest_time(const struct task_facts *facts)
{
	int64_t latest = facts->created_ms;

	latest = facts->started_ms > latest ? facts->started_ms : latest;
	latest = facts->stopping_ms > latest ? facts->stopping_ms : latest;
	return facts->stopped_ms > latest ? facts->stopped_ms : latest;
}

int task_traffic_remove(struct store_transaction *transaction, struct task_edit *edit,
	struct err *err)
{
	if (edit->now_ms == 0)
		edit->now_ms = latest_time(&edit->facts);
	return take_out(transaction, edit, true, err);
}

int task_traffic_follow(struct store_transaction *transaction, struct task_edit *edit,
	const struct store_object *before, struct err *err)
{
	struct task_facts *facts = &edit->facts;

	/* It is ending by itself or has ended: requests to it would fail. */
	if (facts->last >= TASK_STOPPING)
		return task_traffic_remove(transaction, edit, err);
	if (edit->now_ms == 0)
		edit->now_ms = latest_time(facts);
	if (facts->desired == TASK_STOPPED && facts->traffic != TASK_TRAFFIC_LEFT && before &&
		task_facts(before)->desired != TASK_STOPPED)
		return take_out(transaction, edit, false, err);
	else if (facts->traffic == TASK_TRAFFIC_WAITING && is_ready(edit))
		return register_all(transaction, edit, err);
	else if (facts->traffic == TASK_TRAFFIC_REGISTERED)
		return report_health(transaction, edit, before, err);
	return 0;
}

/* ---- results ---- */

static const struct json *read_record(const struct store_object *task, struct arena *arena)
{
	struct json *private_;

	return json_parse(task->private_, arena, &private_, NULL) == 0
		       ? json_get(private_, TASK_TRAFFIC_MEMBER)
		       : NULL;
}

enum task_balance task_traffic_balance(const struct store_view *view,
	const struct store_object *task, struct arena *arena)
{
	static const enum task_balance balances[ELB_TARGET_STATE_COUNT] = {
		[ELB_TARGET_INITIAL] = TASK_BALANCE_WAITING,
		[ELB_TARGET_HEALTHY] = TASK_BALANCE_HEALTHY,
		[ELB_TARGET_UNHEALTHY] = TASK_BALANCE_UNHEALTHY,
		[ELB_TARGET_UNUSED] = TASK_BALANCE_NONE,
		[ELB_TARGET_DRAINING] = TASK_BALANCE_NONE,
		[ELB_TARGET_UNAVAILABLE] = TASK_BALANCE_NONE,
	};
	bool seen[TASK_BALANCE_COUNT] = {false};

	JSON_EACH_ITEM (groups_of(read_record(task, arena)), entry) {
		const struct store_object *target = own_target(view, task->key, entry, arena);

		if (target)
			seen[balances[elb_target_facts(target)->state]] = true;
	}
	return seen[TASK_BALANCE_UNHEALTHY] ? TASK_BALANCE_UNHEALTHY
	       : seen[TASK_BALANCE_WAITING] ? TASK_BALANCE_WAITING
	       : seen[TASK_BALANCE_HEALTHY] ? TASK_BALANCE_HEALTHY
					    : TASK_BALANCE_NONE;
}

bool task_traffic_has_left(const struct store_view *view, const struct store_object *task,
	int64_t now_ms, struct arena *arena, int64_t *ret_again_ms)
{
	int64_t until_ms = task_facts(task)->leaves_ms;
	bool left = until_ms <= now_ms;

	JSON_EACH_ITEM (groups_of(read_record(task, arena)), entry) {
		const struct store_object *target = own_target(view, task->key, entry, arena);
		int64_t patience_ms;

		if (!target)
			continue;
		patience_ms = elb_target_facts(target)->drain_until_ms + TASK_DRAIN_PATIENCE_MS;
		left &= patience_ms <= now_ms;
		until_ms = patience_ms > until_ms ? patience_ms : until_ms;
	}
	*ret_again_ms = left ? 0 : until_ms;
	return left;
}

bool task_traffic_keeps_name(const struct store_view *view, const struct store_object *task,
	int64_t now_ms, struct arena *arena, int64_t *ret_again_ms)
{
	bool is_last;

	if (!cloudmap_has_instance(view, scope_of(task->key), task_facts(task)->id, now_ms, arena,
		    &is_last))
		return false;
	*ret_again_ms =
		is_last && now_ms < task_facts(task)->leaves_ms ? now_ms + NAME_KEPT_POLL_MS : 0;
	return true;
}

int task_traffic_remove_name(struct store_transaction *transaction, struct task_edit *edit,
	struct err *err)
{
	int64_t cached_until_ms = 0;
	int code = take_out_names(transaction, edit, &cached_until_ms, err);

	edit->facts.leaves_ms = cached_until_ms > 0 ? cached_until_ms + NAME_LAG_MS : 0;
	return code;
}

bool task_traffic_find_trouble(const struct store_view *view, const struct store_object *task,
	struct arena *arena, struct task_traffic_trouble *ret_trouble)
{
	JSON_EACH_ITEM (groups_of(read_record(task, arena)), entry) {
		const struct store_object *target = own_target(view, task->key, entry, arena);
		const struct elb_target_facts *facts = target ? elb_target_facts(target) : NULL;
		struct span id = json_get_text(entry, "id");
		char reason[PROBE_DESCRIPTION_SIZE];

		if (!facts || facts->state != ELB_TARGET_UNHEALTHY)
			continue;
		probe_describe(facts->reason, (int)facts->code, reason);
		*ret_trouble = (struct task_traffic_trouble){
			.group_arn = json_get_text(entry, "arn"),
			.instance = span_starts_with(id, SPAN("i-")) ? id : SPAN(""),
			.port = json_get_integer(entry, "at", 0),
			.reason = arena_format(arena, "%s", reason),
		};
		return true;
	}
	return false;
}
