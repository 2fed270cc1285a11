#include "release/release_live.h"

#include "base/buffer.h"
#include "kube/kind.h"
#include "release/release_names.h"

const char *release_phase_name(enum release_phase phase)
{
	static const char *const names[] = {
		[RELEASE_PHASE_AVAILABLE] = "Available",
		[RELEASE_PHASE_PROGRESSING] = "Progressing",
		[RELEASE_PHASE_FAILURE] = "Failure",
	};

	return names[phase];
}

/* ---- content ---- */

uint64_t release_content_hash(const struct json *object)
{
	static const char *const written[] = {"managedFields", "resourceVersion", "generation",
		"selfLink", "creationTimestamp", "uid"};
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *copy = json_copy_object(arena, object);
	const struct json *metadata = json_get(object, "metadata");
	struct json *kept = json_is(metadata, JSON_OBJECT) ? json_copy_object(arena, metadata)
							   : json_new_object(arena);

	for (size_t i = 0; i < LENGTH(written); i++)
		json_unset(kept, written[i]);
	json_unset(copy, "status");
	/* Lists leave these out. */
	json_unset(copy, "apiVersion");
	json_unset(copy, "kind");
	json_set(arena, copy, "metadata", kept);
	json_write(copy, &text);
	return span_hash(buffer_span(&text));
}

/* ---- phases ---- */

static const struct json *find_condition(const struct json *status, const char *type)
{
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		if (span_is(json_get_text(condition, "type"), type))
			return condition;
	return NULL;
}

static bool has_condition(const struct json *status, const char *type, const char *value)
{
	return span_is(json_get_text(find_condition(status, type), "status"), value);
}

static void wait_for(struct arena *arena, struct release_condition *condition, int64_t have,
	int64_t want, const char *what)
{
	if (condition->phase != RELEASE_PHASE_AVAILABLE || have >= want)
		return;
	condition->phase = RELEASE_PHASE_PROGRESSING;
	condition->message = arena_format(arena, "%lld of %lld pods are %s", (long long)have,
		(long long)want, what);
}

static void fail(struct arena *arena, struct release_condition *condition, struct span message)
{
	condition->phase = RELEASE_PHASE_FAILURE;
	condition->message = message.data ? arena_copy_span(arena, message) : SPAN("");
}

static bool is_observed(const struct json *object)
{
	int64_t generation = json_get_integer(json_get(object, "metadata"), "generation", 0);

	return json_get_integer(json_get(object, "status"), "observedGeneration", 0) >= generation;
}

static void read_deployment(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status");
	const struct json *progressing = find_condition(status, "Progressing");
	int64_t want = json_get_integer(json_get(object, "spec"), "replicas", 1);

	condition->pods = json_get_integer(status, "replicas", 0);
	condition->updated_pods = json_get_integer(status, "updatedReplicas", 0);
	condition->ready_pods = json_get_integer(status, "readyReplicas", 0);
	if (span_is(json_get_text(progressing, "reason"), "ProgressDeadlineExceeded"))
		fail(arena, condition, json_get_text(progressing, "message"));
	wait_for(arena, condition, condition->updated_pods, want, "updated");
	wait_for(arena, condition, json_get_integer(status, "availableReplicas", 0), want,
		"available");
	if (condition->phase == RELEASE_PHASE_AVAILABLE &&
		condition->pods > condition->updated_pods) {
		condition->phase = RELEASE_PHASE_PROGRESSING;
		condition->message = SPAN("pods of the earlier template are being stopped");
	}
}

static void read_stateful_set(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status"), *spec = json_get(object, "spec");
	const struct json *strategy = json_get(spec, "updateStrategy");
	int64_t want = json_get_integer(spec, "replicas", 1);
	int64_t partition = json_get_integer(json_get(strategy, "rollingUpdate"), "partition", 0);

	condition->pods = json_get_integer(status, "replicas", 0);
	condition->updated_pods = json_get_integer(status, "updatedReplicas", 0);
	condition->ready_pods = json_get_integer(status, "readyReplicas", 0);
	if (!span_is(json_get_text(strategy, "type"), "OnDelete"))
		wait_for(arena, condition, condition->updated_pods, want - partition, "updated");
	wait_for(arena, condition, condition->ready_pods, want, "ready");
}

static void read_daemon_set(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status");
	int64_t want = json_get_integer(status, "desiredNumberScheduled", 0);

	condition->pods = json_get_integer(status, "currentNumberScheduled", 0);
	condition->updated_pods = json_get_integer(status, "updatedNumberScheduled", 0);
	condition->ready_pods = json_get_integer(status, "numberReady", 0);
	wait_for(arena, condition, condition->updated_pods, want, "updated");
	wait_for(arena, condition, json_get_integer(status, "numberAvailable", 0), want,
		"available");
}

/* ReplicaSets and ReplicationControllers: their pods are not replaced when the template changes. */
static void read_replica_set(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status");

	condition->pods = condition->updated_pods = json_get_integer(status, "replicas", 0);
	condition->ready_pods = json_get_integer(status, "readyReplicas", 0);
	wait_for(arena, condition, json_get_integer(status, "availableReplicas", 0),
		json_get_integer(json_get(object, "spec"), "replicas", 1), "available");
}

static void read_job(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status");

	if (has_condition(status, "Complete", "True"))
		return;
	if (has_condition(status, "Failed", "True")) {
		fail(arena, condition, json_get_text(find_condition(status, "Failed"), "message"));
		return;
	}
	condition->phase = RELEASE_PHASE_PROGRESSING;
	condition->message = SPAN("the job is not complete");
}

static void read_pod(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	const struct json *status = json_get(object, "status");
	struct span phase = json_get_text(status, "phase");
	bool ready = has_condition(status, "Ready", "True");

	condition->pods = condition->updated_pods = 1;
	condition->ready_pods = ready;
	if (ready || span_is(phase, "Succeeded"))
		return;
	if (span_is(phase, "Failed")) {
		fail(arena, condition, json_get_text(status, "message"));
		return;
	}
	condition->phase = RELEASE_PHASE_PROGRESSING;
	condition->message = SPAN("the pod is not ready");
}

static void read_claim(struct arena *arena, const struct json *object,
	struct release_condition *condition)
{
	struct span phase = json_get_text(json_get(object, "status"), "phase");

	if (span_is(phase, "Lost")) {
		fail(arena, condition, SPAN("the volume of the claim is lost"));
	} else if (!span_is(phase, "Bound")) {
		condition->phase = RELEASE_PHASE_PROGRESSING;
		condition->message = SPAN("the claim is not bound");
	}
}

static const struct {
	const char *group, *kind;
	bool observed; /* has status.observedGeneration */
	void (*read)(struct arena *arena, const struct json *object,
		struct release_condition *condition);
} rules[] = {
	{"apps", "Deployment", true, read_deployment},
	{"apps", "StatefulSet", true, read_stateful_set},
	{"apps", "DaemonSet", true, read_daemon_set},
	{"apps", "ReplicaSet", true, read_replica_set},
	{"", "ReplicationController", true, read_replica_set},
	{"batch", "Job", false, read_job},
	{"", "Pod", false, read_pod},
	{"", "PersistentVolumeClaim", false, read_claim},
};

void release_object_condition(struct arena *arena, struct span group, struct span kind,
	const struct json *object, struct release_condition *ret_condition)
{
	*ret_condition = (struct release_condition){.message = SPAN("")};
	for (size_t i = 0; i < LENGTH(rules); i++) {
		if (!span_is(group, rules[i].group) || !span_is(kind, rules[i].kind))
			continue;
		rules[i].read(arena, object, ret_condition);
		if (rules[i].observed && !is_observed(object)) {
			ret_condition->phase = RELEASE_PHASE_PROGRESSING;
			ret_condition->message = SPAN("the change was not observed yet");
		}
	}
	if (json_get_text(json_get(object, "metadata"), "deletionTimestamp").length > 0) {
		ret_condition->phase = RELEASE_PHASE_PROGRESSING;
		ret_condition->message = SPAN("the object is being deleted");
	}
}

/* ---- reducing ---- */

static void keep_owners(const struct json *metadata, struct kube_keep *keep,
	struct release_live *live)
{
	const struct json *owners = json_get(metadata, "ownerReferences");
	size_t count = json_array_count(owners), i = 0;
	struct span *uids;

	if (count > RELEASE_OWNERS_MAX)
		count = RELEASE_OWNERS_MAX;
	uids = kube_keep_array(keep, count, sizeof(*uids));
	JSON_EACH_ITEM (owners, owner) {
		if (i == count)
			break;
		uids[i++] = kube_keep_text(keep, json_get_text(owner, "uid"));
	}
	live->owner_uids = uids;
	live->owner_count = count;
}

int release_live_reduce(void *kind, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct kube_kind *of = kind;
	const struct json *metadata = json_get(object, "metadata");
	struct span release = json_get_text(json_get(metadata, "labels"), RELEASE_LABEL);
	struct span owner =
		json_get_text(json_get(metadata, "annotations"), RELEASE_OWNER_ANNOTATION);
	struct release_live *live = kube_keep_memory(keep, sizeof(*live));
	struct release_condition condition;

	(void)err;
	release_object_condition(arena, span_of(of->group), span_of(of->kind), object, &condition);
	live->release = kube_keep_text(keep, release.data ? release : SPAN(""));
	live->owner = kube_keep_text(keep, owner.data ? owner : SPAN(""));
	live->content = release_content_hash(object);
	live->phase = condition.phase;
	live->message = kube_keep_text(keep, condition.message);
	live->pods = condition.pods;
	live->updated_pods = condition.updated_pods;
	live->ready_pods = condition.ready_pods;
	live->deleting = json_get_text(metadata, "deletionTimestamp").length > 0;
	live->drain_until_ms =
		kube_time_ms(json_get(json_get(metadata, "annotations"), RELEASE_DRAIN_ANNOTATION));
	keep_owners(metadata, keep, live);
	*ret_data = live;
	return 0;
}
