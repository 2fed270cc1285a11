/* The view of a deployment on a terminal: its stages, and the tasks and the share of traffic of each variant. Pure. */
#ifndef CLI_APP_VIEW_H
#define CLI_APP_VIEW_H

#include "base/json.h"

/* Lines of at most `width` columns, each with its line break. state: of the application (GetApplicationState); NULL: it is
 * not known. now_ms: wall time. */
struct span app_view(struct arena *arena, const struct json *deployment, const struct json *state,
	size_t width, int64_t now_ms);

#endif
