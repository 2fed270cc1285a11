/*
 * Splits a template into tokens. Space between words is a token of its own, because
 * "(a).b" and "(a) .b" differ.
 */
#ifndef CHART_LEXER_H
#define CHART_LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum token_type {
	TOKEN_END, /* of the text */
	TOKEN_TEXT,
	TOKEN_LEFT,  /* {{ */
	TOKEN_RIGHT, /* }} */
	TOKEN_SPACE,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_PIPE,
	TOKEN_DECLARE, /* := */
	TOKEN_ASSIGN,  /* = */
	TOKEN_COMMA,
	TOKEN_CHARACTER, /* any other printable one */
	TOKEN_DOT,
	TOKEN_FIELD,    /* with its dot */
	TOKEN_VARIABLE, /* with its $ */
	TOKEN_IDENTIFIER,
	TOKEN_STRING,     /* with its quotes */
	TOKEN_RAW_STRING, /* with its quotes */
	TOKEN_RUNE,       /* 'a' with its quotes */
	TOKEN_NUMBER,
	TOKEN_BOOL,
	TOKEN_NIL,
	TOKEN_KEYWORD,
};

struct token {
	enum token_type type;
	struct span text;
	uint32_t position;
};

struct lexer {
	struct span input;
	size_t position;
	bool inside; /* an action */
	int depth;   /* of parentheses */
	uint32_t error_position;
};

/* The next token; -EINVAL with a message without position (error_position has it). */
int lexer_next(struct lexer *lexer, struct token *ret_token, struct err *err);

#endif
