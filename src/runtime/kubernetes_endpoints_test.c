/* Names of service discovery as Services and EndpointSlices, and what is fresh until an informer shows it. */
#include "runtime/test_kubernetes.h"

#include "runtime/kubernetes/endpoints.h"
#include "runtime/kubernetes/fresh.h"
#include "runtime/kubernetes/names.h"

static struct kubernetes_place place(const char *address, uint16_t port, bool ready)
{
	return (struct kubernetes_place){
		.endpoint = {.token = SPAN("t"),
			.address = span_of(address),
			.port = port,
			.ready = ready},
		.node = SPAN("node-1"),
		.pod = SPAN("web-1"),
		.uid = SPAN("u-1"),
	};
}

static struct json *make(struct arena *arena, struct kubernetes_place *places, size_t count,
	bool beta)
{
	struct kubernetes_slices_request request = {
		.host = SPAN("h"),
		.namespace = SPAN("n"),
		.service = SPAN("web"),
		.uid = SPAN("s-uid"),
		.full_name = SPAN("web.shop.local"),
		.beta = beta,
		.places = places,
		.place_count = count,
	};

	return kubernetes_slice_documents(arena, &request);
}

static void test_slices(void **state)
{
	struct kubernetes_place places[] = {place("10.0.0.2", 80, true),
		place("10.0.0.1", 80, false), place("fd00::1", 80, true),
		place("10.0.0.3", 0, true)};
	_arena_ struct arena *arena = arena_new(0);
	struct json *slices = make(arena, places, LENGTH(places), false);

	(void)state;
	/* One for each family and port, in an order that does not depend on that of the endpoints. */
	assert_int_equal(json_count(slices), 3);
	check_at(arena, "slices", slices, "0 metadata name", "'web-0'");
	check_at(arena, "slices", slices, "0 metadata labels kubernetes.io/service-name", "'web'");
	check_at(arena, "slices", slices,
		"0 metadata labels endpointslice.kubernetes.io/managed-by", "'slipway'");
	check_at(arena, "slices", slices, "0 metadata ownerReferences 0 uid", "'s-uid'");
	check_at(arena, "slices", slices, "0 metadata annotations slipway.dev/name",
		"'web.shop.local'");
	check_at(arena, "slices", slices, "0 ports", "[]");
	check_at(arena, "slices", slices, "0 endpoints 0 addresses", "['10.0.0.3']");
	check_at(arena, "slices", slices, "1 addressType", "'IPv4'");
	check_at(arena, "slices", slices, "1 ports", "[{'name':'','port':80,'protocol':'TCP'}]");
	check_at(arena, "slices", slices, "1 endpoints 0",
		"{'addresses':['10.0.0.1'],'conditions':{'ready':false},'targetRef':{'kind':'Pod',"
		"'namespace':'n','name':'web-1','uid':'u-1'},'nodeName':'node-1'}");
	check_at(arena, "slices", slices, "1 endpoints 1 conditions", "{'ready':true}");
	check_at(arena, "slices", slices, "2 addressType", "'IPv6'");
}

static void test_slices_before_1_21(void **state)
{
	struct kubernetes_place places[] = {place("10.0.0.2", 80, true)};
	_arena_ struct arena *arena = arena_new(0);
	struct json *slices = make(arena, places, LENGTH(places), true);

	(void)state;
	check_at(arena, "beta", slices, "0 endpoints 0 nodeName", NULL);
	check_at(arena, "beta", slices, "0 endpoints 0 topology",
		"{'kubernetes.io/hostname':'node-1'}");
}

static void test_many(void **state)
{
	enum { COUNT = 2 * KUBERNETES_SLICE_MAX + 1 };
	struct kubernetes_place places[COUNT];
	_arena_ struct arena *arena = arena_new(0);
	struct json *slices;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		places[i] =
			place(arena_format(arena, "10.0.%zu.%zu", i / 256, i % 256).data, 80, true);
	slices = make(arena, places, COUNT, false);
	assert_int_equal(json_count(slices), 3);
	assert_int_equal(json_count(at(slices, "0 endpoints")), KUBERNETES_SLICE_MAX);
	assert_int_equal(json_count(at(slices, "2 endpoints")), 1);
	assert_int_equal(json_count(make(arena, places, 0, false)), 0);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool stays;
	} rows[] = {
		{"web", true},
		{"web-1", true},
		{"Web", false},
		{"1web", false},
		{"_web._tcp", false},
		{"a-name-that-is-so-long-that-no-slice-of-it-could-be-called-it", false},
	};
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct span name = kubernetes_service_name(arena, span_of(rows[i].name));
		struct span longer = kubernetes_service_long_name(arena, span_of(rows[i].name),
			SPAN("shop.local"));

		assert_int_equal(span_is(name, rows[i].name), rows[i].stays);
		assert_true(name.data[0] >= 'a' && name.data[0] <= 'z');
		assert_true(name.length < 60 && longer.length < 60);
		assert_false(span_equal(name, longer));
	}
	check_at(arena, "service",
		kubernetes_service_document(arena, SPAN("h"), SPAN("n"), SPAN("web"), SPAN("w.l")),
		"spec", "{'clusterIP':'None'}");
}

/* ---- freshness ---- */

static const struct kube_object *version(struct arena *arena, const char *uid, const char *version)
{
	const struct kube_object *object;
	struct err err;

	assert_int_equal(kube_object_make(read_json(arena,
						  arena_format(arena,
							  "{'metadata':{'name':'p','uid':'%s',"
							  "'resourceVersion':'%s'}}",
							  uid, version)
							  .data),
				 NULL, NULL, &object, &err),
		0);
	return object;
}

static void check_choice(struct kubernetes_fresh *fresh, const struct kube_object *shown,
	const char *expected)
{
	_kube_object_ const struct kube_object *chosen = kubernetes_fresh_choose(fresh, SPAN("k"),
		shown ? kube_object_reference(shown) : NULL);

	if (expected)
		assert_true(chosen && span_is(chosen->resource_version, expected));
	else
		assert_null(chosen);
}

static void test_fresh(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *old = version(arena, "u", "9");
	_kube_object_ const struct kube_object *newer = version(arena, "u", "11");
	_kube_object_ const struct kube_object *other = version(arena, "v", "12");
	struct kubernetes_fresh fresh;

	(void)state;
	kubernetes_fresh_init(&fresh);
	check_choice(&fresh, NULL, NULL);
	check_choice(&fresh, old, "9");
	kubernetes_fresh_put(&fresh, SPAN("k"), version(arena, "u", "10"));
	check_choice(&fresh, NULL, "10");
	check_choice(&fresh, old, "10");
	check_choice(&fresh, newer, "11");
	/* An answer that comes late does not replace one that is newer. */
	kubernetes_fresh_put(&fresh, SPAN("k"), version(arena, "u", "8"));
	check_choice(&fresh, NULL, "10");
	/* An older object of an informer says nothing about the write. */
	kubernetes_fresh_seen(&fresh, SPAN("k"), old);
	assert_true(kubernetes_fresh_has(&fresh, SPAN("k")));
	kubernetes_fresh_gone(&fresh, SPAN("k"), other);
	assert_true(kubernetes_fresh_has(&fresh, SPAN("k")));
	kubernetes_fresh_seen(&fresh, SPAN("k"), newer);
	assert_false(kubernetes_fresh_has(&fresh, SPAN("k")));
	kubernetes_fresh_put(&fresh, SPAN("k"), version(arena, "u", "10"));
	kubernetes_fresh_gone(&fresh, SPAN("k"), old);
	assert_false(kubernetes_fresh_has(&fresh, SPAN("k")));
	kubernetes_fresh_put(&fresh, SPAN("k"), version(arena, "u", "13"));
	kubernetes_fresh_destroy(&fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_slices_before_1_21),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_fresh),
	};

	return cmocka_run_group_tests_name("kubernetes_endpoints", tests, NULL, NULL);
}
