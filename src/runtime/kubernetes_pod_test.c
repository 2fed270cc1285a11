/* Pods reported as tasks: a table of statuses as nodes and API servers write them, and the
 * reports. */
#include "runtime/test_kubernetes.h"

#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/pod_task.h"

#define HOST "host-1"
#define TOKEN "0123456789abcdef0123456789abcdef"
#define UID "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
#define UID_TOKEN "3f2504e04f8911d39a0c0305e82c3301"
#define NOW_MS INT64_C(1795000000000)
#define T(minute) "'2026-11-16T12:" minute ":00Z'"
#define T0_MS INT64_C(1794830400000) /* 2026-11-16T12:00:00Z */
#define MINUTE INT64_C(60000)

#define APP "{`name`:`app`,`as`:`app`,`essential`:true}"
#define SIDE "{`name`:`Side`,`as`:`side-1`}"

static const char *const phases[] = {"PENDING", "RUNNING", "STOPPING", "STOPPED"};
static const char *const stops[] = {"NONE", "FAILED_TO_START", "ESSENTIAL", "ASKED", "LOST"};
static const char *const healths[] = {"NONE", "UNKNOWN", "HEALTHY", "UNHEALTHY"};

struct row {
	const char *name;
	bool group;
	const char *plan;     /* the containers of the plan, with `; NULL: APP */
	const char *metadata; /* more of it, each with a comma before; NULL */
	const char *annotations;
	const char *status;
	const char *task;       /* "PHASE STOP" */
	const char *reason;     /* that it has in it; NULL: "" */
	const char *containers; /* "name PHASE HEALTH exit", joined by ", " */
	bool must_end;
	const char *network; /* NULL: awsvpc */
};

static const struct kube_object *make_pod(struct arena *arena, const struct row *row)
{
	struct kubernetes_reduce_context ours = {SPAN(HOST)};
	struct json *object, *annotations;
	const struct kube_object *built;
	struct err err;
	struct span text = arena_format(arena,
		"{'metadata':{'name':'p','namespace':'n','uid':'" UID
		"','creationTimestamp':" T("00") ",'labels':{'app.kubernetes.io/"
						 "managed-by':'slipway'},'finalizers':['slipway."
						 "dev/task']"
						 "%s},'spec':{'nodeName':'node-1'},'status':%s}",
		row->metadata ? row->metadata : "", row->status);
	char *plan = arena_copy_string(arena,
		arena_format(arena, "{`network`:`%s`,`hold`:20,`containers`:[%s]}",
			row->network ? row->network : "awsvpc", row->plan ? row->plan : APP)
			.data);

	object = read_json(arena, text.data);
	annotations = json_copy_object(arena,
		read_json(arena, arena_format(arena, "{'slipway.dev/host':'" HOST "'%s}",
					 row->annotations ? row->annotations : "")
					 .data));
	for (char *c = plan; *c; c++)
		*c = *c == '`' ? '"' : *c;
	json_set_string(arena, annotations, KUBERNETES_PLAN, span_of(plan));
	if (row->group) {
		json_set_string(arena, annotations, KUBERNETES_GROUP, SPAN("1/r/c/web"));
		json_set_string(arena, annotations, KUBERNETES_VERSION, SPAN("ecs-svc/1"));
	} else {
		json_set_string(arena, annotations, KUBERNETES_TASK, SPAN(TOKEN));
	}
	/* Parsed objects are not changed, so a copy is. */
	object = json_copy_object(arena, object);
	{
		struct json *metadata = json_copy_object(arena, json_get(object, "metadata"));

		json_set(arena, metadata, "annotations", annotations);
		json_set(arena, object, "metadata", metadata);
	}
	if (kube_object_make(object, kubernetes_pod_reduce, &ours, &built, &err) != 0)
		fail_msg("%s: %s", row->name, err.message);
	return built;
}

static struct span render_containers(struct arena *arena, const struct runtime_task *task)
{
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < task->container_count; i++) {
		const struct runtime_container *container = &task->containers[i];

		buffer_format(&text, "%s%.*s %s %s ", i ? ", " : "", SPAN_ARGS(container->name),
			phases[container->phase], healths[container->health]);
		if (container->has_exit_code)
			buffer_add_signed(&text, container->exit_code);
		else
			buffer_add_char(&text, '-');
	}
	return arena_copy_span(arena, buffer_span(&text));
}

#define STATUS(phase, containers)                                                                  \
	"{'phase':'" phase "','podIP':'10.0.0.7','hostIP':'192.168.0.1',"                          \
	"'containerStatuses':[" containers "]}"
#define INIT(phase, initial, containers)                                                           \
	"{'phase':'" phase "','initContainerStatuses':[" initial "],"                              \
	"'containerStatuses':[" containers "]}"
#define C(name, rest) "{'name':'" name "','containerID':'containerd://" name "'," rest "}"
#define RUNS(minute) "'ready':true,'restartCount':0,'state':{'running':{'startedAt':" T(minute) "}}"
#define NOT_READY(minute)                                                                          \
	"'ready':false,'restartCount':0,'state':{'running':{'startedAt':" T(minute) "}}"
#define WAITS(reason, message)                                                                     \
	"'ready':false,'restartCount':0,'state':{'waiting':{'reason':'" reason                     \
	"','message':'" message "'}}"
#define RUN(code, reason, from, to)                                                                \
	"{'terminated':{'exitCode':" code ",'reason':'" reason                                     \
	"','startedAt':" T(from) ",'finishedAt':" T(to) "}}"
#define ENDED(code, reason, from, to)                                                              \
	"'ready':false,'restartCount':0,'state':" RUN(code, reason, from, to)
#define AGAIN(count, code, reason, from, to)                                                       \
	"'ready':true,'restartCount':" count ",'state':{'running':{"                               \
	"'startedAt':" T("09") "}},'lastState':" RUN(code, reason, from, to)
#define DELETED(deadline, grace)                                                                   \
	",'deletionTimestamp':" T(deadline) ",'deletionGracePeriodSeconds':" grace
#define HEALTH "{`name`:`app`,`as`:`app`,`essential`:true,`health`:[30,5,3,60]}"
#define RESTARTS "{`name`:`app`,`as`:`app`,`essential`:true,`restart`:[60,3]}"
#define SUCCESS "{`name`:`init`,`as`:`init`,`initial`:true}"
#define COMPLETE "{`name`:`init`,`as`:`init`,`initial`:true,`anyExit`:true}"

static const struct row rows[] = {
	/* Beginnings. */
	{"no node yet", false, NULL, NULL, NULL,
		"{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
		"'Unschedulable','message':'0/3 nodes are available'}]}",
		"PENDING NONE", "0/3 nodes", "app PENDING NONE -", false, NULL},
	{"nothing said", false, NULL, NULL, NULL, "{}", "PENDING NONE", NULL, "app PENDING NONE -",
		false, NULL},
	{"being made", false, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("ContainerCreating", ""))), "PENDING NONE", NULL,
		"app PENDING NONE -", false, NULL},
	{"a pull that failed once", false, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("ErrImagePull", "no such host"))), "PENDING NONE",
		"CannotPullContainerError: no such host", "app PENDING NONE -", false, NULL},
	{"a pull that keeps failing", false, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("ImagePullBackOff", "Back-off pulling"))),
		"STOPPING FAILED_TO_START", "CannotPullContainerError: Back-off pulling",
		"app PENDING NONE -", true, NULL},
	{"a pull that keeps failing, of a group", true, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("ImagePullBackOff", "Back-off pulling"))),
		"STOPPED FAILED_TO_START", "CannotPullContainerError: Back-off pulling",
		"app STOPPED NONE -", false, NULL},
	{"a pull that kept failing, deleted", false, NULL, DELETED("05", "30"),
		",'slipway.dev/end':'{\\\"stop\\\":\\\"failed-to-start\\\",\\\"reason\\\":\\\"no "
		"image\\\"}'",
		STATUS("Pending", C("app", WAITS("ErrImagePull", "no such host"))),
		"STOPPED FAILED_TO_START", "no image", "app STOPPED NONE -", false, NULL},
	{"another one of it ran", false, APP "," SIDE, DELETED("05", "30"), NULL,
		STATUS("Pending",
			C("app", WAITS("ImagePullBackOff", "")) "," C("side-1", RUNS("01"))),
		"STOPPING ASKED", NULL, "app PENDING NONE -, Side STOPPING NONE -", false, NULL},
	{"a name that is none", false, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("InvalidImageName", ""))),
		"STOPPING FAILED_TO_START", "CannotPullContainerError: InvalidImageName",
		"app PENDING NONE -", true, NULL},
	{"a secret that is not there", false, NULL, NULL, NULL,
		STATUS("Pending",
			C("app", WAITS("CreateContainerConfigError", "secret not found"))),
		"STOPPING FAILED_TO_START", "ResourceInitializationError: secret not found",
		"app PENDING NONE -", true, NULL},
	{"a secret that the node has not seen yet", false, NULL, NULL, NULL,
		STATUS("Pending", C("app", WAITS("CreateContainerConfigError",
						   "failed to sync secret cache: timed out"))),
		"PENDING NONE", "failed to sync", "app PENDING NONE -", false, NULL},
	{"a program that is not there", false, NULL, NULL, NULL,
		STATUS("Failed",
			C("app", "'restartCount':0,'state':{'terminated':{'exitCode':128,"
				 "'reason':'StartError','message':'exec: no such "
				 "file','startedAt':" T("01") ",'finishedAt':" T("01") "}}")),
		"STOPPED FAILED_TO_START", "CannotStartContainerError: exec: no such file",
		"app STOPPED NONE 128", false, NULL},
	{"a program that is not there, of a group", true, NULL, NULL, NULL,
		STATUS("Running",
			C("app", "'restartCount':1,'state':{'waiting':{'reason':"
				 "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':128,'"
				 "reason':"
				 "'StartError','message':'exec: no such file','startedAt':" T(
					 "01") ",'finishedAt':" T("01") "}}")),
		"STOPPED FAILED_TO_START", "CannotStartContainerError: exec: no such file",
		"app STOPPED NONE 128", false, NULL},
	{"a program that slipway-pod did not find", true, NULL, NULL, NULL,
		STATUS("Running",
			C("app", "'restartCount':1,'state':{'running':{'startedAt':" T(
					 "02") "}},'lastState':{'terminated':{'exitCode':127,'"
					       "reason':'Error','message':"
					       "'slipway: cannot start: exec: x','startedAt':" T(
						       "01") ",'finishedAt':" T("01") "}}")),
		"STOPPED FAILED_TO_START", "CannotStartContainerError: exec: x",
		"app STOPPED NONE 127", false, NULL},
	{"one that is waited for did not become healthy", false, APP "," SIDE, NULL, NULL,
		STATUS("Running", C("app", WAITS("PodInitializing", "")) "," C("side-1",
					  "'restartCount':0,"
					  "'state':{'terminated':{'exitCode':137,'reason':'Error','"
					  "message':'words\\nslipway: "
					  "did not become healthy','startedAt':" T(
						  "01") ",'finishedAt':" T("02") "}}")),
		"STOPPING FAILED_TO_START",
		"DependencyError: container 'Side' did not become healthy",
		"app PENDING NONE -, Side STOPPED NONE 137", true, NULL},
	{"the container that waited for it", false, APP, NULL, NULL,
		STATUS("Failed",
			C("app", "'restartCount':0,'state':{'terminated':{'exitCode':1,'reason':"
				 "'Error','message':'slipway: not started: container `db` did not "
				 "become healthy',"
				 "'startedAt':" T("01") ",'finishedAt':" T("02") "}}")),
		"STOPPED FAILED_TO_START", "DependencyError: container 'db' did not become healthy",
		"app STOPPED NONE -", false, NULL},
	/* Running. */
	{"running", false, NULL, NULL, NULL, STATUS("Running", C("app", RUNS("01"))),
		"RUNNING NONE", NULL, "app RUNNING NONE -", false, NULL},
	{"one of two", false, APP "," SIDE, NULL, NULL,
		STATUS("Pending",
			C("app", RUNS("01")) "," C("side-1", WAITS("PodInitializing", ""))),
		"PENDING NONE", NULL, "app RUNNING NONE -, Side PENDING NONE -", false, NULL},
	{"a node that does not answer", false, NULL, NULL, NULL,
		"{'phase':'Unknown','reason':'NodeLost','containerStatuses':[" C("app",
			RUNS("01")) "]}",
		"RUNNING NONE", NULL, "app RUNNING NONE -", false, NULL},
	{"an end that does not matter", false, APP "," SIDE, NULL, NULL,
		STATUS("Running",
			C("app", RUNS("01")) "," C("side-1", ENDED("3", "Error", "01", "02"))),
		"RUNNING NONE", NULL, "app RUNNING NONE -, Side STOPPED NONE 3", false, NULL},
	{"an end that does not matter, started again", true, APP "," SIDE, NULL, NULL,
		STATUS("Running",
			C("app", RUNS("01")) "," C("side-1", AGAIN("4", "3", "Error", "01", "02"))),
		"RUNNING NONE", NULL, "app RUNNING NONE -, Side STOPPED NONE 3", false, NULL},
	/* Ends. */
	{"the end of a task", false, NULL, NULL, NULL,
		STATUS("Succeeded", C("app", ENDED("0", "Completed", "01", "02"))),
		"STOPPED ESSENTIAL", NULL, "app STOPPED NONE 0", false, NULL},
	{"a failure", false, NULL, NULL, NULL,
		STATUS("Failed", C("app", ENDED("7", "Error", "01", "02"))), "STOPPED ESSENTIAL",
		NULL, "app STOPPED NONE 7", false, NULL},
	{"too much memory", false, NULL, NULL, NULL,
		STATUS("Failed", C("app", ENDED("137", "OOMKilled", "01", "02"))),
		"STOPPED ESSENTIAL", "OutOfMemoryError: Container killed due to memory usage",
		"app STOPPED NONE 137", false, NULL},
	{"the others are to end", false, APP "," SIDE, NULL, NULL,
		STATUS("Running",
			C("app", ENDED("7", "Error", "01", "02")) "," C("side-1", RUNS("01"))),
		"STOPPING ESSENTIAL", NULL, "app STOPPED NONE 7, Side STOPPING NONE -", true, NULL},
	{"the others are ending", false, APP "," SIDE, DELETED("05", "120"),
		",'slipway.dev/end':'{\\\"stop\\\":\\\"essential\\\",\\\"reason\\\":\\\"\\\"}'",
		STATUS("Running",
			C("app", ENDED("7", "Error", "01", "02")) "," C("side-1", RUNS("01"))),
		"STOPPING ESSENTIAL", NULL, "app STOPPED NONE 7, Side STOPPING NONE -", false,
		NULL},
	{"the others have ended", false, APP "," SIDE, DELETED("05", "120"),
		",'slipway.dev/end':'{\\\"stop\\\":\\\"essential\\\",\\\"reason\\\":\\\"\\\"}'",
		STATUS("Running", C("app", ENDED("7", "Error", "01", "02")) "," C("side-1",
					  ENDED("143", "Error", "01", "04"))),
		"STOPPED ESSENTIAL", NULL, "app STOPPED NONE 7, Side STOPPED NONE 143", false,
		NULL},
	{"started again in a group", true, NULL, NULL, NULL,
		STATUS("Running", C("app", AGAIN("1", "7", "Error", "01", "02"))),
		"STOPPED ESSENTIAL", NULL, "app STOPPED NONE 7", false, NULL},
	{"not started again yet", true, NULL, NULL, NULL,
		STATUS("Running", C("app", ENDED("7", "Error", "01", "02"))), "STOPPED ESSENTIAL",
		NULL, "app STOPPED NONE 7", false, NULL},
	{"waiting to be started again", true, NULL, NULL, NULL,
		STATUS("Running", C("app", "'restartCount':3,'state':{'waiting':{'reason':"
					   "'CrashLoopBackOff'}},'lastState':" RUN("137",
						   "OOMKilled", "01", "02"))),
		"STOPPED ESSENTIAL", "OutOfMemoryError", "app STOPPED NONE 137", false, NULL},
	{"out of memory while slipway was away", true, NULL, NULL, NULL,
		STATUS("Running", C("app", AGAIN("2", "137", "OOMKilled", "01", "02"))),
		"STOPPED ESSENTIAL", "OutOfMemoryError", "app STOPPED NONE 137", false, NULL},
	{"evicted", true, NULL, NULL, NULL,
		"{'phase':'Failed','reason':'Evicted','message':'The node was low on memory.',"
		"'containerStatuses':[" C("app", ENDED("137", "Error", "01", "02")) "]}",
		"STOPPED LOST", "Evicted: The node was low on memory.", "app STOPPED NONE 137",
		false, NULL},
	{"refused by its node", true, NULL, NULL, NULL,
		"{'phase':'Failed','reason':'OutOfcpu','message':'Node did not have enough cpu'}",
		"STOPPED FAILED_TO_START", "OutOfcpu: Node did not", "app STOPPED NONE -", false,
		NULL},
	/* Restart policies. */
	{"started again as it is to be", false, RESTARTS, NULL, NULL,
		STATUS("Running", C("app", AGAIN("2", "1", "Error", "01", "03"))), "RUNNING NONE",
		NULL, "app RUNNING NONE -", false, NULL},
	{"it ended too soon", false, RESTARTS, NULL, NULL,
		STATUS("Running", C("app", AGAIN("1", "1", "Error", "01", "01"))),
		"STOPPING ESSENTIAL", NULL, "app STOPPED NONE 1", true, NULL},
	{"an exit code that is left alone", false, RESTARTS, NULL, NULL,
		STATUS("Running", C("app", AGAIN("1", "3", "Error", "01", "05"))),
		"STOPPING ESSENTIAL", NULL, "app STOPPED NONE 3", true, NULL},
	{"between two runs", false, RESTARTS, NULL, NULL,
		STATUS("Running", C("app", "'restartCount':2,'state':{'waiting':{'reason':"
					   "'CrashLoopBackOff'}},'lastState':" RUN("1", "Error",
						   "01", "03"))),
		"RUNNING NONE", NULL, "app RUNNING NONE -", false, NULL},
	{"ended with its task", false, RESTARTS, DELETED("05", "120"), NULL,
		STATUS("Running",
			C("app", "'restartCount':2,'state':" RUN("143", "Error", "03",
					 "04") ",'lastState':" RUN("1", "Error", "01", "03"))),
		"STOPPED ASKED", NULL, "app STOPPED NONE 143", false, NULL},
	/* Deletion. */
	{"scaled in", true, NULL, DELETED("05", "50"), NULL,
		STATUS("Running", C("app", RUNS("01"))), "STOPPING ASKED", NULL,
		"app STOPPING NONE -", false, NULL},
	{"scaled in, ended", true, NULL, DELETED("05", "0"), NULL,
		STATUS("Running", C("app", ENDED("143", "Error", "01", "06"))), "STOPPED ASKED",
		NULL, "app STOPPED NONE 143", false, NULL},
	{"stopped with a reason", false, NULL, DELETED("05", "30"),
		",'slipway.dev/end':'{\\\"stop\\\":\\\"asked\\\",\\\"reason\\\":\\\"I say so\\\"}'",
		STATUS("Running", C("app", RUNS("01"))), "STOPPING ASKED", "I say so",
		"app STOPPING NONE -", false, NULL},
	{"a reason, and no deletion yet", false, NULL, NULL,
		",'slipway.dev/end':'{\\\"stop\\\":\\\"asked\\\",\\\"reason\\\":\\\"I say so\\\"}'",
		STATUS("Running", C("app", RUNS("01"))), "STOPPING ASKED", "I say so",
		"app STOPPING NONE -", true, NULL},
	{"it had ended before it was deleted", false, NULL, DELETED("05", "30"), NULL,
		STATUS("Running", C("app", ENDED("7", "Error", "01", "02"))), "STOPPED ESSENTIAL",
		NULL, "app STOPPED NONE 7", false, NULL},
	{"deleted before it had a node", false, NULL, DELETED("05", "0"), NULL,
		"{'phase':'Pending'}", "STOPPED ASKED", NULL, "app STOPPED NONE -", false, NULL},
	{"an end that the node made up", false, NULL, DELETED("05", "0"), NULL,
		STATUS("Failed", C("app", "'restartCount':0,'state':{'terminated':{'exitCode':137,"
					  "'reason':'ContainerStatusUnknown'}}")),
		"STOPPED ASKED", NULL, "app STOPPED NONE -", false, NULL},
	{"an end that an old node made up", false, NULL, DELETED("05", "0"), NULL,
		STATUS("Pending",
			C("app", "'restartCount':0,'state':{'terminated':{'exitCode':0}}")),
		"STOPPED ASKED", NULL, "app STOPPED NONE -", false, NULL},
	{"forced, its node silent", false, NULL, DELETED("05", "0"), NULL,
		STATUS("Running", C("app", RUNS("01"))), "STOPPED ASKED", NULL,
		"app STOPPED NONE -", false, NULL},
	{"crashed before it was deleted, of a group", true, NULL, DELETED("05", "30"), NULL,
		STATUS("Running", C("app", AGAIN("1", "7", "Error", "01", "02"))),
		"STOPPED ESSENTIAL", NULL, "app STOPPED NONE 7", false, NULL},
	/* Containers that others wait for to end. */
	{"the first is at work", false, SUCCESS "," APP, NULL, NULL,
		INIT("Pending", C("init", RUNS("01")), C("app", WAITS("PodInitializing", ""))),
		"PENDING NONE", NULL, "init RUNNING NONE -, app PENDING NONE -", false, NULL},
	{"the first succeeded", false, SUCCESS "," APP, NULL, NULL,
		INIT("Running", C("init", ENDED("0", "Completed", "01", "02")),
			C("app", RUNS("02"))),
		"RUNNING NONE", NULL, "init STOPPED NONE 0, app RUNNING NONE -", false, NULL},
	{"the first failed", false, SUCCESS "," APP, NULL, NULL,
		INIT("Failed", C("init", ENDED("4", "Error", "01", "02")),
			C("app", WAITS("PodInitializing", ""))),
		"STOPPED FAILED_TO_START", "'init' exited with 4, and others wait for its SUCCESS",
		"init STOPPED NONE 4, app STOPPED NONE -", false, NULL},
	{"the first failed and is tried again", true, SUCCESS "," APP, NULL, NULL,
		INIT("Pending", C("init", AGAIN("1", "4", "Error", "01", "02")),
			C("app", WAITS("PodInitializing", ""))),
		"STOPPED FAILED_TO_START", "'init' exited with 4",
		"init STOPPED NONE -, app STOPPED NONE -", false, NULL},
	{"the first ended, whatever with", false, COMPLETE "," APP, NULL, NULL,
		INIT("Running",
			C("init", "'restartCount':0,'state':{'terminated':{'exitCode':0,"
				  "'reason':'Completed','message':'slipway: exited with "
				  "5','startedAt':" T("01") ",'finishedAt':" T("02") "}}"),
			C("app", RUNS("02"))),
		"RUNNING NONE", NULL, "init STOPPED NONE 5, app RUNNING NONE -", false, NULL},
	{"a program that writes the same text before slipway-pod does", false, COMPLETE "," APP,
		NULL, NULL,
		INIT("Running",
			C("init", "'restartCount':0,'state':{'terminated':{'exitCode':0,"
				  "'reason':'Completed','message':'slipway: cannot start: me\\n"
				  "slipway: exited with 5','startedAt':" T("01") ",'finishedAt':" T(
					  "02") "}}"),
			C("app", RUNS("02"))),
		"RUNNING NONE", NULL, "init STOPPED NONE 5, app RUNNING NONE -", false, NULL},
	{"slipway's own image is missing", true, NULL, NULL, NULL,
		INIT("Pending", C("slipway-program", WAITS("ImagePullBackOff", "")),
			C("app", WAITS("PodInitializing", ""))),
		"STOPPED FAILED_TO_START", "helperImage", "app STOPPED NONE -", false, NULL},
	{"slipway's own image is coming", true, NULL, NULL, NULL,
		INIT("Pending", C("slipway-program", WAITS("PodInitializing", "")),
			C("app", WAITS("PodInitializing", ""))),
		"PENDING NONE", NULL, "app PENDING NONE -", false, NULL},
	/* Health. */
	{"healthy", false, HEALTH, NULL, NULL, STATUS("Running", C("app", RUNS("01"))),
		"RUNNING NONE", NULL, "app RUNNING HEALTHY -", false, NULL},
	{"never healthy", false, HEALTH, NULL, NULL, STATUS("Running", C("app", NOT_READY("01"))),
		"RUNNING NONE", NULL, "app RUNNING UNHEALTHY -", false, NULL},
	{"no longer healthy", false, HEALTH, NULL, NULL,
		"{'phase':'Running','conditions':[{'type':'ContainersReady','status':'False',"
		"'lastTransitionTime':" T("03") "}],'containerStatuses':[" C("app",
			NOT_READY("01")) "]}",
		"RUNNING NONE", NULL, "app RUNNING UNHEALTHY -", false, NULL},
	{"not started", false, HEALTH, NULL, NULL,
		STATUS("Pending", C("app", WAITS("ContainerCreating", ""))), "PENDING NONE", NULL,
		"app PENDING UNKNOWN -", false, NULL},
};

static void test_tasks(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = make_pod(arena, row);
		struct kubernetes_reported *reported =
			kubernetes_pod_report(object->data, NOW_MS, arena);
		struct span task = arena_format(arena, "%s %s", phases[reported->task.phase],
			stops[reported->task.stop]);
		struct span containers = render_containers(arena, &reported->task);

		if (!span_is(task, row->task))
			fail_msg("%s: is %s", row->name, task.data);
		if (!span_is(containers, row->containers))
			fail_msg("%s: is %s", row->name, containers.data);
		if (row->reason ? !memmem(reported->task.reason.data, reported->task.reason.length,
					  row->reason, strlen(row->reason))
				: reported->task.reason.length > 0)
			fail_msg("%s: reason '%.*s'", row->name, SPAN_ARGS(reported->task.reason));
		if (reported->task.unkept !=
			(row->metadata && strstr(row->metadata, "deletionTimestamp")))
			fail_msg("%s: is kept, or not", row->name);
		if (reported->must_end != row->must_end)
			fail_msg("%s: must_end is %d", row->name, reported->must_end);
		assert_true(span_is(reported->task.token, row->group ? UID_TOKEN : TOKEN));
		assert_true(span_is(reported->task.group, row->group ? "1/r/c/web" : ""));
		assert_true(span_is(reported->task.version, row->group ? "ecs-svc/1" : ""));
		assert_true(span_is(reported->task.instance, "node-1"));
		assert_true(reported->task.created_ms == T0_MS);
	}
}

static const struct kubernetes_reported *report(struct arena *arena, const struct row *row,
	int64_t now_ms, const struct kube_object **object)
{
	*object = make_pod(arena, row);
	return kubernetes_pod_report((*object)->data, now_ms, arena);
}

static void test_times(void **state)
{
	static const struct row two = {"two", false, APP "," SIDE, NULL, NULL,
		STATUS("Running", C("app", RUNS("02")) "," C("side-1", RUNS("03"))), NULL, NULL,
		NULL, false, NULL};
	static const struct row ended = {"ended", false, NULL, NULL, NULL,
		STATUS("Failed", C("app", ENDED("7", "Error", "02", "04"))), NULL, NULL, NULL,
		false, NULL};
	static const struct row held = {"held", true, NULL, DELETED("05", "50"), NULL,
		STATUS("Running", C("app", RUNS("01"))), NULL, NULL, NULL, false, NULL};
	static const struct row released = {"released", true, NULL, DELETED("05", "30"), NULL,
		STATUS("Running", C("app", RUNS("01"))), NULL, NULL, NULL, false, NULL};
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *first = NULL, *second = NULL, *third = NULL,
					       *fourth = NULL;
	const struct kubernetes_reported *reported;

	(void)state;
	reported = report(arena, &two, NOW_MS, &first);
	assert_true(reported->task.started_ms == T0_MS + 3 * MINUTE);
	assert_true(reported->task.containers[0].started_ms == T0_MS + 2 * MINUTE);
	assert_true(reported->task.stopped_ms == 0);
	assert_true(reported->task.ends_ms == 0);
	reported = report(arena, &ended, NOW_MS, &second);
	assert_true(reported->task.started_ms == T0_MS + 2 * MINUTE);
	assert_true(reported->task.stopped_ms == T0_MS + 4 * MINUTE);
	/* Deleted 50 seconds before its deadline, and held for 20. */
	reported = report(arena, &held, NOW_MS, &third);
	assert_true(reported->task.ends_ms == T0_MS + 5 * MINUTE - 30000);
	/* Released: it has only the time that its containers need to end. */
	reported = report(arena, &released, NOW_MS, &fourth);
	assert_int_equal(reported->task.phase, RUNTIME_STOPPING);
	assert_true(reported->task.ends_ms == 0);
}

/* Deleted while it started, it may keep running: its node needs a reminder. */
static void test_reminders(void **state)
{
	static const struct {
		const char *metadata, *annotations, *status;
		int64_t remind_ms;
	} table[] = {
		/* Asked for before it began, or while it did. */
		{DELETED("01", "30"), NULL, STATUS("Running", C("app", RUNS("01"))),
			T0_MS + MINUTE},
		{DELETED("02", "60"), NULL, STATUS("Running", C("app", RUNS("01"))),
			T0_MS + MINUTE},
		/* Later: when its time is over. */
		{DELETED("02", "55"), NULL, STATUS("Running", C("app", RUNS("01"))),
			T0_MS + 2 * MINUTE + 10000},
		/* Its node has lost its exit code. */
		{DELETED("02", "55"), NULL,
			STATUS("Running", C("app", WAITS("PodInitializing", ""))),
			T0_MS + MINUTE + 8000},
		/* Once more, later and later; 1794830470000 is 10 s after the deletion. */
		{DELETED("02", "60"), ",'slipway.dev/reminded':'1794830470000'",
			STATUS("Running", C("app", WAITS("PodInitializing", ""))),
			T0_MS + MINUTE + 13000},
		{DELETED("02", "60"), ",'slipway.dev/reminded':'1794830470000'",
			STATUS("Running", C("app", RUNS("01"))), T0_MS + 2 * MINUTE + 10000},
		/* A year. */
		{DELETED("02", "31536000"), ",'slipway.dev/reminded':'1794830470000'",
			STATUS("Running", C("app", RUNS("01"))), T0_MS + 2 * MINUTE + 10000},
		{DELETED("01", "0"), NULL, STATUS("Running", C("app", RUNS("01"))), 0},
		{DELETED("02", "60"), NULL,
			STATUS("Failed", C("app", ENDED("0", "Completed", "01", "01"))), 0},
		{NULL, NULL, STATUS("Running", C("app", RUNS("01"))), 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct row row = {.name = "reminded",
			.metadata = table[i].metadata,
			.annotations = table[i].annotations,
			.status = table[i].status};
		_kube_object_ const struct kube_object *object = NULL;
		int64_t at = report(arena, &row, NOW_MS, &object)->remind_ms;

		if (at != table[i].remind_ms)
			fail_msg("row %zu: at %lld", i, (long long)at);
	}
}

/* Time alone makes a container unhealthy that never was healthy: after its start period and as many checks. */
static void test_health_in_time(void **state)
{
	static const struct row row = {"health", false, HEALTH, NULL, NULL,
		STATUS("Running", C("app", NOT_READY("01"))), NULL, NULL, NULL, false, NULL};
	const int64_t patience = T0_MS + MINUTE + (60 + 3 * 30 + 5) * 1000;
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *object = NULL;
	const struct kubernetes_reported *reported = report(arena, &row, patience - 1, &object);

	(void)state;
	assert_int_equal(reported->task.containers[0].health, RUNTIME_HEALTH_UNKNOWN);
	assert_true(reported->again_ms == patience);
	reported = kubernetes_pod_report(object->data, patience, arena);
	assert_int_equal(reported->task.containers[0].health, RUNTIME_UNHEALTHY);
	assert_true(reported->again_ms == 0);
}

/* As kubelets since 1.27 write it: first that the containers have ended, then the phase. */
static void test_the_phase_comes_after_the_end(void **state)
{
	static const struct {
		struct row row;
		int64_t after_ms; /* the last end */
		bool must_end;
	} table[] = {
		{{"just ended", false, NULL, NULL, NULL,
			 STATUS("Running", C("app", ENDED("7", "Error", "01", "02"))), NULL, NULL,
			 NULL, false, NULL},
			1000, false},
		{{"two ended", false, APP "," SIDE, NULL, NULL,
			 STATUS("Running",
				 C("app", ENDED("0", "Completed", "01", "02")) "," C("side-1",
					 ENDED("0", "Completed", "01", "01"))),
			 NULL, NULL, NULL, false, NULL},
			59999, false},
		{{"the phase does not come", false, NULL, NULL, NULL,
			 STATUS("Running", C("app", ENDED("7", "Error", "01", "02"))), NULL, NULL,
			 NULL, false, NULL},
			60000, true},
		{{"it would be started again", false, RESTARTS, NULL, NULL,
			 STATUS("Running", C("app", ENDED("1", "Error", "02", "02"))), NULL, NULL,
			 NULL, false, NULL},
			1000, true},
		{{"asked to end", false, NULL, NULL,
			 ",'slipway.dev/"
			 "end':'{\\\"stop\\\":\\\"asked\\\",\\\"reason\\\":\\\"\\\"}'",
			 STATUS("Running", C("app", ENDED("7", "Error", "01", "02"))), NULL, NULL,
			 NULL, false, NULL},
			1000, true},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = NULL;
		int64_t ended_ms = T0_MS + 2 * MINUTE;
		const struct kubernetes_reported *reported =
			report(arena, &table[i].row, ended_ms + table[i].after_ms, &object);

		if (reported->task.phase != RUNTIME_STOPPING ||
			reported->must_end != table[i].must_end)
			fail_msg("%s: %s, must_end is %d", table[i].row.name,
				phases[reported->task.phase], reported->must_end);
		if (!reported->must_end && reported->again_ms != ended_ms + 60000)
			fail_msg("%s: again at %lld", table[i].row.name,
				(long long)reported->again_ms);
	}
}

static void test_bindings(void **state)
{
	static const struct {
		const char *network, *address;
		uint16_t host_port;
		const char *task_address;
	} table[] = {
		{"awsvpc", "10.0.0.7", 80, "10.0.0.7"},
		{"bridge", "192.168.0.1", 8080, "10.0.0.7"},
		{"host", "192.168.0.1", 80, ""},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct row row = {.name = table[i].network,
			.network = table[i].network,
			.plan = "{`name`:`app`,`as`:`app`,`essential`:true,`ports`:[[80,8080,`udp`]"
				"]}",
			.status = STATUS("Running", C("app", RUNS("01")))};
		_kube_object_ const struct kube_object *object = NULL;
		const struct kubernetes_reported *reported = report(arena, &row, NOW_MS, &object);
		const struct runtime_container *container;

		container = &reported->task.containers[0];
		assert_int_equal(container->binding_count, 1);
		assert_int_equal(container->bindings[0].container_port, 80);
		assert_int_equal(container->bindings[0].host_port, table[i].host_port);
		assert_true(container->bindings[0].udp);
		assert_true(span_is(container->bindings[0].address, table[i].address));
		assert_true(span_is(reported->task.address, table[i].task_address));
	}
}

static void test_not_ours(void **state)
{
	static const struct {
		const char *object;
		int code;
	} table[] = {
		{"{'metadata':{'name':'p','uid':'u'}}", KUBE_REDUCE_IGNORE},
		{"{'metadata':{'name':'p','uid':'u','labels':{'app.kubernetes.io/managed-by':"
		 "'slipway'},'annotations':{'slipway.dev/host':'other','slipway.dev/plan':'{}'}}}",
			KUBE_REDUCE_IGNORE},
		{"{'metadata':{'name':'p','uid':'u','labels':{'app.kubernetes.io/managed-by':"
		 "'slipway'},'annotations':{'slipway.dev/host':'host-1'}}}",
			KUBE_REDUCE_IGNORE},
		{"{'metadata':{'name':'p','uid':'u','labels':{'app.kubernetes.io/managed-by':"
		 "'slipway'},'annotations':{'slipway.dev/host':'host-1','slipway.dev/plan':'{}'}}}",
			-EINVAL},
		{"{'metadata':{'name':'p','uid':'u','labels':{'app.kubernetes.io/managed-by':"
		 "'slipway'},'annotations':{'slipway.dev/host':'host-1','slipway.dev/plan':'{'}}}",
			-EINVAL},
	};
	struct kubernetes_reduce_context ours = {SPAN(HOST)};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		const struct kube_object *object = NULL;
		struct err err;

		assert_int_equal(kube_object_make(read_json(arena, table[i].object),
					 kubernetes_pod_reduce, &ours, &object, &err),
			table[i].code);
	}
}

/* A thousand pods are to cost less than four megabytes. */
static void test_size(void **state)
{
	static const struct row row = {"size", true, HEALTH "," SIDE, NULL, NULL,
		STATUS("Running", C("app", RUNS("01")) "," C("side-1", RUNS("01"))), NULL, NULL,
		NULL, false, NULL};
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *object = make_pod(arena, &row);

	(void)state;
	assert_true(kube_object_size(object) < 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_reminders),
		cmocka_unit_test(test_health_in_time),
		cmocka_unit_test(test_the_phase_comes_after_the_end),
		cmocka_unit_test(test_bindings),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("kubernetes_pod", tests, NULL, NULL);
}
