/* The verbs of `slipway canary` about one CanaryRelease. */
#ifndef CLI_CANARY_VERBS_H
#define CLI_CANARY_VERBS_H

#include "cli/command.h"

/* False: there is no such verb; else *ret_code is the exit code. */
bool canary_verb_run(const struct command *command, int count, char **arguments, int *ret_code);

#endif
