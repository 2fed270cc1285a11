/* Facts and the private text; see the header. */
#include "store/fact_table.h"

#include "base/memory.h"

int fact_name_find(const char *const *names, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(name, names[i]))
			return (int)i;
	return -1;
}

bool fact_text_is_plain(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < 0x20 || text.data[i] == '"' ||
			text.data[i] == '\\' || text.data[i] == 0x7f)
			return false;
	return true;
}

static int read_name(const struct fact_row *row, const struct json *private_, unsigned *ret_value,
	struct err *err)
{
	struct span text = json_get_text(private_, row->name);
	int found = text.data ? fact_name_find(row->names, row->name_count, text) : 0;

	if (found < 0)
		return err_set(err, -EINVAL, "%s is '%.*s'", row->name, SPAN_ARGS(text));
	*ret_value = (unsigned)found;
	return 0;
}

int fact_table_read(const struct fact_row *rows, size_t count, const struct json *private_,
	void *facts, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		void *field = (char *)facts + rows[i].offset;
		struct span text;
		int code = 0;

		switch (rows[i].type) {
		case FACT_TEXT:
			text = json_get_text(private_, rows[i].name);
			*(struct span *)field = text.data ? text : SPAN("");
			break;
		case FACT_NUMBER:
			*(int64_t *)field = json_get_integer(private_, rows[i].name, 0);
			break;
		case FACT_FLAG:
			*(bool *)field = json_get_bool(private_, rows[i].name, false);
			break;
		case FACT_NAME: code = read_name(&rows[i], private_, field, err); break;
		case FACT_REAL:
			if (!json_double(json_get(private_, rows[i].name), field))
				*(double *)field = 0;
			break;
		}
		if (code < 0)
			return code;
	}
	return 0;
}

void fact_table_write(const struct fact_row *rows, size_t count, const void *facts,
	struct arena *arena, struct json *private_)
{
	for (size_t i = 0; i < count; i++) {
		const void *field = (const char *)facts + rows[i].offset;
		const char *name = rows[i].name;

		switch (rows[i].type) {
		case FACT_TEXT:
			if (((const struct span *)field)->length > 0)
				json_set_string(arena, private_, name, *(const struct span *)field);
			break;
		case FACT_NUMBER:
			if (*(const int64_t *)field != 0)
				json_set_integer(arena, private_, name, *(const int64_t *)field);
			break;
		case FACT_FLAG:
			if (*(const bool *)field)
				json_set_bool(arena, private_, name, true);
			break;
		case FACT_NAME:
			if (*(const unsigned *)field != 0)
				json_set_string(arena, private_, name,
					span_of(rows[i].names[*(const unsigned *)field]));
			break;
		case FACT_REAL:
			if (*(const double *)field > 0)
				json_set(arena, private_, name,
					json_new_double(arena, *(const double *)field));
			break;
		}
	}
}
