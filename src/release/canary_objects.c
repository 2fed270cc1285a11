/* See canary_objects.h. */
#include "release/canary_objects.h"

#include "base/memory.h"
#include "base/yaml.h"
#include "release/canary_proxy.h"
#include "release/release_names.h"

#define GRACE_MARGIN_S 10 /* beyond drainSeconds, for the end of the process */
#define RBAC "rbac.authorization.k8s.io"
#define COMPONENT_LABEL "app.kubernetes.io/component"
#define COMPONENT "canary-proxy"

/* Parses a literal of YAML in flow style, which is easier to read than calls that build it. */
static struct json *literal(struct arena *arena, struct span text)
{
	struct json *value = NULL;

	return yaml_parse_kubernetes(text, 1, arena, &value, NULL) == 0 ? value : NULL;
}

struct json *canary_proxy_selector(struct arena *arena, const struct canary *canary)
{
	struct json *selector = json_new_object(arena);

	json_set_string(arena, selector, RELEASE_CREATED_BY_LABEL,
		canary_created_by(arena, canary->namespace, canary->name));
	json_set_string(arena, selector, COMPONENT_LABEL, SPAN(COMPONENT));
	return selector;
}

static struct json *make_object(struct arena *arena, const struct canary *canary,
	struct span api_version, const char *kind)
{
	struct json *object = json_new_object(arena), *metadata = json_new_object(arena);

	json_set_string(arena, object, "apiVersion", api_version);
	json_set_string(arena, object, "kind", span_of(kind));
	json_set_string(arena, metadata, "name", canary_proxy_name(arena, canary->name));
	json_set_string(arena, metadata, "namespace", canary->namespace);
	json_set(arena, metadata, "labels", canary_proxy_selector(arena, canary));
	json_set(arena, object, "metadata", metadata);
	return object;
}

/* Its own CanaryRelease and the endpoints of its namespace; of the former only the status is written. */
static struct json *make_role(struct arena *arena, const struct canary *canary)
{
	struct json *role = make_object(arena, canary, SPAN(RBAC "/v1"), "Role");
	struct span name = canary->name;

	json_set(arena, role, "rules",
		literal(arena,
			arena_format(arena,
				"- {apiGroups: [" RELEASE_GROUP "], resources: [canaryreleases], "
				"resourceNames: ['%.*s'], verbs: [get, list, watch]}\n"
				"- {apiGroups: [" RELEASE_GROUP
				"], resources: [canaryreleases/status], "
				"resourceNames: ['%.*s'], verbs: [patch]}\n"
				"- {apiGroups: [discovery.k8s.io], resources: [endpointslices], "
				"verbs: [list, watch]}\n",
				SPAN_ARGS(name), SPAN_ARGS(name))));
	return role;
}

static struct json *make_binding(struct arena *arena, const struct canary *canary)
{
	struct json *binding = make_object(arena, canary, SPAN(RBAC "/v1"), "RoleBinding");
	struct span name = canary_proxy_name(arena, canary->name);

	json_set(arena, binding, "roleRef",
		literal(arena, arena_format(arena, "{apiGroup: " RBAC ", kind: Role, name: '%.*s'}",
				       SPAN_ARGS(name))));
	json_set(arena, binding, "subjects",
		literal(arena, arena_format(arena,
				       "[{kind: ServiceAccount, name: '%.*s', namespace: '%.*s'}]",
				       SPAN_ARGS(name), SPAN_ARGS(canary->namespace))));
	return binding;
}

static struct json *make_budget(struct arena *arena, const struct canary *canary,
	const struct canary_proxy_settings *settings)
{
	struct json *budget =
		make_object(arena, canary, settings->budget_api, "PodDisruptionBudget");
	struct json *spec = json_new_object(arena), *selector = json_new_object(arena);

	json_set(arena, selector, "matchLabels", canary_proxy_selector(arena, canary));
	json_set_integer(arena, spec, "maxUnavailable", 1);
	json_set(arena, spec, "selector", selector);
	json_set(arena, budget, "spec", spec);
	return budget;
}

#define CONTAINER                                                                                  \
	"name: proxy\n"                                                                            \
	"args: [canary-proxy, --namespace, '%.*s', --replica, $(POD_NAME), --haproxy-folder, "     \
	"/run/slipway/haproxy, '%.*s']\n"                                                          \
	"env:\n"                                                                                   \
	"- {name: POD_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}\n"  \
	"ports: [{name: health, containerPort: %d, protocol: TCP}]\n"                              \
	"readinessProbe: {httpGet: {path: /readyz, port: health, scheme: HTTP}, periodSeconds: "   \
	"1, failureThreshold: 3}\n"                                                                \
	"livenessProbe: {httpGet: {path: /livez, port: health, scheme: HTTP}, periodSeconds: 10, " \
	"failureThreshold: 3}\n"                                                                   \
	"securityContext:\n"                                                                       \
	"  allowPrivilegeEscalation: false\n"                                                      \
	"  readOnlyRootFilesystem: true\n"                                                         \
	"  capabilities: {drop: [ALL]}\n"                                                          \
	"volumeMounts:\n"                                                                          \
	"- {name: run, mountPath: /run/slipway}\n"                                                 \
	"- {name: tmp, mountPath: /tmp}\n"

#define POD_SPEC                                                                                   \
	"serviceAccountName: '%.*s'\n"                                                             \
	"terminationGracePeriodSeconds: %lld\n"                                                    \
	"securityContext: {runAsNonRoot: true}\n"                                                  \
	"volumes: [{name: run, emptyDir: {}}, {name: tmp, emptyDir: {}}]\n"                        \
	"affinity:\n"                                                                              \
	"  podAntiAffinity:\n"                                                                     \
	"    preferredDuringSchedulingIgnoredDuringExecution:\n"                                   \
	"    - weight: 100\n"                                                                      \
	"      podAffinityTerm: {topologyKey: kubernetes.io/hostname}\n"

/* A copy with the selector at the term of the anti-affinity. */
static void set_affinity(struct arena *arena, struct json *spec, const struct canary *canary)
{
	const struct json *terms = json_path(spec,
		"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution");
	struct json *affinity = json_new_object(arena), *anti = json_new_object(arena),
		    *list = json_new_array(arena), *selector = json_new_object(arena);
	struct json *term = json_copy_object(arena, json_item(terms, 0));
	struct json *inner = json_copy_object(arena, json_get(term, "podAffinityTerm"));

	json_set(arena, selector, "matchLabels", canary_proxy_selector(arena, canary));
	json_set(arena, inner, "labelSelector", selector);
	json_set(arena, term, "podAffinityTerm", inner);
	json_append(arena, list, term);
	json_set(arena, anti, "preferredDuringSchedulingIgnoredDuringExecution", list);
	json_set(arena, affinity, "podAntiAffinity", anti);
	json_set(arena, spec, "affinity", affinity);
}

/* A copy of a list with another item. */
static struct json *with_item(struct arena *arena, const struct json *list, const struct json *item)
{
	struct json *copy = json_new_array(arena);

	JSON_EACH_ITEM (list, each)
		json_append(arena, copy, each);
	json_append(arena, copy, item);
	return copy;
}

/* A missing Secret must not keep the other ports from being served. */
static void mount_secrets(struct arena *arena, const struct canary *canary, struct json *pod,
	struct json *container)
{
	struct span secrets[CANARY_SECRETS_MAX];
	size_t count = canary_secrets(canary, secrets);

	for (size_t i = 0; i < count; i++) {
		json_set(arena, pod, "volumes",
			with_item(arena, json_get(pod, "volumes"),
				literal(arena, arena_format(arena,
						       "{name: certificate-%zu, secret: "
						       "{secretName: '%.*s', optional: true}}",
						       i, SPAN_ARGS(secrets[i])))));
		json_set(arena, container, "volumeMounts",
			with_item(arena, json_get(container, "volumeMounts"),
				literal(arena,
					arena_format(arena,
						"{name: certificate-%zu, mountPath: "
						"'" CANARY_CERTIFICATES "/%.*s', readOnly: true}",
						i, SPAN_ARGS(secrets[i])))));
	}
}

static struct json *make_container(struct arena *arena, const struct canary *canary,
	const struct canary_proxy_settings *settings)
{
	struct json *container = json_copy_object(arena,
		literal(arena, arena_format(arena, CONTAINER, SPAN_ARGS(canary->namespace),
				       SPAN_ARGS(canary->name), CANARY_PROXY_HEALTH_PORT)));

	json_set_string(arena, container, "image", settings->image);
	if (settings->pull_policy.length > 0)
		json_set_string(arena, container, "imagePullPolicy", settings->pull_policy);
	json_set(arena, container, "resources", canary->resources);
	return container;
}

static struct json *make_deployment(struct arena *arena, const struct canary *canary,
	const struct canary_proxy_settings *settings)
{
	struct json *deployment = make_object(arena, canary, SPAN("apps/v1"), "Deployment");
	struct json *spec = json_new_object(arena), *template = json_new_object(arena),
		    *metadata = json_new_object(arena), *selector = json_new_object(arena),
		    *containers = json_new_array(arena);
	struct span account = canary_proxy_name(arena, canary->name);
	struct json *container = make_container(arena, canary, settings);
	struct json *pod = json_copy_object(arena,
		literal(arena, arena_format(arena, POD_SPEC, SPAN_ARGS(account),
				       (long long)canary->drain_seconds + GRACE_MARGIN_S)));

	set_affinity(arena, pod, canary);
	mount_secrets(arena, canary, pod, container);
	json_append(arena, containers, container);
	json_set(arena, pod, "containers", containers);
	json_set(arena, metadata, "labels", canary_proxy_selector(arena, canary));
	json_set(arena, template, "metadata", metadata);
	json_set(arena, template, "spec", pod);
	json_set(arena, selector, "matchLabels", canary_proxy_selector(arena, canary));
	json_set_integer(arena, spec, "replicas", canary->proxy_replicas);
	json_set(arena, spec, "selector", selector);
	json_set(arena, spec, "strategy",
		literal(arena, SPAN("{type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, "
				    "maxSurge: 1}}")));
	json_set(arena, spec, "template", template);
	json_set(arena, deployment, "spec", spec);
	return deployment;
}

size_t canary_proxy_objects(struct arena *arena, const struct canary *canary,
	const struct canary_proxy_settings *settings,
	const struct json *ret_objects[CANARY_PROXY_OBJECTS_MAX])
{
	size_t count = 0;

	ret_objects[count++] = make_object(arena, canary, SPAN("v1"), "ServiceAccount");
	ret_objects[count++] = make_role(arena, canary);
	ret_objects[count++] = make_binding(arena, canary);
	if (canary->proxy_replicas > 1)
		ret_objects[count++] = make_budget(arena, canary, settings);
	ret_objects[count++] = make_deployment(arena, canary, settings);
	return count;
}
