/*
 * Lookups in the shape tables, and the check of a request against them.
 *
 * The check walks the request, not the model, so its time grows with what the client sent. Where a
 * value is in the request is a chain of steps on the stack; it becomes text only when something is
 * wrong, so a good request costs no allocation.
 *
 * What is out of bounds is answered in slipway's words, or, where the service is one whose answers come from
 * AWS's framework, in the framework's: tools recognize those.
 */
#include "aws/shape.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"

/* How much of a client's own text an error message repeats. */
#define SHOWN_TEXT_MAX 64

/* How many violations of constraints one answer names. */
#define VIOLATIONS_MAX 10

static const struct shape_service *const services[] = {&shape_ecs, &shape_elasticloadbalancingv2,
	&shape_servicediscovery, &shape_slipway, &shape_sts};

const char *shape_type_name(enum shape_type type)
{
	static const char *const names[] = {
		[SHAPE_STRING] = "a string",
		[SHAPE_INTEGER] = "an integer",
		[SHAPE_LONG] = "an integer",
		[SHAPE_FLOAT] = "a number",
		[SHAPE_DOUBLE] = "a number",
		[SHAPE_BOOLEAN] = "true or false",
		[SHAPE_TIMESTAMP] = "a time in seconds",
		[SHAPE_BLOB] = "a string in base64",
		[SHAPE_DOCUMENT] = "a JSON value",
		[SHAPE_LIST] = "a list",
		[SHAPE_MAP] = "an object",
		[SHAPE_STRUCTURE] = "an object",
	};
	return names[type];
}

/* ---- lookups ---- */

const struct shape_service *shape_find_service(struct span name)
{
	for (size_t i = 0; i < LENGTH(services); i++)
		if (span_is(name, services[i]->name) || span_is(name, services[i]->signing_name))
			return services[i];
	return NULL;
}

const struct shape_operation *shape_find_operation(const struct shape_service *service,
	struct span name)
{
	size_t low = 0, high = service->operation_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct shape_operation *operation = &service->operations[middle];
		int order = span_compare(name, shape_text(service, operation->name));

		if (order == 0)
			return operation;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* The first eight bytes as a number that compares as they do; only `length` of them count. */
static inline uint64_t prefix_of(const char *eight_bytes, size_t length)
{
	uint64_t prefix;

	memcpy(&prefix, eight_bytes, sizeof(prefix));
	prefix = be64toh(prefix);
	return length >= sizeof(prefix) ? prefix : prefix & ~(UINT64_MAX >> (8 * length));
}

const struct shape_member *shape_find_member(const struct shape_service *service,
	const struct shape *structure, struct span name)
{
	const struct shape_member *members = &service->members[structure->first];
	size_t low = 0, high = structure->count;
	char start[sizeof(uint64_t)] = {0};
	uint64_t prefix;

	/* This is where validation spends its time: lengths and prefixes settle nearly every step,
	 * and memcmp() is called about once. */
	memcpy(start, name.data, name.length < sizeof(start) ? name.length : sizeof(start));
	prefix = prefix_of(start, name.length);
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct shape_member *member = &members[middle];
		const char *text = service->names + member->name.offset;
		int order;

		if (name.length != member->name.length) {
			order = name.length < member->name.length ? -1 : 1;
		} else {
			uint64_t other = prefix_of(text, name.length);

			if (prefix != other)
				order = prefix < other ? -1 : 1;
			else if (name.length <= sizeof(prefix))
				return member;
			else
				order = memcmp(name.data + sizeof(prefix), text + sizeof(prefix),
					name.length - sizeof(prefix));
		}
		if (order == 0)
			return member;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool shape_operation_has_error(const struct shape_service *service,
	const struct shape_operation *operation, struct span error)
{
	for (size_t i = 0; i < operation->error_count; i++) {
		const struct shape *shape =
			&service->shapes[service->errors[operation->first_error + i]];
		if (span_equal(error, shape_text(service, shape->name)))
			return true;
	}
	return false;
}

/* ---- the check of a request ---- */

/* From the request to a value within it; the first step has no name and no index. */
struct step {
	const struct step *above;
	struct span name; /* of a member or an entry; SPAN_NONE for an item */
	size_t index;
	bool is_key; /* a name that the client chose */
};

struct check {
	const struct shape_service *service;
	const struct shape_operation *operation;
	struct arena *arena;
	struct shape_problem *problem;
	bool found;     /* *problem has a value out of bounds; a wrong type may still replace it */
	bool is_answer; /* unknown members are wrong, and limits are for requests */

	/* For services that answer in the words of AWS's framework: what was violated so far. */
	struct buffer *violations;
	size_t violation_count;
	struct span first_path; /* of the first, as struct shape_problem has paths */
};

static int check_value(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step);

/* At most SHOWN_TEXT_MAX bytes, cut between characters. */
static void add_shown(struct buffer *out, struct span text)
{
	size_t length = text.length;

	if (length > SHOWN_TEXT_MAX) {
		length = SHOWN_TEXT_MAX;
		while (length > 0 && ((unsigned char)text.data[length] & 0xc0) == 0x80)
			length--;
	}
	buffer_add(out, text.data, length);
	if (length < text.length)
		buffer_add_string(out, "…");
}

static void add_path(struct buffer *out, const struct step *step)
{
	if (!step->above)
		return;
	add_path(out, step->above);
	if (step->is_key) {
		buffer_add_string(out, "['");
		add_shown(out, step->name);
		buffer_add_string(out, "']");
	} else if (step->name.data) {
		if (out->length > 0)
			buffer_add_char(out, '.');
		buffer_add_span(out, step->name);
	} else {
		buffer_format(out, "[%zu]", step->index);
	}
}

/* The path is the first part of the message. An arena at its cap has no room for words, but the client gets its
 * answer all the same. */
static void add_message(struct check *check, const struct buffer *text, size_t path_length)
{
	char *copy = arena_allocate_capped(check->arena, text->length + 1);

	if (!copy)
		return;
	memcpy(copy, text->data, text->length);
	check->problem->path = (struct span){copy, path_length};
	check->problem->message = (struct span){copy, text->length};
}

static void fill_problem(struct check *check, const char *error, const struct step *step,
	const struct buffer *reason)
{
	_buffer_ struct buffer text = {0};
	size_t path_length;

	add_path(&text, step);
	path_length = text.length;
	buffer_add_string(&text, path_length > 0 ? ": " : "the request: ");
	buffer_add_span(&text, buffer_span(reason));

	*check->problem = (struct shape_problem){error, SPAN(""), SPAN("the request is not valid")};
	add_message(check, &text, path_length);
}

/* Ends the walk. */
static int wrong_type(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	_buffer_ struct buffer reason = {0};

	buffer_format(&reason, "expected %s, not %s", shape_type_name(shape->type),
		json_type_name(value->type));
	fill_problem(check, "SerializationException", step, &reason);
	return -EINVAL;
}

static int wrong_form(struct check *check, const char *words, const struct step *step)
{
	_buffer_ struct buffer reason = {0};

	buffer_add_string(&reason, words);
	fill_problem(check, "SerializationException", step, &reason);
	return -EINVAL;
}

/* Remembers the first value out of bounds; the walk continues. */
static void out_of_bounds(struct check *check, const struct step *step, const struct buffer *reason)
{
	if (check->found)
		return;
	check->found = true;
	fill_problem(check, shape_text(check->service, check->operation->invalid_input).data, step,
		reason);
}

/* ---- violated constraints in the words of AWS's framework ---- */

/* As the framework has it: 'actions.1.member.type'. Keys of maps have no path of their own. */
static void add_framework_path(struct buffer *out, const struct step *step)
{
	struct span name = step->name;

	if (!step->above || step->is_key) {
		if (step->above)
			add_framework_path(out, step->above);
		return;
	}
	add_framework_path(out, step->above);
	if (out->length > 0)
		buffer_add_char(out, '.');
	if (!name.data) {
		buffer_format(out, "%zu.member", step->index + 1);
		return;
	}
	buffer_add_char(out, name.data[0] >= 'A' && name.data[0] <= 'Z'
				     ? (char)(name.data[0] - 'A' + 'a')
				     : name.data[0]);
	buffer_add(out, name.data + 1, name.length - 1);
}

static void add_framework_value(struct buffer *out, const struct json *value)
{
	_buffer_ struct buffer text = {0};

	if (value->type == JSON_STRING || value->type == JSON_NUMBER) {
		add_shown(out, value->text);
		return;
	}
	for (size_t i = 0; value->type == JSON_ARRAY && i < value->array.count &&
			   text.length <= SHOWN_TEXT_MAX;
		i++) {
		const struct json *item = value->array.items[i];

		buffer_add_string(&text, i > 0 ? ", " : "[");
		if (item->type == JSON_STRING)
			buffer_add_span(&text, item->text);
		else
			json_write(item, &text);
	}
	if (value->type != JSON_ARRAY)
		json_write(value, &text);
	else
		buffer_add_string(&text, text.length > 0 ? "]" : "[]");
	add_shown(out, buffer_span(&text));
}

static void keep_first_path(struct check *check, const struct step *step)
{
	_buffer_ struct buffer path = {0};
	char *copy;

	add_path(&path, step);
	copy = arena_allocate_capped(check->arena, path.length + 1);
	if (!copy)
		return;
	if (path.length > 0)
		memcpy(copy, path.data, path.length);
	check->first_path = (struct span){copy, path.length};
}

/* value: NULL for one that is missing. */
static void add_violation(struct check *check, const struct step *step, const struct json *value,
	const struct buffer *constraint)
{
	_buffer_ struct buffer path = {0};
	struct buffer *out = check->violations;

	check->found = true;
	if (check->violation_count == VIOLATIONS_MAX)
		return;
	if (check->violation_count++ > 0)
		buffer_add_string(out, "; ");
	else
		keep_first_path(check, step);
	add_framework_path(&path, step);
	buffer_add_string(out, value ? "Value '" : "Value null");
	if (value)
		add_framework_value(out, value);
	buffer_add_string(out, value ? "' at '" : " at '");
	buffer_add_span(out, buffer_span(&path));
	buffer_add_string(out, "' failed to satisfy constraint: ");
	buffer_add_span(out, buffer_span(constraint));
}

/* With "length" or "value" for what. */
static void violate_limits(struct check *check, const struct shape *shape, const struct step *step,
	const struct json *value, const char *what, bool is_too_small)
{
	const struct shape_limits *limits = &check->service->limits[shape->limits];
	_buffer_ struct buffer text = {0};

	buffer_format(&text, "Member must have %s %s than or equal to %lld", what,
		is_too_small ? "greater" : "less",
		(long long)(is_too_small ? limits->min : limits->max));
	add_violation(check, step, value, &text);
}

static void violate_enum(struct check *check, const struct shape *shape, const struct step *step,
	const struct json *value)
{
	const struct shape_name *values = &check->service->values[shape->first];
	_buffer_ struct buffer text = {0};

	buffer_add_string(&text, "Member must satisfy enum value set: [");
	for (size_t i = 0; i < shape->count; i++) {
		buffer_add_string(&text, i > 0 ? ", " : "");
		buffer_add_span(&text, shape_text(check->service, values[i]));
	}
	buffer_add_char(&text, ']');
	add_violation(check, step, value, &text);
}

static void violate_required(struct check *check, const struct step *step)
{
	_buffer_ struct buffer text = {0};

	buffer_add_string(&text, "Member must not be null");
	add_violation(check, step, NULL, &text);
}

static void fill_violations(struct check *check)
{
	_buffer_ struct buffer text = {0};

	buffer_format(&text, "%zu validation error%s detected: ", check->violation_count,
		check->violation_count == 1 ? "" : "s");
	buffer_add_span(&text, buffer_span(check->violations));
	*check->problem = (struct shape_problem){
		shape_text(check->service, check->operation->invalid_input).data, SPAN(""),
		SPAN("the request is not valid")};
	add_message(check, &text, 0);
	check->problem->path = check->first_path;
}

/* Elastic Load Balancing and Cloud Map answer so; ECS has words of its own. */
static bool has_framework_words(const struct shape_service *service)
{
	return service == &shape_elasticloadbalancingv2 || service == &shape_servicediscovery;
}

/* ---- limits ---- */

static void add_limits(struct buffer *out, const struct shape_limits *limits)
{
	if (limits->min == limits->max)
		buffer_format(out, "exactly %lld", (long long)limits->min);
	else if (limits->min == INT64_MIN)
		buffer_format(out, "at most %lld", (long long)limits->max);
	else if (limits->max == INT64_MAX)
		buffer_format(out, "at least %lld", (long long)limits->min);
	else
		buffer_format(out, "between %lld and %lld", (long long)limits->min,
			(long long)limits->max);
}

/* things: "items", "characters", … */
static void check_count(struct check *check, const struct shape *shape, const struct json *value,
	size_t count, const char *things, const struct step *step)
{
	const struct shape_limits *limits = &check->service->limits[shape->limits];

	if (shape->limits == 0 || check->is_answer)
		return;
	if ((int64_t)count < limits->min || (int64_t)count > limits->max) {
		_buffer_ struct buffer reason = {0};

		if (check->violations) {
			violate_limits(check, shape, step, value, "length",
				(int64_t)count < limits->min);
			return;
		}
		buffer_add_string(&reason, "must have ");
		add_limits(&reason, limits);
		buffer_format(&reason, " %s, not %zu", things, count);
		out_of_bounds(check, step, &reason);
	}
}

static void out_of_range(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step, bool is_too_small)
{
	_buffer_ struct buffer reason = {0};

	if (check->is_answer)
		return;
	if (check->violations) {
		violate_limits(check, shape, step, value, "value", is_too_small);
		return;
	}
	buffer_add_string(&reason, "must be ");
	add_limits(&reason, &check->service->limits[shape->limits]);
	buffer_add_string(&reason, ", not ");
	add_shown(&reason, value->text);
	out_of_bounds(check, step, &reason);
}

static size_t count_characters(struct span text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return count;
}

static void check_enum(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	struct span text = value->text;
	const struct shape_name *values = &check->service->values[shape->first];
	_buffer_ struct buffer reason = {0};

	for (size_t i = 0; i < shape->count; i++)
		if (span_equal(text, shape_text(check->service, values[i])))
			return;
	if (check->violations) {
		violate_enum(check, shape, step, value);
		return;
	}
	buffer_add_char(&reason, '\'');
	add_shown(&reason, text);
	buffer_add_string(&reason, "' is not one of ");
	for (size_t i = 0; i < shape->count; i++) {
		if (i > 0)
			buffer_add_string(&reason, ", ");
		buffer_add_span(&reason, shape_text(check->service, values[i]));
	}
	out_of_bounds(check, step, &reason);
}

/* Checks of a string, be it a value or the key of a map. */
static void check_text(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	if (shape->count > 0)
		check_enum(check, shape, value, step);
	if (shape->limits > 0)
		check_count(check, shape, value, count_characters(value->text), "characters", step);
}

static int check_string(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	if (value->type != JSON_STRING)
		return wrong_type(check, shape, value, step);
	check_text(check, shape, value, step);
	return 0;
}

static int check_integer(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	const struct shape_limits *limits = &check->service->limits[shape->limits];
	int64_t integer;

	if (value->type != JSON_NUMBER)
		return wrong_type(check, shape, value, step);
	if (!json_integer(value, &integer))
		return wrong_form(check, "expected an integer, not another number", step);
	if (shape->type == SHAPE_INTEGER && (integer < INT32_MIN || integer > INT32_MAX))
		return wrong_form(check, "the integer does not fit in 32 bits", step);
	if (integer < limits->min || integer > limits->max)
		out_of_range(check, shape, value, step, integer < limits->min);
	return 0;
}

static int check_number(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	const struct shape_limits *limits = &check->service->limits[shape->limits];
	double number;

	if (value->type != JSON_NUMBER)
		return wrong_type(check, shape, value, step);
	if (!json_double(value, &number))
		return wrong_form(check, "the number is too large", step);
	if (number < (double)limits->min || number > (double)limits->max)
		out_of_range(check, shape, value, step, number < (double)limits->min);
	return 0;
}

static int check_boolean(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	if (value->type != JSON_TRUE && value->type != JSON_FALSE)
		return wrong_type(check, shape, value, step);
	return 0;
}

static bool is_base64(struct span text)
{
	size_t padding = 0;

	if (text.length % 4 != 0)
		return false;
	while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.length - padding; i++) {
		char c = text.data[i];
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			    c == '+' || c == '/'))
			return false;
	}
	return true;
}

static int check_blob(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	struct span text = value->text;
	size_t padding = 0;

	if (value->type != JSON_STRING)
		return wrong_type(check, shape, value, step);
	if (!is_base64(text))
		return wrong_form(check, "the string is not base64", step);
	while (padding < text.length && text.data[text.length - 1 - padding] == '=')
		padding++;
	check_count(check, shape, value, text.length / 4 * 3 - padding, "bytes", step);
	return 0;
}

static int check_document(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	(void)check, (void)shape, (void)value, (void)step;
	return 0;
}

static int check_list(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	const struct shape *element = &check->service->shapes[shape->element];

	if (value->type != JSON_ARRAY)
		return wrong_type(check, shape, value, step);
	check_count(check, shape, value, value->array.count, "items", step);
	for (size_t i = 0; i < value->array.count; i++) {
		struct step here = {.above = step, .index = i};
		const struct json *item = value->array.items[i];

		if (item->type == JSON_NULL) /* a list has no absent items */
			return wrong_type(check, element, item, &here);
		if (check_value(check, element, item, &here) < 0)
			return -EINVAL;
	}
	return 0;
}

static int check_map(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	const struct shape *element = &check->service->shapes[shape->element];
	const struct shape *key = &check->service->shapes[shape->key];

	if (value->type != JSON_OBJECT)
		return wrong_type(check, shape, value, step);
	check_count(check, shape, value, value->object.count, "entries", step);
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *entry = &value->object.members[i];
		struct step here = {.above = step, .name = entry->name, .is_key = true};
		const struct json name = {.type = JSON_STRING, .text = entry->name};

		check_text(check, key, &name, &here);
		if (entry->value->type == JSON_NULL)
			continue;
		if (check_value(check, element, entry->value, &here) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Only called when one is missing. The framework's words name all, ours the first. */
static void report_missing(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	for (size_t i = 0; i < shape->count; i++) {
		const struct shape_member *member = &check->service->members[shape->first + i];
		struct step here = {
			.above = step, .name = shape_text(check->service, member->name)};

		if (!(member->flags & SHAPE_REQUIRED) ||
			!json_is_absent(json_get_span(value, here.name)))
			continue;
		if (check->violations) {
			violate_required(check, &here);
			continue;
		}
		_buffer_ struct buffer reason = {0};
		buffer_add_string(&reason, "is required");
		out_of_bounds(check, &here, &reason);
		return;
	}
}

static int check_structure(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	size_t required = 0, requested = 0;

	if (value->type != JSON_OBJECT)
		return wrong_type(check, shape, value, step);
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *entry = &value->object.members[i];
		const struct shape_member *member;

		if (entry->value->type == JSON_NULL)
			continue;
		member = shape_find_member(check->service, shape, entry->name);
		struct step here = {.above = step, .name = entry->name};
		if (!member && check->is_answer)
			return wrong_form(check, "the model has no such member", &here);
		if (!member)
			continue;
		requested++;
		required += member->flags & SHAPE_REQUIRED;
		if (check_value(check, &check->service->shapes[member->shape], entry->value,
			    &here) < 0)
			return -EINVAL;
	}
	if ((shape->flags & SHAPE_UNION) && requested != 1)
		return wrong_form(check,
			requested == 0 ? "none of its members is given"
				       : "more than one of its members is given",
			step);
	if (required < shape->required)
		report_missing(check, shape, value, step);
	return 0;
}

static int check_value(struct check *check, const struct shape *shape, const struct json *value,
	const struct step *step)
{
	static int (*const checks[])(struct check *, const struct shape *, const struct json *,
		const struct step *) = {
		[SHAPE_STRING] = check_string,
		[SHAPE_INTEGER] = check_integer,
		[SHAPE_LONG] = check_integer,
		[SHAPE_FLOAT] = check_number,
		[SHAPE_DOUBLE] = check_number,
		[SHAPE_BOOLEAN] = check_boolean,
		[SHAPE_TIMESTAMP] = check_number,
		[SHAPE_BLOB] = check_blob,
		[SHAPE_DOCUMENT] = check_document,
		[SHAPE_LIST] = check_list,
		[SHAPE_MAP] = check_map,
		[SHAPE_STRUCTURE] = check_structure,
	};
	return checks[shape->type](check, shape, value, step);
}

_Static_assert(SHAPE_REQUIRED == 1, "check_structure counts with it");

int shape_validate(const struct shape_service *service, const struct shape_operation *operation,
	const struct json *request, struct arena *arena, struct shape_problem *ret_problem)
{
	_buffer_ struct buffer violations = {0};
	struct check check = {
		.service = service,
		.operation = operation,
		.arena = arena,
		.problem = ret_problem,
		.violations = has_framework_words(service) ? &violations : NULL,
		.first_path = SPAN(""),
	};
	const struct step request_itself = {0};

	if (check_structure(&check, &service->shapes[operation->input], request, &request_itself) <
		0)
		return -EINVAL;
	if (check.violation_count > 0)
		fill_violations(&check);
	return check.found ? -EINVAL : 0;
}

int shape_validate_answer(const struct shape_service *service,
	const struct shape_operation *operation, const struct json *answer, struct arena *arena,
	struct shape_problem *ret_problem)
{
	struct check check = {
		.service = service,
		.operation = operation,
		.arena = arena,
		.problem = ret_problem,
		.is_answer = true,
	};
	const struct step answer_itself = {0};

	if (check_structure(&check, &service->shapes[operation->output], answer, &answer_itself) <
		0)
		return -EINVAL;
	return check.found ? -EINVAL : 0;
}
