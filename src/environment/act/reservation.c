/* Carries out the step that decide/reservation_step.h decided: reservations are changed by operations of ECS, and the
 * environment records the key first (model/reservation.h). Each step can be repeated. */
#include "environment/act/daemon.h"
#include "environment/decide/reservation_step.h"
#include "environment/model/matching.h"

#define RECHECK_MS 200

struct recording {
	const struct manager_pass *pass;
	struct span reserved;
};

/* Nothing is written if the environment has changed: its change starts another pass. */
static int write_recorded(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct recording *recording = context;
	const struct store_object *seen = recording->pass->input.environment;
	const struct store_object *now =
		store_get(store_head(transaction), &environment_kind, seen->key);
	struct environment_facts facts;

	if (!now || now->revision != seen->revision)
		return 0;
	facts = *environment_facts(now);
	facts.reserved = recording->reserved;
	return environment_put(transaction, &environment_kind, now->key, now->api, &facts,
		now->revision, err);
}

static int record(const struct manager_pass *pass, struct span reserved, struct err *err)
{
	struct recording recording = {.pass = pass, .reserved = reserved};

	return claims_write(pass->manager->config.claims, &pass->claim, write_recorded, &recording,
		NULL, err);
}

static int send(struct manager_pass *pass, const char *operation,
	const struct environment_version_facts *version, struct err *err)
{
	struct arena *arena = pass->arena;
	struct span environment = pass->input.environment->key;
	struct cluster_ref cluster = environment_reserved_cluster(arena, environment,
		environment_facts(pass->input.environment)->reserved);
	struct json *request = json_new_object(arena);
	struct outcall_result result;
	int code;

	json_set_string(arena, request, "cluster", cluster.cluster);
	json_set_string(arena, request, "group",
		environment_group(arena, environment_name_of_key(environment)));
	if (version) {
		json_set_string(arena, request, "taskDefinition", version->task_definition);
		json_set_string(arena, request, "attributes", version->attributes);
		json_set_integer(arena, request, "priority", version->priority);
	}
	code = manager_send(pass, cluster, SPAN(""), operation, request, &result, err);
	if (code < 0 || result.outcome == OUTCALL_DONE)
		return code;
	return err_set(err, result.code < 0 ? result.code : -EIO, "%s: %.*s", operation,
		SPAN_ARGS(result.reason));
}

static int put(const struct daemon_pass *daemon, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	const struct environment_version_facts *target =
		environment_version_facts(pass->input.target);
	int code = send(pass, "PutReservation", target, err);

	if (code == 0)
		env_instances_note_reservation(daemon->instances, target->id, pass->claim.epoch);
	return code;
}

int daemon_step_reservation(const struct daemon_pass *daemon, bool *ret_changed, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	const struct reservation_input input = {.arena = pass->arena,
		.environment = pass->input.environment->key,
		.facts = environment_facts(pass->input.environment),
		.target = pass->input.target ? environment_version_facts(pass->input.target) : NULL,
		.put = env_instances_reserved_for(daemon->instances, pass->claim.epoch)};
	struct reservation_step step = reservation_decide(&input);
	int code = 0;

	switch (step.type) {
	case RESERVATION_STEP_NONE: return 0;
	case RESERVATION_STEP_PUT: code = put(daemon, err); break;
	case RESERVATION_STEP_RELEASE: code = send(pass, "DeleteReservation", NULL, err); break;
	case RESERVATION_STEP_RECORD: break;
	}
	if (code == 0 && step.type != RESERVATION_STEP_PUT) {
		code = record(pass, step.wanted, err);
		*ret_changed = code == 0;
	}
	/* The lease does not outlast a call: soon it does, or another server has the claim. */
	if (code == -ESTALE) {
		manager_again_at(pass, pass->input.steady_ms + RECHECK_MS);
		*ret_changed = false;
	}
	return code;
}
