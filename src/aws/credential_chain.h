/*
 * Credentials of AWS as every SDK finds them, from the first of these that is configured:
 *
 *   environment      AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   web identity     AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (a service account of EKS)
 *   profile          AWS_PROFILE or "default": a key, role_arn with source_profile, credential_source or
 *                    web_identity_token_file, or credential_process
 *   container        AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (a task of ECS, a pod of EKS)
 *   instance         instance metadata (IMDSv2 only)
 *
 * One that is configured and fails is an error; the next ones are not tried then. No message contains a secret.
 */
#ifndef AWS_CREDENTIAL_CHAIN_H
#define AWS_CREDENTIAL_CHAIN_H

#include "aws/sigv4.h"
#include "control/runner.h"
#include "io/http_client.h"

#define AWS_CREDENTIAL_PROFILES_MAX 8 /* that lead to each other */

struct aws_credential_chain {
	const char *profile;      /* only this one; NULL: all sources */
	const char *profile_file; /* NULL: the files of the AWS tools */
	const char *region, *sts_endpoint;
	struct span authorities; /* of STS, PEM; none: the system's */
	const char *session;     /* name of sessions whose profile has none */
	struct http_client *client;
	struct http_client_cancel *cancel;
	struct runner *runner;
};

/* In the arena, and until when they are good; 0: they do not expire. Blocks. -ENOENT: nothing is configured; -EACCES,
 * -EINVAL, -ECANCELED, and codes of files and of the HTTP client. */
int aws_credential_chain_read(const struct aws_credential_chain *chain, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_end_ms, struct err *err);

/* The Credentials of an answer of STS. -EPROTO. */
struct json;
int aws_session_read(const struct json *answer, const char *operation, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_end_ms, struct err *err);

/* Used by the chain only. */
#define AWS_NOT_CONFIGURED (-ENODATA) /* the next source is tried */
struct aws_credential_reading {
	const struct aws_credential_chain *chain;
	struct arena *arena;
	struct sigv4_credentials credentials; /* the result */
	int64_t end_ms;
};
int aws_credentials_of_container(struct aws_credential_reading *reading, struct err *err);
int aws_credentials_of_instance(struct aws_credential_reading *reading, struct err *err);
/* session: NULL for the chain's. */
int aws_credentials_of_web_identity(struct aws_credential_reading *reading, const char *role,
	const char *token_file, const char *session, struct err *err);
int aws_credentials_of_process(struct aws_credential_reading *reading, const char *command,
	struct err *err);

#endif
