/*
 * Operations on listeners. A listener is checked as a whole, as it would be after the change, by the same
 * code for a new one and for one that is modified.
 */
#include "elb/listener.h"

#include "aws/document.h"
#include "aws/key.h"
#include "aws/page.h"
#include "base/memory.h"
#include "elb/action.h"
#include "elb/certificate.h"
#include "elb/listener_bind.h"
#include "elb/ssl_policy.h"
#include "elb/tags.h"
#include "proxy/proxy.h"

#define DESCRIBE_MAX 400
#define ID_LENGTH 16
/* Over everything, as the data plane carries it: TCP_UDP is two listeners there. */
#define LISTENERS_TOTAL_MAX (PROXY_LISTENERS_MAX / 2)

_Static_assert(1 + ELB_LISTENER_CERTIFICATES_MAX <= PROXY_CERTIFICATES_MAX,
	"the data plane takes all certificates");

/* ---- finding ---- */

int elb_listener_get(struct aws_request *request, struct span arn,
	const struct store_object **ret_listener)
{
	const struct store_object *listener =
		elb_listener_find(request->view, aws_key_prefix(request), arn);

	if (!listener)
		return aws_fail(request, "ListenerNotFoundException", "Listener '%.*s' not found",
			SPAN_ARGS(arn));
	*ret_listener = listener;
	return 0;
}

static int get_balancer(struct aws_request *request, struct span arn,
	const struct store_object **ret_balancer)
{
	const struct store_object *balancer =
		elb_load_balancer_find(request->view, aws_key_prefix(request), arn);

	if (!balancer)
		return aws_fail(request, "LoadBalancerNotFoundException",
			"Load balancer '%.*s' not found", SPAN_ARGS(arn));
	*ret_balancer = balancer;
	return 0;
}

static void add_resource(struct aws_resources *resources, struct span arn)
{
	if (!arn.data)
		return;
	if (resources->count == AWS_RESOURCES_MAX)
		resources->overflow = true;
	else
		resources->arns[resources->count++] = arn;
}

void elb_listener_resources(struct aws_request *request, struct aws_resources *resources)
{
	static const char *const members[] = {"LoadBalancerArn", "ListenerArn", "RuleArn"};

	for (size_t i = 0; i < LENGTH(members); i++)
		add_resource(resources, json_get_text(request->input, members[i]));
	JSON_EACH_ITEM (json_get(request->input, "RulePriorities"), pair)
		add_resource(resources, json_get_text(pair, "RuleArn"));
}

void elb_new_id(struct random *random, char id[ELB_ID_SIZE])
{
	id_from_alphabet(random, "0123456789abcdef", ID_LENGTH, id);
}
_Static_assert(ELB_ID_SIZE == ID_LENGTH + 1, "an id and its end");

int elb_parse_object(struct aws_request *request, const struct store_object *object,
	struct json **ret_api, struct json **ret_private)
{
	struct json *api, *private_;

	if (json_parse(object->api, request->arena, &api, &request->err) < 0 ||
		json_parse(object->private_, request->arena, &private_, &request->err) < 0)
		return aws_fail_store(request);
	*ret_api = json_copy_object(request->arena, api);
	*ret_private = json_copy_object(request->arena, private_);
	return 0;
}

/* ---- before a write: files and ports ---- */

/* All certificates of the input must be there and be some. */
static int check_certificate_files(struct aws_request *request)
{
	const struct elb_context *context = request->context;
	struct err err;

	JSON_EACH_ITEM (json_get(request->input, "Certificates"), certificate) {
		struct span arn = json_get_text(certificate, "CertificateArn"), pem;

		if (!arn.data)
			return aws_fail_input(request, "Certificates: one has no CertificateArn");
		if (elb_certificate_read(context ? context->certificates : NULL, arn,
			    request->arena, &pem, &err) < 0)
			return aws_fail(request, "CertificateNotFoundException", "Certificates: %s",
				err.message);
	}
	return 0;
}

int elb_listener_certificates_prepare(struct aws_request *request)
{
	return check_certificate_files(request);
}

/* Whether a load balancer on the same address has another listener of the port than `but`. */
static bool is_taken(const struct store_view *view, const struct store_object *balancer,
	int64_t port, const struct store_object *but, struct arena *arena)
{
	struct store_cursor balancers = {.view = view,
		.kind = &elb_load_balancer_kind,
		.index = ELB_LOAD_BALANCER_BY_ADDRESS,
		.prefix = elb_load_balancer_facts(balancer)->address,
		.exact = true};
	const struct store_object *beside, *listener;

	while ((beside = store_next(&balancers))) {
		struct store_cursor listeners = {.view = view,
			.kind = &elb_listener_kind,
			.index = ELB_LISTENER_BY_PORT,
			.prefix = arena_format(arena, "%.*s/%lld", SPAN_ARGS(beside->key),
				(long long)port),
			.exact = true};

		while ((listener = store_next(&listeners)))
			if (!but || !span_equal(listener->key, but->key))
				return true;
	}
	return false;
}

/* All other errors are found by the write, in its transaction. */
static int check_port(struct aws_request *request, const struct store_view *view,
	const struct store_object *balancer, const struct store_object *listener)
{
	struct span protocol_name = json_get_text(request->input, "Protocol");
	enum elb_protocol protocol = listener ? elb_listener_facts(listener)->protocol : ELB_TCP;
	int64_t port = json_get_integer(request->input, "Port",
		listener ? elb_listener_facts(listener)->port : 0);
	struct err err;

	if (protocol_name.data && !elb_protocol_read(protocol_name, &protocol))
		return 0;
	if (port == 0 || is_taken(view, balancer, port, NULL, request->arena))
		return 0;
	if (elb_bind_check(elb_load_balancer_facts(balancer)->address, port, protocol, &err) < 0)
		return aws_fail(request, "InvalidConfigurationRequestException", "Port: %s",
			err.message);
	return 0;
}

static int prepare_port(struct aws_request *request)
{
	const struct elb_context *context = request->context;
	struct span scope = aws_key_prefix(request), arn;
	const struct store_object *balancer, *listener = NULL;
	_view_ struct store_view *view = NULL;

	if (!context || !context->store)
		return 0;
	view = store_view_open(context->store);
	arn = json_get_text(request->input, "ListenerArn");
	if (arn.data)
		listener = elb_listener_find(view, scope, arn);
	balancer = listener ? elb_listener_balancer(view, listener)
			    : elb_load_balancer_find(view, scope,
				      json_get_text(request->input, "LoadBalancerArn"));
	return balancer ? check_port(request, view, balancer, listener) : 0;
}

int elb_listener_prepare(struct aws_request *request)
{
	if (check_certificate_files(request) < 0)
		return -EPERM;
	return prepare_port(request);
}

/* ---- checks ---- */

static bool has_tls(enum elb_protocol protocol)
{
	return protocol == ELB_HTTPS || protocol == ELB_TLS;
}

/* A listener as it is to become: the documents that are changed, and the place of its actions. */
struct edit {
	struct aws_request *request;
	const struct store_object *listener; /* NULL: a new one */
	const struct store_object *same;     /* a new one's: what has its port already, or NULL */
	struct elb_action_place place;
	struct json *api, *private_;
};

static int read_protocol(struct edit *edit)
{
	struct aws_request *request = edit->request;
	struct span name = json_get_text(request->input, "Protocol");
	bool network = elb_load_balancer_facts(edit->place.load_balancer)->type == ELB_NETWORK;

	if (!name.data && edit->listener)
		return 0;
	if (!name.data)
		return aws_fail_input(request, "A listener protocol must be specified");
	if (!elb_protocol_read(name, &edit->place.protocol))
		return aws_fail_input(request, "Protocol: slipway does not support %.*s",
			SPAN_ARGS(name));
	if (network != (edit->place.protocol != ELB_HTTP && edit->place.protocol != ELB_HTTPS))
		return aws_fail_input(request, "Listener protocol '%.*s' must be one of '%s'",
			SPAN_ARGS(name), network ? "UDP, TCP, TLS, TCP_UDP" : "HTTPS, HTTP");
	json_set_string(request->arena, edit->api, "Protocol", name);
	return 0;
}

static int fail_duplicate(const struct edit *edit)
{
	return aws_fail(edit->request, "DuplicateListenerException",
		"A listener already exists on port %lld of the address of this load balancer, %.*s",
		(long long)edit->place.port,
		SPAN_ARGS(elb_load_balancer_facts(edit->place.load_balancer)->address));
}

static int read_port(struct edit *edit)
{
	struct aws_request *request = edit->request;
	int64_t port = json_get_integer(request->input, "Port", edit->place.port);

	if (port == 0)
		return aws_fail_input(request, "A listener port must be specified");
	edit->place.port = port;
	if (is_taken(request->view, edit->place.load_balancer, port,
		    edit->same ? edit->same : edit->listener, request->arena))
		return fail_duplicate(edit);
	json_set_integer(request->arena, edit->api, "Port", port);
	return 0;
}

static int read_policy(struct edit *edit)
{
	struct aws_request *request = edit->request;
	struct span requested = json_get_text(request->input, "SslPolicy");

	if (requested.data && !elb_ssl_policy_exists(requested))
		return elb_ssl_policy_fail(request, requested);
	if (requested.data)
		json_set_string(request->arena, edit->api, "SslPolicy", requested);
	else if (!json_get(edit->api, "SslPolicy"))
		json_set_string(request->arena, edit->api, "SslPolicy",
			SPAN(ELB_SSL_POLICY_DEFAULT));
	return 0;
}

/* The protocols that TLS offers to clients of a network load balancer cannot be configured. */
static int read_alpn(struct edit *edit)
{
	struct aws_request *request = edit->request;
	const struct json *requested = json_get(request->input, "AlpnPolicy");

	if (json_count(requested) == 0)
		return 0;
	if (edit->place.protocol != ELB_TLS)
		return aws_fail(request, "ALPNPolicyNotSupportedException",
			"AlpnPolicy: only TLS listeners have one");
	if (json_count(requested) > 1 || !span_is(json_text(json_item(requested, 0)), "None"))
		return aws_fail(request, "ALPNPolicyNotSupportedException",
			"AlpnPolicy: slipway only supports None: it offers no protocol by ALPN on "
			"TLS listeners");
	json_set(request->arena, edit->api, "AlpnPolicy", requested);
	return 0;
}

static int read_default_certificate(struct edit *edit)
{
	struct aws_request *request = edit->request;
	const struct json *requested = json_get(request->input, "Certificates");
	struct json *list = json_new_array(request->arena);
	struct json *certificate = json_new_object(request->arena);

	if (json_count(requested) > 1)
		return aws_fail_input(request,
			"Certificates: exactly one is given here, the default certificate; "
			"AddListenerCertificates adds others");
	if (json_count(requested) == 0 && json_count(json_get(edit->api, "Certificates")) == 0)
		return aws_fail_input(request, "Certificates: a listener of %s needs a certificate",
			elb_protocol_name(edit->place.protocol));
	if (json_count(requested) == 0)
		return 0;
	json_set_string(request->arena, certificate, "CertificateArn",
		json_get_text(json_item(requested, 0), "CertificateArn"));
	json_append(request->arena, list, certificate);
	json_set(request->arena, edit->api, "Certificates", list);
	return 0;
}

/* A listener without TLS has no members of TLS, also if it had them before. */
static int drop_tls(struct edit *edit)
{
	static const char *const members[] = {"SslPolicy", "Certificates", "AlpnPolicy"};
	const struct json *input = edit->request->input;

	for (size_t i = 0; i < LENGTH(members); i++) {
		const struct json *requested = json_get(input, members[i]);

		if (json_count(requested) > 0 || json_text(requested).length > 0)
			return aws_fail_input(edit->request,
				"%s: only listeners of HTTPS and TLS have one, not %s", members[i],
				elb_protocol_name(edit->place.protocol));
		json_unset(edit->api, members[i]);
	}
	json_unset(edit->private_, "certificates");
	return 0;
}

static int read_tls(struct edit *edit)
{
	struct aws_request *request = edit->request;
	const struct json *mutual = json_get(request->input, "MutualAuthentication");
	struct span mode = json_get_text(mutual, "Mode");
	struct json *off = json_new_object(request->arena);

	if ((mode.data && !span_is(mode, "off")) ||
		json_get_text(mutual, "TrustStoreArn").length > 0)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"MutualAuthentication: slipway does not ask clients for certificates; the "
			"mode must be off, without a trust store");
	json_unset(edit->api, "MutualAuthentication");
	if (!has_tls(edit->place.protocol))
		return drop_tls(edit);
	if (edit->place.protocol == ELB_HTTPS) {
		json_set_string(request->arena, off, "Mode", SPAN("off"));
		json_set(request->arena, edit->api, "MutualAuthentication", off);
	}
	if (read_policy(edit) < 0 || read_alpn(edit) < 0)
		return -EPERM;
	return read_default_certificate(edit);
}

static int read_actions(struct edit *edit)
{
	struct aws_request *request = edit->request;
	const struct json *requested = json_get(request->input, "DefaultActions");
	struct json *actions;

	if (json_is_absent(requested) && edit->listener)
		return elb_actions_check_groups(request, json_get(edit->api, "DefaultActions"),
			&edit->place);
	if (elb_actions_read(request, "DefaultActions", &edit->place, &actions) < 0)
		return -EPERM;
	json_set(request->arena, edit->api, "DefaultActions", actions);
	return 0;
}

/* Rules belong to the old protocol; HTTP and HTTPS take each other's. */
static int read_edit(struct edit *edit)
{
	return read_port(edit) < 0 || read_protocol(edit) < 0 || read_tls(edit) < 0 ||
			       read_actions(edit) < 0
		       ? -EPERM
		       : 0;
}

/* ---- operations ---- */

static int answer(struct aws_request *request, const struct json *listener)
{
	struct json *list = json_new_array(request->arena);
	struct json *document = json_new_object(request->arena);

	json_append(request->arena, list, listener);
	json_set(request->arena, document, "Listeners", list);
	json_write(document, request->out);
	return 0;
}

static int put_edit(const struct edit *edit, struct span key, uint64_t expected)
{
	struct aws_request *request = edit->request;
	struct span api;

	if (document_text(request, edit->api, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &elb_listener_kind, key, api,
		    json_to_text(edit->private_, request->arena), expected, &request->err) < 0)
		return aws_fail_store(request);
	if (elb_actions_check_limits(request, edit->place.load_balancer) < 0)
		return -EPERM;
	return answer(request, edit->api);
}

static int check_count(struct aws_request *request, const struct store_object *balancer)
{
	struct span prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(balancer->key));

	if (store_count(request->view, &elb_listener_kind, -1, prefix, false) >= ELB_LISTENERS_MAX)
		return aws_fail(request, "TooManyListenersException",
			"A load balancer has at most %d listeners", ELB_LISTENERS_MAX);
	if (store_count(request->view, &elb_listener_kind, -1, SPAN(""), false) >=
		LISTENERS_TOTAL_MAX)
		return aws_fail(request, "TooManyListenersException",
			"All load balancers together have at most %d listeners",
			LISTENERS_TOTAL_MAX);
	return 0;
}

static const struct store_object *find_by_port(struct aws_request *request,
	const struct store_object *balancer)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_listener_kind,
		.index = ELB_LISTENER_BY_PORT,
		.prefix = arena_format(request->arena, "%.*s/%lld", SPAN_ARGS(balancer->key),
			(long long)json_get_integer(request->input, "Port", 0)),
		.exact = true};

	return store_next(&cursor);
}

/* Creating the same listener again changes nothing. */
static int answer_same(const struct edit *edit)
{
	struct aws_request *request = edit->request;
	struct json *api, *private_;

	if (elb_parse_object(request, edit->same, &api, &private_) < 0)
		return -EPERM;
	json_set(request->arena, edit->api, "ListenerArn", json_get(api, "ListenerArn"));
	if (!json_equal(api, edit->api) ||
		!json_equal(json_get(private_, "tags"), json_get(edit->private_, "tags")))
		return fail_duplicate(edit);
	request->resource = json_get_text(api, "ListenerArn");
	return answer(request, api);
}

int elb_listener_create(struct aws_request *request)
{
	struct elb_listener_facts facts = {.created_ms = request->now_ms};
	struct edit edit = {.request = request,
		.api = json_new_object(request->arena),
		.private_ = json_new_object(request->arena)};
	struct span balancer_arn = json_get_text(request->input, "LoadBalancerArn"), key;
	const struct json *tags;
	char id[ELB_ID_SIZE];

	if (get_balancer(request, balancer_arn, &edit.place.load_balancer) < 0 ||
		elb_tags_read(request, &tags) < 0)
		return -EPERM;
	elb_new_id(request->random, id);
	key = arena_format(request->arena, "%.*s/%s", SPAN_ARGS(edit.place.load_balancer->key), id);
	request->resource = elb_listener_arn(request->arena, edit.place.load_balancer, span_of(id));
	json_set_string(request->arena, edit.api, "ListenerArn", request->resource);
	json_set_string(request->arena, edit.api, "LoadBalancerArn", balancer_arn);
	json_set(request->arena, edit.private_, "tags", tags);
	elb_listener_facts_write(&facts, request->arena, edit.private_);
	edit.same = find_by_port(request, edit.place.load_balancer);
	if (read_edit(&edit) < 0)
		return -EPERM;
	if (edit.same)
		return answer_same(&edit);
	if (check_count(request, edit.place.load_balancer) < 0)
		return -EPERM;
	return put_edit(&edit, key, STORE_ABSENT);
}

int elb_listener_modify(struct aws_request *request)
{
	struct edit edit = {.request = request};

	if (elb_listener_get(request, json_get_text(request->input, "ListenerArn"),
		    &edit.listener) < 0 ||
		elb_parse_object(request, edit.listener, &edit.api, &edit.private_) < 0)
		return -EPERM;
	edit.place = (struct elb_action_place){
		.load_balancer = elb_listener_balancer(request->view, edit.listener),
		.protocol = elb_listener_facts(edit.listener)->protocol,
		.port = elb_listener_facts(edit.listener)->port,
	};
	if (read_edit(&edit) < 0)
		return -EPERM;
	return put_edit(&edit, edit.listener->key, edit.listener->revision);
}

/* A cursor does not survive a change, so there is a new one for each. */
static int delete_rules(struct store_transaction *transaction, struct span prefix, struct err *err)
{
	for (;;) {
		struct store_cursor cursor = {.view = store_head(transaction),
			.kind = &elb_rule_kind,
			.index = -1,
			.prefix = prefix};
		const struct store_object *rule = store_next(&cursor);
		int code;

		if (!rule)
			return 0;
		code = store_delete(transaction, &elb_rule_kind, rule->key, rule->revision, err);
		if (code < 0)
			return code;
	}
}

int elb_listener_remove(struct store_transaction *transaction, const struct store_object *listener,
	struct err *err)
{
	struct span prefix = arena_format(store_transaction_arena(transaction), "%.*s/",
		SPAN_ARGS(listener->key));
	int code = delete_rules(transaction, prefix, err);

	if (code < 0)
		return code;
	return store_delete(transaction, &elb_listener_kind, listener->key, listener->revision,
		err);
}

int elb_listener_delete(struct aws_request *request)
{
	const struct store_object *listener;

	if (elb_listener_get(request, json_get_text(request->input, "ListenerArn"), &listener) < 0)
		return -EPERM;
	if (elb_listener_remove(request->transaction, listener, &request->err) < 0)
		return aws_fail_store(request);
	buffer_add_string(request->out, "{}");
	return 0;
}

/* ---- describing ---- */

void elb_answer_begin(struct aws_request *request, const char *name)
{
	buffer_format(request->out, "{\"%s\":[", name);
}

void elb_answer_item(struct aws_request *request, size_t index, struct span text)
{
	if (index > 0)
		buffer_add_char(request->out, ',');
	buffer_add_span(request->out, text);
}

void elb_answer_end(struct aws_request *request, struct span next_marker)
{
	buffer_add_char(request->out, ']');
	if (next_marker.data)
		buffer_format(request->out, ",\"NextMarker\":\"%.*s\"", SPAN_ARGS(next_marker));
	buffer_add_char(request->out, '}');
}

static int describe_named(struct aws_request *request, const struct json *arns)
{
	const struct store_object *listener;
	size_t count = 0;

	if (json_count(arns) > DESCRIBE_MAX)
		return aws_fail_input(request, "ListenerArns: %zu are given, the limit is %d",
			json_count(arns), DESCRIBE_MAX);
	elb_answer_begin(request, "Listeners");
	JSON_EACH_ITEM (arns, arn) {
		if (elb_listener_get(request, json_text(arn), &listener) < 0)
			return -EPERM;
		elb_answer_item(request, count++, listener->api);
	}
	elb_answer_end(request, SPAN_NONE);
	return 0;
}

static int describe_of_balancer(struct aws_request *request, struct span arn)
{
	struct store_cursor cursor = {
		.view = request->view, .kind = &elb_listener_kind, .index = -1};
	const struct store_object *balancer, *listener, *last = NULL;
	struct span next = SPAN_NONE;
	struct aws_page page;
	size_t count = 0;

	if (get_balancer(request, arn, &balancer) < 0 ||
		aws_page_read(request, DESCRIBE_MAX, DESCRIBE_MAX, balancer->key, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(balancer->key));
	cursor.after_key = page.after_key;
	elb_answer_begin(request, "Listeners");
	while ((listener = store_next(&cursor)) && count < page.most) {
		elb_answer_item(request, count++, listener->api);
		last = listener;
	}
	if (listener)
		next = aws_page_token(request, balancer->key, SPAN(""), last->key);
	elb_answer_end(request, next);
	return 0;
}

int elb_listener_describe(struct aws_request *request)
{
	struct span balancer = json_get_text(request->input, "LoadBalancerArn");
	const struct json *arns = json_get(request->input, "ListenerArns");

	if ((balancer.length > 0) == (json_count(arns) > 0))
		return aws_fail_input(request, "Give either LoadBalancerArn or ListenerArns");
	if (balancer.length > 0)
		return describe_of_balancer(request, balancer);
	return describe_named(request, arns);
}
