/*
 * Calling AWS operations from inside: aws_call(target, service, operation, request, …). A target is this
 * process (dispatched directly, on the caller's thread, through the same door as the wire) or a remote
 * endpoint (region, credentials, TLS, SigV4, retries with jitter on 5xx, throttling and connection
 * errors, a rate budget). The delivery engine changes ECS by nothing else.
 *
 * A remote call that got no answer, or an error of the endpoint (5xx), may have happened all the same. It is
 * sent again only if that does no harm: an operation that reads, one with an idempotency token (filled in here when the request has
 * none), or a connection that was never made. Otherwise aws_call says so and the caller reads before it
 * writes again.
 */
#ifndef AWS_CALL_H
#define AWS_CALL_H

#include "aws/dispatch.h"
#include "control/runner.h"
#include "io/http_client.h"

struct aws_signer;
struct aws_target;

/* This process, as the given caller (copied, but for its policy, which must live as long). */
struct aws_target *aws_target_local(struct aws_dispatcher *dispatcher, struct runner *runner,
	const struct aws_caller *caller);

/* Where one service is, if it is not at the endpoint of the others. */
struct aws_service_endpoint {
	const char *service; /* "servicediscovery" */
	const char *endpoint;
};
#define AWS_SERVICE_ENDPOINTS_MAX 4

struct aws_remote_config {
	const char *endpoint; /* "https://ecs.eu-west-1.amazonaws.com", "http://127.0.0.1:4780" */
	const struct aws_service_endpoint *others; /* NULL: none */
	size_t other_count;
	const char *region;
	const char *access_key, *secret, *session_token; /* the last may be NULL */
	struct aws_signer *signer;                       /* instead of the three; see signer.h */
	struct span authorities; /* PEM: the only ones trusted with https; none: the system's */
	double calls_per_second; /* budget, retries included; 0: 20 */
	unsigned attempts;       /* 0: 4 */
	int timeout_ms;          /* per attempt; 0: 30,000 */
	int total_ms;            /* no call takes longer, retries included; 0: no limit */
};
int aws_target_remote(const struct aws_remote_config *config, struct http_client *client,
	struct runner *runner, struct aws_target **ret_target, struct err *err);
/* No call may be under way; NULL is fine. */
void aws_target_free(struct aws_target *target);
/* Ends the calls that wait for a remote endpoint, now and from then on: -ECANCELED. With runner_stop,
 * which a call inside the HTTP client does not see. From any thread. */
void aws_target_cancel(struct aws_target *target);

/* Does the part of a call that precedes sending: makes sure that there are credentials to sign
 * with. Blocks; -EACCES with the cause, -ECANCELED. For callers whose calls must not take longer
 * than they expect. */
int aws_target_prepare(struct aws_target *target, struct err *err);

struct aws_call_failure {
	int status;     /* 0: no answer came */
	char type[128]; /* "ClusterNotFoundException"; "" if there was no answer */
	char message[512];
};

/* Blocks (through the runner) until the answer is there. 0 and the parsed answer, in the arena; or
 * -EREMOTEIO (the service refused it: see failure), -ECANCELED (runner stopped), another code: no answer.
 * aws_call_was_not_sent() says of which codes one can be sure that nothing has happened. */
int aws_call(struct aws_target *target, const char *service, const char *operation,
	const struct json *request, struct arena *arena, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err);
/* The same for a write that counts only while something holds that this server's store knows (a claim). A call of this
 * process passes the fence in its transaction. A remote endpoint knows no fence: send only what may arrive late. */
int aws_call_fenced(struct aws_target *target, const struct aws_fence *fence, const char *service,
	const char *operation, const struct json *request, struct arena *arena,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err);
/* The endpoint was unreachable, or there were no credentials to sign with. */
bool aws_call_was_not_sent(int code);
/* The service rejected the call because there were too many: the same call may succeed later. */
bool aws_call_was_throttled(const struct aws_call_failure *failure);

#endif
