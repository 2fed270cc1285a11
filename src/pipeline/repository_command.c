/* See the header. */
#include "pipeline/repository_command.h"

#include "base/memory.h"

#define REASON_MAX 400
#define OPEN_FILES_MAX 1024

static struct span behind(struct span text, size_t length)
{
	return (struct span){text.data + length, text.length - length};
}

/* Settings that neither the repository nor the operator's file can change. */
static const struct setting {
	const char *name, *value;
} settings[] = {
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.askPass", ""},
	{"core.bigFileThreshold", "8m"}, /* larger ones are streamed, not loaded */
	{"gc.autoDetach", "false"},      /* no process stays behind */
	{"fetch.recurseSubmodules", "false"},
	{"fetch.writeCommitGraph", "false"},
	{"protocol.version", "2"},
	{"remote.origin.tagOpt", "--no-tags"},
};

static const char *const *make_environment(const struct repository *repository,
	enum network network, struct arena *arena)
{
	static const char *const inherited[] = {"PATH", "HOME"};
	static const char *const fixed[] = {"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=20"};
	/* Besides: protocols, configuration file, number of settings, and the URL. */
	const char **list = arena_allocate_array(arena,
		LENGTH(inherited) + LENGTH(fixed) + 2 * (LENGTH(settings) + 1) + 4, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < LENGTH(inherited); i++) {
		const char *value = getenv(inherited[i]);

		if (value)
			list[count++] = arena_format(arena, "%s=%s", inherited[i], value).data;
	}
	for (size_t i = 0; i < LENGTH(fixed); i++)
		list[count++] = fixed[i];
	list[count++] =
		network == ONLINE ? "GIT_ALLOW_PROTOCOL=file:https:ssh" : "GIT_ALLOW_PROTOCOL=none";
	list[count++] = arena_format(arena, "GIT_CONFIG_GLOBAL=%s",
		repository->configuration ? repository->configuration : "/dev/null")
				.data;
	list[count++] = arena_format(arena, "GIT_CONFIG_COUNT=%zu", LENGTH(settings) + 1).data;
	for (size_t i = 0; i <= LENGTH(settings); i++) {
		bool is_url = i == LENGTH(settings);

		list[count++] = arena_format(arena, "GIT_CONFIG_KEY_%zu=%s", i,
			is_url ? "remote.origin.url" : settings[i].name)
					.data;
		list[count++] = arena_format(arena, "GIT_CONFIG_VALUE_%zu=%s", i,
			is_url ? repository->url : settings[i].value)
					.data;
	}
	return list; /* zeroed, so NULL is last */
}

/* The last line of what git wrote to its errors, without "fatal: ". */
static struct span find_reason(struct span text, struct arena *arena)
{
	static const char *const prefixes[] = {"fatal: ", "error: "};
	struct span line, last = SPAN("");

	while (span_next_part(&text, '\n', &line)) {
		if (span_trim(line).length > 0)
			last = span_trim(line);
	}
	for (size_t i = 0; i < LENGTH(prefixes); i++) {
		if (span_starts_with(last, span_of(prefixes[i])))
			last = behind(last, strlen(prefixes[i]));
	}
	if (last.length > REASON_MAX)
		last.length = REASON_MAX;
	return git_clean_text(last, arena);
}

static int check_result(const struct repository_command *command, const struct child_result *result,
	struct arena *arena, struct err *err)
{
	const char *name = command->arguments[0];
	struct span reason;

	if (result->cancelled)
		return err_set(err, -ECANCELED, "git %s was cancelled", name);
	if (result->timed_out)
		return err_set(err, -ETIMEDOUT, "git %s did not end within %d seconds", name,
			(command->network == ONLINE ? REPOSITORY_FETCH_MS : REPOSITORY_LOCAL_MS) /
				1000);
	if (result->exit_code == 0 && result->output_cut)
		return err_set(err, -E2BIG, "git %s wrote more than %zu bytes", name,
			command->output_max ? command->output_max : REPOSITORY_OUTPUT_MAX);
	if (result->exit_code == 0 || (result->exit_code == 1 && command->may_fail))
		return 0;
	reason = find_reason(buffer_span(&result->errors), arena);
	if (result->signal)
		return err_set(err, -EIO, "git %s was ended by signal %d", name, result->signal);
	return err_set(err, -EIO, "git %s: %.*s", name,
		SPAN_ARGS(reason.length > 0 ? reason : SPAN("failed without a message")));
}

int repository_command_run(const struct repository *repository,
	const struct repository_command *command, struct arena *arena, struct span *ret_output,
	struct err *err)
{
	const char *arguments[REPOSITORY_ARGUMENTS_MAX + 3] = {
		"git", arena_format(arena, "--git-dir=%s", repository->folder).data};
	struct child_request request = {
		.arguments = arguments,
		.environment = make_environment(repository, command->network, arena),
		.folder = "/",
		.input = command->input,
		.output_max = command->output_max ? command->output_max : REPOSITORY_OUTPUT_MAX,
		.timeout_ms =
			command->network == ONLINE ? REPOSITORY_FETCH_MS : REPOSITORY_LOCAL_MS,
		.cancel = repository->cancel,
		.file_size_max = REPOSITORY_PACK_MAX,
		.open_files_max = OPEN_FILES_MAX,
	};
	_child_result_ struct child_result result = {0};
	size_t count = 2;
	int code;

	for (size_t i = 0; command->arguments[i]; i++)
		arguments[count++] = command->arguments[i];
	code = child_run(repository->children, &request, &result, err);
	if (code >= 0)
		code = check_result(command, &result, arena, err);
	if (code < 0)
		return code;
	*ret_output = arena_copy_span(arena, buffer_span(&result.output));
	return result.exit_code;
}

void repository_add_argument(struct repository_command *command, struct arena *arena,
	const char *format, ...)
{
	size_t count = 0;
	va_list list;

	while (command->arguments[count])
		count++;
	va_start(list, format);
	command->arguments[count] = arena_format_list(arena, format, list).data;
	va_end(list);
}

int repository_check_commit(struct span commit, struct err *err)
{
	if (!git_is_id(commit))
		return err_set(err, -EINVAL, "\"%.*s\" is not the full ID of a commit",
			SPAN_ARGS(commit));
	return 0;
}
