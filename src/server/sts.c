/* The one operation of AWS's Security Token Service that slipway offers: the identity of the caller. */
#include "aws/arn.h"
#include "aws/sigv4_hash.h"
#include "server/components.h"

#define USER_ID_RANDOM_PART 17 /* characters after "AIDA" */

/* The same for every key of a user, and different for users of the same name in other accounts. */
static void write_user_id(const struct aws_caller *caller, struct arena *arena,
	char ret_id[USER_ID_RANDOM_PART + 1])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];

	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash,
		arena_format(arena, "%.*s/%.*s", SPAN_ARGS(caller->account),
			SPAN_ARGS(caller->user)),
		digest);
	for (size_t i = 0; i < USER_ID_RANDOM_PART; i++)
		ret_id[i] = digits[digest[i] % (sizeof(digits) - 1)];
	ret_id[USER_ID_RANDOM_PART] = '\0';
}

static int get_caller_identity(struct aws_request *request)
{
	const struct aws_caller *caller = request->caller;
	struct json *answer = json_new_object(request->arena);
	char user_id[USER_ID_RANDOM_PART + 1];

	write_user_id(caller, request->arena, user_id);
	json_set_string(request->arena, answer, "UserId",
		arena_format(request->arena, "AIDA%s", user_id));
	json_set_string(request->arena, answer, "Account", caller->account);
	json_set_string(request->arena, answer, "Arn",
		arena_format(request->arena, "arn:%.*s:iam::%.*s:user/%.*s",
			SPAN_ARGS(aws_partition_of(caller->region)), SPAN_ARGS(caller->account),
			SPAN_ARGS(caller->user)));
	json_write(answer, request->out);
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "GetCallerIdentity",
		.mode = AWS_READ,
		.run = get_caller_identity,
		.needs_no_permission = true},
};

const struct aws_service sts_service = {
	.name = "sts",
	.shapes = &shape_sts,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "ValidationError",
};
