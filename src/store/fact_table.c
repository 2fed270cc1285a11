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

/* A text that was escaped has been decoded to a place that does not last. */
static int read_text(struct span text, struct span *ret_text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < 0x20 || text.data[i] == '"' ||
			text.data[i] == '\\')
			return -EINVAL;
	*ret_text = text;
	return 0;
}

static int read_name(const struct fact_row *row, struct span text, unsigned *ret_value)
{
	int found = fact_name_find(row->names, row->name_count, text);

	if (found < 0)
		return -EINVAL;
	*ret_value = (unsigned)found;
	return 0;
}

/* Reads a member, which is present, into the field as its row describes. */
static int read_member(const struct fact_row *row, const struct json *member, void *field)
{
	bool is_text = json_is(member, JSON_STRING);

	switch (row->type) {
	case FACT_TEXT: return is_text ? read_text(json_text(member), field) : -EINVAL;
	case FACT_NAME: return is_text ? read_name(row, json_text(member), field) : -EINVAL;
	case FACT_NUMBER: return json_integer(member, field) ? 0 : -EINVAL;
	case FACT_REAL: return json_double(member, field) ? 0 : -EINVAL;
	case FACT_FLAG:
		*(bool *)field = json_is_true(member);
		return json_is(member, JSON_TRUE) || json_is(member, JSON_FALSE) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static void read_absent(const struct fact_row *row, void *field)
{
	switch (row->type) {
	case FACT_TEXT: *(struct span *)field = SPAN(""); break;
	case FACT_NUMBER: *(int64_t *)field = 0; break;
	case FACT_FLAG: *(bool *)field = false; break;
	case FACT_NAME: *(unsigned *)field = 0; break;
	case FACT_REAL: *(double *)field = 0; break;
	}
}

static int refuse_member(const struct fact_row *row, const struct json *member, struct err *err)
{
	if (json_is(member, JSON_STRING))
		return err_set(err, -EINVAL, "%s is '%.*s'", row->name,
			SPAN_ARGS(json_text(member)));
	return err_set(err, -EINVAL, "%s is %s", row->name, json_type_name(member->type));
}

int fact_table_read(const struct fact_row *rows, size_t count, const struct json *private_,
	void *facts, struct err *err)
{
	if (!json_is(private_, JSON_OBJECT))
		return err_set(err, -EINVAL, "the private text is no object");
	for (size_t i = 0; i < count; i++) {
		const struct json *member = json_get(private_, rows[i].name);
		void *field = (char *)facts + rows[i].offset;

		if (json_is_absent(member))
			read_absent(&rows[i], field);
		else if (read_member(&rows[i], member, field) < 0)
			return refuse_member(&rows[i], member, err);
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
