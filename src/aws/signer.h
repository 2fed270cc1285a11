/*
 * The signer of calls to a remote endpoint: a key that is read again from its source now and then,
 * what the chain of the AWS SDKs finds, or a session of a role that is assumed with another signer (STS AssumeRole).
 * Credentials are kept
 * and renewed before they expire; while renewal fails they are used as long as they are valid. A
 * failed AssumeRole is not repeated at every call, but after a second, then later up to a minute;
 * until then calls fail with the same error.
 *
 * From any thread; one of the threads that need credentials requests them, the others wait for the
 * answer.
 */
#ifndef AWS_SIGNER_H
#define AWS_SIGNER_H

#include "aws/call.h"
#include "aws/credential_chain.h"
#include "aws/credentials.h"

#define AWS_SIGNER_KEY_MS INT64_C(60000)     /* a key that was read is good for so long */
#define AWS_SIGNER_MARGIN_MS INT64_C(300000) /* a session is renewed so long before its end */
#define AWS_SIGNER_SESSION_S 3600
#define AWS_SIGNER_AGAIN_MS INT64_C(1000) /* after a failure, doubling */
#define AWS_SIGNER_AGAIN_MOST_MS INT64_C(60000)

struct aws_signer;

/* The source lives as long. */
struct aws_signer *aws_signer_of_key(const struct aws_key_source *source, struct runner *runner);

/* Of what the chain finds; its strings live as long. The signer sets the member cancel. */
struct aws_signer *aws_signer_of_chain(const struct aws_credential_chain *chain);

struct aws_role {
	const char *arn;
	const char *external_id; /* NULL: none */
	const char *session;     /* its name, for the logs of the other side */
	const char *endpoint;    /* of STS */
	struct span authorities; /* PEM; none: the system's */
	const char *region;
};
/* base outlives it; the role is copied. */
int aws_signer_of_role(const struct aws_role *role, struct aws_signer *base,
	struct http_client *client, struct runner *runner, struct aws_signer **ret_signer,
	struct err *err);
/* No thread may wait for it; NULL is fine. */
void aws_signer_free(struct aws_signer *signer);
/* Ends what is under way, now and from then on, as aws_target_cancel. */
void aws_signer_cancel(struct aws_signer *signer);

/* In the arena. Blocks while a session is requested. -EACCES: no credentials, err says why;
 * -ECANCELED. */
int aws_signer_get(struct aws_signer *signer, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err);
/* These were refused as expired or unknown: they are not given out again. */
void aws_signer_refused(struct aws_signer *signer, const struct sigv4_credentials *credentials);

#endif
