/*
 * Requests to a supervisor on the socket `control` of its task's folder, and its answers: one JSON
 * object per line, each with "version". Servers and supervisors of different versions talk to each
 * other, so members are only ever added.
 *
 *     {"version":1,"do":"state"}              {"version":1,"state":{…}}            record.h
 *     {"version":1,"do":"watch"}              the same, now and after every change
 *     {"version":1,"do":"stop","reason":"…"}  {"version":1,"ok":true}
 *     {"version":1,"do":"exec","container":"…","command":["…"],"terminal":false}
 *                                             {"version":1,"ok":true}, and at the end
 *                                             {"version":1,"exitCode":0}, or an error if
 *                                             the program could not be run
 *     anything else                           {"version":1,"error":"…"}
 *
 * exec comes with descriptors (SCM_RIGHTS): standard input, output and error, or one terminal. The
 * program is killed when the connection ends before it does. A connection carries one watch or one
 * exec.
 */
#ifndef RUNTIME_PROCESS_PROTOCOL_H
#define RUNTIME_PROCESS_PROTOCOL_H

#include <stddef.h>

#define PROTOCOL_VERSION 1
#define PROTOCOL_REQUEST_MAX ((size_t)128 * 1024)
#define PROTOCOL_ANSWER_MAX ((size_t)2 * 1024 * 1024)
#define PROTOCOL_DESCRIPTORS_MAX 3
#define PROTOCOL_CONNECTIONS_MAX 64
#define PROTOCOL_GUESTS_MAX 32 /* programs of exec at one time */
#define PROTOCOL_REASON_MAX 1024

/* Descriptors that the supervisor inherits. The channel is a connection like those to `control`,
 * with a "watch" request: the first line reports that the task is on disk and will run, or why it
 * never will. */
#define PROTOCOL_LOCK_DESCRIPTOR 3
#define PROTOCOL_CHANNEL_DESCRIPTOR 4

/* In the environment of every program of a task; leftovers of a lost task are found by it. */
#define PROTOCOL_TASK_VARIABLE "SLIPWAY_TASK"

#endif
