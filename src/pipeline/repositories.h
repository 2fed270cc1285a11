/*
 * The clones of repositories on this server, one for each URL, in folders below one folder. Which URLs are allowed is
 * configured, because every user that may add an application chooses one.
 */
#ifndef PIPELINE_REPOSITORIES_H
#define PIPELINE_REPOSITORIES_H

#include "pipeline/repository.h"
#include "pipeline/settings.h"

struct repositories_config {
	const struct child_operations *children;
	const struct pipeline_settings *settings; /* outlives it */
	const char *folder;                       /* of all clones; outlives it */
};

struct repositories;

struct repositories *repositories_new(const struct repositories_config *config);
void repositories_free(struct repositories *repositories); /* NULL is fine */

/* Also what repository_check_url() checks. -EINVAL; -EACCES: the configuration does not allow it. */
int repositories_check_url(const struct pipeline_settings *settings, struct span url,
	struct err *err);
/* The clone of an allowed URL, made unless it is there. Blocks while git runs. Texts are in the arena. */
int repositories_open(struct repositories *repositories, struct span url, int cancel,
	struct arena *arena, struct repository *ret_repository, struct err *err);

#endif
