/*
 * From a state to listeners, actions, backends and slots. First all steps that can fail (the
 * program, certificates, rules, sockets), then the desired state; follow.c sends it to HAProxy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "proxy/haproxy/rule.h"
#include "proxy/haproxy/supervisor.h"

#define BACKLOG 4096
#define DEFAULT_ACTION ""

/* ---- sockets ---- */

static int bind_listener(const struct proxy_listener *listener, int *ret_descriptor,
	struct err *err)
{
	const union proxy_address *address = &listener->address;
	int one = 1;
	char text[PROXY_ADDRESS_TEXT_SIZE];
	_close_ int descriptor =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	proxy_address_format(address, text);
	if (descriptor < 0)
		return err_errno(err, "listener '%s': open a socket for %s", listener->name, text);
	/* Connections from before a restart do not keep the port. */
	setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->any.sa_family == AF_INET6)
		setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(descriptor, &address->any, proxy_address_length(address)) < 0)
		return err_errno(err, "listener '%s': bind %s %s", listener->name,
			proxy_protocol_name(listener->protocol), text);
	if (listen(descriptor, BACKLOG) < 0)
		return err_errno(err, "listener '%s': listen on %s", listener->name, text);
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

static bool is_same_listener(const struct front *old, const struct proxy_listener *wanted)
{
	return old && old->protocol == wanted->protocol &&
	       proxy_address_equal(&old->requested, &wanted->address);
}

/* The socket of a removed or changed listener with the same address: the port is not released. */
static int find_socket(struct haproxy *haproxy, const struct proxy_listener *wanted)
{
	if (proxy_address_port(&wanted->address) == 0)
		return -1;
	MAP_EACH (&haproxy->listeners, entry) {
		const struct front *old = entry->value;

		if (!old->wanted && proxy_address_equal(&old->bound, &wanted->address))
			return old->descriptor;
	}
	return -1;
}

/* One descriptor for each new listener, -1 for the others. */
static int open_sockets(struct haproxy *haproxy, const struct proxy_state *state, int *descriptors,
	struct err *err)
{
	int code = 0;

	MAP_EACH (&haproxy->listeners, entry)
		((struct front *)entry->value)->wanted = false;
	for (size_t i = 0; i < state->listener_count; i++) {
		struct front *old = map_get(&haproxy->listeners, span_of(state->listeners[i].name));

		descriptors[i] = -1;
		if (is_same_listener(old, &state->listeners[i]))
			old->wanted = true;
	}
	for (size_t i = 0; i < state->listener_count && code == 0; i++) {
		const struct proxy_listener *wanted = &state->listeners[i];
		const struct front *old = map_get(&haproxy->listeners, span_of(wanted->name));
		int known;

		if (old && old->wanted)
			continue;
		known = find_socket(haproxy, wanted);
		if (known < 0)
			code = bind_listener(wanted, &descriptors[i], err);
		else if ((descriptors[i] = fcntl(known, F_DUPFD_CLOEXEC, 0)) < 0)
			code = err_errno(err, "listener '%s': keep its socket", wanted->name);
		proxy_listener_fault(state, wanted, code);
	}
	if (code == 0)
		return 0;
	for (size_t i = 0; i < state->listener_count; i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	return code;
}

/* ---- checks ---- */

static bool is_http(enum proxy_protocol protocol)
{
	return protocol == PROXY_HTTP || protocol == PROXY_HTTPS;
}

static int check_listener(const struct proxy_listener *listener, struct err *err)
{
	const struct proxy_http *http = &listener->http;
	_buffer_ struct buffer text = {0};
	int code = 0;

	if (listener->protocol != PROXY_HTTP) {
		for (size_t i = 0; i < http->certificate_count && code == 0; i++)
			code = certificate_check(listener->name, &http->certificates[i], err);
	}
	if (code < 0 || !is_http(listener->protocol))
		return code;
	for (size_t i = 0; i < http->rule_count; i++) {
		buffer_reset(&text);
		rule_add_expression(&text, http->rules[i].conditions,
			http->rules[i].condition_count);
		if (text.length > RULE_TEXT_MAX)
			return err_set(err, -E2BIG,
				"listener '%s': rule '%s': its conditions are too long",
				listener->name, http->rules[i].name);
	}
	return 0;
}

/* ---- groups ---- */

struct building {
	struct haproxy *haproxy;
	struct map groups; /* of the state */
	bool sampled;
};

static void name_group(bool tcp, const char *name, char out[PROXY_NAME_MAX + 3])
{
	snprintf(out, PROXY_NAME_MAX + 3, "%c:%s", tcp ? 't' : 'h', name);
}

/* The backend that a listener's requests for a group go to. The first listener that uses the group
 * decides how to connect to targets. */
static struct backend *need_backend(struct building *building,
	const struct proxy_listener *listener, const char *name)
{
	struct haproxy *haproxy = building->haproxy;
	const struct proxy_group *group = map_get(&building->groups, span_of(name));
	struct shape shape = shape_of(listener, group);
	char key[PROXY_NAME_MAX + 3];
	struct backend *backend;

	name_group(shape.tcp, name, key);
	backend = map_get(&haproxy->groups, span_of(key));
	if (!backend) {
		backend = backend_take(haproxy, &shape, name);
		map_put(&haproxy->groups, span_of(key), backend);
	}
	if (backend->wanted)
		return backend;
	backend->wanted = true;
	backend->shape = shape;
	backend->sticky = group->sticky;
	backend->sticky_s = group->sticky_s;
	free(backend->sticky_name);
	backend->sticky_name = memory_copy_string(group->sticky_name);
	backend->lingers = false;
	backend->proxy_v2 = listener->options.proxy_v2;
	backend_set_targets(haproxy, backend, group, backend->proxy_v2, &building->sampled);
	return backend;
}

/* A group without listeners keeps its targets and open requests as long as it is in the state. */
static void keep_or_release(struct building *building, struct map_entry *entry)
{
	struct haproxy *haproxy = building->haproxy;
	struct backend *backend = entry->value;
	const struct proxy_group *group = map_get(&building->groups, span_of(backend->group));

	if (group) {
		haproxy->must_settle |= !backend->lingers;
		backend->wanted = backend->lingers = true;
		backend_set_targets(haproxy, backend, group, backend->proxy_v2, &building->sampled);
		return;
	}
	backend->lingers = false;
	backend_release(haproxy, backend);
	map_remove(&haproxy->groups, entry->key);
}

/* ---- actions ---- */

static void free_action(struct action *action)
{
	free(action->answer);
	free(action->share);
	free(action);
}

static void forget_routes(struct haproxy *haproxy, const struct action *action)
{
	for (size_t i = 0; i < action->route_count; i++) {
		char key[KEY_SIZE];

		snprintf(key, sizeof(key), "a%u/b%u", action->number,
			action->routes[i].backend->number);
		count_forget(haproxy, key);
	}
}

static bool routes_are(const struct action *action, const struct action_route *routes, size_t count)
{
	bool same = action->route_count == count;

	for (size_t i = 0; same && i < count; i++)
		same = action->routes[i].backend == routes[i].backend &&
		       action->routes[i].weight == routes[i].weight;
	return same;
}

static void set_routes(struct haproxy *haproxy, struct action *action,
	const struct action_route *routes, size_t count)
{
	if (routes_are(action, routes, count))
		return;
	if (action->share)
		count_number(haproxy, action);
	memmove(action->routes, routes, count * sizeof(*routes));
	action->route_count = count;
	action_set_shares(action);
}

static void set_action(struct building *building, struct front *front,
	const struct proxy_listener *listener, const char *name, const struct proxy_action *wanted,
	const struct proxy_route *routes, size_t route_count)
{
	struct haproxy *haproxy = building->haproxy;
	struct action *action = map_get(&front->actions, span_of(name));
	struct action_route next[PROXY_ROUTES_MAX];

	if (!action) {
		action = memory_allocate(sizeof(*action));
		action->number = ++haproxy->next_action;
		map_put(&front->actions, span_of(name), action);
	}
	action->wanted = true;
	action->kind = wanted->kind;
	action->sticky_s = wanted->sticky_s;
	front->keeps_groups |= wanted->sticky_s > 0;
	free(action->answer);
	action->answer = NULL;
	if (wanted->kind != PROXY_FORWARD) {
		route_count = 0;
		action->answer = rows_format_answer(wanted);
	}
	for (size_t i = 0; i < route_count; i++)
		next[i] = (struct action_route){
			need_backend(building, listener, routes[i].group), routes[i].weight};
	set_routes(haproxy, action, next, route_count);
}

struct action *front_default(const struct front *front)
{
	return map_get(&front->actions, span_of(DEFAULT_ACTION));
}

static void set_actions(struct building *building, struct front *front,
	const struct proxy_listener *wanted)
{
	static const struct proxy_action forward = {.kind = PROXY_FORWARD};
	const struct proxy_http *http = &wanted->http;
	const struct proxy_action *otherwise = &http->otherwise;
	_buffer_ struct buffer rules = {0};

	MAP_EACH (&front->actions, entry)
		((struct action *)entry->value)->wanted = false;
	front->needs_fields = false;
	if (is_http(wanted->protocol)) {
		for (size_t i = 0; i < http->rule_count; i++) {
			const struct proxy_rule *rule = &http->rules[i];
			const struct action *action;

			set_action(building, front, wanted, rule->name, &rule->action,
				rule->action.routes, rule->action.route_count);
			action = map_get(&front->actions, span_of(rule->name));
			rule_add_expression(&rules, rule->conditions, rule->condition_count);
			buffer_format(&rules, " a%u\n", action->number);
			front->needs_fields |=
				rule_needs_fields(rule->conditions, rule->condition_count);
		}
	}
	if (!is_http(wanted->protocol) ||
		(otherwise->kind == PROXY_FORWARD && otherwise->route_count == 0))
		set_action(building, front, wanted, DEFAULT_ACTION,
			is_http(wanted->protocol) ? otherwise : &forward, wanted->routes,
			wanted->route_count);
	else
		set_action(building, front, wanted, DEFAULT_ACTION, otherwise, otherwise->routes,
			otherwise->route_count);
	buffer_format(&rules, "^ a%u\n", front_default(front)->number);
	free(front->rules);
	front->rules = buffer_take(&rules, NULL);
	MAP_EACH (&front->actions, entry) {
		struct action *action = entry->value;

		if (action->wanted)
			continue;
		forget_routes(building->haproxy, action);
		map_remove(&front->actions, entry->key);
		free_action(action);
	}
}

/* ---- listeners ---- */

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static void free_front(struct haproxy *haproxy, struct front *front)
{
	char key[KEY_SIZE];

	snprintf(key, sizeof(key), "l%u", front->number);
	count_forget(haproxy, key);
	MAP_EACH (&front->actions, entry) {
		forget_routes(haproxy, entry->value);
		free_action(entry->value);
	}
	map_clear(&front->actions);
	free_texts(front->certificates, front->certificate_count);
	free_texts(front->reported_certificates, front->reported_certificate_count);
	close(front->descriptor);
	free(front->rules);
	free(front->reported_rules);
	free(front->text);
	free(front->reported_text);
	free(front->name);
	free(front);
}

/* An empty line would end a command to HAProxy, so they are removed. */
static char *copy_pem(const char *pem)
{
	_buffer_ struct buffer out = {0};

	while (*pem) {
		size_t length = strcspn(pem, "\r\n");

		if (length > 0) {
			buffer_add(&out, pem, length);
			buffer_add_char(&out, '\n');
		}
		pem += length;
		pem += strspn(pem, "\r\n");
	}
	return buffer_take(&out, NULL);
}

static void set_certificates(struct front *front, const struct proxy_http *http)
{
	free_texts(front->certificates, front->certificate_count);
	front->certificate_count = front->protocol == PROXY_HTTP ? 0 : http->certificate_count;
	front->certificates = memory_allocate_array(front->certificate_count + 1, sizeof(char *));
	for (size_t i = 0; i < front->certificate_count; i++)
		front->certificates[i] = copy_pem(http->certificates[i].pem);
}

static struct front *add_front(struct haproxy *haproxy, const struct proxy_listener *wanted,
	int descriptor)
{
	struct front *front = memory_allocate(sizeof(*front));
	socklen_t length = sizeof(front->bound);

	front->name = memory_copy_string(wanted->name);
	front->number = ++haproxy->next_listener;
	front->protocol = wanted->protocol;
	front->requested = wanted->address;
	front->descriptor = descriptor;
	getsockname(descriptor, &front->bound.any, &length);
	return front;
}

static void set_front(struct building *building, struct front *front,
	const struct proxy_listener *wanted)
{
	_buffer_ struct buffer text = {0};

	front->shape = shape_of(wanted, NULL);
	set_actions(building, front, wanted);
	set_certificates(front, &wanted->http);
	section_add_front(building->haproxy, front, wanted, &text);
	free(front->text);
	front->text = buffer_take(&text, NULL);
}

static void set_listeners(struct building *building, const struct proxy_state *state,
	int *descriptors, struct script *removed)
{
	struct haproxy *haproxy = building->haproxy;
	struct map next = {0};

	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *wanted = &state->listeners[i];
		struct front *front = map_get(&haproxy->listeners, span_of(wanted->name));

		if (front && front->wanted)
			map_remove(&haproxy->listeners, span_of(wanted->name));
		else
			front = add_front(haproxy, wanted, TAKE_FD(descriptors[i]));
		set_front(building, front, wanted);
		map_put(&next, span_of(wanted->name), front);
	}
	MAP_EACH (&haproxy->listeners, entry) {
		follow_removed(removed, entry->value);
		free_front(haproxy, entry->value);
	}
	map_clear(&haproxy->listeners);
	haproxy->listeners = next;
}

/* ---- the calls ---- */

int model_apply(struct haproxy *haproxy, const struct proxy_state *state, struct script *removed,
	struct err *err)
{
	_free_ int *descriptors =
		memory_allocate_array(state->listener_count + 1, sizeof(*descriptors));
	struct building building = {.haproxy = haproxy};
	int code = 0;

	if (state->listener_count > 0)
		code = process_find_program(haproxy, err);
	for (size_t i = 0; i < state->listener_count && code == 0; i++)
		code = proxy_listener_fault(state, &state->listeners[i],
			check_listener(&state->listeners[i], err));
	if (code == 0)
		code = open_sockets(haproxy, state, descriptors, err);
	if (code < 0)
		return code;
	map_clear(&haproxy->group_spec);
	for (size_t i = 0; i < state->group_count; i++) {
		map_put(&building.groups, span_of(state->groups[i].name),
			(void *)&state->groups[i]);
		map_put(&haproxy->group_spec, span_of(state->groups[i].name), haproxy);
	}
	for (size_t i = 0; i < haproxy->backend_count; i++)
		haproxy->backends[i]->wanted = false;
	set_listeners(&building, state, descriptors, removed);
	MAP_EACH (&haproxy->groups, entry) {
		if (!((struct backend *)entry->value)->wanted)
			keep_or_release(&building, entry);
	}
	map_clear(&building.groups);
	rows_fill(haproxy);
	return 0;
}

int model_set_weights(struct haproxy *haproxy, const char *name, const struct proxy_route *routes,
	size_t route_count, struct err *err)
{
	const struct front *front = map_get(&haproxy->listeners, span_of(name));
	struct action_route next[PROXY_ROUTES_MAX];
	struct action *action;

	if (!front)
		return -ENOENT;
	action = front_default(front);
	if (route_count != action->route_count)
		return err_set(err, -EINVAL, "listener '%s': %zu weights for %zu groups", name,
			route_count, action->route_count);
	for (size_t i = 0; i < action->route_count; i++) {
		const char *group = action->routes[i].backend->group;
		size_t at = 0;

		while (at < route_count && strcmp(routes[at].group, group) != 0)
			at++;
		if (at == route_count)
			return err_set(err, -EINVAL, "listener '%s': no weight for group '%s'",
				name, group);
		next[i] = (struct action_route){action->routes[i].backend, routes[at].weight};
	}
	set_routes(haproxy, action, next, route_count);
	rows_set_action(haproxy, action);
	return 0;
}

void model_clear(struct haproxy *haproxy)
{
	MAP_EACH (&haproxy->listeners, entry)
		free_front(haproxy, entry->value);
	map_clear(&haproxy->listeners);
	map_clear(&haproxy->groups);
	map_clear(&haproxy->group_spec);
	for (size_t i = 0; i < haproxy->backend_count; i++)
		backend_free(haproxy->backends[i]);
	free(haproxy->backends);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		table_clear(&haproxy->tables[i]);
}
