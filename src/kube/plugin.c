/*
 * Credential plugins: a program that prints an ExecCredential. It gets no input and no terminal; what it
 * prints is bounded, and so is its time: then its whole process group is killed. Its complaints are part
 * of our message, the credentials never.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "kube/credentials.h"
#include "kube/object.h"

#define POLL_MS 100
#define POLL_END_MS 2

extern char **environ;

/* ---- output ---- */

static int check_kind(const struct json *root, struct span api_version, struct err *err)
{
	struct span version = json_get_text(root, "apiVersion");

	if (!span_is(json_get_text(root, "kind"), "ExecCredential"))
		return err_set(err, -EACCES, "it did not print an ExecCredential");
	if (!span_equal(version, api_version))
		return err_set(err, -EACCES, "it printed apiVersion '%.*s' instead of '%.*s'",
			SPAN_ARGS(version), SPAN_ARGS(api_version));
	return 0;
}

static bool is_header_text(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if ((unsigned char)text.data[i] <= 0x20 || (unsigned char)text.data[i] >= 0x7f)
			return false;
	}
	return true;
}

static struct span text_or_none(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.length > 0 ? text : SPAN_NONE;
}

int kube_plugin_read(struct span output, struct span api_version, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err)
{
	struct kube_plugin_answer answer;
	const struct json *status;
	struct json *root;

	if (json_parse(output, arena, &root, NULL) < 0)
		return err_set(err, -EACCES, "it did not print JSON");
	if (check_kind(root, api_version, err) < 0)
		return -EACCES;
	status = json_get(root, "status");
	answer.token = text_or_none(status, "token");
	answer.certificate = text_or_none(status, "clientCertificateData");
	answer.key = text_or_none(status, "clientKeyData");
	answer.expires_ms = kube_time_ms(json_get(status, "expirationTimestamp"));
	if (!answer.token.data && !answer.certificate.data)
		return err_set(err, -EACCES,
			"it gave neither status.token nor status.clientCertificateData");
	if (!answer.certificate.data != !answer.key.data)
		return err_set(err, -EACCES,
			"status.clientCertificateData and status.clientKeyData belong together");
	if (!is_header_text(answer.token))
		return err_set(err, -EACCES, "status.token has spaces or control characters in it");
	if (!json_is_absent(json_get(status, "expirationTimestamp")) && answer.expires_ms == 0)
		return err_set(err, -EACCES, "status.expirationTimestamp is not a time");
	*ret_answer = answer;
	return 0;
}

/* ---- input of a plugin ---- */

static struct span write_info(const struct kube_access *access, struct span authorities,
	struct arena *arena)
{
	const struct kube_exec_plugin *plugin = access->plugin;
	struct json *root = json_new_object(arena), *spec = json_new_object(arena);
	struct json *config = NULL;

	json_set_string(arena, root, "apiVersion", plugin->api_version);
	json_set_string(arena, root, "kind", SPAN("ExecCredential"));
	json_set_bool(arena, spec, "interactive", false);
	json_set(arena, root, "spec", spec);
	if (plugin->provide_cluster_info) {
		struct json *cluster = json_new_object(arena);
		_buffer_ struct buffer data = {0};

		json_set_string(arena, cluster, "server", access->server);
		if (access->tls_server_name.data)
			json_set_string(arena, cluster, "tls-server-name", access->tls_server_name);
		if (access->insecure)
			json_set_bool(arena, cluster, "insecure-skip-tls-verify", true);
		if (authorities.data) {
			base64_encode(authorities, &data);
			json_set_string(arena, cluster, "certificate-authority-data",
				buffer_span(&data));
		}
		if (access->cluster_config.data &&
			json_parse(access->cluster_config, arena, &config, NULL) == 0)
			json_set(arena, cluster, "config", config);
		json_set(arena, spec, "cluster", cluster);
	}
	return json_to_text(root, arena);
}

static bool has_name_of(const char *variable, struct span other)
{
	struct span name, value;

	return span_split(other, '=', &name, &value) &&
	       span_starts_with(span_of(variable), (struct span){name.data, name.length + 1});
}

/* Ours without what the plugin's own replace, then those. */
static char **make_environment(const struct kube_exec_plugin *plugin, struct span info,
	struct arena *arena)
{
	size_t ours = 0, count = 0;
	char **environment;

	while (environ[ours])
		ours++;
	environment = arena_allocate_array(arena, ours + plugin->environment_count + 2,
		sizeof(*environment));
	for (size_t i = 0; i < ours; i++) {
		bool replaced =
			span_starts_with(span_of(environ[i]), SPAN("KUBERNETES_EXEC_INFO="));

		for (size_t own = 0; own < plugin->environment_count; own++)
			replaced |= has_name_of(environ[i], plugin->environment[own]);
		if (!replaced)
			environment[count++] = environ[i];
	}
	for (size_t own = 0; own < plugin->environment_count; own++)
		environment[count++] = (char *)plugin->environment[own].data;
	environment[count] =
		(char *)arena_format(arena, "KUBERNETES_EXEC_INFO=%.*s", SPAN_ARGS(info)).data;
	return environment;
}

static char **make_words(const struct kube_exec_plugin *plugin, struct arena *arena)
{
	char **words = arena_allocate_array(arena, plugin->word_count + 2, sizeof(*words));

	words[0] = (char *)plugin->command.data;
	for (size_t i = 0; i < plugin->word_count; i++)
		words[i + 1] = (char *)plugin->words[i].data;
	return words;
}

/* ---- running it ---- */

struct child {
	pid_t pid;
	int output, complaints; /* read from; -1: ended */
	struct runner *runner;
	const struct http_client_cancel *cancel; /* or NULL */
};

static bool is_cancelled(const struct child *child)
{
	return runner_is_stopped(child->runner) ||
	       (child->cancel && atomic_load(&child->cancel->requested));
}

/* A process group of its own, no signals blocked or ignored that our threads block or ignore. */
static int spawn(char **words, char **environment, int output, int complaints, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int code;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	code = posix_spawnp(ret_pid, words[0], &actions, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

static int start(const struct kube_exec_plugin *plugin, char **words, char **environment,
	struct child *ret_child, struct err *err)
{
	int output[2], complaints[2];
	pid_t pid;
	int code;

	if (pipe2(output, O_CLOEXEC) < 0)
		return err_errno(err, "pipe");
	if (pipe2(complaints, O_CLOEXEC) < 0) {
		code = err_errno(err, "pipe");
		close(output[0]);
		close(output[1]);
		return code;
	}
	code = spawn(words, environment, output[1], complaints[1], &pid);
	close(output[1]);
	close(complaints[1]);
	if (code != 0) {
		close(output[0]);
		close(complaints[0]);
		if (code == ENOENT && plugin->install_hint.data)
			return err_set(err, -ENOENT, "it is not there: %.*s",
				SPAN_ARGS(plugin->install_hint));
		return err_system(err, code, "it cannot be run");
	}
	ret_child->pid = pid;
	ret_child->output = output[0];
	ret_child->complaints = complaints[0];
	return 0;
}

/* Reads once. False at the end, or when the buffer's cap was passed. */
static bool read_some(int *descriptor, struct buffer *out)
{
	char data[4096];
	ssize_t n = read(*descriptor, data, sizeof(data));

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		memory_close_descriptor(descriptor);
		return true;
	}
	buffer_add(out, data, (size_t)n);
	return !buffer_failed(out);
}

/* Keeps the end, which is where programs say what went wrong. */
static void read_complaints(int *descriptor, struct buffer *out)
{
	read_some(descriptor, out);
	if (out->length > KUBE_PLUGIN_COMPLAINT_MAX)
		buffer_consume(out, out->length - KUBE_PLUGIN_COMPLAINT_MAX);
}

static int fail_time(struct err *err)
{
	return err_set(err, -ETIMEDOUT, "it did not end within %d seconds",
		(int)(KUBE_PLUGIN_TIMEOUT_US / 1000000));
}

/* Until both streams have ended. */
static int read_child(struct child *child, struct buffer *output, struct buffer *complaints,
	struct err *err)
{
	int64_t deadline = runner_deadline_us(child->runner, KUBE_PLUGIN_TIMEOUT_US);

	while (child->output >= 0 || child->complaints >= 0) {
		struct pollfd polled[] = {
			{child->output, POLLIN, 0}, {child->complaints, POLLIN, 0}};

		if (is_cancelled(child))
			return err_set(err, -ECANCELED, "cancelled");
		if (runner_now_us(child->runner) >= deadline)
			return fail_time(err);
		if (poll(polled, 2, POLL_MS) <= 0)
			continue;
		if (polled[0].revents && !read_some(&child->output, output))
			return err_set(err, -EFBIG, "it printed more than %zu bytes",
				KUBE_PLUGIN_OUTPUT_MAX);
		if (polled[1].revents)
			read_complaints(&child->complaints, complaints);
	}
	return 0;
}

/* A program may close its streams and go on. */
static int wait_for_end(const struct child *child, struct err *err)
{
	int64_t deadline = runner_deadline_us(child->runner, KUBE_PLUGIN_TIMEOUT_US);
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
		info.si_pid == 0) {
		if (is_cancelled(child))
			return err_set(err, -ECANCELED, "cancelled");
		if (runner_now_us(child->runner) >= deadline)
			return fail_time(err);
		poll(NULL, 0, POLL_END_MS);
	}
	return 0;
}

/* Nothing of it remains: its group is killed before its process id is free. */
static int end(struct child *child)
{
	int status = 0;

	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	memory_close_descriptor(&child->output);
	memory_close_descriptor(&child->complaints);
	return status;
}

static int check_end(int status, const struct buffer *complaints, struct err *err)
{
	struct span said = span_trim(buffer_span(complaints));

	while (said.length > 0 && said.data[said.length - 1] == '\n')
		said.length--;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		return err_set(err, -EACCES, "it was killed by signal %d: %.*s", WTERMSIG(status),
			SPAN_ARGS(said));
	return err_set(err, -EACCES, "it ended with %d: %.*s", WEXITSTATUS(status),
		SPAN_ARGS(said));
}

static int run(struct runner *runner, const struct http_client_cancel *cancel,
	const struct kube_access *access, struct span authorities, struct buffer *output,
	struct arena *arena, struct err *err)
{
	const struct kube_exec_plugin *plugin = access->plugin;
	_buffer_ struct buffer complaints = {0};
	struct child child = {.runner = runner, .cancel = cancel};
	int code, status;

	code = start(plugin, make_words(plugin, arena),
		make_environment(plugin, write_info(access, authorities, arena), arena), &child,
		err);
	if (code < 0)
		return code;
	code = read_child(&child, output, &complaints, err);
	if (code == 0)
		code = wait_for_end(&child, err);
	status = end(&child);
	return code < 0 ? code : check_end(status, &complaints, err);
}

int kube_plugin_run(struct runner *runner, const struct http_client_cancel *cancel,
	const struct kube_access *access, struct span authorities, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err)
{
	const struct kube_exec_plugin *plugin = access->plugin;
	_buffer_ struct buffer output = BUFFER_WITH_CAP(KUBE_PLUGIN_OUTPUT_MAX);
	int code;

	runner_assert_may_block(runner);
	code = run(runner, cancel, access, authorities, &output, arena, err);
	if (code == 0)
		code = kube_plugin_read(arena_copy_span(arena, buffer_span(&output)),
			plugin->api_version, arena, ret_answer, err);
	return code < 0 ? err_prefix(err, code, "credential plugin %s", plugin->command.data) : 0;
}
