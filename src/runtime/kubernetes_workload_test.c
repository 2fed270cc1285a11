/* Deployments, DaemonSets, ReplicaSets and Events reported as groups, and Nodes as instances. */
#include "runtime/test_kubernetes.h"

#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/node.h"
#include "runtime/kubernetes/objects.h"
#include "runtime/kubernetes/pod.h"
#include "runtime/kubernetes/workload.h"

#define OURS "'labels':{'app.kubernetes.io/managed-by':'slipway'}"
#define GROUP(version)                                                                             \
	"'annotations':{'slipway.dev/host':'h','slipway.dev/group':'1/r/c/web',"                   \
	"'slipway.dev/version':'" version "'}"
#define META(rest) "'metadata':{'name':'w','namespace':'n','uid':'w-uid'," OURS rest "}"

static struct kubernetes_reduce_context ours = {SPAN("h")};

static const struct kube_object *keep(struct arena *arena, kube_reduce reduce, const char *text)
{
	const struct kube_object *object = NULL;
	struct err err = {0};

	if (kube_object_make(read_json(arena, text), reduce, &ours, &object, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return object;
}

/* ---- workloads ---- */

static void test_workloads(void **state)
{
	static const struct {
		const char *name;
		bool daemon;
		const char *object;
		/* settled failed ending desired current updated ready available reason */
		const char *reported;
	} rows[] = {
		{"new", false, "{" META(",'generation':1," GROUP("v1")) ",'spec':{'replicas':3}}",
			"0 0 0 3 0 0 0 0 "},
		{"running", false,
			"{" META(",'generation':2," GROUP(
				"v1")) ",'spec':{'replicas':3},'status':{"
				       "'observedGeneration':2,'replicas':4,'updatedReplicas':2,'"
				       "readyReplicas':3,"
				       "'availableReplicas':3,'conditions':[{'type':'Progressing','"
				       "status':'True'}"
				       "]}}",
			"1 0 0 3 4 2 3 3 "},
		{"not seen yet", false,
			"{" META(",'generation':3," GROUP("v1")) ",'spec':{'replicas':3},'status':{"
								 "'observedGeneration':2,'replicas'"
								 ":3}}",
			"0 0 0 3 3 0 0 0 "},
		{"to nothing", false,
			"{" META(",'generation':3," GROUP("v1")) ",'spec':{'replicas':0},'status':{"
								 "'observedGeneration':3}}",
			"1 0 0 0 0 0 0 0 "},
		{"too long", false,
			"{" META(",'generation':1," GROUP(
				"v1")) ",'spec':{'replicas':1},'status':{"
				       "'observedGeneration':1,'conditions':[{'type':'Available','"
				       "status':'False'}"
				       ",{'type':'Progressing','status':'False','reason':'"
				       "ProgressDeadlineExceeded'"
				       ",'message':'timed out'}]}}",
			"1 1 0 1 0 0 0 0 ProgressDeadlineExceeded: timed out"},
		{"no room", false,
			"{" META(",'generation':1," GROUP("v1")) ",'spec':{'replicas':1},'status':{"
								 "'observedGeneration':1,'"
								 "conditions':[{'type':'"
								 "ReplicaFailure','status':"
								 "'True','reason':'FailedCreate','"
								 "message':'exceeded quota'}]}}",
			"1 1 0 1 0 0 0 0 FailedCreate: exceeded quota"},
		{"ending", false,
			"{" META(",'deletionTimestamp':'2026-11-16T12:00:00Z'," GROUP(
				"v1")) ","
				       "'spec':{'replicas':1}}",
			"1 0 1 1 0 0 0 0 "},
		{"daemons", true,
			"{" META(",'generation':1," GROUP(
				"v1")) ",'status':{'observedGeneration':1,"
				       "'desiredNumberScheduled':5,'currentNumberScheduled':4,"
				       "'updatedNumberScheduled':3,'numberReady':2,'"
				       "numberAvailable':1}}",
			"1 0 0 5 4 3 2 1 "},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = keep(arena,
			rows[i].daemon ? kubernetes_daemon_set_reduce
				       : kubernetes_deployment_reduce,
			rows[i].object);
		struct kubernetes_group_objects parts = {.workload = object->data};
		struct runtime_group_state *reported = kubernetes_group_report(&parts, arena);
		struct span text = arena_format(arena, "%d %d %d %d %d %d %d %d %.*s",
			reported->settled, reported->failed, reported->ending,
			(int)reported->desired, (int)reported->current, (int)reported->updated,
			(int)reported->ready, (int)reported->available,
			SPAN_ARGS(reported->reason));

		if (!span_is(text, rows[i].reported))
			fail_msg("%s: is %s", rows[i].name, text.data);
		assert_true(span_is(reported->id, "1/r/c/web"));
		assert_true(span_is(reported->version, "v1"));
	}
}

static void test_not_ours(void **state)
{
	static const struct {
		kube_reduce reduce;
		const char *object;
	} rows[] = {
		{kubernetes_deployment_reduce, "{'metadata':{'name':'x','uid':'u'}}"},
		{kubernetes_deployment_reduce, "{" META("") "}"},
		{kubernetes_daemon_set_reduce,
			"{" META(",'annotations':{'slipway.dev/host':'other','slipway.dev/"
				 "group':'g'}") "}"},
		{kubernetes_replica_set_reduce, "{" META("," GROUP("v1")) "}"},
		{kubernetes_event_reduce, "{'metadata':{'name':'e','uid':'u'},'type':'Normal','"
					  "involvedObject':{'kind'"
					  ":'Pod'}}"},
		{kubernetes_event_reduce,
			"{'metadata':{'name':'e','uid':'u'},'type':'Warning','involvedObject':{"
			"'kind':'Node'}}"},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct kube_object *object = NULL;

		assert_int_equal(kube_object_make(read_json(arena, rows[i].object), rows[i].reduce,
					 &ours, &object, NULL),
			KUBE_REDUCE_IGNORE);
	}
}

static void test_numbers(void **state)
{
	struct runtime_group group = {.desired = 4, .minimum_healthy = 50, .maximum = 200};
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *same = keep(arena, kubernetes_deployment_reduce,
		"{" META("," GROUP("v1")) ",'spec':{'replicas':4,'strategy':{'type':'RollingUpdate'"
					  ","
					  "'rollingUpdate':{'maxUnavailable':2,'maxSurge':4}}}}");
	_kube_object_ const struct kube_object *daemon = keep(arena, kubernetes_daemon_set_reduce,
		"{" META("," GROUP("v1")) ",'spec':{'updateStrategy':{'rollingUpdate':{"
					  "'maxUnavailable':'50%'}}}}");

	(void)state;
	assert_true(kubernetes_workload_has_numbers(same->data,
		kubernetes_group_numbers(arena, &group, 0)));
	group.desired = 5;
	assert_false(kubernetes_workload_has_numbers(same->data,
		kubernetes_group_numbers(arena, &group, 0)));
	group.desired = 4;
	group.settle_seconds = 1;
	assert_false(kubernetes_workload_has_numbers(same->data,
		kubernetes_group_numbers(arena, &group, 0)));
	group.settle_seconds = 0;
	group.maximum = 150;
	assert_false(kubernetes_workload_has_numbers(same->data,
		kubernetes_group_numbers(arena, &group, 0)));
	group.daemon = true;
	assert_true(kubernetes_workload_has_numbers(daemon->data,
		kubernetes_group_numbers(arena, &group, 0)));
	assert_false(kubernetes_workload_has_numbers(daemon->data,
		kubernetes_group_numbers(arena, &group, 4)));
	group.settle_seconds = 1;
	assert_false(kubernetes_workload_has_numbers(daemon->data,
		kubernetes_group_numbers(arena, &group, 0)));
}

/* ---- versions ---- */

#define SET(name, version, minute, desired, current, ready)                                        \
	"{'metadata':{'name':'" name "','uid':'" name                                              \
	"','creationTimestamp':'2026-11-16T12:" minute ":00Z'},'spec':{'replicas':" desired        \
	",'template':{'metadata':{" OURS "," GROUP(version) "}}},'status':{'replicas':" current    \
							    ",'readyReplicas':" ready "}}"

static void test_versions(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *workload = keep(arena, kubernetes_deployment_reduce,
		"{" META("," GROUP("v3")) ",'spec':{'replicas':3}}");
	const struct kube_object *sets[] = {
		keep(arena, kubernetes_replica_set_reduce, SET("a", "v1", "00", "0", "0", "0")),
		keep(arena, kubernetes_replica_set_reduce, SET("b", "v2", "01", "2", "3", "2")),
		keep(arena, kubernetes_replica_set_reduce, SET("c", "v3", "02", "0", "0", "0")),
	};
	struct kubernetes_group_objects parts = {.workload = workload->data,
		.replica_sets = sets,
		.replica_set_count = LENGTH(sets)};
	struct runtime_group_state *reported = kubernetes_group_report(&parts, arena);

	(void)state;
	/* The newest first; history is not reported, the desired version is. */
	assert_int_equal(reported->version_count, 2);
	assert_true(span_is(reported->versions[0].version, "v3"));
	assert_true(span_is(reported->versions[1].version, "v2"));
	assert_int_equal(reported->versions[1].desired, 2);
	assert_int_equal(reported->versions[1].current, 3);
	assert_int_equal(reported->versions[1].ready, 2);
	for (size_t i = 0; i < LENGTH(sets); i++)
		kube_object_release(sets[i]);
}

#define POD(name, version, ready)                                                                  \
	"{'metadata':{'name':'" name "','uid':'" name "'," OURS                                    \
	",'annotations':{'slipway.dev/host':'h',"                                                  \
	"'slipway.dev/group':'1/r/c/web','slipway.dev/version':'" version "','slipway.dev/plan':"  \
	"'{\\\"containers\\\":[{\\\"name\\\":\\\"a\\\",\\\"as\\\":\\\"a\\\"}]}'}},'status':{"      \
	"'containerStatuses':[{'name':'a','ready':" ready "}]}}"

static void test_daemon_versions(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *workload = keep(arena, kubernetes_daemon_set_reduce,
		"{" META("," GROUP("v2")) ",'status':{'desiredNumberScheduled':3}}");
	const struct kube_object *pods[] = {
		keep(arena, kubernetes_pod_reduce, POD("a", "v1", "true")),
		keep(arena, kubernetes_pod_reduce, POD("b", "v2", "true")),
		keep(arena, kubernetes_pod_reduce, POD("c", "v2", "false")),
	};
	struct kubernetes_group_objects parts = {
		.workload = workload->data, .pods = pods, .pod_count = LENGTH(pods)};
	struct runtime_group_state *reported = kubernetes_group_report(&parts, arena);

	(void)state;
	assert_int_equal(reported->version_count, 2);
	for (size_t i = 0; i < reported->version_count; i++) {
		bool wanted = span_is(reported->versions[i].version, "v2");

		assert_int_equal(reported->versions[i].desired, wanted ? 3 : 0);
		assert_int_equal(reported->versions[i].current, wanted ? 2 : 1);
		assert_int_equal(reported->versions[i].ready, 1);
	}
	for (size_t i = 0; i < LENGTH(pods); i++)
		kube_object_release(pods[i]);
}

/* ---- events ---- */

static void test_events(void **state)
{
	static const struct {
		const char *object;
		const char *text;
		int count;
		int minute;
	} rows[] = {
		{"{'metadata':{'name':'a','uid':'1'},'type':'Warning','reason':'FailedScheduling',"
		 "'message':'0/3 nodes','count':4,'firstTimestamp':'2026-11-16T12:01:00Z',"
		 "'lastTimestamp':'2026-11-16T12:05:00Z','involvedObject':{'kind':'Pod','uid':'p'}"
		 "}",
			"FailedScheduling: 0/3 nodes", 4, 5},
		{"{'metadata':{'name':'b','uid':'2'},'type':'Warning','reason':'FailedScheduling',"
		 "'note':'0/4 nodes','eventTime':'2026-11-16T12:02:00.000000Z','regarding':{'kind':"
		 "'Pod','uid':'p'}}",
			"FailedScheduling: 0/4 nodes", 1, 2},
		{"{'metadata':{'name':'c','uid':'3'},'type':'Warning','reason':'Unhealthy',"
		 "'message':'Readiness','eventTime':'2026-11-16T12:02:00.000000Z','series':{'count'"
		 ":"
		 "9,'lastObservedTime':'2026-11-16T12:07:00.000000Z'},'involvedObject':{'kind':'"
		 "Pod',"
		 "'uid':'p'}}",
			"Unhealthy: Readiness", 9, 7},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_kube_object_ const struct kube_object *object =
			keep(arena, kubernetes_event_reduce, rows[i].object);
		const struct kubernetes_event *event = object->data;

		assert_true(span_is(event->text, rows[i].text));
		assert_int_equal(event->count, rows[i].count);
		assert_true(span_is(event->object, "p"));
		assert_true(event->at_ms == INT64_C(1794830400000) + rows[i].minute * 60000);
	}
}

#define EVENT(uid, text, minute, count)                                                            \
	"{'metadata':{'name':'" uid "','uid':'" uid                                                \
	"'},'type':'Warning','reason':'R','message':'" text "','count':" count                     \
	",'lastTimestamp':'2026-11-16T12:" minute ":00Z','involvedObject':{'kind':"                \
	"'Pod','uid':'p'}}"

static void test_events_of_a_group(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *workload = keep(arena, kubernetes_deployment_reduce,
		"{" META("," GROUP("v1")) ",'spec':{'replicas':3}}");
	const struct kube_object *events[] = {
		keep(arena, kubernetes_event_reduce, EVENT("3", "late", "09", "1")),
		keep(arena, kubernetes_event_reduce, EVENT("2", "same", "02", "2")),
		keep(arena, kubernetes_event_reduce, EVENT("1", "same", "01", "3")),
	};
	struct kubernetes_group_objects parts = {
		.workload = workload->data, .events = events, .event_count = LENGTH(events)};
	struct runtime_group_state *reported = kubernetes_group_report(&parts, arena);

	(void)state;
	assert_int_equal(reported->event_count, 2);
	assert_true(span_is(reported->events[0].text, "R: same"));
	assert_true(span_is(reported->events[0].id, "1"));
	assert_int_equal(reported->events[0].count, 5);
	assert_true(span_is(reported->events[1].text, "R: late"));
	for (size_t i = 0; i < LENGTH(events); i++)
		kube_object_release(events[i]);
}

/* ---- nodes ---- */

static void test_nodes(void **state)
{
	static const struct {
		const char *name, *object;
		int64_t cpu, memory;
		const char *address;
		bool away;
	} rows[] = {
		{"whole",
			"'status':{'allocatable':{'cpu':'4','memory':'16310404Ki'},'addresses':[{"
			"'type':'Hostname','address':'n1'},{'type':'InternalIP','address':"
			"'192.168.0.9'}],'conditions':[{'type':'MemoryPressure','status':'False'},{"
			"'type':'Ready','status':'True'}]}",
			4096, 15928, "192.168.0.9", false},
		{"thousandths",
			"'status':{'allocatable':{'cpu':'1930m','memory':'7Gi'},'conditions':"
			"[{'type':'Ready','status':'True'}]}",
			1976, 7168, "", false},
		{"a quarter",
			"'status':{'allocatable':{'cpu':'250m','memory':'512M'},'conditions':[{"
			"'type':'Ready','status':'True'}]}",
			256, 488, "", false},
		{"silent",
			"'status':{'allocatable':{'cpu':'1','memory':'1Gi'},'conditions':[{'type':"
			"'Ready','status':'Unknown'}]}",
			1024, 1024, "", true},
		{"new", "'status':{'capacity':{'cpu':'1','memory':'1Gi'}}", 1024, 1024, "", true},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = keep(arena, kubernetes_node_reduce,
			arena_format(arena, "{'metadata':{'name':'n1','uid':'u'},%s}",
				rows[i].object)
				.data);
		struct runtime_instance instance;

		kubernetes_node_report(object->name, object->data, arena, &instance);
		assert_true(span_is(instance.id, "n1"));
		assert_int_equal(instance.cpu, rows[i].cpu);
		assert_int_equal(instance.memory, rows[i].memory);
		assert_true(span_is(instance.address, rows[i].address));
		assert_int_equal(instance.away, rows[i].away);
	}
}

static struct span attribute_of(const struct runtime_instance *instance, const char *name)
{
	JSON_EACH_ITEM (instance->attributes, attribute)
		if (span_equal(json_get_text(attribute, "name"), span_of(name)))
			return json_get_text(attribute, "value");
	return SPAN("nothing");
}

static void test_taints(void **state)
{
	static const struct {
		const char *spec;
		bool closed, tainted;
	} rows[] = {
		{"{}", false, false},
		{"{'taints':[]}", false, false},
		{"{'taints':[{'key':'a','effect':'PreferNoSchedule'}]}", false, false},
		{"{'taints':[{'key':'a','effect':'PreferNoSchedule'},{'key':'b','effect':"
		 "'NoSchedule'}]}",
			false, true},
		{"{'taints':[{'key':'a','value':'b','effect':'NoExecute'}]}", false, true},
		{"{'taints':[{'key':'a','effect':'NoWhatever'}]}", false, true},
		{"{'unschedulable':true}", true, false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = keep(arena, kubernetes_node_reduce,
			arena_format(arena, "{'metadata':{'name':'n1','uid':'u'},'spec':%s}",
				rows[i].spec)
				.data);
		const struct kubernetes_node *node = object->data;

		assert_int_equal(node->closed, rows[i].closed);
		assert_int_equal(node->tainted, rows[i].tainted);
	}
}

static void test_attributes(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{"ecs.availability-zone", "us-east-1a"},
		{"topology.kubernetes.io/zone", "us-east-1a"},
		{"ecs.cpu-architecture", "x86_64"},
		{"kubernetes.io/arch", "amd64"},
		{"ecs.os-type", "linux"},
		{"ecs.os-family", "LINUX"},
		{"ecs.instance-type", "m5.large"},
		{"disk", "ssd"},
	};
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *object = keep(arena, kubernetes_node_reduce,
		"{'metadata':{'name':'n1','uid':'u','labels':{'topology.kubernetes.io/zone':"
		"'us-east-1a','kubernetes.io/arch':'amd64','kubernetes.io/os':'linux',"
		"'node.kubernetes.io/instance-type':'m5.large','disk':'ssd'},'annotations':{"
		"'slipway.dev/cordoned':'h'}},'spec':{'unschedulable':true}}");
	const struct kubernetes_node *node = object->data;
	struct runtime_instance instance;

	(void)state;
	kubernetes_node_report(object->name, node, arena, &instance);
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (!span_is(attribute_of(&instance, rows[i].name), rows[i].value))
			fail_msg("%s is %.*s", rows[i].name,
				SPAN_ARGS(attribute_of(&instance, rows[i].name)));
	assert_true(node->closed);
	assert_true(span_is(node->closer, "h"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workloads),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_daemon_versions),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_of_a_group),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_taints),
		cmocka_unit_test(test_attributes),
	};

	return cmocka_run_group_tests_name("kubernetes_workload", tests, NULL, NULL);
}
