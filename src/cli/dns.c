/* slipway dns install|lookup: point this machine at slipway's names, and resolve them. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/dns_lookup.h"
#include "cli/remote.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define LINE_MAX_BYTES 1024
#define UPSTREAMS_MAX 3 /* as many as the C library reads */

/* The settings that a resolver needs. */
struct names {
	struct span address; /* that this machine can ask: not 0.0.0.0 */
	struct span port;
	struct span *zones; /* slipway's own domain first */
	size_t count;
};

static bool split_address(struct span text, struct names *names)
{
	size_t at = text.length;

	while (at > 0 && text.data[at - 1] != ':')
		at--;
	if (at < 2)
		return false;
	names->port = (struct span){text.data + at, text.length - at};
	names->address = (struct span){text.data, at - 1};
	if (names->address.data[0] == '[')
		names->address = (struct span){names->address.data + 1, names->address.length - 2};
	if (span_is(names->address, "0.0.0.0"))
		names->address = SPAN("127.0.0.1");
	if (span_is(names->address, "::"))
		names->address = SPAN("::1");
	return true;
}

static bool is_ipv6(struct span address)
{
	return memchr(address.data, ':', address.length) != NULL;
}

static int ask_server(const struct remote_options *options, struct arena *arena,
	struct names *ret_names)
{
	struct json *answer;
	struct span address;
	struct err err;
	const struct json *zones;

	if (remote_call(options, "GET", "/v1/dns", NULL, arena, &answer, &err) < 0)
		return command_failed("%s", err.message);
	address = json_get_text(answer, "address");
	if (address.length == 0 || !split_address(address, ret_names))
		return command_failed("this server answers no DNS: it was started with --dns off");
	zones = json_get(answer, "zones");
	ret_names->zones =
		arena_allocate(arena, (1 + json_count(zones)) * sizeof(ret_names->zones[0]));
	ret_names->zones[0] = json_get_text(answer, "domain");
	ret_names->count = 1;
	JSON_EACH_ITEM (zones, zone)
		if (!span_equal(zone->text, ret_names->zones[0]))
			ret_names->zones[ret_names->count++] = zone->text;
	return EXIT_OK;
}

/* ---- instructions ---- */

static void print_resolved(const struct names *names)
{
	bool six = is_ipv6(names->address);

	printf("# /etc/systemd/resolved.conf.d/slipway.conf, for systemd 246 and newer. Then:\n"
	       "#   systemctl restart systemd-resolved\n"
	       "# Print it again when a namespace is added. Zones are not signed: where DNSSEC=yes "
	       "is set, they\n"
	       "# fail validation.\n"
	       "[Resolve]\n"
	       "DNS=%s%.*s%s:%.*s\n"
	       "Domains=",
		six ? "[" : "", SPAN_ARGS(names->address), six ? "]" : "", SPAN_ARGS(names->port));
	for (size_t i = 0; i < names->count; i++)
		printf("%s~%.*s", i ? " " : "", SPAN_ARGS(names->zones[i]));
	putchar('\n');
}

static void print_dnsmasq(const struct names *names)
{
	printf("# /etc/dnsmasq.d/slipway.conf. Then:\n"
	       "#   systemctl restart dnsmasq\n"
	       "# Print it again when a namespace is added. rebind-domain-ok matters with "
	       "stop-dns-rebind only.\n");
	for (size_t i = 0; i < names->count; i++)
		printf("server=/%.*s/%.*s#%.*s\nrebind-domain-ok=/%.*s/\n",
			SPAN_ARGS(names->zones[i]), SPAN_ARGS(names->address),
			SPAN_ARGS(names->port), SPAN_ARGS(names->zones[i]));
}

/* The resolvers that this machine uses now, for --dns-forward; "" if none is known. */
static struct span current_resolvers(const struct names *names, struct arena *arena)
{
	FILE *file = fopen(RESOLV_CONF, "re");
	struct span list = SPAN("");
	char line[LINE_MAX_BYTES], address[64];

	for (int found = 0; file && found < UPSTREAMS_MAX && fgets(line, sizeof(line), file);) {
		if (sscanf(line, " nameserver %63s", address) != 1 ||
			span_is(names->address, address))
			continue;
		list = arena_format(arena, "%.*s%s%s", SPAN_ARGS(list), found++ ? "," : "",
			address);
	}
	if (file)
		fclose(file);
	return list;
}

static void print_resolv_conf(const struct names *names, struct arena *arena)
{
	struct span others = current_resolvers(names, arena);
	bool six = is_ipv6(names->address);

	if (others.length == 0)
		others = SPAN("ADDRESS-OF-YOUR-RESOLVER");
	printf("# " RESOLV_CONF "; keep the old one. Every name goes to slipway then, so it must "
	       "forward those that\n"
	       "# are not its own. There are no ports in this file: slipway must listen on port "
	       "53, for which it\n"
	       "# needs root or CAP_NET_BIND_SERVICE. Start it with:\n"
	       "#   slipway up --dns %s%.*s%s:53 --dns-forward %.*s\n",
		six ? "[" : "", SPAN_ARGS(names->address), six ? "]" : "", SPAN_ARGS(others));
	if (!span_is(names->port, "53"))
		printf("# It listens on port %.*s now: this will not work before it was started "
		       "anew.\n",
			SPAN_ARGS(names->port));
	printf("nameserver %.*s\noptions edns0\n", SPAN_ARGS(names->address));
}

static int install(const struct command *command, const struct remote_options *options,
	const bool chosen[3])
{
	_arena_ struct arena *arena = arena_new(0);
	struct names names;
	bool all = !chosen[0] && !chosen[1] && !chosen[2];
	int code;

	if (chosen[0] + chosen[1] + chosen[2] > 1)
		return command_misused(command, "choose one of --systemd-resolved, --dnsmasq and "
						"--resolv-conf, or none to see all");
	code = ask_server(options, arena, &names);
	if (code != EXIT_OK)
		return code;
	if (all)
		printf("slipway answers DNS on %.*s port %.*s. Nothing was changed. These are the "
		       "settings for\neach resolver; one of the three is enough.\n\n"
		       "---- systemd-resolved ----\n",
			SPAN_ARGS(names.address), SPAN_ARGS(names.port));
	if (all || chosen[0])
		print_resolved(&names);
	if (all)
		printf("\n---- dnsmasq ----\n");
	if (all || chosen[1])
		print_dnsmasq(&names);
	if (all)
		printf("\n---- " RESOLV_CONF " ----\n");
	if (all || chosen[2])
		print_resolv_conf(&names, arena);
	return EXIT_OK;
}

static int lookup(const struct command *command, const struct remote_options *options,
	const char *name, const char *type)
{
	_arena_ struct arena *arena = arena_new(0);
	struct names names;
	struct dns_name requested;
	uint16_t number = DNS_TYPE_A;
	uint64_t port = 0;
	struct err err;
	int code;

	if (type && !dns_lookup_type(type, &number))
		return command_misused(command, "'%s' is not a type of records", type);
	if (dns_name_from_text(span_of(name), &requested, &err) < 0)
		return command_misused(command, "%s", err.message);
	code = ask_server(options, arena, &names);
	if (code != EXIT_OK)
		return code;
	span_to_unsigned(names.port, UINT16_MAX, &port);
	code = dns_lookup_print(arena_copy(arena, names.address.data, names.address.length),
		(uint16_t)port, &requested, number, &err);
	return code < 0 ? command_failed("%s", err.message) : EXIT_OK;
}

int dns_run(const struct command *command, int count, char **arguments)
{
	struct remote_options options = {0};
	bool chosen[3] = {false};
	const struct option_row rows[] = {{"server", &options.server, NULL},
		{"state", &options.state, NULL}, {"ca", &options.authorities, NULL},
		{"systemd-resolved", NULL, &chosen[0]}, {"dnsmasq", NULL, &chosen[1]},
		{"resolv-conf", NULL, &chosen[2]}};
	struct positionals words;
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &words);

	if (code != 0)
		return code;
	if (words.count == 1 && strcmp(words.items[0], "install") == 0)
		return install(command, &options, chosen);
	if (chosen[0] || chosen[1] || chosen[2])
		return command_misused(command, "--systemd-resolved, --dnsmasq and --resolv-conf "
						"are for install");
	if (words.count >= 2 && words.count <= 3 && strcmp(words.items[0], "lookup") == 0)
		return lookup(command, &options, words.items[1],
			words.count == 3 ? words.items[2] : NULL);
	return command_misused(command, "say install or lookup NAME [TYPE]");
}
