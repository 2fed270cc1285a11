/* Reduced workloads and their events; see the header. */
#include "runtime/kubernetes/workload.h"

#include "base/memory.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/pod.h"

static struct span keep_or_empty(struct kube_keep *keep, struct span text)
{
	return text.length > 0 ? kube_keep_text(keep, text) : SPAN("");
}

static struct span keep_annotation(struct kube_keep *keep, const struct json *metadata,
	const char *name)
{
	return keep_or_empty(keep, json_get_text(json_get(metadata, "annotations"), name));
}

/* ---- workloads ---- */

static struct span keep_reason(struct kube_keep *keep, const struct json *condition)
{
	struct span reason = json_get_text(condition, "reason");
	struct span message = json_get_text(condition, "message");
	_buffer_ struct buffer text = {0};

	buffer_format(&text, "%.*s: %.*s", SPAN_ARGS(reason), SPAN_ARGS(message));
	if (text.length > KUBERNETES_REASON_MAX)
		text.length = KUBERNETES_REASON_MAX;
	return kube_keep_text(keep, buffer_span(&text));
}

/* Pods cannot be created, or the rollout made no progress for too long. */
static bool is_failure(const struct json *condition)
{
	struct span type = json_get_text(condition, "type");
	struct span status = json_get_text(condition, "status");

	if (!type.data || !status.data)
		return false;
	return (span_is(type, "ReplicaFailure") && span_is(status, "True")) ||
	       (span_is(type, "Progressing") && span_is(status, "False"));
}

static struct span keep_failure(struct kube_keep *keep, const struct json *status)
{
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		if (is_failure(condition))
			return keep_reason(keep, condition);
	return SPAN("");
}

/* NULL: it is not ours. */
static struct kubernetes_workload *begin_workload(const struct kubernetes_reduce_context *ours,
	const struct json *object, struct kube_keep *keep)
{
	const struct json *metadata = json_get(object, "metadata"),
			  *status = json_get(object, "status");
	struct kubernetes_workload *workload;

	if (kubernetes_claim(object, ours->host) != KUBERNETES_OURS ||
		json_get_text(json_get(metadata, "annotations"), KUBERNETES_GROUP).length == 0)
		return NULL;
	workload = kube_keep_memory(keep, sizeof(*workload));
	workload->group = keep_annotation(keep, metadata, KUBERNETES_GROUP);
	workload->version = keep_annotation(keep, metadata, KUBERNETES_VERSION);
	workload->cluster_arn = keep_annotation(keep, metadata, KUBERNETES_CLUSTER);
	workload->ending = !json_is_absent(json_get(metadata, "deletionTimestamp"));
	workload->secrets = keep_annotation(keep, metadata, KUBERNETES_SECRET);
	workload->generation = json_get_integer(metadata, "generation", 0);
	workload->observed = json_get_integer(status, "observedGeneration", 0);
	workload->failure = keep_failure(keep, status);
	return workload;
}

static struct span keep_number(struct kube_keep *keep, const struct json *rolling, const char *name)
{
	const struct json *value = json_get(rolling, name);

	return value ? kube_keep_json(keep, value) : SPAN("");
}

int kubernetes_deployment_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct kubernetes_workload *workload = begin_workload(context, object, keep);
	const struct json *spec = json_get(object, "spec"), *status = json_get(object, "status");
	const struct json *rolling = json_path(spec, "strategy.rollingUpdate");

	(void)err;
	if (!workload)
		return KUBE_REDUCE_IGNORE;
	workload->replicas = json_get_integer(spec, "replicas", 1);
	workload->settle_seconds = json_get_integer(spec, "minReadySeconds", 0);
	workload->desired = workload->replicas;
	workload->current = json_get_integer(status, "replicas", 0);
	workload->updated = json_get_integer(status, "updatedReplicas", 0);
	workload->ready = json_get_integer(status, "readyReplicas", 0);
	workload->available = json_get_integer(status, "availableReplicas", 0);
	workload->unavailable = keep_number(keep, rolling, "maxUnavailable");
	workload->surge = keep_number(keep, rolling, "maxSurge");
	*ret_data = workload;
	return 0;
}

int kubernetes_daemon_set_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct kubernetes_workload *workload = begin_workload(context, object, keep);
	const struct json *spec = json_get(object, "spec"), *status = json_get(object, "status");

	(void)err;
	if (!workload)
		return KUBE_REDUCE_IGNORE;
	workload->daemon = true;
	workload->settle_seconds = json_get_integer(spec, "minReadySeconds", 0);
	workload->desired = json_get_integer(status, "desiredNumberScheduled", 0);
	workload->current = json_get_integer(status, "currentNumberScheduled", 0);
	workload->updated = json_get_integer(status, "updatedNumberScheduled", 0);
	workload->ready = json_get_integer(status, "numberReady", 0);
	workload->available = json_get_integer(status, "numberAvailable", 0);
	workload->unavailable = keep_number(keep, json_path(spec, "updateStrategy.rollingUpdate"),
		"maxUnavailable");
	workload->surge = SPAN("");
	*ret_data = workload;
	return 0;
}

static bool is_number(struct span kept, const struct json *wanted)
{
	_buffer_ struct buffer text = {0};

	if (wanted)
		json_write(wanted, &text);
	return span_equal(kept, buffer_span(&text));
}

bool kubernetes_workload_has_numbers(const struct kubernetes_workload *workload,
	const struct json *wanted)
{
	const struct json *spec = json_get(wanted, "spec");
	const struct json *rolling = json_path(spec, "strategy.rollingUpdate");

	if (workload->settle_seconds != json_get_integer(spec, "minReadySeconds", -1))
		return false;
	if (workload->daemon)
		return is_number(workload->unavailable,
			json_path(spec, "updateStrategy.rollingUpdate.maxUnavailable"));
	return workload->replicas == json_get_integer(spec, "replicas", -1) &&
	       is_number(workload->unavailable, json_get(rolling, "maxUnavailable")) &&
	       is_number(workload->surge, json_get(rolling, "maxSurge"));
}

/* ---- ReplicaSets ---- */

int kubernetes_replica_set_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	const struct kubernetes_reduce_context *ours = context;
	const struct json *status = json_get(object, "status");
	const struct json *template = json_path(object, "spec.template");
	struct kubernetes_replica_set *set;

	(void)err;
	/* From the template, because the controller of Deployments overwrites the others. */
	if (kubernetes_claim(template, ours->host) != KUBERNETES_OURS)
		return KUBE_REDUCE_IGNORE;
	set = kube_keep_memory(keep, sizeof(*set));
	set->group = keep_annotation(keep, json_get(template, "metadata"), KUBERNETES_GROUP);
	set->version = keep_annotation(keep, json_get(template, "metadata"), KUBERNETES_VERSION);
	set->owner = kubernetes_owner(object);
	set->desired = json_get_integer(json_get(object, "spec"), "replicas", 0);
	set->current = json_get_integer(status, "replicas", 0);
	set->ready = json_get_integer(status, "readyReplicas", 0);
	set->created_ms = kube_time_ms(json_path(object, "metadata.creationTimestamp"));
	*ret_data = set;
	return 0;
}

/* ---- events ---- */

/* The first existing member: the two versions of events have different names for one value. */
static const struct json *first_of(const struct json *object, const char *const *paths)
{
	for (; *paths; paths++) {
		const struct json *value = json_path(object, *paths);

		if (!json_is_absent(value))
			return value;
	}
	return NULL;
}

static bool may_be_ours(struct span kind)
{
	static const char *const kinds[] = {"Pod", "ReplicaSet", "Deployment", "DaemonSet"};

	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (kind.data && span_is(kind, kinds[i]))
			return true;
	return false;
}

int kubernetes_event_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	static const char *const regarding[] = {"involvedObject", "regarding", NULL};
	static const char *const reason_text[] = {"message", "note", NULL};
	static const char *const counts[] = {"series.count", "count", "deprecatedCount", NULL};
	static const char *const times[] = {"series.lastObservedTime", "lastTimestamp",
		"deprecatedLastTimestamp", "eventTime", "firstTimestamp",
		"metadata.creationTimestamp", NULL};
	const struct json *about = first_of(object, regarding);
	struct span type = json_get_text(object, "type");
	struct span reason = json_get_text(object, "reason"),
		    text = json_text(first_of(object, reason_text));
	_buffer_ struct buffer sentence = {0};
	struct kubernetes_event *event;

	(void)context;
	(void)err;
	if (!may_be_ours(json_get_text(about, "kind")) || !type.data || !span_is(type, "Warning"))
		return KUBE_REDUCE_IGNORE;
	event = kube_keep_memory(keep, sizeof(*event));
	event->warning = true;
	event->object = keep_or_empty(keep, json_get_text(about, "uid"));
	event->namespace = keep_or_empty(keep, json_get_text(about, "namespace"));
	event->name = keep_or_empty(keep, json_get_text(about, "name"));
	event->count = 1;
	json_integer(first_of(object, counts), &event->count);
	event->at_ms = kube_time_ms(first_of(object, times));
	buffer_format(&sentence, "%.*s: %.*s", SPAN_ARGS(reason), SPAN_ARGS(text));
	if (sentence.length > KUBERNETES_REASON_MAX)
		sentence.length = KUBERNETES_REASON_MAX;
	event->text = kube_keep_text(keep, buffer_span(&sentence));
	*ret_data = event;
	return 0;
}
