/*
 * Changes of services: a service being edited, its immutable revisions, and how a deployment of a
 * revision begins. API handlers begin deployments when a client requests another revision; the
 * service controller begins one to roll back to an earlier revision.
 *
 * Contents of the documents, which are as the API has them:
 *
 *     service    what does not need a new deployment to take effect: placementConstraints,
 *                placementStrategy, propagateTags, enableECSManagedTags, enableExecuteCommand,
 *                deploymentConfiguration, healthCheckGracePeriodSeconds, schedulingStrategy, … and, for
 *                people, a copy of the current revision's members. Tags are the private text's. Not in it,
 *                because they are facts: status, desiredCount; because they are derived: all counts.
 *     revision   what a task is made of: taskDefinition (an ARN), launchType or
 *                capacityProviderStrategy, platformVersion, networkConfiguration, loadBalancers,
 *                serviceRegistries
 *     deployment the same members as its revision (DescribeServices shows them), the
 *                deploymentConfiguration it began with, and for one that goes back: rollbackTo
 *     task set   what a revision has, and externalId
 *
 * A deployment is shown twice: in deployments[] of its service, and as a service deployment. One
 * that goes back (facts.rollback) is no service deployment of its own: it belongs to the one that
 * failed, whose state shows its progress (ROLLBACK_IN_PROGRESS and so on), and which has
 * facts.service_revision equal to facts.source here.
 */
#ifndef ECS_SERVICE_REVISION_H
#define ECS_SERVICE_REVISION_H

#include "ecs/record/service_kind.h"

/* A service that is being created or changed. */
struct service_edit {
	struct arena *arena;
	struct span key;
	struct service_facts facts;
	struct json *document;
	const struct json *tags; /* an array or NULL */
	uint64_t revision;       /* STORE_ABSENT: new */
};

int service_edit_open(const struct store_object *service, struct arena *arena,
	struct service_edit *ret_edit, struct err *err);
int service_edit_save(struct store_transaction *transaction, const struct service_edit *edit,
	struct err *err);

/* Takes the members of a revision from a document that has them, and puts the revision. *ret_number lives
 * in the arena. */
int service_revision_add(struct store_transaction *transaction, const struct service_edit *edit,
	const struct json *definition, struct random *random, int64_t now_ms,
	struct span *ret_number, struct err *err);

/*
 * Begins a deployment of a revision: it becomes PRIMARY with rollout IN_PROGRESS and state
 * IN_PROGRESS, and the one that was PRIMARY becomes ACTIVE. If that one was in progress, it is
 * STOPPED as a service deployment; the circuit breaker moves it to FAILED and ROLLBACK_IN_PROGRESS
 * before it calls this, so that it keeps that state. One whose rollback this interrupts becomes
 * ROLLBACK_FAILED.
 *
 * The edit gets the members of the revision and clears facts.reported; the caller saves it.
 * `back_to` is the number of the deployment that is rolled back to, or SPAN("") for a new revision.
 * The oldest INACTIVE deployments beyond SERVICE_DEPLOYMENTS_MAX go, and their revisions with them.
 */
int service_deployment_begin(struct store_transaction *transaction, struct service_edit *edit,
	struct span revision_number, struct span back_to, struct random *random, int64_t now_ms,
	struct span *ret_number, struct err *err);

/* Deletes everything that belongs to a service but the service: deployments, revisions, task sets, events. */
int service_components_delete(struct store_transaction *transaction, struct span service_key,
	struct err *err);

/* "FAMILY" and REVISION of a task definition's ARN; false if it is none. */
bool service_definition_of_arn(struct span arn, struct span *ret_family, int64_t *ret_revision);

#endif
