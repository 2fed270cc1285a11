/* Security policies; see the header. */
#include "elb/ssl_policy.h"

#include "aws/page.h"
#include "base/memory.h"

#define POLICIES_PAGE_MAX 400

#define CIPHERS_1_3                                                                                \
	"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"

static const struct policy {
	const char *name;
	bool tls_1_3_only;
	const char *ciphers[8]; /* best first; the rest NULL */
} policies[] = {
	{"ELBSecurityPolicy-TLS13-1-2-Res-2021-06", false,
		{CIPHERS_1_3, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
			"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"}},
	{"ELBSecurityPolicy-TLS13-1-3-2021-06", true, {CIPHERS_1_3}},
};

static const struct policy *find(struct span name)
{
	for (size_t i = 0; i < LENGTH(policies); i++)
		if (span_is(name, policies[i].name))
			return &policies[i];
	return NULL;
}

bool elb_ssl_policy_find(struct span name, bool *ret_tls_1_3_only)
{
	const struct policy *policy = find(name);

	if (policy)
		*ret_tls_1_3_only = policy->tls_1_3_only;
	return policy != NULL;
}

struct span elb_ssl_policy_names(struct arena *arena)
{
	struct span names = SPAN("");

	for (size_t i = 0; i < LENGTH(policies); i++)
		names = arena_format(arena, "%.*s%s%s", SPAN_ARGS(names), i > 0 ? ", " : "",
			policies[i].name);
	return names;
}

static const struct json *show(struct arena *arena, const struct policy *policy)
{
	struct json *shown = json_new_object(arena);
	struct json *protocols = json_new_array(arena), *ciphers = json_new_array(arena);
	struct json *types = json_new_array(arena);

	if (!policy->tls_1_3_only)
		json_append(arena, protocols, json_new_string(arena, SPAN("TLSv1.2")));
	json_append(arena, protocols, json_new_string(arena, SPAN("TLSv1.3")));
	for (size_t i = 0; i < LENGTH(policy->ciphers) && policy->ciphers[i]; i++) {
		struct json *cipher = json_new_object(arena);

		json_set_string(arena, cipher, "Name", span_of(policy->ciphers[i]));
		json_set_integer(arena, cipher, "Priority", (int64_t)i + 1);
		json_append(arena, ciphers, cipher);
	}
	json_append(arena, types, json_new_string(arena, SPAN("application")));
	json_append(arena, types, json_new_string(arena, SPAN("network")));
	json_set_string(arena, shown, "Name", span_of(policy->name));
	json_set(arena, shown, "SslProtocols", protocols);
	json_set(arena, shown, "Ciphers", ciphers);
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
			return aws_fail(request, "SSLPolicyNotFoundException",
				"SSL policy '%.*s' not found; slipway has %.*s",
				SPAN_ARGS(json_text(name)),
				SPAN_ARGS(elb_ssl_policy_names(request->arena)));
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
