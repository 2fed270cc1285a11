/* See the header. */
#include "delivery/cluster_ref.h"

bool cluster_ref_parse(struct span text, struct cluster_ref *ret_ref)
{
	struct cluster_ref ref;
	struct span rest;

	if (!span_split(text, ':', &ref.target, &ref.scope) ||
		!span_split(ref.scope, '/', &ref.account, &rest) ||
		!span_split(rest, '/', &ref.region, &ref.cluster))
		return false;
	*ret_ref = ref;
	return true;
}

struct span cluster_ref_text(struct arena *arena, const struct cluster_ref *ref)
{
	return arena_format(arena, "%.*s:%.*s/%.*s/%.*s", SPAN_ARGS(ref->target),
		SPAN_ARGS(ref->account), SPAN_ARGS(ref->region), SPAN_ARGS(ref->cluster));
}

struct span cluster_ref_of_key(struct arena *arena, struct span key)
{
	return arena_format(arena, ":%.*s", SPAN_ARGS(key));
}

bool cluster_ref_is_remote(struct span text)
{
	return text.length > 0 && text.data[0] != ':';
}

struct span cluster_ref_target(struct span text)
{
	struct cluster_ref ref;

	return cluster_ref_parse(text, &ref) ? ref.target : SPAN("");
}
