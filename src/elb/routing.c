/* Stored actions and conditions into those of the data plane; see the header. */
#include "elb/routing.h"

#include "base/memory.h"
#include "elb/condition.h"
#include "elb/ssl_policy.h"

/* ---- actions ---- */

static const char *copy(struct arena *arena, struct span text)
{
	return text.data ? arena_copy(arena, text.data, text.length) : NULL;
}

static int read_forward(const struct json *action, elb_routing_group group, void *context,
	struct arena *arena, struct proxy_action *ret_action, struct err *err)
{
	const struct json *config = json_get(action, "ForwardConfig");
	const struct json *groups = json_get(config, "TargetGroups");
	const struct json *sticky = json_get(config, "TargetGroupStickinessConfig");
	size_t most = json_count(groups), count = 0;
	struct proxy_route *routes = arena_allocate_array(arena, most ? most : 1, sizeof(*routes));

	if (most == 0 || most > PROXY_ROUTES_MAX)
		return err_set(err, -EINVAL, "a forward action has %zu target groups", most);
	JSON_EACH_ITEM (groups, tuple) {
		const char *name = group(context, json_get_text(tuple, "TargetGroupArn"));

		if (name)
			routes[count++] = (struct proxy_route){.group = name,
				.weight = (uint32_t)json_get_integer(tuple, "Weight", 1)};
	}
	*ret_action = (struct proxy_action){
		.kind = PROXY_FORWARD, .routes = routes, .route_count = count};
	if (json_get_bool(sticky, "Enabled", false))
		ret_action->sticky_s = (uint32_t)json_get_integer(sticky, "DurationSeconds", 0);
	return 0;
}

/* A part that is what the request has already is left to the data plane. */
static const char *part(struct arena *arena, const struct json *config, const char *name,
	const char *unchanged)
{
	struct span text = json_get_text(config, name);

	return !text.data || span_is(text, unchanged) ? NULL : copy(arena, text);
}

static int read_redirect(const struct json *action, struct arena *arena,
	struct proxy_action *ret_action, struct err *err)
{
	const struct json *config = json_get(action, "RedirectConfig");
	struct span status = json_get_text(config, "StatusCode");

	if (!span_is(status, "HTTP_301") && !span_is(status, "HTTP_302"))
		return err_set(err, -EINVAL, "a redirect has the status '%.*s'",
			SPAN_ARGS(status.data ? status : SPAN("")));
	*ret_action = (struct proxy_action){
		.kind = PROXY_REDIRECT,
		.status = span_is(status, "HTTP_301") ? 301 : 302,
		.protocol = part(arena, config, "Protocol", "#{protocol}"),
		.host = part(arena, config, "Host", "#{host}"),
		.port = part(arena, config, "Port", "#{port}"),
		.path = part(arena, config, "Path", "/#{path}"),
		.query = part(arena, config, "Query", "#{query}"),
	};
	return 0;
}

static int read_fixed(const struct json *action, struct arena *arena,
	struct proxy_action *ret_action, struct err *err)
{
	const struct json *config = json_get(action, "FixedResponseConfig");
	uint64_t status;

	if (!span_to_unsigned(json_get_text(config, "StatusCode"), 599, &status))
		return err_set(err, -EINVAL, "a fixed response has no status");
	*ret_action = (struct proxy_action){
		.kind = PROXY_FIXED,
		.status = (int)status,
		.content_type = copy(arena, json_get_text(config, "ContentType")),
		.body = copy(arena, json_get_text(config, "MessageBody")),
	};
	return 0;
}

int elb_routing_action(const struct json *actions, elb_routing_group group, void *context,
	struct arena *arena, struct proxy_action *ret_action, struct err *err)
{
	size_t count = json_count(actions);
	const struct json *action = count > 0 ? json_item(actions, count - 1) : NULL;
	struct span type = json_get_text(action, "Type");

	if (span_is(type, "forward"))
		return read_forward(action, group, context, arena, ret_action, err);
	if (span_is(type, "redirect"))
		return read_redirect(action, arena, ret_action, err);
	if (span_is(type, "fixed-response"))
		return read_fixed(action, arena, ret_action, err);
	return err_set(err, -EINVAL, "there is no action of type '%.*s'",
		SPAN_ARGS(type.data ? type : SPAN("")));
}

/* ---- conditions ---- */

static int read_condition(const struct json *stored, struct arena *arena,
	struct proxy_condition *ret_condition, struct err *err)
{
	const struct elb_condition_field *field =
		elb_condition_field_find(json_get_text(stored, "Field"));
	const struct json *config = field ? json_get(stored, field->config) : NULL;
	const struct json *requested = json_get(config, "Values");
	struct proxy_value *values;
	size_t count = 0;

	if (json_array_count(requested) == 0)
		return err_set(err, -EINVAL, "a condition has no values");
	values = arena_allocate_array(arena, json_count(requested), sizeof(*values));
	JSON_EACH_ITEM (requested, value) {
		/* Pairs for a query, texts for all other fields. */
		bool pair = json_is(value, JSON_OBJECT);

		values[count++] = (struct proxy_value){
			.key = pair ? copy(arena, json_get_text(value, "Key")) : NULL,
			.value = copy(arena,
				pair ? json_get_text(value, "Value") : json_text(value)),
		};
		if (!values[count - 1].value)
			return err_set(err, -EINVAL, "a value of a condition has no text");
	}
	*ret_condition = (struct proxy_condition){
		.kind = field->kind,
		.name = copy(arena, json_get_text(config, "HttpHeaderName")),
		.values = values,
		.value_count = count,
	};
	return 0;
}

int elb_routing_conditions(const struct json *conditions, struct arena *arena,
	const struct proxy_condition **ret_conditions, size_t *ret_count, struct err *err)
{
	size_t count = json_array_count(conditions), filled = 0;
	struct proxy_condition *list =
		arena_allocate_array(arena, count ? count : 1, sizeof(*list));

	JSON_EACH_ITEM (conditions, condition) {
		int code = read_condition(condition, arena, &list[filled++], err);

		if (code < 0)
			return code;
	}
	*ret_conditions = list;
	*ret_count = count;
	return 0;
}

/* ---- TLS ---- */

int elb_routing_tls(const struct store_object *listener, struct arena *arena,
	struct elb_routing_tls *ret_tls, struct err *err)
{
	struct elb_routing_tls tls = {0};
	struct span *certificates, policy;
	const struct json *others;
	struct json *api, *private_;
	int code = json_parse(listener->api, arena, &api, err);

	if (code == 0)
		code = json_parse(listener->private_, arena, &private_, err);
	if (code < 0)
		return code;
	others = json_get(private_, "certificates");
	certificates = arena_allocate_array(arena, 1 + json_count(others), sizeof(*certificates));
	JSON_EACH_ITEM (json_get(api, "Certificates"), certificate) {
		certificates[tls.certificate_count++] =
			json_get_text(certificate, "CertificateArn");
		break;
	}
	/* One that was added to itself is the default once more for clients, and is read once. */
	JSON_EACH_ITEM (others, certificate)
		if (!span_equal(json_text(certificate), certificates[0]))
			certificates[tls.certificate_count++] = json_text(certificate);
	tls.certificates = certificates;
	policy = json_get_text(api, "SslPolicy");
	if (policy.data && !elb_ssl_policy_find(policy, arena, &tls.versions))
		return err_set(err, -EINVAL, "listener '%.*s' has the unknown policy '%.*s'",
			SPAN_ARGS(listener->key), SPAN_ARGS(policy));
	*ret_tls = tls;
	return 0;
}
