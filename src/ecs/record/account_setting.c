/* Account settings: the table of names with their values, and the operations; see the header. */
#include "ecs/record/account_setting.h"

#include <ctype.h>

#include "aws/arn.h"
#include "aws/page.h"
#include "ecs/record/name.h"

#define PRINCIPAL_MAX 512
#define PAGE_MAX 10

static const struct setting {
	const char *name;
	const char *values[5]; /* the first is AWS's default */
	bool aws_managed;      /* cannot be put */
} settings[] = {
	{"awsvpcTrunking", {"disabled", "enabled"}, false},
	{"containerInsights", {"disabled", "enabled", "enhanced"}, false},
	{"containerInstanceLongArnFormat", {"enabled", "disabled"}, false},
	{"defaultLogDriverMode", {"non-blocking", "blocking"}, false},
	{"fargateEventWindows", {"disabled", "enabled"}, false},
	{"fargateFIPSMode", {"disabled", "enabled"}, false},
	{"fargateTaskRetirementWaitPeriod", {"7", "0", "14"}, false},
	{"guardDutyActivate", {"off", "on"}, true},
	{"serviceLongArnFormat", {"enabled", "disabled"}, false},
	{"tagResourceAuthorization", {"off", "on"}, false},
	{"taskLongArnFormat", {"enabled", "disabled"}, false},
};

/* Keys are "ACCOUNT/REGION/NAME PRINCIPAL": a range per name; ARNs of principals hold slashes. */
const struct store_kind account_setting_kind = {.name = "ecs.account_setting"};

static const struct setting *find_setting(struct span name)
{
	for (size_t i = 0; i < LENGTH(settings); i++)
		if (span_is(name, settings[i].name))
			return &settings[i];
	return NULL;
}

static struct span root_principal(struct aws_request *request)
{
	return arena_format(request->arena, "arn:%.*s:iam::%.*s:root",
		SPAN_ARGS(aws_partition_of(request->caller->region)),
		SPAN_ARGS(request->caller->account));
}

static struct span own_principal(struct aws_request *request)
{
	return arena_format(request->arena, "arn:%.*s:iam::%.*s:user/%.*s",
		SPAN_ARGS(aws_partition_of(request->caller->region)),
		SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->user));
}

/* "root", "user/NAME" or "role/NAME", with paths; what IAM allows in names. */
static bool is_principal(struct span text)
{
	if (span_is(text, "root"))
		return true;
	if (!span_starts_with(text, SPAN("user/")) && !span_starts_with(text, SPAN("role/")))
		return false;
	for (size_t i = 0; i < text.length; i++)
		if (!isalnum((unsigned char)text.data[i]) && !memchr("/+=,.@_-", text.data[i], 8))
			return false;
	return text.length > 5;
}

/* The principal that the input names: its own account's user, role or root. */
static int read_principal(struct aws_request *request, struct span *ret_principal)
{
	struct span requested = json_get_text(request->input, "principalArn");
	struct span prefix = arena_format(request->arena,
		"arn:%.*s:iam::%.*s:", SPAN_ARGS(aws_partition_of(request->caller->region)),
		SPAN_ARGS(request->caller->account));

	if (!requested.data) {
		*ret_principal = own_principal(request);
		return 0;
	}
	if (requested.length > PRINCIPAL_MAX || !span_starts_with(requested, prefix) ||
		!is_principal((struct span){
			requested.data + prefix.length, requested.length - prefix.length}))
		return aws_fail_input(request,
			"principalArn: '%.*s' is not a user, role or root of account %.*s",
			SPAN_ARGS(requested), SPAN_ARGS(request->caller->account));
	*ret_principal = requested;
	return 0;
}

static struct span setting_key(struct aws_request *request, struct span name, struct span principal)
{
	return aws_key(request,
		arena_format(request->arena, "%.*s %.*s", SPAN_ARGS(name), SPAN_ARGS(principal)));
}

static struct span stored_value(struct aws_request *request, struct span name,
	struct span principal)
{
	const struct store_object *object = store_get(request->view, &account_setting_kind,
		setting_key(request, name, principal));

	return object ? object->private_ : SPAN_NONE;
}

static struct span effective(struct aws_request *request, const struct setting *setting,
	struct span principal)
{
	struct span name = span_of(setting->name);
	struct span value = stored_value(request, name, principal);

	if (!value.data)
		value = stored_value(request, name, root_principal(request));
	return value.data ? value : span_of(setting->values[0]);
}

struct span account_setting_effective(struct aws_request *request, const char *name)
{
	return effective(request, find_setting(span_of(name)), own_principal(request));
}

static const struct json *setting_document(struct aws_request *request,
	const struct setting *setting, struct span value, struct span principal)
{
	struct json *document = json_new_object(request->arena);

	json_set_string(request->arena, document, "name", span_of(setting->name));
	json_set_string(request->arena, document, "value", value);
	json_set_string(request->arena, document, "principalArn", principal);
	json_set_string(request->arena, document, "type",
		setting->aws_managed ? SPAN("aws_managed") : SPAN("user"));
	return document;
}

static int answer(struct aws_request *request, const struct json *document)
{
	buffer_add_string(request->out, "{\"setting\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

int account_setting_prepare(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "name");
	struct span value = json_get_text(request->input, "value");
	const struct setting *setting = find_setting(name);
	struct buffer known = {0};

	if (!setting)
		return aws_fail_input(request, "name: there is no account setting '%.*s'",
			SPAN_ARGS(name));
	if (!value.data)
		return 0; /* DeleteAccountSetting */
	if (setting->aws_managed)
		return aws_fail_input(request, "name: '%.*s' is managed by AWS and cannot be set",
			SPAN_ARGS(name));
	for (size_t i = 0; i < LENGTH(setting->values) && setting->values[i]; i++) {
		if (span_is(value, setting->values[i])) {
			buffer_clear(&known);
			return 0;
		}
		buffer_format(&known, "%s%s", i ? ", " : "", setting->values[i]);
	}
	aws_fail_input(request, "value: '%.*s' is not a value of %s, which takes one of: %s",
		SPAN_ARGS(value), setting->name, known.data);
	buffer_clear(&known);
	return -EPERM;
}

static int put_for(struct aws_request *request, struct span principal)
{
	struct span name = json_get_text(request->input, "name");
	struct span value = json_get_text(request->input, "value");

	if (store_put(request->transaction, &account_setting_kind,
		    setting_key(request, name, principal), SPAN(""), value, STORE_ANY,
		    &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, setting_document(request, find_setting(name), value, principal));
}

int account_setting_put(struct aws_request *request)
{
	struct span principal;

	if (read_principal(request, &principal) < 0)
		return -EPERM;
	return put_for(request, principal);
}

int account_setting_put_default(struct aws_request *request)
{
	return put_for(request, root_principal(request));
}

int account_setting_delete(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "name");
	const struct setting *setting = find_setting(name);
	struct span principal;

	if (read_principal(request, &principal) < 0)
		return -EPERM;
	if (stored_value(request, name, principal).data &&
		store_delete(request->transaction, &account_setting_kind,
			setting_key(request, name, principal), STORE_ANY, &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	return answer(request, setting_document(request, setting,
				       effective(request, setting, principal), principal));
}

/* The settings are few, so a page token is the name of the last setting on the page. */
int account_setting_list(struct aws_request *request)
{
	struct span only_name = json_get_text(request->input, "name");
	struct span only_value = json_get_text(request->input, "value");
	bool all = json_get_bool(request->input, "effectiveSettings", false);
	struct json *list = json_new_array(request->arena);
	struct span principal, filters, last = SPAN_NONE;
	struct aws_page page;
	bool more = false;

	if (read_principal(request, &principal) < 0)
		return -EPERM;
	filters = arena_format(request->arena, "%.*s %.*s %.*s %d", SPAN_ARGS(principal),
		SPAN_ARGS(only_name.data ? only_name : SPAN("")),
		SPAN_ARGS(only_value.data ? only_value : SPAN("")), all);
	if (aws_page_read(request, PAGE_MAX, PAGE_MAX, filters, &page) < 0)
		return -EPERM;
	if (only_value.data && !only_name.data)
		return aws_fail_input(request, "value: can only be given together with name");
	for (size_t i = 0; i < LENGTH(settings) && !more; i++) {
		struct span name = span_of(settings[i].name);
		struct span value = all ? effective(request, &settings[i], principal)
					: stored_value(request, name, principal);

		if (!value.data || (only_name.data && !span_equal(only_name, name)) ||
			(only_value.data && !span_equal(only_value, value)) ||
			(page.after_key.data && span_compare(name, page.after_key) <= 0))
			continue;
		more = json_count(list) == page.most;
		if (more)
			break;
		json_append(request->arena, list,
			setting_document(request, &settings[i], value, principal));
		last = name;
	}
	buffer_add_string(request->out, "{\"settings\":");
	json_write(list, request->out);
	if (more)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, filters, SPAN(""), last)));
	buffer_add_char(request->out, '}');
	return 0;
}
