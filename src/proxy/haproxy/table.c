/* Rows of maps and lists of commands: the desired rows beside those that HAProxy has. */
#include <stdarg.h>
#include <stdio.h>

#include "proxy/haproxy/supervisor.h"

#define FILE_(name, file) file,
const char *const table_files[TABLE_COUNT] = {TABLES(FILE_)};
#undef FILE_

void table_begin(struct table *table)
{
	MAP_EACH (&table->rows, entry)
		((struct row *)entry->value)->wanted = false;
}

void table_set(struct table *table, const char *key, const char *value)
{
	struct row *row = map_get(&table->rows, span_of(key));

	if (!row) {
		row = memory_allocate(sizeof(*row));
		map_put(&table->rows, span_of(key), row);
	}
	row->wanted = true;
	row->gone_us = 0;
	if (row->value && strcmp(row->value, value) == 0)
		return;
	free(row->value);
	row->value = memory_copy_string(value);
}

void table_clear(struct table *table)
{
	MAP_EACH (&table->rows, entry) {
		struct row *row = entry->value;

		free(row->value);
		free(row->reported);
		free(row);
	}
	map_clear(&table->rows);
}

static struct command *next_command(struct script *script)
{
	if (script->count == script->capacity) {
		script->capacity = script->capacity ? 2 * script->capacity : 16;
		script->commands = memory_resize(script->commands,
			script->capacity * sizeof(*script->commands));
	}
	return &script->commands[script->count++];
}

void script_add(struct script *script, uint32_t backends, bool optional, const char *format, ...)
{
	va_list list;
	char *formatted;

	va_start(list, format);
	if (vasprintf(&formatted, format, list) < 0)
		abort();
	va_end(list);
	*next_command(script) =
		(struct command){.text = formatted, .backends = backends, .optional = optional};
}

void script_add_rules(struct script *script, const char *map, const char *rules)
{
	*next_command(script) = (struct command){
		.text = memory_copy_string(map), .rules = memory_copy_string(rules)};
}

void script_clear(struct script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		free(script->commands[i].text);
		free(script->commands[i].rules);
	}
	free(script->commands);
	*script = (struct script){0};
}
