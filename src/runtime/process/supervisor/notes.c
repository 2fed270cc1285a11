/* Sentences for users, joined by semicolons. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "runtime/process/supervisor/task.h"

#define NOTES_MAX 2048

struct notes {
	struct buffer text;
};

__attribute__((format(printf, 2, 3))) static void say(struct notes *notes, const char *format, ...)
{
	char sentence[512];
	va_list list;

	va_start(list, format);
	vsnprintf(sentence, sizeof(sentence), format, list);
	va_end(list);
	buffer_format(&notes->text, "%s%s", notes->text.length > 0 ? "; " : "", sentence);
}

static void say_files(const struct task *task, struct notes *notes)
{
	const struct separation *separation = &task->separation;
	bool privileged = false, readonly = false, hostname = false;

	for (size_t i = 0; i < task->plan->container_count; i++) {
		privileged |= task->plan->containers[i].privileged;
		readonly |= task->plan->containers[i].readonly_root;
		hostname |= task->plan->containers[i].hostname != NULL;
	}
	if (separation->separated)
		say(notes, "programs share the files of this machine");
	else
		say(notes,
			"plain mode%s%s: programs share files, processes and network with this "
			"machine",
			separation->reason[0] ? ", " : "", separation->reason);
	if (privileged)
		say(notes, geteuid() == 0 ? "privileged: programs have all capabilities"
					  : "privileged has no effect");
	if (task->hide_problem < 0)
		say(notes, "the files of slipway are not hidden: %s",
			strerror(-task->hide_problem));
	if (readonly && !separation->separated)
		say(notes, "the root file system is not read-only");
	if (hostname && !separation->separated)
		say(notes, "hostname is only set in the variable HOSTNAME");
}

static void say_network(const struct task *task, struct notes *notes)
{
	const struct separation *separation = &task->separation;
	enum plan_network network = task->plan->network;

	if (separation->own_network && network == PLAN_NETWORK_AWSVPC)
		say(notes, "the network of the task reaches this machine and its tasks");
	if (separation->network_reason[0])
		say(notes, "no network of its own: %s", separation->network_reason);
	if (network == PLAN_NETWORK_NONE && !separation->own_network)
		say(notes, "the network is not taken away (networkMode none)");
	if (network == PLAN_NETWORK_AWSVPC && !separation->own_network)
		say(notes, "the task's address is one of this machine's loopback");
	if (network == PLAN_NETWORK_BRIDGE && separation->separated)
		say(notes, "programs share the network of this machine");
}

struct span notes_of(const struct task *task)
{
	struct notes notes = {.text = BUFFER_WITH_CAP(NOTES_MAX)};
	struct span text;

	say_files(task, &notes);
	say_network(task, &notes);
	text = arena_copy_span(task->arena, buffer_span(&notes.text));
	buffer_clear(&notes.text);
	return text;
}
