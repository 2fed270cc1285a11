/*
 * Short time slices: a thread that works only for moments, while others wait for it, requests them,
 * and is scheduled before long computations (Linux 6.12 and later; no effect on older kernels). Its share
 * of the processor stays the same. Children inherit it, so programs get the default back.
 */
#ifndef RUNTIME_PROCESS_SLICE_H
#define RUNTIME_PROCESS_SLICE_H

void slice_shorten(void); /* of the calling thread */
void slice_restore(void);

#endif
