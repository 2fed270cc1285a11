/*
 * One execution of templates: memory, output, seams, limits, and the stack of templates that is
 * printed with an error. A run is used by one thread.
 */
#ifndef CHART_RUN_H
#define CHART_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "chart/template.h"
#include "chart/value.h"

/* Memory of everything that a run computes. */
#define RUN_MEMORY_MAX ((size_t)512 * 1024 * 1024)
/* Text that one template file may produce, with everything that it includes. */
#define RUN_OUTPUT_MAX ((size_t)64 * 1024 * 1024)
/* Actions executed and iterations made. */
#define RUN_STEPS_MAX 100000000u
/* How often a template may include itself: Helm's number. */
#define RUN_INCLUDE_DEPTH_MAX 1000
/* Bytes of the C stack that nested templates may take. */
#define RUN_STACK_MAX ((size_t)5 * 1024 * 1024)
/* Different regular expressions in one run. */
#define RUN_EXPRESSIONS_MAX 10000
/* Templates printed with an error. */
#define RUN_STACK_PRINTED_MAX 5

struct frame {
	const struct frame *caller;
	struct template *template;
	const struct node *at; /* the node in execution */
	struct value *slots;
	struct value dot;
};

struct run {
	struct arena *arena;
	struct template_set *set;
	struct clock *clock;
	struct random *random;
	struct buffer out; /* nested templates write behind each other */
	struct frame *frame;
	uint32_t steps;
	const char *stack_base;
	bool failed;  /* err is set, with its place */
	bool lenient; /* `required` and `fail` only note what they would say: for lint */
	bool strict;  /* a key that a map lacks is an error */
	struct buffer notes;
	struct map expressions; /* compiled, by pattern */
	/* lookup(apiVersion, kind, namespace, name): an object, a list, or an empty map. NULL: always empty. */
	int (*lookup)(void *data, struct arena *arena, const struct span arguments[4],
		struct value *ret_value, struct err *err);
	void *lookup_data;
	struct err err;
};

/* -EINVAL, with the message and the place in run->err. */
int run_fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* 0, or the error that memory or steps are used up; `size` more bytes are about to be taken. */
int run_reserve(struct run *run, size_t size);

void run_free_expressions(struct run *run);

/* Executes a named template; its text is appended to run->out. */
int run_template(struct run *run, struct template *template, struct value dot);
/* The same, with the text as a value of the arena, and run->out as before. */
int run_to_text(struct run *run, struct template *template, struct value dot,
	struct span *ret_text);

#endif
