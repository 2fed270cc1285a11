/* Runs git for repository.h: one command at a time, with limits, without anything that a repository could choose. */
#ifndef PIPELINE_REPOSITORY_COMMAND_H
#define PIPELINE_REPOSITORY_COMMAND_H

#include "pipeline/repository.h"

#define REPOSITORY_ARGUMENTS_MAX 160

/* The one for offline commands allows no protocol, so that git does not fetch what is missing. */
enum network { OFFLINE, ONLINE };

struct repository_command {
	const char
		*arguments[REPOSITORY_ARGUMENTS_MAX]; /* behind "git --git-dir=…"; NULL is last */
	struct span input;
	enum network network;
	size_t output_max; /* 0: REPOSITORY_OUTPUT_MAX */
	bool may_fail;     /* an exit code of 1 is an answer */
};

#define COMMAND(...) .arguments = {__VA_ARGS__}

/* The output, in the arena. Returns the exit code. */
int repository_command_run(const struct repository *repository,
	const struct repository_command *command, struct arena *arena, struct span *ret_output,
	struct err *err);
__attribute__((format(printf, 3, 4))) void repository_add_argument(struct repository_command
									   *command,
	struct arena *arena, const char *format, ...);
/* -EINVAL: not the full ID of a commit. */
int repository_check_commit(struct span commit, struct err *err);

#endif
