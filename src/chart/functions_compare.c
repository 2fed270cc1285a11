/* Comparison, logic and defaults: eq … ge, and, or, not, default, coalesce, ternary, empty. */
#include "chart/function.h"

/* Go's basic kinds; values of others cannot be ordered. */
enum basic_kind { BASIC_NONE, BASIC_BOOL, BASIC_INTEGER, BASIC_FLOAT, BASIC_STRING };

static enum basic_kind basic_kind(struct value value)
{
	switch ((enum value_kind)value.kind) {
	case VALUE_BOOL: return BASIC_BOOL;
	case VALUE_INTEGER: return BASIC_INTEGER;
	case VALUE_FLOAT: return BASIC_FLOAT;
	case VALUE_STRING: return BASIC_STRING;
	default: return BASIC_NONE;
	}
}

static int are_equal(struct run *run, struct value a, struct value b, bool *ret_equal)
{
	enum basic_kind kind = basic_kind(a);
	bool equal = false;

	if (kind != basic_kind(b)) {
		if (!value_is_absent(a) && !value_is_absent(b))
			return run_fail(run, "incompatible types for comparison: %s and %s",
				value_type_name(a), value_type_name(b));
		*ret_equal = false;
		return 0;
	}
	switch (kind) {
	case BASIC_BOOL: equal = a.boolean == b.boolean; break;
	case BASIC_INTEGER: equal = a.integer == b.integer; break;
	case BASIC_FLOAT: equal = a.number == b.number; break;
	case BASIC_STRING: equal = span_equal(a.text, b.text); break;
	case BASIC_NONE:
		if (value_is_absent(a) || value_is_absent(b)) {
			equal = value_is_absent(a) && value_is_absent(b);
			break;
		}
		if (a.kind != VALUE_OBJECT || b.kind != VALUE_OBJECT)
			return run_fail(run, "non-comparable types %s and %s", value_type_name(a),
				value_type_name(b));
		equal = a.object == b.object;
		break;
	}
	*ret_equal = equal;
	return 0;
}

static int compare_eq(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool equal = false;

	if (count < 2)
		return run_fail(run, "eq: missing argument for comparison");
	for (size_t i = 1; i < count && !equal; i++) {
		int code = are_equal(run, arguments[0], arguments[i], &equal);

		if (code < 0)
			return code;
	}
	*ret_value = value_bool(equal);
	return 0;
}

static int compare_ne(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool equal;
	int code = are_equal(run, arguments[0], arguments[1], &equal);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = value_bool(!equal);
	return 0;
}

static int is_less(struct run *run, struct value a, struct value b, bool *ret_less)
{
	enum basic_kind kind = basic_kind(a);

	if (kind == BASIC_NONE || basic_kind(b) == BASIC_NONE)
		return run_fail(run, "invalid type for comparison");
	if (kind != basic_kind(b))
		return run_fail(run, "incompatible types for comparison: %s and %s",
			value_type_name(a), value_type_name(b));
	switch (kind) {
	case BASIC_INTEGER: *ret_less = a.integer < b.integer; return 0;
	case BASIC_FLOAT: *ret_less = a.number < b.number; return 0;
	case BASIC_STRING: *ret_less = span_compare(a.text, b.text) < 0; return 0;
	default: return run_fail(run, "invalid type for comparison");
	}
}

static int is_less_or_equal(struct run *run, const struct value *arguments, bool *ret_result)
{
	int code = is_less(run, arguments[0], arguments[1], ret_result);

	if (code < 0 || *ret_result)
		return code;
	return are_equal(run, arguments[0], arguments[1], ret_result);
}

static int compare_lt(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool result = false;
	int code = is_less(run, arguments[0], arguments[1], &result);

	(void)count;
	*ret_value = value_bool(result);
	return code;
}

static int compare_le(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool result = false;
	int code = is_less_or_equal(run, arguments, &result);

	(void)count;
	*ret_value = value_bool(result);
	return code;
}

static int compare_gt(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool result = false;
	int code = is_less_or_equal(run, arguments, &result);

	(void)count;
	*ret_value = value_bool(!result);
	return code;
}

static int compare_ge(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool result = false;
	int code = is_less(run, arguments[0], arguments[1], &result);

	(void)count;
	*ret_value = value_bool(!result);
	return code;
}

static int compare_not(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(!value_truth(arguments[0]));
	return 0;
}

/* `and` and `or` are evaluated by the executor. */
static int compare_logic(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)arguments;
	(void)count;
	(void)ret_value;
	return run_fail(run, "and, or: not callable this way");
}

/* ---- defaults ------------------------------------------------------------------------------------ */

static int compare_default(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	*ret_value = count < 2 || !value_truth(arguments[1]) ? arguments[0] : arguments[1];
	return 0;
}

static int compare_empty(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(!value_truth(arguments[0]));
	return 0;
}

static int compare_coalesce(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	*ret_value = value_nil();
	for (size_t i = 0; i < count; i++)
		if (value_truth(arguments[i])) {
			*ret_value = arguments[i];
			break;
		}
	return 0;
}

static int compare_all(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool all = true;

	(void)run;
	for (size_t i = 0; i < count; i++)
		all &= value_truth(arguments[i]);
	*ret_value = value_bool(all);
	return 0;
}

static int compare_any(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool any = false;

	(void)run;
	for (size_t i = 0; i < count; i++)
		any |= value_truth(arguments[i]);
	*ret_value = value_bool(any);
	return 0;
}

static int compare_ternary(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = arguments[arguments[2].boolean ? 0 : 1];
	return 0;
}

static const struct function rows[] = {
	{"all", "a*", compare_all, false},
	{"and", "a*", compare_logic, true},
	{"any", "a*", compare_any, false},
	{"coalesce", "a*", compare_coalesce, false},
	{"default", "aa*", compare_default, false},
	{"empty", "a", compare_empty, false},
	{"eq", "aa*", compare_eq, false},
	{"ge", "aa", compare_ge, false},
	{"gt", "aa", compare_gt, false},
	{"le", "aa", compare_le, false},
	{"lt", "aa", compare_lt, false},
	{"ne", "aa", compare_ne, false},
	{"not", "a", compare_not, false},
	{"or", "a*", compare_logic, true},
	{"ternary", "aab", compare_ternary, false},
};

const struct function_table functions_compare = {rows, LENGTH(rows)};
