/* slipway env …: finds the verb, reads what options it has, and runs it; see env.h. */
#include "cli/env.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LENGTH 30
#define ID_MAX_LENGTH 64
#define ROWS_MAX 40

/* The verb: the first word that is neither an option nor its value. */
static const char *first_word(int count, char **arguments)
{
	for (int i = 0; i < count; i++) {
		const char *text = arguments[i];
		const struct env_option *option;

		if (text[0] != '-' || !text[1])
			return text;
		text += text[1] == '-' ? 2 : 1;
		option = env_option_find(span_of(text));
		if (option && option->value)
			i++;
	}
	return NULL;
}

bool env_help_of(int count, char **arguments)
{
	const char *word = first_word(count, arguments);
	const struct env_verb *verb = word ? env_verb_find(word) : NULL;

	if (verb)
		env_verb_help(verb);
	return verb != NULL;
}

static size_t add_rows(struct env *env, const struct env_options *set, struct option_row *rows,
	size_t count)
{
	for (size_t i = 0; i < set->count && count < ROWS_MAX; i++) {
		char *member = (char *)env + set->rows[i].offset;

		rows[count++] = set->rows[i].value ? (struct option_row){set->rows[i].name,
							     (const char **)(void *)member, NULL}
						   : (struct option_row){set->rows[i].name, NULL,
							     (bool *)(void *)member};
	}
	return count;
}

static int read_options(struct env *env, const struct env_verb *verb, int count, char **arguments,
	struct positionals *ret_words)
{
	struct option_row rows[ROWS_MAX];
	size_t row_count = add_rows(env, &env_common, rows, 0);

	for (size_t i = 0; i < ENV_OPTION_SETS; i++)
		row_count = add_rows(env, &verb->sets[i], rows, row_count);
	return command_read_options(env->command, count, arguments, rows, row_count, ret_words);
}

static bool is_name(const char *text, size_t most)
{
	for (const char *c = text; *c; c++)
		if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
			    (*c >= 'a' && *c <= 'z') || (c > text && (*c == '-' || *c == '_'))))
			return false;
	return *text != '\0' && strlen(text) <= most;
}

static int read_text(struct env *env, const struct env_verb *verb, const struct positionals *words)
{
	int configured = words->count - 1;

	if (configured < verb->least)
		return command_misused(env->command, "NAME of the environment is missing");
	if (configured > verb->most)
		return command_misused(env->command, "unexpected argument '%s'; this verb takes %s",
			words->items[verb->most + 1],
			verb->most == 0   ? "no name"
			: verb->most == 1 ? "one name"
					  : "a name and a deployment ID");
	env->name = configured > 0 ? words->items[1] : NULL;
	env->argument = configured > 1 ? words->items[2] : NULL;
	if (env->name && !is_name(env->name, NAME_MAX_LENGTH))
		return command_misused(env->command,
			"invalid environment name '%s': use 1 to %d letters, digits, - and _; "
			"it must begin with a letter or digit",
			env->name, NAME_MAX_LENGTH);
	if (env->argument && !is_name(env->argument, ID_MAX_LENGTH))
		return command_misused(env->command,
			"invalid deployment ID '%s': run 'slipway env history %s' to list the IDs",
			env->argument, env->name);
	return EXIT_OK;
}

/* Lists the verbs when the command line names none of them. */
static int refuse_verb(const struct command *command, const char *word, struct arena *arena)
{
	struct span list = SPAN("");

	for (size_t i = 0; i < env_verb_count; i++)
		list = arena_format(arena, "%.*s%s%s", SPAN_ARGS(list),
			i == 0                    ? ""
			: i + 1 == env_verb_count ? " or "
						  : ", ",
			env_verbs[i].name);
	if (!word)
		return command_misused(command, "a verb is missing; use one of %.*s",
			SPAN_ARGS(list));
	return command_misused(command, "unknown verb '%s'; use one of %.*s", word,
		SPAN_ARGS(list));
}

int env_run(const struct command *command, int count, char **arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	const char *word = first_word(count, arguments);
	const struct env_verb *verb = word ? env_verb_find(word) : NULL;
	struct command own = *command;
	struct env env = {.command = &own, .arena = arena};
	_remote_ struct remote *remote = NULL;
	struct positionals words;
	struct err err;
	int code;

	if (!verb)
		return refuse_verb(command, word, arena);
	own.name = arena_format(arena, "%s %s", command->name, verb->name).data;
	code = read_options(&env, verb, count, arguments, &words);
	if (code == EXIT_OK)
		code = read_text(&env, verb, &words);
	if (code != EXIT_OK)
		return code;
	if (env.format && strcmp(env.format, "json") != 0)
		return command_misused(&own, "unknown output format '%s'; use -o json", env.format);
	if (remote_open(&env.options, &remote, &err) < 0)
		return command_failed("%s", err.message);
	env.remote = remote;
	return verb->run(&env);
}
