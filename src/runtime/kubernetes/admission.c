/* See the header. */
#include "runtime/kubernetes/admission.h"

#include <string.h>

#include "base/memory.h"

/* Permissions may be granted; the others end by themselves, mostly in a namespace that is new. */
static const char *const passing[] = {
	"cannot create resource",
	"service account",
	"status unknown for quota",
	"not yet ready to handle request",
	"being terminated",
};

static const char *const refusing[] = {
	" is forbidden: ",
	"denied the request",
};

static bool contains(const char *message, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(message, texts[i]))
			return true;
	return false;
}

bool kubernetes_admission_refuses(const struct kube_failure *failure, const char *message)
{
	return failure->status == 403 && contains(message, refusing, LENGTH(refusing)) &&
	       !contains(message, passing, LENGTH(passing));
}
