/* Names of the server, and headers of browsers; see request_origin.h. */
#include "server/request_origin.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "server/config.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443

/* A host with its port, as Host has it and an origin behind its scheme. */
struct authority {
	struct span name; /* without the brackets of an IPv6 address */
	bool is_address;
	uint64_t port; /* 0: not given */
};

static bool is_address(struct span name, bool in_brackets)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr four;
	struct in6_addr six;

	for (size_t i = 0; in_brackets && i < name.length; i++)
		if (name.data[i] == '%') /* the interface of a link-local address */
			name.length = i;
	if (name.length >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(name));
	return in_brackets ? inet_pton(AF_INET6, text, &six) == 1
			   : inet_pton(AF_INET, text, &four) == 1;
}

static bool read_authority(struct span text, struct authority *ret_authority)
{
	struct authority authority = {.name = text};
	struct span port = SPAN_NONE;
	bool in_brackets = text.length > 0 && text.data[0] == '[';
	const char *end;

	if (in_brackets) {
		end = memchr(text.data, ']', text.length);
		if (!end)
			return false;
		authority.name = (struct span){text.data + 1, (size_t)(end - text.data) - 1};
		end++;
	} else {
		end = text.length > 0 ? memchr(text.data, ':', text.length) : NULL;
		if (!end)
			end = text.data + text.length;
		authority.name = (struct span){text.data, (size_t)(end - text.data)};
	}
	if (end < text.data + text.length) {
		if (*end != ':')
			return false;
		port = (struct span){end + 1, (size_t)(text.data + text.length - end) - 1};
	}
	if (port.length > 0 && !span_to_unsigned(port, UINT16_MAX, &authority.port))
		return false;
	if (!in_brackets && authority.name.length > 0 &&
		authority.name.data[authority.name.length - 1] == '.')
		authority.name.length--; /* a name may be written with the root's dot */
	authority.is_address = is_address(authority.name, in_brackets);
	if (authority.name.length == 0 || (in_brackets && !authority.is_address))
		return false;
	*ret_authority = authority;
	return true;
}

static bool is_below(struct span name, struct span domain)
{
	struct span end;

	if (name.length <= domain.length + 1)
		return false;
	end = (struct span){name.data + name.length - domain.length, domain.length};
	return end.data[-1] == '.' && span_equal_ignoring_case(end, domain);
}

static bool name_matches(struct span pattern, struct span name)
{
	if (span_is(pattern, "*"))
		return true;
	if (span_starts_with(pattern, SPAN("*.")))
		return is_below(name, (struct span){pattern.data + 2, pattern.length - 2});
	return span_equal_ignoring_case(pattern, name);
}

static bool is_own_name(const struct request_origin_rules *rules, struct span name)
{
	const struct span own[] = {SPAN("localhost"), rules->domain, span_of(rules->listen_name),
		span_of(rules->machine_name)};

	for (size_t i = 0; i < LENGTH(own); i++)
		if (own[i].length > 0 && span_equal_ignoring_case(name, own[i]))
			return true;
	if (is_below(name, SPAN("localhost")) || is_below(name, rules->domain))
		return true;
	for (size_t i = 0; i < rules->name_count; i++)
		if (name_matches(rules->names[i], name))
			return true;
	return false;
}

/* ---- configuration ---- */

static bool is_name(struct span text)
{
	if (span_is(text, "*"))
		return true;
	if (span_starts_with(text, SPAN("*.")))
		text = (struct span){text.data + 2, text.length - 2};
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_' || c == '.'))
			return false;
	}
	return text.length > 0;
}

/* "https://console.example.com:8443" taken apart. */
static bool read_origin(struct span text, struct authority *ret_authority, uint64_t *ret_port)
{
	struct span scheme, rest;
	uint64_t port;

	if (!span_split(text, ':', &scheme, &rest) || !span_starts_with(rest, SPAN("//")))
		return false;
	if (span_equal_ignoring_case(scheme, SPAN("http")))
		port = HTTP_PORT;
	else if (span_equal_ignoring_case(scheme, SPAN("https")))
		port = HTTPS_PORT;
	else
		return false;
	if (!read_authority((struct span){rest.data + 2, rest.length - 2}, ret_authority))
		return false;
	*ret_port = port;
	return true;
}

static bool is_origin(struct span text)
{
	struct authority authority;
	uint64_t port;

	return read_origin(text, &authority, &port);
}

static int read_list(const char *key, const char *text, bool (*is_valid)(struct span),
	struct span *list, size_t *count, struct err *err)
{
	struct span rest = span_of(text), part;

	while (rest.data && span_next_part(&rest, ',', &part)) {
		part = span_trim(part);
		if (!is_valid(part))
			return err_set(err, -EINVAL, "%s: '%.*s' is not valid", key,
				SPAN_ARGS(part));
		if (*count == REQUEST_ORIGIN_LIST_MAX)
			return err_set(err, -EINVAL, "%s: at most %d", key,
				REQUEST_ORIGIN_LIST_MAX);
		list[(*count)++] = part;
	}
	return 0;
}

int request_origin_read(const struct server_config *config, struct request_origin_rules *ret_rules,
	struct err *err)
{
	struct request_origin_rules rules = {.domain = span_of(config->dns_domain)};
	struct authority listen;
	int code = read_list("http.hosts", config->http_hosts, is_name, rules.names,
		&rules.name_count, err);

	if (code == 0)
		code = read_list("http.origins", config->http_origins, is_origin, rules.origins,
			&rules.origin_count, err);
	if (code < 0)
		return code;
	if (read_authority(span_of(config->listen), &listen) && !listen.is_address &&
		listen.name.length < sizeof(rules.listen_name))
		snprintf(rules.listen_name, sizeof(rules.listen_name), "%.*s",
			SPAN_ARGS(listen.name));
	if (gethostname(rules.machine_name, sizeof(rules.machine_name) - 1) < 0)
		rules.machine_name[0] = '\0';
	*ret_rules = rules;
	return 0;
}

/* ---- requests ---- */

const char *request_origin_check_host(const struct request_origin_rules *rules,
	const struct http_request *request)
{
	struct authority host;

	if (!request->host.data) /* HTTP/1.0, which browsers do not speak */
		return NULL;
	if (read_authority(request->host, &host) &&
		(host.is_address || is_own_name(rules, host.name)))
		return NULL;
	return "this server is not called by this Host; its names are listed in http.hosts";
}

static bool is_same_origin(const struct http_request *request, struct span origin)
{
	struct authority page, host;
	uint64_t default_port;

	if (!request->host.data || !read_origin(origin, &page, &default_port) ||
		!read_authority(request->host, &host))
		return false;
	return span_equal_ignoring_case(page.name, host.name) &&
	       (page.port ? page.port : default_port) == (host.port ? host.port : default_port);
}

static bool is_listed(const struct request_origin_rules *rules, struct span origin)
{
	for (size_t i = 0; i < rules->origin_count; i++)
		if (span_equal_ignoring_case(rules->origins[i], origin))
			return true;
	return false;
}

const char *request_origin_check_page(const struct request_origin_rules *rules,
	const struct http_request *request)
{
	bool listed = false, foreign = false;

	for (size_t i = 0; i < request->header_count; i++) {
		const struct http_header *header = &request->headers[i];

		if (span_is(header->name, "origin")) {
			if (is_listed(rules, header->value))
				listed = true;
			else if (!is_same_origin(request, header->value))
				return "requests of web pages of another origin are not allowed; "
				       "see http.origins";
		} else if (span_is(header->name, "sec-fetch-site")) {
			foreign |= !span_is(header->value, "same-origin") &&
				   !span_is(header->value, "none");
		}
	}
	return foreign && !listed ? "requests of web pages of another site are not allowed; see "
				    "http.origins"
				  : NULL;
}
