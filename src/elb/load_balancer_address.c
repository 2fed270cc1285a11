/*
 * Addresses of load balancers, from the range that the server was given: each its own, or the one address
 * for all. A range is small or large, full or empty: a free address is looked for from a place drawn at
 * random, for so many steps.
 */
#include <arpa/inet.h>

#include "elb/load_balancer.h"

#define TRIES_MAX 4096

struct range {
	uint32_t first; /* in the order of numbers */
	uint32_t count;
};

static bool read_v4(struct span text, uint32_t *ret_number)
{
	char copy[INET_ADDRSTRLEN];
	struct in_addr address;

	if (text.length >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	if (inet_pton(AF_INET, copy, &address) != 1)
		return false;
	*ret_number = ntohl(address.s_addr);
	return true;
}

/* The first and last address of a network are not assigned, unless it has no others. */
static bool read_range(struct span text, struct range *ret_range)
{
	struct span address, bits_text;
	uint32_t number, size;
	uint64_t bits;

	if (!span_split(text, '/', &address, &bits_text) || !read_v4(address, &number) ||
		!span_to_unsigned(bits_text, 32, &bits) || bits < 1)
		return false;
	size = UINT32_C(1) << (32 - bits);
	number &= ~(size - 1);
	*ret_range = size <= 2 ? (struct range){.first = number, .count = size}
			       : (struct range){.first = number + 1, .count = size - 2};
	return true;
}

static bool is_free(const struct store_view *view, struct span address)
{
	return store_count(view, &elb_load_balancer_kind, ELB_LOAD_BALANCER_BY_ADDRESS, address,
		       true) == 0;
}

static struct span format(struct arena *arena, uint32_t number)
{
	return arena_format(arena, "%u.%u.%u.%u", number >> 24, number >> 16 & 255,
		number >> 8 & 255, number & 255);
}

static int take_wanted(struct aws_request *request, const struct range *range, struct span wanted,
	struct span *ret_address)
{
	const struct elb_context *context = request->context;
	uint32_t number;

	if (!read_v4(wanted, &number) || number < range->first ||
		number - range->first >= range->count)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: PrivateIPv4Address '%.*s' is not in %.*s, where load "
			"balancers have their addresses",
			SPAN_ARGS(wanted), SPAN_ARGS(context->addresses));
	*ret_address = format(request->arena, number);
	if (!is_free(request->view, *ret_address))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: PrivateIPv4Address '%.*s' is in use", SPAN_ARGS(wanted));
	return 0;
}

int elb_load_balancer_take_address(struct aws_request *request, struct span wanted,
	struct span *ret_address)
{
	const struct elb_context *context = request->context;
	uint32_t start, tries;
	struct range range;

	if (!read_range(context->addresses, &range)) {
		if (wanted.data && !span_equal(wanted, context->addresses))
			return aws_fail(request, "InvalidConfigurationRequestException",
				"SubnetMappings: PrivateIPv4Address must be %.*s, the address of "
				"all load balancers here",
				SPAN_ARGS(context->addresses));
		*ret_address = context->addresses;
		return 0;
	}
	if (wanted.data)
		return take_wanted(request, &range, wanted, ret_address);
	start = (uint32_t)random_below(request->random, range.count);
	tries = range.count < TRIES_MAX ? range.count : TRIES_MAX;
	for (uint32_t i = 0; i < tries; i++) {
		struct span address =
			format(request->arena, range.first + (start + i) % range.count);

		if (is_free(request->view, address)) {
			*ret_address = address;
			return 0;
		}
	}
	return aws_fail(request, "TooManyLoadBalancersException",
		"There is no free address in %.*s for another load balancer",
		SPAN_ARGS(context->addresses));
}
