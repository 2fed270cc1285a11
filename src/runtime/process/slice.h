/*
 * Short slices of the processor: whoever works for moments and is waited for asks for them, and is
 * then let before what computes at length (Linux 6.12 and later; elsewhere nothing happens). It
 * costs nobody a share. Children inherit it, so programs are given back what is usual.
 */
#ifndef RUNTIME_PROCESS_SLICE_H
#define RUNTIME_PROCESS_SLICE_H

void slice_shorten(void); /* of the calling thread */
void slice_restore(void);

#endif
