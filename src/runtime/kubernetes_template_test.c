/* From a spec to a pod: tables of specs and expected members. */
#include "runtime/test_kubernetes.h"

#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/objects.h"
#include "runtime/kubernetes/resources.h"
#include "runtime/kubernetes/rolling.h"
#include "runtime/kubernetes/start_order.h"
#include "runtime/kubernetes/template.h"

#define ARN "arn:aws:ecs:us-east-1:123456789012:cluster/default"
#define SPEC(rest)                                                                                 \
	"{'version':1,'family':'web','clusterArn':'" ARN "','group':'service:web'," rest "}"
#define ONE(rest) SPEC("'containers':[{'name':'app','image':'web:1'," rest "}]")
#define C(name, rest) "{'name':'" name "','image':'web:1'" rest "}"
#define NEEDS(name, condition)                                                                     \
	",'dependsOn':[{'containerName':'" name "','condition':'" condition "'}]"
#define CHECK ",'healthCheck':{'command':['CMD-SHELL','test -e /up']}"

static const struct kubernetes_template_config config = {
	.host = SPAN("host-1"),
	.helper_image = SPAN("slipway:test"),
	.pull_policy = SPAN("IfNotPresent"),
};

static int make(struct arena *arena, const char *spec, bool group, const char *instance,
	struct kubernetes_template *ret_template, struct err *err)
{
	struct kubernetes_template_request request = {
		.spec = read_json(arena, spec),
		.instance = span_of(instance ? instance : ""),
		.token = group ? SPAN("") : SPAN("0123456789abcdef0123456789abcdef"),
		.group = group ? SPAN("1/us-east-1/default/web/7") : SPAN(""),
		.version = group ? SPAN("ecs-svc/7") : SPAN(""),
		.secret = SPAN("web-secret"),
	};

	return kubernetes_template_make(&config, &request, arena, ret_template, err);
}

struct row {
	const char *spec, *path, *expected;
};

static void check_rows(const struct row *rows, size_t count, bool group)
{
	for (size_t i = 0; i < count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kubernetes_template template;
		struct json *all = json_new_object(arena);
		struct err err;

		if (make(arena, rows[i].spec, group, NULL, &template, &err) < 0)
			fail_msg("%s: %s", rows[i].spec, err.message);
		json_set(arena, all, "labels", template.labels);
		json_set(arena, all, "annotations", template.annotations);
		json_set(arena, all, "spec", template.spec);
		json_set(arena, all, "secrets", template.secrets);
		check_at(arena, rows[i].spec, all, rows[i].path, rows[i].expected);
	}
}

#define FIRST "spec containers 0 "

static void test_containers(void **state)
{
	static const struct row rows[] = {
		{ONE("'cpu':0"), FIRST "name", "'app'"},
		{ONE("'cpu':0"), FIRST "image", "'web:1'"},
		{ONE("'cpu':0"), FIRST "imagePullPolicy", "'IfNotPresent'"},
		{ONE("'cpu':0"), FIRST "command", NULL},
		{ONE("'cpu':0"), FIRST "args", NULL},
		{ONE("'cpu':0"), "spec restartPolicy", "'Never'"},
		{ONE("'cpu':0"), "spec automountServiceAccountToken", "false"},
		{ONE("'cpu':0"), "spec enableServiceLinks", "false"},
		{ONE("'cpu':0"), "spec initContainers", NULL},
		{ONE("'cpu':0"), "spec affinity", NULL},
		{ONE("'entryPoint':['a','$(B)'],'command':['$$x','y']"), FIRST "command",
			"['a','$$(B)']"},
		{ONE("'entryPoint':['a'],'command':['$$x','y']"), FIRST "args", "['$$$$x','y']"},
		{ONE("'workingDirectory':'/srv'"), FIRST "workingDir", "'/srv'"},
		{ONE("'user':'1000'"), FIRST "securityContext", "{'runAsUser':1000}"},
		{ONE("'user':'1000:50'"), FIRST "securityContext",
			"{'runAsUser':1000,'runAsGroup':50}"},
		{ONE("'user':'root'"), FIRST "securityContext", "{'runAsUser':0}"},
		{ONE("'privileged':true,'readonlyRootFilesystem':true"), FIRST "securityContext",
			"{'privileged':true,'readOnlyRootFilesystem':true}"},
		{ONE("'environment':[{'name':'A','value':'$(B) $'}]"), FIRST "env",
			"[{'name':'A','value':'$$(B) $$'}]"},
		{ONE("'environment':[{'name':'A','value':'x$','secret':true}]"), FIRST "env",
			"[{'name':'A','valueFrom':{'secretKeyRef':{'name':'web-secret','key':'0.A'}"
			"}"
			"}]"},
		{ONE("'environment':[{'name':'A','value':'x$','secret':true}]"), "secrets",
			"{'0.A':'x$'}"},
		{ONE("'environment':[{'name':'A','value':'b'}]"), "secrets", NULL},
		{ONE("'hostname':'h1'"), "spec hostname", "'h1'"},
		{ONE("'hostname':'H_1'"), "spec hostname", NULL},
		{ONE("'stopTimeout':90"), "spec terminationGracePeriodSeconds", "90"},
		{ONE("'cpu':0"), "spec terminationGracePeriodSeconds", "30"},
		{SPEC("'containers':[{'name':'My_App','image':'i'}]"),
			"annotations slipway.dev/notes", NULL},
		{ONE("'ulimits':[{'name':'nofile','softLimit':1,'hardLimit':1}]"),
			"annotations slipway.dev/notes",
			"'ulimits are those of the node: Kubernetes cannot set them'"},
		{ONE("'resourceRequirements':[{'type':'GPU','value':'2'}]"),
			FIRST "resources limits", "{'nvidia.com/gpu':'2'}"},
		{ONE("'cpu':0"), "labels app.kubernetes.io/managed-by", "'slipway'"},
		{ONE("'cpu':0"), "labels slipway.dev/owner", "'host-1'"},
		{ONE("'cpu':0"), "labels app.kubernetes.io/name", "'web'"},
	};

	(void)state;
	check_rows(rows, LENGTH(rows), false);
}

static void test_ports(void **state)
{
#define PORTS(mode, ports)                                                                         \
	SPEC("'networkMode':'" mode "','containers':[{'name':'a','image':'i',"                     \
	     "'portMappings':[" ports "]}]")
	static const struct row rows[] = {
		{PORTS("awsvpc", "{'containerPort':80,'hostPort':80}"), FIRST "ports",
			"[{'containerPort':80,'protocol':'TCP'}]"},
		{PORTS("bridge", "{'containerPort':80,'hostPort':8080,'protocol':'udp'}"),
			FIRST "ports", "[{'containerPort':80,'protocol':'UDP','hostPort':8080}]"},
		{PORTS("bridge", "{'containerPort':80,'hostPort':0}"), FIRST "ports",
			"[{'containerPort':80,'protocol':'TCP'}]"},
		{PORTS("host", "{'containerPort':80,'hostPort':0}"), FIRST "ports",
			"[{'containerPort':80,'protocol':'TCP','hostPort':80}]"},
		{PORTS("host", "{'containerPort':80}"), "spec hostNetwork", "true"},
		{PORTS("awsvpc", "{'containerPort':80}"), "spec hostNetwork", NULL},
		{PORTS("awsvpc", "{'containerPort':80},{'containerPort':80},{'containerPort':80,"
				 "'protocol':'udp'}"),
			FIRST "ports",
			"[{'containerPort':80,'protocol':'TCP'},{'containerPort':80,'protocol':"
			"'UDP'}]"},
	};

	(void)state;
	check_rows(rows, LENGTH(rows), false);
}

static void test_volumes(void **state)
{
#define MOUNTS                                                                                     \
	SPEC("'volumes':[{'name':'Data','host':{'sourcePath':'/srv/data'}},{'name':'tmp',"         \
	     "'host':{}},{'name':'slipway-program'}],'containers':[{'name':'a','image':'i',"       \
	     "'mountPoints':[{'sourceVolume':'tmp','containerPath':'/tmp'},{'sourceVolume':"       \
	     "'Data','containerPath':'/d','readOnly':true}]}]")
	static const struct row rows[] = {
		{MOUNTS, "spec volumes 0 hostPath", "{'path':'/srv/data'}"},
		{MOUNTS, "spec volumes 1", "{'name':'tmp','emptyDir':{}}"},
		{MOUNTS, FIRST "volumeMounts 0", "{'name':'tmp','mountPath':'/tmp'}"},
		{MOUNTS, FIRST "volumeMounts 1 readOnly", "true"},
		{MOUNTS, "spec volumes 3", NULL},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct kubernetes_template template;
	struct err err;

	(void)state;
	check_rows(rows, LENGTH(rows), false);
	assert_int_equal(make(arena, MOUNTS, false, NULL, &template, &err), 0);
	assert_true(span_equal(json_text(at(template.spec, "volumes 0 name")),
		json_text(at(template.spec, "containers 0 volumeMounts 1 name"))));
	/* The volume of the same name as ours is another one. */
	assert_false(span_is(json_text(at(template.spec, "volumes 2 name")), "slipway-program"));
}

static void test_groups(void **state)
{
	static const struct row rows[] = {
		{ONE("'cpu':0"), "spec restartPolicy", "'Always'"},
		{ONE("'cpu':0"), "annotations slipway.dev/group", "'1/us-east-1/default/web/7'"},
		{ONE("'cpu':0"), "annotations slipway.dev/version", "'ecs-svc/7'"},
		{ONE("'cpu':0"), "annotations slipway.dev/task", NULL},
		{ONE("'cpu':0"), "annotations slipway.dev/cluster-arn", "'" ARN "'"},
		{ONE("'cpu':0"), "spec readinessGates", NULL},
		{SPEC("'gated':true,'containers':[" C("a", "") "]"), "spec readinessGates",
			"[{'conditionType':'slipway.dev/traffic'}]"},
		/* Its command is known, so it runs once. */
		{ONE("'entryPoint':['a'],'command':['b']"), FIRST "command",
			"['/.slipway/slipway-pod','once','/.slipway-marks/ran.app','--','a']"},
		{ONE("'entryPoint':['a'],'command':['b']"), FIRST "args", "['b']"},
		{ONE("'entryPoint':['a']"), FIRST "volumeMounts",
			"[{'name':'slipway-program','mountPath':'/.slipway','readOnly':true},"
			"{'name':'slipway-marks','mountPath':'/.slipway-marks'}]"},
		{ONE("'entryPoint':['a']"), "spec initContainers 0 command",
			"['slipway-pod','install','/.slipway/slipway-pod']"},
		{ONE("'entryPoint':['a']"), "spec initContainers 0 image", "'slipway:test'"},
		{ONE("'command':['b']"), FIRST "command", NULL},
		{ONE("'entryPoint':['a'],'restartPolicy':{'enabled':true}"), FIRST "command",
			"['a']"},
		{ONE("'essential':false"), "annotations slipway.dev/notes",
			"'container `app` is started again whenever it exits, because it has "
			"no entryPoint'"},
		/* Held, whatever the image has in it. */
		{SPEC("'holdSeconds':25,'containers':[" C("a", ",'stopTimeout':10") "]"),
			FIRST "lifecycle",
			"{'preStop':{'exec':{'command':['/.slipway/slipway-pod','hold','25','/"
			".slipway-marks/released']}}}"},
		{SPEC("'holdSeconds':25,'containers':[" C("a", ",'stopTimeout':10") "]"),
			"spec terminationGracePeriodSeconds", "35"},
		{SPEC("'holdSeconds':25,'containers':[" C("a", "") "]"), FIRST "volumeMounts",
			"[{'name':'slipway-program','mountPath':'/.slipway','readOnly':true},"
			"{'name':'slipway-marks','mountPath':'/.slipway-marks'}]"},
		{SPEC("'holdSeconds':0,'containers':[" C("a", "") "]"), FIRST "lifecycle", NULL},
	};

	(void)state;
	check_rows(rows, LENGTH(rows), true);
}

static void test_health(void **state)
{
	static const struct row rows[] = {
		{ONE("'healthCheck':{'command':['CMD-SHELL','echo $(A)'],'interval':7,'timeout':2,"
		     "'retries':5,'startPeriod':60}"),
			FIRST "readinessProbe",
			"{'exec':{'command':['/bin/sh','-c','echo $$(A)']},'periodSeconds':7,"
			"'timeoutSeconds':2,'failureThreshold':5}"},
		{ONE("'healthCheck':{'command':['CMD','true','x']}"), FIRST "readinessProbe",
			"{'exec':{'command':['true','x']},'periodSeconds':30,'timeoutSeconds':5,"
			"'failureThreshold':3}"},
		{ONE("'healthCheck':{'command':['NONE']}"), FIRST "readinessProbe", NULL},
	};

	(void)state;
	check_rows(rows, LENGTH(rows), false);
}

static void test_dependencies(void **state)
{
#define LIST(containers) SPEC("'containers':[" containers "]")
	static const struct row rows[] = {
		{LIST(C("a", NEEDS("b", "START")) "," C("b", "")), FIRST "name", "'b'"},
		{LIST(C("a", NEEDS("b", "START")) "," C("b", "")), "spec initContainers", NULL},
		{LIST(C("a", NEEDS("b", "HEALTHY")) "," C("b", CHECK ",'startTimeout':90")),
			FIRST "lifecycle postStart exec command",
			"['/.slipway/slipway-pod','wait','/.slipway-marks/"
			"healthy.b','90','30','5','3','0','--','/bin/sh','-c',"
			"'test -e /up']"},
		{LIST(C("a", ",'entryPoint':['x']" NEEDS("b", "HEALTHY")) "," C("b", CHECK)),
			"spec containers 1 command",
			"['/.slipway/slipway-pod','after','/.slipway-marks/healthy.b','--','x']"},
		/* Containers that wait for nothing start before those that others wait for. */
		{LIST(C("b", CHECK) "," C("a", NEEDS("b", "HEALTHY")) "," C("c", "")), FIRST "name",
			"'c'"},
		{LIST(C("b", CHECK) "," C("a", NEEDS("b", "HEALTHY")) "," C("c", "")),
			"spec containers 1 name", "'b'"},
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", "")), "spec initContainers 0 name",
			"'b'"},
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", ",'entryPoint':['x']")),
			"spec initContainers 0 command", "['x']"},
		{LIST(C("a", NEEDS("b", "COMPLETE")) "," C("b", ",'entryPoint':['x']")),
			"spec initContainers 1 command",
			"['/.slipway/slipway-pod','complete','--','x']"},
		{LIST(C("a", NEEDS("b", "COMPLETE")) "," C("b", "")),
			"annotations slipway.dev/notes",
			"'the containers that wait for `b` to COMPLETE start only after it "
			"succeeds, because it has no entryPoint'"},
		/* A chain of those that end. */
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", NEEDS("c", "COMPLETE")) "," C("c",
			 "")),
			"spec initContainers 0 name", "'c'"},
	};

	(void)state;
	check_rows(rows, LENGTH(rows), false);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *spec, *reason;
	} rows[] = {
		{SPEC("'containers':[]"), "no containers"},
		{SPEC("'containers':[{'name':'a','image':'host'}]"), "process runtime"},
		{SPEC("'containers':[{'name':'a'}]"), "has no image"},
		{"{'version':2,'containers':[]}", "version 2"},
		{ONE("'user':'www-data'"), "by their numbers"},
		{ONE("'user':'1:adm'"), "by their numbers"},
		{ONE("'environment':[{'name':'a b','value':''}]"), "no name of a variable"},
		{ONE("'environment':[{'name':'1A','value':''}]"), "no name of a variable"},
		{ONE("'environmentFiles':[{'value':'/x'}]"), "environmentFiles"},
		{ONE("'portMappings':[{'containerPort':0}]"), "port"},
		{ONE("'mountPoints':[{'sourceVolume':'x','containerPath':'/x'}]"),
			"the volume 'x', which the task does not have"},
		{SPEC("'volumes':[{'name':'x'}],'containers':[" C("a",
			 ",'mountPoints':[{'sourceVolume':'x','containerPath':'/x'},"
			 "{'sourceVolume':'x','containerPath':'/x'}]") "]"),
			"two volumes"},
		{LIST(C("a", NEEDS("a", "START"))), "no other container"},
		{LIST(C("a", NEEDS("b", "START"))), "no other container"},
		{LIST(C("a", NEEDS("b", "SOON")) "," C("b", "")), "unknown condition"},
		{LIST(C("a", NEEDS("b", "HEALTHY")) "," C("b", "")), "no healthCheck"},
		{LIST(C("a", NEEDS("b", "START")) "," C("b", NEEDS("a", "START"))),
			"waits for itself"},
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", NEEDS("a", "SUCCESS"))),
			"waits for itself"},
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", NEEDS("c", "START")) "," C("c", "")),
			"itself needs 'c' to run"},
		{LIST(C("a", NEEDS("b", "SUCCESS")) "," C("b", CHECK) "," C("c",
			 NEEDS("b", "HEALTHY"))),
			"HEALTHY and to end"},
		{SPEC("'constraints':[{'type':'memberOf','expression':'task:group == x'}],"
		      "'containers':[" C("a", "") "]"),
			"asks for more than attributes"},
		{SPEC("'constraints':[{'type':'memberOf','expression':'attribute:a =~ x'}],"
		      "'containers':[" C("a", "") "]"),
			"cannot be said"},
		{SPEC("'constraints':[{'type':'memberOf','expression':'attribute:a == x or "
		      "attribute:b == y'}],'containers':[" C("a", "") "]"),
			"cannot be said"},
		{SPEC("'constraints':[{'type':'memberOf','expression':'attribute:a in [x'}],"
		      "'containers':[" C("a", "") "]"),
			"cannot be read"},
		{SPEC("'constraints':[{'type':'unknown'}],'containers':[" C("a", "") "]"),
			"unknown type"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kubernetes_template template;
		struct err err = {0};

		if (make(arena, rows[i].spec, false, NULL, &template, &err) != -EINVAL ||
			!strstr(err.message, rows[i].reason))
			fail_msg("%s: '%s' does not say '%s'", rows[i].spec, err.message,
				rows[i].reason);
	}
}

/* Without slipway's image, specs that need it are rejected, and others work. */
static void test_without_helper(void **state)
{
	static const struct {
		const char *spec;
		int code;
	} rows[] = {
		{SPEC("'holdSeconds':5,'containers':[" C("a", "") "]"), -EINVAL},
		{LIST(C("a", NEEDS("b", "HEALTHY")) "," C("b", CHECK)), -EINVAL},
		{LIST(C("a", ",'entryPoint':['x']")), 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kubernetes_template_config bare = config;
		struct kubernetes_template_request request = {
			.spec = read_json(arena, rows[i].spec),
			.group = SPAN("g"),
			.version = SPAN("1"),
			.instance = SPAN(""),
			.token = SPAN(""),
			.secret = SPAN("s"),
		};
		struct kubernetes_template template;
		struct err err;

		bare.helper_image = SPAN("");
		assert_int_equal(kubernetes_template_make(&bare, &request, arena, &template, &err),
			rows[i].code);
	}
}

/* The Pod Security Standard "restricted", also for slipway's own init container. */
static void test_restricted(void **state)
{
	static const struct {
		const char *spec;
		int code;
		const char *security; /* of the first container */
	} rows[] = {
		{ONE("'user':'1000'"), 0,
			"{'runAsUser':1000,'allowPrivilegeEscalation':false,'capabilities':{'drop':"
			"['ALL']}}"},
		{ONE("'cpu':0"), 0,
			"{'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']}}"},
		{ONE("'user':'root'"), -EINVAL, NULL},
		{ONE("'user':'0:50'"), -EINVAL, NULL},
		{ONE("'privileged':true"), -EINVAL, NULL},
	};
	struct kubernetes_template_config restricted = config;

	(void)state;
	restricted.restricted = true;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kubernetes_template_request request = {
			.spec = read_json(arena, rows[i].spec),
			.group = SPAN("g"),
			.version = SPAN("1"),
			.instance = SPAN(""),
			.token = SPAN(""),
			.secret = SPAN("s"),
		};
		struct json *all = json_new_object(arena);
		struct kubernetes_template template;
		struct err err;
		int code = kubernetes_template_make(&restricted, &request, arena, &template, &err);

		assert_int_equal(code, rows[i].code);
		if (code < 0) {
			assert_non_null(strstr(err.message, "kubernetes.podSecurity restricted"));
			continue;
		}
		json_set(arena, all, "spec", template.spec);
		check_at(arena, rows[i].spec, all, FIRST "securityContext", rows[i].security);
		check_at(arena, rows[i].spec, all, "spec securityContext",
			"{'seccompProfile':{'type':'RuntimeDefault'},'runAsNonRoot':true}");
	}
}

static void test_resources(void **state)
{
	static const struct {
		const char *spec;
		const char *sizes[2]; /* of the containers */
	} rows[] = {
		/* A container's own: cpu is a share, memory a limit, memoryReservation a request. */
		{LIST(C("a", ",'cpu':256,'memory':128")), {"{'requests':{'cpu':'250m','memory':'"
							   "128Mi'},'limits':{'memory':'128Mi'}}"}},
		{LIST(C("a", ",'cpu':10,'memory':128,'memoryReservation':64")),
			{"{'requests':{'cpu':'10m','memory':'64Mi'},'limits':{'memory':'128Mi'}}"}},
		{LIST(C("a", ",'cpu':1,'memoryReservation':64")),
			{"{'requests':{'cpu':'1m','memory':'64Mi'},'limits':{}}"}},
		{LIST(C("a", "")), {"{'requests':{},'limits':{}}"}},
		/* The task's are hard limits. */
		{SPEC("'cpu':256,'memory':512,'containers':[" C("a", "") "]"),
			{"{'requests':{'cpu':'250m','memory':'512Mi'},'limits':{'cpu':'250m',"
			 "'memory':'512Mi'}}"}},
		{SPEC("'cpu':1024,'memory':2048,'containers':[" C("a",
			 ",'cpu':256,'memory':512") "," C("b", "") "]"),
			{"{'requests':{'cpu':'250m','memory':'512Mi'},'limits':{'cpu':'1000m',"
			 "'memory':'512Mi'}}",
				"{'requests':{'cpu':'750m','memory':'1536Mi'},'limits':{'cpu':'"
				"1000m','memory':'2048Mi'}}"}},
		{SPEC("'cpu':512,'memory':512,'containers':[" C("a", "") "," C("b", "") "]"),
			{"{'requests':{'cpu':'500m','memory':'512Mi'},'limits':{'cpu':'500m',"
			 "'memory':'512Mi'}}",
				"{'requests':{'cpu':'0m','memory':'0Mi'},'limits':{'cpu':'500m',"
				"'memory':'512Mi'}}"}},
		{SPEC("'cpu':512,'memory':512,'containers':[" C("a",
			 ",'cpu':512,'memory':256,'memoryReservation':128") "]"),
			{"{'requests':{'cpu':'500m','memory':'128Mi'},'limits':{'cpu':'500m',"
			 "'memory':'256Mi'}}"}},
		/* A container that ends before the others does not add to their reservation. */
		{SPEC("'cpu':512,'memory':512,'containers':[" C("a",
			 NEEDS("b", "SUCCESS")) "," C("b", "") "]"),
			{"{'requests':{'cpu':'500m','memory':'512Mi'},'limits':{'cpu':'500m',"
			 "'memory':'512Mi'}}",
				"{'requests':{'cpu':'0m','memory':'0Mi'},'limits':{'cpu':'500m',"
				"'memory':'512Mi'}}"}},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *spec = read_json(arena, rows[i].spec);
		struct kubernetes_size sizes[RUNTIME_CONTAINERS_MAX];
		struct kubernetes_start_order order;

		assert_int_equal(kubernetes_start_order_make(json_get(spec, "containers"), &order,
					 NULL),
			0);
		kubernetes_sizes(spec, &order, sizes);
		for (size_t j = 0; j < LENGTH(rows[i].sizes) && rows[i].sizes[j]; j++)
			check_at(arena, rows[i].spec, kubernetes_size_write(arena, &sizes[j], 0),
				"", rows[i].sizes[j]);
	}
}

static void test_placement(void **state)
{
#define PLACED(rest) SPEC(rest ",'containers':[" C("a", "") "]")
#define TERM                                                                                       \
	"spec affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution "               \
	"nodeSelectorTerms 0 "
#define MEMBER(expression)                                                                         \
	PLACED("'constraints':[{'type':'memberOf','expression':'" expression "'}]")
	static const struct row rows[] = {
		{MEMBER("attribute:ecs.availability-zone == us-east-1a"), TERM "matchExpressions",
			"[{'key':'topology.kubernetes.io/zone','operator':'In','values':["
			"'us-east-1a']}]"},
		{MEMBER("attribute:ecs.cpu-architecture equals x86_64"), TERM "matchExpressions",
			"[{'key':'kubernetes.io/arch','operator':'In','values':['amd64']}]"},
		{MEMBER("attribute:disk in [ssd, nvme] and attribute:old !exists"),
			TERM "matchExpressions",
			"[{'key':'disk','operator':'In','values':['ssd','nvme']},{'key':'old',"
			"'operator':'DoesNotExist'}]"},
		{MEMBER("attribute:disk not_in [ssd] && attribute:cores > 4"),
			TERM "matchExpressions",
			"[{'key':'disk','operator':'NotIn','values':['ssd']},{'key':'cores',"
			"'operator':'Gt','values':['4']}]"},
		{MEMBER("attribute:exists exists"), TERM "matchExpressions",
			"[{'key':'exists','operator':'Exists'}]"},
		{PLACED("'strategy':[{'type':'spread','field':'attribute:ecs.availability-zone'},"
			"{'type':'spread','field':'instanceId'},{'type':'spread','field':'host'}]"),
			"spec topologySpreadConstraints 0 topologyKey",
			"'topology.kubernetes.io/zone'"},
		{PLACED("'strategy':[{'type':'spread','field':'instanceId'},{'type':'spread',"
			"'field':'host'}]"),
			"spec topologySpreadConstraints 1", NULL},
		{PLACED("'strategy':[{'type':'spread','field':'instanceId'}]"),
			"spec topologySpreadConstraints 0 whenUnsatisfiable", "'ScheduleAnyway'"},
		{PLACED("'strategy':[{'type':'random'}]"), "annotations slipway.dev/notes", NULL},
		{PLACED("'strategy':[{'type':'binpack','field':'memory'}]"),
			"annotations slipway.dev/notes",
			"'placement strategy `binpack` is left to the scheduler of "
			"Kubernetes'"},
		{PLACED("'constraints':[{'type':'distinctInstance'}]"),
			"spec affinity podAntiAffinity "
			"requiredDuringSchedulingIgnoredDuringExecution 0 topologyKey",
			"'kubernetes.io/hostname'"},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct kubernetes_template template;
	struct json *all = json_new_object(arena);
	struct err err;

	(void)state;
	check_rows(rows, LENGTH(rows), false);
	assert_int_equal(make(arena, PLACED("'cpu':0"), false, "node-7", &template, &err), 0);
	json_set(arena, all, "spec", template.spec);
	check_at(arena, "instance", all, TERM "matchFields",
		"[{'key':'metadata.name','operator':'In','values':['node-7']}]");
	check_at(arena, "instance", all, "spec nodeName", NULL);
	/* distinctInstance keeps pods with this label apart. */
	assert_int_equal(make(arena, PLACED("'constraints':[{'type':'distinctInstance'}]"), true,
				 NULL, &template, &err),
		0);
	assert_true(span_equal(json_get_text(template.labels, KUBERNETES_LABEL_GROUP),
		json_get_text(at(template.spec, "affinity podAntiAffinity "
						"requiredDuringSchedulingIgnoredDuringExecution 0 "
						"labelSelector matchLabels"),
			KUBERNETES_LABEL_GROUP)));
}

/* A pod that may be bound names its node itself, unless there are other constraints. */
static void test_binding(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kubernetes_template_request request = {
		.spec = read_json(arena, PLACED("'cpu':0")),
		.instance = SPAN("node-7"),
		.bind = true,
		.token = SPAN("0123456789abcdef0123456789abcdef"),
		.group = SPAN(""),
		.version = SPAN(""),
		.secret = SPAN("s"),
	};
	struct kubernetes_template template;
	struct json *all = json_new_object(arena);
	struct err err;

	(void)state;
	assert_int_equal(kubernetes_template_make(&config, &request, arena, &template, &err), 0);
	json_set(arena, all, "spec", template.spec);
	check_at(arena, "bound", all, "spec nodeName", "'node-7'");
	check_at(arena, "bound", all, "spec affinity", NULL);
	request.spec = read_json(arena, MEMBER("attribute:disk exists"));
	assert_int_equal(kubernetes_template_make(&config, &request, arena, &template, &err), 0);
	json_set(arena, all, "spec", template.spec);
	check_at(arena, "constrained", all, "spec nodeName", NULL);
	check_at(arena, "constrained", all, TERM "matchExpressions",
		"[{'key':'disk','operator':'Exists'}]");
	check_at(arena, "constrained", all, TERM "matchFields",
		"[{'key':'metadata.name','operator':'In','values':['node-7']}]");
	/* Any node will do. */
	request.spec = read_json(arena, PLACED("'cpu':0"));
	request.instance = SPAN("");
	assert_int_equal(kubernetes_template_make(&config, &request, arena, &template, &err), 0);
	json_set(arena, all, "spec", template.spec);
	check_at(arena, "any", all, "spec nodeName", NULL);
}

/* Daemons stay away from nodes that have been drained of their cluster's tasks, beside all else. */
static void test_daemons(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kubernetes_template_request request = {
		.spec = read_json(arena, MEMBER("attribute:disk exists")),
		.group = SPAN("g"),
		.version = SPAN("1"),
		.daemon = true,
		.instance = SPAN(""),
		.token = SPAN(""),
		.secret = SPAN("s"),
	};
	struct json *all = json_new_object(arena);
	struct kubernetes_template template;
	struct span namespace;
	struct err err;

	(void)state;
	assert_int_equal(kubernetes_template_make(&config, &request, arena, &template, &err), 0);
	assert_int_equal(kubernetes_namespace_name(arena, json_get_text(request.spec, "clusterArn"),
				 &namespace, &err),
		0);
	json_set(arena, all, "spec", template.spec);
	check_at(arena, "daemon", all, TERM "matchExpressions",
		arena_format(arena,
			"[{'key':'disk','operator':'Exists'},{'key':'%.*s.slipway.dev/drained',"
			"'operator':'DoesNotExist'}]",
			SPAN_ARGS(namespace))
			.data);
}

static void test_plan(void **state)
{
	static const char *const spec = SPEC(
		"'networkMode':'awsvpc','holdSeconds':5,'containers':["
		"{'name':'Web','image':'i','portMappings':[{'containerPort':80,'hostPort':80}],"
		"'restartPolicy':{'enabled':true,'ignoredExitCodes':[3],'restartAttemptPeriod':60},"
		"'healthCheck':{'command':['CMD','x'],'interval':9},"
		"'dependsOn':[{"
		"'containerName':'init','condition':'COMPLETE'}]},"
		"{'name':'init','image':'i','essential':false}]");
	_arena_ struct arena *arena = arena_new(0);
	struct kubernetes_template template;
	struct json *plan;
	struct err err;

	(void)state;
	assert_int_equal(make(arena, spec, true, NULL, &template, &err), 0);
	assert_int_equal(json_parse(json_get_text(template.annotations, KUBERNETES_PLAN), arena,
				 &plan, &err),
		0);
	check_at(arena, "plan", plan, "hold", "5");
	check_at(arena, "plan", plan, "stop", "30");
	check_at(arena, "plan", plan, "network", "'awsvpc'");
	check_at(arena, "plan", plan, "containers 0 name", "'Web'");
	check_at(arena, "plan", plan, "containers 0 essential", "true");
	check_at(arena, "plan", plan, "containers 0 health", "[9,5,3,0]");
	check_at(arena, "plan", plan, "containers 0 restart", "[60,3]");
	check_at(arena, "plan", plan, "containers 0 ports", "[[80,80,'tcp']]");
	check_at(arena, "plan", plan, "containers 1",
		"{'name':'init','as':'init','initial':true,'anyExit':true}");
	assert_true(span_equal(json_text(at(plan, "containers 0 as")),
		json_text(at(template.spec, "containers 0 name"))));
}

static void test_documents(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_group group = {.id = SPAN("1/us-east-1/default/web/7"),
		.version = SPAN("ecs-svc/7"),
		.desired = 4,
		.minimum_healthy = 50,
		.maximum = 200,
		.settle_seconds = 10};
	struct kubernetes_owner owner = {"v1", "Pod", SPAN("p"), SPAN("u")};
	struct kubernetes_template template;
	struct json *document;
	struct err err;

	(void)state;
	assert_int_equal(make(arena, ONE("'environment':[{'name':'A','value':'v','secret':true}]"),
				 true, NULL, &template, &err),
		0);
	document = kubernetes_group_document(arena, SPAN("ns"), SPAN("web-1"), &group, &template,
		SPAN("web-1-a web-1-b"), 0);
	assert_true(span_is(json_get_text(at(document, "metadata annotations"), KUBERNETES_SECRET),
		"web-1-a web-1-b"));
	check_at(arena, "group", document, "spec replicas", "4");
	check_at(arena, "group", document, "spec minReadySeconds", "11");
	check_at(arena, "group", document, "spec strategy rollingUpdate",
		"{'maxUnavailable':2,'maxSurge':4}");
	check_at(arena, "group", document, "spec template metadata finalizers",
		"['slipway.dev/task']");
	assert_true(span_is(json_get_text(at(document, "metadata annotations"), KUBERNETES_VERSION),
		"ecs-svc/7"));
	/* The selector's labels are on the pods. */
	for (size_t i = 0; i < json_count(at(document, "spec selector matchLabels")); i++) {
		const struct json_member *member =
			&at(document, "spec selector matchLabels")->object.members[i];

		assert_true(json_equal(member->value,
			json_get_span(at(document, "spec template metadata labels"),
				member->name)));
	}
	document = kubernetes_group_numbers(arena, &group, 0);
	check_at(arena, "numbers", document, "spec template", NULL);
	check_at(arena, "numbers", document, "spec replicas", "4");
	group.daemon = true;
	document = kubernetes_group_document(arena, SPAN("ns"), SPAN("web-1"), &group, &template,
		SPAN_NONE, 0);
	assert_true(json_is_absent(json_get(at(document, "metadata annotations"),
		KUBERNETES_SECRET)));
	check_at(arena, "daemon", document, "spec replicas", NULL);
	check_at(arena, "daemon", document, "spec minReadySeconds", "11");
	check_at(arena, "daemon", document, "spec updateStrategy rollingUpdate",
		"{'maxUnavailable':'50%'}");
	document = kubernetes_secret_document(arena, SPAN("ns"), SPAN("s"), &template, &owner);
	check_at(arena, "secret", document, "data", "{'0.A':'dg=='}");
	check_at(arena, "secret", document, "metadata ownerReferences",
		"[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'u'}]");
	document = kubernetes_pod_document(arena, SPAN("ns"), SPAN("p"), &template);
	check_at(arena, "pod", document, "metadata finalizers", "['slipway.dev/task']");
	document = kubernetes_namespace_document(arena, SPAN("n"), SPAN("host-1"), SPAN(ARN));
	check_at(arena, "namespace", document, "metadata name", "'n'");
	assert_int_equal(kubernetes_claim(document, SPAN("host-1")), KUBERNETES_OURS);
}

static void test_rolling(void **state)
{
	static const struct {
		int64_t desired, minimum, maximum, unavailable, surge;
	} rows[] = {
		{4, 100, 200, 0, 4},
		{4, 50, 100, 2, 0},
		{4, 50, 200, 2, 4},
		{4, 0, 100, 4, 0},
		{4, 0, 200, 4, 4},
		{3, 50, 100, 1, 0},  /* at least ceil(1.5) = 2 healthy */
		{3, 100, 150, 0, 1}, /* at most floor(4.5) = 4 */
		{10, 90, 110, 1, 1},
		{7, 66, 133, 2, 2}, /* ceil(4.62) = 5, floor(9.31) = 9 */
		{1, 50, 100, 0, 1}, /* no room: one more */
		{1, 100, 100, 0, 1},
		{4, 100, 100, 0, 1},
		{1, 100, 150, 0, 1},
		{0, 100, 200, 0, 1},
		{0, 0, 100, 0, 1},
		{5, 150, 200, 0, 5},
		{5, 100, 50, 0, 1},
		{100000, 100, 200, 0, 100000},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct kubernetes_rolling rolling =
			kubernetes_rolling_of(rows[i].desired, rows[i].minimum, rows[i].maximum);

		assert_int_equal(rolling.unavailable, rows[i].unavailable);
		assert_int_equal(rolling.surge, rows[i].surge);
	}
}

static void test_rolling_daemons(void **state)
{
	static const struct {
		int64_t minimum, nodes;
		const char *unavailable;
	} rows[] = {
		{0, 0, "'100%'"},
		{50, 0, "'50%'"},
		{100, 0, "1"},
		{50, 5, "2"}, /* at least ceil(2.5) = 3 healthy */
		{0, 5, "5"},
		{100, 5, "1"},
		{90, 5, "1"},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_at(arena, "daemon",
			kubernetes_rolling_write_daemon(arena, rows[i].minimum, rows[i].nodes),
			"rollingUpdate maxUnavailable", rows[i].unavailable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_volumes),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_dependencies),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_without_helper),
		cmocka_unit_test(test_restricted),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_binding),
		cmocka_unit_test(test_daemons),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_rolling),
		cmocka_unit_test(test_rolling_daemons),
	};

	return cmocka_run_group_tests_name("kubernetes_template", tests, NULL, NULL);
}
