/*
 * The targets that the server's configuration names: ECS, and the services that belong to it, in a
 * remote account and region. Daemon environments use them, and so does every other component that
 * deploys. A target is called with its own identity (its key, or its role), or with another role
 * that is assumed from there.
 *
 * Reads and writes have separate budgets: a listing of ten thousand tasks does not delay the start
 * of a task. A write times out after AWS_TARGETS_WRITE_MS, so that a server's claim on what it
 * changes can outlast it.
 */
#ifndef AWS_TARGETS_H
#define AWS_TARGETS_H

#include "aws/call.h"
#include "aws/credentials.h"

#define AWS_TARGETS_MAX 64
#define AWS_TARGETS_ROLES_MAX 256 /* of one target */
#define AWS_TARGETS_WRITE_MS 4000
#define AWS_TARGET_LOCAL "local" /* how requests name this server */

/* Strings are the caller's and live as long as the targets. */
struct aws_target_settings {
	const char *name;
	const char *region;
	const char *account;  /* twelve digits: that its clusters are in */
	const char *endpoint; /* of ECS; NULL: AWS's of the region */
	/* NULL: with an own endpoint of ECS the same one, else AWS's of the region. */
	const char *cloudmap_endpoint, *elb_endpoint;
	const char *sts_endpoint; /* NULL: AWS's of the region */
	const char *ca; /* file of the authorities to trust with https; NULL: the system's */
	struct aws_key_source key;
	const char *role, *external_id; /* NULL: none */
	const char *const *accounts;    /* of this server, that may use it */
	size_t account_count;
	double calls_per_second; /* of each kind; 0: the default of aws_remote_config */
	int64_t poll_ms;         /* between two listings of one of its clusters; 0: the default */
	int64_t timeout_ms;      /* of one read; 0: the default of aws_remote_config */
};

/* "https://ecs.eu-west-1.amazonaws.com" */
struct span aws_endpoint_of(struct arena *arena, const char *service, struct span region);

struct aws_targets;

/* Checks what can be checked without the endpoints; messages name the member. The settings live as long. */
int aws_targets_new(const struct aws_target_settings *settings, size_t count,
	struct http_client *client, struct runner *runner, struct aws_targets **ret_targets,
	struct err *err);
/* Targets that the caller creates with make(), the same for every role: for simulations. */
struct aws_targets *aws_targets_created(const struct aws_target_settings *settings, size_t count,
	struct aws_target *(*make)(void *context), void *context);
/* Every call ends, now and from then on. */
void aws_targets_cancel(struct aws_targets *targets);
/* No call is under way; NULL is fine. */
void aws_targets_free(struct aws_targets *targets);

/* NULL: there is none of this name. targets may be NULL. */
const struct aws_target_settings *aws_targets_find(const struct aws_targets *targets,
	struct span name);
/* Whether an account of this server may use it. */
bool aws_target_settings_allow(const struct aws_target_settings *settings, struct span account);

enum aws_target_use { AWS_TARGET_READS, AWS_TARGET_WRITES };
/* The target in the name of a role ("": its own). It lives as long as the targets. -ENOENT: there is no such target;
 * -EINVAL, -E2BIG. From any thread; does not block. */
int aws_targets_get(struct aws_targets *targets, struct span name, struct span role,
	enum aws_target_use use, struct aws_target **ret_target, struct err *err);

#endif
