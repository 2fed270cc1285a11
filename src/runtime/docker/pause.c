/*
 * slipway-pause: holds the network of a task and does nothing until it is told to end. It is the only
 * program of its image, so it needs nothing else to run.
 */
#include <signal.h>

int main(void)
{
	sigset_t ends;
	int number;

	/* The first process of a container dies of no signal that it does not ask for. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return sigwait(&ends, &number) == 0 ? 0 : 1;
}
