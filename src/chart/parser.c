/* Parses templates into trees; see template.h. */
#include <stdarg.h>
#include <stdio.h>

#include "chart/function.h"
#include "chart/lexer.h"
#include "chart/number.h"
#include "chart/template.h"
#include "chart/text.h"

struct variable {
	struct span name;
	int32_t slot;
	bool pending; /* its pipeline is being parsed: the name is known, but stands for an older one */
};

/* Variables of the template that is being parsed; definitions have their own. */
struct scope {
	struct variable variables[TEMPLATE_VARIABLES_MAX];
	uint32_t count;
	uint32_t slot_count;
};

struct parser {
	struct template_set *set;
	struct map defined; /* by this text */
	struct arena *arena;
	struct template_source *source;
	struct lexer lexer;
	struct token peeked[3];
	int peeked_count;
	struct scope *scope;
	int nesting;
	int range_depth;
	struct err *err;
};

enum list_end { LIST_END_TEXT, LIST_END_END, LIST_END_ELSE };

static int parse_list(struct parser *parser, bool top, struct node_list *ret_list,
	enum list_end *ret_end);

static int parse_fail(struct parser *parser, uint32_t position, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int parse_fail(struct parser *parser, uint32_t position, const char *format, ...)
{
	char message[512];
	unsigned line, column;
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	template_locate(parser->source->text, position, &line, &column);
	return err_set(parser->err, -EINVAL, "%.*s:%u:%u: %s", SPAN_ARGS(parser->source->name),
		line, column, message);
}

void template_locate(struct span text, uint32_t position, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1, column = 0;

	for (uint32_t i = 0; i < position && i < text.length; i++, column++)
		if (text.data[i] == '\n') {
			line++;
			column = UINT32_MAX;
		}
	*ret_line = line;
	*ret_column = column;
}

/* ---- tokens -------------------------------------------------------------------------------------- */

static int next(struct parser *parser, struct token *ret_token)
{
	struct err err;

	if (parser->peeked_count > 0) {
		*ret_token = parser->peeked[--parser->peeked_count];
		return 0;
	}
	if (lexer_next(&parser->lexer, ret_token, &err) < 0)
		return parse_fail(parser, parser->lexer.error_position, "%s", err.message);
	return 0;
}

static void back(struct parser *parser, struct token token)
{
	parser->peeked[parser->peeked_count++] = token;
}

static int next_word(struct parser *parser, struct token *ret_token)
{
	int code;

	do
		code = next(parser, ret_token);
	while (code == 0 && ret_token->type == TOKEN_SPACE);
	return code;
}

static int unexpected(struct parser *parser, struct token token, const char *context)
{
	if (token.type == TOKEN_END)
		return parse_fail(parser, token.position, "unexpected end of text in %s", context);
	if (token.text.length > 40)
		token.text.length = 40;
	return parse_fail(parser, token.position, "unexpected <%.*s> in %s", SPAN_ARGS(token.text),
		context);
}

static struct node *new_node(struct parser *parser, enum node_type type, uint32_t position)
{
	struct node *node = arena_allocate(parser->arena, sizeof(*node));

	node->type = type;
	node->position = position;
	return node;
}

/* Makes room for one more item in a growing array. */
static void *grow(struct arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	void *larger;

	if (count < *capacity)
		return items;
	*capacity = *capacity ? *capacity * 2 : 4;
	larger = arena_allocate_array(arena, *capacity, size);
	if (count)
		memcpy(larger, items, count * size);
	return larger;
}

static void append_node(struct parser *parser, struct node_list *list, struct node *node)
{
	list->items = grow(parser->arena, list->items, list->count, &list->capacity, sizeof(node));
	list->items[list->count++] = node;
}

/* ---- variables ----------------------------------------------------------------------------------- */

static int32_t find_variable(const struct parser *parser, struct span name)
{
	for (uint32_t i = parser->scope->count; i-- > 0;)
		if (!parser->scope->variables[i].pending &&
			span_equal(parser->scope->variables[i].name, name))
			return parser->scope->variables[i].slot;
	return -1;
}

static int declare(struct parser *parser, struct token token, bool assigns, struct pipe *pipe)
{
	struct scope *scope = parser->scope;
	int32_t slot = assigns ? find_variable(parser, token.text) : -1;

	if (!assigns)
		slot = (int32_t)scope->slot_count++;
	if (scope->count == TEMPLATE_VARIABLES_MAX || scope->slot_count > TEMPLATE_VARIABLES_MAX)
		return parse_fail(parser, token.position, "too many variables (limit %d)",
			TEMPLATE_VARIABLES_MAX);
	scope->variables[scope->count++] = (struct variable){token.text, slot, true};
	pipe->slots[pipe->slot_count++] = slot;
	return 0;
}

/*
 * Variables are declared after their pipeline: in "$x := append $x 1" the second $x is the older one.
 * Parentheses in the pipeline may have declared others meanwhile, which these hide.
 */
static void finish_declarations(struct scope *scope, uint32_t first, uint32_t count)
{
	struct variable declared[2];
	struct variable *variables = scope->variables + first;
	uint32_t behind = scope->count - first - count;

	if (count == 0)
		return;
	memcpy(declared, variables, count * sizeof(*declared));
	memmove(variables, variables + count, behind * sizeof(*variables));
	for (uint32_t i = 0; i < count; i++) {
		declared[i].pending = false;
		variables[behind + i] = declared[i];
	}
}

/* ---- expressions --------------------------------------------------------------------------------- */

static int parse_pipe(struct parser *parser, const char *context, enum token_type end,
	struct pipe **ret_pipe);

static int parse_number(struct parser *parser, struct token token, struct node **ret_node)
{
	struct node *node = new_node(parser, NODE_NUMBER, token.position);
	struct span text;
	size_t length;

	if (token.type == TOKEN_RUNE) {
		if (!text_unquote(parser->arena, token.text, &text) || text.length == 0 ||
			(text_decode(text, &length), length != text.length))
			return parse_fail(parser, token.position,
				"malformed character constant: %.*s", SPAN_ARGS(token.text));
		node->number.integer = text_decode(text, &length);
		node->number.is_integer = node->number.is_float = true;
		node->number.real = (double)node->number.integer;
		node->number.value = value_int(node->number.integer);
		*ret_node = node;
		return 0;
	}
	node->number.is_integer = number_parse_integer(token.text, 0, &node->number.integer);
	if (node->number.is_integer) {
		node->number.is_float = true;
		node->number.real = (double)node->number.integer;
		node->number.value = value_int(node->number.integer);
	} else if (number_parse_float_strict(token.text, &node->number.real)) {
		bool real_looking = false;

		for (size_t i = 0; i < token.text.length; i++)
			real_looking |= strchr(".eEpP", token.text.data[i]) != NULL;
		if (!real_looking)
			return parse_fail(parser, token.position, "integer overflow: %.*s",
				SPAN_ARGS(token.text));
		node->number.is_float = true;
		node->number.value = value_float(node->number.real);
		if (node->number.real >= -9e18 && node->number.real <= 9e18 &&
			node->number.real == (double)(int64_t)node->number.real) {
			node->number.is_integer = true;
			node->number.integer = (int64_t)node->number.real;
		}
	} else {
		return parse_fail(parser, token.position, "illegal number syntax: %.*s",
			SPAN_ARGS(token.text));
	}
	*ret_node = node;
	return 0;
}

static int parse_identifier(struct parser *parser, struct token token, struct node **ret_node)
{
	struct node *node = new_node(parser, NODE_FUNCTION, token.position);

	node->function.name = token.text;
	node->function.function = function_find(token.text);
	if (!node->function.function)
		return parse_fail(parser, token.position, "function \"%.*s\" not defined",
			SPAN_ARGS(token.text));
	*ret_node = node;
	return 0;
}

static int parse_parenthesis(struct parser *parser, struct token token, struct node **ret_node)
{
	struct node *node = new_node(parser, NODE_PIPE, token.position);
	int code;

	if (++parser->nesting > TEMPLATE_NESTING_MAX)
		return parse_fail(parser, token.position, "nested too deeply (limit %d)",
			TEMPLATE_NESTING_MAX);
	code = parse_pipe(parser, "parenthesized pipeline", TOKEN_CLOSE, &node->pipe);
	parser->nesting--;
	if (code == 0)
		*ret_node = node;
	return code;
}

static int parse_variable(struct parser *parser, struct token token, struct node **ret_node)
{
	struct node *node = new_node(parser, NODE_VARIABLE, token.position);
	bool known = false;

	for (uint32_t i = 0; i < parser->scope->count; i++)
		known |= span_equal(parser->scope->variables[i].name, token.text);
	if (!known)
		return parse_fail(parser, token.position, "undefined variable \"%.*s\"",
			SPAN_ARGS(token.text));
	node->field.slot = find_variable(parser, token.text);
	*ret_node = node;
	return 0;
}

/* A single word; *ret_node stays NULL when the token does not begin one (it is put back). */
static int parse_term(struct parser *parser, struct node **ret_node)
{
	struct token token;
	struct node *node;
	int code = next_word(parser, &token);

	if (code < 0)
		return code;
	switch (token.type) {
	case TOKEN_IDENTIFIER: return parse_identifier(parser, token, ret_node);
	case TOKEN_DOT: *ret_node = new_node(parser, NODE_DOT, token.position); return 0;
	case TOKEN_NIL: *ret_node = new_node(parser, NODE_NIL, token.position); return 0;
	case TOKEN_VARIABLE: return parse_variable(parser, token, ret_node);
	case TOKEN_FIELD:
		node = new_node(parser, NODE_FIELD, token.position);
		node->field.names = arena_allocate(parser->arena, sizeof(struct span));
		node->field.names[0] = (struct span){token.text.data + 1, token.text.length - 1};
		node->field.count = 1;
		*ret_node = node;
		return 0;
	case TOKEN_BOOL:
		node = new_node(parser, NODE_BOOL, token.position);
		node->boolean = token.text.data[0] == 't';
		*ret_node = node;
		return 0;
	case TOKEN_RUNE:
	case TOKEN_NUMBER: return parse_number(parser, token, ret_node);
	case TOKEN_OPEN: return parse_parenthesis(parser, token, ret_node);
	case TOKEN_STRING:
	case TOKEN_RAW_STRING:
		node = new_node(parser, NODE_STRING, token.position);
		if (!text_unquote(parser->arena, token.text, &node->text))
			return parse_fail(parser, token.position, "invalid string: %.*s",
				SPAN_ARGS(token.text));
		*ret_node = node;
		return 0;
	default: back(parser, token); return 0;
	}
}

/* Adds ".a.b" behind a term. */
static int parse_fields(struct parser *parser, struct token token, struct node **term)
{
	struct node *node = *term;
	uint32_t count =
		node->type == NODE_FIELD || node->type == NODE_VARIABLE ? node->field.count : 0;
	uint32_t capacity = count;
	struct span *names = count ? node->field.names : NULL;
	int code = 0;

	if (node->type == NODE_BOOL || node->type == NODE_STRING || node->type == NODE_NUMBER ||
		node->type == NODE_NIL || node->type == NODE_DOT)
		return parse_fail(parser, token.position, "unexpected <%.*s> after term",
			SPAN_ARGS(token.text));
	while (code == 0 && token.type == TOKEN_FIELD) {
		names = grow(parser->arena, names, count, &capacity, sizeof(*names));
		names[count++] = (struct span){token.text.data + 1, token.text.length - 1};
		code = next(parser, &token);
	}
	if (code < 0)
		return code;
	back(parser, token);
	if (node->type != NODE_FIELD && node->type != NODE_VARIABLE) {
		node = new_node(parser, NODE_CHAIN, (*term)->position);
		node->field.base = *term;
	}
	node->field.names = names;
	node->field.count = count;
	*term = node;
	return 0;
}

static int parse_command(struct parser *parser, struct invocation *ret_command)
{
	struct invocation command = {0};
	struct token token;
	int code;

	for (;;) {
		struct node *node = NULL;

		code = parse_term(parser, &node);
		if (code == 0)
			code = next(parser, &token);
		if (code < 0)
			return code;
		if (node && token.type == TOKEN_FIELD) {
			code = parse_fields(parser, token, &node);
			if (code == 0)
				code = next(parser, &token);
			if (code < 0)
				return code;
		}
		if (node) {
			command.words = grow(parser->arena, command.words, command.count,
				&command.capacity, sizeof(node));
			command.words[command.count++] = node;
		}
		if (token.type == TOKEN_SPACE)
			continue;
		if (token.type == TOKEN_RIGHT || token.type == TOKEN_CLOSE)
			back(parser, token);
		else if (token.type != TOKEN_PIPE)
			return unexpected(parser, token, "operand");
		if (command.count == 0)
			return parse_fail(parser, token.position, "empty command");
		*ret_command = command;
		/* A pipe must be followed by another command. */
		return token.type == TOKEN_PIPE;
	}
}

/* "$a :=", "$a =", "$a, $b :=" before a pipeline. */
static int parse_declarations(struct parser *parser, const char *context, struct pipe *pipe)
{
	bool is_range = strcmp(context, "range") == 0;
	struct token variables[2], after, token;
	int count = 0, code;

	for (;;) {
		bool spaced;

		code = next_word(parser, &token);
		if (code < 0)
			return code;
		if (token.type != TOKEN_VARIABLE) {
			back(parser, token);
			if (count == 0)
				return 0;
			return parse_fail(parser, token.position,
				"range can only initialize variables");
		}
		code = next(parser, &after);
		if (code < 0)
			return code;
		spaced = after.type == TOKEN_SPACE;
		if (spaced && (code = next_word(parser, &after)) < 0)
			return code;
		if (after.type == TOKEN_DECLARE || after.type == TOKEN_ASSIGN) {
			variables[count++] = token;
			break;
		}
		if (after.type == TOKEN_COMMA) {
			if (!is_range || count == 1)
				return parse_fail(parser, token.position,
					"too many declarations in %s", context);
			variables[count++] = token;
			continue;
		}
		if (count)
			return parse_fail(parser, token.position,
				"range can only initialize variables");
		/* It is an operand. */
		back(parser, after);
		if (spaced)
			back(parser, (struct token){TOKEN_SPACE, SPAN(" "), token.position});
		back(parser, token);
		return 0;
	}
	pipe->assigns = after.type == TOKEN_ASSIGN;
	for (int i = 0; i < count; i++) {
		code = declare(parser, variables[i], pipe->assigns, pipe);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_pipe(struct parser *parser, const struct pipe *pipe, uint32_t position,
	const char *context)
{
	if (pipe->count == 0)
		return parse_fail(parser, position, "missing value for %s", context);
	for (uint32_t i = 1; i < pipe->count; i++) {
		enum node_type type = pipe->commands[i].words[0]->type;

		if (type == NODE_BOOL || type == NODE_DOT || type == NODE_NIL ||
			type == NODE_NUMBER || type == NODE_STRING)
			return parse_fail(parser, pipe->commands[i].words[0]->position,
				"non executable command in pipeline stage %u", i + 1);
	}
	return 0;
}

static int parse_pipe(struct parser *parser, const char *context, enum token_type end,
	struct pipe **ret_pipe)
{
	struct pipe *pipe = arena_allocate(parser->arena, sizeof(*pipe));
	struct token token;
	uint32_t first = parser->scope->count;
	int more = 0, code = parse_declarations(parser, context, pipe);

	if (code < 0)
		return code;
	for (;;) {
		code = next_word(parser, &token);
		if (code < 0)
			return code;
		if (token.type == end && !more) {
			code = check_pipe(parser, pipe, token.position, context);
			if (code == 0) {
				finish_declarations(parser->scope, first, pipe->slot_count);
				*ret_pipe = pipe;
			}
			return code;
		}
		if (token.type == end)
			return parse_fail(parser, token.position, "missing value for %s", context);
		if (token.type < TOKEN_DOT || token.type == TOKEN_KEYWORD) {
			if (token.type != TOKEN_OPEN)
				return unexpected(parser, token, context);
		}
		back(parser, token);
		pipe->commands = grow(parser->arena, pipe->commands, pipe->count, &pipe->capacity,
			sizeof(*pipe->commands));
		more = parse_command(parser, &pipe->commands[pipe->count]);
		if (more < 0)
			return more;
		pipe->count++;
	}
}

/* ---- actions ------------------------------------------------------------------------------------- */

static int expect_right(struct parser *parser, const char *context)
{
	struct token token;
	int code = next_word(parser, &token);

	if (code < 0)
		return code;
	return token.type == TOKEN_RIGHT ? 0 : unexpected(parser, token, context);
}

static int parse_branch(struct parser *parser, enum node_type type, uint32_t position,
	struct node **ret_node);

/* Behind {{else: plain, or another branch that shares this one's {{end}}. */
static int parse_else(struct parser *parser, enum node_type type, struct node *node)
{
	struct token token;
	struct node *nested;
	enum list_end end;
	int code = next_word(parser, &token);

	if (code < 0)
		return code;
	if (token.type == TOKEN_KEYWORD &&
		((type == NODE_IF && span_is(token.text, "if")) ||
			(type == NODE_WITH && span_is(token.text, "with")))) {
		code = parse_branch(parser, type, token.position, &nested);
		if (code == 0)
			append_node(parser, &node->branch.otherwise, nested);
		return code;
	}
	if (token.type != TOKEN_RIGHT)
		return unexpected(parser, token, "else");
	code = parse_list(parser, false, &node->branch.otherwise, &end);
	if (code < 0)
		return code;
	if (end != LIST_END_END)
		return parse_fail(parser, node->position, "expected end; found {{else}}");
	return expect_right(parser, "end");
}

static int parse_branch(struct parser *parser, enum node_type type, uint32_t position,
	struct node **ret_node)
{
	struct node *node = new_node(parser, type, position);
	uint32_t variables = parser->scope->count;
	const char *context = type == NODE_IF ? "if" : type == NODE_WITH ? "with" : "range";
	enum list_end end;
	int code;

	if (++parser->nesting > TEMPLATE_NESTING_MAX)
		return parse_fail(parser, position, "nested too deeply (limit %d)",
			TEMPLATE_NESTING_MAX);
	code = parse_pipe(parser, context, TOKEN_RIGHT, &node->branch.pipe);
	if (code == 0) {
		parser->range_depth += type == NODE_RANGE;
		code = parse_list(parser, false, &node->branch.body, &end);
		parser->range_depth -= type == NODE_RANGE;
	}
	if (code == 0)
		code = end == LIST_END_ELSE ? parse_else(parser, type, node)
					    : expect_right(parser, "end");
	parser->nesting--;
	parser->scope->count = variables;
	if (code == 0)
		*ret_node = node;
	return code;
}

static int parse_name(struct parser *parser, const char *context, struct span *ret_name)
{
	struct token token;
	int code = next_word(parser, &token);

	if (code < 0)
		return code;
	if (token.type != TOKEN_STRING && token.type != TOKEN_RAW_STRING)
		return unexpected(parser, token, context);
	if (!text_unquote(parser->arena, token.text, ret_name))
		return parse_fail(parser, token.position, "invalid string: %.*s",
			SPAN_ARGS(token.text));
	return 0;
}

/* Whether nothing but space would be written. */
static bool is_empty(const struct node_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i]->type != NODE_TEXT ||
			text_trim_space(list->items[i]->text).length)
			return false;
	return true;
}

static int add_template(struct parser *parser, struct template *template, uint32_t position)
{
	struct template *old = map_get(&parser->defined, template->name);

	if (old && !is_empty(&old->body) && !is_empty(&template->body))
		return parse_fail(parser, position, "multiple definition of template \"%.*s\"",
			SPAN_ARGS(template->name));
	if (!old || !is_empty(&template->body))
		map_put(&parser->defined, template->name, template);
	return 0;
}

/* The body of a definition up to its {{end}}, with variables of its own. */
static int parse_definition(struct parser *parser, struct span name, uint32_t position)
{
	struct template *template = arena_allocate(parser->arena, sizeof(*template));
	struct scope *outer = parser->scope;
	_free_ struct scope *scope = memory_allocate(sizeof(*scope));
	int range_depth = parser->range_depth;
	enum list_end end;
	int code;

	scope->variables[0] = (struct variable){SPAN("$"), 0, false};
	scope->count = scope->slot_count = 1;
	parser->scope = scope;
	parser->range_depth = 0;
	template->name = name;
	template->source = parser->source;
	code = parse_list(parser, false, &template->body, &end);
	template->slot_count = scope->slot_count;
	parser->scope = outer;
	parser->range_depth = range_depth;
	if (code < 0)
		return code;
	if (end != LIST_END_END)
		return parse_fail(parser, position, "unexpected {{else}} in define clause");
	code = expect_right(parser, "end");
	return code < 0 ? code : add_template(parser, template, position);
}

static int parse_call(struct parser *parser, uint32_t position, bool block, struct node **ret_node)
{
	struct node *node = new_node(parser, NODE_TEMPLATE, position);
	const char *context = block ? "block clause" : "template clause";
	struct token token;
	int code = parse_name(parser, context, &node->call.name);

	if (code < 0)
		return code;
	code = next_word(parser, &token);
	if (code < 0)
		return code;
	if (token.type != TOKEN_RIGHT || block) {
		back(parser, token);
		code = parse_pipe(parser, context, TOKEN_RIGHT, &node->call.pipe);
		if (code < 0)
			return code;
	}
	if (block) {
		if (++parser->nesting > TEMPLATE_NESTING_MAX)
			return parse_fail(parser, position, "nested too deeply (limit %d)",
				TEMPLATE_NESTING_MAX);
		code = parse_definition(parser, node->call.name, position);
		parser->nesting--;
		if (code < 0)
			return code;
	}
	*ret_node = node;
	return 0;
}

/* An action that begins with a keyword. 1: it ends the list. */
static int parse_keyword(struct parser *parser, struct token token, bool top,
	struct node **ret_node, enum list_end *ret_end)
{
	struct span word = token.text, name;
	int code;

	if (span_is(word, "if"))
		return parse_branch(parser, NODE_IF, token.position, ret_node);
	if (span_is(word, "with"))
		return parse_branch(parser, NODE_WITH, token.position, ret_node);
	if (span_is(word, "range"))
		return parse_branch(parser, NODE_RANGE, token.position, ret_node);
	if (span_is(word, "template") || span_is(word, "block"))
		return parse_call(parser, token.position, word.data[0] == 'b', ret_node);
	if (span_is(word, "break") || span_is(word, "continue")) {
		if (parser->range_depth == 0)
			return parse_fail(parser, token.position, "{{%.*s}} outside {{range}}",
				SPAN_ARGS(word));
		*ret_node = new_node(parser, word.data[0] == 'b' ? NODE_BREAK : NODE_CONTINUE,
			token.position);
		return expect_right(parser, "break or continue");
	}
	if (span_is(word, "define")) {
		if (!top)
			return parse_fail(parser, token.position, "unexpected {{define}}");
		code = parse_name(parser, "define clause", &name);
		if (code == 0)
			code = expect_right(parser, "define clause");
		return code < 0 ? code : parse_definition(parser, name, token.position);
	}
	if (top)
		return parse_fail(parser, token.position, "unexpected {{%.*s}}", SPAN_ARGS(word));
	*ret_end = span_is(word, "end") ? LIST_END_END : LIST_END_ELSE;
	return 1;
}

static int parse_action(struct parser *parser, bool top, struct node **ret_node,
	enum list_end *ret_end)
{
	struct token token;
	struct node *node;
	int code = next_word(parser, &token);

	if (code < 0)
		return code;
	if (token.type == TOKEN_KEYWORD)
		return parse_keyword(parser, token, top, ret_node, ret_end);
	back(parser, token);
	node = new_node(parser, NODE_ACTION, token.position);
	code = parse_pipe(parser, "command", TOKEN_RIGHT, &node->pipe);
	if (code == 0)
		*ret_node = node;
	return code;
}

static int parse_list(struct parser *parser, bool top, struct node_list *ret_list,
	enum list_end *ret_end)
{
	struct token token;
	int code;

	for (;;) {
		struct node *node = NULL;

		code = next(parser, &token);
		if (code < 0)
			return code;
		if (token.type == TOKEN_END) {
			if (!top)
				return parse_fail(parser, token.position,
					"unexpected end of text: {{end}} is missing");
			*ret_end = LIST_END_TEXT;
			return 0;
		}
		if (token.type == TOKEN_TEXT) {
			node = new_node(parser, NODE_TEXT, token.position);
			node->text = token.text;
		} else {
			code = parse_action(parser, top, &node, ret_end);
			if (code < 0)
				return code;
			if (code == 1)
				return 0;
		}
		if (node)
			append_node(parser, ret_list, node);
	}
}

/* ---- sets ---------------------------------------------------------------------------------------- */

void template_set_clear(struct template_set *set)
{
	map_clear(&set->templates);
}

struct template *template_find(const struct template_set *set, struct span name)
{
	for (; set; set = set->parent) {
		struct template *found = map_get(&set->templates, name);

		if (found)
			return found;
	}
	return NULL;
}

static void publish(struct parser *parser)
{
	MAP_EACH (&parser->defined, entry) {
		struct template *template = entry->value;

		if (!is_empty(&template->body) || !template_find(parser->set, template->name))
			map_put(&parser->set->templates, template->name, template);
	}
}

int template_parse(struct template_set *set, struct arena *arena, struct span name,
	struct span text, struct err *err)
{
	_free_ struct scope *scope = memory_allocate(sizeof(*scope));
	struct parser parser = {.set = set, .arena = arena, .scope = scope, .err = err};
	struct template *template = arena_allocate(arena, sizeof(*template));
	enum list_end end;
	int code;

	if (text.length > TEMPLATE_TEXT_MAX)
		return err_set(err, -E2BIG, "%.*s: template of %zu bytes (limit %d)",
			SPAN_ARGS(name), text.length, TEMPLATE_TEXT_MAX);
	parser.source = arena_allocate(arena, sizeof(*parser.source));
	*parser.source = (struct template_source){name, text};
	parser.lexer.input = text;
	scope->variables[0] = (struct variable){SPAN("$"), 0, false};
	scope->count = scope->slot_count = 1;
	template->name = name;
	template->source = parser.source;
	code = parse_list(&parser, true, &template->body, &end);
	if (code == 0) {
		template->slot_count = scope->slot_count;
		code = add_template(&parser, template, 0);
	}
	if (code == 0)
		publish(&parser);
	map_clear(&parser.defined);
	return code < 0 ? code : 0;
}
