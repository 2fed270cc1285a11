/* Lines to paste into a shell; see key_lines.h. */
#include "cli/key_lines.h"

#include <stdio.h>
#include <string.h>

#include "cli/remote.h"

void key_lines_print(const char *indent, const char *id, const char *secret, const char *region,
	const char *url)
{
	printf("%sunset AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION\n"
	       "%sexport AWS_ACCESS_KEY_ID=%s\n"
	       "%sexport AWS_SECRET_ACCESS_KEY=%s\n"
	       "%sexport AWS_DEFAULT_REGION=%s\n",
		indent, indent, id, indent, secret, indent, region);
	if (strcmp(url, REMOTE_DEFAULT_SERVER) != 0)
		printf("%sexport SLIPWAY_SERVER=%s\n", indent, url);
}
