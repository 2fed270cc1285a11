/*
 * A command in a container of a pod: the exec subresource over a WebSocket (v5.channel.k8s.io where the
 * server knows it, v4.channel.k8s.io else). The command's standard streams are descriptors of this
 * process; a thread of the exec's carries the bytes and applies flow control.
 *
 * The end of input. Before v5 (Kubernetes 1.30) the protocol cannot express it: closing `input`
 * then has no effect, and a command that reads until the end waits forever. A terminal gets the byte EOT
 * (ctrl-d) with every version.
 * kube_exec_can_close_input() returns whether the protocol can.
 */
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H

#include "kube/client.h"

#define KUBE_EXEC_WORDS_MAX 256

struct kube_exec_request {
	struct span namespace, pod, container;
	const struct span *command;
	size_t command_count;
	bool input;                        /* it has a standard input */
	bool terminal;                     /* output and error are one */
	struct http_client_cancel *cancel; /* while connecting; or NULL */
};

struct kube_exec;

/* Connects (within the client's time) and starts the command. Codes as in client.h: -ENOENT no such pod,
 * -EINVAL no such container. */
int kube_exec_start(struct kube_client *client, const struct kube_exec_request *request,
	struct kube_exec **ret_exec, struct err *err);
/* Ends it if it has not ended: the connection is closed, and the node ends the command when it pleases.
 * Closes the descriptors that were not taken. NULL is fine. */
void kube_exec_free(struct kube_exec *exec);

/* Passes the descriptors to the caller, once, which writes to input and reads output and error
 * until their end. -1 for streams that were not requested, and for error with a terminal. With a
 * terminal, input and output are the same descriptor, to be closed once. */
void kube_exec_take_descriptors(struct kube_exec *exec, int *ret_input, int *ret_output,
	int *ret_error);
bool kube_exec_can_close_input(const struct kube_exec *exec);
/* Of the terminal. */
void kube_exec_resize(struct kube_exec *exec, unsigned rows, unsigned columns);
/* Closes the connection; kube_exec_wait() then fails unless the command had ended. From any thread. */
void kube_exec_kill(struct kube_exec *exec);
/* Blocks until the command has ended and all it wrote is in the descriptors' hands, or the connection
 * broke (-ECONNRESET). Someone must be reading the output meanwhile. */
int kube_exec_wait(struct kube_exec *exec, int *ret_exit_code, struct err *err);

#endif
