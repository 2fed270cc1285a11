/* See the header. */
#include "delivery/cluster_ref.h"

bool cluster_ref_parse(struct span text, struct cluster_ref *ret_ref)
{
	struct cluster_ref ref = {.text = text};
	struct span rest;

	if (!span_split(text, ':', &ref.target, &ref.scope) ||
		!span_split(ref.scope, '/', &ref.account, &rest) ||
		!span_split(rest, '/', &ref.region, &ref.cluster))
		return false;
	*ret_ref = ref;
	return true;
}

struct cluster_ref cluster_ref_of(struct span text)
{
	struct cluster_ref ref;

	if (cluster_ref_parse(text, &ref))
		return ref;
	return (struct cluster_ref){.text = text,
		.target = SPAN(""),
		.account = SPAN(""),
		.region = SPAN(""),
		.cluster = SPAN(""),
		.scope = SPAN("")};
}

struct cluster_ref cluster_ref_make(struct arena *arena, struct span target, struct span account,
	struct span region, struct span cluster)
{
	return cluster_ref_of(arena_format(arena, "%.*s:%.*s/%.*s/%.*s", SPAN_ARGS(target),
		SPAN_ARGS(account), SPAN_ARGS(region), SPAN_ARGS(cluster)));
}

struct cluster_ref cluster_ref_of_key(struct arena *arena, struct span key)
{
	return cluster_ref_of(arena_format(arena, ":%.*s", SPAN_ARGS(key)));
}

bool cluster_ref_equal(struct cluster_ref a, struct cluster_ref b)
{
	return span_equal(a.text, b.text);
}

bool cluster_ref_is_remote(struct cluster_ref ref)
{
	return ref.target.length > 0;
}
