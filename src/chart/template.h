/*
 * Templates in Go's text/template language. Parsing turns text into trees in an arena; variables are
 * resolved to slots and functions to rows of the function table while parsing, so that execution
 * looks up nothing by name but fields and named templates.
 */
#ifndef CHART_TEMPLATE_H
#define CHART_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/span.h"
#include "chart/value.h"

#define TEMPLATE_TEXT_MAX (16 * 1024 * 1024)
/* Actions and parentheses nested in each other. */
#define TEMPLATE_NESTING_MAX 200
/* Variables in one template. */
#define TEMPLATE_VARIABLES_MAX 1000

enum node_type {
	NODE_TEXT,
	NODE_ACTION,
	NODE_IF,
	NODE_WITH,
	NODE_RANGE,
	NODE_TEMPLATE,
	NODE_BREAK,
	NODE_CONTINUE,
	/* expressions */
	NODE_PIPE,
	NODE_FUNCTION,
	NODE_FIELD,
	NODE_VARIABLE,
	NODE_CHAIN,
	NODE_DOT,
	NODE_NIL,
	NODE_BOOL,
	NODE_NUMBER,
	NODE_STRING,
};

struct node;
struct function;

struct node_list {
	struct node **items;
	uint32_t count;
	uint32_t capacity;
};

struct invocation {
	struct node **words; /* the first one is what is called */
	uint32_t count;
	uint32_t capacity;
};

struct pipe {
	int32_t slots[2]; /* of the declared or assigned variables; -1: not declared before */
	uint32_t slot_count;
	bool assigns; /* "=" instead of ":=" */
	struct invocation *commands;
	uint32_t count;
	uint32_t capacity;
};

struct node {
	enum node_type type;
	uint32_t position; /* offset into the template's text */
	union {
		struct span text;  /* NODE_TEXT, NODE_STRING */
		struct pipe *pipe; /* NODE_ACTION, NODE_PIPE */
		struct {
			struct pipe *pipe;
			struct node_list body;
			struct node_list otherwise;
		} branch; /* NODE_IF, NODE_WITH, NODE_RANGE */
		struct {
			struct span name;
			struct pipe *pipe; /* or NULL */
		} call;                    /* NODE_TEMPLATE */
		struct {
			const struct function *function;
			struct span name;
		} function; /* NODE_FUNCTION */
		struct {
			int32_t slot;       /* NODE_VARIABLE */
			struct node *base;  /* NODE_CHAIN */
			struct span *names; /* NODE_FIELD and the two above */
			uint32_t count;
		} field;
		bool boolean;
		struct {
			struct value value; /* as an argument of type interface{} */
			bool is_integer, is_float;
			int64_t integer;
			double real;
		} number;
	};
};

/* A file, or the text given to `tpl`. */
struct template_source {
	struct span name;
	struct span text;
};

struct template
{
	struct span name;
	const struct template_source *source;
	struct node_list body;
	uint32_t slot_count;    /* variables, $ included */
	uint32_t include_depth; /* while it runs: how often it includes itself */
};

/* Named templates; a set made by `tpl` sees those of the set it was made from, too. */
struct template_set {
	const struct template_set *parent;
	struct map templates;
};

void template_set_clear(struct template_set *set);
struct template *template_find(const struct template_set *set, struct span name);

/* Parses a text: it becomes the template `name`, and its definitions become templates beside it.
 * A definition replaces one from another text unless it is empty. Messages begin with name:line:column. */
int template_parse(struct template_set *set, struct arena *arena, struct span name,
	struct span text, struct err *err);

/* 1-based line and 0-based column of an offset, as Go counts them. */
void template_locate(struct span text, uint32_t position, unsigned *ret_line, unsigned *ret_column);

#endif
