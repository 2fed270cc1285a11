/*
 * The planner of fleets: every small fleet, every part of every plan, to its end; and seeded bugs that this
 * must find.
 *
 * The properties are those that daemon environments promise (S1 at most one, S2 surge, S3 minimum healthy,
 * S3b pace, S4 reach, S5 placement, S6 silence, S16 rest, S18 counts, D3 last out, D4 same version, L1 the
 * end, L6 causes). Each counts how often it had something to say, and one that never had fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/sanitized.h"
#include "rollout/fleet.h"

#define SMALL_MAX 4
#define ACTIONS_MAX 64
#define SUBSETS_OF_MAX 8 /* longer plans: beginnings and ends only */

#define PROPERTIES(X)                                                                              \
	X(S1, "at most one task where one stops first")                                            \
	X(S1_EXCESS, "exactly the excess is stopped")                                              \
	X(S2, "at most two tasks, and on few instances")                                           \
	X(S3, "a needed healthy task goes only above the minimum")                                 \
	X(S3B, "few instances at a time are on their way")                                         \
	X(S4, "acts only on what can be reached and is there")                                     \
	X(S5, "starts only where wanted and startable")                                            \
	X(S6, "silent when silent, and no replacing without a deployment")                         \
	X(S16, "nothing more to do when all is done")                                              \
	X(S18, "counts")                                                                           \
	X(D3, "draining: last out")                                                                \
	X(D4, "not handed over: the same version")                                                 \
	X(CANARY, "the canary and no more")                                                        \
	X(GOES, "what is not wanted goes")                                                         \
	X(ARRIVED, "what the rollout has brought is not stopped")                                  \
	X(L1, "comes to its end")                                                                  \
	X(L6, "a cause when nothing is done")                                                      \
	X(D2, "blocked when the minimum leaves no room")

enum property {
#define X(name, meaning) P_##name,
	PROPERTIES(X)
#undef X
		P_COUNT
};

static const char *const property_names[P_COUNT] = {
#define X(name, meaning) [P_##name] = #name ": " meaning,
	PROPERTIES(X)
#undef X
};

struct checker {
	struct fleet_rules rules;
	unsigned long long exercised[P_COUNT];
	int broken; /* the first property that did not hold, or -1 */
	int only;   /* the only one to check, or -1 */
	struct fleet_instance seen[SMALL_MAX];
	size_t seen_count;
};

/* ---- instances as text ----
 *
 * Versions t (target), o (old), x (other), each followed by classes P, S, H, U; z is a stopping
 * task, Z one that hangs. Before them "-" does not match, "d" draining, "D" draining with others
 * left, "?" unreachable, "w" that and awaited, "!" gone; "~" belongs to the old version, "@" to
 * none. Blockers b, p, r, u of the target version, and of the old one behind "/". "." is nothing.
 */
static void set_sign(char sign, bool of_old, struct fleet_instance *out)
{
	static const char blockers[] = "bpru";
	const char *blocker = strchr(blockers, sign);

	if (blocker && of_old)
		out->old_blocker = (enum rollout_blocker)(blocker - blockers + 1);
	else if (blocker)
		out->blocker = (enum rollout_blocker)(blocker - blockers + 1);
	else if (sign == 'z' || sign == 'Z')
		out->stopping++;
	else if (sign == '-')
		out->matches = false;
	else if (sign == 'd' || sign == 'D')
		out->state = ROLLOUT_INSTANCE_DRAINING;
	else if (sign == '?' || sign == 'w')
		out->state = ROLLOUT_INSTANCE_UNREACHABLE;
	else if (sign == '!')
		out->state = ROLLOUT_INSTANCE_GONE;
	else if (sign == '~')
		out->assigned = FLEET_ASSIGNED_OLD;
	else if (sign == '@')
		out->assigned = FLEET_ASSIGNED_NONE;
	else if (sign != '.' && sign != '/')
		fail_msg("'%c' in an instance", sign);
	out->others_left |= sign == 'D';
	out->awaited |= sign == 'w';
	out->hangs |= sign == 'Z';
}

static struct fleet_instance read_instance(const char *text, size_t length)
{
	static const char classes[] = "PSHU", versions[] = "tox";
	struct fleet_instance out = {.matches = true, .assigned = FLEET_ASSIGNED_TARGET};
	size_t version = 0;

	for (size_t i = 0; i < length; i++) {
		const char *class = strchr(classes, text[i]), *found = strchr(versions, text[i]);

		if (class)
			out.tasks[version][class - classes]++;
		else if (found)
			version = (size_t)(found - versions);
		else
			set_sign(text[i], memchr(text, '/', i) != NULL, &out);
	}
	return out;
}

static size_t read_instances(const char *text, struct fleet_instance *out, size_t max)
{
	size_t count = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		assert_true(count < max);
		out[count++] = read_instance(text, length);
		text += length;
		text += *text == ' ';
	}
	return count;
}

static void write_instance(const struct fleet_instance *now, struct buffer *out)
{
	static const char *const states[] = {"", "d", "?", "!"};

	buffer_format(out, " %s%s%s%s", now->matches ? "" : "-",
		now->others_left ? "D"
		: now->awaited   ? "w"
				 : states[now->state],
		now->assigned == FLEET_ASSIGNED_OLD    ? "~"
		: now->assigned == FLEET_ASSIGNED_NONE ? "@"
						       : "",
		"");
	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++)
		for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
			for (unsigned n = now->tasks[v][c]; n > 0; n--)
				buffer_format(out, "%c%c", "tox"[v], "PSHU"[c]);
	for (unsigned n = now->stopping; n > 0; n--)
		buffer_add_char(out, now->hangs ? 'Z' : 'z');
	buffer_format(out, "%c/%c", ".bpru"[now->blocker], ".bpru"[now->old_blocker]);
}

/* "+0" a start of the target version on instance 0, "+0o" of the old one, "-1oH" a stop; "!" hands over. */
static void write_action(const struct fleet_action *action, struct buffer *out)
{
	if (action->type == ROLLOUT_START)
		buffer_format(out, "+%u%s", action->instance,
			action->version == FLEET_OLD ? "o" : "");
	else
		buffer_format(out, "-%u%c%c", action->instance, "tox"[action->version],
			"PSHU"[action->class]);
	if (action->hands_over)
		buffer_add_char(out, '!');
}

/* ---- the truth, counted anew ---- */

static unsigned count_of(const struct fleet_instance *now, enum fleet_version version)
{
	unsigned count = 0;

	for (unsigned c = 0; c < ROLLOUT_CLASS_COUNT; c++)
		count += now->tasks[version][c];
	return count;
}

static unsigned older_of(const struct fleet_instance *now)
{
	return count_of(now, FLEET_OLD) + count_of(now, FLEET_OTHER);
}

static unsigned live_of(const struct fleet_instance *now)
{
	return count_of(now, FLEET_TARGET) + older_of(now);
}

static bool is_healthy(const struct fleet_instance *now)
{
	return now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY] ||
	       now->tasks[FLEET_OLD][ROLLOUT_HEALTHY] || now->tasks[FLEET_OTHER][ROLLOUT_HEALTHY];
}

static bool is_reached(const struct fleet_instance *now)
{
	return now->state == ROLLOUT_INSTANCE_ACTIVE || now->state == ROLLOUT_INSTANCE_DRAINING;
}

static bool is_wanted(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	return now->state == ROLLOUT_INSTANCE_ACTIVE && now->matches &&
	       rules->mode != FLEET_REMOVES;
}

static bool is_kept(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	return now->state == ROLLOUT_INSTANCE_DRAINING && now->matches && now->others_left &&
	       rules->mode != FLEET_REMOVES;
}

static bool is_handed(const struct fleet_rules *rules, const struct fleet_instance *now)
{
	return now->assigned == FLEET_ASSIGNED_TARGET ||
	       (count_of(now, FLEET_TARGET) && (rules->replace_first || !older_of(now)));
}

struct actual {
	unsigned total, healthy, required, surge, pace;
	unsigned doubled;     /* live tasks only, as S2 counts */
	unsigned moving;      /* handed over and not healthy */
	unsigned sent;        /* of those, not because they happen to have a target task */
	unsigned handed_over; /* unreachable ones included that are awaited */
	unsigned proved;      /* of those, reachable ones with a healthy target task */
	unsigned unproved;    /* reachable ones without */
	unsigned decided; /* of those handed over, not because they happen to have a target task */
	bool complete, steady;
};

static struct actual count_actual(const struct fleet_rules *rules, const struct fleet_instance *now,
	size_t count)
{
	struct actual actual = {.complete = true, .steady = true};
	unsigned away = 0;

	for (size_t i = 0; i < count; i++, now++) {
		bool unreachable = now->state == ROLLOUT_INSTANCE_UNREACHABLE && now->matches;

		away += unreachable && now->awaited;
		if (is_reached(now) && now->stopping)
			actual.steady = false;
		if (is_handed(rules, now) &&
			(is_wanted(rules, now) || (unreachable && now->awaited))) {
			actual.handed_over++;
			actual.decided += now->assigned == FLEET_ASSIGNED_TARGET;
		}
		if (!is_wanted(rules, now)) {
			actual.complete &=
				!is_reached(now) || is_kept(rules, now) || live_of(now) == 0;
			continue;
		}
		actual.total++;
		actual.healthy += is_healthy(now);
		actual.doubled += live_of(now) > 1;
		actual.moving += is_handed(rules, now) && !is_healthy(now);
		actual.proved += is_handed(rules, now) && now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY];
		actual.unproved +=
			is_handed(rules, now) && !now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY];
		actual.sent += now->assigned == FLEET_ASSIGNED_TARGET && !is_healthy(now);
		actual.complete &= live_of(now) == 1 && now->tasks[FLEET_TARGET][ROLLOUT_HEALTHY];
	}
	actual.steady &= actual.complete;
	away += actual.total;
	actual.required = rules->minimum_requested
				  ? (away * rules->minimum_healthy_percent + 99) / 100
				  : (away * 90 + 99) / 100;
	if (!rules->minimum_requested && away && actual.required == away)
		actual.required--;
	if (rules->replace_first)
		actual.surge = actual.total * rules->maximum_over_percent / 100;
	actual.pace = away - actual.required > actual.surge ? away - actual.required : actual.surge;
	actual.pace = actual.pace ? actual.pace : 1;
	return actual;
}

/* ---- properties ---- */

static void check(struct checker *checker, enum property property, bool holds)
{
	checker->exercised[property]++;
	if (!holds && checker->broken < 0 && (checker->only < 0 || checker->only == (int)property))
		checker->broken = (int)property;
}

static void apply(struct fleet_instance *all, const struct fleet_action *action)
{
	struct fleet_instance *now = &all[action->instance];

	if (action->hands_over) {
		now->assigned = FLEET_ASSIGNED_TARGET;
		now->old_blocker = ROLLOUT_BLOCKER_NONE;
	}
	if (action->type == ROLLOUT_START) {
		now->tasks[action->version][ROLLOUT_PENDING]++;
	} else {
		now->tasks[action->version][action->class]--;
		now->stopping++;
	}
}

/* One action by itself, with the tasks from before all of them. */
static void check_action(struct checker *checker, const struct fleet_instance *before,
	const struct fleet_action *action)
{
	const struct fleet_rules *rules = &checker->rules;
	const struct fleet_instance *now = &before[action->instance];

	check(checker, P_S4, is_reached(now));
	check(checker, P_S6, rules->mode != FLEET_SILENT);
	if (action->type == ROLLOUT_STOP)
		return;
	check(checker, P_S5, is_wanted(rules, now) && action->version != FLEET_OTHER);
	check(checker, P_S5,
		action->version == FLEET_TARGET ? now->blocker == ROLLOUT_BLOCKER_NONE
						: now->old_blocker == ROLLOUT_BLOCKER_NONE);
	if (now->assigned == FLEET_ASSIGNED_OLD && rules->mode == FLEET_KEEPS)
		check(checker, P_D4,
			action->version == FLEET_OLD || now->old_blocker == ROLLOUT_UNSTARTABLE);
	if (now->assigned != FLEET_ASSIGNED_OLD)
		check(checker, P_D4, action->version == FLEET_TARGET);
	check(checker, P_D4,
		action->hands_over == (action->version == FLEET_TARGET &&
					      now->assigned != FLEET_ASSIGNED_TARGET));
}

/* A handover needs no decision: it is new, or has a task of the target version already. */
static bool is_free(const struct fleet_instance *now)
{
	return (now->assigned == FLEET_ASSIGNED_NONE && live_of(now) == 0) ||
	       count_of(now, FLEET_TARGET) > 0;
}

/* The state after some part of the actions. */
static void check_part(struct checker *checker, const struct fleet_instance *before,
	const struct fleet_instance *after, size_t count)
{
	const struct fleet_rules *rules = &checker->rules;
	struct actual was = count_actual(rules, before, count);
	struct actual is = count_actual(rules, after, count);
	unsigned moved = 0, fresh = 0, fresh_moving = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned tasks = live_of(&after[i]) + after[i].stopping;
		bool started = tasks > live_of(&before[i]) + before[i].stopping;
		bool handed = after[i].assigned == FLEET_ASSIGNED_TARGET &&
			      before[i].assigned != FLEET_ASSIGNED_TARGET;

		if (started && was.surge == 0)
			check(checker, P_S1, tasks == 1);
		if (started && was.surge > 0)
			check(checker, P_S2,
				tasks <= 2 && count_of(&after[i], FLEET_TARGET) <= 1 &&
					older_of(&after[i]) <= 1);
		if (is_kept(rules, &before[i]) && live_of(&before[i]))
			check(checker, P_D3, live_of(&after[i]) > 0);
		if (rules->mode == FLEET_ROLLS && rules->canary_instances == 0 &&
			is_wanted(rules, &before[i]) &&
			before[i].tasks[FLEET_TARGET][ROLLOUT_HEALTHY])
			check(checker, P_ARRIVED, after[i].tasks[FLEET_TARGET][ROLLOUT_HEALTHY]);
		if (handed && is_free(&before[i])) {
			fresh++;
			fresh_moving += is_wanted(rules, &after[i]) && !is_healthy(&after[i]);
		} else
			moved += handed && !is_healthy(&after[i]) && is_wanted(rules, &after[i]);
	}
	if (is.doubled > was.doubled)
		check(checker, P_S2, is.doubled <= was.surge);
	if (is.healthy < was.healthy)
		check(checker, P_S3, is.healthy >= was.required);
	if (moved)
		check(checker, P_S3B, is.sent - fresh_moving <= was.pace);
	if (rules->mode == FLEET_KEEPS && was.healthy)
		check(checker, P_S6, is.healthy == was.healthy);
	if (rules->canary_instances && is.decided - fresh > was.decided)
		check(checker, P_CANARY, is.decided - fresh <= rules->canary_instances);
}

static void check_parts(struct checker *checker, const struct fleet_instance *before, size_t count,
	const struct fleet_action *actions, size_t built)
{
	bool all = built <= SUBSETS_OF_MAX;
	size_t parts = all ? (size_t)1 << built : 2 * built;

	for (size_t part = 1; part < parts && checker->broken < 0; part++) {
		struct fleet_instance after[SMALL_MAX];

		memcpy(after, before, count * sizeof(after[0]));
		for (size_t i = 0; i < built; i++)
			if (all ? part >> i & 1 : part < built ? i < part : i >= part - built)
				apply(after, &actions[i]);
		check_part(checker, before, after, count);
	}
}

/* Checks the state after all actions are done. */
static void check_rest(struct checker *checker, const struct fleet_instance *before,
	const struct fleet_instance *after, size_t count)
{
	const struct fleet_rules *rules = &checker->rules;

	if (rules->mode == FLEET_SILENT)
		return;
	for (size_t i = 0; i < count; i++) {
		if (!is_reached(&before[i]) || live_of(&before[i]) == 0)
			continue;
		if (!is_wanted(rules, &before[i]) && !is_kept(rules, &before[i]))
			check(checker, P_GOES, live_of(&after[i]) == 0);
		else if (live_of(&before[i]) > 1 && rules->mode == FLEET_KEEPS &&
			 (is_healthy(&before[i]) || is_kept(rules, &before[i])))
			check(checker, P_S1_EXCESS,
				live_of(&after[i]) == 1 || count_actual(rules, after, count).surge);
	}
}

static void check_counts(struct checker *checker, const struct fleet *fleet,
	const struct fleet_instance *now, size_t count)
{
	const struct fleet_counts *counts = fleet_counts(fleet);
	struct actual actual = count_actual(&checker->rules, now, count);

	check(checker, P_S18,
		counts->active + counts->launching + counts->unhealthy + counts->missing ==
			counts->total);
	check(checker, P_S18, counts->total == actual.total && counts->active == actual.healthy);
	check(checker, P_S18,
		counts->required == actual.required && counts->surge == actual.surge &&
			counts->moving == actual.moving &&
			counts->handed_over == actual.handed_over);
	check(checker, P_S18,
		counts->proved == actual.proved && counts->unproved == actual.unproved);
	check(checker, P_S18,
		fleet_complete(fleet) == actual.complete && fleet_steady(fleet) == actual.steady);
}

static void check_cause(struct checker *checker, const struct fleet *fleet,
	const struct fleet_instance *now, size_t count, bool acts)
{
	struct fleet_reason reason = fleet_blocked(fleet), reasons[SMALL_MAX];
	size_t reported = fleet_reasons(fleet, reasons, SMALL_MAX);
	bool found = false;

	if (acts || fleet_steady(fleet) || checker->rules.mode == FLEET_SILENT) {
		check(checker, P_L6, reason.cause == FLEET_NO_CAUSE);
		return;
	}
	check(checker, P_L6, reason.cause != FLEET_NO_CAUSE && reason.instance < count);
	if (checker->broken >= 0)
		return;
	for (size_t i = 0; i < reported; i++)
		found |= reasons[i].instance == reason.instance && reasons[i].cause == reason.cause;
	check(checker, P_L6, found);
	now += reason.instance;
	if (reason.cause == FLEET_STOPPING || reason.cause == FLEET_HANGS)
		check(checker, P_L6, now->stopping > 0);
	if (reason.cause == FLEET_STARTING)
		check(checker, P_L6, live_of(now) > 0);
}

/* ---- one fleet, one plan ---- */

static void report_all(struct fleet *fleet, const struct fleet_instance *now, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fleet_set(fleet, (uint32_t)i, &now[i]);
}

static struct fleet *fleet_of(const struct fleet_rules *rules, size_t count)
{
	struct fleet *fleet = fleet_new();

	fleet_configure(fleet, rules);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fleet_add(fleet), i);
	return fleet;
}

/* Plans once, checks everything about it, and does it. */
static size_t plan_and_check(struct checker *checker, struct fleet *fleet,
	struct fleet_instance *now, size_t count)
{
	struct fleet_instance before[SMALL_MAX];
	struct fleet_action actions[ACTIONS_MAX];
	size_t built;

	memcpy(before, now, count * sizeof(before[0]));
	memcpy(checker->seen, now, count * sizeof(before[0]));
	checker->seen_count = count;
	report_all(fleet, now, count);
	check_counts(checker, fleet, now, count);
	built = fleet_next(fleet, actions, ACTIONS_MAX);
	assert_true(built < ACTIONS_MAX);
	for (size_t i = 0; i < built; i++) {
		check_action(checker, before, &actions[i]);
		check(checker, P_S4,
			actions[i].type == ROLLOUT_START ||
				now[actions[i].instance]
						.tasks[actions[i].version][actions[i].class] > 0);
		apply(now, &actions[i]);
	}
	if (checker->broken >= 0)
		return built;
	check_parts(checker, before, count, actions, built);
	check_rest(checker, before, now, count);
	/* It has taken them as done, and has nothing to add. */
	for (size_t i = 0; i < count; i++)
		check(checker, P_S16,
			memcmp(fleet_get(fleet, (uint32_t)i), &now[i], sizeof(now[i])) == 0);
	check(checker, P_S16, fleet_next(fleet, actions, ACTIONS_MAX) == 0);
	if (built == 0)
		check_cause(checker, fleet, now, count, false);
	return built;
}

/* Faults are over: what starts becomes healthy, what stops is gone, what is unhealthy stays so. */
static void live_on(struct fleet_instance *now)
{
	now->stopping = 0;
	now->hangs = false;
	now->blocker = now->old_blocker = ROLLOUT_BLOCKER_NONE;
	now->others_left = false;
	for (unsigned v = 0; v < FLEET_VERSION_COUNT; v++) {
		now->tasks[v][ROLLOUT_HEALTHY] += now->tasks[v][ROLLOUT_STARTING];
		now->tasks[v][ROLLOUT_STARTING] = now->tasks[v][ROLLOUT_PENDING];
		now->tasks[v][ROLLOUT_PENDING] = 0;
	}
}

#define STEPS_MAX 60

static bool is_at_end(const struct checker *checker, const struct fleet *fleet)
{
	enum fleet_cause cause = fleet_blocked(fleet).cause;

	switch (checker->rules.mode) {
	case FLEET_SILENT: return true;
	case FLEET_KEEPS:
		return fleet_steady(fleet) || cause == FLEET_HELD || cause == FLEET_UNREACHABLE;
	case FLEET_REMOVES: return fleet_steady(fleet);
	case FLEET_ROLLS: break;
	}
	if (checker->rules.canary_instances && cause == FLEET_CANARY)
		return true;
	return fleet_steady(fleet) || cause == FLEET_UNSATISFIABLE ||
	       (cause == FLEET_MINIMUM && fleet_counts(fleet)->awaited);
}

static void live_to_the_end(struct checker *checker, struct fleet *fleet,
	const struct fleet_instance *from, size_t count)
{
	struct fleet_instance now[SMALL_MAX];
	size_t built = 1, resting = 0;

	memcpy(now, from, count * sizeof(now[0]));
	for (unsigned step = 0; step < STEPS_MAX && resting < 4 && checker->broken < 0; step++) {
		built = plan_and_check(checker, fleet, now, count);
		resting = built ? 0 : resting + 1;
		for (size_t i = 0; i < count; i++)
			live_on(&now[i]);
	}
	if (checker->broken >= 0)
		return;
	check(checker, P_L1, resting == 4 && is_at_end(checker, fleet));
	check(checker, P_S16, built == 0);
	if (fleet_blocked(fleet).cause == FLEET_UNSATISFIABLE)
		check(checker, P_D2,
			fleet_counts(fleet)->allowed_down == 0 && fleet_counts(fleet)->surge == 0);
}

/*
 * ---- every small fleet ----
 *
 * The fleets tried, under each of many_rules. Instances differ only in their state, so each fleet
 * is tried in one order only.
 *     1 instance    all_instances: up to two tasks of any version and class, one more stopping or not, and whatever it
 *                   belongs to; blockers of both versions with one task at most; away, draining and the like with one
 *                   task, or a healthy one of the target and another. To the end
 *     2 instances   every two letters of MEDIUM, to the end; all_instances beside each letter of SMALL, one plan
 *     3 instances   every three letters of SMALL, to the end; each letter of MEDIUM beside every two of SMALL, one plan
 *     4 instances   every four letters of TINY, to the end; every four of SMALL, and every four of one task of any version
 *                   and class, or one that stops, or none, whatever each belongs to, one plan
 * To the end: what was planned is done, time continues, and it is planned again until nothing is left to do. The letters
 * are chosen so that each need, each cause and each place of an instance is among them.
 */

static const struct fleet_rules many_rules[] = {
	{.mode = FLEET_ROLLS},
	{.mode = FLEET_ROLLS, .minimum_requested = true, .minimum_healthy_percent = 0},
	{.mode = FLEET_ROLLS, .minimum_requested = true, .minimum_healthy_percent = 50},
	{.mode = FLEET_ROLLS, .minimum_requested = true, .minimum_healthy_percent = 67},
	{.mode = FLEET_ROLLS, .minimum_requested = true, .minimum_healthy_percent = 100},
	{.mode = FLEET_ROLLS, .replace_first = true, .maximum_over_percent = 50},
	{.mode = FLEET_ROLLS, .replace_first = true, .maximum_over_percent = 100},
	{.mode = FLEET_ROLLS,
		.minimum_requested = true,
		.minimum_healthy_percent = 100,
		.replace_first = true,
		.maximum_over_percent = 34},
	{.mode = FLEET_ROLLS,
		.minimum_requested = true,
		.minimum_healthy_percent = 50,
		.replace_first = true,
		.maximum_over_percent = 50},
	{.mode = FLEET_ROLLS,
		.minimum_requested = true,
		.minimum_healthy_percent = 0,
		.canary_instances = 1},
	{.mode = FLEET_ROLLS,
		.replace_first = true,
		.maximum_over_percent = 100,
		.canary_instances = 2},
	{.mode = FLEET_KEEPS, .minimum_requested = true, .minimum_healthy_percent = 0},
	{.mode = FLEET_KEEPS, .replace_first = true, .maximum_over_percent = 100},
	{.mode = FLEET_REMOVES, .minimum_requested = true, .minimum_healthy_percent = 100},
	{.mode = FLEET_SILENT},
};

/* Alphabets, from the largest to the one for four instances. */
#define TINY ". ~ @ tH ~oH ~oP ~oU oH z ~oHtP ~/u b ?~oH w"
#define SMALL                                                                                      \
	TINY " tP tU ~oHz oHtH oHtS ~oHoH ~oPoS @xH ~oHr ~oHb ~b ~Z -oH dtH DoH !oH ~oU/u ~tU "    \
	     "~oHtH ~oPtP"
#define MEDIUM                                                                                     \
	SMALL " tS xP xU oU oP ~xH ~xU @xU @xP @tP ~tH ~tP tHz tPz ~z ~oPz ~oUz oHz tHtH tPtP "    \
	      "tUtH "                                                                              \
	      "tUoH ~oUtU ~oHxH oHtU oHtPz oHoP ~oHtPxS ~oS ~oPb ~oUb ~oUb/b ~b/b ~/b ~r ~r/u @b " \
	      "@xHb @xHr oHr oHb tUb tUr r u ~oHoHz ~oHtHz -tP -z -xUtH -oHz d dz doP dtHoH Doz "  \
	      "DtHtH DtPz D ~oHZ w~oH woHtH ? ?-oH ?tHtH ?oU"

#define MEDIUM_MAX 160

/* The possible states of one instance, up to two tasks. */
#define FULL_MAX 4000

static size_t all_instances(struct fleet_instance *out)
{
	static const char *const places[] = {"", "-", "d", "D", "?", "w", "!"};
	static const enum rollout_blocker some[] = {
		ROLLOUT_BLOCKER_NONE, ROLLOUT_BACKOFF, ROLLOUT_RESOURCES, ROLLOUT_UNSTARTABLE};
	const size_t cells = FLEET_VERSION_COUNT * ROLLOUT_CLASS_COUNT;
	size_t count = 0;

	for (size_t place = 0; place < LENGTH(places); place++)
		for (size_t first = 0; first <= cells; first++)
			for (size_t second = first; second <= cells; second++)
				for (size_t rest = 0; rest < 2 * 3 * 16; rest++) {
					struct fleet_instance now =
						read_instance(places[place], strlen(places[place]));
					bool two = first < cells && second < cells;

					now.stopping = rest % 2;
					now.assigned = (enum fleet_assigned)(rest / 2 % 3);
					now.blocker = some[rest / 6 % 4];
					now.old_blocker = some[rest / 24];
					if ((place > 0 || two) && (now.blocker || now.old_blocker))
						continue;
					if (now.old_blocker && now.assigned != FLEET_ASSIGNED_OLD)
						continue;
					if (place > 0 && (now.assigned || (two && first != 2)))
						continue;
					if (first < cells)
						now.tasks[first / 4][first % 4]++;
					if (second < cells)
						now.tasks[second / 4][second % 4]++;
					assert_true(count < FULL_MAX);
					out[count++] = now;
				}
	return count;
}

/* One task at most, of any version and class, or one that stops; whatever it belongs to. */
static size_t plain_instances(struct fleet_instance *out)
{
	const size_t cells = FLEET_VERSION_COUNT * ROLLOUT_CLASS_COUNT;
	size_t count = 0;

	for (unsigned assigned = 0; assigned < 3; assigned++)
		for (size_t cell = 0; cell < cells + 2; cell++) {
			struct fleet_instance now = read_instance("", 0);

			now.assigned = (enum fleet_assigned)assigned;
			now.stopping = cell == cells;
			if (cell < cells)
				now.tasks[cell / ROLLOUT_CLASS_COUNT][cell % ROLLOUT_CLASS_COUNT]++;
			out[count++] = now;
		}
	return count;
}

static void fail_broken(const struct checker *checker)
{
	const struct fleet_rules *rules = &checker->rules;
	_buffer_ struct buffer out = {0};
	struct fleet *fleet = fleet_of(rules, checker->seen_count);
	struct fleet_action actions[ACTIONS_MAX];
	size_t built;

	for (size_t i = 0; i < checker->seen_count; i++)
		write_instance(&checker->seen[i], &out);
	buffer_add_string(&out, " => ");
	report_all(fleet, checker->seen, checker->seen_count);
	built = fleet_next(fleet, actions, ACTIONS_MAX);
	for (size_t i = 0; i < built; i++) {
		buffer_add_char(&out, ' ');
		write_action(&actions[i], &out);
	}
	buffer_format(&out, " (%s)", fleet_cause_name(fleet_blocked(fleet).cause));
	fleet_free(fleet);
	fail_msg("%s: mode %d, %d:%u %%, %d:%u %%, canary %u:%s", property_names[checker->broken],
		rules->mode, rules->minimum_requested, rules->minimum_healthy_percent,
		rules->replace_first, rules->maximum_over_percent, rules->canary_instances,
		out.data);
}

/* Every choice of `count` letters, order aside, and `beside` if there is one; to the end, or one plan. */
static void check_choices(struct checker *checker, struct fleet *fleet,
	const struct fleet_instance *letters, size_t letter_count, size_t count,
	const struct fleet_instance *beside, bool to_the_end)
{
	struct fleet_instance now[SMALL_MAX];
	size_t chosen[SMALL_MAX] = {0};
	size_t at = 0;

	while (checker->broken < 0) {
		for (size_t i = 0; i < count; i++)
			now[i] = letters[chosen[i]];
		if (beside)
			now[count] = *beside;
		if (to_the_end)
			live_to_the_end(checker, fleet, now, count);
		else
			plan_and_check(checker, fleet, now, beside ? count + 1 : count);
		at = count;
		while (at > 0 && chosen[at - 1] == letter_count - 1)
			at--;
		if (at == 0)
			return;
		chosen[at - 1]++;
		for (size_t i = at; i < count; i++)
			chosen[i] = chosen[at - 1];
	}
}

/* Each of everything beside each of the small alphabet; one plan. */
static void check_pairs(struct checker *checker, struct fleet *fleet,
	const struct fleet_instance *all, size_t all_count, const struct fleet_instance *letters,
	size_t letter_count)
{
	for (size_t i = 0; i < all_count && checker->broken < 0; i++)
		for (size_t j = 0; j < letter_count && checker->broken < 0; j++) {
			bool first = (i + j) % 2;
			struct fleet_instance now[2] = {
				first ? all[i] : letters[j], first ? letters[j] : all[i]};

			plan_and_check(checker, fleet, now, 2);
		}
}

/* Larger ones, of larger alphabets; one plan. */
static void check_plans(struct checker *checker, const struct fleet_rules *rules)
{
	static struct fleet_instance letters[MEDIUM_MAX], others[MEDIUM_MAX];
	size_t letter_count = read_instances(SMALL, letters, MEDIUM_MAX);
	size_t other_count = read_instances(MEDIUM, others, MEDIUM_MAX);
	struct fleet *three = fleet_of(rules, 3), *four = fleet_of(rules, 4);

	for (size_t i = 0; i < other_count && checker->broken < 0; i++)
		check_choices(checker, three, letters, letter_count, 2, &others[i], false);
	check_choices(checker, four, letters, letter_count, 4, NULL, false);
	letter_count = plain_instances(letters);
	check_choices(checker, four, letters, letter_count, 4, NULL, false);
	fleet_free(three);
	fleet_free(four);
}

static void check_rules(struct checker *checker, const struct fleet_rules *rules)
{
	static struct fleet_instance all[FULL_MAX], letters[MEDIUM_MAX];
	size_t all_count = all_instances(all);
	static const struct {
		const char *letters;
		size_t count;
	} sizes[] = {{MEDIUM, 1}, {MEDIUM, 2}, {SMALL, 3}, {TINY, 4}};

	checker->rules = *rules;
	for (size_t i = 0; i < LENGTH(sizes) && checker->broken < 0; i++) {
		size_t count = read_instances(sizes[i].letters, letters, MEDIUM_MAX);
		struct fleet *fleet = fleet_of(rules, sizes[i].count);

		check_choices(checker, fleet, letters, count, sizes[i].count, NULL, true);
		fleet_free(fleet);
	}
	if (checker->broken < 0 && rules->bug == FLEET_NO_BUG) {
		size_t count = read_instances(SMALL, letters, MEDIUM_MAX);
		struct fleet *fleet = fleet_of(rules, 2), *one = fleet_of(rules, 1);

		for (size_t i = 0; i < all_count && checker->broken < 0; i++)
			live_to_the_end(checker, one, &all[i], 1);
		check_pairs(checker, fleet, all, all_count, letters, count);
		if (!SANITIZED)
			check_plans(checker, rules);
		fleet_free(fleet);
		fleet_free(one);
	}
}

static void test_every_small_fleet(void **state)
{
	struct checker checker = {.broken = -1, .only = -1};

	(void)state;
	for (size_t i = 0; i < LENGTH(many_rules); i++) {
		check_rules(&checker, &many_rules[i]);
		if (checker.broken >= 0)
			fail_broken(&checker);
	}
	for (size_t i = 0; i < P_COUNT; i++) {
		print_message("%12llu %s\n", checker.exercised[i], property_names[i]);
		if (checker.exercised[i] == 0)
			fail_msg("never exercised: %s", property_names[i]);
	}
}

/* ---- bugs ---- */

static const enum property found_by[FLEET_BUG_COUNT] = {
	[FLEET_BUG_STALE_HEALTHY] = P_S3,
	[FLEET_BUG_OLD_IS_FREE] = P_S3,
	[FLEET_BUG_THREADS] = P_S3,
	[FLEET_BUG_HASTY_START] = P_S1,
	[FLEET_BUG_STOP_ALL] = P_S1_EXCESS,
	[FLEET_BUG_BLIND] = P_S4,
	[FLEET_BUG_DOUBLE] = P_S2,
	[FLEET_BUG_FIRST_OUT] = P_D3,
	[FLEET_BUG_NO_PACE] = P_S3B,
	[FLEET_BUG_NO_CANARY] = P_CANARY,
};

static const char *const bug_names[FLEET_BUG_COUNT] = {
	[FLEET_NO_BUG] = "none",
	[FLEET_BUG_STALE_HEALTHY] = "stale healthy",
	[FLEET_BUG_OLD_IS_FREE] = "old is free",
	[FLEET_BUG_THREADS] = "threads",
	[FLEET_BUG_HASTY_START] = "hasty start",
	[FLEET_BUG_STOP_ALL] = "stop all",
	[FLEET_BUG_BLIND] = "blind",
	[FLEET_BUG_DOUBLE] = "double",
	[FLEET_BUG_FIRST_OUT] = "first out",
	[FLEET_BUG_NO_PACE] = "no pace",
	[FLEET_BUG_NO_CANARY] = "no canary",
};

static void test_bugs_are_found(void **state)
{
	(void)state;
	for (enum fleet_bug bug = FLEET_NO_BUG + 1; bug < FLEET_BUG_COUNT; bug++) {
		struct checker checker = {.broken = -1, .only = (int)found_by[bug]};

		for (size_t i = 0; i < LENGTH(many_rules) && checker.broken < 0; i++) {
			struct fleet_rules rules = many_rules[i];

			rules.bug = bug;
			check_rules(&checker, &rules);
		}
		if (checker.broken < 0)
			fail_msg("%s: not found by %s", bug_names[bug],
				property_names[found_by[bug]]);
		print_message("%s: found by %s\n", bug_names[bug], property_names[checker.broken]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_small_fleet),
		cmocka_unit_test(test_bugs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
