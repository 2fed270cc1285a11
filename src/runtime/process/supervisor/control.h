/* The supervisor's side of protocol.h: connections on the task's socket. */
#ifndef RUNTIME_PROCESS_SUPERVISOR_CONTROL_H
#define RUNTIME_PROCESS_SUPERVISOR_CONTROL_H

#include <poll.h>

#include "base/buffer.h"
#include "runtime/process/protocol.h"
#include "runtime/process/supervisor/task.h"

struct connection {
	int descriptor; /* -1: free */
	struct buffer input, output;
	int received[PROTOCOL_DESCRIPTORS_MAX];
	size_t received_count;
	bool watches;
	bool is_behind; /* a change did not fit into its output */
	/* exec */
	struct container *container;
	pid_t monitor; /* 0: none */
	int report;
	char reported[LAUNCH_REPORT_MAX];
	bool killed;
	bool is_gone; /* the peer has closed; free when the monitor has ended */
};

struct control {
	struct task *task;
	int listener;
	struct connection connections[PROTOCOL_CONNECTIONS_MAX];
};

/* Listens on the socket in the working folder. */
int control_open(struct control *control, struct task *task, struct err *err);
/* Sends the state on the channel from the start, now and after every change. */
void control_take_channel(struct control *control, int descriptor);
size_t control_descriptors(struct control *control, struct pollfd *polls, size_t max);
void control_handle(struct control *control, const struct pollfd *event);
bool control_monitor_ended(struct control *control, pid_t monitor, int status);
size_t control_maintainers(const struct control *control, pid_t *maintainers, size_t max);
/* Ends the programs of exec whose container has ended; after task_step(). */
void control_step(struct control *control);
void control_notify_watchers(struct control *control);

#endif
