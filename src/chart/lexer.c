/* See lexer.h. */
#include "chart/lexer.h"

#include <string.h>

#include "chart/text.h"

static const char *const keywords[] = {
	"block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static char byte_at(const struct lexer *lexer, size_t position)
{
	return position < lexer->input.length ? lexer->input.data[position] : '\0';
}

static bool starts_with(const struct lexer *lexer, size_t position, const char *text)
{
	size_t length = strlen(text);

	return position + length <= lexer->input.length &&
	       memcmp(lexer->input.data + position, text, length) == 0;
}

static int lexer_fail(struct lexer *lexer, size_t position, struct err *err, const char *message)
{
	lexer->error_position = (uint32_t)position;
	return err_set(err, -EINVAL, "%s", message);
}

static void make_token(struct lexer *lexer, enum token_type type, size_t begin, size_t end,
	struct token *ret_token)
{
	*ret_token =
		(struct token){type, {lexer->input.data + begin, end - begin}, (uint32_t)begin};
	lexer->position = end;
}

static bool has_left_trim(const struct lexer *lexer, size_t position)
{
	return byte_at(lexer, position) == '-' && is_space(byte_at(lexer, position + 1));
}

/* Where an action ends: "}}" or " -}}" at position; returns its length, or 0. */
static size_t right_delimiter(const struct lexer *lexer, size_t position, bool *ret_trims)
{
	*ret_trims = false;
	if (is_space(byte_at(lexer, position)) && starts_with(lexer, position + 1, "-}}")) {
		*ret_trims = true;
		return 4;
	}
	return starts_with(lexer, position, "}}") ? 2 : 0;
}

static void skip_space(struct lexer *lexer)
{
	while (lexer->position < lexer->input.length &&
		is_space(lexer->input.data[lexer->position]))
		lexer->position++;
}

/* A comment takes the whole action; position is behind "{{" and its trim marker. */
static int skip_comment(struct lexer *lexer, size_t position, struct err *err)
{
	const char *end =
		memmem(lexer->input.data + position, lexer->input.length - position, "*/", 2);
	bool trims;
	size_t length;

	if (!end)
		return lexer_fail(lexer, position, err, "unclosed comment");
	position = (size_t)(end - lexer->input.data) + 2;
	length = right_delimiter(lexer, position, &trims);
	if (length == 0)
		return lexer_fail(lexer, position, err, "comment ends before closing delimiter");
	lexer->position = position + length;
	if (trims)
		skip_space(lexer);
	return 0;
}

/* Text up to the next action. Comments are left out, so several texts may follow each other. */
static int lex_text(struct lexer *lexer, struct token *ret_token, struct err *err)
{
	for (;;) {
		size_t begin = lexer->position, end, behind;
		const char *left =
			memmem(lexer->input.data + begin, lexer->input.length - begin, "{{", 2);

		if (!left) {
			make_token(lexer, begin < lexer->input.length ? TOKEN_TEXT : TOKEN_END,
				begin, lexer->input.length, ret_token);
			return 0;
		}
		end = behind = (size_t)(left - lexer->input.data);
		if (has_left_trim(lexer, behind + 2))
			while (end > begin && is_space(lexer->input.data[end - 1]))
				end--;
		if (end > begin) {
			make_token(lexer, TOKEN_TEXT, begin, end, ret_token);
			lexer->position = behind; /* spaces that were trimmed are gone */
			return 0;
		}
		behind += 2;
		if (has_left_trim(lexer, behind))
			behind += 1;
		if (starts_with(lexer, behind + (byte_at(lexer, behind - 1) == '-'), "/*")) {
			int code = skip_comment(lexer, behind + (byte_at(lexer, behind - 1) == '-'),
				err);

			if (code < 0)
				return code;
			continue;
		}
		make_token(lexer, TOKEN_LEFT, (size_t)(left - lexer->input.data), behind,
			ret_token);
		lexer->inside = true;
		lexer->depth = 0;
		return 0;
	}
}

/* Whether a name may end here. */
static bool at_terminator(const struct lexer *lexer, size_t position)
{
	char c = byte_at(lexer, position);

	if (position >= lexer->input.length || is_space(c))
		return true;
	return strchr(".,|:()", c) != NULL || starts_with(lexer, position, "}}");
}

static int lex_quoted(struct lexer *lexer, char quote, enum token_type type,
	struct token *ret_token, struct err *err)
{
	size_t begin = lexer->position, position = begin + 1;

	for (;; position++) {
		char c = byte_at(lexer, position);

		if (position >= lexer->input.length || (c == '\n' && quote != '`'))
			return lexer_fail(lexer, begin, err,
				quote == '"'   ? "unterminated quoted string"
				: quote == '`' ? "unterminated raw quoted string"
					       : "unterminated character constant");
		if (c == '\\' && quote != '`') {
			position++;
			if (position >= lexer->input.length || byte_at(lexer, position) == '\n')
				return lexer_fail(lexer, begin, err, "unterminated quoted string");
			continue;
		}
		if (c == quote)
			break;
	}
	make_token(lexer, type, begin, position + 1, ret_token);
	return 0;
}

static void skip_set(struct lexer *lexer, size_t *position, const char *set)
{
	while (*position < lexer->input.length && byte_at(lexer, *position) &&
		strchr(set, byte_at(lexer, *position)))
		(*position)++;
}

static int lex_number(struct lexer *lexer, struct token *ret_token, struct err *err)
{
	size_t begin = lexer->position, position = begin;
	const char *digits = "0123456789_";
	bool decimal = true, hexadecimal = false;

	if (byte_at(lexer, position) == '+' || byte_at(lexer, position) == '-')
		position++;
	if (byte_at(lexer, position) == '0') {
		char letter = (char)(byte_at(lexer, position + 1) | 32);

		if (letter == 'x' || letter == 'o' || letter == 'b') {
			digits = letter == 'x'   ? "0123456789abcdefABCDEF_"
				 : letter == 'o' ? "01234567_"
						 : "01_";
			decimal = false;
			hexadecimal = letter == 'x';
			position += 2;
		}
	}
	skip_set(lexer, &position, digits);
	if (byte_at(lexer, position) == '.') {
		position++;
		skip_set(lexer, &position, digits);
	}
	if ((decimal && (byte_at(lexer, position) | 32) == 'e') ||
		(hexadecimal && (byte_at(lexer, position) | 32) == 'p')) {
		position++;
		if (byte_at(lexer, position) == '+' || byte_at(lexer, position) == '-')
			position++;
		skip_set(lexer, &position, "0123456789_");
	}
	if (byte_at(lexer, position) == 'i')
		return lexer_fail(lexer, begin, err, "complex numbers are not supported");
	if (is_name_byte(byte_at(lexer, position)))
		return lexer_fail(lexer, begin, err, "bad number syntax");
	make_token(lexer, TOKEN_NUMBER, begin, position, ret_token);
	return 0;
}

/* ".Name" or "$name"; position is at the dot or dollar. */
static int lex_field(struct lexer *lexer, enum token_type type, struct token *ret_token,
	struct err *err)
{
	size_t begin = lexer->position, position = begin + 1;

	if (at_terminator(lexer, position)) {
		make_token(lexer, type == TOKEN_VARIABLE ? TOKEN_VARIABLE : TOKEN_DOT, begin,
			position, ret_token);
		return 0;
	}
	while (position < lexer->input.length && is_name_byte(byte_at(lexer, position)))
		position++;
	if (!at_terminator(lexer, position))
		return lexer_fail(lexer, position, err, "bad character in a name");
	make_token(lexer, type, begin, position, ret_token);
	return 0;
}

static int lex_identifier(struct lexer *lexer, struct token *ret_token, struct err *err)
{
	size_t begin = lexer->position, position = begin;
	enum token_type type = TOKEN_IDENTIFIER;
	struct span word;

	while (position < lexer->input.length && is_name_byte(byte_at(lexer, position)))
		position++;
	if (!at_terminator(lexer, position))
		return lexer_fail(lexer, position, err, "bad character in a name");
	word = (struct span){lexer->input.data + begin, position - begin};
	if (span_is(word, "true") || span_is(word, "false"))
		type = TOKEN_BOOL;
	else if (span_is(word, "nil"))
		type = TOKEN_NIL;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (span_is(word, keywords[i]))
			type = TOKEN_KEYWORD;
	make_token(lexer, type, begin, position, ret_token);
	return 0;
}

static int lex_parenthesis(struct lexer *lexer, char c, struct token *ret_token, struct err *err)
{
	lexer->depth += c == '(' ? 1 : -1;
	if (lexer->depth < 0)
		return lexer_fail(lexer, lexer->position, err, "unexpected right paren");
	make_token(lexer, c == '(' ? TOKEN_OPEN : TOKEN_CLOSE, lexer->position, lexer->position + 1,
		ret_token);
	return 0;
}

static int lex_action(struct lexer *lexer, struct token *ret_token, struct err *err)
{
	size_t begin = lexer->position, end = begin;
	bool trims;
	size_t length = right_delimiter(lexer, begin, &trims);
	char c = byte_at(lexer, begin), next = byte_at(lexer, begin + 1);

	if (length) {
		if (lexer->depth != 0)
			return lexer_fail(lexer, begin, err, "unclosed left paren");
		make_token(lexer, TOKEN_RIGHT, begin, begin + length, ret_token);
		lexer->inside = false;
		if (trims)
			skip_space(lexer);
		return 0;
	}
	if (begin >= lexer->input.length)
		return lexer_fail(lexer, begin, err, "unclosed action");
	if (is_space(c)) {
		/* The space of " -}}" belongs to the delimiter. */
		while (end < lexer->input.length && is_space(byte_at(lexer, end)) &&
			!(end > begin && right_delimiter(lexer, end, &trims) && trims))
			end++;
		make_token(lexer, TOKEN_SPACE, begin, end, ret_token);
		return 0;
	}
	if (c == '"')
		return lex_quoted(lexer, c, TOKEN_STRING, ret_token, err);
	if (c == '`')
		return lex_quoted(lexer, c, TOKEN_RAW_STRING, ret_token, err);
	if (c == '\'')
		return lex_quoted(lexer, c, TOKEN_RUNE, ret_token, err);
	if (c == '$')
		return lex_field(lexer, TOKEN_VARIABLE, ret_token, err);
	if (c == '.' && !(next >= '0' && next <= '9'))
		return lex_field(lexer, TOKEN_FIELD, ret_token, err);
	if (c == '.' || c == '+' || c == '-' || (c >= '0' && c <= '9'))
		return lex_number(lexer, ret_token, err);
	if (is_name_byte(c))
		return lex_identifier(lexer, ret_token, err);
	if (c == '(' || c == ')')
		return lex_parenthesis(lexer, c, ret_token, err);
	if (c == ':' && next != '=')
		return lexer_fail(lexer, begin, err, "expected :=");
	if (c < ' ' || c == 0x7f)
		return lexer_fail(lexer, begin, err, "unrecognized character in action");
	make_token(lexer,
		c == ':'   ? TOKEN_DECLARE
		: c == '=' ? TOKEN_ASSIGN
		: c == '|' ? TOKEN_PIPE
		: c == ',' ? TOKEN_COMMA
			   : TOKEN_CHARACTER,
		begin, begin + (c == ':' ? 2 : 1), ret_token);
	return 0;
}

int lexer_next(struct lexer *lexer, struct token *ret_token, struct err *err)
{
	return lexer->inside ? lex_action(lexer, ret_token, err) : lex_text(lexer, ret_token, err);
}
