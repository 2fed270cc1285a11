/*
 * Counters. HAProxy counts per process and per name; this file adds up the differences between two
 * samples per name, so that counts continue when processes and slots change.
 */
#include <stdarg.h>
#include <stdio.h>

#include "proxy/haproxy/supervisor.h"

/* ---- reading ---- */

static struct proxy_counters *tally_of(struct haproxy *haproxy, struct span key)
{
	struct proxy_counters *tally = map_get(&haproxy->tallies, key);

	if (!tally) {
		tally = memory_allocate(sizeof(*tally));
		map_put(&haproxy->tallies, key, tally);
	}
	return tally;
}

void count_forget(struct haproxy *haproxy, const char *key)
{
	free(map_remove(&haproxy->tallies, span_of(key)));
}

static void add_difference(struct haproxy *haproxy, struct process *process, struct span key,
	const struct proxy_counters *now)
{
	struct proxy_counters *before = map_get(&process->seen, key);
	struct proxy_counters *tally = tally_of(haproxy, key);

	if (!before) {
		before = memory_allocate(sizeof(*before));
		map_put(&process->seen, key, before);
	}
#define ADD_(member)                                                                               \
	if (now->member > before->member)                                                          \
		tally->member += now->member - before->member;
	ADD_(connections)
	ADD_(bytes_in)
	ADD_(bytes_out)
	ADD_(connect_failures)
	ADD_(retries)
	ADD_(failed)
	ADD_(resets)
	for (size_t i = 0; i < PROXY_CLASSES; i++) {
		ADD_(responses[i])
	}
#undef ADD_
	*before = *now;
}

/* Columns of "show stat", whose order is stable. */
enum {
	COLUMN_PROXY = 0,
	COLUMN_SERVER = 1,
	COLUMN_ACTIVE = 4,
	COLUMN_TOTAL = 7,
	COLUMN_IN = 8,
	COLUMN_OUT = 9,
	COLUMN_FAILED = 13,
	COLUMN_RETRIES = 15,
	COLUMN_REDISPATCHES = 16,
	COLUMN_CLASSES = 39, /* 1xx; others follow */
	COLUMN_RESPONSE_MS = 60,
	COLUMN_COUNT = 61,
};

static void read_stat_line(struct haproxy *haproxy, struct process *process, struct span line)
{
	struct span columns[COLUMN_COUNT], key = SPAN_NONE;
	uint64_t values[COLUMN_COUNT] = {0};
	struct proxy_counters now;
	char text[2 * KEY_SIZE];
	uint64_t retries;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (!span_split(line, ',', &columns[i], &line))
			return;
		span_to_unsigned(columns[i], UINT64_MAX, &values[i]);
	}
	if (columns[COLUMN_PROXY].length < 2 || columns[COLUMN_PROXY].data[0] != 'b' ||
		columns[COLUMN_PROXY].length + columns[COLUMN_SERVER].length + 2 > sizeof(text))
		return;
	if (span_is(columns[COLUMN_SERVER], "BACKEND"))
		snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(columns[COLUMN_PROXY]));
	else
		snprintf(text, sizeof(text), "%.*s/%.*s", SPAN_ARGS(columns[COLUMN_PROXY]),
			SPAN_ARGS(columns[COLUMN_SERVER]));
	key = span_of(text);
	/* With the same target, or with another. */
	retries = values[COLUMN_RETRIES] + values[COLUMN_REDISPATCHES];
	now = (struct proxy_counters){
		.connections = values[COLUMN_TOTAL],
		.active = values[COLUMN_ACTIVE],
		.bytes_in = values[COLUMN_IN],
		.bytes_out = values[COLUMN_OUT],
		.connect_failures = values[COLUMN_FAILED] + retries,
		.retries = retries,
		.failed = values[COLUMN_FAILED],
		.response_ms = values[COLUMN_RESPONSE_MS],
	};
	memcpy(now.responses, &values[COLUMN_CLASSES], sizeof(now.responses));
	/* Spare backends are not reported. */
	if (now.connections + now.connect_failures > 0 || map_has(&process->seen, key))
		add_difference(haproxy, process, key, &now);
}

static uint64_t word_after(struct span line, const char *name)
{
	const char *at = memmem(line.data, line.length, name, strlen(name));

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static struct span key_of(struct span line)
{
	static const char mark[] = "key=";
	const char *at = memmem(line.data, line.length, mark, strlen(mark));

	if (!at)
		return SPAN_NONE;
	at += strlen(mark);
	return (struct span){at, strcspn(at, " \n")};
}

static void read_route_line(struct haproxy *haproxy, struct process *process, struct span line)
{
	struct span key = key_of(line);
	struct proxy_counters now = {
		.connections = word_after(line, " http_req_cnt="),
		.active = word_after(line, " conn_cur="),
		.bytes_in = word_after(line, " bytes_in_cnt="),
		.bytes_out = word_after(line, " bytes_out_cnt="),
	};

	if (now.connections == 0)
		now.connections = word_after(line, " conn_cnt=");
	if (key.data)
		add_difference(haproxy, process, key, &now);
}

static void each_line(struct haproxy *haproxy, struct process *process, const char *question,
	void (*read_line)(struct haproxy *haproxy, struct process *process, struct span line))
{
	_buffer_ struct buffer answer = {0};
	struct span rest, line;

	if (process_ask(haproxy, process, question, strlen(question), &answer) < 0)
		return; /* the thread that polls it will see */
	rest = buffer_span(&answer);
	while (span_split(rest, '\n', &line, &rest))
		read_line(haproxy, process, line);
	read_line(haproxy, process, rest);
}

void count_sample(struct haproxy *haproxy, struct process *process)
{
	each_line(haproxy, process, "show stat -1 6 -1", read_stat_line);
	each_line(haproxy, process, "show table routes", read_route_line);
}

/* ---- numbers ---- */

static void read_number_line(struct haproxy *haproxy, struct process *process, struct span line)
{
	struct span key = key_of(line);
	uint32_t *raw;

	(void)process;
	if (!key.data)
		return;
	raw = map_get(&haproxy->numbers, key);
	if (!raw) {
		raw = memory_allocate(sizeof(*raw));
		map_put(&haproxy->numbers, key, raw);
	}
	*raw = (uint32_t)word_after(line, " gpc0=");
}

static void forget_numbers(struct haproxy *haproxy)
{
	MAP_EACH (&haproxy->numbers, entry)
		free(entry->value);
	map_clear(&haproxy->numbers);
}

static void take_numbers(struct haproxy *haproxy, const struct front *front)
{
	MAP_EACH (&front->actions, entry) {
		struct action *action = entry->value;
		char key[KEY_SIZE];
		const uint32_t *raw;

		snprintf(key, sizeof(key), "a%u", action->number);
		raw = map_get(&haproxy->numbers, span_of(key));
		if (raw)
			action_set_number(action, *raw);
	}
}

void count_numbers(struct haproxy *haproxy, struct process *process)
{
	each_line(haproxy, process, "show table counters", read_number_line);
	MAP_EACH (&haproxy->listeners, entry)
		take_numbers(haproxy, entry->value);
	forget_numbers(haproxy);
}

void count_number(struct haproxy *haproxy, struct action *action)
{
	char question[KEY_SIZE + 32], key[KEY_SIZE];
	const uint32_t *raw;

	if (!haproxy->current)
		return;
	snprintf(key, sizeof(key), "a%u", action->number);
	snprintf(question, sizeof(question), "show table counters key %s", key);
	each_line(haproxy, haproxy->current, question, read_number_line);
	raw = map_get(&haproxy->numbers, span_of(key));
	if (raw)
		action_set_number(action, *raw);
	forget_numbers(haproxy);
}

/* ---- reporting ---- */

static void add_up(struct proxy_counters *sum, const struct proxy_counters *more)
{
	sum->connections += more->connections;
	sum->active += more->active;
	sum->bytes_in += more->bytes_in;
	sum->bytes_out += more->bytes_out;
	sum->connect_failures += more->connect_failures;
	sum->retries += more->retries;
	sum->failed += more->failed;
	sum->resets += more->resets;
	for (size_t i = 0; i < PROXY_CLASSES; i++)
		sum->responses[i] += more->responses[i];
	if (more->response_ms > 0)
		sum->response_ms = more->response_ms;
}

__attribute__((format(printf, 2, 3))) static struct proxy_counters tally(struct haproxy *haproxy,
	const char *format, ...)
{
	struct proxy_counters *found, out = {0};
	char key[KEY_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(key, sizeof(key), format, arguments);
	va_end(arguments);
	found = map_get(&haproxy->tallies, span_of(key));
	if (found)
		out = *found;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		found = map_get(&haproxy->processes[i].seen, span_of(key));
		if (!found)
			continue;
		out.active += found->active;
		/* A process that ends has the older ones. */
		if (out.response_ms == 0 || &haproxy->processes[i] == haproxy->current)
			out.response_ms = found->response_ms;
	}
	return out;
}

uint64_t count_active(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot)
{
	return tally(haproxy, "b%u/s%u", backend->number, slot->number).active;
}

static struct proxy_route_report *route_of(struct proxy_listener_report *out, const char *group)
{
	for (size_t i = 0; i < out->route_count; i++) {
		if (strcmp(out->routes[i].group, group) == 0)
			return &out->routes[i];
	}
	out->routes[out->route_count].group = group;
	return &out->routes[out->route_count++];
}

static void report_action(struct haproxy *haproxy, const struct action *action, bool is_default,
	struct proxy_listener_report *out)
{
	for (size_t i = 0; i < action->route_count; i++) {
		const struct backend *backend = action->routes[i].backend;
		struct proxy_route_report *route = route_of(out, backend->group);
		struct proxy_counters counters =
			tally(haproxy, "a%u/b%u", action->number, backend->number);

		if (is_default)
			route->weight = action->routes[i].weight;
		add_up(&route->counters, &counters);
	}
}

static void report_listener(struct haproxy *haproxy, const struct front *front, struct arena *arena,
	struct proxy_listener_report *out)
{
	const struct action *otherwise = front_default(front);
	size_t most = 0;

	out->name = arena_copy_string(arena, front->name);
	out->protocol = front->protocol;
	out->address = front->bound;
	MAP_EACH (&front->actions, entry)
		most += ((struct action *)entry->value)->route_count;
	out->routes = arena_allocate_array(arena, most + 1, sizeof(*out->routes));
	/* Those of the default first, in their order. */
	report_action(haproxy, otherwise, true, out);
	MAP_EACH (&front->actions, entry) {
		if (entry->value != otherwise)
			report_action(haproxy, entry->value, false, out);
	}
	for (size_t i = 0; i < out->route_count; i++) {
		const struct backend *backend;
		char key[PROXY_NAME_MAX + 3];
		struct proxy_counters failures;

		snprintf(key, sizeof(key), "%c:%s", front->protocol == PROXY_TLS_END ? 't' : 'h',
			out->routes[i].group);
		backend = map_get(&haproxy->groups, span_of(key));
		failures = tally(haproxy, "b%u", backend->number);
		out->routes[i].group = arena_copy_string(arena, out->routes[i].group);
		add_up(&out->counters, &out->routes[i].counters);
		out->counters.failed += failures.failed;
		out->counters.retries += failures.retries;
		out->counters.connect_failures += failures.connect_failures;
	}
}

static void report_backend(struct haproxy *haproxy, const struct backend *backend,
	struct proxy_group_report *out)
{
	struct proxy_counters of_backend = tally(haproxy, "b%u", backend->number);

	for (size_t i = 0; i < backend->target_count; i++) {
		const struct slot *slot = &backend->slots[i];
		struct proxy_target_report *target = &out->targets[out->target_count++];

		target->address = slot->address;
		target->state = slot->state;
		target->counters = tally(haproxy, "b%u/s%u", backend->number, slot->number);
	}
	add_up(&out->counters, &of_backend);
}

/* A group with HTTP and TCP listeners has two backends, reported as one group. */
static void report_group(struct haproxy *haproxy, const char *name, struct arena *arena,
	struct proxy_group_report *out)
{
	const struct backend *backends[2];
	size_t most = 0;

	for (size_t i = 0; i < 2; i++) {
		char key[PROXY_NAME_MAX + 3];

		snprintf(key, sizeof(key), "%c:%s", i ? 't' : 'h', name);
		backends[i] = map_get(&haproxy->groups, span_of(key));
		most += backends[i] ? backends[i]->target_count : 0;
	}
	out->name = arena_copy_string(arena, name);
	out->targets = arena_allocate_array(arena, most + 1, sizeof(*out->targets));
	for (size_t i = 0; i < 2; i++) {
		size_t first = out->target_count;

		if (!backends[i])
			continue;
		report_backend(haproxy, backends[i], out);
		if (i == 0 || first == 0)
			continue;
		for (size_t k = first; k < out->target_count; k++)
			add_up(&out->targets[k - first].counters, &out->targets[k].counters);
		out->target_count = first;
	}
}

void count_report(struct haproxy *haproxy, struct arena *arena, struct proxy_report *report)
{
	struct proxy_listener_report *listeners;
	struct proxy_group_report *groups;

	listeners = arena_allocate_array(arena,
		report->listener_count + haproxy->listeners.count + 1, sizeof(*listeners));
	if (report->listener_count > 0)
		memcpy(listeners, report->listeners, report->listener_count * sizeof(*listeners));
	report->listeners = listeners;
	MAP_EACH (&haproxy->listeners, entry)
		report_listener(haproxy, entry->value, arena, &listeners[report->listener_count++]);
	groups = arena_allocate_array(arena, report->group_count + haproxy->group_spec.count + 1,
		sizeof(*groups));
	if (report->group_count > 0)
		memcpy(groups, report->groups, report->group_count * sizeof(*groups));
	report->groups = groups;
	MAP_EACH (&haproxy->group_spec, entry)
		report_group(haproxy, entry->key.data, arena, &groups[report->group_count++]);
	report->worker_starts += haproxy->process_starts;
}

void count_clear(struct haproxy *haproxy)
{
	MAP_EACH (&haproxy->tallies, entry)
		free(entry->value);
	map_clear(&haproxy->tallies);
}
