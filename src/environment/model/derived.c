/* See the header. */
#include "environment/model/derived.h"

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "environment/model/context.h"
#include "environment/model/deployment_states.h"
#include "environment/model/version_builder.h"

struct deriving {
	const struct store_view *view;
	struct arena *arena;
	struct span environment;
	enum daemon_bug bug;
};

/* NULL: there is none, or its record is damaged. */
static const struct environment_version_facts *find_version(const struct deriving *deriving,
	struct span id)
{
	const struct store_object *version =
		id.length == 0 ? NULL
			       : store_get(deriving->view, &environment_version_kind,
					 environment_child_key(deriving->arena,
						 deriving->environment, id));

	return version ? environment_version_facts(version) : NULL;
}

static bool has(struct span claims, struct span claim)
{
	struct span part;

	while (span_next_part(&claims, ';', &part))
		if (span_equal(part, claim))
			return true;
	return false;
}

static void claim_version(const struct deriving *deriving, struct span id, struct span *claims)
{
	const struct environment_version_facts *version = find_version(deriving, id);
	struct span claim;

	if (!version)
		return;
	claim = version_builder_claim(deriving->arena, version);
	if (has(*claims, claim))
		return;
	*claims = arena_format(deriving->arena, "%.*s%s%.*s", SPAN_ARGS(*claims),
		claims->length > 0 ? ";" : "", SPAN_ARGS(claim));
}

static struct span derive_claims(const struct deriving *deriving,
	const struct environment_facts *facts)
{
	const struct store_object *pending = environment_deployment_of(deriving->view,
		deriving->arena, deriving->environment, facts->pending);
	struct span claims = SPAN("");

	/* Only daemons must not meet. */
	if (facts->type != ENVIRONMENT_TYPE_Daemon)
		return claims;
	claim_version(deriving, facts->latest, &claims);
	if (SEEDED_BUG(deriving->bug == DAEMON_BUG_STALE_CLAIMS))
		return claims;
	claim_version(deriving, facts->target, &claims);
	claim_version(deriving, facts->completed, &claims);
	if (pending)
		claim_version(deriving, environment_deployment_facts(pending)->version, &claims);
	return claims;
}

static struct span derive_attributes(const struct deriving *deriving,
	const struct environment_facts *facts)
{
	const struct environment_version_facts *version =
		find_version(deriving, facts->target.length > 0 ? facts->target : facts->latest);

	return version ? version->attributes : SPAN("");
}

void environment_derive(struct store_transaction *transaction, enum daemon_bug bug,
	struct span environment_key, struct environment_facts *facts)
{
	struct deriving deriving = {.view = store_head(transaction),
		.arena = store_transaction_arena(transaction),
		.environment = environment_key,
		.bug = bug};

	facts->claims_on = derive_claims(&deriving, facts);
	facts->attributes = derive_attributes(&deriving, facts);
}
