/* Sprig's dates, on the clock of the run. */
#include <stdio.h>

#include "chart/function.h"
#include "chart/time.h"

#define SECOND 1000000000LL

/* time.Time */
struct time_object {
	struct object object;
	struct zone_time time;
};

static const struct object_class time_class;

static struct value time_value(struct run *run, struct zone_time time)
{
	struct time_object *object = arena_allocate(run->arena, sizeof(*object));

	object->object.class = &time_class;
	object->time = time;
	return value_of_object(&object->object);
}

static const struct zone_time *time_of(struct value value)
{
	if (value.kind != VALUE_OBJECT || value.object->class != &time_class)
		return NULL;
	return &((const struct time_object *)value.object)->time;
}

static struct zone_time moment_of_run(struct run *run)
{
	int64_t now = clock_wall_ms(run->clock);

	return time_in_utc(now / 1000, (int32_t)(now % 1000) * 1000000);
}

static struct zone_time moved_by(const struct zone_time *time, int64_t nanoseconds)
{
	struct zone_time moved = *time;
	int64_t total = time->nanoseconds + nanoseconds % SECOND;

	moved.seconds += nanoseconds / SECOND + (total >= SECOND) - (total < 0);
	moved.nanoseconds = (int32_t)(total - (total >= SECOND) * SECOND + (total < 0) * SECOND);
	return moved;
}

static int64_t difference(const struct zone_time *a, const struct zone_time *b)
{
	return (a->seconds - b->seconds) * SECOND + a->nanoseconds - b->nanoseconds;
}

/* ---- methods ------------------------------------------------------------------------------------- */

static void time_print(const struct object *object, struct buffer *out)
{
	time_format(&((const struct time_object *)object)->time,
		SPAN("2006-01-02 15:04:05.999999999 -0700 MST"), out);
}

static struct value time_plain(struct arena *arena, const struct object *object)
{
	_buffer_ struct buffer out = {0};

	time_format(&((const struct time_object *)object)->time,
		SPAN("2006-01-02T15:04:05.999999999Z07:00"), &out);
	return value_string(arena_copy_span(arena, buffer_span(&out)));
}

static int format_method(struct run *run, const struct zone_time *time, struct span layout,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	time_format(time, layout, &out);
	return function_return(run, &out, ret_value);
}

/* Parts of the date, by method name. */
static bool civil_part(const struct zone_time *time, struct span name, struct value *ret_value)
{
	struct civil_time civil = time_civil(time);

	if (span_is(name, "Year"))
		*ret_value = value_int(civil.year);
	else if (span_is(name, "Month"))
		*ret_value = value_integer(TYPE_MONTH, civil.month);
	else if (span_is(name, "Day"))
		*ret_value = value_int(civil.day);
	else if (span_is(name, "Hour"))
		*ret_value = value_int(civil.hour);
	else if (span_is(name, "Minute"))
		*ret_value = value_int(civil.minute);
	else if (span_is(name, "Second"))
		*ret_value = value_int(civil.second);
	else if (span_is(name, "Nanosecond"))
		*ret_value = value_int(time->nanoseconds);
	else if (span_is(name, "YearDay"))
		*ret_value = value_int(civil.year_day);
	else if (span_is(name, "Weekday"))
		*ret_value = value_integer(TYPE_WEEKDAY, civil.weekday);
	else if (span_is(name, "Unix"))
		*ret_value = value_int64(time->seconds);
	else if (span_is(name, "UnixMilli"))
		*ret_value = value_int64(time->seconds * 1000 + time->nanoseconds / 1000000);
	else if (span_is(name, "UnixMicro"))
		*ret_value = value_int64(time->seconds * 1000000 + time->nanoseconds / 1000);
	else if (span_is(name, "UnixNano"))
		*ret_value = value_int64(time->seconds * SECOND + time->nanoseconds);
	else if (span_is(name, "IsZero"))
		*ret_value = value_bool(time->seconds == time_from_civil(1, 1, 1, 0, 0, 0) &&
					time->nanoseconds == 0);
	else
		return false;
	return true;
}

static int add_date(struct run *run, const struct zone_time *time, const struct value *arguments,
	size_t count, struct value *ret_value)
{
	struct civil_time civil = time_civil(time);
	struct zone_time moved = *time;

	if (count != 3 || arguments[0].kind != VALUE_INTEGER ||
		arguments[1].kind != VALUE_INTEGER || arguments[2].kind != VALUE_INTEGER)
		return run_fail(run, "AddDate: expected three integers");
	moved.seconds =
		time_from_civil(civil.year + arguments[0].integer,
			civil.month + arguments[1].integer, civil.day + arguments[2].integer,
			civil.hour, civil.minute, civil.second) -
		time->offset;
	*ret_value = time_value(run, moved);
	return 0;
}

static int compare_method(struct run *run, const struct zone_time *time, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct zone_time *other = count == 1 ? time_of(arguments[0]) : NULL;
	int64_t order;

	if (!other)
		return run_fail(run, "%.*s: expected a time", SPAN_ARGS(name));
	order = difference(time, other);
	if (span_is(name, "Sub"))
		*ret_value = value_integer(TYPE_DURATION, order);
	else
		*ret_value = value_bool(span_is(name, "Before")  ? order < 0
					: span_is(name, "After") ? order > 0
								 : order == 0);
	return 0;
}

static int time_get(struct run *run, struct object *object, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct zone_time *time = &((const struct time_object *)object)->time;

	if (civil_part(time, name, ret_value))
		return 0;
	if (span_is(name, "Format")) {
		if (count != 1 || arguments[0].kind != VALUE_STRING)
			return run_fail(run, "Format: expected a layout");
		return format_method(run, time, arguments[0].text, ret_value);
	}
	if (span_is(name, "String"))
		return format_method(run, time, SPAN("2006-01-02 15:04:05.999999999 -0700 MST"),
			ret_value);
	if (span_is(name, "UTC") || span_is(name, "Local")) {
		*ret_value = time_value(run, time_in_utc(time->seconds, time->nanoseconds));
		return 0;
	}
	if (span_is(name, "AddDate"))
		return add_date(run, time, arguments, count, ret_value);
	if (span_is(name, "Add")) {
		if (count != 1 || arguments[0].type != TYPE_DURATION)
			return run_fail(run, "Add: expected a time.Duration");
		*ret_value = time_value(run, moved_by(time, arguments[0].integer));
		return 0;
	}
	if (span_is(name, "Sub") || span_is(name, "Before") || span_is(name, "After") ||
		span_is(name, "Equal"))
		return compare_method(run, time, name, arguments, count, ret_value);
	return 1;
}

static const struct object_class time_class = {
	"time.Time", "struct", time_get, time_print, time_plain, false, NULL, NULL};

/* ---- functions ----------------------------------------------------------------------------------- */

/* Times and integers are moments; anything else is now. */
static struct zone_time moment_of(struct run *run, struct value value)
{
	const struct zone_time *time = time_of(value);

	if (time)
		return *time;
	if (value.type == TYPE_INT || value.type == TYPE_INT64 || value.type == TYPE_INT32)
		return time_in_utc(value.integer, 0);
	return moment_of_run(run);
}

static int in_zone(struct run *run, struct span layout, struct value date, struct span zone,
	struct value *ret_value)
{
	struct zone_time time = moment_of(run, date);

	if (!time_move_to_zone(&time, zone))
		time_move_to_zone(&time, SPAN("UTC"));
	return format_method(run, &time, layout, ret_value);
}

static int date_now(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)arguments;
	(void)count;
	*ret_value = time_value(run, moment_of_run(run));
	return 0;
}

static int date_date(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return in_zone(run, arguments[0].text, arguments[1], SPAN("Local"), ret_value);
}

static int date_in_zone(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return in_zone(run, arguments[0].text, arguments[1], arguments[2].text, ret_value);
}

static int date_html(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return in_zone(run, SPAN("2006-01-02"), arguments[0], SPAN("Local"), ret_value);
}

static int date_html_in_zone(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return in_zone(run, SPAN("2006-01-02"), arguments[0], arguments[1].text, ret_value);
}

static int modify(struct run *run, const struct value *arguments, bool must,
	struct value *ret_value)
{
	const struct zone_time *time = time_of(arguments[1]);
	int64_t duration;

	if (!time)
		return run_fail(run, "dateModify: expected time.Time");
	if (!duration_parse(arguments[0].text, &duration)) {
		if (must)
			return run_fail(run, "mustDateModify: invalid duration \"%.*s\"",
				SPAN_ARGS(arguments[0].text));
		duration = 0;
	}
	*ret_value = time_value(run, moved_by(time, duration));
	return 0;
}

static int date_modify(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return modify(run, arguments, false, ret_value);
}

static int date_must_modify(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return modify(run, arguments, true, ret_value);
}

static int date_ago(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct zone_time now = moment_of_run(run), then = moment_of(run, arguments[0]);
	int64_t elapsed = difference(&now, &then);
	int64_t half = elapsed < 0 ? -SECOND / 2 : SECOND / 2;

	(void)count;
	duration_format((elapsed + half) / SECOND * SECOND, &out);
	return function_return(run, &out, ret_value);
}

static int date_duration(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	int64_t seconds = 0;

	(void)count;
	if (arguments[0].kind == VALUE_STRING || arguments[0].type == TYPE_INT64)
		seconds = function_integer(arguments[0]);
	duration_format((int64_t)((uint64_t)seconds * SECOND), &out);
	return function_return(run, &out, ret_value);
}

static int date_duration_round(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = {{365ULL * 86400, "y"}, {30ULL * 86400, "mo"}, {86400, "d"}, {3600, "h"},
		{60, "m"}, {1, "s"}};
	struct zone_time now = moment_of_run(run);
	int64_t duration = 0;
	uint64_t size;

	(void)count;
	if (arguments[0].kind == VALUE_STRING) {
		if (!duration_parse(arguments[0].text, &duration))
			duration = 0;
	} else if (arguments[0].type == TYPE_INT64) {
		duration = arguments[0].integer;
	} else if (time_of(arguments[0])) {
		duration = difference(&now, time_of(arguments[0]));
	}
	size = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;
	*ret_value = value_string(SPAN("0s"));
	for (size_t i = 0; i < LENGTH(units); i++)
		if (size > units[i].seconds * (uint64_t)SECOND) {
			*ret_value = value_string(arena_format(run->arena, "%llu%s",
				(unsigned long long)(size / (units[i].seconds * (uint64_t)SECOND)),
				units[i].name));
			break;
		}
	return 0;
}

static int date_to_date(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct zone_time time = time_in_utc(time_from_civil(1, 1, 1, 0, 0, 0), 0);

	(void)count;
	if (!time_parse(arguments[0].text, arguments[1].text, &time))
		time = time_in_utc(time_from_civil(1, 1, 1, 0, 0, 0), 0);
	*ret_value = time_value(run, time);
	return 0;
}

static int date_must_to_date(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct zone_time time;

	(void)count;
	if (!time_parse(arguments[0].text, arguments[1].text, &time))
		return run_fail(run, "mustToDate: cannot parse \"%.*s\" as \"%.*s\"",
			SPAN_ARGS(arguments[1].text), SPAN_ARGS(arguments[0].text));
	*ret_value = time_value(run, time);
	return 0;
}

static int date_unix_epoch(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	const struct zone_time *time = time_of(arguments[0]);

	(void)count;
	if (!time)
		return run_fail(run, "unixEpoch: expected time.Time");
	*ret_value = value_string(arena_format(run->arena, "%lld", (long long)time->seconds));
	return 0;
}

static const struct function rows[] = {
	{"ago", "a", date_ago, false},
	{"date", "sa", date_date, false},
	{"dateInZone", "sas", date_in_zone, false},
	{"dateModify", "sa", date_modify, false},
	{"date_in_zone", "sas", date_in_zone, false},
	{"date_modify", "sa", date_modify, false},
	{"duration", "a", date_duration, false},
	{"durationRound", "a", date_duration_round, false},
	{"htmlDate", "a", date_html, false},
	{"htmlDateInZone", "as", date_html_in_zone, false},
	{"mustDateModify", "sa", date_must_modify, false},
	{"mustToDate", "ss", date_must_to_date, false},
	{"must_date_modify", "sa", date_must_modify, false},
	{"now", "", date_now, false},
	{"toDate", "ss", date_to_date, false},
	{"unixEpoch", "a", date_unix_epoch, false},
};

const struct function_table functions_date = {rows, LENGTH(rows)};
