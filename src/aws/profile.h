/*
 * Profiles of the files that the AWS tools share: ~/.aws/credentials and ~/.aws/config. What both have of a
 * profile is merged; the credentials file wins. Read again each time.
 */
#ifndef AWS_PROFILE_H
#define AWS_PROFILE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define AWS_PROFILE_FILE_MAX ((size_t)1024 * 1024)

/* Absent members are SPAN_NONE. */
struct aws_profile {
	struct span access_key, secret, session_token;
	struct span role, source_profile, credential_source, external_id, role_session;
	struct span process, token_file;
};

/* file: the only one to read; NULL: $AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, and $AWS_CONFIG_FILE or
 * ~/.aws/config. In the arena. -ENOENT: there is no such file, or no such section. No message contains any of the
 * data read. */
int aws_profile_read(const char *name, const char *file, struct arena *arena,
	struct aws_profile *ret_profile, struct err *err);

#endif
