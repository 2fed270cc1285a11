#include "proxy/http_check.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define WHERE_SIZE (2 * PROXY_NAME_MAX + 64)

/* ---- text ---- */

bool proxy_is_token(const char *text)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (const char *at = text; *at; at++) {
		if (!(*at >= '0' && *at <= '9') && !((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') &&
			!strchr(marks, *at))
			return false;
	}
	return *text != 0;
}

/* A request has no line end and no NUL, so neither may be in values that are compared with it or
 * become part of a header. */
static bool is_one_line(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at < 0x20 || *at == 0x7f)
			return false;
	}
	return true;
}

static int check_text(const char *where, const char *what, const char *text, struct err *err)
{
	if (strlen(text) > PROXY_VALUE_TEXT_MAX)
		return err_set(err, -E2BIG, "%s: %s '%.32s...' is longer than %d bytes", where,
			what, text, PROXY_VALUE_TEXT_MAX);
	if (!is_one_line(text))
		return err_set(err, -EINVAL, "%s: %s has a control character", where, what);
	return 0;
}

/* ---- conditions ---- */

static int check_source(const char *where, const char *text, struct err *err)
{
	char host[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	unsigned char bytes[16];
	uint64_t bits = 0;
	bool v6;

	if (slash && length < sizeof(host)) {
		memcpy(host, text, length);
		host[length] = 0;
		v6 = strchr(host, ':') != NULL;
		if (inet_pton(v6 ? AF_INET6 : AF_INET, host, bytes) == 1 &&
			span_to_unsigned(span_of(slash + 1), v6 ? 128 : 32, &bits))
			return 0;
	}
	return err_set(err, -EINVAL, "%s: source '%.64s' is not an address with a prefix length",
		where, text);
}

static int check_value(const char *where, const struct proxy_condition *condition,
	const struct proxy_value *value, struct err *err)
{
	int code;

	if (!value->value)
		return err_set(err, -EINVAL, "%s: a condition's value is missing", where);
	if (value->key && condition->kind != PROXY_IF_QUERY)
		return err_set(err, -EINVAL, "%s: only values of a query have keys", where);
	code = check_text(where, "value", value->value, err);
	if (code == 0 && value->key)
		code = check_text(where, "key", value->key, err);
	if (code == 0 && condition->kind == PROXY_IF_SOURCE)
		code = check_source(where, value->value, err);
	return code;
}

static int check_condition(const char *where, const struct proxy_condition *condition,
	size_t *values, struct err *err)
{
	if (condition->kind < PROXY_IF_HOST || condition->kind > PROXY_IF_VERSION)
		return err_set(err, -EINVAL, "%s: a condition of unknown kind", where);
	if (condition->value_count == 0)
		return err_set(err, -EINVAL, "%s: a condition has no value", where);
	*values += condition->value_count;
	if (*values > PROXY_VALUES_MAX)
		return err_set(err, -E2BIG, "%s: its conditions have more than %d values", where,
			PROXY_VALUES_MAX);
	if (condition->kind == PROXY_IF_HEADER) {
		if (!condition->name || !proxy_is_token(condition->name))
			return err_set(err, -EINVAL, "%s: a condition has no name of a header",
				where);
		if (strlen(condition->name) > PROXY_VALUE_TEXT_MAX)
			return err_set(err, -E2BIG, "%s: header '%.32s...' is longer than %d bytes",
				where, condition->name, PROXY_VALUE_TEXT_MAX);
	}
	for (size_t i = 0; i < condition->value_count; i++) {
		int code = check_value(where, condition, &condition->values[i], err);

		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- actions ---- */

int proxy_routes_check(const char *where, const struct proxy_route *routes, size_t route_count,
	const struct map *groups, struct err *err)
{
	_map_ struct map seen = {0};

	if (route_count > PROXY_ROUTES_MAX)
		return err_set(err, -E2BIG, "%s: %zu groups, more than %d", where, route_count,
			PROXY_ROUTES_MAX);
	for (size_t i = 0; i < route_count; i++) {
		const struct proxy_route *route = &routes[i];

		if (!route->group || !map_has(groups, span_of(route->group)))
			return err_set(err, -ENOENT, "%s: there is no group '%.64s'", where,
				route->group ? route->group : "");
		if (route->weight > PROXY_WEIGHT_MAX)
			return err_set(err, -EINVAL, "%s: weight %u of group '%s' is above %d",
				where, route->weight, route->group, PROXY_WEIGHT_MAX);
		if (map_put(&seen, span_of(route->group), &seen))
			return err_set(err, -EEXIST, "%s: group '%s' is there twice", where,
				route->group);
	}
	return 0;
}

static int check_redirect(const char *where, const struct proxy_action *action, struct err *err)
{
	const struct {
		const char *name, *text;
	} parts[] = {
		{"protocol", action->protocol},
		{"host", action->host},
		{"port", action->port},
		{"path", action->path},
		{"query", action->query},
	};

	if (action->status != 301 && action->status != 302)
		return err_set(err, -EINVAL, "%s: a redirect with status %d, neither 301 nor 302",
			where, action->status);
	for (size_t i = 0; i < LENGTH(parts); i++) {
		int code = parts[i].text ? check_text(where, parts[i].name, parts[i].text, err) : 0;

		if (code < 0)
			return code;
	}
	return 0;
}

static int check_fixed(const char *where, const struct proxy_action *action, struct err *err)
{
	if (action->status < 200 || action->status > 599)
		return err_set(err, -EINVAL, "%s: status %d is not between 200 and 599", where,
			action->status);
	if (action->body && strlen(action->body) > PROXY_BODY_MAX)
		return err_set(err, -E2BIG, "%s: the body is longer than %d bytes", where,
			PROXY_BODY_MAX);
	if (action->content_type)
		return check_text(where, "content type", action->content_type, err);
	return 0;
}

static int check_action(const char *where, const struct proxy_action *action,
	const struct map *groups, struct err *err)
{
	switch (action->kind) {
	case PROXY_FORWARD:
		if (action->sticky_s > PROXY_STICKY_MAX_S)
			return err_set(err, -EINVAL, "%s: sticky for %u s, longer than %d", where,
				action->sticky_s, PROXY_STICKY_MAX_S);
		return proxy_routes_check(where, action->routes, action->route_count, groups, err);
	case PROXY_REDIRECT: return check_redirect(where, action, err);
	case PROXY_FIXED: return check_fixed(where, action, err);
	}
	return err_set(err, -EINVAL, "%s: an action of unknown kind", where);
}

/* ---- listeners ---- */

static int check_rule(const struct proxy_listener *listener, const struct proxy_rule *rule,
	const struct map *groups, struct err *err)
{
	char where[WHERE_SIZE];
	size_t values = 0;
	int code = 0;

	snprintf(where, sizeof(where), "listener '%s': rule '%s'", listener->name, rule->name);
	if (rule->condition_count > PROXY_CONDITIONS_MAX)
		return err_set(err, -E2BIG, "%s: %zu conditions, more than %d", where,
			rule->condition_count, PROXY_CONDITIONS_MAX);
	for (size_t i = 0; i < rule->condition_count && code == 0; i++)
		code = check_condition(where, &rule->conditions[i], &values, err);
	if (code == 0)
		code = check_action(where, &rule->action, groups, err);
	return code;
}

static int check_rules(const struct proxy_listener *listener, const struct map *groups,
	struct err *err)
{
	const struct proxy_http *http = &listener->http;
	_map_ struct map seen = {0};

	if (http->rule_count > PROXY_RULES_MAX)
		return err_set(err, -E2BIG, "listener '%s': %zu rules, more than %d",
			listener->name, http->rule_count, PROXY_RULES_MAX);
	for (size_t i = 0; i < http->rule_count; i++) {
		const struct proxy_rule *rule = &http->rules[i];
		int code;

		if (!rule->name || !*rule->name)
			return err_set(err, -EINVAL, "listener '%s': a rule has no name",
				listener->name);
		if (strlen(rule->name) > PROXY_NAME_MAX)
			return err_set(err, -E2BIG,
				"listener '%s': the name of rule '%.32s...' is longer than %d "
				"bytes",
				listener->name, rule->name, PROXY_NAME_MAX);
		if (map_put(&seen, span_of(rule->name), &seen))
			return err_set(err, -EEXIST, "listener '%s': rule '%s' is there twice",
				listener->name, rule->name);
		code = check_rule(listener, rule, groups, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_certificates(const struct proxy_listener *listener, struct err *err)
{
	const struct proxy_http *http = &listener->http;

	if (http->certificate_count == 0)
		return err_set(err, -EINVAL, "listener '%s': %s needs a certificate",
			listener->name, proxy_protocol_name(listener->protocol));
	if (http->certificate_count > PROXY_CERTIFICATES_MAX)
		return err_set(err, -E2BIG, "listener '%s': %zu certificates, more than %d",
			listener->name, http->certificate_count, PROXY_CERTIFICATES_MAX);
	for (size_t i = 0; i < http->certificate_count; i++) {
		const struct proxy_certificate *certificate = &http->certificates[i];
		const char *name = certificate->name ? certificate->name : "";

		if (!certificate->pem || !*certificate->pem)
			return err_set(err, -EINVAL, "listener '%s': certificate '%.64s' is empty",
				listener->name, name);
		if (strlen(certificate->pem) > PROXY_CERTIFICATE_TEXT_MAX)
			return err_set(err, -E2BIG,
				"listener '%s': certificate '%.64s' is longer than %d bytes",
				listener->name, name, PROXY_CERTIFICATE_TEXT_MAX);
	}
	return 0;
}

int proxy_http_check(const struct proxy_listener *listener, const struct map *groups,
	struct err *err)
{
	const struct proxy_http *http = &listener->http;
	char where[WHERE_SIZE];
	int code = 0;

	if (listener->protocol == PROXY_HTTPS || listener->protocol == PROXY_TLS_END)
		code = check_certificates(listener, err);
	if (code < 0 || listener->protocol == PROXY_TLS_END)
		return code;
	if (http->forwarded > PROXY_FORWARDED_REMOVE)
		return err_set(err, -EINVAL, "listener '%s': unknown treatment of X-Forwarded-For",
			listener->name);
	code = check_rules(listener, groups, err);
	if (code < 0)
		return code;
	snprintf(where, sizeof(where), "listener '%s'", listener->name);
	return check_action(where, &http->otherwise, groups, err);
}
