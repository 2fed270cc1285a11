/* Lines to paste into a shell, with which the aws command and slipway's own commands use a key. */
#ifndef CLI_KEY_LINES_H
#define CLI_KEY_LINES_H

/* On standard output, each behind the indent. Other settings of the shell that would win are unset. */
void key_lines_print(const char *indent, const char *id, const char *secret, const char *region,
	const char *url);

#endif
