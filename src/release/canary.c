/* See canary.h. */
#include "release/canary.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kube/object.h"
#include "proxy/proxy.h"

#define LABEL_MAX 63

#define NAME_(name, text) text,
static const char *const step_names[] = {CANARY_STEPS(NAME_)};
static const char *const protocol_names[] = {CANARY_PROTOCOLS(NAME_)};
#undef NAME_
static const char *const transition_names[] = {"", "Adopted", "Deprecated"};

static int find_name(const char *const *names, size_t count, struct span text)
{
	for (size_t i = 0; text.data && i < count; i++)
		if (span_is(text, names[i]))
			return (int)i;
	return text.data ? -1 : 0;
}

const char *canary_step_name(enum canary_step step)
{
	return step_names[step];
}

const char *canary_transition_name(enum canary_transition transition)
{
	return transition_names[transition];
}

/* ---- spec ---- */

static struct span text_or_empty(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static int read_share(const struct json *config, uint32_t *ret_share, struct err *err)
{
	const struct json *weight = json_get(config, "weight");
	const struct json *permille = json_get(config, "weightPermille");
	int64_t most = permille ? CANARY_SHARE_ALL : 100, value = 0;

	if (weight && permille)
		return err_set(err, -EINVAL,
			"config: weight and weightPermille exclude each other");
	if ((weight || permille) &&
		(!json_integer(weight ? weight : permille, &value) || value < 0 || value > most))
		return err_set(err, -EINVAL, "config.%s must be an integer from 0 to %lld",
			permille ? "weightPermille" : "weight", (long long)most);
	*ret_share = (uint32_t)(permille ? value : value * (CANARY_SHARE_ALL / 100));
	return 0;
}

static int read_matches(struct arena *arena, const struct json *list, struct canary_port *port,
	struct err *err)
{
	port->match_count = json_array_count(list);
	if (port->match_count > CANARY_MATCHES_MAX)
		return err_set(err, -E2BIG, "config.match has %zu entries (limit %d)",
			port->match_count, CANARY_MATCHES_MAX);
	if (port->match_count > 0 && port->protocol != CANARY_HTTP && port->secret.length == 0)
		return err_set(err, -EINVAL,
			"config.match needs protocol HTTP, or HTTPS with tls.secretName");
	port->matches = arena_allocate_array(arena, port->match_count, sizeof(*port->matches));
	for (size_t i = 0; i < port->match_count; i++) {
		struct span header = json_get_text(json_item(list, i), "header");
		struct span value = json_get_text(json_item(list, i), "value");

		if (header.length == 0 || value.length == 0 || value.length > PROXY_VALUE_TEXT_MAX)
			return err_set(err, -EINVAL,
				"config.match[%zu] needs header, and value of at most %d bytes", i,
				PROXY_VALUE_TEXT_MAX);
		port->matches[i] =
			(struct canary_match){arena_copy(arena, header.data, header.length),
				arena_copy(arena, value.data, value.length)};
	}
	return 0;
}

static int read_options(struct arena *arena, const struct json *config, struct canary_port *port,
	struct err *err)
{
	int64_t responses = json_get_integer(config, "responses", 0);
	bool udp = port->protocol == CANARY_UDP;

	port->proxy_v2 = json_get_bool(config, "proxyProtocol", false);
	port->idle_seconds = json_get_integer(config, "idleTimeoutSeconds", 0);
	port->per_datagram = responses == 1;
	if (responses < 0 || responses > 1)
		return err_set(err, -EINVAL, "config.responses must be 0 or 1");
	if (port->idle_seconds < 0 || port->idle_seconds > PROXY_TIMEOUT_MAX_MS / 1000)
		return err_set(err, -EINVAL,
			"config.idleTimeoutSeconds must be a number from 1 to %d",
			PROXY_TIMEOUT_MAX_MS / 1000);
	if (!udp && (port->per_datagram || port->idle_seconds > 0))
		return err_set(err, -EINVAL,
			"config.responses and config.idleTimeoutSeconds need protocol UDP");
	if (udp && port->proxy_v2)
		return err_set(err, -EINVAL, "config.proxyProtocol is not for protocol UDP");
	return read_matches(arena, json_get(config, "match"), port, err);
}

static int read_tls(const struct json *tls, struct canary_port *port, struct err *err)
{
	port->secret = text_or_empty(tls, "secretName");
	port->reencrypt = json_get_bool(tls, "reencrypt", false);
	if (port->secret.length > 0 && port->protocol != CANARY_HTTPS)
		return err_set(err, -EINVAL, "tls needs protocol HTTPS");
	/* It is the name of a folder, too. */
	if (memchr(port->secret.data, '/', port->secret.length) ||
		span_starts_with(port->secret, SPAN(".")))
		return err_set(err, -EINVAL, "tls.secretName is not the name of a Secret");
	return 0;
}

static int read_port(struct arena *arena, const struct json *object, struct canary_port *ret_port,
	struct err *err)
{
	int protocol = find_name(protocol_names, LENGTH(protocol_names),
		json_get_text(object, "protocol"));
	int code;

	*ret_port = (struct canary_port){.port = json_get_integer(object, "port", 0)};
	if (ret_port->port < 1 || ret_port->port > 65535)
		return err_set(err, -EINVAL, "port must be a number from 1 to 65535");
	if (protocol < 0)
		return err_set(err, -EINVAL, "protocol must be HTTP, HTTPS, TCP or UDP");
	ret_port->protocol = (enum canary_protocol)protocol;
	code = read_tls(json_get(object, "tls"), ret_port, err);
	if (code == 0)
		code = read_share(json_get(object, "config"), &ret_port->share, err);
	return code < 0 ? code : read_options(arena, json_get(object, "config"), ret_port, err);
}

static int read_service(struct arena *arena, const struct json *object,
	struct canary_service *ret_service, struct err *err)
{
	const struct json *ports = json_get(object, "ports");
	int code;

	*ret_service = (struct canary_service){
		.name = json_get_text(object, "service"), .port_count = json_array_count(ports)};
	if (ret_service->name.length == 0)
		return err_set(err, -EINVAL, "service is missing");
	if (ret_service->port_count > CANARY_PORTS_MAX)
		return err_set(err, -E2BIG, "%zu ports (limit %d)", ret_service->port_count,
			CANARY_PORTS_MAX);
	ret_service->ports =
		arena_allocate_array(arena, ret_service->port_count, sizeof(*ret_service->ports));
	for (size_t i = 0; i < ret_service->port_count; i++) {
		code = read_port(arena, json_item(ports, i), &ret_service->ports[i], err);
		if (code < 0)
			return err_prefix(err, code, "ports[%zu]", i);
		for (size_t j = 0; j < i; j++)
			if (ret_service->ports[j].port == ret_service->ports[i].port &&
				ret_service->ports[j].protocol == ret_service->ports[i].protocol)
				return err_set(err, -EINVAL, "ports[%zu]: port %lld is repeated", i,
					(long long)ret_service->ports[i].port);
	}
	return 0;
}

static int read_services(struct arena *arena, const struct json *services, struct canary *canary,
	struct err *err)
{
	canary->service_count = json_array_count(services);
	if (canary->service_count > CANARY_SERVICES_MAX)
		return err_set(err, -E2BIG, "spec.services has %zu entries (limit %d)",
			canary->service_count, CANARY_SERVICES_MAX);
	canary->services =
		arena_allocate_array(arena, canary->service_count, sizeof(*canary->services));
	for (size_t i = 0; i < canary->service_count; i++) {
		int code = read_service(arena, json_item(services, i), &canary->services[i], err);

		if (code < 0)
			return err_prefix(err, code, "spec.services[%zu]", i);
		for (size_t j = 0; j < i; j++)
			if (span_equal(canary->services[j].name, canary->services[i].name))
				return err_set(err, -EINVAL, "spec.services[%zu]: %.*s is repeated",
					i, SPAN_ARGS(canary->services[i].name));
	}
	return 0;
}

static int read_spec(struct arena *arena, const struct json *spec, struct canary *canary,
	struct err *err)
{
	int transition = find_name(transition_names, LENGTH(transition_names),
		json_get_text(spec, "transition"));

	canary->release = text_or_empty(spec, "release");
	canary->version = json_get_integer(spec, "version", 0);
	canary->path = text_or_empty(spec, "path");
	canary->config = text_or_empty(spec, "config");
	canary->resources = json_get(spec, "resources");
	canary->proxy_replicas = json_get_integer(json_get(spec, "proxy"), "replicas", 1);
	canary->drain_seconds = json_get_integer(spec, "drainSeconds", CANARY_DRAIN_SECONDS);
	if (canary->release.length == 0)
		return err_set(err, -EINVAL, "spec.release is missing");
	if (transition < 0)
		return err_set(err, -EINVAL,
			"spec.transition must be \"\", \"Adopted\" or \"Deprecated\"");
	canary->transition = (enum canary_transition)transition;
	if (canary_rollout_read(arena, spec, canary->status, &canary->rollout, err) < 0)
		return -EINVAL;
	return read_services(arena, json_get(spec, "services"), canary, err);
}

static bool is_listed(const struct span *list, size_t count, struct span text)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(list[i], text))
			return true;
	return false;
}

size_t canary_secrets(const struct canary *canary, struct span ret_secrets[CANARY_SECRETS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < canary->service_count; i++)
		for (size_t j = 0; j < canary->services[i].port_count; j++) {
			struct span secret = canary->services[i].ports[j].secret;

			if (secret.length > 0 && count < CANARY_SECRETS_MAX &&
				!is_listed(ret_secrets, count, secret))
				ret_secrets[count++] = secret;
		}
	return count;
}

/* ---- status ---- */

static void read_proxied_ports(struct arena *arena, const struct json *ports,
	struct canary_proxied_service *service)
{
	service->port_count = json_array_count(ports);
	service->ports = arena_allocate_array(arena, service->port_count, sizeof(*service->ports));
	for (size_t i = 0; i < service->port_count; i++) {
		const struct json *port = json_item(ports, i);

		service->ports[i] = (struct canary_proxied_port){
			.port = json_get_integer(port, "port", 0),
			.udp = span_is(json_get_text(port, "transport"), "UDP"),
			.name = text_or_empty(port, "name"),
			.proxy_port = json_get_integer(port, "proxyPort", 0),
			.target_port = json_get(port, "targetPort"),
		};
	}
}

static void read_proxied(struct arena *arena, const struct json *services, struct canary *canary)
{
	canary->proxied_count = json_array_count(services);
	canary->proxied =
		arena_allocate_array(arena, canary->proxied_count, sizeof(*canary->proxied));
	for (size_t i = 0; i < canary->proxied_count; i++) {
		const struct json *service = json_item(services, i);

		canary->proxied[i].name = text_or_empty(service, "service");
		canary->proxied[i].selector = json_get(service, "selector");
		canary->proxied[i].restored_ms = kube_time_ms(json_get(service, "restoredTime"));
		read_proxied_ports(arena, json_get(service, "ports"), &canary->proxied[i]);
	}
}

static void read_status(struct arena *arena, const struct json *status, struct canary *canary)
{
	int step = find_name(step_names, LENGTH(step_names), json_get_text(status, "step"));
	int phase = find_name(transition_names, LENGTH(transition_names),
		json_get_text(status, "phase"));
	const struct json *naming = json_get(status, "naming");

	canary->status = status;
	canary->step = step > 0 ? (enum canary_step)step : CANARY_STEP_NONE;
	canary->step_ms = kube_time_ms(json_get(status, "stepTime"));
	canary->phase = phase > 0 ? (enum canary_transition)phase : CANARY_STAYS;
	canary->manifest = text_or_empty(status, "manifest");
	canary->naming = json_is(naming, JSON_OBJECT) ? naming : NULL;
	canary->planned_generation = json_get_integer(status, "plannedGeneration", 0);
	canary->release_uid = text_or_empty(status, "releaseUid");
	canary->adopted_from = json_get_integer(status, "adoptedFrom", 0);
	canary->proxies = json_get(status, "proxies");
	read_proxied(arena, json_get(status, "services"), canary);
}

int canary_read(struct arena *arena, const struct json *object, struct canary *ret_canary,
	struct err *err)
{
	const struct json *metadata = json_get(object, "metadata");
	int code;

	*ret_canary = (struct canary){
		.namespace = text_or_empty(metadata, "namespace"),
		.name = text_or_empty(metadata, "name"),
		.uid = text_or_empty(metadata, "uid"),
		.resource_version = text_or_empty(metadata, "resourceVersion"),
		.generation = json_get_integer(metadata, "generation", 0),
		.finalizers = json_get(metadata, "finalizers"),
		.deleting = !json_is_absent(json_get(metadata, "deletionTimestamp")),
	};
	JSON_EACH_ITEM (ret_canary->finalizers, item)
		ret_canary->has_finalizer |= span_is(json_text(item), CANARY_FINALIZER);
	read_status(arena, json_get(object, "status"), ret_canary);
	code = read_spec(arena, json_get(object, "spec"), ret_canary, err);
	return code < 0 ? err_prefix(err, code, "CanaryRelease %.*s", SPAN_ARGS(ret_canary->name))
			: 0;
}

struct json *canary_write_proxied(struct arena *arena,
	const struct canary_proxied_service *services, size_t count)
{
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < count; i++) {
		struct json *service = json_new_object(arena), *ports = json_new_array(arena);

		json_set_string(arena, service, "service", services[i].name);
		json_set(arena, service, "selector", services[i].selector);
		if (services[i].restored_ms) {
			char text[CLOCK_ISO_SIZE];

			clock_format_iso(services[i].restored_ms, text);
			json_set_string(arena, service, "restoredTime", span_of(text));
		}
		for (size_t j = 0; j < services[i].port_count; j++) {
			const struct canary_proxied_port *from = &services[i].ports[j];
			struct json *port = json_new_object(arena);

			json_set_integer(arena, port, "port", from->port);
			json_set_string(arena, port, "transport",
				from->udp ? SPAN("UDP") : SPAN("TCP"));
			json_set_string(arena, port, "name", from->name);
			json_set_integer(arena, port, "proxyPort", from->proxy_port);
			json_set(arena, port, "targetPort", from->target_port);
			json_append(arena, ports, port);
		}
		json_set(arena, service, "ports", ports);
		json_append(arena, list, service);
	}
	return list;
}

/* ---- finding ---- */

const struct canary_service *canary_find_service(const struct canary *canary, struct span name)
{
	for (size_t i = 0; i < canary->service_count; i++)
		if (span_equal(canary->services[i].name, name))
			return &canary->services[i];
	return NULL;
}

const struct canary_proxied_service *canary_find_proxied(const struct canary *canary,
	struct span name)
{
	for (size_t i = 0; i < canary->proxied_count; i++)
		if (span_equal(canary->proxied[i].name, name))
			return &canary->proxied[i];
	return NULL;
}

const struct canary_port *canary_find_port(const struct canary_service *service,
	const struct canary_proxied_port *port)
{
	const struct canary_port *found = NULL;

	for (size_t i = 0; service && i < service->port_count; i++) {
		const struct canary_port *each = &service->ports[i];

		if (each->port != port->port)
			continue;
		if (each->protocol == CANARY_DEFAULT)
			found = found ? found : each;
		else if ((each->protocol == CANARY_UDP) == port->udp)
			return each;
	}
	return found;
}

bool canary_divides(const struct canary *canary)
{
	return canary->phase == CANARY_STAYS && !canary_step_adopts(canary->step) &&
	       !canary_step_deprecates(canary->step);
}

uint32_t canary_share(const struct canary *canary, struct span service,
	const struct canary_proxied_port *port)
{
	const struct canary_port *listed;

	if (canary_step_adopts(canary->step) || canary->phase == CANARY_ADOPTED)
		return CANARY_SHARE_ALL;
	if (canary_step_deprecates(canary->step) || canary->phase == CANARY_DEPRECATED)
		return 0;
	listed = canary_find_port(canary_find_service(canary, service), port);
	if (listed && canary->rollout.count > 0 && canary->rollout.share >= 0)
		return (uint32_t)canary->rollout.share;
	return listed ? listed->share : 0;
}

/* ---- names ---- */

struct span canary_proxy_name(struct arena *arena, struct span canary)
{
	return arena_format(arena, "%.*s-proxy", SPAN_ARGS(canary));
}

struct span canary_created_by(struct arena *arena, struct span namespace, struct span name)
{
	struct span whole = arena_format(arena, "%.*s.%.*s", SPAN_ARGS(namespace), SPAN_ARGS(name));

	if (whole.length <= LABEL_MAX)
		return whole;
	/* The end distinguishes them: the name is unique in its namespace. A label begins with a letter or digit. */
	whole.data += whole.length - LABEL_MAX;
	whole.length = LABEL_MAX;
	while (whole.length && strchr("-._", whole.data[0])) {
		whole.data++;
		whole.length--;
	}
	return whole;
}
