/*
 * The stop switch of an account: while its object exists, no call that changes something is sent for an application of the
 * account, and no stage begins. What an API answered or a script has begun continues.
 *
 *   switch   ACCOUNT   user, time and comment of the stop
 */
#ifndef PIPELINE_STOP_SWITCH_H
#define PIPELINE_STOP_SWITCH_H

#include "store/store.h"

extern const struct store_kind stop_switch_kind;

/* application: its key, or that of one of its objects. */
bool stop_switch_is_on(const struct store_view *view, struct span application);

#endif
