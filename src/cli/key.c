/* slipway key create|list|delete|show-admin: access keys of a running server. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "aws/caller.h"
#include "aws/policy.h"
#include "base/file.h"
#include "base/yaml.h"
#include "cli/command.h"
#include "cli/key_lines.h"
#include "cli/remote.h"

static int print_json(const struct json *value)
{
	_buffer_ struct buffer out = {0};

	json_write_pretty(value, &out);
	puts(out.data);
	return EXIT_OK;
}

static int create(const struct remote_options *options, const char *user, const char *policy_path,
	const char *account, bool as_json)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer policy_text = {0};
	struct json *body = json_new_object(arena);
	struct json *policy, *answer;
	struct err err;

	if (user)
		json_set_string(arena, body, "user", span_of(user));
	if (account)
		json_set_string(arena, body, "account", span_of(account));
	if (policy_path) {
		if (file_read(policy_path, AWS_POLICY_TEXT_MAX, &policy_text, &err) < 0)
			return command_failed("%s", err.message);
		if (json_parse(buffer_span(&policy_text), arena, &policy, &err) < 0)
			return command_failed("%s: %s", policy_path, err.message);
		json_set(arena, body, "policy", policy);
	}
	if (remote_call(options, "POST", "/v1/keys", body, arena, &answer, &err) < 0)
		return command_failed("%s", err.message);
	if (as_json)
		return print_json(answer);
	printf("Made a key for user %.*s of account %.*s. The secret is shown once.\n\n"
	       "  export AWS_ACCESS_KEY_ID=%.*s\n"
	       "  export AWS_SECRET_ACCESS_KEY=%.*s\n",
		SPAN_ARGS(json_get_text(answer, "user")),
		SPAN_ARGS(json_get_text(answer, "account")),
		SPAN_ARGS(json_get_text(answer, "accessKeyId")),
		SPAN_ARGS(json_get_text(answer, "secretAccessKey")));
	return EXIT_OK;
}

static int list(const struct remote_options *options, bool as_json)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer;
	struct err err;

	if (remote_call(options, "GET", "/v1/keys", NULL, arena, &answer, &err) < 0)
		return command_failed("%s", err.message);
	if (as_json)
		return print_json(answer);
	printf("%-22s %-14s %-20s %-26s %s\n", "KEY", "ACCOUNT", "USER", "CREATED", "POLICY");
	JSON_EACH_ITEM (json_get(answer, "keys"), key)
		printf("%-22.*s %-14.*s %-20.*s %-26.*s %s\n",
			SPAN_ARGS(json_get_text(key, "accessKeyId")),
			SPAN_ARGS(json_get_text(key, "account")),
			SPAN_ARGS(json_get_text(key, "user")),
			SPAN_ARGS(json_get_text(key, "createdAt")),
			json_is_absent(json_get(key, "policy")) ? "everything" : "yes");
	return EXIT_OK;
}

static int delete_key(const struct remote_options *options, const char *id)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer;
	struct err err;

	for (const char *c = id; *c; c++)
		if (!((*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			return command_failed("'%s' is not the id of a key", id);
	if (remote_call(options, "DELETE", arena_format(arena, "/v1/keys/%s", id).data, NULL, arena,
		    &answer, &err) < 0)
		return command_failed("%s", err.message);
	printf("Deleted key %s.\n", id);
	return EXIT_OK;
}

/* The region that the server has its instances in, as far as it can be asked. */
static const char *region_of_server(const struct remote_options *options, struct arena *arena)
{
	struct json *info;
	struct span region;

	if (remote_call(options, "GET", "/_slipway/info", NULL, arena, &info, NULL) < 0)
		return AWS_REGION_DEFAULT;
	region = json_get_text(info, "region");
	return region.data ? arena_copy(arena, region.data, region.length) : AWS_REGION_DEFAULT;
}

static int show_admin(const struct remote_options *options)
{
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *url = remote_url(options);
	struct admin_key key;
	struct err err;

	if (remote_read_admin_key(options, arena, &key, &err) < 0)
		return command_failed("%s", err.message);
	key_lines_print("", key.id, key.secret, region_of_server(options, arena), url);
	admin_key_clear(&key);
	return EXIT_OK;
}

int key_run(const struct command *command, int count, char **arguments)
{
	const char *user = NULL, *policy = NULL, *account = NULL, *format = NULL;
	struct remote_options options = {0};
	const struct option_row rows[] = {{"server", &options.server, NULL},
		{"state", &options.state, NULL}, {"ca", &options.authorities, NULL},
		{"user", &user, NULL}, {"policy", &policy, NULL}, {"account", &account, NULL},
		{"o", &format, NULL}};
	struct positionals words;
	bool as_json;
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &words);

	if (code != 0)
		return code;
	if (format && strcmp(format, "json") != 0)
		return command_misused(command, "unknown output format; use -o json");
	as_json = format != NULL;
	if (words.count == 1 && strcmp(words.items[0], "create") == 0)
		return create(&options, user, policy, account, as_json);
	if (user || policy || account)
		return command_misused(command, "--user, --policy and --account are for create");
	if (words.count == 1 && strcmp(words.items[0], "list") == 0)
		return list(&options, as_json);
	if (words.count == 2 && strcmp(words.items[0], "delete") == 0)
		return delete_key(&options, words.items[1]);
	if (words.count == 1 && strcmp(words.items[0], "show-admin") == 0)
		return show_admin(&options);
	return command_misused(command, "say create, list or delete ID, or show-admin");
}
