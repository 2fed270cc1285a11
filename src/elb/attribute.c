/* Attributes; see attribute.h. docs/load-balancing.md says which of them act here. */
#include "elb/attribute.h"

#include "aws/document.h"
#include "base/memory.h"
#include "elb/target.h"

/* The kinds of objects that an attribute applies to. */
enum audience {
	APPLICATION = 1, /* load balancers, and groups and listeners of HTTP and HTTPS */
	TCP_INSTANCES = 2,
	TCP_ADDRESSES = 4, /* TCP and TLS */
	UDP = 8,           /* UDP and TCP_UDP */
	TCP = TCP_INSTANCES | TCP_ADDRESSES,
	NETWORK = TCP | UDP,
	ALL = APPLICATION | NETWORK,
};

struct row {
	const char *name;
	const char *otherwise; /* its default */
	unsigned audience;
	const char *words; /* "true|false": values, beside numbers from min to max */
	int64_t min, max;  /* max 0: no numbers */
	size_t text_max;   /* > 0: any plain text of up to so many bytes */
};

#define FLAG "true|false"

static const struct row load_balancer_rows[] = {
	{"deletion_protection.enabled", "false", ALL, FLAG, 0, 0, 0},
	{"load_balancing.cross_zone.enabled", "true", APPLICATION, "true", 0, 0, 0},
	{"load_balancing.cross_zone.enabled", "false", NETWORK, FLAG, 0, 0, 0},
	{"access_logs.s3.enabled", "false", ALL, FLAG, 0, 0, 0},
	{"access_logs.s3.bucket", "", ALL, "", 0, 0, 63},
	{"access_logs.s3.prefix", "", ALL, "", 0, 0, 512},
	{"ipv6.deny_all_igw_traffic", "false", ALL, FLAG, 0, 0, 0},
	{"zonal_shift.config.enabled", "false", ALL, FLAG, 0, 0, 0},
	{"idle_timeout.timeout_seconds", "60", APPLICATION, "", 1, 4000, 0},
	{"client_keep_alive.seconds", "3600", APPLICATION, "", 60, 604800, 0},
	{"connection_logs.s3.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"connection_logs.s3.bucket", "", APPLICATION, "", 0, 0, 63},
	{"connection_logs.s3.prefix", "", APPLICATION, "", 0, 0, 512},
	{"health_check_logs.s3.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"health_check_logs.s3.bucket", "", APPLICATION, "", 0, 0, 63},
	{"health_check_logs.s3.prefix", "", APPLICATION, "", 0, 0, 512},
	{"routing.http.desync_mitigation_mode", "defensive", APPLICATION,
		"monitor|defensive|strictest", 0, 0, 0},
	{"routing.http.drop_invalid_header_fields.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"routing.http.preserve_host_header.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"routing.http.x_amzn_tls_version_and_cipher_suite.enabled", "false", APPLICATION, FLAG, 0,
		0, 0},
	{"routing.http.xff_client_port.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"routing.http.xff_header_processing.mode", "append", APPLICATION, "append|preserve|remove",
		0, 0, 0},
	{"routing.http2.enabled", "true", APPLICATION, FLAG, 0, 0, 0},
	{"waf.fail_open.enabled", "false", APPLICATION, FLAG, 0, 0, 0},
	{"dns_record.client_routing_policy", "any_availability_zone", NETWORK,
		"availability_zone_affinity|partial_availability_zone_affinity|any_availability_"
		"zone",
		0, 0, 0},
	{"secondary_ips.auto_assigned.per_subnet", "0", NETWORK, "0", 1, 7, 0},
};

static const struct row target_group_rows[] = {
	{"deregistration_delay.timeout_seconds", "300", ALL, "0", 1, 3600, 0},
	{"stickiness.enabled", "false", ALL, FLAG, 0, 0, 0},
	{"stickiness.type", "lb_cookie", APPLICATION, "lb_cookie|app_cookie", 0, 0, 0},
	{"stickiness.type", "source_ip", NETWORK, "source_ip", 0, 0, 0},
	{"load_balancing.cross_zone.enabled", "use_load_balancer_configuration", ALL,
		FLAG "|use_load_balancer_configuration", 0, 0, 0},
	{"target_group_health.dns_failover.minimum_healthy_targets.count", "1", ALL, "off", 1,
		ELB_TARGETS_MAX, 0},
	{"target_group_health.dns_failover.minimum_healthy_targets.percentage", "off", ALL, "off",
		1, 100, 0},
	{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", "1", ALL, "",
		1, ELB_TARGETS_MAX, 0},
	{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage", "off",
		ALL, "off", 1, 100, 0},
	{"load_balancing.algorithm.type", "round_robin", APPLICATION,
		"round_robin|least_outstanding_requests|weighted_random", 0, 0, 0},
	{"load_balancing.algorithm.anomaly_mitigation", "off", APPLICATION, "on|off", 0, 0, 0},
	{"slow_start.duration_seconds", "0", APPLICATION, "0", 30, 900, 0},
	{"stickiness.lb_cookie.duration_seconds", "86400", APPLICATION, "", 1, 604800, 0},
	{"stickiness.app_cookie.cookie_name", "", APPLICATION, "", 0, 0, 255},
	{"stickiness.app_cookie.duration_seconds", "86400", APPLICATION, "", 1, 604800, 0},
	{"deregistration_delay.connection_termination.enabled", "false", TCP, FLAG, 0, 0, 0},
	{"deregistration_delay.connection_termination.enabled", "true", UDP, FLAG, 0, 0, 0},
	{"preserve_client_ip.enabled", "true", TCP_INSTANCES, FLAG, 0, 0, 0},
	{"preserve_client_ip.enabled", "false", TCP_ADDRESSES, FLAG, 0, 0, 0},
	{"preserve_client_ip.enabled", "true", UDP, "true", 0, 0, 0},
	{"proxy_protocol_v2.enabled", "false", NETWORK, FLAG, 0, 0, 0},
	{"target_health_state.unhealthy.connection_termination.enabled", "true", TCP, FLAG, 0, 0,
		0},
	{"target_health_state.unhealthy.connection_termination.enabled", "false", UDP, "false", 0,
		0, 0},
	{"target_health_state.unhealthy.draining_interval_seconds", "0", NETWORK, "0", 1, 360000,
		0},
};

/* listener_attribute.c rejects the other AWS attributes, which slipway does not support. */
static const struct row listener_rows[] = {
	{"tcp.idle_timeout.seconds", "350", TCP, "", 60, 6000, 0},
	/* slipway does not name itself in a Server header, so there is none to leave out. */
	{"routing.http.response.server.enabled", "true", APPLICATION, "true|false", 0, 0, 0},
};

/* ---- which table, and for which kinds of objects ---- */

static unsigned group_audience(const struct elb_target_group_facts *facts)
{
	switch (facts->protocol) {
	case ELB_HTTP:
	case ELB_HTTPS: return APPLICATION;
	case ELB_UDP:
	case ELB_TCP_UDP: return UDP;
	default: return facts->instances ? TCP_INSTANCES : TCP_ADDRESSES;
	}
}

static unsigned audience_of_group(const struct store_object *object)
{
	return group_audience(elb_target_group_facts(object));
}

static unsigned audience_of_load_balancer(const struct store_object *object)
{
	return elb_load_balancer_facts(object)->type == ELB_APPLICATION ? APPLICATION : NETWORK;
}

static unsigned audience_of_listener(const struct store_object *object)
{
	switch (elb_listener_facts(object)->protocol) {
	case ELB_HTTP:
	case ELB_HTTPS: return APPLICATION;
	case ELB_UDP: return UDP;
	default: return TCP;
	}
}

struct settings;
static int check_load_balancer(const struct settings *settings);
static int check_target_group(const struct settings *settings);

static const struct table {
	const struct store_kind *kind;
	unsigned (*audience)(const struct store_object *object);
	/* Checks that involve several rows; may be NULL. */
	int (*check)(const struct settings *settings);
	const struct row *rows;
	size_t count;
} tables[] = {
	{&elb_load_balancer_kind, audience_of_load_balancer, check_load_balancer,
		load_balancer_rows, LENGTH(load_balancer_rows)},
	{&elb_target_group_kind, audience_of_group, check_target_group, target_group_rows,
		LENGTH(target_group_rows)},
	{&elb_listener_kind, audience_of_listener, NULL, listener_rows, LENGTH(listener_rows)},
};

static const struct table *table_of(const struct store_object *object)
{
	for (size_t i = 0; i < LENGTH(tables); i++)
		if (tables[i].kind == object->kind)
			return &tables[i];
	return NULL;
}

static const struct row *find_row(const struct row *rows, size_t count, unsigned audience,
	struct span name)
{
	for (size_t i = 0; i < count; i++)
		if ((rows[i].audience & audience) && span_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

static struct span value_of(const struct row *row, const struct json *attributes)
{
	struct span value = row ? json_get_text(attributes, row->name) : SPAN("");

	return value.data ? value : span_of(row->otherwise);
}

struct span elb_target_group_attribute(const struct elb_target_group_facts *facts,
	const struct json *attributes, const char *name)
{
	return value_of(find_row(target_group_rows, LENGTH(target_group_rows),
				group_audience(facts), span_of(name)),
		attributes);
}

static const struct json *attributes_of(const struct store_object *object, struct arena *arena)
{
	struct json *private_;

	if (json_parse(object->private_, arena, &private_, NULL) < 0)
		return NULL;
	return json_get(private_, "attributes");
}

struct span elb_attribute(const struct store_object *object, const char *name, struct arena *arena)
{
	const struct table *table = table_of(object);

	if (!table)
		return SPAN("");
	return value_of(find_row(table->rows, table->count, table->audience(object), span_of(name)),
		attributes_of(object, arena));
}

/* ---- values ---- */

static bool is_word_of(const char *words, struct span value)
{
	struct span rest = span_of(words), word;

	while (span_split(rest, '|', &word, &rest))
		if (span_equal(word, value))
			return true;
	return rest.length > 0 && span_equal(rest, value);
}

/* "true or false", "off or a number from 1 to 100", for messages. */
static struct span allowed_values(struct arena *arena, const struct row *row)
{
	struct span text = SPAN(""), rest = span_of(row->words), word;

	while (rest.length > 0) {
		if (!span_split(rest, '|', &word, &rest)) {
			word = rest;
			rest = SPAN("");
		}
		text = arena_format(arena, "%.*s%s%.*s", SPAN_ARGS(text), text.length ? " or " : "",
			SPAN_ARGS(word));
	}
	if (row->max > 0)
		text = arena_format(arena, "%.*s%sa number from %lld to %lld", SPAN_ARGS(text),
			text.length ? " or " : "", (long long)row->min, (long long)row->max);
	if (row->text_max > 0)
		text = arena_format(arena, "a text of up to %zu characters without spaces",
			row->text_max);
	return text;
}

static bool is_plain_word(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f || text.data[i] == '"' ||
			text.data[i] == '\\')
			return false;
	return true;
}

static bool is_allowed(const struct row *row, struct span value)
{
	uint64_t number;

	if (is_word_of(row->words, value))
		return true;
	if (row->max > 0 && span_to_unsigned(value, (uint64_t)row->max, &number))
		return number >= (uint64_t)row->min;
	return row->text_max > 0 && value.length <= row->text_max && is_plain_word(value);
}

/* ---- checks of several attributes ---- */

/* The values that an object would have. */
struct settings {
	struct aws_request *request;
	const struct store_object *object;
	const struct table *table;
	unsigned audience;
	const struct json *attributes;
};

static struct span setting(const struct settings *settings, const char *name)
{
	return value_of(find_row(settings->table->rows, settings->table->count, settings->audience,
				span_of(name)),
		settings->attributes);
}

static int check_load_balancer(const struct settings *settings)
{
	static const char *const logs[] = {"access_logs.s3.enabled", "connection_logs.s3.enabled",
		"health_check_logs.s3.enabled"};

	for (size_t i = 0; i < LENGTH(logs); i++)
		if (span_is(setting(settings, logs[i]), "true"))
			return aws_fail(settings->request, "InvalidConfigurationRequestException",
				"%s: slipway does not write logs to S3", logs[i]);
	return 0;
}

/* The characters that RFC 6265 allows in a cookie's name. */
static bool is_token(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f ||
			strchr("()<>@,;:\\\"/[]?={}", text.data[i]))
			return false;
	return text.length > 0;
}

static int check_cookie(const struct settings *settings)
{
	struct span name = setting(settings, "stickiness.app_cookie.cookie_name");

	if (name.length > 0 && (!is_token(name) || span_starts_with(name, SPAN("AWSALB"))))
		return aws_fail_input(settings->request,
			"stickiness.app_cookie.cookie_name: '%.*s' is not a name of a cookie, or "
			"begins with AWSALB, which is reserved",
			SPAN_ARGS(name));
	if (name.length == 0 && span_is(setting(settings, "stickiness.enabled"), "true") &&
		span_is(setting(settings, "stickiness.type"), "app_cookie"))
		return aws_fail(settings->request, "InvalidConfigurationRequestException",
			"stickiness.app_cookie.cookie_name must be set when stickiness.type is "
			"app_cookie");
	return 0;
}

static int check_target_group(const struct settings *settings)
{
	struct span algorithm = setting(settings, "load_balancing.algorithm.type");
	struct span slow_start = setting(settings, "slow_start.duration_seconds");

	if (elb_target_group_facts(settings->object)->protocol == ELB_TLS &&
		span_is(setting(settings, "stickiness.enabled"), "true"))
		return aws_fail(settings->request, "InvalidConfigurationRequestException",
			"You cannot enable stickiness on target groups with the TLS protocol");
	if (algorithm.length > 0 && !span_is(algorithm, "round_robin") && !span_is(slow_start, "0"))
		return aws_fail(settings->request, "InvalidConfigurationRequestException",
			"slow_start.duration_seconds cannot be used when "
			"load_balancing.algorithm.type is %.*s",
			SPAN_ARGS(algorithm));
	if (span_is(setting(settings, "load_balancing.algorithm.anomaly_mitigation"), "on") &&
		!span_is(algorithm, "weighted_random"))
		return aws_fail(settings->request, "InvalidConfigurationRequestException",
			"load_balancing.algorithm.anomaly_mitigation can only be on when "
			"load_balancing.algorithm.type is weighted_random");
	if (span_is(setting(settings,
			    "target_health_state.unhealthy.connection_termination.enabled"),
		    "true") &&
		!span_is(setting(settings,
				 "target_health_state.unhealthy.draining_interval_seconds"),
			"0"))
		return aws_fail(settings->request, "InvalidConfigurationRequestException",
			"target_health_state.unhealthy.draining_interval_seconds can only be set "
			"when target_health_state.unhealthy.connection_termination.enabled is "
			"false");
	return check_cookie(settings);
}

/* ---- operations ---- */

static int answer(struct aws_request *request, const struct table *table, unsigned audience,
	const struct json *attributes)
{
	struct json *document = json_new_object(request->arena);
	struct json *list = json_new_array(request->arena);

	for (size_t i = 0; i < table->count; i++) {
		struct json *pair;

		if (!(table->rows[i].audience & audience))
			continue;
		pair = json_new_object(request->arena);
		json_set_string(request->arena, pair, "Key", span_of(table->rows[i].name));
		json_set_string(request->arena, pair, "Value",
			value_of(&table->rows[i], attributes));
		json_append(request->arena, list, pair);
	}
	json_set(request->arena, document, "Attributes", list);
	json_write(document, request->out);
	return 0;
}

int elb_attributes_describe(struct aws_request *request, const struct store_object *object)
{
	const struct table *table = table_of(object);

	return answer(request, table, table->audience(object),
		attributes_of(object, request->arena));
}

static int check_requested(struct aws_request *request, const struct table *table,
	unsigned audience, const struct json *requested)
{
	size_t at = 0;

	if (json_count(requested) > ELB_ATTRIBUTES_MAX)
		return aws_fail_input(request, "Attributes: %zu are given, the limit is %d",
			json_count(requested), ELB_ATTRIBUTES_MAX);
	JSON_EACH_ITEM (requested, attribute) {
		struct span name = json_get_text(attribute, "Key");
		struct span value = json_get_text(attribute, "Value");
		const struct row *row =
			name.data ? find_row(table->rows, table->count, audience, name) : NULL;

		if (!row)
			return aws_fail_input(request,
				"Attributes: the attribute key '%.*s' is not recognized for this "
				"resource",
				SPAN_ARGS(name.data ? name : SPAN("")));
		if (!value.data || !is_allowed(row, value))
			return aws_fail_input(request, "Attributes: the value of '%s' must be %.*s",
				row->name, SPAN_ARGS(allowed_values(request->arena, row)));
		for (size_t i = 0; i < at; i++)
			if (span_equal(json_get_text(json_item(requested, i), "Key"), name))
				return aws_fail_input(request, "Attributes: '%s' is given twice",
					row->name);
		at++;
	}
	return 0;
}

int elb_attributes_modify(struct aws_request *request, const struct store_object *object)
{
	const struct json *requested = json_get(request->input, "Attributes");
	const struct table *table = table_of(object);
	unsigned audience = table->audience(object);
	struct json *old, *private_, *attributes;
	struct settings settings = {
		.request = request, .object = object, .table = table, .audience = audience};

	if (check_requested(request, table, audience, requested) < 0)
		return -EPERM;
	if (json_parse(object->private_, request->arena, &old, &request->err) < 0)
		return aws_fail_store(request);
	attributes = json_is_absent(json_get(old, "attributes"))
			     ? json_new_object(request->arena)
			     : json_copy_object(request->arena, json_get(old, "attributes"));
	JSON_EACH_ITEM (requested, attribute)
		json_set_string(request->arena, attributes,
			find_row(table->rows, table->count, audience,
				json_get_text(attribute, "Key"))
				->name,
			json_get_text(attribute, "Value"));
	settings.attributes = attributes;
	if (table->check && table->check(&settings) < 0)
		return -EPERM;
	private_ = json_copy_object(request->arena, old);
	json_set(request->arena, private_, "attributes", attributes);
	if (store_put(request->transaction, object->kind, object->key, object->api,
		    json_to_text(private_, request->arena), object->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, table, audience, attributes);
}
