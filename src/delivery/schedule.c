/* See the header. */
#include "delivery/schedule.h"

#include <stddef.h>

#include "base/memory.h"

#define MINUTE_S 60
#define HOUR_S 3600
#define DAY_S 86400
#define SECOND_MS 1000

#define SUNDAY 1
#define SATURDAY 7

/* ---- the calendar ---- */

/* Days since 1970-01-01, in the Gregorian calendar; years that begin in March have their leap day last. */
static int64_t days_of_date(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = y / 400, of_era = y % 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int year, int month)
{
	static const int days[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return month == 2 && is_leap(year) ? 29 : days[month];
}

/* 1 is Sunday; the first of January 1970 was a Thursday. */
static int weekday_of(int year, int month, int day)
{
	return (int)((days_of_date(year, month, day) + 4) % 7) + 1;
}

static int year_of_days(int64_t days)
{
	int year = SCHEDULE_YEAR_FIRST + (int)(days / 366);

	while (days_of_date(year + 1, 1, 1) <= days)
		year++;
	return year;
}

/* ---- reading ---- */

static const char *const month_names[] = {
	"", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
static const char *const weekday_names[] = {"", "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct field {
	const char *name;
	int least, most;
	const char *const *names; /* of its values; NULL */
};

enum { MINUTES, HOURS, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR, FIELDS };
static const struct field fields[FIELDS] = {
	[MINUTES] = {"minutes", 0, 59, NULL},
	[HOURS] = {"hours", 0, 23, NULL},
	[DAY_OF_MONTH] = {"day-of-month", 1, 31, NULL},
	[MONTH] = {"month", 1, 12, month_names},
	[DAY_OF_WEEK] = {"day-of-week", 1, 7, weekday_names},
	[YEAR] = {"year", SCHEDULE_YEAR_FIRST, SCHEDULE_YEAR_LAST, NULL},
};

static int bad(const struct field *field, struct span text, const char *why, struct err *err)
{
	return err_set(err, -EINVAL, "%s '%.*s': %s", field->name, SPAN_ARGS(text), why);
}

static int bad_value(const struct field *field, struct span text, struct err *err)
{
	if (field->names)
		return err_set(err, -EINVAL, "%s '%.*s': must be %d to %d or %s to %s", field->name,
			SPAN_ARGS(text), field->least, field->most, field->names[field->least],
			field->names[field->most]);
	return err_set(err, -EINVAL, "%s '%.*s': must be %d to %d", field->name, SPAN_ARGS(text),
		field->least, field->most);
}

static int read_value(const struct field *field, struct span text, int *ret_value, struct err *err)
{
	uint64_t number;

	for (int i = field->least; field->names && i <= field->most; i++)
		if (span_equal_ignoring_case(text, span_of(field->names[i]))) {
			*ret_value = i;
			return 0;
		}
	if (!span_to_unsigned(text, (uint64_t)field->most, &number) || (int)number < field->least)
		return bad_value(field, text, err);
	*ret_value = (int)number;
	return 0;
}

/* Where the values of a field go. */
static void set_value(struct schedule *schedule, size_t field, int value)
{
	switch (field) {
	case MINUTES: schedule->minutes |= UINT64_C(1) << value; break;
	case HOURS: schedule->hours |= 1U << value; break;
	case DAY_OF_MONTH: schedule->days |= 1U << value; break;
	case MONTH: schedule->months |= (uint16_t)(1U << value); break;
	case DAY_OF_WEEK: schedule->weekdays |= (uint8_t)(1U << value); break;
	default:
		value -= SCHEDULE_YEAR_FIRST;
		schedule->years[value / 64] |= UINT64_C(1) << (value % 64);
	}
}

/* "*", "A", "A-B", and each with "/STEP"; "A/STEP" continues to the end. */
static int read_range(struct schedule *schedule, size_t index, struct span text, struct err *err)
{
	const struct field *field = &fields[index];
	struct span range = text, step_text, from_text, to_text;
	int from = field->least, to = field->most;
	bool stepped = span_split(text, '/', &range, &step_text), one = false;
	uint64_t step = 1;

	if (stepped && (!span_to_unsigned(step_text, (uint64_t)field->most, &step) || step == 0))
		return bad(field, text, "the step behind '/' must be a number from 1", err);
	if (!span_is(range, "*")) {
		one = !span_split(range, '-', &from_text, &to_text);
		if (read_value(field, one ? range : from_text, &from, err) < 0 ||
			(!one && read_value(field, to_text, &to, err) < 0))
			return -EINVAL;
		if (one && !stepped)
			to = from;
	}
	if (from > to)
		return bad(field, text, "the range ends before it begins", err);
	for (int value = from; value <= to; value += (int)step)
		set_value(schedule, index, value);
	return 0;
}

/* The words that only days of the month have: 1, 0 (another text), -EINVAL. */
static int read_day_word(struct schedule *schedule, struct span text, struct err *err)
{
	const struct field *field = &fields[DAY_OF_MONTH];
	int day;

	if (span_equal_ignoring_case(text, SPAN("L"))) {
		schedule->last_day = true;
		return 1;
	}
	if (span_equal_ignoring_case(text, SPAN("LW"))) {
		schedule->last_work = true;
		return 1;
	}
	if (text.length < 2 ||
		(text.data[text.length - 1] != 'W' && text.data[text.length - 1] != 'w'))
		return 0;
	if (read_value(field, (struct span){text.data, text.length - 1}, &day, err) < 0)
		return -EINVAL;
	schedule->nearest |= 1U << day;
	return 1;
}

/* And days of the week. */
static int read_weekday_word(struct schedule *schedule, struct span text, struct err *err)
{
	const struct field *field = &fields[DAY_OF_WEEK];
	struct span day_text, week_text;
	uint64_t week;
	int day;

	if (span_equal_ignoring_case(text, SPAN("L"))) {
		set_value(schedule, DAY_OF_WEEK, SATURDAY);
		return 1;
	}
	if (span_split(text, '#', &day_text, &week_text)) {
		if (!span_to_unsigned(week_text, SCHEDULE_WEEKS, &week) || week == 0)
			return bad(field, text, "the week behind '#' must be 1 to 5", err);
		if (read_value(field, day_text, &day, err) < 0)
			return -EINVAL;
		schedule->nth[week] |= (uint8_t)(1U << day);
		return 1;
	}
	if (text.length < 2 ||
		(text.data[text.length - 1] != 'L' && text.data[text.length - 1] != 'l'))
		return 0;
	if (read_value(field, (struct span){text.data, text.length - 1}, &day, err) < 0)
		return -EINVAL;
	schedule->last_weekdays |= (uint8_t)(1U << day);
	return 1;
}

static int read_part(struct schedule *schedule, size_t index, struct span part, struct err *err)
{
	int code = 0;

	if (part.length == 0)
		return bad(&fields[index], part, "is empty", err);
	if (index == DAY_OF_MONTH)
		code = read_day_word(schedule, part, err);
	else if (index == DAY_OF_WEEK)
		code = read_weekday_word(schedule, part, err);
	if (code != 0)
		return code < 0 ? code : 0;
	return read_range(schedule, index, part, err);
}

static int read_field(struct schedule *schedule, size_t index, struct span text, struct err *err)
{
	struct span rest = text, part;
	bool more = true;

	while (more) {
		int code;

		more = span_split(rest, ',', &part, &rest);
		code = read_part(schedule, index, more ? part : rest, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* The words between blanks; how many there are, at most one more than there is room for. */
static size_t split_words(struct span text, struct span *words, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length;) {
		size_t begin = i;

		while (i < text.length && text.data[i] != ' ')
			i++;
		if (i > begin && count < most)
			words[count] = (struct span){text.data + begin, i - begin};
		count += i > begin;
		while (i < text.length && text.data[i] == ' ')
			i++;
	}
	return count;
}

static int read_cron(struct schedule *schedule, struct span inside, struct err *err)
{
	struct span words[FIELDS];
	bool any_day, any_weekday;

	if (split_words(inside, words, FIELDS) != FIELDS)
		return err_set(err, -EINVAL,
			"cron(…) needs six fields: minutes hours day-of-month month day-of-week "
			"year");
	any_day = span_is(words[DAY_OF_MONTH], "?");
	any_weekday = span_is(words[DAY_OF_WEEK], "?");
	if (any_day == any_weekday)
		return err_set(err, -EINVAL,
			"day-of-month and day-of-week: exactly one of them must be '?'");
	schedule->by_weekday = any_day;
	for (size_t i = 0; i < FIELDS; i++) {
		if ((i == DAY_OF_MONTH && any_day) || (i == DAY_OF_WEEK && any_weekday))
			continue;
		if (read_field(schedule, i, words[i], err) < 0)
			return -EINVAL;
	}
	return 0;
}

static int read_rate(struct schedule *schedule, struct span inside, struct err *err)
{
	static const struct {
		const char *one, *many;
		int64_t seconds;
	} units[] = {
		{"minute", "minutes", MINUTE_S}, {"hour", "hours", HOUR_S}, {"day", "days", DAY_S}};
	struct span words[2];
	uint64_t value;

	if (split_words(inside, words, 2) != 2)
		return err_set(err, -EINVAL, "rate(…) needs a number and a unit: rate(5 minutes)");
	if (!span_to_unsigned(words[0], SCHEDULE_RATE_MAX, &value) || value == 0)
		return err_set(err, -EINVAL, "rate '%.*s': must be a number from 1 to %d",
			SPAN_ARGS(words[0]), SCHEDULE_RATE_MAX);
	for (size_t i = 0; i < LENGTH(units); i++)
		if (span_is(words[1], value == 1 ? units[i].one : units[i].many)) {
			schedule->period_s = (int64_t)value * units[i].seconds;
			return 0;
		}
	return err_set(err, -EINVAL, "unit '%.*s': must be %s", SPAN_ARGS(words[1]),
		value == 1 ? "minute, hour or day with 1"
			   : "minutes, hours or days with more than 1");
}

static bool is_inside(struct span text, const char *head, struct span *ret_inside)
{
	size_t length = strlen(head);

	if (!span_starts_with(text, span_of(head)) || text.data[text.length - 1] != ')')
		return false;
	*ret_inside = (struct span){text.data + length, text.length - length - 1};
	return true;
}

int schedule_parse(struct span text, struct schedule *ret_schedule, struct err *err)
{
	struct schedule schedule = {0};
	struct span inside;
	int code;

	if (text.length > SCHEDULE_TEXT_MAX)
		return err_set(err, -EINVAL, "is longer than %d characters", SCHEDULE_TEXT_MAX);
	if (is_inside(text, "cron(", &inside))
		code = read_cron(&schedule, inside, err);
	else if (is_inside(text, "rate(", &inside))
		code = read_rate(&schedule, inside, err);
	else
		code = err_set(err, -EINVAL, "must be cron(…) or rate(…)");
	if (code == 0)
		*ret_schedule = schedule;
	return code;
}

/* ---- when it is due ---- */

/* Monday to Friday, in the same month, nearest to a day; a day that the month has not has none. */
static int nearest_work_day(int year, int month, int day)
{
	int last = days_in_month(year, month), weekday;

	if (day > last)
		return 0;
	weekday = weekday_of(year, month, day);
	if (weekday == SATURDAY)
		return day > 1 ? day - 1 : day + 2;
	if (weekday == SUNDAY)
		return day < last ? day + 1 : day - 2;
	return day;
}

static int last_work_day(int year, int month)
{
	int last = days_in_month(year, month), weekday = weekday_of(year, month, last);

	if (weekday == SATURDAY)
		return last - 1;
	return weekday == SUNDAY ? last - 2 : last;
}

static bool has_weekday(const struct schedule *schedule, int year, int month, int day)
{
	unsigned bit = 1U << weekday_of(year, month, day);

	return (schedule->weekdays & bit) || (schedule->nth[(day - 1) / 7 + 1] & bit) ||
	       ((schedule->last_weekdays & bit) && day + 7 > days_in_month(year, month));
}

static bool has_day(const struct schedule *schedule, int year, int month, int day)
{
	if (schedule->by_weekday)
		return has_weekday(schedule, year, month, day);
	if ((schedule->days & (1U << day)) ||
		(schedule->last_day && day == days_in_month(year, month)) ||
		(schedule->last_work && day == last_work_day(year, month)))
		return true;
	for (int i = 1; schedule->nearest && i <= 31; i++)
		if ((schedule->nearest & (1U << i)) && nearest_work_day(year, month, i) == day)
			return true;
	return false;
}

static bool has_year(const struct schedule *schedule, int year)
{
	int index = year - SCHEDULE_YEAR_FIRST;

	return schedule->years[index / 64] & (UINT64_C(1) << (index % 64));
}

/* The first minute of a day from which it is due, at or behind `from`; -1. */
static int next_minute(const struct schedule *schedule, int from)
{
	for (int minute = from; minute < DAY_S / MINUTE_S; minute++) {
		if (!(schedule->hours & (1U << (minute / 60)))) {
			minute += 59 - minute % 60; /* the next hour */
			continue;
		}
		if (schedule->minutes & (UINT64_C(1) << (minute % 60)))
			return minute;
	}
	return -1;
}

/* In this month, from a minute on; -1. */
static int64_t next_in_month(const struct schedule *schedule, int year, int month, int64_t from)
{
	for (int day = 1; day <= days_in_month(year, month); day++) {
		int64_t begin = days_of_date(year, month, day) * (DAY_S / MINUTE_S);
		int minute;

		if (begin + DAY_S / MINUTE_S <= from || !has_day(schedule, year, month, day))
			continue;
		minute = next_minute(schedule, from > begin ? (int)(from - begin) : 0);
		if (minute >= 0)
			return begin + minute;
	}
	return -1;
}

static int64_t next_cron(const struct schedule *schedule, int64_t after_s)
{
	int64_t from = after_s / MINUTE_S + 1; /* the first whole minute behind it */
	int64_t days = from * MINUTE_S / DAY_S;

	for (int year = year_of_days(days); year <= SCHEDULE_YEAR_LAST; year++)
		for (int month = 1; has_year(schedule, year) && month <= 12; month++) {
			int64_t found;

			if (!(schedule->months & (1U << month)))
				continue;
			found = next_in_month(schedule, year, month, from);
			if (found >= 0)
				return found * MINUTE_S;
		}
	return -1;
}

int64_t schedule_next(const struct schedule *schedule, int64_t after_ms, int64_t anchor_ms)
{
	int64_t next;

	if (after_ms < 0)
		after_ms = 0;
	if (schedule->period_s > 0) {
		int64_t period_ms = schedule->period_s * SECOND_MS;
		int64_t periods = after_ms > anchor_ms ? (after_ms - anchor_ms) / period_ms : 0;

		return anchor_ms + (periods + 1) * period_ms;
	}
	next = next_cron(schedule, after_ms / SECOND_MS);
	return next < 0 ? -1 : next * SECOND_MS;
}
