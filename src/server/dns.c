/*
 * Names: the zone over the store, and the DNS server that answers from it. It opens last, when it is known
 * where the API listens, and closes first.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "cloudmap/cloudmap.h"
#include "elb/names.h"
#include "runtime/docker/docker.h"
#include "server/components.h"

#define RESOLV_CONF_MAX ((size_t)64 * 1024)

static bool is_any(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* An address as every resolver writes it; text in the arena. */
static const char *address_text(const struct sockaddr *address, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			sizeof(text));
	else
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
			sizeof(text));
	return arena_copy_string(arena, text);
}

/* The first non-loopback address of this machine: remote clients cannot use loopback. */
static const char *machine_address(struct arena *arena)
{
	struct ifaddrs *list = NULL;
	const char *found = "127.0.0.1";

	if (getifaddrs(&list) < 0)
		return found;
	for (struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
		if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET ||
			entry->ifa_flags & IFF_LOOPBACK || !(entry->ifa_flags & IFF_UP))
			continue;
		found = address_text(entry->ifa_addr, arena);
		break;
	}
	freeifaddrs(list);
	return found;
}

/* The address under which clients find what listens on this one. */
static const char *reachable_address(const char *address, struct arena *arena)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	const char *text = address;

	if (strcmp(address, "localhost") == 0)
		return "127.0.0.1";
	if (is_any(address))
		return machine_address(arena);
	/* There are other spellings ("127.1", "fe80::1%eth0") than the one for names. */
	if (getaddrinfo(address, NULL, &hints, &found) == 0)
		text = address_text(found->ai_addr, arena);
	if (found)
		freeaddrinfo(found);
	return text;
}

/* One more than there may be: too many are the DNS server's to refuse. */
static size_t split_upstreams(const char *text, struct arena *arena,
	const char *upstreams[DNS_UPSTREAMS_MAX + 1])
{
	struct span rest = span_of(text), item;
	size_t count = 0;

	while (text && count <= DNS_UPSTREAMS_MAX) {
		bool more = span_split(rest, ',', &item, &rest);

		item = span_trim(more ? item : rest);
		upstreams[count++] = arena_copy(arena, item.data, item.length);
		if (!more)
			break;
	}
	return count;
}

/* The name servers of this machine: containers of Docker ask slipway for every name. */
static size_t list_name_servers(struct arena *arena, const char *servers[DNS_UPSTREAMS_MAX + 1])
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(RESOLV_CONF_MAX);
	struct span rest, line, word;
	size_t count = 0;

	if (file_read("/etc/resolv.conf", RESOLV_CONF_MAX, &text, NULL) < 0)
		return 0;
	rest = arena_copy_span(arena, buffer_span(&text));
	for (bool more = true; more && count < DNS_UPSTREAMS_MAX;) {
		more = span_split(rest, '\n', &line, &rest);
		line = span_trim(more ? line : rest);
		if (!span_split(line, ' ', &word, &line) || !span_is(word, "nameserver"))
			continue;
		line = span_trim(line);
		servers[count++] = arena_format(arena,
			memchr(line.data, ':', line.length) ? "[%.*s]" : "%.*s", SPAN_ARGS(line))
					   .data;
	}
	return count;
}

/* Docker's containers can name only a port 53, which the bridge's address has free most of the time. */
static int open_container_dns(struct server *server, const struct dns_server_config *main_server,
	struct arena *arena, struct err *err)
{
	struct dns_server_config dns = *main_server;
	const char *servers[DNS_UPSTREAMS_MAX + 1], *reason = "";
	int code;

	if (!server->runtime || strcmp(server->config->runtime, "docker") != 0)
		return 0;
	dns.address = runtime_docker_dns_address(server->runtime, &reason);
	if (!dns.address) {
		log_write(server->log, LOG_WARNING, "containers do not resolve names of Cloud Map",
			"error", reason, NULL);
		return 0;
	}
	if (dns_server_port(server->dns) == DNS_PORT && is_any(main_server->address))
		return 0; /* it listens there already */
	dns.port = DNS_PORT;
	if (dns.upstream_count == 0) {
		dns.upstreams = servers;
		dns.upstream_count = list_name_servers(arena, servers);
	}
	code = dns_server_open(&dns, &server->container_dns, err);
	return code < 0 ? err_prefix(err, code, "DNS for containers") : 0;
}

int dns_open(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	_arena_ struct arena *arena = arena_new(0);
	const char *upstreams[DNS_UPSTREAMS_MAX + 1], *api, *address;
	struct dns_server_config dns = {.threads = (unsigned)config->dns_threads,
		.lookup = zone_lookup,
		.upstreams = upstreams};
	struct zone_config zone = {.store = server->store,
		.runner = server->runner,
		.domain = span_of(config->dns_domain),
		.names = elb_names,
		.names_context = &server->elb};
	uint16_t port;
	int code;

	if (!config->dns_listen)
		return 0;
	code = server_config_split_listen(config->listen, arena, &api, &port, err);
	if (code == 0)
		code = server_config_split_address("dns.listen", config->dns_listen, arena,
			&address, &dns.port, err);
	if (code < 0)
		return code;
	zone.api_address = span_of(reachable_address(api, arena));
	zone.dns_address = span_of(reachable_address(address, arena));
	code = zone_open(&zone, &server->zone, err);
	if (code < 0)
		return code;
	dns.address = strcmp(address, "localhost") == 0 ? "127.0.0.1" : address;
	dns.context = server->zone;
	dns.upstream_count = split_upstreams(config->dns_forward, arena, upstreams);
	if (dns.threads == 0)
		dns.threads = get_nprocs() > 3 ? (unsigned)get_nprocs() / 2 : 1;
	code = dns_server_open(&dns, &server->dns, err);
	if (code == -EADDRINUSE || code == -EACCES || code == -EADDRNOTAVAIL)
		return err_set(err, code,
			"%s; choose another address with --dns ADDR:PORT (dns.listen), or --dns "
			"off",
			arena_copy_string(arena, err->message));
	if (code < 0)
		return err_prefix(err, code, "DNS");
	server->dns_address = memory_format(strchr(dns.address, ':') ? "[%s]:%u" : "%s:%u",
		dns.address, dns_server_port(server->dns));
	return open_container_dns(server, &dns, arena, err);
}

void dns_close(struct server *server)
{
	dns_server_close(TAKE(server->container_dns));
	dns_server_close(TAKE(server->dns));
	zone_close(TAKE(server->zone));
	free(TAKE(server->dns_address));
}

/* ---- DescribeDns ---- */

/* Names of zones, each once even if several accounts or regions have it. Only callers that may do
 * everything get those of other accounts. */
static struct json *list_zones(struct aws_request *request)
{
	const struct server *server = request->context;
	const struct aws_caller *caller = request->caller;
	struct arena *arena = request->arena;
	bool all = !caller->policy && span_is(caller->account, server->config->account);
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_namespace_kind,
		.index = CLOUDMAP_NAMESPACE_BY_ZONE};
	struct json *zones = json_new_array(arena);
	struct span last = SPAN(""),
		    scope = arena_format(arena, "%.*s/", SPAN_ARGS(caller->account));
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (span_equal(cursor.text, last) ||
			(!all && !span_starts_with(object->key, scope)))
			continue;
		last = cursor.text;
		json_append(arena, zones, json_new_string(arena, arena_copy_span(arena, last)));
	}
	return zones;
}

static void name_dns(struct aws_request *request, struct aws_resources *resources)
{
	resources->arns[resources->count++] =
		arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:dns",
			SPAN_ARGS(request->caller->region), SPAN_ARGS(request->caller->account));
}

static int describe(struct aws_request *request)
{
	const struct server *server = request->context;
	struct json *answer = json_new_object(request->arena);

	if (server->dns_address)
		json_set_string(request->arena, answer, "address", span_of(server->dns_address));
	json_set_string(request->arena, answer, "domain", span_of(server->config->dns_domain));
	json_set(request->arena, answer, "zones", list_zones(request));
	json_write(answer, request->out);
	return 0;
}

void dns_register(struct server *server)
{
	static const struct aws_operation operation = {
		.name = "DescribeDns", .mode = AWS_READ, .run = describe, .resources = name_dns};

	rest_add_operations(server, &operation, 1, server);
}
