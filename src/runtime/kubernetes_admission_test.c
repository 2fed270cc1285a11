/* Messages of API servers (1.20 to 1.36) about pods that they do not create. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "runtime/kubernetes/admission.h"

static const struct {
	int status;
	bool refuses;
	const char *message;
} rows[] = {
	{403, true,
		"pods \"a\" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, "
		"limited: pods=0"},
	{403, true, "pods \"a\" is forbidden: failed quota: q: must specify limits.cpu"},
	{403, true,
		"pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": "
		"allowPrivilegeEscalation != false"},
	{403, true,
		"pods \"a\" is forbidden: maximum memory usage per Container is 64Mi, but limit is "
		"128Mi"},
	{403, true,
		"admission webhook \"policy.example.com\" denied the request: no image from there"},
	{403, false,
		"pods is forbidden: User \"slipway\" cannot create resource \"pods\" in API group "
		"\"\" in the "
		"namespace \"a\""},
	{403, false,
		"pods \"a\" is forbidden: error looking up service account a/default: "
		"serviceaccount \"default\" not "
		"found"},
	{403, false, "pods \"a\" is forbidden: status unknown for quota: q, resources: pods"},
	{403, false, "pods \"a\" is forbidden: not yet ready to handle request"},
	{403, false,
		"pods \"a\" is forbidden: unable to create new content in namespace a because it "
		"is being terminated"},
	{403, false, "a proxy says no"},
	{500, false, "pods \"a\" is forbidden: exceeded quota: none"},
};

static void refusals_differ_by_their_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct kube_failure failure = {
			.status = rows[i].status, .reason = "Forbidden"};

		if (kubernetes_admission_refuses(&failure, rows[i].message) != rows[i].refuses)
			fail_msg("%s", rows[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_differ_by_their_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
