/* Security policies; see the header. */
#include "elb/ssl_policy.h"

#include <string.h>

#include "aws/page.h"
#include "base/memory.h"

#define POLICIES_PAGE_MAX 400

/* Groups of ciphers; each policy has some of them. */
enum cipher_group {
	TLS_1_3 = 1,
	ECDHE_GCM = 2,
	ECDHE_SHA2 = 4,
	ECDHE_SHA1 = 8,
	RSA_SHA2 = 16, /* key exchange by RSA, with GCM or SHA-2 */
	RSA_SHA1 = 32,
	TRIPLE_DES = 64, /* OpenSSL 3 has it no more: it is listed and never agreed on */
	FORWARD_SECRECY = ECDHE_GCM | ECDHE_SHA2,
	WITHOUT_SHA1 = FORWARD_SECRECY | RSA_SHA2,
	MOST = WITHOUT_SHA1 | ECDHE_SHA1 | RSA_SHA1,
};

/* Best first, in AWS's order. */
static const struct cipher {
	const char *name;
	enum cipher_group group;
} ciphers[] = {
	{"TLS_AES_128_GCM_SHA256", TLS_1_3},
	{"TLS_AES_256_GCM_SHA384", TLS_1_3},
	{"TLS_CHACHA20_POLY1305_SHA256", TLS_1_3},
	{"ECDHE-ECDSA-AES128-GCM-SHA256", ECDHE_GCM},
	{"ECDHE-RSA-AES128-GCM-SHA256", ECDHE_GCM},
	{"ECDHE-ECDSA-AES128-SHA256", ECDHE_SHA2},
	{"ECDHE-RSA-AES128-SHA256", ECDHE_SHA2},
	{"ECDHE-ECDSA-AES128-SHA", ECDHE_SHA1},
	{"ECDHE-RSA-AES128-SHA", ECDHE_SHA1},
	{"ECDHE-ECDSA-AES256-GCM-SHA384", ECDHE_GCM},
	{"ECDHE-RSA-AES256-GCM-SHA384", ECDHE_GCM},
	{"ECDHE-ECDSA-AES256-SHA384", ECDHE_SHA2},
	{"ECDHE-RSA-AES256-SHA384", ECDHE_SHA2},
	{"ECDHE-RSA-AES256-SHA", ECDHE_SHA1},
	{"ECDHE-ECDSA-AES256-SHA", ECDHE_SHA1},
	{"AES128-GCM-SHA256", RSA_SHA2},
	{"AES128-SHA256", RSA_SHA2},
	{"AES128-SHA", RSA_SHA1},
	{"AES256-GCM-SHA384", RSA_SHA2},
	{"AES256-SHA256", RSA_SHA2},
	{"AES256-SHA", RSA_SHA1},
	{"DES-CBC3-SHA", TRIPLE_DES},
};

/* Versions are the second number: 2 is TLS 1.2. */
static const struct policy {
	const char *name;
	unsigned char min, max;
	unsigned groups;
} policies[] = {
	{ELB_SSL_POLICY_DEFAULT, 2, 3, TLS_1_3 | ECDHE_GCM},
	{"ELBSecurityPolicy-TLS13-1-3-2021-06", 3, 3, TLS_1_3},
	{"ELBSecurityPolicy-TLS13-1-2-2021-06", 2, 3, TLS_1_3 | FORWARD_SECRECY},
	{"ELBSecurityPolicy-TLS13-1-2-Ext1-2021-06", 2, 3, TLS_1_3 | WITHOUT_SHA1},
	{"ELBSecurityPolicy-TLS13-1-2-Ext2-2021-06", 2, 3, TLS_1_3 | MOST},
	{"ELBSecurityPolicy-TLS13-1-1-2021-06", 1, 3, TLS_1_3 | MOST},
	{"ELBSecurityPolicy-TLS13-1-0-2021-06", 0, 3, TLS_1_3 | MOST},
	{"ELBSecurityPolicy-2016-08", 0, 2, MOST},
	{"ELBSecurityPolicy-2015-05", 0, 2, MOST},
	{"ELBSecurityPolicy-TLS-1-0-2015-04", 0, 2, MOST | TRIPLE_DES},
	{"ELBSecurityPolicy-TLS-1-1-2017-01", 1, 2, MOST},
	{"ELBSecurityPolicy-TLS-1-2-2017-01", 2, 2, WITHOUT_SHA1},
	{"ELBSecurityPolicy-TLS-1-2-Ext-2018-06", 2, 2, MOST},
	{"ELBSecurityPolicy-FS-2018-06", 0, 2, FORWARD_SECRECY | ECDHE_SHA1},
	{"ELBSecurityPolicy-FS-1-1-2019-08", 1, 2, FORWARD_SECRECY | ECDHE_SHA1},
	{"ELBSecurityPolicy-FS-1-2-2019-08", 2, 2, FORWARD_SECRECY | ECDHE_SHA1},
	{"ELBSecurityPolicy-FS-1-2-Res-2019-08", 2, 2, FORWARD_SECRECY},
	{"ELBSecurityPolicy-FS-1-2-Res-2020-10", 2, 2, ECDHE_GCM},
};

static const struct policy *find(struct span name)
{
	for (size_t i = 0; i < LENGTH(policies); i++)
		if (span_is(name, policies[i].name))
			return &policies[i];
	return NULL;
}

static bool has_cipher(const struct policy *policy, size_t cipher)
{
	return policy->groups & (unsigned)ciphers[cipher].group;
}

bool elb_ssl_policy_find(struct span name, struct arena *arena, struct proxy_tls *ret_tls)
{
	const struct policy *policy = find(name);
	_buffer_ struct buffer text = {0};

	if (!policy)
		return false;
	for (size_t i = 0; i < LENGTH(ciphers); i++)
		if (has_cipher(policy, i) && !(ciphers[i].group & TLS_1_3))
			buffer_format(&text, "%s%s", text.length > 0 ? ":" : "", ciphers[i].name);
	*ret_tls = (struct proxy_tls){.min = policy->min,
		.max = policy->max,
		.ciphers =
			text.length > 0 ? arena_copy_span(arena, buffer_span(&text)).data : NULL};
	return true;
}

bool elb_ssl_policy_exists(struct span name)
{
	return find(name) != NULL;
}

int elb_ssl_policy_fail(struct aws_request *request, struct span name)
{
	bool fips = name.length > 0 && memmem(name.data, name.length, "FIPS", 4);
	bool quantum = name.length > 0 && memmem(name.data, name.length, "-PQ-", 4);

	return aws_fail(request, "SSLPolicyNotFoundException", "SSL policy '%.*s' not found%s",
		SPAN_ARGS(name),
		fips      ? "; slipway's data plane is not validated for FIPS 140"
		: quantum ? "; slipway's data plane has no post-quantum key exchange"
			  : "");
}

static const struct json *show(struct arena *arena, const struct policy *policy)
{
	struct json *shown = json_new_object(arena);
	struct json *protocols = json_new_array(arena), *list = json_new_array(arena);
	struct json *types = json_new_array(arena);

	for (unsigned version = policy->min; version <= policy->max; version++)
		json_append(arena, protocols,
			version == 0 ? json_new_string(arena, SPAN("TLSv1"))
				     : json_new_format(arena, "TLSv1.%u", version));
	for (size_t i = 0; i < LENGTH(ciphers); i++) {
		struct json *cipher;

		if (!has_cipher(policy, i))
			continue;
		cipher = json_new_object(arena);
		json_set_string(arena, cipher, "Name", span_of(ciphers[i].name));
		json_set_integer(arena, cipher, "Priority", (int64_t)json_count(list) + 1);
		json_append(arena, list, cipher);
	}
	json_append(arena, types, json_new_string(arena, SPAN("application")));
	json_append(arena, types, json_new_string(arena, SPAN("network")));
	json_set_string(arena, shown, "Name", span_of(policy->name));
	json_set(arena, shown, "SslProtocols", protocols);
	json_set(arena, shown, "Ciphers", list);
	json_set(arena, shown, "SupportedLoadBalancerTypes", types);
	return shown;
}

/* The position of a page is the name that was shown last. */
static int describe_all(struct aws_request *request, struct json *answer, struct json *shown)
{
	struct aws_page page;
	size_t first = 0;

	if (aws_page_read(request, POLICIES_PAGE_MAX, POLICIES_PAGE_MAX, SPAN(""), &page) < 0)
		return -EPERM;
	for (size_t i = 0; page.after_key.data && i < LENGTH(policies); i++)
		if (span_is(page.after_key, policies[i].name))
			first = i + 1;
	for (size_t i = first; i < LENGTH(policies) && json_count(shown) < page.most; i++) {
		json_append(request->arena, shown, show(request->arena, &policies[i]));
		if (json_count(shown) == page.most && i + 1 < LENGTH(policies))
			json_set_string(request->arena, answer, "NextMarker",
				aws_page_token(request, SPAN(""), SPAN(""),
					span_of(policies[i].name)));
	}
	return 0;
}

int elb_ssl_policies_describe(struct aws_request *request)
{
	struct span type = json_get_text(request->input, "LoadBalancerType");
	const struct json *names = json_get(request->input, "Names");
	struct json *answer = json_new_object(request->arena);
	struct json *shown = json_new_array(request->arena);

	JSON_EACH_ITEM (names, name) {
		const struct policy *policy = find(json_text(name));

		if (!policy)
			return elb_ssl_policy_fail(request, json_text(name));
		json_append(request->arena, shown, show(request->arena, policy));
	}
	/* There are gateway load balancers nowhere, and so no policies for them. */
	if (json_count(names) == 0 && !span_is(type, "gateway") &&
		describe_all(request, answer, shown) < 0)
		return -EPERM;
	json_set(request->arena, answer, "SslPolicies", shown);
	json_write(answer, request->out);
	return 0;
}
