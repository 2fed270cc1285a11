/* The names that a canary and its Release have through several adoptions. */
#include "release/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/yaml.h"
#include "release/naming_edit.h"

#define OBJECTS_MAX 32

static struct json *read_yaml(struct arena *arena, const char *text)
{
	struct json *value;
	struct err err;

	if (yaml_parse_kubernetes(span_of(text), 1, arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

struct rendering {
	struct naming_object objects[OBJECTS_MAX];
	const struct json *named[OBJECTS_MAX];
	size_t count;
};

/* Documents of one path. */
static void add(struct arena *arena, struct rendering *rendering, const char *path,
	const char *text)
{
	struct yaml_document *documents;
	size_t count;
	struct err err;

	if (yaml_parse_documents(span_of(text), arena, &documents, &count, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < count; i++)
		rendering->objects[rendering->count++] =
			(struct naming_object){documents[i].value, span_of(path)};
}

static void apply(struct arena *arena, struct rendering *rendering, const struct json *naming)
{
	struct err err;

	if (naming_apply(arena, rendering->objects, rendering->count, naming, rendering->named,
		    &err) < 0)
		fail_msg("%s", err.message);
}

static void assert_json(struct arena *arena, const struct json *value, const char *expected)
{
	struct json *wanted = read_yaml(arena, expected);

	if (!json_equal(value, wanted))
		fail_msg("is %s\nnot %s", value ? json_to_text(value, arena).data : "absent",
			json_to_text(wanted, arena).data);
}

static void assert_text(const struct json *object, const char *path, const char *expected)
{
	struct span text = json_text(json_path(object, path));

	if (!span_is(text, expected))
		fail_msg("%s is '%.*s', not '%s'", path, SPAN_ARGS(text.data ? text : SPAN("")),
			expected);
}

static const struct json *find(const struct json *const *objects, size_t count, const char *kind,
	const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(json_get_text(objects[i], "kind"), kind) &&
			span_is(json_text(json_path(objects[i], "metadata.name")), name))
			return objects[i];
	return NULL;
}

static const struct json *find_named(const struct rendering *rendering, const char *kind,
	const char *name)
{
	const struct json *object = find(rendering->named, rendering->count, kind, name);

	if (!object)
		fail_msg("there is no %s '%s'", kind, name);
	return object;
}

static const struct naming_planned *find_planned(const struct naming_plan *plan, const char *kind,
	const char *base_name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (span_is(json_get_text(plan->items[i].object, "kind"), kind) &&
			span_is(plan->items[i].base_name, base_name))
			return &plan->items[i];
	fail_msg("there is no %s '%s'", kind, base_name);
	return NULL;
}

static int plan_code(struct arena *arena, const struct rendering *stable,
	const struct json *stable_naming, const struct rendering *canary, const char *path,
	const char *suffix, struct naming_plan *ret_plan, struct err *err)
{
	const struct naming_canary input = {
		.objects = canary->objects,
		.count = canary->count,
		.stable = stable->named,
		.stable_count = stable->count,
		.stable_naming = stable_naming,
		.path = span_of(path),
		.suffix = span_of(suffix),
	};

	return naming_plan_canary(arena, &input, ret_plan, err);
}

static struct naming_plan plan(struct arena *arena, const struct rendering *stable,
	const struct json *stable_naming, const struct rendering *canary, const char *path,
	const char *suffix)
{
	struct naming_plan result;
	struct err err;

	if (plan_code(arena, stable, stable_naming, canary, path, suffix, &result, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

static void assert_refused(struct arena *arena, const struct rendering *stable,
	const struct json *stable_naming, const struct rendering *canary, const char *path,
	const char *suffix, int code, const char *message)
{
	struct naming_plan result;
	struct err err = {0};

	assert_int_equal(plan_code(arena, stable, stable_naming, canary, path, suffix, &result,
				 &err),
		code);
	assert_string_equal(err.message, message);
}

#define WEB(image, color)                                                                          \
	"apiVersion: apps/v1\n"                                                                    \
	"kind: Deployment\n"                                                                       \
	"metadata: {name: web}\n"                                                                  \
	"spec:\n"                                                                                  \
	"  selector: {matchLabels: {app: web}}\n"                                                  \
	"  template:\n"                                                                            \
	"    metadata: {labels: {app: web, tier: front}}\n"                                        \
	"    spec:\n"                                                                              \
	"      containers:\n"                                                                      \
	"      - name: web\n"                                                                      \
	"        image: " image "\n"                                                               \
	"        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: password}}]\n"     \
	"---\n"                                                                                    \
	"apiVersion: v1\n"                                                                         \
	"kind: ConfigMap\n"                                                                        \
	"metadata: {name: settings, labels: {image: " image "}}\n"                                 \
	"data: {color: " color "}\n"                                                               \
	"---\n"                                                                                    \
	"apiVersion: v1\n"                                                                         \
	"kind: Secret\n"                                                                           \
	"metadata: {name: password, labels: {image: " image "}}\n"                                 \
	"stringData: {password: a}\n"                                                              \
	"---\n"                                                                                    \
	"apiVersion: v1\n"                                                                         \
	"kind: Service\n"                                                                          \
	"metadata: {name: web}\n"                                                                  \
	"spec: {selector: {app: web}, ports: [{port: 80}]}\n"

static void test_first_version(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rendering release = {0};

	(void)state;
	add(arena, &release, "", WEB("one", "red"));
	apply(arena, &release, NULL);
	assert_json(arena, json_path(find_named(&release, "Deployment", "web"), "spec.selector"),
		"{matchLabels: {app: web, slipway.dev/track: stable}}");
	assert_json(arena,
		json_path(find_named(&release, "Deployment", "web"),
			"spec.template.metadata.labels"),
		"{app: web, tier: front, slipway.dev/track: stable}");
	assert_json(arena, json_path(find_named(&release, "Service", "web"), "spec.selector"),
		"{app: web, slipway.dev/track: stable}");
	/* Nothing else has changed, and the template's objects are as before. */
	assert_ptr_equal(find_named(&release, "ConfigMap", "settings"), release.objects[1].object);
	assert_json(arena, json_path(release.objects[0].object, "spec.selector"),
		"{matchLabels: {app: web}}");
}

static void test_canary(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rendering stable = {0}, canary = {0};
	struct naming_plan result;
	const struct naming_planned *item;

	(void)state;
	add(arena, &stable, "", WEB("one", "red"));
	apply(arena, &stable, NULL);
	add(arena, &canary, "", WEB("two", "blue"));
	result = plan(arena, &stable, NULL, &canary, "", "abcde");

	item = find_planned(&result, "Deployment", "web");
	assert_int_equal(item->action, NAMING_CREATE);
	assert_text(item->object, "metadata.name", "web-abcde");
	assert_json(arena, json_path(item->object, "spec.selector"),
		"{matchLabels: {app: web, slipway.dev/track: abcde}}");
	assert_json(arena, json_path(item->object, "spec.template.spec.containers"),
		"[{name: web, image: two, envFrom: [{configMapRef: {name: settings-abcde}}, "
		"{secretRef: {name: password}}]}]");

	item = find_planned(&result, "ConfigMap", "settings");
	assert_int_equal(item->action, NAMING_CREATE);
	assert_text(item->object, "metadata.name", "settings-abcde");
	/* Only its label differs. */
	item = find_planned(&result, "Secret", "password");
	assert_int_equal(item->action, NAMING_SHARED);
	item = find_planned(&result, "Service", "web");
	assert_int_equal(item->action, NAMING_SERVICE);
	assert_text(item->object, "metadata.name", "web");
	assert_json(arena, json_path(item->object, "spec.selector"),
		"{app: web, slipway.dev/track: abcde}");
	assert_json(arena, result.naming,
		"{tracks: {'': abcde}, names: {Deployment/web: web-abcde, ConfigMap/settings: "
		"settings-abcde}}");

	/* No Service selects the pods of the other version. */
	assert_false(naming_selects(find_named(&stable, "Service", "web"),
		naming_pod_labels(find_planned(&result, "Deployment", "web")->object)));
	assert_true(naming_selects(item->object,
		naming_pod_labels(find_planned(&result, "Deployment", "web")->object)));
}

/* Adopt, a second canary, adopt, roll back to version 1: the Release renders the names that run. */
static void test_adoptions(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rendering first = {0}, second = {0}, third = {0}, again = {0};
	struct naming_plan one, two;

	(void)state;
	add(arena, &first, "", WEB("one", "red"));
	apply(arena, &first, NULL);
	add(arena, &second, "", WEB("two", "blue"));
	one = plan(arena, &first, NULL, &second, "", "abcde");

	apply(arena, &second, one.naming);
	for (size_t i = 0; i < one.count; i++)
		assert_true(json_equal(one.items[i].object, second.named[i]));

	/* Back to red: "settings-abcde" is what runs, so "settings" differs. */
	add(arena, &third, "", WEB("three", "red"));
	two = plan(arena, &second, one.naming, &third, "", "fghij");
	assert_text(find_planned(&two, "Deployment", "web")->object, "metadata.name", "web-fghij");
	assert_text(find_planned(&two, "ConfigMap", "settings")->object, "metadata.name",
		"settings-fghij");
	apply(arena, &third, two.naming);
	for (size_t i = 0; i < two.count; i++)
		assert_true(json_equal(two.items[i].object, third.named[i]));
	assert_json(arena, json_path(find_named(&third, "Service", "web"), "spec.selector"),
		"{app: web, slipway.dev/track: fghij}");

	/* An equal ConfigMap keeps the name of the version that made it. */
	memset(&third, 0, sizeof(third));
	add(arena, &third, "", WEB("three", "blue"));
	two = plan(arena, &second, one.naming, &third, "", "fghij");
	assert_int_equal(find_planned(&two, "ConfigMap", "settings")->action, NAMING_SHARED);
	assert_text(find_planned(&two, "ConfigMap", "settings")->object, "metadata.name",
		"settings-abcde");
	assert_json(arena,
		json_path(find_planned(&two, "Deployment", "web")->object,
			"spec.template.spec.containers"),
		"[{name: web, image: three, envFrom: [{configMapRef: {name: settings-abcde}}, "
		"{secretRef: {name: password}}]}]");

	add(arena, &again, "", WEB("one", "red"));
	apply(arena, &again, NULL);
	for (size_t i = 0; i < first.count; i++)
		assert_true(json_equal(first.named[i], again.named[i]));
}

/* Each place in a pod's spec where a reference can stand, before and after. */
static void test_references(void **state)
{
	static const char *const containers[] = {
		"[{name: a, env: [{name: A, valueFrom: {configMapKeyRef: {name: %s, key: k}}}]}]",
		"[{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: %s, key: k}}}]}]",
		"[{name: a, envFrom: [{prefix: x}, {configMapRef: {name: %s}}]}]",
		"[{name: a, envFrom: [{secretRef: {name: %s}}]}]",
	};
	static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
	static const char *const specs[] = {
		"{volumes: [{name: v, configMap: {name: %s, items: []}}]}",
		"{volumes: [{name: v, secret: {secretName: %s}}]}",
		"{volumes: [{name: v, projected: {sources: [{configMap: {name: %s}}]}}]}",
		"{volumes: [{projected: {sources: [{downwardAPI: {}}, {secret: {name: %s}}]}}]}",
		"{volumes: [{name: v, azureFile: {secretName: %s}}]}",
		"{volumes: [{name: v, cephfs: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, cinder: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, csi: {nodePublishSecretRef: {name: %s}}}]}",
		"{volumes: [{name: v, flexVolume: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, iscsi: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, rbd: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, scaleIO: {secretRef: {name: %s}}}]}",
		"{volumes: [{name: v, storageos: {secretRef: {name: %s}}}]}",
		"{imagePullSecrets: [{name: other}, {name: %s}]}",
		"{serviceAccountName: %s}",
		"{serviceAccount: %s}",
	};
	static const char *const templates[] = {
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: %s}",
		"{apiVersion: batch/v1, kind: Job, metadata: {name: p}, spec: {template: {spec: "
		"%s}}}",
		"{apiVersion: batch/v1beta1, kind: CronJob, metadata: {name: p}, spec: "
		"{jobTemplate: "
		"{spec: {template: {spec: %s}}}}}",
	};
	_arena_ struct arena *arena = arena_new(0);
	struct json *naming = read_yaml(arena,
		"{names: {ConfigMap/x: x-abcde, Secret/x: x-abcde, ServiceAccount/x: x-abcde}}");
	const char *forms[LENGTH(containers) * LENGTH(lists) + LENGTH(specs)];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(lists); i++)
		for (size_t j = 0; j < LENGTH(containers); j++)
			forms[count++] =
				arena_format(arena, "{%s: %s}", lists[i], containers[j]).data;
	for (size_t i = 0; i < LENGTH(specs); i++)
		forms[count++] = specs[i];
	for (size_t i = 0; i < LENGTH(templates); i++)
		for (size_t j = 0; j < count; j++) {
			const char *form = arena_format(arena, templates[i], forms[j]).data;
			const char *before = arena_format(arena, form, "x").data;
			const char *after = arena_format(arena, form, "x-abcde").data;
			struct naming_object object = {read_yaml(arena, before), SPAN("")};
			struct json *expected = read_yaml(arena, after);
			const struct json *named;
			struct err err;

			assert_int_equal(naming_apply(arena, &object, 1, naming, &named, &err), 0);
			if (!json_equal(json_get(named, "spec"), json_get(expected, "spec")))
				fail_msg("%s became %s", before, json_to_text(named, arena).data);
		}
}

static void test_other_references(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: "
		 "{tls: "
		 "[{hosts: [a], secretName: x}]}}",
			"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, "
			"spec: "
			"{tls: [{hosts: [a], secretName: x-abcde}]}}"},
		{"{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}, secrets: [{name: "
		 "x}], "
		 "imagePullSecrets: [{name: x}, {name: y}]}",
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}, secrets: "
			"[{name: "
			"x-abcde}], imagePullSecrets: [{name: x-abcde}, {name: y}]}"},
		{"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, "
		 "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}",
			"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: "
			"{name: "
			"x}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "
			"x-abcde}}}"},
		/* Another kind of the same name. */
		{"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, "
		 "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: x}}}",
			"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: "
			"{name: "
			"x}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: "
			"x}}}"},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, "
		 "rules: "
		 "[{resources: [secrets], resourceNames: [x, y]}, {resources: [pods], "
		 "resourceNames: "
		 "[x]}]}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: "
			"r}, "
			"rules: [{resources: [secrets], resourceNames: [x-abcde, y]}, {resources: "
			"[pods], resourceNames: [x]}]}"},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: "
		 "r}, "
		 "subjects: [{kind: ServiceAccount, name: x}, {kind: User, name: x}]}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: "
			"{name: r}, subjects: [{kind: ServiceAccount, name: x-abcde}, {kind: User, "
			"name: x}]}"},
		/* A kind of another group with a known name. */
		{"{apiVersion: example.com/v1, kind: Secret, metadata: {name: x}}",
			"{apiVersion: example.com/v1, kind: Secret, metadata: {name: x}}"},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct json *naming = read_yaml(arena,
		"{names: {Deployment/x: x-abcde, Secret/x: x-abcde, ServiceAccount/x: x-abcde}}");

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct naming_object object = {read_yaml(arena, cases[i].before), SPAN("")};
		const struct json *named;
		struct err err;

		assert_int_equal(naming_apply(arena, &object, 1, naming, &named, &err), 0);
		assert_json(arena, named, cases[i].after);
	}
}

/* Kinds that a canary does not duplicate. */
static void test_not_duplicated(void **state)
{
	static const struct {
		const char *stable, *canary;
		enum naming_action action;
	} cases[] = {
		{"{apiVersion: batch/v1, kind: Job, metadata: {name: o}}", NULL,
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: batch/v1, kind: CronJob, metadata: {name: o}}", NULL,
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: o}}", NULL,
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: o}}",
			NULL, NAMING_NOT_DUPLICATED},
		{"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: o}}", NULL,
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: o}}", NULL,
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "
		 "o}}",
			NULL, NAMING_NOT_DUPLICATED},
		{"{apiVersion: v1, kind: ServiceAccount, metadata: {name: o, labels: {v: one}}}",
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: o, labels: {v: "
			"two}}}",
			NAMING_SHARED},
		{"{apiVersion: v1, kind: ServiceAccount, metadata: {name: o}}",
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: o}, secrets: "
			"[{name: "
			"a}]}",
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: v1, kind: ServiceAccount, metadata: {name: o}}",
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: new}}",
			NAMING_CREATE},
		{"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: o}}",
			NULL, NAMING_SHARED},
		{"{apiVersion: example.com/v1, kind: Thing, metadata: {name: o}, spec: {a: 1}}",
			"{apiVersion: example.com/v1, kind: Thing, metadata: {name: o}, spec: {a: "
			"2}}",
			NAMING_NOT_DUPLICATED},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {a: b}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, binaryData: {a: "
			"b}}",
			NAMING_CREATE},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {a: b}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {a: b}}",
			NAMING_CREATE},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct rendering stable = {0}, canary = {0};
		struct naming_plan result;
		const struct naming_planned *item;

		add(arena, &stable, "", WEB("one", "red"));
		add(arena, &stable, "", cases[i].stable);
		apply(arena, &stable, NULL);
		add(arena, &canary, "", WEB("two", "red"));
		add(arena, &canary, "", cases[i].canary ? cases[i].canary : cases[i].stable);
		result = plan(arena, &stable, NULL, &canary, "", "abcde");
		item = &result.items[result.count - 1];
		if (item->action != cases[i].action)
			fail_msg("%s: %d", cases[i].stable, (int)item->action);
	}
}

#define CART(image)                                                                                \
	"apiVersion: apps/v1\n"                                                                    \
	"kind: StatefulSet\n"                                                                      \
	"metadata: {name: cart}\n"                                                                 \
	"spec:\n"                                                                                  \
	"  selector: {matchLabels: {app: cart}}\n"                                                 \
	"  template:\n"                                                                            \
	"    metadata: {labels: {app: cart}}\n"                                                    \
	"    spec: {containers: [{name: cart, image: " image ", envFrom: [{configMapRef: {name: "  \
	"settings}}]}]}\n"

/* Only what the path has gets a canary; a Service follows the workload that it selects. */
static void test_path(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rendering stable = {0}, canary = {0};
	struct naming_plan result;

	(void)state;
	add(arena, &stable, "shop", WEB("one", "red"));
	add(arena, &stable, "shop/cart", CART("one"));
	add(arena, &stable, "shop",
		"{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {selector: {app: "
		"cart}}}");
	add(arena, &stable, "shop",
		"{apiVersion: v1, kind: Service, metadata: {name: foreign}, spec: {selector: {app: "
		"database}}}");
	apply(arena, &stable, NULL);
	assert_json(arena, json_path(find_named(&stable, "Service", "foreign"), "spec.selector"),
		"{app: database}");

	add(arena, &canary, "shop", WEB("two", "blue"));
	add(arena, &canary, "shop/cart", CART("two"));
	add(arena, &canary, "shop",
		"{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {selector: {app: "
		"cart}}}");
	result = plan(arena, &stable, NULL, &canary, "shop/cart", "abcde");
	assert_int_equal(find_planned(&result, "StatefulSet", "cart")->action, NAMING_CREATE);
	assert_int_equal(find_planned(&result, "Deployment", "web")->action, NAMING_NOT_DUPLICATED);
	/* The root's ConfigMap stays, although its content would change. */
	assert_int_equal(find_planned(&result, "ConfigMap", "settings")->action,
		NAMING_NOT_DUPLICATED);
	assert_text(find_planned(&result, "ConfigMap", "settings")->object, "metadata.name",
		"settings");
	assert_int_equal(find_planned(&result, "Secret", "password")->action, NAMING_SHARED);
	assert_json(arena, result.naming,
		"{tracks: {shop/cart: abcde}, names: {StatefulSet/cart: cart-abcde}}");
	assert_json(arena,
		json_path(find_planned(&result, "Service", "cart")->object, "spec.selector"),
		"{app: cart, slipway.dev/track: abcde}");
	assert_json(arena,
		json_path(find_planned(&result, "Service", "web")->object, "spec.selector"),
		"{app: web, slipway.dev/track: stable}");
}

static void test_refusals(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rendering stable = {0}, canary = {0}, wide = {0}, two_names = {0}, nameless = {0};
	struct rendering long_name = {0};
	struct json *naming = read_yaml(arena, "{tracks: {'': abcde}, names: {}}");
	struct err err = {0};

	(void)state;
	add(arena, &stable, "", WEB("one", "red"));
	apply(arena, &stable, NULL);
	add(arena, &canary, "", WEB("two", "blue"));
	assert_refused(arena, &stable, naming, &canary, "", "abcde", -EINVAL,
		"suffix 'abcde' is in use by the stable version; name the CanaryRelease with "
		"another "
		"one");
	assert_refused(arena, &stable, NULL, &canary, "shop/cart", "abcde", -ENOENT,
		"path 'shop/cart' has no workload");

	add(arena, &wide, "shop", WEB("two", "blue"));
	add(arena, &wide, "shop/cart", CART("two"));
	add(arena, &wide, "shop/cart",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {template: "
		"{metadata: {labels: {app: web}}}}}");
	assert_refused(arena, &stable, NULL, &wide, "shop/cart", "abcde", -EINVAL,
		"Service 'web' selects pods of several paths; a canary release of one of them "
		"needs "
		"a selector that selects one path");

	add(arena, &two_names, "", WEB("one", "red"));
	add(arena, &two_names, "",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings-abcde}}");
	apply(arena, &two_names, NULL);
	assert_refused(arena, &two_names, NULL, &canary, "", "abcde", -EEXIST,
		"ConfigMap 'settings-abcde' exists in the stable version; name the CanaryRelease "
		"with "
		"another suffix than 'abcde'");

	add(arena, &nameless, "", "{apiVersion: v1, kind: ConfigMap, metadata: {}}");
	assert_int_equal(naming_apply(arena, nameless.objects, nameless.count, NULL, nameless.named,
				 &err),
		-EINVAL);
	assert_string_equal(err.message, "object 1 has no metadata.name");

	add(arena, &long_name, "",
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: "
		"a234567890123456789012345678901234567890123456789}}");
	assert_refused(arena, &stable, NULL, &long_name, "", "abcde", -EINVAL,
		"StatefulSet 'a234567890123456789012345678901234567890123456789': its canary's "
		"name "
		"'a234567890123456789012345678901234567890123456789-abcde' is too long (55 "
		"characters, limit 52)");
}

static void test_suffix(void **state)
{
	static const struct {
		const char *name, *suffix, *message;
	} cases[] = {
		{"web-abcde", "abcde", NULL},
		{"a-b-2", "2", NULL},
		{"web", NULL,
			"name 'web' has no suffix; name it like the Release with '-' and a suffix"},
		{"web-a.b", NULL, "suffix 'a.b' may have only lower-case letters and digits"},
		{"web-stable", NULL, "suffix 'stable' is reserved; use another one"},
		{"web-forked", NULL, "suffix 'forked' is reserved; use another one"},
		{"web-canary", NULL, "suffix 'canary' is reserved; use another one"},
		{"web-proxy", NULL, "suffix 'proxy' is reserved; use another one"},
		{"w-a2345678901234567890123456789012x", NULL,
			"suffix 'a2345678901234567890123456789012x' is too long (limit 32)"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct span suffix = SPAN_NONE;
		struct err err = {0};
		int code = naming_suffix(span_of(cases[i].name), &suffix, &err);

		if (cases[i].suffix) {
			assert_int_equal(code, 0);
			assert_true(span_is(suffix, cases[i].suffix));
		} else {
			assert_int_equal(code, -EINVAL);
			assert_string_equal(err.message, cases[i].message);
		}
	}
}

static void test_service_copy(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *service = read_yaml(arena,
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: test, uid: u, "
		"resourceVersion: '1', ownerReferences: []}, spec: {type: NodePort, clusterIP: "
		"10.0.0.1, externalTrafficPolicy: Local, selector: {app: web}, ports: [{name: a, "
		"port: 80, targetPort: http, nodePort: 30080, protocol: TCP}, {name: b, port: 53, "
		"protocol: UDP}]}, status: {loadBalancer: {}}}");
	const struct json *copy;
	struct err err;

	(void)state;
	assert_int_equal(naming_service_copy(arena, service, NAMING_FORKED, &copy, &err), 0);
	assert_json(arena, copy,
		"{apiVersion: v1, kind: Service, metadata: {name: web-forked, namespace: test}, "
		"spec: "
		"{type: ClusterIP, selector: {app: web}, ports: [{name: a, protocol: TCP, port: "
		"80, "
		"targetPort: http}, {name: b, protocol: UDP, port: 53}]}}");
	service = read_yaml(arena,
		"{apiVersion: v1, kind: Service, metadata: {name: "
		"a23456789012345678901234567890123456789012345678901234567}, spec: {}}");
	assert_int_equal(naming_service_copy(arena, service, NAMING_CANARY, &copy, &err), -EINVAL);
}

static void test_edit(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *value = read_yaml(arena, "{a: {b: {c: 1}}}");

	(void)state;
	assert_json(arena,
		naming_edit_set(arena, value, "a.b", "x.y/z", json_new_integer(arena, 2)),
		"{a: {b: {c: 1, x.y/z: 2}}}");
	assert_json(arena, naming_edit_set(arena, value, "a.new", "d", json_new_integer(arena, 2)),
		"{a: {b: {c: 1}, new: {d: 2}}}");
	assert_json(arena, naming_edit_set(arena, value, "a.b", "c", NULL), "{a: {b: {}}}");
	assert_json(arena, value, "{a: {b: {c: 1}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_version),
		cmocka_unit_test(test_canary),
		cmocka_unit_test(test_adoptions),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_other_references),
		cmocka_unit_test(test_not_duplicated),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_suffix),
		cmocka_unit_test(test_service_copy),
		cmocka_unit_test(test_edit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
