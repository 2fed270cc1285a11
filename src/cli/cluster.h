/*
 * A Kubernetes cluster as commands reach it: by the kubeconfig that kubectl uses, too.
 */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include "control/runner.h"
#include "kube/client.h"
#include "release/object_calls.h"

#define CLUSTER_OPTIONS_HELP                                                                       \
	"  --kubeconfig FILE  How to reach the cluster. Without it: $KUBECONFIG, "                 \
	"~/.kube/config,\n"                                                                        \
	"                     or the service account of the pod that slipway runs in.\n"           \
	"  --context NAME     Context of the kubeconfig; without it the current one.\n"
#define CLUSTER_NAMESPACE_HELP                                                                     \
	"  -n NS, --namespace NS\n"                                                                \
	"                     Namespace; without it that of the context.\n"

struct cluster_options {
	const char *kubeconfig, *context, *namespace;
};
/* Rows of these options for command_read_options(). */
#define CLUSTER_OPTION_ROWS(options)                                                               \
	{"kubeconfig", &(options).kubeconfig, NULL}, {"context", &(options).context, NULL},        \
		{"namespace", &(options).namespace, NULL},                                         \
	{                                                                                          \
		"n", &(options).namespace, NULL                                                    \
	}

struct cluster {
	struct arena *arena; /* until cluster_close() */
	struct runner *runner;
	struct http_client *http;
	struct kube_client *client;
	struct object_calls calls; /* as field manager "slipway" */
	struct span namespace;
};

int cluster_open(const struct cluster_options *options, struct cluster *ret_cluster,
	struct err *err);
void cluster_close(struct cluster *cluster);
#define _cluster_ CLEANUP(cluster_close)

/* "release.slipway.dev/web", as kubectl names objects. In the arena. */
struct span cluster_object_name(struct arena *arena, const struct json *object);
/* "5m", "3h", "2d": the time since an RFC 3339 time, as kubectl prints ages; "" if it is not one. */
struct span cluster_age(struct arena *arena, struct span time, int64_t now_ms);

#endif
