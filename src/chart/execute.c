/* Executes template trees by Go's rules; see run.h. */
#include <stdarg.h>
#include <stdio.h>

#include "chart/function.h"
#include "chart/methods.h"
#include "chart/run.h"

/* Most calls have fewer arguments than this; others take memory from the arena. */
#define ARGUMENTS_INLINE 6

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE };

static int execute_list(struct run *run, const struct node_list *list);
static int evaluate_pipe(struct run *run, const struct pipe *pipe, struct value *ret_value);
static int evaluate_word(struct run *run, const struct node *node, struct value *ret_value);

/* ---- errors and limits --------------------------------------------------------------------------- */

static void print_place(const struct frame *frame, struct buffer *out)
{
	const struct template_source *source = frame->template->source;
	unsigned line, column;

	template_locate(source->text, frame->at ? frame->at->position : 0, &line, &column);
	buffer_format(out, "%.*s:%u:%u", SPAN_ARGS(source->name), line, column);
}

int run_fail(struct run *run, const char *format, ...)
{
	_buffer_ struct buffer message = BUFFER_WITH_CAP(ERR_MESSAGE_MAX * 4);
	char text[ERR_MESSAGE_MAX];
	va_list list;
	int printed = 0;

	if (run->failed)
		return run->err.code;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (run->frame) {
		print_place(run->frame, &message);
		buffer_add_string(&message, ": ");
	}
	buffer_add_string(&message, text);
	for (const struct frame *frame = run->frame; frame && frame->caller;
		frame = frame->caller) {
		if (++printed > RUN_STACK_PRINTED_MAX) {
			buffer_add_string(&message, "\n  ...");
			break;
		}
		buffer_format(&message, "\n  in template \"%.*s\", called at ",
			SPAN_ARGS(frame->template->name));
		print_place(frame->caller, &message);
	}
	run->failed = true;
	return err_set(&run->err, -EINVAL, "%s", message.data);
}

int run_reserve(struct run *run, size_t size)
{
	size_t used = arena_used(run->arena);

	if (used > RUN_MEMORY_MAX || size > RUN_MEMORY_MAX - used)
		return run_fail(run, "templates need too much memory (limit %zu MB)",
			RUN_MEMORY_MAX >> 20);
	return 0;
}

static int take_step(struct run *run)
{
	if (++run->steps > RUN_STEPS_MAX)
		return run_fail(run, "too many steps (limit %u)", RUN_STEPS_MAX);
	if (run->out.failed)
		return run_fail(run, "output too large (limit %zu MB)", RUN_OUTPUT_MAX >> 20);
	return (run->steps & 15) ? 0 : run_reserve(run, 0);
}

/* ---- fields -------------------------------------------------------------------------------------- */

/* Field or method `name` of a value, called with arguments (a field takes none). */
static int run_field(struct run *run, struct value receiver, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct value *found;
	int code;

	switch ((enum value_kind)receiver.kind) {
	case VALUE_NONE:
		if (run->strict)
			return run_fail(run, "nil data; no entry for key \"%.*s\"",
				SPAN_ARGS(name));
		*ret_value = value_none();
		return 0;
	case VALUE_NIL:
		return run_fail(run, "nil pointer evaluating interface {}.%.*s", SPAN_ARGS(name));
	case VALUE_OBJECT:
		code = receiver.object->class->get(run, receiver.object, name, arguments, count,
			ret_value);
		if (code == 1)
			break;
		if (code == 0 && count && receiver.object->class->fields_only)
			return run_fail(run, "%.*s has arguments but cannot be invoked as function",
				SPAN_ARGS(name));
		return code;
	case VALUE_MAP:
		if (receiver.type != TYPE_MAP) {
			code = method_call(run, receiver, name, arguments, count, ret_value);
			if (code != 1)
				return code;
		}
		if (count)
			return run_fail(run, "%.*s is not a method but has arguments",
				SPAN_ARGS(name));
		found = value_map_find(receiver.map, name);
		if (!found && run->strict)
			return run_fail(run, "map has no entry for key \"%.*s\"", SPAN_ARGS(name));
		*ret_value = found                              ? *found
			     : receiver.type == TYPE_STRING_MAP ? value_string(SPAN(""))
			     : receiver.type == TYPE_FILES      ? value_bytes(SPAN(""))
								: value_nil();
		return 0;
	default:
		code = method_call(run, receiver, name, arguments, count, ret_value);
		if (code != 1)
			return code;
		break;
	}
	return run_fail(run, "can't evaluate field %.*s in type %s", SPAN_ARGS(name),
		value_type_name(receiver));
}

/* Words behind the first, and the value that a pipeline passes on. */
struct call {
	const struct invocation *command; /* or NULL: no words */
	const struct value *final;        /* or NULL */
};

static size_t count_arguments(const struct call *call)
{
	return (call->command ? call->command->count - 1 : 0) + (call->final ? 1 : 0);
}

static const struct call no_arguments;

/* The last name of a chain gets the arguments. */
static int evaluate_fields(struct run *run, struct value receiver, const struct node *node,
	const struct call *call, struct value *ret_value)
{
	uint32_t last = node->field.count - 1;
	size_t count = count_arguments(call), filled = 0;
	struct value *arguments = NULL;
	int code;

	for (uint32_t i = 0; i < last; i++) {
		run->frame->at = node;
		code = run_field(run, receiver, node->field.names[i], NULL, 0, &receiver);
		if (code < 0)
			return code;
	}
	if (count) {
		arguments = arena_allocate_array(run->arena, count, sizeof(*arguments));
		for (uint32_t i = 1; call->command && i < call->command->count; i++) {
			code = evaluate_word(run, call->command->words[i], &arguments[filled++]);
			if (code < 0)
				return code;
		}
		if (call->final)
			arguments[filled] = *call->final;
	}
	run->frame->at = node;
	return run_field(run, receiver, node->field.names[last], arguments, count, ret_value);
}

static int evaluate_variable(struct run *run, const struct node *node, const struct call *call,
	struct value *ret_value)
{
	struct value value;

	run->frame->at = node;
	if (node->field.slot < 0)
		return run_fail(run, "undefined variable");
	value = run->frame->slots[node->field.slot];
	if (node->field.count)
		return evaluate_fields(run, value, node, call, ret_value);
	if (count_arguments(call))
		return run_fail(run, "can't give argument to a variable");
	*ret_value = value;
	return 0;
}

/* ---- functions ----------------------------------------------------------------------------------- */

static const char *letter_type(char letter)
{
	switch (letter) {
	case 's': return "string";
	case 'i': return "int";
	case 'I': return "int64";
	case 'f': return "float64";
	case 'b': return "bool";
	case 'm': return "map[string]interface {}";
	case 'L': return "[]string";
	default: return "interface {}";
	}
}

static bool has_type(struct value value, char letter)
{
	switch (letter) {
	case 's': return value.type == TYPE_STRING;
	case 'i': return value.type == TYPE_INT;
	case 'I': return value.type == TYPE_INT64;
	case 'f': return value.type == TYPE_FLOAT64;
	case 'b': return value.type == TYPE_BOOL;
	case 'm': return value.type == TYPE_MAP || value.type == TYPE_VALUES;
	case 'L': return value.type == TYPE_STRINGS || value.type == TYPE_VERSION_SET;
	default: return true;
	}
}

/* Makes a value fit a parameter. */
static int check_type(struct run *run, const struct function *function, char letter,
	struct value *value)
{
	if (letter == 'a') {
		if (value->kind == VALUE_NONE)
			value->kind = VALUE_NIL;
		return 0;
	}
	if (has_type(*value, letter))
		return 0;
	if (value->kind == VALUE_NONE && letter == 'm') {
		*value = value_of_map(value_map_new(run->arena, 0));
		return 0;
	}
	if (value->kind == VALUE_NONE && letter == 'L') {
		*value = value_list_over(run->arena, TYPE_STRINGS, NULL, 0);
		return 0;
	}
	if (value->kind == VALUE_NONE)
		return run_fail(run, "%s: invalid value; expected %s", function->name,
			letter_type(letter));
	return run_fail(run, "%s: wrong type for value; expected %s; got %s", function->name,
		letter_type(letter),
		value->kind == VALUE_NIL ? "interface {}" : value_type_name(*value));
}

/* A constant takes the type of the parameter. */
static int evaluate_argument(struct run *run, const struct function *function, char letter,
	const struct node *node, struct value *ret_value)
{
	int code;

	if (node->type == NODE_NUMBER) {
		if (letter == 'a')
			*ret_value = node->number.value;
		else if ((letter == 'i' || letter == 'I') && node->number.is_integer)
			*ret_value = value_integer(letter == 'i' ? TYPE_INT : TYPE_INT64,
				node->number.integer);
		else if (letter == 'f' && node->number.is_float)
			*ret_value = value_float(node->number.real);
		else
			return run_fail(run, "%s: expected %s; found a number", function->name,
				letter_type(letter));
		return 0;
	}
	if (node->type == NODE_NIL) {
		*ret_value = value_none();
		if (letter != 'a' && letter != 'm' && letter != 'L')
			return run_fail(run, "%s: cannot assign nil to %s", function->name,
				letter_type(letter));
		return check_type(run, function, letter, ret_value);
	}
	code = evaluate_word(run, node, ret_value);
	return code < 0 ? code : check_type(run, function, letter, ret_value);
}

/* `and` and `or` stop at the first argument that decides. */
static int evaluate_logic(struct run *run, const struct function *function, const struct call *call,
	struct value *ret_value)
{
	bool is_or = function->name[0] == 'o';
	struct value value = value_nil();
	uint32_t words = call->command ? call->command->count : 1;

	if (count_arguments(call) == 0)
		return run_fail(run, "%s: wrong number of args: want at least 1 got 0",
			function->name);
	for (uint32_t i = 1; i < words; i++) {
		int code = evaluate_argument(run, function, 'a', call->command->words[i], &value);

		if (code < 0)
			return code;
		if (value_truth(value) == is_or) {
			*ret_value = value;
			return 0;
		}
	}
	if (call->final) {
		value = *call->final;
		check_type(run, function, 'a', &value);
	}
	*ret_value = value;
	return 0;
}

static int check_count(struct run *run, const struct function *function, size_t count, size_t fixed,
	bool variadic)
{
	if (variadic ? count >= fixed : count == fixed)
		return 0;
	return run_fail(run, "%s: wrong number of args: want %s%zu got %zu", function->name,
		variadic ? "at least " : "", fixed, count);
}

static int evaluate_function(struct run *run, const struct node *node, const struct call *call,
	struct value *ret_value)
{
	const struct function *function = node->function.function;
	const char *types = function->types;
	size_t letters = strlen(types), count = count_arguments(call), filled = 0;
	bool variadic = letters && types[letters - 1] == '*';
	size_t fixed = variadic ? letters - 2 : letters;
	struct value inline_arguments[ARGUMENTS_INLINE], *arguments = inline_arguments;
	int code;

	run->frame->at = node;
	if (function->short_circuits)
		return evaluate_logic(run, function, call, ret_value);
	code = check_count(run, function, count, fixed, variadic);
	if (code < 0)
		return code;
	if (count > ARGUMENTS_INLINE)
		arguments = arena_allocate_array(run->arena, count, sizeof(*arguments));
	for (uint32_t i = 1; call->command && i < call->command->count; i++, filled++) {
		code = evaluate_argument(run, function, types[filled < fixed ? filled : fixed],
			call->command->words[i], &arguments[filled]);
		if (code < 0)
			return code;
	}
	run->frame->at = node;
	if (call->final) {
		arguments[filled] = *call->final;
		code = check_type(run, function, types[filled < fixed ? filled : fixed],
			&arguments[filled]);
		if (code < 0)
			return code;
	}
	return function->body(run, arguments, count, ret_value);
}

/* ---- expressions --------------------------------------------------------------------------------- */

static int evaluate_call(struct run *run, const struct node *node, const struct call *call,
	struct value *ret_value)
{
	struct value base;
	int code;

	switch (node->type) {
	case NODE_FIELD: return evaluate_fields(run, run->frame->dot, node, call, ret_value);
	case NODE_VARIABLE: return evaluate_variable(run, node, call, ret_value);
	case NODE_FUNCTION: return evaluate_function(run, node, call, ret_value);
	case NODE_CHAIN:
		if (node->field.base->type == NODE_NIL)
			return run_fail(run, "nil has no fields");
		code = evaluate_word(run, node->field.base, &base);
		return code < 0 ? code : evaluate_fields(run, base, node, call, ret_value);
	default: break;
	}
	run->frame->at = node;
	if (count_arguments(call))
		return run_fail(run, "can't give argument to non-function");
	switch (node->type) {
	case NODE_PIPE: return evaluate_pipe(run, node->pipe, ret_value);
	case NODE_DOT: *ret_value = run->frame->dot; return 0;
	case NODE_NIL: return run_fail(run, "nil is not a command");
	case NODE_BOOL: *ret_value = value_bool(node->boolean); return 0;
	case NODE_NUMBER: *ret_value = node->number.value; return 0;
	case NODE_STRING: *ret_value = value_string(node->text); return 0;
	default: return run_fail(run, "unexpected expression");
	}
}

/* A word as an argument. */
static int evaluate_word(struct run *run, const struct node *node, struct value *ret_value)
{
	if (node->type == NODE_NIL) {
		*ret_value = value_none();
		return 0;
	}
	return evaluate_call(run, node, &no_arguments, ret_value);
}

static int evaluate_pipe(struct run *run, const struct pipe *pipe, struct value *ret_value)
{
	struct value value = value_none();

	for (uint32_t i = 0; i < pipe->count; i++) {
		struct value final = value;
		const struct call call = {&pipe->commands[i], i ? &final : NULL};
		int code = evaluate_call(run, pipe->commands[i].words[0], &call, &value);

		if (code < 0)
			return code;
		if (value.kind == VALUE_NIL)
			value.kind = VALUE_NONE;
	}
	for (uint32_t i = 0; i < pipe->slot_count; i++) {
		if (pipe->slots[i] < 0)
			return run_fail(run, "undefined variable");
		run->frame->slots[pipe->slots[i]] = value;
	}
	*ret_value = value;
	return 0;
}

/* ---- actions ------------------------------------------------------------------------------------- */

static int execute_action(struct run *run, const struct node *node)
{
	struct value value;
	int code = evaluate_pipe(run, node->pipe, &value);

	if (code < 0 || node->pipe->slot_count)
		return code;
	if (value.kind == VALUE_STRING)
		buffer_add_span(&run->out, value.text);
	else if (value.kind == VALUE_OBJECT)
		value.object->class->print(value.object, &run->out);
	else
		format_value(run, value, &run->out);
	return 0;
}

/* if and with */
static int execute_condition(struct run *run, const struct node *node)
{
	struct value value, dot = run->frame->dot;
	int code = evaluate_pipe(run, node->branch.pipe, &value);

	if (code < 0)
		return code;
	if (!value_truth(value))
		return execute_list(run, &node->branch.otherwise);
	if (node->type == NODE_WITH)
		run->frame->dot = value;
	code = execute_list(run, &node->branch.body);
	run->frame->dot = dot;
	return code;
}

static int execute_round(struct run *run, const struct node *node, struct value key,
	struct value value)
{
	const struct pipe *pipe = node->branch.pipe;
	int code = take_step(run);

	if (code < 0)
		return code;
	if (pipe->slot_count == 1)
		run->frame->slots[pipe->slots[0]] = value;
	if (pipe->slot_count == 2) {
		run->frame->slots[pipe->slots[0]] = key;
		run->frame->slots[pipe->slots[1]] = value;
	}
	run->frame->dot = value;
	return execute_list(run, &node->branch.body);
}

static int execute_rounds(struct run *run, const struct node *node, struct value value,
	uint64_t count)
{
	struct value_entry *entries = NULL;
	int code;

	if (value.kind == VALUE_MAP) {
		/* The body may change the map. */
		entries = value_map_copy(run->arena, value.map)->entries;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (entries)
			code = execute_round(run, node, value_string(entries[i].key),
				entries[i].value);
		else if (value.kind == VALUE_INTEGER)
			code = execute_round(run, node, value_integer(value.type, (int64_t)i),
				value_integer(value.type, (int64_t)i));
		else
			code = execute_round(run, node, value_int((int64_t)i),
				value_item(value, i));
		if (code < 0)
			return code;
		if (code == FLOW_BREAK)
			break;
	}
	return 0;
}

static int execute_range(struct run *run, const struct node *node)
{
	struct value value, dot = run->frame->dot;
	const struct pipe *pipe = node->branch.pipe;
	uint64_t count = 0;
	int code;

	code = evaluate_pipe(run, pipe, &value);
	if (code < 0)
		return code;
	run->frame->at = node;
	if (value.kind == VALUE_LIST || value.kind == VALUE_MAP || value.kind == VALUE_BYTES)
		count = (uint64_t)value_length(value);
	else if (value.kind == VALUE_INTEGER)
		count = value.integer > 0 ? (uint64_t)value.integer : 0;
	else if (!value_is_absent(value))
		return run_fail(run, "range can't iterate over a value of type %s",
			value_type_name(value));
	if (value.kind == VALUE_INTEGER && pipe->slot_count == 2)
		return run_fail(run, "can't use two variables to range over an integer");
	if (count == 0)
		return execute_list(run, &node->branch.otherwise);
	code = execute_rounds(run, node, value, count);
	run->frame->dot = dot;
	return code;
}

static int execute_call(struct run *run, const struct node *node)
{
	struct template *template = template_find(run->set, node->call.name);
	struct value dot = value_none();
	int code;

	run->frame->at = node;
	if (!template)
		return run_fail(run, "template \"%.*s\" not defined", SPAN_ARGS(node->call.name));
	if (node->call.pipe) {
		code = evaluate_pipe(run, node->call.pipe, &dot);
		if (code < 0)
			return code;
		run->frame->at = node;
	}
	return run_template(run, template, dot);
}

static int execute_list(struct run *run, const struct node_list *list)
{
	int code = FLOW_NEXT;

	for (uint32_t i = 0; i < list->count && code == FLOW_NEXT; i++) {
		const struct node *node = list->items[i];

		run->frame->at = node;
		code = take_step(run);
		if (code < 0)
			return code;
		switch (node->type) {
		case NODE_TEXT: buffer_add_span(&run->out, node->text); break;
		case NODE_ACTION: code = execute_action(run, node); break;
		case NODE_IF:
		case NODE_WITH: code = execute_condition(run, node); break;
		case NODE_RANGE: code = execute_range(run, node); break;
		case NODE_TEMPLATE: code = execute_call(run, node); break;
		case NODE_BREAK: return FLOW_BREAK;
		case NODE_CONTINUE: return FLOW_CONTINUE;
		default: break;
		}
	}
	return code;
}

int run_template(struct run *run, struct template *template, struct value dot)
{
	struct frame frame = {.caller = run->frame, .template = template, .dot = dot};
	/* Not the address of a local: sanitizers keep those in other places. */
	const char *top = __builtin_frame_address(0);
	size_t stack;
	int code;

	if (!run->stack_base)
		run->stack_base = top;
	stack = (size_t)llabs((long long)((intptr_t)run->stack_base - (intptr_t)top));
	if (stack > RUN_STACK_MAX)
		return run_fail(run, "templates call each other too deeply (limit %zu KB of stack)",
			RUN_STACK_MAX >> 10);
	frame.slots = arena_allocate_array(run->arena, template->slot_count, sizeof(*frame.slots));
	frame.slots[0] = dot;
	run->frame = &frame;
	code = execute_list(run, &template->body);
	run->frame = (struct frame *)frame.caller;
	return code < 0 ? code : 0;
}

int run_to_text(struct run *run, struct template *template, struct value dot, struct span *ret_text)
{
	size_t begin = run->out.length;
	struct span all;
	int code = run_template(run, template, dot);

	if (code < 0)
		return code;
	if (run->out.failed)
		return run_fail(run, "output too large (limit %zu MB)", RUN_OUTPUT_MAX >> 20);
	all = buffer_span(&run->out);
	*ret_text =
		arena_copy_span(run->arena, (struct span){all.data + begin, all.length - begin});
	run->out.length = begin;
	if (run->out.data)
		run->out.data[begin] = '\0';
	return 0;
}
