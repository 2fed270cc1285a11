/*
 * Whether Kubernetes refuses a pod for good, and not slipway's account or the moment: a quota, a Pod Security
 * Standard, a LimitRange, a webhook. All of these and missing permissions have status 403 and reason Forbidden; only the
 * message says which it is. Pure.
 */
#ifndef RUNTIME_KUBERNETES_ADMISSION_H
#define RUNTIME_KUBERNETES_ADMISSION_H

#include "kube/client.h"

bool kubernetes_admission_refuses(const struct kube_failure *failure, const char *message);

#endif
