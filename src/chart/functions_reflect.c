/* Types and kinds as Go names them. */
#include "chart/function.h"

static struct span type_of(struct value value)
{
	return span_of(value_is_absent(value) ? "<nil>" : value_type_name(value));
}

static struct span kind_of(struct value value)
{
	return span_of(value_is_absent(value) ? "invalid" : value_kind_name(value));
}

static int reflect_type_of(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_string(type_of(arguments[0]));
	return 0;
}

static int reflect_kind_of(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_string(kind_of(arguments[0]));
	return 0;
}

static int reflect_type_is(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(span_equal(arguments[0].text, type_of(arguments[1])));
	return 0;
}

/* A pointer to the type counts, too. */
static int reflect_type_is_like(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span wanted = arguments[0].text, type = type_of(arguments[1]);

	(void)run;
	(void)count;
	*ret_value = value_bool(span_equal(wanted, type) ||
				(type.length && type.data[0] == '*' &&
					span_equal(wanted,
						(struct span){type.data + 1, type.length - 1})));
	return 0;
}

static int reflect_kind_is(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(span_equal(arguments[0].text, kind_of(arguments[1])));
	return 0;
}

static int reflect_deep_equal(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(value_equal_deep(arguments[0], arguments[1]));
	return 0;
}

static const struct function rows[] = {
	{"deepEqual", "aa", reflect_deep_equal, false},
	{"kindIs", "sa", reflect_kind_is, false},
	{"kindOf", "a", reflect_kind_of, false},
	{"typeIs", "sa", reflect_type_is, false},
	{"typeIsLike", "sa", reflect_type_is_like, false},
	{"typeOf", "a", reflect_type_of, false},
};

const struct function_table functions_reflect = {rows, LENGTH(rows)};
