/* See the header. */
#include "environment/model/quarantine_guard.h"

#include <stdio.h>

#include "environment/model/context.h"
#include "environment/model/fail.h"

#define PREFIX_MAX 256 /* "ACCOUNT/NAME/" */

bool environment_is_damaged(struct store *store, struct span environment_key)
{
	char prefix[PREFIX_MAX];

	if (store_is_quarantined(store, &environment_kind, environment_key))
		return true;
	snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(environment_key));
	for (size_t i = 0; i < daemon_kind_count; i++)
		if (daemon_kinds[i] != &environment_kind &&
			store_has_quarantined(store, daemon_kinds[i], span_of(prefix)))
			return true;
	return false;
}

int environment_refuse_damaged(struct aws_request *request, struct span environment_key)
{
	const struct daemon_context *context = request->context;
	struct span name = environment_name_of_key(environment_key);

	if (!context || !context->store || !environment_is_damaged(context->store, environment_key))
		return 0;
	return daemon_fail(request, "ServiceUnavailableException", "environment", name,
		"Environment '%.*s' is quarantined: a record of it is damaged (see the server's "
		"log). Nothing is done for it",
		SPAN_ARGS(name));
}
