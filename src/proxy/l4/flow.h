/*
 * One direction of a connection: bytes from one socket to another, in order, with at most one
 * buffer or one pipe held back. Small amounts are copied through the worker's scratch memory; when
 * reads fill it again and again, bytes go through a pipe instead and are never copied.
 */
#ifndef PROXY_L4_FLOW_H
#define PROXY_L4_FLOW_H

#include "proxy/l4/worker.h"

struct side {
	struct watch watch;
	int descriptor;
	bool readable, writable; /* as far as is known */
	bool hung_up;            /* the end of its stream is near: reads go on until they see it */
	bool ended;              /* it sends no more */
	bool shut;               /* nothing more is sent to it */
	bool reset;              /* the connection is gone; its earlier bytes are still read */
};

struct flow {
	char *held; /* bytes that could not be sent */
	uint32_t held_start, held_length;
	int pipe[2];
	uint32_t piped;     /* bytes in it */
	uint8_t full_reads; /* one after the other */
	uint8_t small_splices;
	bool splicing;
	uint64_t uncounted; /* bytes that are sent and not yet in the counters */
};

enum flow_result {
	FLOW_WAITS, /* for an event */
	FLOW_TURN,  /* its turn is over, but there is more to do */
	/* No more bytes will arrive, and all were sent; a clean end was passed on. Or the receiver
	 * is reset. */
	FLOW_ENDED,
};

void flow_init(struct flow *flow);
/* Puts bytes before those that are read. The flow must be empty. */
void flow_preload(struct flow *flow, const void *data, size_t length);
enum flow_result flow_run(struct worker *worker, struct flow *flow, struct side *from,
	struct side *to, bool *ret_progress);
void flow_clear(struct worker *worker, struct flow *flow);

#endif
