/*
 * From a spec (runtime/spec.h) to what Kubernetes needs to make a pod of it: labels, annotations,
 * the pod's spec, and the secrets that it refers to. Pure; a spec that can never run is rejected
 * with a reason for users, unsupported settings are in the notes.
 *
 * The program slipway-pod is installed in a pod only where it is needed: an init container of
 * slipway's own image copies it into a volume (see pod/main.c for what it does there). It is needed
 * to hold a task that has traffic, to wait for a container to be healthy, and to prevent a second
 * run of a container with a known command where Kubernetes would restart it.
 */
#ifndef RUNTIME_KUBERNETES_TEMPLATE_H
#define RUNTIME_KUBERNETES_TEMPLATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define KUBERNETES_TASK_VOLUMES_MAX 100
#define KUBERNETES_PROGRAM_FOLDER "/.slipway"
#define KUBERNETES_PROGRAM KUBERNETES_PROGRAM_FOLDER "/slipway-pod"
#define KUBERNETES_MARKS_FOLDER "/.slipway-marks"
#define KUBERNETES_RELEASED KUBERNETES_MARKS_FOLDER "/released"

struct kubernetes_template_config {
	struct span host;
	struct span
		/* with slipway-pod in its PATH; "": none, and specs that need it are rejected */
		helper_image;
	struct span pull_policy; /* "IfNotPresent" */
	bool restricted; /* pods fit the Pod Security Standard of that name; specs that cannot are rejected */
};

struct kubernetes_template_request {
	const struct json *spec;
	struct span instance;       /* of a task of its own; "": any */
	bool bind;                  /* to that instance, without the scheduler */
	struct span token;          /* of a task of its own, else "" */
	struct span group, version; /* of a group, else "" */
	bool daemon;                /* of a group of daemons */
	struct span secret;         /* name of its Secret */
};

struct kubernetes_template {
	struct json *labels, *annotations;
	struct json *spec;
	struct json *secrets; /* texts of its Secret by their keys; NULL: needs none */
};

int kubernetes_template_make(const struct kubernetes_template_config *config,
	const struct kubernetes_template_request *request, struct arena *arena,
	struct kubernetes_template *ret_template, struct err *err);

#endif
