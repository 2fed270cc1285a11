/*
 * Sends changes as commands to running processes. Order: servers first, then their map rows, then
 * the routing to them, last removed servers: a request at any moment finds a valid one.
 */
#include <stdio.h>

#include "proxy/haproxy/supervisor.h"

/* ---- servers ---- */

static void format_host(const union proxy_address *address, char out[PROXY_ADDRESS_TEXT_SIZE])
{
	char *end;

	proxy_address_format(address, out);
	end = strrchr(out, ':');
	*end = 0;
	if (out[0] == '[') { /* HAProxy wants none here */
		end[-1] = 0;
		memmove(out, out + 1, strlen(out));
	}
}

/* Returns whether it gets no new requests from now on. */
static bool server_comes(struct haproxy *haproxy, const struct backend *backend, struct slot *slot,
	struct script *script)
{
	_buffer_ struct buffer text = {0};
	uint32_t needs = backend->number + 1;
	unsigned weight = slot_weight(haproxy, backend, slot);
	bool drains = slot->exists && weight == 0 && slot->reported_weight > 0;
	char host[PROXY_ADDRESS_TEXT_SIZE];

	if (!slot->exists) {
		section_add_server(slot, &text);
		script_add(script, needs, false, "add server b%u/s%u %s weight %u", backend->number,
			slot->number, text.data, weight);
	} else if (!proxy_address_equal(&slot->reported_address, &slot->address)) {
		format_host(&slot->address, host);
		script_add(script, needs, false, "set server b%u/s%u addr %s port %u",
			backend->number, slot->number, host, proxy_address_port(&slot->address));
	}
	if (slot->exists && weight != slot->reported_weight)
		script_add(script, needs, false, "set server b%u/s%u weight %u", backend->number,
			slot->number, weight);
	if (slot_is_ready(slot) && !slot->reported_ready)
		script_add(script, needs, false, "set server b%u/s%u state ready", backend->number,
			slot->number);
	slot->exists = true;
	slot->reported_address = slot->address;
	slot->reported_weight = weight;
	slot->reported_ready |= slot_is_ready(slot);
	return drains;
}

static void server_goes(const struct backend *backend, struct slot *slot, struct script *script)
{
	uint32_t needs = backend->number + 1;
	bool optional = !slot->exists; /* only older processes have it */

	script_add(script, needs, optional, "set server b%u/s%u state maint", backend->number,
		slot->number);
	if (backend->group)
		script_add(script, needs, optional, "shutdown sessions server b%u/s%u",
			backend->number, slot->number);
	slot->reported_ready = slot->leaves = false;
}

static bool follow_servers(struct haproxy *haproxy, bool come, struct script *script)
{
	bool drains = false;

	for (size_t i = 0; i < haproxy->backend_count; i++) {
		struct backend *backend = haproxy->backends[i];

		for (size_t k = 0; k < backend->slot_count; k++) {
			struct slot *slot = &backend->slots[k];

			if (come && slot->used)
				drains |= server_comes(haproxy, backend, slot, script);
			if (!come && slot_must_go(haproxy, backend, slot))
				server_goes(backend, slot, script);
		}
	}
	return drains;
}

/* HAProxy answers this when no thread is in the middle of a request's routing: each has chosen its
 * server by then, and is counted there. */
static void wait_for_choices(struct script *script)
{
	script_add(script, 0, true, "del server none/none");
}

/* ---- maps ---- */

/* Minimum number of backends of a process for the row. */
static uint32_t backends_of_row(size_t which, const char *value)
{
	uint32_t most = 0;

	/* Other rows have no backend, or text of users. */
	if ((which != TABLE_ACTIONS || value[0] == '4') && which != TABLE_MEMBERS)
		return 0;
	for (const char *at = value; at; at = strchr(at, ':')) {
		at += *at == ':';
		if (at[0] == 'b') {
			uint32_t number = (uint32_t)strtoul(at + 1, NULL, 10);

			if (number + 1 > most)
				most = number + 1;
		}
	}
	return most;
}

/* A key as a word of a command. */
static void add_word(struct buffer *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == ';' || *text == ' ')
			buffer_add_char(out, '\\');
		buffer_add_char(out, *text);
	}
}

static void follow_row(size_t which, const char *key, struct row *row, struct script *script)
{
	_buffer_ struct buffer word = {0};

	if (row->reported && strcmp(row->reported, row->value) == 0)
		return;
	add_word(&word, key);
	script_add(script, backends_of_row(which, row->value), false, "%s map %s %s %s",
		row->reported ? "set" : "add", table_files[which], word.data, row->value);
	free(row->reported);
	row->reported = memory_copy_string(row->value);
}

static void delete_row(const char *file, const char *key, const struct row *row,
	struct script *script)
{
	_buffer_ struct buffer word = {0};

	add_word(&word, key);
	if (row->reported)
		script_add(script, 0, true, "del map %s %s", file, word.data);
}

static void follow_table(struct haproxy *haproxy, size_t which, struct script *script)
{
	MAP_EACH (&haproxy->tables[which].rows, entry) {
		struct row *row = entry->value;

		if (row->wanted) {
			follow_row(which, entry->key.data, row, script);
		} else if (row->gone_us == 0) {
			row->gone_us = runner_now_us(haproxy->runner);
			haproxy->graves = true;
			if (which != TABLE_TARGETS)
				continue;
			/* A request without it gets another target, at once. */
			delete_row(table_files[which], entry->key.data, row, script);
			free(row->reported);
			row->reported = NULL;
		}
	}
}

void follow_graves(struct haproxy *haproxy, struct script *script)
{
	int64_t now = runner_now_us(haproxy->runner);

	haproxy->graves = false;
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		MAP_EACH (&haproxy->tables[i].rows, entry) {
			struct row *row = entry->value;

			if (row->wanted || row->gone_us == 0)
				continue;
			if (now - row->gone_us < GRAVE_MS * 1000) {
				haproxy->graves = true;
				continue;
			}
			delete_row(table_files[i], entry->key.data, row, script);
			free(row->value);
			free(row->reported);
			free(row);
			map_remove(&haproxy->tables[i].rows, entry->key);
		}
	}
}

/* ---- listeners ---- */

static void follow_rules(struct haproxy *haproxy, struct front *front, struct script *script)
{
	char key[KEY_SIZE], map[KEY_SIZE];
	struct row *row;
	bool row_first;

	snprintf(key, sizeof(key), "l%u", front->number);
	snprintf(map, sizeof(map), "l%u.map", front->number);
	row = map_get(&haproxy->tables[TABLE_LISTENERS].rows, span_of(key));
	/* Rules on fields must find them in the subject from the start. */
	row_first = row->reported && row->reported[0] == '*' && row->value[0] == '+';
	if (row_first)
		follow_row(TABLE_LISTENERS, key, row, script);
	if (!front->reported_rules || strcmp(front->reported_rules, front->rules) != 0) {
		script_add_rules(script, map, front->rules);
		free(front->reported_rules);
		front->reported_rules = memory_copy_string(front->rules);
	}
	follow_row(TABLE_LISTENERS, key, row, script);
}

static void report_certificate(struct haproxy *haproxy, const struct front *front, size_t index,
	struct script *script)
{
	bool is_new = index >= front->reported_certificate_count;
	const char *pem = front->certificates[index];

	if (!is_new && strcmp(pem, front->reported_certificates[index]) == 0)
		return;
	if (strlen(pem) > COMMAND_TEXT_MAX) {
		haproxy->out_of_step = true; /* a process can only read it from its file */
		return;
	}
	if (is_new)
		script_add(script, 0, false, "new ssl cert l%u-%zu.pem", front->number, index);
	script_add(script, 0, false, "set ssl cert l%u-%zu.pem <<\n%s", front->number, index, pem);
	script_add(script, 0, false, "commit ssl cert l%u-%zu.pem", front->number, index);
	if (is_new)
		script_add(script, 0, false, "add ssl crt-list l%u.list l%u-%zu.pem", front->number,
			front->number, index);
}

static void copy_certificates(struct front *front)
{
	for (size_t i = 0; i < front->reported_certificate_count; i++)
		free(front->reported_certificates[i]);
	free(front->reported_certificates);
	front->reported_certificate_count = front->certificate_count;
	front->reported_certificates =
		memory_allocate_array(front->certificate_count + 1, sizeof(char *));
	for (size_t i = 0; i < front->certificate_count; i++)
		front->reported_certificates[i] = memory_copy_string(front->certificates[i]);
}

static void follow_certificates(struct haproxy *haproxy, struct front *front, struct script *script)
{
	if (front->certificate_count == 0)
		return;
	for (size_t i = 0; i < front->certificate_count; i++)
		report_certificate(haproxy, front, i, script);
	for (size_t i = front->certificate_count; i < front->reported_certificate_count; i++) {
		script_add(script, 0, false, "del ssl crt-list l%u.list l%u-%zu.pem", front->number,
			front->number, i);
		script_add(script, 0, false, "del ssl cert l%u-%zu.pem", front->number, i);
	}
	copy_certificates(front);
}

void follow_removed(struct script *script, const struct front *front)
{
	script_add(script, 0, true, "shutdown frontend l%u", front->number);
}

/* ---- all changes ---- */

void follow_changes(struct haproxy *haproxy, struct script *script)
{
	bool drains = follow_servers(haproxy, true, script);

	for (size_t i = 0; i < TABLE_COUNT; i++) {
		if (i != TABLE_ACTIONS && i != TABLE_LISTENERS)
			follow_table(haproxy, i, script);
	}
	follow_table(haproxy, TABLE_ACTIONS, script);
	MAP_EACH (&haproxy->listeners, entry) {
		struct front *front = entry->value;

		if (!front->reported_text)
			continue; /* no process has it */
		follow_certificates(haproxy, front, script);
		follow_rules(haproxy, front, script);
	}
	if (drains || haproxy->must_settle)
		wait_for_choices(script);
	haproxy->must_settle = false;
	follow_servers(haproxy, false, script);
}

/* The process has only used slots; older processes may have some that are being removed. */
static void keep_slots(struct backend *backend)
{
	size_t kept = backend->target_count;

	for (size_t i = kept; i < backend->slot_count; i++) {
		if (!backend->slots[i].leaves)
			continue;
		backend->slots[kept] = backend->slots[i];
		backend->slots[kept++].exists = false;
	}
	backend->slot_count = kept;
}

void follow_version_reported(struct haproxy *haproxy)
{
	for (size_t i = 0; i < haproxy->backend_count; i++) {
		struct backend *backend = haproxy->backends[i];

		backend->reported = true;
		backend->reported_shape = backend->shape;
		keep_slots(backend);
		for (size_t k = 0; k < backend->target_count; k++) {
			struct slot *slot = &backend->slots[k];

			slot->exists = true;
			slot->reported_ready = slot_is_ready(slot);
			slot->reported_address = slot->address;
			/* Weights rise meanwhile: the next tick says so. */
			slot->reported_weight =
				slot->state == PROXY_TARGET_ACTIVE && backend->slow_start_ms
					? 0
					: slot_weight(haproxy, backend, slot);
		}
	}
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		MAP_EACH (&haproxy->tables[i].rows, entry) {
			struct row *row = entry->value;

			free(row->reported);
			row->reported = row->wanted ? memory_copy_string(row->value) : NULL;
		}
	}
	MAP_EACH (&haproxy->listeners, entry) {
		struct front *front = entry->value;

		free(front->reported_rules);
		front->reported_rules = memory_copy_string(front->rules);
		free(front->reported_text);
		front->reported_text = memory_copy_string(front->text);
		copy_certificates(front);
	}
}

bool follow_needs_process(const struct haproxy *haproxy)
{
	if (haproxy->listeners.count == 0)
		return false;
	if (!haproxy->current || haproxy->out_of_step)
		return true;
	MAP_EACH (&haproxy->listeners, entry) {
		const struct front *front = entry->value;

		if (!front->reported_text || strcmp(front->text, front->reported_text) != 0)
			return true;
	}
	MAP_EACH (&haproxy->groups, entry) {
		const struct backend *backend = entry->value;

		if (!backend->reported || !shape_is(&backend->reported_shape, &backend->shape))
			return true;
	}
	return false;
}

/* ---- sending ---- */

static bool is_success(const struct buffer *answer)
{
	static const char *const good[] = {"New server registered", "changed from",
		"no need to change", "Transaction created", "Transaction updated", "Success!",
		"New empty certificate store", "deleted"};
	const char *text = answer->data;

	while (*text == '+' || *text == ' ' || *text == '\n')
		text++;
	if (!*text)
		return true;
	for (size_t i = 0; i < LENGTH(good); i++) {
		if (strstr(text, good[i]))
			return true;
	}
	return false;
}

static int say(struct haproxy *haproxy, struct process *process, const char *text, size_t length)
{
	_buffer_ struct buffer answer = {0};
	int code = process_ask(haproxy, process, text, length, &answer);

	if (code < 0)
		return code;
	return is_success(&answer) ? 0 : -EINVAL;
}

/* A whole map, replaced atomically. */
static int say_rules(struct haproxy *haproxy, struct process *process,
	const struct command *command)
{
	_buffer_ struct buffer text = {0}, answer = {0};
	const char *line = command->rules, *number;
	unsigned version;
	int code;

	buffer_format(&text, "prepare map %s", command->text);
	code = process_ask(haproxy, process, text.data, text.length, &answer);
	number = code == 0 ? strchr(answer.data, ':') : NULL;
	if (!number)
		return code < 0 ? code : -EINVAL;
	version = (unsigned)strtoul(number + 1, NULL, 10);
	while (*line && code == 0) {
		buffer_reset(&text);
		buffer_format(&text, "add map @%u %s <<\n", version, command->text);
		do {
			size_t length = strcspn(line, "\n") + 1;

			buffer_add(&text, line, length);
			line += length;
		} while (*line && text.length + strcspn(line, "\n") + 1 < COMMAND_TEXT_MAX);
		code = say(haproxy, process, text.data, text.length);
	}
	if (code < 0)
		return code;
	buffer_reset(&text);
	buffer_format(&text, "commit map @%u %s", version, command->text);
	return say(haproxy, process, text.data, text.length);
}

static int say_command(struct haproxy *haproxy, struct process *process,
	const struct command *command)
{
	int code;

	if (command->backends > process->backend_count)
		return 0;
	if (command->rules)
		return say_rules(haproxy, process, command);
	code = say(haproxy, process, command->text, strlen(command->text));
	return command->optional && code == -EINVAL ? 0 : code;
}

void follow_run(struct haproxy *haproxy, const struct script *script)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &haproxy->processes[i];
		bool accepts = process->state == PROCESS_ACCEPTS;
		int code = 0;

		for (size_t k = 0; k < script->count && process->state != PROCESS_NONE; k++) {
			code = say_command(haproxy, process, &script->commands[k]);
			/* Processes that end may miss a change; the accepting one must not. */
			if (code == -EPIPE || (code < 0 && accepts))
				break;
		}
		if (code < 0 && accepts)
			haproxy->out_of_step = true;
		if (code == -EPIPE)
			process_bury(haproxy, process);
	}
}
