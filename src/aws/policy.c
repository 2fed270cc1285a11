/*
 * A policy becomes an array of statements whose patterns point into the parsed text. Matching walks
 * a pattern once and on a mismatch goes back only to its last '*': at worst pattern times text
 * steps, never exponential, and both have a limit.
 */
#include "aws/policy.h"

#include "aws/arn.h"
#include "base/json.h"
#include "base/memory.h"

#define PATTERNS_MAX 1000 /* of one statement's list */
#define PATTERN_LENGTH_MAX AWS_ARN_MAX

struct patterns {
	const struct span *items;
	size_t count;
	bool inverted; /* NotAction, NotResource */
};

struct statement {
	bool allow;
	struct patterns actions;
	struct patterns resources;
};

struct aws_policy {
	const struct statement *statements;
	size_t count;
};

/* ---- parsing ---- */

/* Names the place in messages: "Statement[2]: Action: …". */
struct place {
	size_t statement;
	const char *member;
};

#define FAIL(err, place, format, ...)                                                              \
	err_set(err, -EINVAL, "policy: Statement[%zu]: %s: " format, (place)->statement,           \
		(place)->member, ##__VA_ARGS__)

static int check_action(struct span pattern, const struct place *place, struct err *err)
{
	struct span service, name;

	if (span_is(pattern, "*"))
		return 0;
	if (!span_split(pattern, ':', &service, &name) || service.length == 0 || name.length == 0)
		return FAIL(err, place, "'%.*s' is not \"*\" or \"SERVICE:OPERATION\"",
			SPAN_ARGS(pattern));
	for (size_t i = 0; i < pattern.length; i++) {
		char c = pattern.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    memchr("*?-_:.", c, 6)))
			return FAIL(err, place, "'%.*s' has a character that no action has",
				SPAN_ARGS(pattern));
	}
	return 0;
}

static int check_resource(struct span pattern, const struct place *place, struct err *err)
{
	struct aws_arn arn;

	/* A variable that is not filled in would match nothing in Allow, and nothing in Deny. */
	for (size_t i = 0; i + 1 < pattern.length; i++) {
		if (pattern.data[i] == '$' && pattern.data[i + 1] == '{')
			return FAIL(err, place, "'%.*s': policy variables are not supported",
				SPAN_ARGS(pattern));
	}
	if (span_is(pattern, "*") || aws_arn_parse(pattern, &arn))
		return 0;
	/* "arn:aws:ecs:*" stands for all the parts that it leaves out. */
	if (span_starts_with(pattern, SPAN("arn:")) && span_ends_with(pattern, SPAN("*")))
		return 0;
	return FAIL(err, place, "'%.*s' is neither \"*\" nor an ARN", SPAN_ARGS(pattern));
}

typedef int (*check_function)(struct span pattern, const struct place *place, struct err *err);

static int read_patterns(const struct json *value, const struct place *place, check_function check,
	struct arena *arena, struct patterns *ret_patterns, struct err *err)
{
	size_t count = value->type == JSON_ARRAY ? json_count(value) : 1;
	struct span *items;
	int code;

	if (count == 0)
		return FAIL(err, place, "the list is empty");
	if (count > PATTERNS_MAX)
		return FAIL(err, place, "more than %d entries", PATTERNS_MAX);
	items = arena_allocate_array(arena, count, sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		const struct json *item = value->type == JSON_ARRAY ? json_item(value, i) : value;

		if (!json_is(item, JSON_STRING))
			return FAIL(err, place, "must be a string or a list of strings, not %s",
				json_type_name(item->type));
		if (item->text.length == 0 || item->text.length > PATTERN_LENGTH_MAX)
			return FAIL(err, place, "each entry has 1 to %d characters",
				PATTERN_LENGTH_MAX);
		code = check(item->text, place, err);
		if (code < 0)
			return code;
		items[i] = arena_copy_span(arena, item->text);
	}
	ret_patterns->items = items;
	ret_patterns->count = count;
	return 0;
}

/* Exactly one of `name` and "Not" + `name`. */
static int read_choice(const struct json *object, size_t index, const char *name,
	const char *not_name, check_function check, struct arena *arena,
	struct patterns *ret_patterns, struct err *err)
{
	struct place place = {.statement = index, .member = name};
	const struct json *positive = json_get(object, name);
	const struct json *negative = json_get(object, not_name);

	if (positive && negative)
		return FAIL(err, &place, "cannot stand beside %s", not_name);
	if (!positive && !negative)
		return FAIL(err, &place, "is missing (or %s)", not_name);
	if (negative)
		place.member = not_name;
	ret_patterns->inverted = negative;
	return read_patterns(negative ? negative : positive, &place, check, arena, ret_patterns,
		err);
}

static int read_statement(const struct json *object, size_t index, struct arena *arena,
	struct statement *ret_statement, struct err *err)
{
	static const char *const known[] = {
		"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource"};
	struct place place = {.statement = index, .member = "Effect"};
	struct span effect;
	int code;

	if (!json_is(object, JSON_OBJECT))
		return err_set(err, -EINVAL, "policy: Statement[%zu]: must be an object, not %s",
			index, json_type_name(object->type));
	for (size_t i = 0; i < object->object.count; i++) {
		struct span name = object->object.members[i].name;
		bool found = false;

		for (size_t k = 0; k < LENGTH(known) && !found; k++)
			found = span_is(name, known[k]);
		if (!found)
			return err_set(err, -EINVAL,
				"policy: Statement[%zu]: %.*s: not supported; slipway refuses a "
				"policy that it would only understand in part",
				index, (int)(name.length < 64 ? name.length : 64), name.data);
	}
	effect = json_get_text(object, "Effect");
	if (!span_is(effect, "Allow") && !span_is(effect, "Deny"))
		return FAIL(err, &place, "must be \"Allow\" or \"Deny\"");
	ret_statement->allow = span_is(effect, "Allow");
	place.member = "Sid";
	if (json_get(object, "Sid") && !json_is(json_get(object, "Sid"), JSON_STRING))
		return FAIL(err, &place, "must be a string");
	code = read_choice(object, index, "Action", "NotAction", check_action, arena,
		&ret_statement->actions, err);
	if (code == 0)
		code = read_choice(object, index, "Resource", "NotResource", check_resource, arena,
			&ret_statement->resources, err);
	return code;
}

static int check_members(const struct json *document, struct err *err)
{
	const struct json *version = json_get(document, "Version");

	for (size_t i = 0; i < document->object.count; i++) {
		struct span name = document->object.members[i].name;

		if (!span_is(name, "Version") && !span_is(name, "Id") &&
			!span_is(name, "Statement"))
			return err_set(err, -EINVAL, "policy: %.*s: not a member of a policy",
				(int)(name.length < 64 ? name.length : 64), name.data);
	}
	/* The older version has no variables and is otherwise the same. */
	if (version && !span_is(json_text(version), "2012-10-17") &&
		!span_is(json_text(version), "2008-10-17"))
		return err_set(err, -EINVAL, "policy: Version: must be \"2012-10-17\"");
	return 0;
}

int aws_policy_parse(struct span text, struct arena *arena, const struct aws_policy **ret_policy,
	struct err *err)
{
	struct json *document;
	const struct json *list;
	struct aws_policy *policy;
	struct statement *statements;
	size_t count;
	int code;

	if (text.length > AWS_POLICY_TEXT_MAX)
		return err_set(err, -E2BIG, "policy: longer than %d bytes", AWS_POLICY_TEXT_MAX);
	code = json_parse(text, arena, &document, err);
	if (code < 0)
		return err_prefix(err, code, "policy");
	if (!json_is(document, JSON_OBJECT))
		return err_set(err, -EINVAL, "policy: must be an object, not %s",
			json_type_name(document->type));
	code = check_members(document, err);
	if (code < 0)
		return code;
	list = json_get(document, "Statement");
	if (!list)
		return err_set(err, -EINVAL, "policy: Statement: is missing");
	count = list->type == JSON_ARRAY ? json_count(list) : 1;
	if (count == 0)
		return err_set(err, -EINVAL, "policy: Statement: the list is empty");
	if (count > AWS_POLICY_STATEMENTS_MAX)
		return err_set(err, -E2BIG, "policy: Statement: more than %d statements",
			AWS_POLICY_STATEMENTS_MAX);
	statements = arena_allocate_array(arena, count, sizeof(*statements));
	for (size_t i = 0; i < count; i++) {
		code = read_statement(list->type == JSON_ARRAY ? json_item(list, i) : list, i,
			arena, &statements[i], err);
		if (code < 0)
			return code;
	}
	policy = arena_allocate(arena, sizeof(*policy));
	*policy = (struct aws_policy){.statements = statements, .count = count};
	*ret_policy = policy;
	return 0;
}

/* ---- deciding ---- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool matches(struct span pattern, struct span text, bool fold)
{
	size_t at = 0, from = 0;
	size_t star = SIZE_MAX, resume = 0; /* the last '*', and where its match ends */

	while (from < text.length) {
		char wanted = at < pattern.length ? pattern.data[at] : '\0';

		if (at < pattern.length && wanted == '*') {
			star = at++;
			resume = from;
		} else if (at < pattern.length &&
			   (wanted == '?' || wanted == text.data[from] ||
				   (fold && lower(wanted) == lower(text.data[from])))) {
			at++;
			from++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			from = ++resume;
		} else {
			return false;
		}
	}
	while (at < pattern.length && pattern.data[at] == '*')
		at++;
	return at == pattern.length;
}

static bool applies(const struct patterns *patterns, struct span text, bool fold)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (matches(patterns->items[i], text, fold))
			return !patterns->inverted;
	}
	return patterns->inverted;
}

enum aws_decision aws_policy_decide(const struct aws_policy *policy, struct span action,
	struct span resource)
{
	bool allowed = false;

	for (size_t i = 0; i < policy->count; i++) {
		const struct statement *statement = &policy->statements[i];

		/* Denials are looked for to the end; a further Allow would change nothing. */
		if (allowed && statement->allow)
			continue;
		if (!applies(&statement->actions, action, true) ||
			!applies(&statement->resources, resource, false))
			continue;
		if (!statement->allow)
			return AWS_DENIED;
		allowed = true;
	}
	return allowed ? AWS_ALLOWED : AWS_NOT_ALLOWED;
}

static bool allows_one(const struct aws_policy *policy, struct span action, struct span resource)
{
	return aws_policy_decide(policy, action, resource) == AWS_ALLOWED;
}

bool aws_policy_allows(const struct aws_policy *policy, struct span action,
	const struct span *resources, size_t count)
{
	if (count == 0)
		return allows_one(policy, action, SPAN("*"));
	for (size_t i = 0; i < count; i++) {
		if (!allows_one(policy, action, resources[i]))
			return false;
	}
	return true;
}

bool aws_policy_allows_everything(const struct aws_policy *policy, struct span action)
{
	for (size_t i = 0; i < policy->count; i++) {
		const struct statement *statement = &policy->statements[i];

		if (!statement->allow && applies(&statement->actions, action, true))
			return false;
	}
	return allows_one(policy, action, SPAN("*"));
}
