/*
 * The certificates of a listener: one that is its default, shown by DescribeListeners, and those that were
 * added, for clients that name a host of theirs. ("certificates" in the private text.)
 */
#include "aws/page.h"
#include "base/memory.h"
#include "elb/listener.h"

#define DESCRIBE_MAX 400

static int get_listener(struct aws_request *request, const struct store_object **ret_listener)
{
	return elb_listener_get(request, json_get_text(request->input, "ListenerArn"),
		ret_listener);
}

static int get_tls_listener(struct aws_request *request, const struct store_object **ret_listener)
{
	const struct store_object *listener;
	enum elb_protocol protocol;

	if (get_listener(request, &listener) < 0)
		return -EPERM;
	protocol = elb_listener_facts(listener)->protocol;
	if (protocol != ELB_HTTPS && protocol != ELB_TLS)
		return aws_fail_input(request,
			"ListenerArn: only listeners of HTTPS and TLS have certificates, not %s",
			elb_protocol_name(protocol));
	*ret_listener = listener;
	return 0;
}

static struct span default_of(const struct json *api)
{
	return json_get_text(json_item(json_get(api, "Certificates"), 0), "CertificateArn");
}

static bool has(const struct json *list, struct span arn)
{
	JSON_EACH_ITEM (list, item)
		if (span_equal(json_text(item), arn))
			return true;
	return false;
}

static int put(struct aws_request *request, const struct store_object *listener,
	struct json *private_, const struct json *certificates)
{
	json_set(request->arena, private_, "certificates", certificates);
	if (store_put(request->transaction, &elb_listener_kind, listener->key, listener->api,
		    json_to_text(private_, request->arena), listener->revision, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static const struct json *show(struct aws_request *request, struct span arn, bool is_default)
{
	struct json *certificate = json_new_object(request->arena);

	json_set_string(request->arena, certificate, "CertificateArn", arn);
	json_set_bool(request->arena, certificate, "IsDefault", is_default);
	return certificate;
}

/* Adding a present one changes nothing; the answer has those of the request. */
int elb_listener_certificates_add(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Certificates");
	struct json *answer = json_new_object(request->arena);
	struct json *shown = json_new_array(request->arena);
	struct json *all = json_new_array(request->arena), *api, *private_;
	const struct store_object *listener;

	if (get_tls_listener(request, &listener) < 0 ||
		elb_parse_object(request, listener, &api, &private_) < 0)
		return -EPERM;
	if (json_count(requested) == 0)
		return aws_fail_input(request, "Certificates: at least one is needed");
	JSON_EACH_ITEM (json_get(private_, "certificates"), old)
		json_append(request->arena, all, old);
	JSON_EACH_ITEM (requested, certificate) {
		struct span arn = json_get_text(certificate, "CertificateArn");

		if (json_get_bool(certificate, "IsDefault", false))
			return aws_fail_input(request, "Certificates: IsDefault is not for adding; "
						       "ModifyListener sets the "
						       "default certificate");
		json_append(request->arena, shown, show(request, arn, false));
		if (!has(all, arn))
			json_append(request->arena, all, json_new_string(request->arena, arn));
	}
	if (json_count(all) > ELB_LISTENER_CERTIFICATES_MAX)
		return aws_fail(request, "TooManyCertificatesException",
			"A listener has at most %d certificates beside its default one",
			ELB_LISTENER_CERTIFICATES_MAX);
	if (put(request, listener, private_, all) < 0)
		return -EPERM;
	json_set(request->arena, answer, "Certificates", shown);
	json_write(answer, request->out);
	return 0;
}

/* Removing an absent one changes nothing. */
int elb_listener_certificates_remove(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Certificates"), *old;
	struct json *kept = json_new_array(request->arena), *api, *private_;
	struct json *gone = json_new_array(request->arena);
	const struct store_object *listener;

	if (get_tls_listener(request, &listener) < 0 ||
		elb_parse_object(request, listener, &api, &private_) < 0)
		return -EPERM;
	if (json_count(requested) == 0)
		return aws_fail_input(request, "Certificates: at least one is needed");
	old = json_get(private_, "certificates");
	JSON_EACH_ITEM (requested, certificate) {
		struct span arn = json_get_text(certificate, "CertificateArn");

		if (!arn.data)
			return aws_fail_input(request, "Certificates: one has no CertificateArn");
		if (!has(old, arn) && span_equal(arn, default_of(api)))
			return aws_fail(request, "OperationNotPermittedException",
				"The default certificate of a listener cannot be removed: "
				"ModifyListener sets another one");
		json_append(request->arena, gone, json_new_string(request->arena, arn));
	}
	JSON_EACH_ITEM (old, certificate)
		if (!has(gone, json_text(certificate)))
			json_append(request->arena, kept, certificate);
	if (put(request, listener, private_, kept) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{}");
	return 0;
}

/* The default one first. The position of a page is the ARN that was shown last. */
int elb_listener_certificates_describe(struct aws_request *request)
{
	const struct store_object *listener;
	struct span next = SPAN_NONE, last = SPAN("");
	struct json *api, *private_;
	struct aws_page page;
	size_t count = 0;
	bool shows;

	if (get_listener(request, &listener) < 0 ||
		elb_parse_object(request, listener, &api, &private_) < 0 ||
		aws_page_read(request, DESCRIBE_MAX, DESCRIBE_MAX, listener->key, &page) < 0)
		return -EPERM;
	elb_answer_begin(request, "Certificates");
	shows = !page.after_key.data;
	if (shows && default_of(api).data)
		elb_answer_item(request, count++,
			json_to_text(show(request, default_of(api), true), request->arena));
	/* Behind the default one nothing was shown yet: its text is empty. */
	shows |= page.after_key.length == 0;
	JSON_EACH_ITEM (json_get(private_, "certificates"), certificate) {
		struct span arn = json_text(certificate);

		if (!shows) {
			shows = span_equal(arn, page.after_key);
			continue;
		}
		if (count == page.most) {
			next = aws_page_token(request, listener->key, SPAN(""), last);
			break;
		}
		elb_answer_item(request, count++,
			json_to_text(show(request, arn, false), request->arena));
		last = arn;
	}
	elb_answer_end(request, next);
	return 0;
}
