/*
 * Rows of HAProxy's maps. A forward is one row, so that a request sees all of its weights or none:
 *
 *     0:STICKY                                  no group
 *     1:STICKY:BACKEND                          one group
 *     2:STICKY:WEIGHT:SUM:SHIFT:B1:B2           two groups: HAProxy computes the choice
 *     3:STICKY:BASE:COUNT:(WEIGHT:SUM:PHASE:B)  more groups, in Lua
 *     4:0:...                                   a fixed response, in Lua
 *
 * Request n (HAProxy's counter, which begins with 1, less BASE + 1) goes to the first backend when
 * (n * WEIGHT + PHASE) modulo SUM is in the last WEIGHT of SUM: proxy/share.h says why, and works out the
 * phases. SHIFT is PHASE with BASE in it, which saves HAProxy some steps.
 */
#include <stdio.h>

#include "base/base64.h"
#include "proxy/haproxy/rule.h"
#include "proxy/haproxy/supervisor.h"

#define NUMBER_BITS 48
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
#define TOKEN_SIZE 17

/* ---- shares ---- */

static uint32_t share_number(const struct share *share)
{
	return (uint32_t)(atomic_load(&share->ticket) & NUMBER_MASK);
}

void action_set_number(struct action *action, uint32_t raw)
{
	uint64_t ticket;

	action->raw = raw;
	if (!action->share)
		return;
	ticket = atomic_load(&action->share->ticket) & ~NUMBER_MASK;
	atomic_store(&action->share->ticket, ticket | (uint32_t)(raw - action->base));
}

void action_set_shares(struct action *action)
{
	struct share_route routes[PROXY_ROUTES_MAX];

	if (action->route_count < 2 && !action->share)
		return;
	if (!action->share)
		action->share = memory_allocate(sizeof(*action->share));
	for (size_t i = 0; i < action->route_count; i++)
		routes[i] = (struct share_route){
			action->routes[i].backend->number, action->routes[i].weight};
	share_set(action->share, routes, action->route_count);
	action->base = action->raw - share_number(action->share);
}

struct level {
	uint32_t weight, sum, phase, backend;
};

/* The groups with a weight. */
static size_t read_levels(const struct action *action, struct level out[PROXY_ROUTES_MAX])
{
	const struct share_table *table;
	size_t count = 0;

	if (!action->share) {
		if (action->route_count == 1 && action->routes[0].weight > 0)
			out[count++] = (struct level){.weight = 1,
				.sum = 1,
				.backend = action->routes[0].backend->number};
		return count;
	}
	table = &action->share->tables[(atomic_load(&action->share->ticket) >> NUMBER_BITS) %
				       SHARE_TABLES];
	for (size_t i = 0; i < atomic_load(&table->count); i++) {
		const struct share_level *level = &table->levels[i];

		if (atomic_load(&level->weight) > 0)
			out[count++] = (struct level){atomic_load(&level->weight),
				atomic_load(&level->sum), atomic_load(&level->phase),
				atomic_load(&level->key)};
	}
	return count;
}

static uint32_t shift_of(const struct action *action, const struct level *level)
{
	uint64_t before = (uint64_t)level->weight * ((uint64_t)action->base + 1) % level->sum;

	return (uint32_t)((level->phase + level->sum - before) % level->sum);
}

static void format_forward(const struct action *action, struct buffer *out)
{
	struct level levels[PROXY_ROUTES_MAX];
	size_t count = read_levels(action, levels);

	buffer_format(out, "%zu:%u", count < 3 ? count : 3, action->sticky_s);
	if (count == 1)
		buffer_format(out, ":b%u", levels[0].backend);
	if (count == 2)
		buffer_format(out, ":%u:%u:%u:b%u:b%u", levels[0].weight, levels[0].sum,
			shift_of(action, &levels[0]), levels[0].backend, levels[1].backend);
	if (count < 3)
		return;
	buffer_format(out, ":%u:%zu", action->base, count);
	for (size_t i = 0; i < count; i++)
		buffer_format(out, ":%u:%u:%u:b%u", levels[i].weight, levels[i].sum,
			levels[i].phase, levels[i].backend);
}

/* ---- fixed responses ---- */

static void add_encoded(struct buffer *out, const char *text)
{
	buffer_add_char(out, ':');
	if (text)
		base64_encode(span_of(text), out);
	else
		buffer_add_char(out, '-'); /* no base64 */
}

char *rows_format_answer(const struct proxy_action *action)
{
	_buffer_ struct buffer out = {0};

	if (action->kind == PROXY_FIXED) {
		buffer_format(&out, "4:0:f:%d", action->status);
		add_encoded(&out, action->content_type);
		add_encoded(&out, action->body);
	} else {
		const char *parts[] = {
			action->protocol, action->host, action->port, action->path, action->query};

		buffer_format(&out, "4:0:r:%d", action->status);
		for (size_t i = 0; i < LENGTH(parts); i++)
			add_encoded(&out, parts[i]);
	}
	return buffer_take(&out, NULL);
}

/* ---- tokens: cookie values of groups and targets, the same in every process ---- */

static void format_token(const char *group, const char *target, char out[TOKEN_SIZE])
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (const char *text = group; text; text = text == group ? target : NULL) {
		/* With the NUL, so that the boundaries count. */
		for (size_t i = 0; i <= strlen(text); i++)
			hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	}
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	hash ^= hash >> 32;
	snprintf(out, TOKEN_SIZE, "%016llx", (unsigned long long)hash);
}

/* ---- rows ---- */

void rows_set_action(struct haproxy *haproxy, const struct action *action)
{
	_buffer_ struct buffer row = {0};
	char key[KEY_SIZE];

	snprintf(key, sizeof(key), "a%u", action->number);
	if (action->answer)
		buffer_add_string(&row, action->answer);
	else
		format_forward(action, &row);
	table_set(&haproxy->tables[TABLE_ACTIONS], key, row.data);
}

static void set_members(struct haproxy *haproxy, const struct action *action)
{
	for (size_t i = 0; action->sticky_s > 0 && i < action->route_count; i++) {
		const struct backend *backend = action->routes[i].backend;
		char token[TOKEN_SIZE], key[2 * KEY_SIZE], value[KEY_SIZE];

		format_token(backend->group, NULL, token);
		snprintf(key, sizeof(key), "a%u/%s", action->number, token);
		snprintf(value, sizeof(value), "b%u", backend->number);
		table_set(&haproxy->tables[TABLE_MEMBERS], key, value);
	}
}

static void set_front(struct haproxy *haproxy, const struct front *front)
{
	char key[KEY_SIZE], value[KEY_SIZE];

	snprintf(key, sizeof(key), "l%u", front->number);
	snprintf(value, sizeof(value), "a%u", front_default(front)->number);
	if (front->actions.count > 1)
		snprintf(value, sizeof(value), "%s", front->needs_fields ? "+" : "*");
	table_set(&haproxy->tables[TABLE_LISTENERS], key, value);
	MAP_EACH (&front->actions, entry) {
		rows_set_action(haproxy, entry->value);
		set_members(haproxy, entry->value);
	}
}

/* Expressions that find an application's cookie in a request's Cookie and a response's fields. */
static void set_application(struct haproxy *haproxy, const struct backend *backend)
{
	_buffer_ struct buffer name = {0}, expression = {0};

	rule_add_literal(&name, backend->sticky_name);
	buffer_format(&expression, "^q:b%u\\n(?:[^\\n]*;\\x20*)?%s=", backend->number, name.data);
	table_set(&haproxy->tables[TABLE_APPLICATION], expression.data, "1");
	buffer_reset(&expression);
	buffer_format(&expression,
		"^r:b%u\\n(?:[^\\n]*+\\n)*?set\\x2dcookie:\\x20*%s=", backend->number, name.data);
	table_set(&haproxy->tables[TABLE_APPLICATION], expression.data, "1");
}

static void set_sticky(struct haproxy *haproxy, const struct backend *backend)
{
	bool application = backend->sticky == PROXY_STICKY_APP_COOKIE;
	char key[2 * KEY_SIZE], value[KEY_SIZE], token[TOKEN_SIZE];

	snprintf(key, sizeof(key), "b%u", backend->number);
	snprintf(value, sizeof(value), "%c:%u", application ? 'a' : 'c', backend->sticky_s);
	table_set(&haproxy->tables[TABLE_STICKY], key, value);
	if (application)
		set_application(haproxy, backend);
	for (size_t i = 0; i < backend->target_count; i++) {
		const struct slot *slot = &backend->slots[i];
		char address[PROXY_ADDRESS_TEXT_SIZE];

		proxy_address_format(&slot->address, address);
		format_token(backend->group, address, token);
		snprintf(key, sizeof(key), "b%u/s%u", backend->number, slot->number);
		table_set(&haproxy->tables[TABLE_TOKENS], key, token);
		/* The cookie of a draining target does not match: the client gets another
		 * target. */
		if (slot->state != PROXY_TARGET_ACTIVE)
			continue;
		snprintf(value, sizeof(value), "s%u", slot->number);
		snprintf(key, sizeof(key), "b%u/%s", backend->number, token);
		table_set(&haproxy->tables[TABLE_TARGETS], key, value);
	}
}

static void set_group(struct haproxy *haproxy, const struct backend *backend)
{
	char key[KEY_SIZE], token[TOKEN_SIZE];

	snprintf(key, sizeof(key), "b%u", backend->number);
	format_token(backend->group, NULL, token);
	table_set(&haproxy->tables[TABLE_GROUPS], key, token);
	if (backend->sticky != PROXY_STICKY_NONE)
		set_sticky(haproxy, backend);
}

void rows_fill(struct haproxy *haproxy)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		table_begin(&haproxy->tables[i]);
	MAP_EACH (&haproxy->listeners, entry)
		set_front(haproxy, entry->value);
	MAP_EACH (&haproxy->groups, entry)
		set_group(haproxy, entry->value);
}

static void restart_front(struct haproxy *haproxy, const struct front *front)
{
	MAP_EACH (&front->actions, entry) {
		struct action *action = entry->value;

		action->raw = 0;
		action->base = action->share ? 0 - share_number(action->share) : 0;
		rows_set_action(haproxy, action);
	}
}

void rows_restart(struct haproxy *haproxy)
{
	MAP_EACH (&haproxy->listeners, entry)
		restart_front(haproxy, entry->value);
}
