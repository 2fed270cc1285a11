/* See canary_ports.h. */
#include "cli/canary_ports.h"

#include <errno.h>

#include "base/memory.h"

struct port_weight {
	struct span service;
	int64_t port;
	struct span protocol; /* SPAN_NONE: not given */
	int64_t permille;
};

/* "10" or "0.1" as thousandths. */
static int read_weight(struct span text, int64_t *ret_permille, struct err *err)
{
	struct span whole = text, rest = SPAN("0");
	uint64_t percent, tenths;

	span_split(text, '.', &whole, &rest);
	if (!span_to_unsigned(whole, 100, &percent) || rest.length != 1 ||
		!span_to_unsigned(rest, 9, &tenths) || percent * 10 + tenths > 1000)
		return err_set(err, -EINVAL,
			"weight '%.*s' is not a number from 0 to 100 with at most one decimal",
			SPAN_ARGS(text));
	*ret_permille = (int64_t)(percent * 10 + tenths);
	return 0;
}

static int read_word(const char *word, struct port_weight *ret, struct err *err)
{
	struct span target, weight, port, number;
	uint64_t value;

	*ret = (struct port_weight){0};
	if (!span_split(span_of(word), '=', &target, &weight) ||
		!span_split(target, ':', &ret->service, &port) || ret->service.length == 0)
		return err_set(err, -EINVAL, "'%s' is not SERVICE:PORT[/PROTOCOL]=WEIGHT", word);
	number = port;
	span_split(port, '/', &number, &ret->protocol);
	if (!span_to_unsigned(number, 65535, &value) || value == 0)
		return err_set(err, -EINVAL, "'%s': port '%.*s' is not a number from 1 to 65535",
			word, SPAN_ARGS(number));
	ret->port = (int64_t)value;
	return read_weight(weight, &ret->permille, err);
}

/* Other options of the port stay. */
static struct json *make_config(struct arena *arena, const struct json *before, int64_t permille)
{
	struct json *config = before ? json_copy_object(arena, before) : json_new_object(arena);

	json_unset(config, "weight");
	json_unset(config, "weightPermille");
	if (permille % 10)
		json_set_integer(arena, config, "weightPermille", permille);
	else
		json_set_integer(arena, config, "weight", permille / 10);
	return config;
}

static bool is_port(const struct json *port, const struct port_weight *weight)
{
	return json_get_integer(port, "port", 0) == weight->port &&
	       (!weight->protocol.data ||
		       span_equal(json_get_text(port, "protocol"), weight->protocol));
}

static struct json *set_port(struct arena *arena, const struct json *service,
	const struct port_weight *weight)
{
	struct json *changed = service ? json_copy_object(arena, service) : json_new_object(arena);
	struct json *ports = json_new_array(arena), *added;
	bool found = false;

	JSON_EACH_ITEM (json_get(service, "ports"), port) {
		struct json *copy = json_copy_object(arena, port);

		if (is_port(port, weight)) {
			json_set(arena, copy, "config",
				make_config(arena, json_get(port, "config"), weight->permille));
			found = true;
		}
		json_append(arena, ports, copy);
	}
	if (!found) {
		added = json_new_object(arena);
		json_set_integer(arena, added, "port", weight->port);
		if (weight->protocol.data)
			json_set_string(arena, added, "protocol", weight->protocol);
		json_set(arena, added, "config", make_config(arena, NULL, weight->permille));
		json_append(arena, ports, added);
	}
	json_set_string(arena, changed, "service", weight->service);
	json_set(arena, changed, "ports", ports);
	return changed;
}

int canary_ports_set(struct arena *arena, const struct json *services, const char *word,
	const struct json **ret_services, struct err *err)
{
	struct json *list = json_new_array(arena);
	struct port_weight weight;
	bool found = false;
	int code = read_word(word, &weight, err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (services, service) {
		bool same = span_equal(json_get_text(service, "service"), weight.service);

		found = found || same;
		json_append(arena, list, same ? set_port(arena, service, &weight) : service);
	}
	if (!found)
		json_append(arena, list, set_port(arena, NULL, &weight));
	*ret_services = list;
	return 0;
}

int canary_ports_set_all(struct arena *arena, const struct json *services, const char *weight,
	const struct json **ret_services, struct err *err)
{
	struct json *list = json_new_array(arena);
	int64_t permille;
	int code = read_weight(span_of(weight), &permille, err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (services, service) {
		struct json *copy = json_copy_object(arena, service),
			    *ports = json_new_array(arena);

		JSON_EACH_ITEM (json_get(service, "ports"), port) {
			struct json *changed = json_copy_object(arena, port);

			json_set(arena, changed, "config",
				make_config(arena, json_get(port, "config"), permille));
			json_append(arena, ports, changed);
		}
		json_set(arena, copy, "ports", ports);
		json_append(arena, list, copy);
	}
	*ret_services = list;
	return 0;
}
