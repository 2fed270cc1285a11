#include "proxy/l4/flow.h"

#include <fcntl.h>
#include <string.h>

#include "base/memory.h"

#define FULL_READS_TO_SPLICE 2
#define SMALL_SPLICE 4096
#define SMALL_SPLICES_TO_COPY 8

void flow_init(struct flow *flow)
{
	*flow = (struct flow){.pipe = {-1, -1}};
}

static void hold(struct flow *flow, const void *data, size_t length)
{
	flow->held = memory_copy(data, length);
	flow->held_start = 0;
	flow->held_length = (uint32_t)length;
}

void flow_preload(struct flow *flow, const void *data, size_t length)
{
	free(flow->held);
	hold(flow, data, length);
}

/* ---- pipes ---- */

static bool take_pipe(struct worker *worker, struct flow *flow)
{
	if (worker->pipe_count > 0) {
		worker->pipe_count--;
		memcpy(flow->pipe, worker->pipes[worker->pipe_count], sizeof(flow->pipe));
		return true;
	}
	if (worker->pipes_created >= WORKER_PIPES_MAX || !worker_has_room(worker, 2) ||
		pipe2(flow->pipe, O_NONBLOCK | O_CLOEXEC) < 0)
		return false;
	worker->pipes_created++;
	worker->files += 2;
	fcntl(flow->pipe[1], F_SETPIPE_SZ, WORKER_PIPE_BYTES); /* less is fine */
	return true;
}

static void give_pipe_back(struct worker *worker, struct flow *flow)
{
	if (flow->pipe[0] < 0)
		return;
	if (flow->piped == 0 && worker->pipe_count < WORKER_PIPES_KEPT) {
		memcpy(worker->pipes[worker->pipe_count++], flow->pipe, sizeof(flow->pipe));
	} else {
		close(flow->pipe[0]);
		close(flow->pipe[1]);
		worker->pipes_created--;
		worker->files -= 2;
	}
	flow->pipe[0] = flow->pipe[1] = -1;
	flow->piped = 0;
	flow->splicing = false;
}

void flow_clear(struct worker *worker, struct flow *flow)
{
	give_pipe_back(worker, flow);
	free(TAKE(flow->held));
	flow->held_length = 0;
}

/* ---- one step ---- */

enum step { STEP_DONE, STEP_WAITS, STEP_RECEIVER_RESET };

static enum step after_send(struct flow *flow, struct side *to, ssize_t sent)
{
	if (sent >= 0) {
		flow->uncounted += (uint64_t)sent;
		return STEP_DONE;
	}
	if (errno == EINTR)
		return STEP_DONE;
	if (errno != EAGAIN) {
		/* A peer may have sent bytes before its reset: read them to the end. The kernel
		 * reports a reset once, so remember it. */
		to->reset = to->shut = to->readable = true;
		return STEP_RECEIVER_RESET;
	}
	to->writable = false;
	return STEP_WAITS;
}

static enum step send_held(struct flow *flow, struct side *to)
{
	ssize_t sent = send(to->descriptor, flow->held + flow->held_start, flow->held_length,
		MSG_NOSIGNAL | MSG_DONTWAIT);
	enum step step = after_send(flow, to, sent);

	if (sent > 0) {
		flow->held_start += (uint32_t)sent;
		flow->held_length -= (uint32_t)sent;
		if (flow->held_length == 0)
			free(TAKE(flow->held));
	}
	return step;
}

static enum step send_piped(struct worker *worker, struct flow *flow, struct side *to)
{
	ssize_t sent = splice(flow->pipe[0], NULL, to->descriptor, NULL, flow->piped,
		SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	enum step step = after_send(flow, to, sent);

	if (sent > 0) {
		flow->piped -= (uint32_t)sent;
		if (flow->piped == 0 && flow->small_splices >= SMALL_SPLICES_TO_COPY)
			give_pipe_back(worker, flow);
	}
	return step;
}

static enum step after_read(struct side *from, ssize_t got)
{
	if (got > 0)
		return STEP_DONE;
	if (got == 0) {
		from->ended = true;
		return STEP_DONE;
	}
	if (errno == EINTR)
		return STEP_DONE;
	if (errno != EAGAIN) {
		from->reset = from->ended = true;
		return STEP_DONE;
	}
	from->readable = false;
	return STEP_WAITS;
}

static enum step read_piped(struct flow *flow, struct side *from, ssize_t *ret_got)
{
	/* The pipe is empty, so EAGAIN is about the socket. */
	ssize_t got = splice(from->descriptor, NULL, flow->pipe[1], NULL, WORKER_PIPE_BYTES,
		SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	enum step step = after_read(from, got);

	*ret_got = got;
	if (got > 0) {
		flow->piped = (uint32_t)got;
		flow->small_splices = got <= SMALL_SPLICE ? (uint8_t)(flow->small_splices + 1) : 0;
	}
	return step;
}

static enum step read_copied(struct worker *worker, struct flow *flow, struct side *from,
	struct side *to, ssize_t *ret_got)
{
	ssize_t got =
		recv(from->descriptor, worker->scratch, sizeof(worker->scratch), MSG_DONTWAIT);
	enum step step = after_read(from, got);
	ssize_t sent = 0;

	*ret_got = got;
	if (got <= 0)
		return step;
	if ((size_t)got < sizeof(worker->scratch)) {
		/* Everything was read; more bytes cause an event. But not after the end was
		 * announced, whose event is past. */
		if (!from->hung_up)
			from->readable = false;
		flow->full_reads = 0;
	} else if (++flow->full_reads >= FULL_READS_TO_SPLICE) {
		flow->full_reads = 0;
		flow->small_splices = 0;
		flow->splicing = take_pipe(worker, flow);
	}
	if (to->writable) {
		sent = send(to->descriptor, worker->scratch, (size_t)got,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		step = after_send(flow, to, sent);
		if (step == STEP_RECEIVER_RESET)
			return step;
	}
	if (sent < 0)
		sent = 0;
	if (sent < got)
		hold(flow, worker->scratch + sent, (size_t)(got - sent));
	return STEP_DONE;
}

enum flow_result flow_run(struct worker *worker, struct flow *flow, struct side *from,
	struct side *to, bool *ret_progress)
{
	size_t left = WORKER_TURN_BYTES;
	uint64_t before = flow->uncounted;
	enum flow_result result = FLOW_WAITS;

	for (;;) {
		enum step step;
		ssize_t got = 0;

		if (flow->held || flow->piped > 0) {
			if (!to->writable)
				break;
			step = flow->held ? send_held(flow, to) : send_piped(worker, flow, to);
		} else if (from->ended || to->reset) {
			/* The end of a connection after a reset is no normal end. */
			if (!to->shut && !from->reset) {
				shutdown(to->descriptor, SHUT_WR);
				to->shut = true;
			}
			result = FLOW_ENDED;
			break;
		} else if (!from->readable || !to->writable) {
			/* Unsent bytes stay in the kernel, within its limits. */
			break;
		} else if (left == 0) {
			result = FLOW_TURN;
			break;
		} else {
			step = flow->splicing ? read_piped(flow, from, &got)
					      : read_copied(worker, flow, from, to, &got);
			if (got > 0)
				left -= (size_t)got < left ? (size_t)got : left;
		}
		if (step == STEP_RECEIVER_RESET) {
			flow_clear(worker, flow);
			result = FLOW_ENDED;
			break;
		}
		if (step == STEP_WAITS)
			break;
	}
	*ret_progress = flow->uncounted != before;
	return result;
}
