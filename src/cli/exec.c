/*
 * slipway exec: a program in a container of a task, as if it ran here. The answer of one request is what
 * it writes, in frames (see server/task_exec.c); what is typed goes there in requests of its own, from a
 * second thread.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/remote.h"
#include "control/runner.h"

#define FRAME_HEAD 5
#define FRAME_MAX ((size_t)1024 * 1024)
#define INPUT_PIECE ((size_t)32 * 1024)
#define RETRY_US INT64_C(50000)
#define NO_EXIT_CODE (-1)
#define EXIT_NOT_RUN 127 /* as shells have it */

struct conversation {
	struct remote *remote;
	struct runner *runner;
	struct termios before; /* how our terminal was */
	bool is_raw;
	int sizes; /* signalfd of SIGWINCH; -1: none */
	char session[64];
	struct buffer frames; /* not whole yet */
	int exit_code;
	char error[ERR_MESSAGE_MAX];
};

/* ---- terminal input ---- */

static int post(struct conversation *conversation, const char *verb, struct span body)
{
	struct runner *runner = conversation->runner;
	int code;

	do {
		_arena_ struct arena *arena = arena_new(0);
		struct json *answer;

		code = remote_send(conversation->remote, "POST",
			arena_format(arena, "/v1/exec/%s/%s", conversation->session, verb).data,
			body, arena, &answer, NULL);
		if (code == -EAGAIN) /* it does not read: nor do we, for a while */
			runner_sleep_until(runner, runner_deadline_us(runner, RETRY_US));
	} while (code == -EAGAIN);
	return code;
}

static bool get_size(struct json *body, struct arena *arena)
{
	struct winsize size = {0};

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return false;
	json_set_integer(arena, body, "rows", size.ws_row);
	json_set_integer(arena, body, "columns", size.ws_col);
	return true;
}

static void post_size(struct conversation *conversation)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *body = json_new_object(arena);
	struct signalfd_siginfo ignored;

	if (read(conversation->sizes, &ignored, sizeof(ignored)) > 0 && get_size(body, arena))
		post(conversation, "size", json_to_text(body, arena));
}

/* For as long as the process lives: it ends when the answer does. */
static void forward_input(void *context)
{
	struct conversation *conversation = context;
	struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = conversation->sizes, .events = POLLIN}};
	char piece[INPUT_PIECE];

	for (;;) {
		ssize_t got;

		if (poll(polls, LENGTH(polls), -1) < 0)
			continue;
		if (polls[1].revents)
			post_size(conversation);
		if (!polls[0].revents)
			continue;
		got = read(STDIN_FILENO, piece, sizeof(piece));
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			post(conversation, "end", SPAN(""));
		/* The program no longer accepts input: the rest stays unread. */
		if (got <= 0 || post(conversation, "input", (struct span){piece, (size_t)got}) < 0)
			polls[0].fd = -1;
	}
}

/* ---- results ---- */

static int put(int descriptor, struct span data)
{
	while (data.length > 0) {
		ssize_t written = write(descriptor, data.data, data.length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -EPIPE;
		data.data += written;
		data.length -= (size_t)written;
	}
	return 0;
}

static int take_frame(struct conversation *conversation, char kind, struct span data)
{
	uint64_t code;

	switch (kind) {
	case 'o': return put(STDOUT_FILENO, data);
	case 'e': return put(STDERR_FILENO, data);
	case 's':
		snprintf(conversation->session, sizeof(conversation->session), "%.*s",
			SPAN_ARGS(data));
		return runner_spawn(conversation->runner, "input", forward_input, conversation,
			NULL);
	case 'x':
		if (!span_to_unsigned(data, 255, &code))
			return -EPROTO;
		conversation->exit_code = (int)code;
		return 0;
	case '!':
		snprintf(conversation->error, sizeof(conversation->error), "%.*s", SPAN_ARGS(data));
		return 0;
	default: return -EPROTO;
	}
}

static int take_bytes(void *context, struct span data)
{
	struct conversation *conversation = context;
	struct buffer *frames = &conversation->frames;
	size_t done = 0;
	int code = 0;

	buffer_add_span(frames, data);
	while (code == 0 && frames->length - done >= FRAME_HEAD) {
		const unsigned char *head = (const unsigned char *)frames->data + done;
		size_t length = (size_t)head[1] << 24 | (size_t)head[2] << 16 |
				(size_t)head[3] << 8 | head[4];

		if (length > FRAME_MAX)
			return -EPROTO;
		if (frames->length - done < FRAME_HEAD + length)
			break;
		code = take_frame(conversation, (char)head[0],
			(struct span){frames->data + done + FRAME_HEAD, length});
		done += FRAME_HEAD + length;
	}
	memmove(frames->data, frames->data + done, frames->length - done);
	frames->length -= done;
	return code;
}

/* ---- our own terminal ---- */

static void make_raw(struct conversation *conversation)
{
	struct termios raw;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	conversation->sizes = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (tcgetattr(STDIN_FILENO, &conversation->before) < 0)
		return;
	raw = conversation->before;
	cfmakeraw(&raw);
	conversation->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static int report(const struct conversation *conversation, int code, const struct err *err)
{
	if (code < 0)
		return command_failed("%s", err->message);
	if (conversation->exit_code == NO_EXIT_CODE && conversation->error[0]) {
		command_failed("%s", conversation->error);
		return EXIT_NOT_RUN;
	}
	if (conversation->exit_code == NO_EXIT_CODE)
		return command_failed("the server hung up before the program's end");
	return conversation->exit_code;
}

static int converse(const struct remote_options *options, struct json *body, bool terminal,
	struct arena *arena)
{
	struct conversation *conversation = memory_allocate(sizeof(*conversation));
	struct err err = {0};
	int code = remote_open(options, &conversation->remote, &err);

	conversation->sizes = -1;
	conversation->exit_code = NO_EXIT_CODE;
	conversation->runner = runner_threads_new(clock_system(), random_system());
	if (code == 0 && terminal) {
		get_size(body, arena);
		make_raw(conversation);
	}
	if (code == 0)
		code = remote_stream(conversation->remote, "/v1/exec", body, take_bytes,
			conversation, &err);
	if (conversation->is_raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &conversation->before);
	code = report(conversation, code, &err);
	buffer_clear(&conversation->frames);
	/* The other thread may be reading our input for ever. It ends with the process, and nothing that it
	 * uses may be torn down before. */
	if (conversation->session[0]) {
		fflush(NULL);
		_exit(code);
	}
	remote_close(conversation->remote);
	runner_free(conversation->runner);
	memory_close_descriptor(&conversation->sizes);
	free(conversation);
	return code;
}

int exec_count_own(int count, char **arguments)
{
	static const char *const valued[] = {"server", "state", "ca", "container", "c"};
	int words = 0;

	for (int i = 0; i < count; i++) {
		const char *text = arguments[i];

		if (strcmp(text, "--") == 0 || (text[0] != '-' && words++ > 0))
			return i;
		for (size_t j = 0; text[0] == '-' && j < LENGTH(valued); j++)
			if (strcmp(text + strspn(text, "-"), valued[j]) == 0) {
				i++;
				break;
			}
	}
	return count;
}

int exec_run(const struct command *command, int count, char **arguments)
{
	struct remote_options options = {0};
	const char *container = NULL;
	bool terminal = false, input = false; /* input always is: -i is for those used to it */
	const struct option_row rows[] = {{"server", &options.server, NULL},
		{"state", &options.state, NULL}, {"ca", &options.authorities, NULL},
		{"container", &container, NULL}, {"c", &container, NULL}, {"t", NULL, &terminal},
		{"it", NULL, &terminal}, {"ti", NULL, &terminal}, {"i", NULL, &input}};
	_arena_ struct arena *arena = arena_new(0);
	struct json *body = json_new_object(arena), *program = json_new_array(arena);
	struct positionals words;
	int mine, code;

	mine = exec_count_own(count, arguments);
	code = command_read_options(command, mine, arguments, rows, LENGTH(rows), &words);
	if (code != 0)
		return code;
	if (words.count != 1)
		return command_misused(command, "say which task, and the command behind it");
	if (mine < count && strcmp(arguments[mine], "--") == 0)
		mine++;
	for (int i = mine; i < count; i++)
		json_append(arena, program, json_new_string(arena, span_of(arguments[i])));
	if (json_count(program) == 0)
		return command_misused(command, "say what to run: slipway exec TASK COMMAND ...");
	json_set_string(arena, body, "task", span_of(words.items[0]));
	if (container)
		json_set_string(arena, body, "container", span_of(container));
	json_set(arena, body, "command", program);
	json_set_bool(arena, body, "terminal", terminal);
	return converse(&options, body, terminal, arena);
}
