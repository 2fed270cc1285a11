/* Names: valid for every valid ECS name, readable, and unique. */
#include "runtime/test_kubernetes.h"

#include "runtime/kubernetes/names.h"

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X250 X50 X50 X50 X50 X50
#define TOKEN "0123456789abcdef0123456789abcdef"

static bool is_dns_label(struct span name, size_t max)
{
	if (name.length == 0 || name.length > max || name.data[0] == '-' ||
		name.data[name.length - 1] == '-')
		return false;
	for (size_t i = 0; i < name.length; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", name.data[i]))
			return false;
	return true;
}

static struct span namespace_of(struct arena *arena, const char *arn)
{
	struct span name;
	struct err err;

	if (kubernetes_namespace_name(arena, span_of(arn), &name, &err) < 0)
		fail_msg("%s: %s", arn, err.message);
	return name;
}

static void test_namespaces(void **state)
{
	static const struct {
		const char *arn, *begins;
	} rows[] = {
		{"arn:aws:ecs:us-east-1:123456789012:cluster/default", "default-us-east-1-"},
		{"arn:aws-us-gov:ecs:us-gov-west-1:123456789012:cluster/default",
			"default-us-gov-west-1-"},
		{"arn:aws:ecs:us-east-1:000000000000:cluster/default", "default-us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/Web_Shop", "web-shop-us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/web-shop", "web-shop-us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/web_shop", "web-shop-us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/___", "us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/-a-", "a-us-east-1-"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/" X250, "xxxx"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/" X250 "y", "xxxx"},
		{"arn:aws:ecs:us-east-1:123456789012:cluster/9lives", "9lives-us-east-1-"},
		/* The boundary between two names is not visible, so the hash differs. */
		{"arn:aws:ecs:us-gov-west-1:123456789012:cluster/a", "a-us-gov-west-1-"},
		{"arn:aws:ecs:gov-west-1:123456789012:cluster/a-us", "a-us-gov-west-1-"},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct span names[LENGTH(rows)], again;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		names[i] = namespace_of(arena, rows[i].arn);
		if (!is_dns_label(names[i], KUBERNETES_LABEL_MAX) ||
			!span_starts_with(names[i], span_of(rows[i].begins)))
			fail_msg("%s became %s", rows[i].arn, names[i].data);
		for (size_t j = 0; j < i; j++)
			if (span_equal(names[i], names[j]))
				fail_msg("%s and %s are both %s", rows[i].arn, rows[j].arn,
					names[i].data);
		again = namespace_of(arena, rows[i].arn);
		assert_true(span_equal(names[i], again));
	}
}

static void test_no_clusters(void **state)
{
	static const char *const rows[] = {"", "default", "arn:aws:ecs:us-east-1:1:cluster/",
		"arn:aws:ecs:us-east-1:1:service/web", "arn:aws:ecs"};
	_arena_ struct arena *arena = arena_new(0);
	struct span name;
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(kubernetes_namespace_name(arena, span_of(rows[i]), &name, &err),
			-EINVAL);
}

static void test_groups(void **state)
{
	static const struct {
		const char *id, *shown, *begins;
	} rows[] = {
		{"1/us-east-1/default/web/1", "service:web", "web-"},
		{"1/us-east-1/default/web/2", "service:web", "web-"},
		{"1/us-east-1/default/Web/1", "service:Web", "web-"},
		{"1/us-east-1/default/9_9/1", "service:9_9", "9-9-"},
		{"1/us-east-1/default/x/1", "service:" X250, "xxxx"},
		{"1/us-east-1/default/x/2", NULL, "x"},
		{"1/us-east-1/default/x/3", "bare", "bare-"},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct span names[LENGTH(rows)];

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		names[i] =
			kubernetes_group_name(arena, span_of(rows[i].id), span_of(rows[i].shown));
		if (!is_dns_label(names[i], KUBERNETES_GROUP_NAME_MAX) ||
			!span_starts_with(names[i], span_of(rows[i].begins)))
			fail_msg("%s became %s", rows[i].id, names[i].data);
		for (size_t j = 0; j < i; j++)
			assert_false(span_equal(names[i], names[j]));
	}
	assert_true(is_dns_label(kubernetes_secret_name(arena, names[4], SPAN("ecs-svc/1")), 63));
}

static void test_pods(void **state)
{
	static const struct {
		const char *token, *family, *name; /* NULL: any that is valid */
	} rows[] = {
		{TOKEN, "worker", "worker-" TOKEN},
		{TOKEN, "Work_er", "work-er-" TOKEN},
		{TOKEN, "___", "task-" TOKEN},
		{TOKEN, NULL, "task-" TOKEN},
		{TOKEN, X250, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-" TOKEN},
		{"Some Other Token", "worker", NULL},
		{TOKEN TOKEN, "worker", NULL},
		{"x", "", NULL},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct span name =
			kubernetes_pod_name(arena, span_of(rows[i].token), span_of(rows[i].family));

		assert_true(is_dns_label(name, 63));
		if (rows[i].name)
			assert_string_equal(name.data, rows[i].name);
	}
}

static void test_labels(void **state)
{
	static const struct {
		const char *text;
		bool as_name, as_value; /* stays as it is */
	} rows[] = {
		{"web", true, true},
		{"w-1", true, true},
		{"Web_1.x", false, true},
		{"-web", false, false},
		{"web-", false, false},
		{"", false, false},
		{"a b", false, false},
		{"\xc3\xa9", false, false},
		{X50 "0123456789abc", true, true},
		{X50 "0123456789abcd", false, false},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct span text = span_of(rows[i].text);
		struct span name = kubernetes_label_name(arena, text, KUBERNETES_LABEL_MAX);
		struct span value = kubernetes_label_value(arena, text);

		assert_true(is_dns_label(name, KUBERNETES_LABEL_MAX));
		assert_true(value.length > 0 && value.length <= KUBERNETES_LABEL_MAX);
		assert_int_equal(span_equal(name, text), rows[i].as_name);
		assert_int_equal(span_equal(value, text), rows[i].as_value);
	}
}

static void test_claims(void **state)
{
	static const struct {
		const char *object;
		enum kubernetes_claim claim;
	} rows[] = {
		{"{'metadata':{'name':'a'}}", KUBERNETES_FOREIGN},
		{"{'metadata':{'labels':{'app.kubernetes.io/managed-by':'Helm'}}}",
			KUBERNETES_FOREIGN},
		{"{'metadata':{'annotations':{'slipway.dev/host':'me'}}}", KUBERNETES_FOREIGN},
		{"{'metadata':{'labels':{'app.kubernetes.io/managed-by':'slipway'}}}",
			KUBERNETES_UNCLAIMED},
		{"{'metadata':{'labels':{'app.kubernetes.io/managed-by':'slipway'},"
		 "'annotations':{'slipway.dev/host':'me'}}}",
			KUBERNETES_OURS},
		{"{'metadata':{'labels':{'app.kubernetes.io/managed-by':'slipway'},"
		 "'annotations':{'slipway.dev/host':'other'}}}",
			KUBERNETES_FOREIGN},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(kubernetes_claim(read_json(arena, rows[i].object), SPAN("me")),
			rows[i].claim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_no_clusters),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_pods),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_claims),
	};

	return cmocka_run_group_tests_name("kubernetes_names", tests, NULL, NULL);
}
