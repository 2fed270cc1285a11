/*
 * For tests and benchmarks: serves the zone example.test of io/test_dns_zone.h by slipway's DNS server
 * until standard input ends.
 *
 *     serve-zone [--address ADDRESS] [--threads N] [--udp-max BYTES] [--idle-ms N] [--rate N]
 *                [--limit-loopback] [--upstream ADDRESS:PORT]…
 *
 * Prints "port N" when it serves.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/dns_server.h"
#include "io/test_dns_zone.h"

static const struct option options[] = {
	{"address", required_argument, NULL, 'a'},
	{"threads", required_argument, NULL, 't'},
	{"udp-max", required_argument, NULL, 'u'},
	{"idle-ms", required_argument, NULL, 'i'},
	{"rate", required_argument, NULL, 'r'},
	{"limit-loopback", no_argument, NULL, 'l'},
	{"upstream", required_argument, NULL, 'f'},
	{NULL, 0, NULL, 0},
};

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	const char *upstreams[DNS_UPSTREAMS_MAX + 1];
	struct test_zone zone;
	struct dns_server_config config = {
		.lookup = test_zone_lookup, .context = &zone, .upstreams = upstreams};
	struct dns_server *server;
	struct err err;
	char ignored[16];
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'a': config.address = optarg; break;
		case 't': config.threads = number(optarg); break;
		case 'u': config.limits.udp_max = (uint16_t)number(optarg); break;
		case 'i': config.limits.idle_ms = number(optarg); break;
		case 'r': config.limits.rate = number(optarg); break;
		case 'l': config.limit_loopback = true; break;
		case 'f':
			if (config.upstream_count <= DNS_UPSTREAMS_MAX)
				upstreams[config.upstream_count++] = optarg;
			break;
		default: return 2;
		}
	}
	test_zone_open(&zone);
	if (dns_server_open(&config, &server, &err) < 0) {
		fprintf(stderr, "serve-zone: %s\n", err.message);
		test_zone_close(&zone);
		return 1;
	}
	printf("port %u\n", dns_server_port(server));
	fflush(stdout);
	while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0)
		;
	dns_server_close(server);
	test_zone_close(&zone);
	return 0;
}
