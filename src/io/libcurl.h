/*
 * Loads libcurl, at the first use of it (base/late_library.h). The functions that slipway uses are those of
 * <curl/curl.h> that libcurl.c lists; another one is one line there.
 */
#ifndef IO_LIBCURL_H
#define IO_LIBCURL_H

#include <curl/curl.h>

#include "base/err.h"

/* Before any other call of libcurl; also initializes it. */
int libcurl_load(struct err *err);

#endif
