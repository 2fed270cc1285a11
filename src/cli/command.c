/* Error messages and option parsing shared by the commands; see command.h. */
#include "cli/command.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/span.h"

int command_misused(const struct command *command, const char *format, ...)
{
	va_list list;

	fprintf(stderr, "slipway %s: ", command->name);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fprintf(stderr, "\nTry 'slipway %s --help'.\n", command->name);
	return EXIT_USAGE;
}

int command_failed(const char *format, ...)
{
	va_list list;

	fputs("slipway: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	return EXIT_FAILED;
}

static const struct option_row *find_row(const struct option_row *rows, size_t count,
	struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

int command_read_options(const struct command *command, int count, char **arguments,
	const struct option_row *rows, size_t row_count, struct positionals *ret_positionals)
{
	ret_positionals->count = 0;
	for (int i = 0; i < count; i++) {
		struct span name = span_of(arguments[i]), value = SPAN_NONE;
		const struct option_row *row;

		if (name.length < 2 || name.data[0] != '-') {
			if (ret_positionals->count == (int)LENGTH(ret_positionals->items))
				return command_misused(command, "too many arguments");
			ret_positionals->items[ret_positionals->count++] = arguments[i];
			continue;
		}
		name.data += name.data[1] == '-' ? 2 : 1;
		name.length = strlen(name.data);
		span_split(name, '=', &name, &value);
		row = find_row(rows, row_count, name);
		if (!row)
			return command_misused(command, "unknown option '%s'", arguments[i]);
		if (!row->value) {
			if (value.data)
				return command_misused(command, "--%s takes no value", row->name);
			*row->configured = true;
		} else if (value.data) {
			*row->value = value.data; /* the end of an argument: NUL-terminated */
		} else if (i + 1 < count) {
			*row->value = arguments[++i];
		} else {
			return command_misused(command, "%s%s needs a value",
				row->name[1] ? "--" : "-", row->name);
		}
	}
	return 0;
}
