/* Messages are built in a fixed buffer, which is large enough for all requests here. */
#include "runtime/process/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MAX 32768
#define ANSWER_SECONDS 10

struct message {
	_Alignas(struct nlmsghdr) char data[NETLINK_MESSAGE_MAX];
};

static struct nlmsghdr *header_of(struct message *message)
{
	return (struct nlmsghdr *)message->data;
}

/* Returns the place for the fixed part. */
static void *begin(struct message *message, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *header = header_of(message);

	memset(message, 0, sizeof(*message));
	header->nlmsg_len = NLMSG_LENGTH(size);
	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	return NLMSG_DATA(header);
}

static struct rtattr *add(struct message *message, uint16_t type, const void *data, size_t size)
{
	struct nlmsghdr *header = header_of(message);
	size_t start = NLMSG_ALIGN(header->nlmsg_len);
	struct rtattr *attribute = (struct rtattr *)(message->data + start);

	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(size);
	if (size > 0)
		memcpy(RTA_DATA(attribute), data, size);
	header->nlmsg_len = (uint32_t)(start + RTA_ALIGN(attribute->rta_len));
	return attribute;
}

static void add_text(struct message *message, uint16_t type, const char *text)
{
	add(message, type, text, strlen(text) + 1);
}

static void add_number(struct message *message, uint16_t type, uint32_t number)
{
	add(message, type, &number, sizeof(number));
}

/* The bytes added since are inside the attribute. */
static void close_nest(struct message *message, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)(message->data + header_of(message)->nlmsg_len - (char *)nest);
}

int netlink_open(int *ret_socket)
{
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (descriptor < 0)
		return -errno;
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	*ret_socket = descriptor;
	return 0;
}

typedef void (*take_answer)(void *context, const struct nlmsghdr *header);

/* Sends, and reads answers up to the last one. */
static int ask(int descriptor, struct message *message, take_answer take, void *context)
{
	struct nlmsghdr *request = header_of(message);
	_Alignas(struct nlmsghdr) static __thread char answer[ANSWER_MAX];
	static uint32_t numbers;

	request->nlmsg_seq = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	if (send(descriptor, request, request->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(descriptor, answer, sizeof(answer), 0);
		size_t left = got > 0 ? (size_t)got : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		for (struct nlmsghdr *one = (struct nlmsghdr *)answer; NLMSG_OK(one, left);
			one = NLMSG_NEXT(one, left)) {
			if (one->nlmsg_seq != request->nlmsg_seq)
				continue; /* of an abandoned request */
			if (one->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(one))->error;
			if (one->nlmsg_type == NLMSG_DONE)
				return 0;
			if (take)
				take(context, one);
		}
	}
}

static int do_it(int descriptor, struct message *message)
{
	header_of(message)->nlmsg_flags |= NLM_F_ACK;
	return ask(descriptor, message, NULL, NULL);
}

/* Links. */

struct link {
	int index;
	bool has_state;
	uint8_t state; /* of a port of a bridge */
};

static const struct rtattr *find_attribute(const struct rtattr *first, size_t length,
	unsigned short type)
{
	for (const struct rtattr *one = first; RTA_OK(one, length); one = RTA_NEXT(one, length))
		if ((one->rta_type & NLA_TYPE_MASK) == type)
			return one;
	return NULL;
}

static const struct rtattr *find_inside(const struct rtattr *nest, unsigned short type)
{
	return nest ? find_attribute(RTA_DATA(nest), RTA_PAYLOAD(nest), type) : NULL;
}

static void take_link(void *context, const struct nlmsghdr *header)
{
	struct link *link = context;
	const struct ifinfomsg *info = NLMSG_DATA(header);
	const struct rtattr *state;

	if (header->nlmsg_type != RTM_NEWLINK)
		return;
	link->index = info->ifi_index;
	state = find_inside(find_inside(find_attribute(IFLA_RTA(info), IFLA_PAYLOAD(header),
						IFLA_LINKINFO),
				    IFLA_INFO_SLAVE_DATA),
		IFLA_BRPORT_STATE);
	if (!state)
		return;
	link->has_state = true;
	link->state = *(const uint8_t *)RTA_DATA(state);
}

static int get_link(int descriptor, const char *name, struct link *ret_link)
{
	struct message message;
	int code;

	*ret_link = (struct link){0};
	begin(&message, RTM_GETLINK, NLM_F_ACK, sizeof(struct ifinfomsg));
	add_text(&message, IFLA_IFNAME, name);
	code = ask(descriptor, &message, take_link, ret_link);
	return code == 0 && ret_link->index == 0 ? -ENODEV : code;
}

int netlink_find(int descriptor, const char *name, int *ret_index)
{
	struct link link;
	int code = get_link(descriptor, name, &link);

	if (code == 0)
		*ret_index = link.index;
	return code;
}

int netlink_forwards(int descriptor, const char *name, bool *ret_forwards)
{
	enum { FORWARDING = 3 }; /* BR_STATE_FORWARDING */
	struct link link;
	int code = get_link(descriptor, name, &link);

	if (code == 0)
		*ret_forwards = link.has_state && link.state == FORWARDING;
	return code;
}

struct port_search {
	uint32_t bridge;
	bool found;
};

static void take_port(void *context, const struct nlmsghdr *header)
{
	struct port_search *search = context;
	const struct ifinfomsg *info = NLMSG_DATA(header);
	const struct rtattr *master;

	if (header->nlmsg_type != RTM_NEWLINK)
		return;
	master = find_attribute(IFLA_RTA(info), IFLA_PAYLOAD(header), IFLA_MASTER);
	search->found |= master && RTA_PAYLOAD(master) == sizeof(uint32_t) &&
			 memcmp(RTA_DATA(master), &search->bridge, sizeof(uint32_t)) == 0;
}

int netlink_has_ports(int descriptor, int bridge, bool *ret_has_ports)
{
	struct port_search search = {.bridge = (uint32_t)bridge};
	struct message message;
	int code;

	begin(&message, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	code = ask(descriptor, &message, take_port, &search);
	if (code == 0)
		*ret_has_ports = search.found;
	return code;
}

int netlink_remove(int descriptor, const char *name)
{
	struct message message;

	begin(&message, RTM_DELLINK, 0, sizeof(struct ifinfomsg));
	add_text(&message, IFLA_IFNAME, name);
	return do_it(descriptor, &message);
}

int netlink_make_bridge(int descriptor, const char *name, const char *alias, const uint8_t mac[6])
{
	struct message message;
	struct ifinfomsg *info =
		begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info));
	struct rtattr *kind;

	info->ifi_flags = info->ifi_change = IFF_UP;
	add_text(&message, IFLA_IFNAME, name);
	/* Else it is the least of its ports', and changes with them. */
	add(&message, IFLA_ADDRESS, mac, 6);
	add(&message, IFLA_IFALIAS, alias,
		strlen(alias) < NETLINK_ALIAS_MAX ? strlen(alias) : NETLINK_ALIAS_MAX);
	kind = add(&message, IFLA_LINKINFO, NULL, 0);
	add_text(&message, IFLA_INFO_KIND, "bridge");
	close_nest(&message, kind);
	return do_it(descriptor, &message);
}

int netlink_make_pair(int descriptor, const char *name, int bridge, const char *inside,
	const uint8_t mac[6], int inside_namespace)
{
	struct message message;
	struct ifinfomsg *info =
		begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info));
	struct rtattr *kind, *data, *peer;
	struct ifinfomsg of_peer = {0};

	info->ifi_flags = info->ifi_change = IFF_UP;
	add_text(&message, IFLA_IFNAME, name);
	add_number(&message, IFLA_MASTER, (uint32_t)bridge);
	kind = add(&message, IFLA_LINKINFO, NULL, 0);
	add_text(&message, IFLA_INFO_KIND, "veth");
	data = add(&message, IFLA_INFO_DATA, NULL, 0);
	peer = add(&message, VETH_INFO_PEER, &of_peer, sizeof(of_peer));
	add_text(&message, IFLA_IFNAME, inside);
	add(&message, IFLA_ADDRESS, mac, 6);
	add_number(&message, IFLA_NET_NS_FD, (uint32_t)inside_namespace);
	close_nest(&message, peer);
	close_nest(&message, data);
	close_nest(&message, kind);
	return do_it(descriptor, &message);
}

int netlink_set_up(int descriptor, int index)
{
	struct message message;
	struct ifinfomsg *info = begin(&message, RTM_NEWLINK, 0, sizeof(*info));

	info->ifi_index = index;
	info->ifi_flags = info->ifi_change = IFF_UP;
	return do_it(descriptor, &message);
}

/* Addresses and routes. */

int netlink_add_address(int descriptor, int index, uint32_t address, unsigned prefix)
{
	struct message message;
	struct ifaddrmsg *info =
		begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info));

	info->ifa_family = AF_INET;
	info->ifa_prefixlen = (uint8_t)prefix;
	info->ifa_index = (uint32_t)index;
	add_number(&message, IFA_LOCAL, htonl(address));
	add_number(&message, IFA_ADDRESS, htonl(address));
	return do_it(descriptor, &message);
}

int netlink_add_default_route(int descriptor, uint32_t gateway)
{
	struct message message;
	struct rtmsg *route = begin(&message, RTM_NEWROUTE, NLM_F_CREATE, sizeof(*route));

	route->rtm_family = AF_INET;
	route->rtm_table = RT_TABLE_MAIN;
	route->rtm_protocol = RTPROT_STATIC;
	route->rtm_scope = RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_UNICAST;
	add_number(&message, RTA_GATEWAY, htonl(gateway));
	return do_it(descriptor, &message);
}

struct address_search {
	int index;
	bool found;
	uint32_t address;
	unsigned prefix;
};

static void take_address(void *context, const struct nlmsghdr *header)
{
	struct address_search *search = context;
	const struct ifaddrmsg *info = NLMSG_DATA(header);
	const struct rtattr *local;

	if (header->nlmsg_type != RTM_NEWADDR || (int)info->ifa_index != search->index ||
		search->found)
		return;
	local = find_attribute(IFA_RTA(info), IFA_PAYLOAD(header), IFA_LOCAL);
	if (!local || RTA_PAYLOAD(local) != sizeof(uint32_t))
		return;
	search->found = true;
	memcpy(&search->address, RTA_DATA(local), sizeof(uint32_t));
	search->address = ntohl(search->address);
	search->prefix = info->ifa_prefixlen;
}

int netlink_get_address(int descriptor, int index, uint32_t *ret_address, unsigned *ret_prefix)
{
	struct address_search search = {.index = index};
	struct message message;
	struct ifaddrmsg *info = begin(&message, RTM_GETADDR, NLM_F_DUMP, sizeof(*info));
	int code;

	info->ifa_family = AF_INET;
	code = ask(descriptor, &message, take_address, &search);
	if (code < 0)
		return code;
	if (!search.found)
		return -ENOENT;
	*ret_address = search.address;
	*ret_prefix = search.prefix;
	return 0;
}

struct overlap_search {
	uint32_t network;
	unsigned prefix;
	bool found;
};

static void take_route(void *context, const struct nlmsghdr *header)
{
	struct overlap_search *search = context;
	const struct rtmsg *route = NLMSG_DATA(header);
	const struct rtattr *destination;
	uint32_t address;
	unsigned shorter;

	if (header->nlmsg_type != RTM_NEWROUTE || route->rtm_dst_len == 0)
		return;
	destination = find_attribute(RTM_RTA(route), RTM_PAYLOAD(header), RTA_DST);
	if (!destination || RTA_PAYLOAD(destination) != sizeof(uint32_t))
		return;
	memcpy(&address, RTA_DATA(destination), sizeof(address));
	shorter = route->rtm_dst_len < search->prefix ? route->rtm_dst_len : search->prefix;
	search->found |= (ntohl(address) ^ search->network) >> (32 - shorter) == 0;
}

int netlink_is_free(int descriptor, uint32_t network, unsigned prefix, bool *ret_free)
{
	struct overlap_search search = {.network = network, .prefix = prefix};
	struct message message;
	struct rtmsg *route = begin(&message, RTM_GETROUTE, NLM_F_DUMP, sizeof(*route));
	int code;

	/* Every address has routes of its own, in the table of local ones. */
	route->rtm_family = AF_INET;
	code = ask(descriptor, &message, take_route, &search);
	if (code == 0)
		*ret_free = !search.found;
	return code;
}
