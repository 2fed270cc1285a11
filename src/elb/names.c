/* NAME.REGION.elb.DOMAIN is the address of the load balancer that says so of itself. */
#include "elb/names.h"

#include <arpa/inet.h>
#include <stdio.h>

#define ADDRESS_TTL 60 /* as of Elastic Load Balancing's own names */

/* "elb" and "REGION.elb". They always exist: a resolver would cache a negative answer and
 * apply it to a load balancer created in the next minute. */
static bool is_between(struct span labels)
{
	struct span region, rest;

	if (!span_split(labels, '.', &region, &rest))
		return span_is(labels, "elb");
	return span_is(rest, "elb");
}

enum dns_outcome elb_names(void *context, const struct store_view *view, struct span labels,
	uint16_t type, struct dns_answer *answer)
{
	const struct elb_context *elb = context;
	char name[DNS_NAME_TEXT_MAX + DNS_NAME_MAX];
	struct store_cursor cursor = {.view = view,
		.kind = &elb_load_balancer_kind,
		.index = ELB_LOAD_BALANCER_BY_DNS_NAME,
		.exact = true};
	const struct store_object *object;
	char text[INET6_ADDRSTRLEN] = "";
	uint8_t address[16];
	struct span said;

	if (is_between(labels))
		return DNS_FOUND;
	if (!span_ends_with(labels, SPAN(".elb")))
		return DNS_NO_SUCH_NAME;
	snprintf(name, sizeof(name), "%.*s.%.*s", SPAN_ARGS(labels), SPAN_ARGS(elb->domain));
	for (char *c = name; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 0x20);
	cursor.prefix = span_of(name);
	object = store_next(&cursor);
	if (!object)
		return DNS_NO_SUCH_NAME;
	said = elb_load_balancer_facts(object)->address;
	if (said.length < sizeof(text))
		memcpy(text, said.data, said.length);
	if ((type == DNS_TYPE_A || type == DNS_TYPE_ANY) && inet_pton(AF_INET, text, address) == 1)
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, ADDRESS_TTL, address);
	if ((type == DNS_TYPE_AAAA || type == DNS_TYPE_ANY) &&
		inet_pton(AF_INET6, text, address) == 1)
		dns_answer_add_aaaa(answer, DNS_SECTION_ANSWER, NULL, ADDRESS_TTL, address);
	return DNS_FOUND;
}
