/* Requests of slipway env to the server, and texts that its verbs share; see env.h. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/env.h"

#define ID_LENGTH 36        /* of a version */
#define PREFIX_LENGTH 8     /* with so many characters it may be meant */
#define PAGES_WAIT_MS 10000 /* for throttled requests of a list */
#define PAGES_PAUSE_MS 100

/* ---- requests ---- */

int env_try(struct env *env, const char *method, const char *path, const struct json *body,
	struct json **ret_answer, struct err *err)
{
	struct span text = body ? json_to_text(body, env->arena) : SPAN("");

	return remote_send(env->remote, method, path, text, env->arena, ret_answer, err);
}

bool env_may_pass(int code)
{
	static const int codes[] = {
		-EAGAIN, -EBUSY, -ECONNREFUSED, -ECONNRESET, -ETIMEDOUT, -EHOSTUNREACH};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

int env_failed(int code, const struct err *err)
{
	size_t length = strcspn(err->message, ": ");
	struct span member = {err->message, length};
	const char *option = err->message[length] == ':' ? env_member_option(member) : NULL;

	if (option)
		command_failed("--%s (%.*s)%s", option, SPAN_ARGS(member), err->message + length);
	else
		command_failed("%s", err->message);
	return env_may_pass(code) ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int env_call(struct env *env, const char *method, const char *path, const struct json *body,
	struct json **ret_answer)
{
	struct err err;
	int code = env_try(env, method, path, body, ret_answer, &err);

	return code < 0 ? env_failed(code, &err) : EXIT_OK;
}

const char *env_path(const struct env *env, const char *rest)
{
	return arena_format(env->arena, "/v1/environments/%s%s", env->name, rest).data;
}

const char *env_path_with(const struct env *env, const char *path, const char *name,
	const char *value)
{
	_buffer_ struct buffer out = {0};

	if (!value)
		return path;
	buffer_format(&out, "%s%c%s=", path, strchr(path, '?') ? '&' : '?', name);
	for (const char *c = value; *c; c++)
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			buffer_add_char(&out, *c);
		else
			buffer_format(&out, "%%%02X", (unsigned char)*c);
	return arena_copy_string(env->arena, out.data);
}

/* ---- lists ---- */

/* Reads a page; waits and retries when the server throttles the account. */
static int read_page(struct env *env, const char *path, struct json **ret_page)
{
	int64_t until_us = clock_steady_us(clock_system()) + (int64_t)PAGES_WAIT_MS * 1000;
	struct err err;
	int code;

	while ((code = env_try(env, "GET", path, NULL, ret_page, &err)) == -EAGAIN &&
		clock_steady_us(clock_system()) < until_us)
		nanosleep(&(struct timespec){.tv_nsec = PAGES_PAUSE_MS * 1000000L}, NULL);
	return code < 0 ? env_failed(code, &err) : EXIT_OK;
}

int env_pages(struct env *env, const char *path, const char *member, size_t most,
	struct json **ret_answer)
{
	struct json *built = json_new_object(env->arena), *items = json_new_array(env->arena),
		    *page;
	struct span token = SPAN("");

	do {
		int code = read_page(env,
			env_path_with(env, path, "nextToken",
				token.length > 0 ? arena_copy(env->arena, token.data, token.length)
						 : NULL),
			&page);

		if (code != EXIT_OK)
			return code;
		JSON_EACH_ITEM (json_get(page, member), item)
			json_append(env->arena, items, item);
		token = env_text(page, "nextToken");
	} while (token.length > 0 && json_count(items) < most);
	json_set(env->arena, built, member, items);
	if (token.length > 0)
		json_set_string(env->arena, built, "nextToken", token);
	*ret_answer = built;
	return EXIT_OK;
}

/* ---- versions ---- */

int env_read_versions(struct env *env, struct json **ret_answer)
{
	return env_pages(env, env_path(env, "/versions"), "versions", ENV_ITEMS_MAX, ret_answer);
}

static bool is_meant(const struct json *version, struct span configured, bool by_number)
{
	uint64_t number;

	if (!by_number)
		return span_starts_with(json_get_text(version, "environmentVersion"), configured);
	return span_to_unsigned(configured, INT32_MAX, &number) &&
	       env_number(version, "number") == (long long)number;
}

int env_find_version(struct env *env, const char *option, const char *configured,
	struct span *ret_id)
{
	struct span text = span_of(configured), found = SPAN_NONE;
	bool by_number = text.length < PREFIX_LENGTH;
	struct json *versions;
	uint64_t number;
	int code;

	if (text.length >= ID_LENGTH) {
		*ret_id = text;
		return EXIT_OK;
	}
	if (by_number && !span_to_unsigned(text, INT32_MAX, &number))
		return command_misused(env->command,
			"--%s: '%s' is not a version; use its number, its ID or at least %d "
			"characters "
			"of the ID",
			option, configured, PREFIX_LENGTH);
	code = env_read_versions(env, &versions);
	if (code != EXIT_OK)
		return code;
	JSON_EACH_ITEM (json_get(versions, "versions"), version) {
		if (!is_meant(version, text, by_number))
			continue;
		if (found.data)
			return command_failed("--%s: several versions of environment %s begin with "
					      "'%s'",
				option, env->name, configured);
		found = json_get_text(version, "environmentVersion");
	}
	if (!found.data)
		return command_failed("--%s: environment %s has no version %s", option, env->name,
			configured);
	*ret_id = found;
	return EXIT_OK;
}

/* ---- words ---- */

int env_print_json(const struct json *value)
{
	_buffer_ struct buffer out = {0};

	json_write_pretty(value, &out);
	puts(out.data);
	return EXIT_OK;
}

bool env_wants_json(const struct env *env)
{
	return env->format != NULL;
}

long long env_number(const struct json *object, const char *name)
{
	return (long long)json_get_integer(object, name, 0);
}

struct span env_text(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

struct span env_moment_of(const struct env *env, double seconds)
{
	time_t at = (time_t)seconds;
	char text[32];
	struct tm date;

	gmtime_r(&at, &date);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &date);
	return arena_copy_span(env->arena, span_of(text));
}

struct span env_moment(const struct env *env, const struct json *object, const char *name)
{
	double seconds = 0;

	if (!json_double(json_get(object, name), &seconds))
		return SPAN("-");
	return env_moment_of(env, seconds);
}

struct span env_last_part(struct span arn)
{
	for (size_t i = arn.length; i > 0; i--)
		if (arn.data[i - 1] == '/')
			return (struct span){arn.data + i, arn.length - i};
	return arn;
}

void env_warn(const char *format, ...)
{
	va_list list;

	fputs("slipway: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}
