/*
 * Sections of the configuration: the request handling of a listener, and the servers of a group.
 * Every statement costs each request some time, so features that only a few listeners or groups
 * need are written for those only; enabling one takes another process.
 */
#include <stdio.h>

#include "proxy/haproxy/rule.h"
#include "proxy/haproxy/supervisor.h"

#define PART_FOR_OTHERS 4 /* of connections: a fourth stays free */

/* ---- choosing a group: rows.c has the format of the rows ---- */

/* 1: "http-request" or "tcp-request content"; 2: a condition before all others. */
static const char draw_text[] =
	"	acl one var(txn.row) -m beg 1:\n"
	"	acl two var(txn.row) -m beg 2:\n"
	"	acl more var(txn.row) -m beg 3:\n"
	"	%1$s set-var(txn.backend) var(txn.row),field(3,:) if one%2$s\n"
	"	%1$s track-sc0 var(txn.action) table counters if two%2$s or more%2$s\n"
	"	%1$s set-var(txn.weight) var(txn.row),field(3,:),add(0) if two%2$s\n"
	"	%1$s set-var(txn.sum) var(txn.row),field(4,:),add(0) if two%2$s\n"
	"	%1$s set-var(txn.shift) var(txn.row),field(5,:),add(0) if two%2$s\n"
	"	%1$s set-var(txn.place) %3$s,mul(txn.weight),add(txn.shift),mod(txn.sum),"
	"add(txn.weight),sub(txn.sum) if two%2$s\n"
	"	%1$s set-var(txn.backend) var(txn.row),field(6,:) if two%2$s "
	"{ var(txn.place) -m int ge 0 }\n"
	"	%1$s set-var(txn.backend) var(txn.row),field(7,:) if two !chosen\n"
	"	%1$s set-var(txn.number) %3$s if more%2$s\n"
	"	%1$s lua.draw if more%2$s\n";
#define BY_NUMBER "sc0_inc_gpc0(counters)"
#define BY_SOURCE "src,crc32(1)"

static const char next_group_text[] =
	"	acl first_empty var(txn.row),field(6,:),nbsrv -m int eq 0\n"
	"	acl second_empty var(txn.row),field(7,:),nbsrv -m int eq 0\n"
	"	%1$s set-var(txn.backend) var(txn.row),field(7,:) if two first_empty "
	"!second_empty\n"
	"	%1$s set-var(txn.backend) var(txn.row),field(6,:) if two second_empty "
	"!first_empty\n";

static const char count_text[] =
	"	%1$s track-sc1 var(txn.action),concat(/,txn.backend) table routes\n";

static void add_draw(const char *request, const char *unless, const struct proxy_options *options,
	struct buffer *out)
{
	buffer_format(out, draw_text, request, unless,
		options->sticky_source ? BY_SOURCE : BY_NUMBER);
	if (options->retry_next_group)
		buffer_format(out, next_group_text, request);
}

/* ---- stickiness: TOKEN.UNTIL in cookies ---- */

/* Before the draw, which is skipped then. */
static const char keep_group_text[] =
	"	acl keeps var(txn.keep) -m int gt 0\n"
	"	http-request set-var(txn.keep) var(txn.row),field(2,:),add(0)\n"
	"	http-request set-var(txn.now) date() if keeps\n"
	"	http-request set-var(txn.held) req.cook(AWSALBTG) if keeps\n"
	"	http-request set-var(txn.left) var(txn.held),field(2,.),sub(txn.now) if keeps "
	"{ var(txn.held) -m found }\n"
	"	http-request set-var-fmt(txn.member) "
	"\"%[var(txn.action)]/%[var(txn.held),field(1,.)]\" if keeps { var(txn.left) -m int gt 0 "
	"}\n"
	"	http-request set-var(txn.backend) var(txn.member),map_str(members.map) if keeps "
	"{ var(txn.member) -m found }\n"
	"	http-request set-var(txn.kept) bool(true) if chosen\n"
	"	acl kept var(txn.kept) -m bool\n"
	"	http-response set-var(txn.until) date(),add(txn.keep) if keeps !kept\n"
	"	http-response add-header Set-Cookie "
	"\"AWSALBTG=%[var(txn.backend),map_str(groups.map)].%[var(txn.until)]; "
	"Expires=%[var(txn.until),http_date]; Path=/\" if keeps !kept\n";

/* Of a backend. */
static const char keep_target_text[] =
	"	acl sticky var(txn.sticky) -m found\n"
	"	acl by_cookie var(txn.sticky) -m beg c\n"
	"	acl by_application var(txn.sticky) -m beg a\n"
	"	http-request set-var(txn.sticky) var(txn.backend),map_str(sticky.map)\n"
	"	http-request set-var(txn.token) req.cook(AWSALB) if by_cookie\n"
	"	http-request set-var-fmt(txn.asks) \"q:%[var(txn.backend)]\\n%[req.fhdr(cookie)]\" "
	"if by_application\n"
	"	http-request set-var(txn.token) req.cook(AWSALBAPP-0) if by_application "
	"{ var(txn.asks),map_reg(application.map) -m found }\n"
	"	http-request set-var(txn.now) date()\n"
	"	http-request set-var(txn.rest) var(txn.token),field(2,.),sub(txn.now) if sticky "
	"{ var(txn.token) -m found }\n"
	"	http-request set-var-fmt(txn.target) "
	"\"%[var(txn.backend)]/%[var(txn.token),field(1,.)]\" if { var(txn.rest) -m int gt 0 }\n"
	"	http-request set-var(txn.server) var(txn.target),map_str(targets.map) if "
	"{ var(txn.target) -m found }\n"
	"	use-server %[var(txn.server)] if { var(txn.server) -m found }\n"
	"	http-response set-var(txn.seconds) var(txn.sticky),field(2,:) if sticky\n"
	"	http-response set-var(txn.until) date(),add(txn.seconds) if sticky\n"
	"	http-response set-var-fmt(txn.target) \"%[var(txn.backend)]/%[srv_name]\" if "
	"sticky\n"
	"	http-response set-var-fmt(txn.says) \"r:%[var(txn.backend)]\\n%[res.hdrs]\" "
	"if by_application\n"
	"	http-response add-header Set-Cookie "
	"\"AWSALB=%[var(txn.target),map_str(tokens.map)].%[var(txn.until)]; "
	"Expires=%[var(txn.until),http_date]; Path=/\" if by_cookie\n"
	"	http-response add-header Set-Cookie "
	"\"AWSALBAPP-0=%[var(txn.target),map_str(tokens.map)].%[var(txn.until)]; "
	"Expires=%[var(txn.until),http_date]; Path=/\" if by_application "
	"{ var(txn.says),map_reg(application.map) -m found }\n";

/* ---- listeners ---- */

/* OpenSSL has versions below 1.2 at security level 0 only, because they sign with SHA-1. */
static void add_tls(const struct front *front, const struct proxy_tls *tls, struct buffer *out)
{
	bool chosen = tls->max > 0;

	buffer_format(out, " ssl crt-list l%u.list ssl-min-ver TLSv1.%d ssl-max-ver TLSv1.%d",
		front->number, chosen ? tls->min : 2, chosen ? tls->max : 3);
	if (chosen && tls->ciphers)
		buffer_format(out, " ciphers %s%s", tls->ciphers,
			tls->min < 2 ? ":@SECLEVEL=0" : "");
}

static void add_bind(const struct front *front, const struct proxy_http *http, struct buffer *out)
{
	buffer_format(out, "\tbind fd@%d", front->descriptor);
	if (front->protocol != PROXY_HTTP)
		add_tls(front, &http->tls, out);
	if (front->protocol == PROXY_HTTPS)
		buffer_add_string(out, http->no_http2 ? " alpn http/1.1" : " alpn h2,http/1.1");
	buffer_add_char(out, '\n');
}

static void add_forwarded(const struct front *front, const struct proxy_http *http,
	struct buffer *out)
{
	const char *client = http->forwarded_port ? "%[src]:%[src_port]" : "%[src]";

	if (http->forwarded == PROXY_FORWARDED_APPEND)
		buffer_format(out,
			"\tacl forwarded_once req.fhdr_cnt(x-forwarded-for) eq 1\n"
			"\thttp-request set-header X-Forwarded-For "
			"\"%%[req.fhdr(x-forwarded-for)], %s\" if forwarded_once\n"
			"\thttp-request add-header X-Forwarded-For \"%s\" "
			"unless forwarded_once\n",
			client, client);
	if (http->forwarded == PROXY_FORWARDED_REMOVE)
		buffer_add_string(out, "\thttp-request del-header X-Forwarded-For\n");
	buffer_format(out,
		"\thttp-request set-header X-Forwarded-Proto %s\n"
		"\thttp-request set-header X-Forwarded-Port %u\n",
		front->protocol == PROXY_HTTPS ? "https" : "http",
		proxy_address_port(&front->bound));
	if (http->drop_invalid_headers)
		buffer_add_string(out, "\thttp-request del-header '[^-A-Za-z0-9]' -m reg\n");
	if (http->rewrite_host &&
		proxy_address_port(&front->bound) != (front->protocol == PROXY_HTTPS ? 443 : 80))
		buffer_format(out,
			"\thttp-request set-header Host %%[req.hdr(host)]:%u "
			"unless { req.hdr(host) -m reg :[0-9]*$ }\n",
			proxy_address_port(&front->bound));
}

static void add_http(struct haproxy *haproxy, const struct front *front,
	const struct proxy_listener *wanted, uint32_t idle_ms, struct buffer *out)
{
	const char *request = "http-request";

	buffer_format(out,
		"\tmode http\n"
		"\toption idle-close-on-response\n"
		"\toption h1-case-adjust-bogus-client\n"
		"\ttimeout client %ums\n"
		"\ttimeout http-keep-alive %ums\n"
		"\ttimeout http-request %ums\n",
		idle_ms, idle_ms, haproxy->request_timeout_ms);
	/* HTTP/1.0 has no Transfer-Encoding: such a request tries to smuggle a second one. */
	buffer_add_string(out, "\thttp-request deny deny_status 400 if HTTP_1.0 "
			       "{ req.fhdr(transfer-encoding) -m found }\n");
	buffer_format(out,
		"\thttp-request set-var(txn.action) str(l%u),map_str(listeners.map)\n"
		"\thttp-request set-var-fmt(txn.subject) \"%s\" if { var(txn.action) -m str * }\n"
		"\thttp-request set-var-fmt(txn.subject) \"%s\" if { var(txn.action) -m str + }\n"
		"\thttp-request set-var(txn.action) var(txn.subject),map_reg(l%u.map) "
		"if { var(txn.subject) -m found }\n"
		"\thttp-request set-var(txn.row) var(txn.action),map_str(actions.map)\n"
		"\thttp-request lua.answer if { var(txn.row) -m beg 4: }\n",
		front->number, RULE_SUBJECT, RULE_SUBJECT_WITH_FIELDS, front->number);
	if (front->keeps_groups)
		buffer_add_string(out, keep_group_text);
	add_draw(request, front->keeps_groups ? " !chosen" : "", &wanted->options, out);
	buffer_add_string(out, "\thttp-request deny deny_status 503 if !chosen\n");
	buffer_format(out, count_text, request);
	add_forwarded(front, &wanted->http, out);
}

/* The client timeout covers the handshake only: carried connections have the backend's "timeout
 * tunnel". HTTP has no such setting, so handshakes have the idle timeout; HAProxy 2.6 has no
 * timeout of their own for them. */
static void add_tcp(struct haproxy *haproxy, const struct front *front,
	const struct proxy_listener *wanted, uint32_t idle_ms, struct buffer *out)
{
	const char *request = "tcp-request content";
	uint32_t handshake_ms =
		idle_ms < haproxy->request_timeout_ms ? idle_ms : haproxy->request_timeout_ms;

	buffer_format(out,
		"\tmode tcp\n"
		"\ttimeout client %ums\n"
		"\ttcp-request content set-var(txn.action) str(l%u),map_str(listeners.map)\n"
		"\ttcp-request content set-var(txn.row) var(txn.action),map_str(actions.map)\n",
		handshake_ms, front->number);
	add_draw(request, "", &wanted->options, out);
	buffer_add_string(out, "\ttcp-request content reject if !chosen\n");
	buffer_format(out, count_text, request);
}

/* No listener may use all connections of the process: a flood of one leaves some for the others. */
static uint32_t most_connections(const struct haproxy *haproxy, const struct proxy_options *options)
{
	uint32_t most = haproxy->max_connections - haproxy->max_connections / PART_FOR_OTHERS;

	return options->max_connections && options->max_connections < most
		       ? options->max_connections
		       : most;
}

void section_add_front(struct haproxy *haproxy, const struct front *front,
	const struct proxy_listener *wanted, struct buffer *out)
{
	uint32_t idle_ms = front->shape.idle_ms;

	buffer_format(out, "frontend l%u\n\tacl chosen var(txn.backend) -m found\n", front->number);
	add_bind(front, &wanted->http, out);
	buffer_format(out, "\tmaxconn %u\n", most_connections(haproxy, &wanted->options));
	if (front->protocol == PROXY_TLS_END)
		add_tcp(haproxy, front, wanted, idle_ms, out);
	else
		add_http(haproxy, front, wanted, idle_ms, out);
	buffer_add_string(out, "\tuse_backend %[var(txn.backend)]\n");
}

/* ---- backends ---- */

void section_add_server(const struct slot *slot, struct buffer *out)
{
	char address[PROXY_ADDRESS_TEXT_SIZE];

	proxy_address_format(&slot->address, address);
	buffer_format(out, "%s pool-max-conn -1 pool-purge-delay 5s", address);
	if (slot->tls)
		buffer_add_string(out, " ssl verify none");
	if (slot->http2)
		buffer_add_string(out, " proto h2");
	if (slot->proxy_v2)
		buffer_add_string(out, " send-proxy-v2");
}

void section_add_backend(struct haproxy *haproxy, const struct backend *backend, struct buffer *out)
{
	static const char *const balances[] = {
		[PROXY_ROUND_ROBIN] = "roundrobin",
		[PROXY_LEAST_REQUESTS] = "leastconn",
		[PROXY_RANDOM] = "random",
	};
	const struct shape *shape = &backend->shape;

	buffer_format(out, "backend b%u\n\tmode %s\n\tbalance %s\n", backend->number,
		shape->tcp ? "tcp" : "http",
		shape->by_source ? "source" : balances[shape->balance]);
	buffer_format(out,
		"\ttimeout connect %ums\n"
		"\tretries %u\n"
		"\ttimeout server %ums\n"
		"\ttimeout tunnel %ums\n",
		shape->connect_timeout_ms, shape->retries, shape->idle_ms, shape->idle_ms);
	if (!shape->tcp)
		buffer_add_string(out, "\toption h1-case-adjust-bogus-server\n");
	if (shape->keeps_targets)
		buffer_add_string(out, keep_target_text);
	for (size_t i = 0; i < backend->target_count; i++) {
		const struct slot *slot = &backend->slots[i];

		buffer_format(out, "\tserver s%u ", slot->number);
		section_add_server(slot, out);
		buffer_format(out, " weight %u%s\n", slot_weight(haproxy, backend, slot),
			slot_is_ready(slot) ? "" : " disabled");
	}
}
