/*
 * Parsing is recursive descent, or before and before not; evaluation walks the tree. A subject may have
 * several values (task:group): a positive operator asks whether any fits, a negative one whether none
 * does, so that "not_x" is always the opposite of "x".
 */
#include "ecs/record/cluster_query.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "ecs/record/attribute.h"

enum node_type { NODE_AND, NODE_OR, NODE_NOT, NODE_TERM };

enum operation { EQUALS, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, EXISTS, IN, MATCHES };

enum subject {
	SUBJECT_ATTRIBUTE,
	SUBJECT_GROUP,
	SUBJECT_AGENT_CONNECTED,
	SUBJECT_AGENT_VERSION,
	SUBJECT_REGISTERED_AT,
	SUBJECT_RUNNING_TASKS,
	SUBJECT_EC2_INSTANCE_ID,
};

/* How values of a subject compare. */
enum comparison { COMPARE_TEXT, COMPARE_NUMBER, COMPARE_VERSION, COMPARE_TIME };

static const struct {
	const char *name;
	enum subject subject;
	enum comparison comparison;
} subjects[] = {
	{"task:group", SUBJECT_GROUP, COMPARE_TEXT},
	{"agentConnected", SUBJECT_AGENT_CONNECTED, COMPARE_TEXT},
	{"agentVersion", SUBJECT_AGENT_VERSION, COMPARE_VERSION},
	{"registeredAt", SUBJECT_REGISTERED_AT, COMPARE_TIME},
	{"runningTasksCount", SUBJECT_RUNNING_TASKS, COMPARE_NUMBER},
	{"ec2InstanceId", SUBJECT_EC2_INSTANCE_ID, COMPARE_TEXT},
};

static const struct {
	const char *word;
	enum operation operation;
	bool negative;
} operators[] = {
	/* Longer spellings before their beginnings. */
	{"==", EQUALS, false},
	{"!=", EQUALS, true},
	{"=~", MATCHES, false},
	{"!~", MATCHES, true},
	{">=", GREATER_EQUAL, false},
	{"<=", LESS_EQUAL, false},
	{">", GREATER, false},
	{"<", LESS, false},
	{"!exists", EXISTS, true},
	{"!in", IN, true},
	{"greater_than_equal", GREATER_EQUAL, false},
	{"greater_than", GREATER, false},
	{"less_than_equal", LESS_EQUAL, false},
	{"less_than", LESS, false},
	{"not_equals", EQUALS, true},
	{"not_matches", MATCHES, true},
	{"not_exists", EXISTS, true},
	{"not_in", IN, true},
	{"equals", EQUALS, false},
	{"matches", MATCHES, false},
	{"exists", EXISTS, false},
	{"in", IN, false},
};

struct node {
	enum node_type type;
	struct node *left, *right;
	/* of a term */
	enum subject subject;
	enum comparison comparison;
	struct span attribute;
	enum operation operation;
	bool negative;
	struct span *arguments;
	size_t argument_count;
	regex_t *pattern;
};

struct cluster_query {
	struct arena *arena;
	struct node *root;
	unsigned asks; /* enum cluster_query_ask */
	regex_t *patterns[CLUSTER_QUERY_TERMS_MAX];
	size_t pattern_count;
};

/* ---- parsing ---- */

struct parser {
	struct cluster_query *query;
	struct span rest;
	unsigned depth;
	size_t terms;
	struct err *err;
};

static int wrong(struct parser *parser, const char *what)
{
	struct span place = parser->rest;

	if (place.length == 0)
		return err_set(parser->err, -EINVAL, "at the end: %s", what);
	if (place.length > 20)
		place.length = 20;
	return err_set(parser->err, -EINVAL, "at '%.*s': %s", SPAN_ARGS(place), what);
}

static void skip_spaces(struct parser *parser)
{
	while (parser->rest.length > 0 && isspace((unsigned char)parser->rest.data[0])) {
		parser->rest.data++;
		parser->rest.length--;
	}
}

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes the token if it is next; a word only if it ends there. */
static bool take(struct parser *parser, const char *token)
{
	struct span text = span_of(token);

	skip_spaces(parser);
	if (!span_starts_with(parser->rest, text))
		return false;
	if (is_word_character(text.data[text.length - 1]) && parser->rest.length > text.length &&
		is_word_character(parser->rest.data[text.length]))
		return false;
	parser->rest.data += text.length;
	parser->rest.length -= text.length;
	return true;
}

/* A run of characters that are not spaces and not of `ends`. */
static struct span take_run(struct parser *parser, const char *ends)
{
	struct span run = parser->rest;

	skip_spaces(parser);
	run = (struct span){parser->rest.data, 0};
	while (run.length < parser->rest.length && !isspace((unsigned char)run.data[run.length]) &&
		!strchr(ends, run.data[run.length]))
		run.length++;
	parser->rest.data += run.length;
	parser->rest.length -= run.length;
	return run;
}

static struct node *new_node(struct parser *parser, enum node_type type)
{
	struct node *node = arena_allocate(parser->query->arena, sizeof(*node));

	node->type = type;
	return node;
}

static int parse_subject(struct parser *parser, struct node *term)
{
	struct span subject = take_run(parser, "=!<>~()[],&|");
	struct span prefix, name;

	if (subject.length == 0)
		return wrong(parser, "a subject is missing, like attribute:NAME");
	for (size_t i = 0; i < LENGTH(subjects); i++)
		if (span_is(subject, subjects[i].name)) {
			term->subject = subjects[i].subject;
			term->comparison = subjects[i].comparison;
			if (term->subject == SUBJECT_GROUP)
				parser->query->asks |= CLUSTER_QUERY_GROUPS;
			if (term->subject == SUBJECT_RUNNING_TASKS)
				parser->query->asks |= CLUSTER_QUERY_RUNNING_TASKS;
			return 0;
		}
	if (span_split(subject, ':', &prefix, &name) && span_is(prefix, "attribute") &&
		name.length > 0) {
		term->subject = SUBJECT_ATTRIBUTE;
		term->attribute = attribute_packed_text(parser->query->arena, name);
		return 0;
	}
	return err_set(parser->err, -EINVAL, "'%.*s' is not a subject", SPAN_ARGS(subject));
}

static int parse_operator(struct parser *parser, struct node *term)
{
	for (size_t i = 0; i < LENGTH(operators); i++)
		if (take(parser, operators[i].word)) {
			term->operation = operators[i].operation;
			term->negative = operators[i].negative;
			return 0;
		}
	return wrong(parser, "an operator is missing, like == or exists");
}

static int parse_list(struct parser *parser, struct node *term)
{
	struct span items[CLUSTER_QUERY_LIST_MAX];
	size_t count = 0;

	if (!take(parser, "["))
		return wrong(parser, "a list is missing, like [a, b]");
	do {
		if (count == CLUSTER_QUERY_LIST_MAX)
			return wrong(parser, "the list is too long");
		items[count] = take_run(parser, "[],()");
		if (items[count++].length == 0)
			return wrong(parser, "the list has an empty item");
	} while (take(parser, ","));
	if (!take(parser, "]"))
		return wrong(parser, "the list does not end");
	term->arguments = arena_allocate_array(parser->query->arena, count, sizeof(*items));
	memcpy(term->arguments, items, count * sizeof(*items));
	term->argument_count = count;
	return 0;
}

/* The whole of a value must match. Repetition counts are refused: they make patterns that take memory
 * out of proportion to their text. */
static int compile_pattern(struct parser *parser, struct node *term)
{
	struct span text = term->arguments[0];
	char anchored[CLUSTER_QUERY_PATTERN_MAX + 8];
	regex_t *pattern;

	if (text.length > CLUSTER_QUERY_PATTERN_MAX)
		return err_set(parser->err, -EINVAL, "the pattern is longer than %d characters",
			CLUSTER_QUERY_PATTERN_MAX);
	if (memchr(text.data, '{', text.length) || memchr(text.data, '\\', text.length))
		return err_set(parser->err, -EINVAL,
			"the pattern '%.*s' uses '{' or '\\', which is not supported",
			SPAN_ARGS(text));
	snprintf(anchored, sizeof(anchored), "^(%.*s)$", SPAN_ARGS(text));
	pattern = memory_allocate(sizeof(*pattern));
	if (regcomp(pattern, anchored, REG_EXTENDED | REG_NOSUB)) {
		free(pattern);
		return err_set(parser->err, -EINVAL, "'%.*s' is not a pattern", SPAN_ARGS(text));
	}
	parser->query->patterns[parser->query->pattern_count++] = pattern;
	term->pattern = pattern;
	return 0;
}

static int parse_argument(struct parser *parser, struct node *term)
{
	/* Parentheses belong to patterns, but a closing one ends the expression around. */
	struct span argument = take_run(parser, term->operation == MATCHES ? "" : "[](),&|");
	int open = 0;

	if (term->operation == MATCHES) {
		size_t length = 0;

		for (; length < argument.length; length++) {
			open += argument.data[length] == '(';
			if (argument.data[length] == ')' && open-- == 0)
				break;
		}
		parser->rest.data -= argument.length - length;
		parser->rest.length += argument.length - length;
		argument.length = length;
	}
	if (argument.length == 0)
		return wrong(parser, "a value is missing");
	term->arguments = arena_allocate(parser->query->arena, sizeof(argument));
	term->arguments[0] = argument;
	term->argument_count = 1;
	return term->operation == MATCHES ? compile_pattern(parser, term) : 0;
}

static bool value_fits(enum comparison comparison, struct span text);

static int check_arguments(struct parser *parser, const struct node *term)
{
	bool ordered = term->operation >= GREATER && term->operation <= LESS_EQUAL;

	if (term->operation == MATCHES && term->comparison != COMPARE_TEXT)
		return err_set(parser->err, -EINVAL, "patterns are for texts only");
	if (ordered && term->subject != SUBJECT_ATTRIBUTE && term->comparison == COMPARE_TEXT)
		return err_set(parser->err, -EINVAL, "this subject has no order");
	for (size_t i = 0; i < term->argument_count; i++)
		if (!value_fits(term->comparison, term->arguments[i]))
			return err_set(parser->err, -EINVAL,
				"'%.*s' cannot be compared with this subject",
				SPAN_ARGS(term->arguments[i]));
	return 0;
}

static int parse_term(struct parser *parser, struct node **ret_node)
{
	struct node *term = new_node(parser, NODE_TERM);
	int code;

	if (parser->terms++ == CLUSTER_QUERY_TERMS_MAX)
		return wrong(parser, "the expression has too many terms");
	code = parse_subject(parser, term);
	if (code == 0)
		code = parse_operator(parser, term);
	if (code == 0 && term->operation == IN)
		code = parse_list(parser, term);
	else if (code == 0 && term->operation != EXISTS)
		code = parse_argument(parser, term);
	if (code == 0)
		code = check_arguments(parser, term);
	for (size_t i = 0;
		code == 0 && term->subject == SUBJECT_ATTRIBUTE && i < term->argument_count; i++)
		term->arguments[i] =
			attribute_packed_text(parser->query->arena, term->arguments[i]);
	if (code == 0)
		*ret_node = term;
	return code;
}

static int parse_or(struct parser *parser, struct node **ret_node);

static int parse_not(struct parser *parser, struct node **ret_node)
{
	struct node *node;
	int code;

	if (parser->depth++ == CLUSTER_QUERY_DEPTH_MAX)
		return wrong(parser, "the expression is nested too deep");
	if (take(parser, "!") || take(parser, "not")) {
		node = new_node(parser, NODE_NOT);
		code = parse_not(parser, &node->left);
	} else if (take(parser, "(")) {
		code = parse_or(parser, &node);
		if (code == 0 && !take(parser, ")"))
			code = wrong(parser, "')' is missing");
	} else {
		code = parse_term(parser, &node);
	}
	parser->depth--;
	if (code == 0)
		*ret_node = node;
	return code;
}

static int parse_and(struct parser *parser, struct node **ret_node)
{
	struct node *left;
	int code = parse_not(parser, &left);

	while (code == 0 && (take(parser, "&&") || take(parser, "and"))) {
		struct node *both = new_node(parser, NODE_AND);

		both->left = left;
		code = parse_not(parser, &both->right);
		left = both;
	}
	if (code == 0)
		*ret_node = left;
	return code;
}

static int parse_or(struct parser *parser, struct node **ret_node)
{
	struct node *left;
	int code = parse_and(parser, &left);

	while (code == 0 && (take(parser, "||") || take(parser, "or"))) {
		struct node *either = new_node(parser, NODE_OR);

		either->left = left;
		code = parse_and(parser, &either->right);
		left = either;
	}
	if (code == 0)
		*ret_node = left;
	return code;
}

int cluster_query_parse(struct span text, struct cluster_query **ret_query, struct err *err)
{
	_cluster_query_ struct cluster_query *query = memory_allocate(sizeof(*query));
	struct parser parser = {.query = query, .err = err};
	int code;

	if (text.length > CLUSTER_QUERY_TEXT_MAX)
		return err_set(err, -E2BIG, "the expression is longer than %d characters",
			CLUSTER_QUERY_TEXT_MAX);
	query->arena = arena_new(0);
	parser.rest = arena_copy_span(query->arena, text);
	code = parse_or(&parser, &query->root);
	skip_spaces(&parser);
	if (code == 0 && parser.rest.length > 0)
		code = wrong(&parser, "'and' or 'or' is missing");
	if (code < 0)
		return code;
	*ret_query = TAKE(query);
	return 0;
}

void cluster_query_free(struct cluster_query *query)
{
	if (!query)
		return;
	for (size_t i = 0; i < query->pattern_count; i++) {
		regfree(query->patterns[i]);
		free(query->patterns[i]);
	}
	arena_free(query->arena);
	free(query);
}

void cluster_query_free_pointer(struct cluster_query **query)
{
	cluster_query_free(*query);
}

/* ---- values ---- */

static bool read_number(struct span *text, int64_t *ret_number)
{
	size_t digits = 0;
	int64_t number = 0;

	for (; digits < text->length && digits < 18 && isdigit((unsigned char)text->data[digits]);
		digits++)
		number = number * 10 + (text->data[digits] - '0');
	text->data += digits;
	text->length -= digits;
	*ret_number = number;
	return digits > 0;
}

/* "1.18.0" part by part; parts that are missing count as 0. Three parts at most matter. */
static bool read_version(struct span text, int64_t parts[3])
{
	for (size_t i = 0; i < 3; i++) {
		parts[i] = 0;
		if (i > 0 && text.length == 0)
			continue;
		if (i > 0) {
			if (text.data[0] != '.')
				return false;
			text.data++;
			text.length--;
		}
		if (!read_number(&text, &parts[i]))
			return false;
	}
	return text.length == 0;
}

/* "2026-01-31" or "2026-01-31T12:00:00" with an optional Z; UTC. */
static bool read_time(struct span text, int64_t *ret_ms)
{
	char copy[32];
	struct tm time = {0};
	const char *end;

	if (text.length >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	end = strptime(copy, "%Y-%m-%d", &time);
	if (end && *end == 'T')
		end = strptime(end + 1, "%H:%M:%S", &time);
	if (end && *end == 'Z')
		end++;
	if (!end || *end)
		return false;
	*ret_ms = (int64_t)timegm(&time) * 1000;
	return true;
}

static bool value_fits(enum comparison comparison, struct span text)
{
	int64_t number, parts[3];

	switch (comparison) {
	case COMPARE_TEXT: return true;
	case COMPARE_NUMBER: return read_number(&text, &number) && text.length == 0;
	case COMPARE_VERSION: return read_version(text, parts);
	case COMPARE_TIME: return read_time(text, &number);
	}
	return false;
}

static int sign(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* Attributes are texts, but numbers among them compare as numbers. */
static int compare(enum comparison comparison, struct span value, struct span argument)
{
	int64_t a = 0, b = 0, first[3] = {0}, second[3] = {0};
	struct span left = value, right = argument;

	switch (comparison) {
	case COMPARE_TEXT:
	case COMPARE_NUMBER:
		if (read_number(&left, &a) && left.length == 0 && read_number(&right, &b) &&
			right.length == 0)
			return sign(a, b);
		return span_compare(value, argument);
	case COMPARE_VERSION:
		read_version(value, first);
		read_version(argument, second);
		for (size_t i = 0; i < 3; i++)
			if (first[i] != second[i])
				return sign(first[i], second[i]);
		return 0;
	case COMPARE_TIME:
		read_number(&left, &a); /* the instance's time comes as milliseconds */
		read_time(argument, &b);
		return sign(a, b);
	}
	return 0;
}

/* ---- evaluation ---- */

static bool value_matches(const struct node *term, struct span value)
{
	char text[512];

	switch (term->operation) {
	case EXISTS: return true;
	case EQUALS:
		/* Texts are equal or not; "01" is not "1". */
		if (term->comparison == COMPARE_TEXT)
			return span_equal(value, term->arguments[0]);
		return compare(term->comparison, value, term->arguments[0]) == 0;
	case GREATER: return compare(term->comparison, value, term->arguments[0]) > 0;
	case GREATER_EQUAL: return compare(term->comparison, value, term->arguments[0]) >= 0;
	case LESS: return compare(term->comparison, value, term->arguments[0]) < 0;
	case LESS_EQUAL: return compare(term->comparison, value, term->arguments[0]) <= 0;
	case IN:
		for (size_t i = 0; i < term->argument_count; i++)
			if (term->comparison == COMPARE_TEXT
					? span_equal(value, term->arguments[i])
					: compare(term->comparison, value, term->arguments[i]) == 0)
				return true;
		return false;
	case MATCHES:
		if (value.length >= sizeof(text))
			return false;
		memcpy(text, value.data, value.length);
		text[value.length] = '\0';
		return regexec(term->pattern, text, 0, NULL, 0) == 0;
	}
	return false;
}

static bool any_attribute(const struct node *term, const struct cluster_query_instance *instance)
{
	struct span value;

	return attribute_packed_find(instance->attributes, term->attribute, &value) &&
	       value_matches(term, value);
}

static bool any_value(const struct node *term, const struct cluster_query_instance *instance)
{
	char number[32];
	struct span value = SPAN_NONE;

	switch (term->subject) {
	case SUBJECT_ATTRIBUTE: return any_attribute(term, instance);
	case SUBJECT_GROUP:
		for (size_t i = 0; i < instance->group_count; i++)
			if (value_matches(term, instance->groups[i]))
				return true;
		return false;
	case SUBJECT_AGENT_CONNECTED:
		value = instance->agent_connected ? SPAN("true") : SPAN("false");
		break;
	case SUBJECT_AGENT_VERSION: value = instance->agent_version; break;
	case SUBJECT_EC2_INSTANCE_ID: value = instance->ec2_instance_id; break;
	case SUBJECT_REGISTERED_AT:
	case SUBJECT_RUNNING_TASKS:
		snprintf(number, sizeof(number), "%lld",
			(long long)(term->subject == SUBJECT_RUNNING_TASKS
					    ? instance->running_tasks
					    : instance->registered_ms));
		value = span_of(number);
		break;
	}
	return value.data && value_matches(term, value);
}

static bool evaluate(const struct node *node, const struct cluster_query_instance *instance)
{
	switch (node->type) {
	case NODE_AND: return evaluate(node->left, instance) && evaluate(node->right, instance);
	case NODE_OR: return evaluate(node->left, instance) || evaluate(node->right, instance);
	case NODE_NOT: return !evaluate(node->left, instance);
	case NODE_TERM: return any_value(node, instance) != node->negative;
	}
	return false;
}

bool cluster_query_asks(const struct cluster_query *query, enum cluster_query_ask ask)
{
	return query->asks & ask;
}

bool cluster_query_matches(const struct cluster_query *query,
	const struct cluster_query_instance *instance)
{
	return evaluate(query->root, instance);
}
