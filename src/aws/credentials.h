/*
 * The source of a key for a remote endpoint: an access key whose secret is in a file or an
 * environment variable, or what credential_chain.h finds. Read again each time, so that a replaced
 * key is used from then on.
 *
 * No message contains any of the data read, except the names of files and variables.
 */
#ifndef AWS_CREDENTIALS_H
#define AWS_CREDENTIALS_H

#include "aws/sigv4.h"

#define AWS_CREDENTIALS_TEXT_MAX 4096 /* of a key, a secret, a token */

/* Either access_key and one of the two secrets, or profile, or nothing: all sources of the chain. */
struct aws_key_source {
	const char *access_key;
	const char *secret_file;     /* nothing but the secret; space around it is left out */
	const char *secret_variable; /* of the environment */
	const char *profile;
	const char *profile_file; /* NULL: the files of the AWS tools */
};

/* The access key, which it must have, in the arena. -EINVAL, -ENOENT and other codes of files; the message says what is missing where. */
int aws_key_source_read(const struct aws_key_source *source, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err);

#endif
