/* See canary_plan.h. */
#include "release/canary_plan.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "release/release_names.h"
#include "release/render.h"

#define CONFIG_MEMBER "_config"

static int fail(struct arena *arena, struct canary_failure *failure, const char *reason,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

static int fail(struct arena *arena, struct canary_failure *failure, const char *reason,
	const char *format, ...)
{
	va_list list;

	va_start(list, format);
	*failure = (struct canary_failure){reason, arena_format_list(arena, format, list)};
	va_end(list);
	return -EINVAL;
}

/* ---- values ---- */

/* RFC 7386. */
static const struct json *merge(struct arena *arena, const struct json *target,
	const struct json *patch)
{
	struct json *result;

	if (!json_is(patch, JSON_OBJECT))
		return patch;
	result = json_is(target, JSON_OBJECT) ? json_copy_object(arena, target)
					      : json_new_object(arena);
	for (uint32_t i = 0; i < patch->object.count; i++) {
		const struct json_member *member = &patch->object.members[i];
		char *name = arena_copy(arena, member->name.data, member->name.length);

		if (member->value->type == JSON_NULL)
			json_unset(result, name);
		else
			json_set(arena, result, name,
				merge(arena, json_get(result, name), member->value));
	}
	return result;
}

static const struct json *merge_node(struct arena *arena, const struct json *node,
	const struct json *canary)
{
	const struct json *replacement = json_get(canary, CONFIG_MEMBER);
	const struct json *values = json_get(node, CONFIG_MEMBER);
	struct json *result;

	if (!replacement && !values)
		return merge(arena, node, canary);
	result = values ? json_copy_object(arena, node) : json_new_object(arena);
	json_set(arena, result, CONFIG_MEMBER,
		replacement ? replacement : merge(arena, values, canary));
	return result;
}

/* path: without the root. */
static const struct json *merge_at(struct arena *arena, const struct json *node, struct span path,
	const struct json *canary)
{
	struct span name = path, rest = SPAN("");
	struct json *result;
	const char *child;

	if (path.length == 0)
		return merge_node(arena, node, canary);
	span_split(path, '/', &name, &rest);
	result =
		json_is(node, JSON_OBJECT) ? json_copy_object(arena, node) : json_new_object(arena);
	child = arena_copy(arena, name.data, name.length);
	json_set(arena, result, child, merge_at(arena, json_get(node, child), rest, canary));
	return result;
}

static int read_object(struct arena *arena, struct span text, const char *name,
	const struct json **ret_object, struct err *err)
{
	struct json *object = NULL;
	int code = span_trim(text).length > 0 ? json_parse(text, arena, &object, err) : 0;

	if (code < 0)
		return err_prefix(err, code, "%s", name);
	if (!json_is_absent(object) && object->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "%s is %s, not an object", name,
			json_type_name(object->type));
	*ret_object = json_is_absent(object) ? json_new_object(arena) : object;
	return 0;
}

int canary_config_merge(struct arena *arena, struct span release_config, struct span path,
	struct span canary_config, struct span *ret_config, struct err *err)
{
	const struct json *stable, *canary;
	struct span root, rest = SPAN("");
	int code = read_object(arena, release_config, "spec.config of the Release", &stable, err);

	if (code == 0)
		code = read_object(arena, canary_config, "spec.config", &canary, err);
	if (code < 0)
		return code;
	span_split(path, '/', &root, &rest);
	*ret_config = json_to_text(merge_at(arena, stable, rest, canary), arena);
	return 0;
}

/* ---- objects ---- */

struct planning {
	struct arena *arena;
	const struct canary *canary;
	const struct release_snapshot *release;
	struct release_manifest stable;
	struct naming_object *objects; /* rendered for the canary */
	size_t count;
	struct span path;
	struct naming_plan naming;
	const struct json **copies; /* the -canary Services */
	size_t copy_count;
	size_t port_count; /* of all Services so far */
	struct canary_failure *failure;
};

static bool has_path(const struct planning *planning, struct span path)
{
	for (size_t i = 0; i < planning->count; i++)
		if (span_equal(planning->objects[i].path, path))
			return true;
	return false;
}

/* The path of a chart's root, which an empty spec.path stands for: that of an object, up to its first slash. */
static void find_path(struct planning *planning)
{
	struct span root, rest;

	planning->path = planning->canary->path;
	if (planning->path.length > 0 || planning->count == 0)
		return;
	planning->path = planning->objects[0].path;
	if (span_split(planning->path, '/', &root, &rest))
		planning->path = root;
}

static int render(struct planning *planning, struct canary_plan *plan)
{
	struct arena *arena = planning->arena;
	const struct release_snapshot *release = planning->release;
	struct release_render render = {
		.source = release->source,
		.name = release->name,
		.namespace = release->namespace,
		.version = release->version + 1,
	};
	struct err err;

	if (canary_config_merge(arena, release->source.config, planning->canary->path,
		    planning->canary->config, &plan->config, &err) < 0)
		return fail(arena, planning->failure, "InvalidConfig", "%s", err.message);
	render.source.config = plan->config;
	if (release_manifest_read(arena, release->manifest, &planning->stable, &err) < 0 ||
		release_render_objects(arena, &render, &planning->objects, &planning->count, &err) <
			0)
		return fail(arena, planning->failure, "RenderFailed", "%s", err.message);
	find_path(planning);
	if (!has_path(planning, planning->path))
		return fail(arena, planning->failure, "InvalidPath",
			"spec.path: Release '%.*s' has no objects of path '%.*s'",
			SPAN_ARGS(release->name), SPAN_ARGS(planning->path));
	return 0;
}

static int name_objects(struct planning *planning)
{
	struct arena *arena = planning->arena;
	const struct json **stable =
		arena_allocate_array(arena, planning->stable.count + 1, sizeof(*stable));
	struct naming_canary canary = {.objects = planning->objects,
		.count = planning->count,
		.stable = stable,
		.stable_count = planning->stable.count,
		.stable_naming = planning->release->source.naming,
		.path = planning->path};
	struct err err;
	int code;

	for (size_t i = 0; i < planning->stable.count; i++)
		stable[i] = planning->stable.objects[i].json;
	if (naming_suffix(planning->canary->name, &canary.suffix, &err) < 0)
		return fail(arena, planning->failure, "InvalidSpec", "%s", err.message);
	code = naming_plan_canary(arena, &canary, &planning->naming, &err);
	if (code == 0)
		return 0;
	return fail(arena, planning->failure,
		code == -EEXIST   ? "NameConflict"
		: code == -ENOENT ? "InvalidPath"
				  : "InvalidSpec",
		"%s", err.message);
}

static const struct json *copy_label(struct arena *arena, const struct json *object,
	const struct canary *canary)
{
	return release_with_metadata(arena, object, "labels", RELEASE_CREATED_BY_LABEL,
		canary_created_by(arena, canary->namespace, canary->name));
}

static int make_manifest(struct planning *planning, struct canary_plan *plan)
{
	struct arena *arena = planning->arena;
	struct release_part *parts = arena_allocate_array(arena,
		planning->count + planning->copy_count + 1, sizeof(*parts));
	struct json *others = json_new_array(arena);
	size_t count = 0;
	struct err err;

	for (size_t i = 0; i < planning->naming.count; i++) {
		const struct naming_planned *item = &planning->naming.items[i];

		if (item->action == NAMING_CREATE)
			parts[count++] = (struct release_part){
				copy_label(arena, item->object, planning->canary),
				planning->objects[i].path};
		else if (item->action == NAMING_NOT_DUPLICATED)
			json_append(arena, others,
				json_new_format(arena, "%.*s/%.*s",
					SPAN_ARGS(json_get_text(item->object, "kind")),
					SPAN_ARGS(item->base_name)));
	}
	for (size_t i = 0; i < planning->copy_count; i++)
		parts[count++] = (struct release_part){planning->copies[i], planning->path};
	if (release_manifest_make(arena, parts, count, planning->release->name,
		    planning->release->namespace, &plan->objects, &err) < 0 ||
		release_manifest_write(arena, &plan->objects, &plan->manifest, &err) < 0)
		return fail(arena, planning->failure, "RenderFailed", "%s", err.message);
	plan->naming = planning->naming.naming;
	plan->not_duplicated = others;
	return 0;
}

/* ---- Services ---- */

static bool is_udp(const struct json *port)
{
	return span_is(json_get_text(port, "protocol"), "UDP");
}

static const struct json *find_planned_service(const struct planning *planning, struct span name)
{
	for (size_t i = 0; i < planning->naming.count; i++)
		if (planning->naming.items[i].action == NAMING_SERVICE &&
			span_equal(planning->naming.items[i].base_name, name))
			return planning->naming.items[i].object;
	return NULL;
}

static bool is_taken(const struct canary_plan *plan, const struct canary *canary, int64_t port)
{
	for (size_t i = 0; i < plan->proxied_count; i++)
		for (size_t j = 0; j < plan->proxied[i].port_count; j++)
			if (plan->proxied[i].ports[j].proxy_port == port)
				return true;
	for (size_t i = 0; i < canary->proxied_count; i++)
		for (size_t j = 0; j < canary->proxied[i].port_count; j++)
			if (canary->proxied[i].ports[j].proxy_port == port)
				return true;
	return false;
}

/* The port that the proxy has for it already, or another one. Ports never move: the order of the spec does not
 * matter. */
static int64_t choose_port(const struct canary_plan *plan, const struct canary *canary,
	struct span service, int64_t number, bool udp)
{
	const struct canary_proxied_service *before = canary_find_proxied(canary, service);
	int64_t port = CANARY_FIRST_PROXY_PORT;

	for (size_t i = 0; before && i < before->port_count; i++)
		if (before->ports[i].port == number && before->ports[i].udp == udp)
			return before->ports[i].proxy_port;
	while (is_taken(plan, canary, port))
		port++;
	return port;
}

static int check_service(const struct planning *planning, const struct canary_service *listed,
	const struct json *stable, const struct json *planned, const struct json *live)
{
	const struct json *spec = json_get(stable, "spec");
	struct span name = listed->name;

	if (!stable || !planned || !live)
		return fail(planning->arena, planning->failure, "ServiceNotFound",
			"spec.services: Service '%.*s' not found in path '%.*s' of Release '%.*s'",
			SPAN_ARGS(name), SPAN_ARGS(planning->path),
			SPAN_ARGS(planning->release->name));
	if (span_is(json_get_text(spec, "clusterIP"), "None"))
		return fail(planning->arena, planning->failure, "HeadlessUnsupported",
			"spec.services: Service '%.*s' is headless: its clients connect to pods "
			"directly",
			SPAN_ARGS(name));
	if (json_count(json_get(spec, "selector")) == 0)
		return fail(planning->arena, planning->failure, "ServiceUnsupported",
			"spec.services: Service '%.*s' has no selector", SPAN_ARGS(name));
	JSON_EACH_ITEM (json_get(spec, "ports"), port)
		if (span_is(json_get_text(port, "protocol"), "SCTP"))
			return fail(planning->arena, planning->failure, "ServiceUnsupported",
				"spec.services: Service '%.*s' has a port for SCTP",
				SPAN_ARGS(name));
	return 0;
}

static int check_ports(const struct planning *planning, const struct canary_service *listed,
	const struct canary_proxied_service *proxied)
{
	for (size_t i = 0; i < listed->port_count; i++) {
		const struct canary_port *port = &listed->ports[i];
		bool found = false;

		for (size_t j = 0; j < proxied->port_count; j++)
			found = found || canary_find_port(listed, &proxied->ports[j]) == port;
		if (!found)
			return fail(planning->arena, planning->failure, "PortNotFound",
				"spec.services: Service '%.*s' has no port %lld%s",
				SPAN_ARGS(listed->name), (long long)port->port,
				port->protocol == CANARY_DEFAULT ? ""
				: port->protocol == CANARY_UDP   ? "/UDP"
								 : "/TCP");
	}
	return 0;
}

static int add_service(struct planning *planning, const struct canary_service *listed,
	const struct json *live, struct canary_plan *plan)
{
	struct arena *arena = planning->arena;
	const struct release_object *stable =
		release_manifest_find(&planning->stable, SPAN("v1"), SPAN("Service"), listed->name);
	const struct json *planned = find_planned_service(planning, listed->name), *ports;
	struct canary_proxied_service proxied = {.name = listed->name};
	struct err err;
	int code = check_service(planning, listed, stable ? stable->json : NULL, planned, live);

	if (code < 0)
		return code;
	ports = json_path(stable->json, "spec.ports");
	planning->port_count += json_array_count(ports);
	if (planning->port_count > CANARY_PROXIED_PORTS_MAX)
		return fail(arena, planning->failure, "InvalidSpec",
			"spec.services: the Services have more than %d ports together",
			CANARY_PROXIED_PORTS_MAX);
	proxied.selector = json_path(stable->json, "spec.selector");
	proxied.ports =
		arena_allocate_array(arena, json_array_count(ports) + 1, sizeof(*proxied.ports));
	JSON_EACH_ITEM (ports, port) {
		int64_t number = json_get_integer(port, "port", 0);
		const struct json *target = json_get(port, "targetPort");
		struct span name = json_get_text(port, "name");
		/* The assignment sees the earlier ports of this Service, too. */
		plan->proxied[plan->proxied_count++] = proxied;
		proxied.ports[proxied.port_count] = (struct canary_proxied_port){
			.port = number,
			.udp = is_udp(port),
			.name = name.data ? name : SPAN(""),
			.target_port =
				json_is_absent(target) ? json_new_integer(arena, number) : target,
			.proxy_port = choose_port(plan, planning->canary, listed->name, number,
				is_udp(port)),
		};
		proxied.port_count++;
		plan->proxied_count--;
	}
	code = check_ports(planning, listed, &proxied);
	if (code < 0)
		return code;
	if (naming_service_copy(arena, planned, NAMING_CANARY,
		    &planning->copies[planning->copy_count], &err) < 0 ||
		canary_plan_forked(arena, planning->canary, &planning->stable, listed->name,
			&(const struct json *){NULL}, &err) < 0)
		return fail(arena, planning->failure, "InvalidSpec", "%s", err.message);
	planning->copies[planning->copy_count] =
		copy_label(arena, planning->copies[planning->copy_count], planning->canary);
	planning->copy_count++;
	plan->proxied[plan->proxied_count++] = proxied;
	return 0;
}

int canary_plan_forked(struct arena *arena, const struct canary *canary,
	const struct release_manifest *stable, struct span service, const struct json **ret_copy,
	struct err *err)
{
	const struct release_object *found =
		release_manifest_find(stable, SPAN("v1"), SPAN("Service"), service);
	int code;

	if (!found)
		return err_set(err, -ENOENT, "Service '%.*s' not found in the Release",
			SPAN_ARGS(service));
	code = naming_service_copy(arena, found->json, NAMING_FORKED, ret_copy, err);
	if (code == 0)
		*ret_copy = copy_label(arena, *ret_copy, canary);
	return code;
}

int canary_plan_make(struct arena *arena, const struct canary_plan_input *input,
	struct canary_plan *ret_plan, struct canary_failure *ret_failure)
{
	size_t room = input->canary->service_count + 1;
	struct planning planning = {.arena = arena,
		.canary = input->canary,
		.release = input->release,
		.copies = arena_allocate_array(arena, room, sizeof(*planning.copies)),
		.failure = ret_failure};
	struct canary_plan plan = {
		.proxied = arena_allocate_array(arena, room, sizeof(*plan.proxied))};
	int code = render(&planning, &plan);

	if (code == 0)
		code = name_objects(&planning);
	for (size_t i = 0; code == 0 && i < input->canary->service_count; i++)
		code = add_service(&planning, &input->canary->services[i], input->services[i],
			&plan);
	if (code == 0)
		code = make_manifest(&planning, &plan);
	if (code == 0)
		*ret_plan = plan;
	return code;
}
