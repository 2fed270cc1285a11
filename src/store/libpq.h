/*
 * Loads libpq, at the first use of it (base/late_library.h). The functions that slipway uses are those of
 * <libpq-fe.h> that libpq.c lists; another one is one line there.
 */
#ifndef STORE_LIBPQ_H
#define STORE_LIBPQ_H

#include <libpq-fe.h>

#include "base/err.h"

/* Before any other call of libpq. */
int libpq_load(struct err *err);

#endif
