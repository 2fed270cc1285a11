/* Formats of strings, asserted by the drafts up to 7. */
#include <arpa/inet.h>

#include "base/memory.h"
#include "base/yaml_scalar.h"
#include "chart/schema_parts.h"

#define ADDRESS_MAX 64

static bool is_address(struct span text, int family)
{
	unsigned char address[sizeof(struct in6_addr)];
	char copy[ADDRESS_MAX];

	if (text.length >= sizeof(copy) || memchr(text.data, '\0', text.length))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	return inet_pton(family, copy, address) == 1;
}

static bool is_ipv4(struct span text)
{
	return is_address(text, AF_INET);
}

static bool is_ipv6(struct span text)
{
	return is_address(text, AF_INET6);
}

static bool is_letter_or_digit(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_hostname(struct span text)
{
	struct span label;

	if (span_ends_with(text, SPAN(".")))
		text.length--;
	if (text.length == 0 || text.length > 253)
		return false;
	while (span_next_part(&text, '.', &label)) {
		if (label.length == 0 || label.length > 63 || label.data[0] == '-' ||
			label.data[label.length - 1] == '-')
			return false;
		for (size_t i = 0; i < label.length; i++) {
			if (!is_letter_or_digit(label.data[i]) && label.data[i] != '-')
				return false;
		}
	}
	return true;
}

static bool is_email(struct span text)
{
	const char *at = text.length > 0 ? memrchr(text.data, '@', text.length) : NULL;
	struct span local, domain;

	if (!at)
		return false;
	local = (struct span){text.data, (size_t)(at - text.data)};
	domain = (struct span){at + 1, text.length - local.length - 1};
	if (local.length == 0 || local.length > 64 || local.data[0] == '.' ||
		local.data[local.length - 1] == '.')
		return false;
	for (size_t i = 0; i < local.length; i++) {
		if (!is_letter_or_digit(local.data[i]) &&
			(local.data[i] == '\0' || !strchr(".!#$%&'*+/=?^_`{|}~-", local.data[i])))
			return false;
	}
	return is_hostname(domain);
}

static bool is_date(struct span text)
{
	return text.length == 10 && yaml_scalar_is_timestamp(text);
}

static bool is_date_time(struct span text)
{
	return text.length >= 20 && (text.data[10] == 'T' || text.data[10] == 't') &&
	       yaml_scalar_is_timestamp(text);
}

static bool is_uri(struct span text)
{
	const char *colon = text.length > 0 ? memchr(text.data, ':', text.length) : NULL;

	if (!colon || colon == text.data || (text.data[0] | 0x20) < 'a' ||
		(text.data[0] | 0x20) > 'z')
		return false;
	for (const char *at = text.data; at < colon; at++) {
		if (!is_letter_or_digit(*at) && (*at == '\0' || !strchr("+-.", *at)))
			return false;
	}
	for (size_t i = 0; i < text.length; i++) {
		if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f)
			return false;
	}
	return true;
}

static bool is_pointer(struct span text)
{
	if (text.length > 0 && text.data[0] != '/')
		return false;
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '~' &&
			(i + 1 == text.length ||
				(text.data[i + 1] != '0' && text.data[i + 1] != '1')))
			return false;
	}
	return true;
}

static const struct {
	const char *name;
	bool (*matches)(struct span text);
} formats[] = {
	{"date", is_date},
	{"date-time", is_date_time},
	{"email", is_email},
	{"hostname", is_hostname},
	{"ipv4", is_ipv4},
	{"ipv6", is_ipv6},
	{"json-pointer", is_pointer},
	{"uri", is_uri},
};

bool schema_format_matches(struct span format, struct span text)
{
	for (size_t i = 0; i < LENGTH(formats); i++) {
		if (span_is(format, formats[i].name))
			return formats[i].matches(text);
	}
	return true;
}
