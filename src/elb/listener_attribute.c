/*
 * Attributes of listeners. attribute.c has the table of the supported ones, this file AWS's others.
 * Setting one is rejected with the reason, so that no client relies on a header never sent.
 */
#include "base/memory.h"
#include "elb/attribute.h"
#include "elb/listener.h"

#define RESPONSE "slipway does not add headers to the answers of targets"
#define REQUEST "slipway does not send this header to targets"

static const struct {
	const char *name;
	const char *reason;
} undone[] = {
	{"routing.http.request.x_amzn_mtls_clientcert.header_name", REQUEST},
	{"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name", REQUEST},
	{"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name", REQUEST},
	{"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name", REQUEST},
	{"routing.http.request.x_amzn_mtls_clientcert_subject.header_name", REQUEST},
	{"routing.http.request.x_amzn_mtls_clientcert_validity.header_name", REQUEST},
	{"routing.http.request.x_amzn_tls_cipher_suite.header_name", REQUEST},
	{"routing.http.request.x_amzn_tls_version.header_name", REQUEST},
	{"routing.http.response.access_control_allow_credentials.header_value", RESPONSE},
	{"routing.http.response.access_control_allow_headers.header_value", RESPONSE},
	{"routing.http.response.access_control_allow_methods.header_value", RESPONSE},
	{"routing.http.response.access_control_allow_origin.header_value", RESPONSE},
	{"routing.http.response.access_control_expose_headers.header_value", RESPONSE},
	{"routing.http.response.access_control_max_age.header_value", RESPONSE},
	{"routing.http.response.content_security_policy.header_value", RESPONSE},
	{"routing.http.response.strict_transport_security.header_value", RESPONSE},
	{"routing.http.response.x_content_type_options.header_value", RESPONSE},
	{"routing.http.response.x_frame_options.header_value", RESPONSE},
};

static int refuse_undone(struct aws_request *request)
{
	JSON_EACH_ITEM (json_get(request->input, "Attributes"), attribute) {
		struct span name = json_get_text(attribute, "Key");

		for (size_t i = 0; i < LENGTH(undone); i++)
			if (span_is(name, undone[i].name))
				return aws_fail(request, "InvalidConfigurationRequestException",
					"%s: %s", undone[i].name, undone[i].reason);
	}
	return 0;
}

int elb_listener_describe_attributes(struct aws_request *request)
{
	const struct store_object *listener;

	if (elb_listener_get(request, json_get_text(request->input, "ListenerArn"), &listener) < 0)
		return -EPERM;
	return elb_attributes_describe(request, listener);
}

int elb_listener_modify_attributes(struct aws_request *request)
{
	const struct store_object *listener;

	if (elb_listener_get(request, json_get_text(request->input, "ListenerArn"), &listener) <
			0 ||
		refuse_undone(request) < 0)
		return -EPERM;
	return elb_attributes_modify(request, listener);
}
