/*
 * slipway flow …: verbs of app.c's table, which has their options. flow.c has the verbs, flow_show.c prints flows,
 * flow_watch.c follows one.
 */
#ifndef CLI_FLOW_H
#define CLI_FLOW_H

#include "cli/app.h"

int flow_list(struct app *app);
int flow_show(struct app *app);
int flow_watch(struct app *app);
int flow_approve(struct app *app);
int flow_reject(struct app *app);
int flow_cancel(struct app *app);
int flow_retry(struct app *app);

/* ---- shared ---- */

/* The flow with all of its nodes. again: a server that is started again is back soon. */
int flow_read(struct app *app, bool again, struct json **ret_flow);
/* "SUCCESS", "FAILURE" or "CANCELLED". */
bool flow_has_ended(const struct json *flow);

void flow_print(const struct app *app, const struct json *flow);
void flow_print_dot(const struct json *flow);
void flow_print_plan(const struct app *app, const struct json *node);

#endif
