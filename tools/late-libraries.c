/*
 * Is linked with the libraries that slipway loads late (base/late_library.h), which are not in slipway's own list
 * of libraries. tools/make-package and tools/make-image read the list of this one too. Names the newest
 * function used of each library, for the versions in the package's dependencies.
 */
#include <curl/curl.h>
#include <libpq-fe.h>

extern const void *const late_libraries[];
const void *const late_libraries[] = {
	(const void *)curl_multi_assign, (const void *)PQenterPipelineMode};
