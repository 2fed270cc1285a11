/* See the header. */
#include "pipeline/repositories.h"

#include "aws/sigv4_hash.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"

#define FOLDER_MODE 0700

struct repositories {
	struct repositories_config config;
	struct lock lock;
	pthread_cond_t changed;
	/* Folders of clones that this process has opened, or opens now; guarded by the lock. */
	struct map opened, opening;
};

struct repositories *repositories_new(const struct repositories_config *config)
{
	struct repositories *repositories = memory_allocate(sizeof(*repositories));

	repositories->config = *config;
	lock_init(&repositories->lock);
	pthread_cond_init(&repositories->changed, NULL);
	return repositories;
}

void repositories_free(struct repositories *repositories)
{
	if (!repositories)
		return;
	map_clear(&repositories->opened);
	map_clear(&repositories->opening);
	pthread_cond_destroy(&repositories->changed);
	lock_destroy(&repositories->lock);
	free(repositories);
}

/* ---- allowed URLs ---- */

static bool is_local(struct span url)
{
	return url.data[0] == '/' || span_starts_with(url, SPAN("file:"));
}

/* "https://git.example.com/team" allows ".../team/web", not ".../team-b"; and nothing that leaves it. */
static bool is_below(struct span url, struct span beginning)
{
	char last = beginning.length > 0 ? beginning.data[beginning.length - 1] : '\0';

	return beginning.length > 0 && span_starts_with(url, beginning) &&
	       (url.length == beginning.length || last == '/' || last == ':' ||
		       url.data[beginning.length] == '/') &&
	       !memmem(url.data, url.length, "/..", 3) && !memmem(url.data, url.length, "%", 1);
}

int repositories_check_url(const struct pipeline_settings *settings, struct span url,
	struct err *err)
{
	const char *configured = settings ? settings->repositories : NULL;
	struct span list = span_of(configured ? configured : ""), beginning;
	int code = repository_check_url(url, err);

	if (code < 0)
		return code;
	if (list.length == 0)
		return is_local(url) ? err_set(err, -EACCES,
					       "repository \"%.*s\" is a local path, which "
					       "pipelines.repositories of the server's "
					       "configuration does not allow",
					       SPAN_ARGS(url))
				     : 0;
	while (span_next_part(&list, ',', &beginning)) {
		if (is_below(url, span_trim(beginning)))
			return 0;
	}
	return err_set(err, -EACCES,
		"repository \"%.*s\" is not allowed by pipelines.repositories of the server's "
		"configuration",
		SPAN_ARGS(url));
}

/* ---- clones ---- */

static const char *folder_of(const struct repositories *repositories, struct span url,
	struct arena *arena)
{
	unsigned char digest[SIGV4_HASH_SIZE];
	_sigv4_hash_ struct sigv4_hash hash;
	char hex[SIGV4_HEX_SIZE];

	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, url, digest);
	sigv4_hash_hex(digest, hex);
	return arena_format(arena, "%s/%.*s.git", repositories->config.folder, (int)sizeof(hex),
		hex)
		.data;
}

/* True: the caller opens it, and then calls end_opening(). One thread does, while others wait, because opening removes
 * what a killed command has left behind. */
static bool must_open(struct repositories *repositories, struct span folder)
{
	bool must;

	lock_take(&repositories->lock);
	while (map_has(&repositories->opening, folder))
		lock_wait(&repositories->lock, &repositories->changed);
	must = !map_has(&repositories->opened, folder);
	if (must)
		map_put(&repositories->opening, folder, repositories);
	lock_release(&repositories->lock);
	return must;
}

static void end_opening(struct repositories *repositories, struct span folder, bool is_open)
{
	lock_take(&repositories->lock);
	map_remove(&repositories->opening, folder);
	if (is_open)
		map_put(&repositories->opened, folder, repositories);
	pthread_cond_broadcast(&repositories->changed);
	lock_release(&repositories->lock);
}

int repositories_open(struct repositories *repositories, struct span url, int cancel,
	struct arena *arena, struct repository *ret_repository, struct err *err)
{
	const struct pipeline_settings *settings = repositories->config.settings;
	const char *configuration = settings ? settings->git_configuration : NULL;
	struct repository repository = {.children = repositories->config.children,
		.folder = folder_of(repositories, url, arena),
		.url = arena_copy(arena, url.data, url.length),
		.configuration = configuration && configuration[0] ? configuration : NULL,
		.cancel = cancel};
	int code = repositories_check_url(settings, url, err);

	if (code < 0)
		return code;
	if (must_open(repositories, span_of(repository.folder))) {
		code = file_make_folder(repositories->config.folder, FOLDER_MODE, err);
		if (code >= 0)
			code = repository_open(&repository, err);
		end_opening(repositories, span_of(repository.folder), code >= 0);
	}
	if (code < 0)
		return code;
	*ret_repository = repository;
	return 0;
}
