/* See the header. */
#include "runtime/kubernetes/placement.h"

#include "base/memory.h"
#include "runtime/kubernetes/notes.h"

#define HOSTNAME_LABEL "kubernetes.io/hostname"
#define ZONE_LABEL "topology.kubernetes.io/zone"

static const struct {
	const char *attribute, *label;
} attribute_labels[] = {
	{"ecs.availability-zone", ZONE_LABEL},
	{"ecs.cpu-architecture", "kubernetes.io/arch"},
	{"ecs.instance-type", "node.kubernetes.io/instance-type"},
	{"ecs.os-type", "kubernetes.io/os"},
};

static const struct {
	const char *label, *attribute_value, *label_value;
} attribute_values[] = {
	{"kubernetes.io/arch", "x86_64", "amd64"},
};

/* The node label for an attribute; an attribute that ECS agents announce has Kubernetes' own
 * label. */
static struct span kubernetes_attribute_label(struct arena *arena, struct span attribute)
{
	for (size_t i = 0; i < LENGTH(attribute_labels); i++)
		if (span_is(attribute, attribute_labels[i].attribute))
			return span_of(attribute_labels[i].label);
	return arena_copy_span(arena, attribute);
}

struct span kubernetes_label_attribute(struct span label)
{
	for (size_t i = 0; i < LENGTH(attribute_labels); i++)
		if (span_is(label, attribute_labels[i].label))
			return span_of(attribute_labels[i].attribute);
	return SPAN_NONE;
}

struct span kubernetes_attribute_value_from_label(struct span label, struct span value)
{
	for (size_t i = 0; i < LENGTH(attribute_values); i++)
		if (span_is(label, attribute_values[i].label) &&
			span_is(value, attribute_values[i].label_value))
			return span_of(attribute_values[i].attribute_value);
	return value;
}

static struct span kubernetes_attribute_value_to_label(struct span label, struct span value)
{
	for (size_t i = 0; i < LENGTH(attribute_values); i++)
		if (span_is(label, attribute_values[i].label) &&
			span_is(value, attribute_values[i].attribute_value))
			return span_of(attribute_values[i].label_value);
	return value;
}

/* ---- expressions ---- */

struct expression {
	struct arena *arena;
	struct span text; /* all of it, for messages */
	struct span rest;
	struct err *err;
};

static int refuse(const struct expression *expression, const char *why)
{
	return err_set(expression->err, -EINVAL,
		"placement constraint '%.*s' %s; on Kubernetes an expression is attribute:NAME "
		"with ==, !=, in, !in, exists, !exists, < or >, joined by 'and'",
		SPAN_ARGS(expression->text), why);
}

static void skip_spaces(struct expression *expression)
{
	expression->rest = span_trim(expression->rest);
}

static bool is_delimiter(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == ']' || c == '[' || c == '(' || c == ')';
}

/* The next word, without the quotes around it. */
static struct span read_word(struct expression *expression)
{
	struct span rest, word;
	size_t length = 0;

	skip_spaces(expression);
	rest = expression->rest;
	if (rest.length > 0 && (rest.data[0] == '"' || rest.data[0] == '\'')) {
		const char *end = memchr(rest.data + 1, rest.data[0], rest.length - 1);

		if (end) {
			length = (size_t)(end - rest.data) + 1;
			word = (struct span){rest.data + 1, length - 2};
			expression->rest = (struct span){rest.data + length, rest.length - length};
			return word;
		}
	}
	while (length < rest.length && !is_delimiter(rest.data[length]))
		length++;
	expression->rest = (struct span){rest.data + length, rest.length - length};
	return (struct span){rest.data, length};
}

static bool take(struct expression *expression, const char *text)
{
	struct span rest;

	skip_spaces(expression);
	rest = expression->rest;
	if (!span_starts_with(rest, span_of(text)))
		return false;
	expression->rest = (struct span){rest.data + strlen(text), rest.length - strlen(text)};
	return true;
}

enum operands { NO_VALUE, ONE_VALUE, LIST_OF_VALUES };

/* Longer spellings before those that they begin with. */
static const struct comparison {
	const char *text;
	const char *kubernetes;
	enum operands operands;
	bool is_word;
} comparisons[] = {
	{"==", "In", ONE_VALUE, false},
	{"equals", "In", ONE_VALUE, true},
	{"!=", "NotIn", ONE_VALUE, false},
	{"not_equals", "NotIn", ONE_VALUE, true},
	{"!in", "NotIn", LIST_OF_VALUES, true},
	{"not_in", "NotIn", LIST_OF_VALUES, true},
	{"in", "In", LIST_OF_VALUES, true},
	{"!exists", "DoesNotExist", NO_VALUE, true},
	{"not_exists", "DoesNotExist", NO_VALUE, true},
	{"exists", "Exists", NO_VALUE, true},
	{"greater_than", "Gt", ONE_VALUE, true},
	{"less_than", "Lt", ONE_VALUE, true},
	{">", "Gt", ONE_VALUE, false},
	{"<", "Lt", ONE_VALUE, false},
};

static const struct comparison *read_comparison(struct expression *expression)
{
	for (size_t i = 0; i < LENGTH(comparisons); i++) {
		struct span before = expression->rest;

		if (!take(expression, comparisons[i].text))
			continue;
		if (!comparisons[i].is_word || expression->rest.length == 0 ||
			is_delimiter(expression->rest.data[0]))
			return &comparisons[i];
		expression->rest = before;
	}
	return NULL;
}

static int read_values(struct expression *expression, struct span label,
	const struct comparison *comparison, struct json *values)
{
	bool list = comparison->operands == LIST_OF_VALUES && take(expression, "[");
	size_t count = 0;

	do {
		struct span value = read_word(expression);

		if (value.length == 0 || ++count > KUBERNETES_EXPRESSION_VALUES_MAX)
			return refuse(expression, "cannot be read");
		/* "=<" and ">=" have no counterpart. */
		if (value.data[0] == '=' || value.data[0] == '~')
			return refuse(expression, "cannot be said in Kubernetes");
		json_append(expression->arena, values,
			json_new_string(expression->arena,
				kubernetes_attribute_value_to_label(label, value)));
	} while (list && take(expression, ","));
	if (list && !take(expression, "]"))
		return refuse(expression, "cannot be read");
	return 0;
}

static int read_term(struct expression *expression, struct json *requirements)
{
	static const struct span prefix = SPAN("attribute:");
	struct arena *arena = expression->arena;
	struct span subject = read_word(expression), label;
	struct json *requirement = json_new_object(arena), *values = json_new_array(arena);
	const struct comparison *comparison;
	int code;

	if (!span_starts_with(subject, prefix) || subject.length == prefix.length)
		return refuse(expression, "asks for more than attributes");
	label = kubernetes_attribute_label(arena,
		(struct span){subject.data + prefix.length, subject.length - prefix.length});
	comparison = read_comparison(expression);
	if (!comparison)
		return refuse(expression, "cannot be said in Kubernetes");
	json_set_string(arena, requirement, "key", label);
	json_set_string(arena, requirement, "operator", span_of(comparison->kubernetes));
	if (comparison->operands != NO_VALUE) {
		code = read_values(expression, label, comparison, values);
		if (code < 0)
			return code;
		json_set(arena, requirement, "values", values);
	}
	json_append(arena, requirements, requirement);
	return 0;
}

static int read_expression(struct arena *arena, struct span text, struct json *requirements,
	struct err *err)
{
	struct expression expression = {arena, text, text, err};

	if (text.length > KUBERNETES_EXPRESSION_MAX)
		return err_set(err, -EINVAL, "a placement constraint is longer than %d bytes",
			KUBERNETES_EXPRESSION_MAX);
	for (;;) {
		int code = read_term(&expression, requirements);

		if (code < 0)
			return code;
		skip_spaces(&expression);
		if (expression.rest.length == 0)
			return 0;
		if (!take(&expression, "&&") && !take(&expression, "and "))
			return refuse(&expression, "cannot be said in Kubernetes");
	}
}

/* ---- constraints ---- */

static struct json *object_with(struct arena *arena, const char *name, const struct json *value)
{
	struct json *object = json_new_object(arena);

	json_set(arena, object, name, value);
	return object;
}

static struct json *list_of(struct arena *arena, const struct json *item)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list, item);
	return list;
}

static struct json *select_pods(const struct kubernetes_placement *placement, struct arena *arena)
{
	struct json *labels = json_new_object(arena);

	json_set_string(arena, labels, placement->label, placement->value);
	return object_with(arena, "matchLabels", labels);
}

static struct json *node_is(struct arena *arena, struct span instance)
{
	struct json *field = json_new_object(arena);

	json_set_string(arena, field, "key", SPAN("metadata.name"));
	json_set_string(arena, field, "operator", SPAN("In"));
	json_set(arena, field, "values", list_of(arena, json_new_string(arena, instance)));
	return list_of(arena, field);
}

static struct json *label_is_missing(struct arena *arena, struct span label)
{
	struct json *requirement = json_new_object(arena);

	json_set_string(arena, requirement, "key", label);
	json_set_string(arena, requirement, "operator", SPAN("DoesNotExist"));
	return requirement;
}

static struct json *keep_apart(const struct kubernetes_placement *placement, struct arena *arena)
{
	struct json *term = json_new_object(arena);

	json_set(arena, term, "labelSelector", select_pods(placement, arena));
	json_set_string(arena, term, "topologyKey", SPAN(HOSTNAME_LABEL));
	return object_with(arena, "requiredDuringSchedulingIgnoredDuringExecution",
		list_of(arena, term));
}

static int write_constraints(const struct kubernetes_placement *placement, struct arena *arena,
	struct json *affinity, struct err *err)
{
	struct json *requirements = json_new_array(arena), *term = json_new_object(arena);

	JSON_EACH_ITEM (placement->constraints, constraint) {
		struct span type = json_get_text(constraint, "type");
		struct span expression = json_get_text(constraint, "expression");
		int code;

		if (type.data && span_is(type, "distinctInstance")) {
			json_set(arena, affinity, "podAntiAffinity", keep_apart(placement, arena));
			continue;
		}
		if (!type.data || !span_is(type, "memberOf"))
			return err_set(err, -EINVAL,
				"placement constraint of the unknown type '%.*s'", SPAN_ARGS(type));
		code = read_expression(arena, expression.data ? expression : SPAN(""), requirements,
			err);
		if (code < 0)
			return code;
	}
	if (placement->without.length > 0)
		json_append(arena, requirements, label_is_missing(arena, placement->without));
	if (json_count(requirements) > 0)
		json_set(arena, term, "matchExpressions", requirements);
	if (placement->instance.length > 0)
		json_set(arena, term, "matchFields", node_is(arena, placement->instance));
	if (json_count(term) > 0)
		json_set(arena, affinity, "nodeAffinity",
			object_with(arena, "requiredDuringSchedulingIgnoredDuringExecution",
				object_with(arena, "nodeSelectorTerms", list_of(arena, term))));
	return 0;
}

/* ---- strategies ---- */

static bool has_key(const struct json *spread, struct span key)
{
	JSON_EACH_ITEM (spread, constraint)
		if (span_equal(json_get_text(constraint, "topologyKey"), key))
			return true;
	return false;
}

static void write_strategy(const struct kubernetes_placement *placement, struct arena *arena,
	struct json *pod_spec, struct buffer *notes)
{
	static const struct span prefix = SPAN("attribute:");
	struct json *spread = json_new_array(arena);

	JSON_EACH_ITEM (placement->strategy, step) {
		struct span type = json_get_text(step, "type"),
			    field = json_get_text(step, "field");
		struct json *constraint = json_new_object(arena);
		struct span key = SPAN(HOSTNAME_LABEL);

		if (type.data && span_is(type, "random"))
			continue;
		if (!type.data || !span_is(type, "spread")) {
			kubernetes_note(notes,
				"placement strategy '%.*s' is left to the scheduler of Kubernetes",
				SPAN_ARGS(type));
			continue;
		}
		if (field.data && span_starts_with(field, prefix))
			key = kubernetes_attribute_label(arena,
				(struct span){
					field.data + prefix.length, field.length - prefix.length});
		if (has_key(spread, key)) /* instanceId and host are one */
			continue;
		json_set_integer(arena, constraint, "maxSkew", 1);
		json_set_string(arena, constraint, "topologyKey", key);
		json_set_string(arena, constraint, "whenUnsatisfiable", SPAN("ScheduleAnyway"));
		json_set(arena, constraint, "labelSelector", select_pods(placement, arena));
		json_append(arena, spread, constraint);
	}
	if (json_count(spread) > 0)
		json_set(arena, pod_spec, "topologySpreadConstraints", spread);
}

static bool is_only_instance(const struct kubernetes_placement *placement)
{
	return placement->instance.length > 0 && placement->without.length == 0 &&
	       json_count(placement->constraints) == 0 && json_count(placement->strategy) == 0;
}

int kubernetes_placement_write(const struct kubernetes_placement *placement, struct arena *arena,
	struct json *pod_spec, struct buffer *notes, struct err *err)
{
	struct json *affinity = json_new_object(arena);
	int code;

	if (placement->bind && is_only_instance(placement)) {
		json_set_string(arena, pod_spec, "nodeName", placement->instance);
		return 0;
	}
	code = write_constraints(placement, arena, affinity, err);
	if (code < 0)
		return code;
	if (json_count(affinity) > 0)
		json_set(arena, pod_spec, "affinity", affinity);
	write_strategy(placement, arena, pod_spec, notes);
	return 0;
}
