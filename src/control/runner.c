/* Code that both kinds of runner share: dispatch by table, names, the tree of groups, and the rule
 * that no function blocks while holding a lock. */
#include "control/runner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "control/runner_internal.h"

#define TRACE_LINE_MAX 512

void runner_set_name(struct runner *runner, const struct runner *parent, const char *name)
{
	char full[2 * RUNNER_NAME_MAX + 2];

	if (parent && parent->name[0])
		snprintf(full, sizeof(full), "%s/%.*s", parent->name, RUNNER_NAME_MAX, name);
	else
		snprintf(full, sizeof(full), "%.*s", RUNNER_NAME_MAX, name);
	memcpy(runner->name, full, RUNNER_NAME_MAX);
	runner->name[RUNNER_NAME_MAX] = '\0';
}

void runner_link(struct runner *parent, struct runner *child)
{
	struct runner **at = &parent->first_child;

	while (*at)
		at = &(*at)->next_sibling;
	*at = child;
	child->parent = parent;
}

void runner_unlink(struct runner *child)
{
	struct runner **at;

	if (!child->parent)
		return;
	for (at = &child->parent->first_child; *at != child; at = &(*at)->next_sibling)
		assert(*at);
	*at = child->next_sibling;
	child->parent = NULL;
}

struct runner *runner_group_new(struct runner *parent, const char *name)
{
	return parent->operations->group_new(parent, name);
}

void runner_free(struct runner *runner)
{
	if (runner)
		runner->operations->free(runner);
}

int runner_spawn(struct runner *runner, const char *name, void (*function)(void *context),
	void *context, struct err *err)
{
	return runner->operations->spawn(runner, name, function, context, err);
}

void runner_stop(struct runner *runner)
{
	runner->operations->stop(runner);
}

bool runner_is_stopped(struct runner *runner)
{
	return runner->operations->is_stopped(runner);
}

int runner_join(struct runner *runner, struct err *err)
{
	assert(lock_held_count() == 0);
	return runner->operations->join(runner, err);
}

struct clock *runner_clock(struct runner *runner)
{
	return runner->clock;
}

struct random *runner_random(struct runner *runner)
{
	return runner->random;
}

const char *runner_name(const struct runner *runner)
{
	return runner->name;
}

bool runner_is_simulated(const struct runner *runner)
{
	return runner->operations->simulated;
}

int64_t runner_deadline_us(struct runner *runner, int64_t delay_us)
{
	int64_t deadline;

	if (delay_us < 0)
		delay_us = 0;
	if (__builtin_add_overflow(runner_now_us(runner), delay_us, &deadline))
		return RUNNER_FOREVER;
	return deadline;
}

struct runner_event *runner_event_new(struct runner *runner, const char *name)
{
	return runner->operations->event_new(runner, name);
}

void runner_event_free(struct runner_event *event)
{
	if (event)
		event->operations->event_free(event);
}

uint64_t runner_event_count(struct runner_event *event)
{
	return event->operations->event_count(event);
}

void runner_signal(struct runner_event *event)
{
	event->operations->signal(event);
}

void runner_signal_one(struct runner_event *event)
{
	event->operations->signal_one(event);
}

int runner_wait(struct runner *runner, struct runner_event *event, uint64_t seen,
	int64_t deadline_us)
{
	assert(lock_held_count() == 0);
	return runner->operations->wait(runner, event, seen, deadline_us, false);
}

int runner_wait_certain(struct runner *runner, struct runner_event *event, uint64_t seen)
{
	assert(lock_held_count() == 0);
	return runner->operations->wait(runner, event, seen, RUNNER_FOREVER, true);
}

int runner_sleep_until(struct runner *runner, int64_t deadline_us)
{
	int code;

	assert(lock_held_count() == 0);
	code = runner->operations->wait(runner, NULL, 0, deadline_us, false);
	return code == -ETIMEDOUT ? 0 : code;
}

int runner_yield(struct runner *runner)
{
	assert(lock_held_count() == 0);
	return runner->operations->yield(runner);
}

void runner_assert_may_block(const struct runner *runner)
{
	assert(lock_held_count() == 0);
	if (!runner->operations->simulated)
		return;
	fprintf(stderr,
		"slipway: '%s' makes a blocking call outside of runner_wait in simulation\n",
		runner->name);
	abort();
}

void runner_trace(struct runner *runner, const char *format, ...)
{
	char line[TRACE_LINE_MAX];
	va_list list;

	if (!runner->operations->trace)
		return;
	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	runner->operations->trace(runner, line);
}
