/*
 * slipway-pause: holds the network of a task and waits for SIGTERM. It is the only program of its
 * image, so it has no dependencies.
 */
#include <signal.h>

int main(void)
{
	sigset_t ends;
	int number;

	/* The first process of a container ignores signals without a handler, so wait for them. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return sigwait(&ends, &number) == 0 ? 0 : 1;
}
