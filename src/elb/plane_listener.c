/* From a stored listener, its rules and its certificates to what the data plane carries. */
#include <stdio.h>

#include "aws/key.h"
#include "elb/certificate.h"
#include "elb/listener.h"
#include "elb/plane_components.h"
#include "elb/routing.h"

static const struct {
	enum proxy_protocol parts[PLANE_COMPONENTS_MAX];
	size_t count;
} carried_as[ELB_PROTOCOL_COUNT] = {
	[ELB_HTTP] = {{PROXY_HTTP}, 1},
	[ELB_HTTPS] = {{PROXY_HTTPS}, 1},
	[ELB_TCP] = {{PROXY_TCP}, 1},
	[ELB_TLS] = {{PROXY_TLS_END}, 1},
	[ELB_UDP] = {{PROXY_UDP}, 1},
	[ELB_TCP_UDP] = {{PROXY_TCP, PROXY_UDP}, 2},
};

struct building {
	struct elb_plane *plane;
	const struct store_view *view;
	const struct store_object *listener, *balancer;
	struct span scope; /* "ACCOUNT/REGION/" */
	struct plane_shape *shape;
	struct arena *arena;
	struct map names; /* of groups: key -> its text in the arena */
	struct err *err;
};

void plane_shape_free(struct plane_shape *shape)
{
	if (!shape)
		return;
	arena_free(shape->arena);
	free(shape);
}

/* Texts that are read point into the text they were read from, which must live as long as the shape. */
static int parse(struct building *building, const struct store_object *object,
	struct json **ret_api)
{
	return json_parse(arena_copy_span(building->arena, object->api), building->arena, ret_api,
		building->err);
}

/* ---- groups ---- */

static const char *group_name(void *context, struct span arn)
{
	struct building *building = context;
	struct span name, key;
	const char *known;

	if (!elb_group_name_of_arn(arn, &name))
		return NULL;
	key = arena_format(building->arena, "%.*s%.*s", SPAN_ARGS(building->scope),
		SPAN_ARGS(name));
	known = map_get(&building->names, key);
	if (!known) {
		known = key.data;
		map_put(&building->names, key, (void *)known);
	}
	return known;
}

static void list_groups(struct building *building)
{
	struct plane_shape *shape = building->shape;

	shape->groups = arena_allocate_array(building->arena, building->names.count + 1,
		sizeof(*shape->groups));
	MAP_EACH (&building->names, entry)
		shape->groups[shape->group_count++] = entry->value;
}

/* ---- options ---- */

static bool is_true(struct span value)
{
	return span_is(value, "true");
}

static uint32_t seconds_ms(struct span value)
{
	uint64_t seconds = 0;

	span_to_unsigned(value, PROXY_TIMEOUT_MAX_MS / 1000, &seconds);
	return (uint32_t)seconds * 1000;
}

/* Of a network load balancer, some things are said by the target groups: those of one listener agree, or the
 * first one has its way. */
static void read_group_options(struct building *building, const struct proxy_action *action,
	struct proxy_options *options)
{
	const struct store_object *group;

	if (action->route_count == 0)
		return;
	group = store_get(building->view, &elb_target_group_kind, span_of(action->routes[0].group));
	if (!group)
		return;
	options->proxy_v2 = elb_target_group_facts(group)->proxy_v2;
	options->sticky_source =
		is_true(elb_attribute(group, "stickiness.enabled", building->arena)) &&
		span_is(elb_attribute(group, "stickiness.type", building->arena), "source_ip");
}

static void read_http_options(struct building *building, struct proxy_listener *part)
{
	const struct store_object *balancer = building->balancer;
	struct arena *arena = building->arena;
	struct proxy_http *http = &part->http;
	struct span forwarded =
		elb_attribute(balancer, "routing.http.xff_header_processing.mode", arena);

	part->options.idle_timeout_ms =
		seconds_ms(elb_attribute(balancer, "idle_timeout.timeout_seconds", arena));
	http->forwarded = span_is(forwarded, "preserve") ? PROXY_FORWARDED_PRESERVE
			  : span_is(forwarded, "remove") ? PROXY_FORWARDED_REMOVE
							 : PROXY_FORWARDED_APPEND;
	http->forwarded_port =
		is_true(elb_attribute(balancer, "routing.http.xff_client_port.enabled", arena));
	http->drop_invalid_headers = is_true(elb_attribute(balancer,
		"routing.http.drop_invalid_header_fields.enabled", arena));
	http->no_http2 = span_is(elb_attribute(balancer, "routing.http2.enabled", arena), "false");
}

/* ---- certificates ---- */

static int read_certificates(struct building *building, struct proxy_http *http)
{
	struct proxy_certificate *certificates;
	struct elb_routing_tls tls;
	int code = elb_routing_tls(building->listener, building->arena, &tls, building->err);

	if (code < 0)
		return code;
	certificates = arena_allocate_array(building->arena, tls.certificate_count + 1,
		sizeof(*certificates));
	for (size_t i = 0; i < tls.certificate_count; i++) {
		struct span pem, name;

		code = elb_certificate_read(building->plane->config.elb->certificates,
			tls.certificates[i], building->arena, &pem, building->err);
		if (code == 0)
			code = elb_certificate_name(tls.certificates[i], &name, building->err);
		if (code < 0)
			return code;
		certificates[i].name = arena_copy_span(building->arena, name).data;
		certificates[i].pem = pem.data;
	}
	http->certificates = certificates;
	http->certificate_count = tls.certificate_count;
	http->tls = tls.versions;
	building->shape->has_certificates = tls.certificate_count > 0;
	return 0;
}

/* ---- rules ---- */

static int read_rule(struct building *building, const struct store_object *object,
	struct proxy_rule *rule)
{
	struct json *api;
	int code = parse(building, object, &api);

	if (code == 0)
		code = elb_routing_conditions(json_get(api, "Conditions"), building->arena,
			&rule->conditions, &rule->condition_count, building->err);
	if (code == 0)
		code = elb_routing_action(json_get(api, "Actions"), group_name, building,
			building->arena, &rule->action, building->err);
	rule->name = arena_copy_span(building->arena, elb_rule_facts(object)->id).data;
	return code;
}

static int read_rules(struct building *building, struct proxy_http *http)
{
	struct span prefix =
		arena_format(building->arena, "%.*s/", SPAN_ARGS(building->listener->key));
	struct store_cursor cursor = {.view = building->view,
		.kind = &elb_rule_kind,
		.index = ELB_RULE_BY_PRIORITY,
		.prefix = prefix};
	size_t most =
		store_count(building->view, &elb_rule_kind, ELB_RULE_BY_PRIORITY, prefix, false);
	struct proxy_rule *rules = arena_allocate_array(building->arena, most + 1, sizeof(*rules));
	const struct store_object *object;

	while (http->rule_count < most && (object = store_next(&cursor))) {
		int code = read_rule(building, object, &rules[http->rule_count]);

		if (code < 0)
			return err_prefix(building->err, code, "rule '%.*s'",
				SPAN_ARGS(elb_rule_facts(object)->id));
		http->rule_count++;
	}
	http->rules = rules;
	return 0;
}

/* ---- the text of a shape ---- */

static void write_text(struct buffer *out, const char *text)
{
	buffer_format(out, "%zu:%s,", text ? strlen(text) : 0, text ? text : "-");
}

static void write_action(const struct proxy_action *action, struct buffer *out,
	struct buffer *weights)
{
	buffer_format(out, "action %d %u %d ", action->kind, action->sticky_s, action->status);
	for (size_t i = 0; i < action->route_count; i++) {
		write_text(out, action->routes[i].group);
		buffer_format(weights, "%u ", action->routes[i].weight);
	}
	buffer_add_char(out, '|');
	write_text(out, action->protocol);
	write_text(out, action->host);
	write_text(out, action->port);
	write_text(out, action->path);
	write_text(out, action->query);
	write_text(out, action->content_type);
	write_text(out, action->body);
}

static void write_rule(const struct proxy_rule *rule, struct buffer *out, struct buffer *weights)
{
	write_text(out, rule->name);
	for (size_t i = 0; i < rule->condition_count; i++) {
		const struct proxy_condition *condition = &rule->conditions[i];

		buffer_format(out, "if %d ", condition->kind);
		write_text(out, condition->name);
		for (size_t k = 0; k < condition->value_count; k++) {
			write_text(out, condition->values[k].key);
			write_text(out, condition->values[k].value);
		}
	}
	write_action(&rule->action, out, weights);
}

static void write_part(const struct proxy_listener *part, struct buffer *out,
	struct buffer *weights, struct buffer *rule_weights)
{
	const struct proxy_options *options = &part->options;
	const struct proxy_http *http = &part->http;
	const struct proxy_action routes = {
		.routes = part->routes, .route_count = part->route_count};
	char address[PROXY_ADDRESS_TEXT_SIZE];

	proxy_address_format(&part->address, address);
	buffer_format(out, "%d %s %u %d %d %u-%u %s %d %d %d %d ", part->protocol, address,
		options->idle_timeout_ms, options->proxy_v2, options->sticky_source, http->tls.min,
		http->tls.max, http->tls.ciphers ? http->tls.ciphers : "-", http->no_http2,
		http->forwarded, http->forwarded_port, http->drop_invalid_headers);
	write_action(&routes, out, weights);
	write_action(&http->otherwise, out, weights);
	for (size_t i = 0; i < http->rule_count; i++)
		write_rule(&http->rules[i], out, rule_weights);
	for (size_t i = 0; i < http->certificate_count; i++) {
		write_text(out, http->certificates[i].name);
		write_text(out, http->certificates[i].pem);
	}
}

static void describe(struct plane_shape *shape)
{
	_buffer_ struct buffer text = {0};
	_buffer_ struct buffer weights = {0};
	_buffer_ struct buffer rule_weights = {0};

	for (size_t i = 0; i < shape->part_count; i++)
		write_part(&shape->parts[i], &text, &weights, &rule_weights);
	shape->text = arena_copy_span(shape->arena, buffer_span(&text));
	shape->weights = arena_copy_span(shape->arena, buffer_span(&weights));
	shape->rule_weights = arena_copy_span(shape->arena, buffer_span(&rule_weights));
}

/* ---- the whole ---- */

static int read_part(struct building *building, enum proxy_protocol protocol,
	const struct json *api, struct proxy_listener *part)
{
	const struct elb_listener_facts *facts = elb_listener_facts(building->listener);
	bool http = protocol == PROXY_HTTP || protocol == PROXY_HTTPS;
	struct arena *arena = building->arena;
	struct proxy_action action;
	struct span address =
		arena_copy_span(arena, elb_load_balancer_facts(building->balancer)->address);
	int code = proxy_address_parse(address.data, (unsigned)facts->port, &part->address,
		building->err);

	if (code == 0)
		code = elb_routing_action(json_get(api, "DefaultActions"), group_name, building,
			arena, &action, building->err);
	if (code < 0)
		return code;
	part->protocol = protocol;
	part->name = arena_format(arena, "%.*s%s", SPAN_ARGS(building->listener->key),
		building->shape->part_count > 0 ? "/udp" : "")
			     .data;
	if (http) {
		part->http.otherwise = action;
		read_http_options(building, part);
		code = read_rules(building, &part->http);
	} else {
		part->routes = action.routes;
		part->route_count = action.route_count;
		read_group_options(building, &action, &part->options);
		part->options.idle_timeout_ms = seconds_ms(elb_attribute(building->listener,
			"tcp.idle_timeout.seconds", arena));
		if (protocol == PROXY_UDP)
			part->options.proxy_v2 = false;
	}
	if (code == 0 && (protocol == PROXY_HTTPS || protocol == PROXY_TLS_END))
		code = read_certificates(building, &part->http);
	return code;
}

static unsigned find_driver(const struct proxy *proxy, enum proxy_protocol protocol)
{
	for (size_t i = 0; i < proxy_driver_count(proxy); i++) {
		if (proxy_driver_serves(proxy, i, protocol))
			return 1u << i;
	}
	return 0;
}

static int build(struct building *building)
{
	enum elb_protocol protocol = elb_listener_facts(building->listener)->protocol;
	struct plane_shape *shape = building->shape;
	struct json *api;
	int code = parse(building, building->listener, &api);

	while (code == 0 && shape->part_count < carried_as[protocol].count) {
		code = read_part(building, carried_as[protocol].parts[shape->part_count], api,
			&shape->parts[shape->part_count]);
		shape->part_count++;
	}
	if (code < 0)
		return code;
	shape->driver = find_driver(building->plane->config.proxy, shape->parts[0].protocol);
	if (!shape->driver)
		return err_set(building->err, -ENOTSUP, "nothing here carries %s",
			proxy_protocol_name(shape->parts[0].protocol));
	list_groups(building);
	describe(shape);
	return 0;
}

int plane_shape_build(struct elb_plane *plane, const struct store_view *view,
	const struct store_object *listener, struct plane_shape **ret_shape, struct err *err)
{
	struct building building = {.plane = plane,
		.view = view,
		.listener = listener,
		.balancer = elb_listener_balancer(view, listener),
		.scope = {listener->key.data,
			listener->key.length - aws_name_of_key(listener->key).length},
		.err = err};
	int code;

	if (!building.balancer)
		return err_set(err, -ENOENT, "its load balancer is not there");
	building.shape = memory_allocate(sizeof(*building.shape));
	building.shape->arena = building.arena = arena_new(0);
	code = build(&building);
	map_clear(&building.names);
	if (code < 0) {
		plane_shape_free(building.shape);
		return code;
	}
	*ret_shape = building.shape;
	return 0;
}
