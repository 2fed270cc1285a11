/*
 * A last commit that is torn: everything stops while it is being written, and of what it appended to the write-ahead log
 * of the file some bytes are there and the others are not. It was not acknowledged; acknowledged commits lie in
 * front of it. (Disks that write in any order are in store/sqlite_power_test.c.)
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "sim/daemon/sim_world.h"

#define FILE_MAX (1024 * 1024 * 1024)
#define FILE_MODE 0600

static int64_t size_of_log(const struct sim *sim)
{
	_free_ char *path = memory_format("%s-wal", sim->path);
	struct stat status;

	return stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
}

void sim_note_commit(struct sim *sim, bool is_last)
{
	int64_t size;

	if (!sim->path || !sim->faulty)
		return;
	size = size_of_log(sim);
	/* In a log that was begun anew nothing is this commit's alone. */
	sim->tears = is_last && sim->log_size > 0 && size > sim->log_size;
	if (!is_last)
		sim->log_size = size;
}

/* Between the end of the commit before and that of the last one. */
static size_t draw_end(struct sim *sim, size_t size)
{
	bool early = sim->config->bug == DAEMON_BUG_EARLY_ACK;
	size_t from = early ? 0 : (size_t)sim->log_size;

	return from + (size_t)sim_draw(sim, size - from);
}

int sim_close_torn(struct sim *sim, struct err *err)
{
	_free_ char *log = memory_format("%s-wal", sim->path);
	_buffer_ struct buffer pages = {0}, tail = {0};
	int code = file_read(sim->path, FILE_MAX, &pages, err);
	size_t end = 0;

	if (code == 0)
		code = file_read(log, FILE_MAX, &tail, err);
	/* Closing it would bring everything into the file. */
	sim_close_store(sim);
	if (code < 0)
		return code;
	end = draw_end(sim, tail.length);
	runner_trace(sim->root, "the last commit is torn: %zu of %zu bytes are there", end,
		tail.length);
	sim->result.torn_commits++;
	code = file_replace(sim->path, (struct span){pages.data, pages.length}, FILE_MODE, err);
	if (code == 0)
		code = file_replace(log, (struct span){tail.data, end}, FILE_MODE, err);
	return code;
}
