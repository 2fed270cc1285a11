/* The program's entry; commands arrive with the server. */
#include <stdio.h>

int main(void)
{
	puts("slipway " SLIPWAY_VERSION);
	return 0;
}
