/*
 * Internals of Cloud Map's kinds: how facts are stored, and the two kinds used only in this folder.
 *
 * Each change of its instances rewrites a service, because the service has their revision. Data
 * that may be large is therefore separate: its tags and attributes are its labels, an object of the
 * same key. Tags of namespaces are stored in the same way.
 */
#ifndef CLOUDMAP_KINDS_H
#define CLOUDMAP_KINDS_H

#include "base/json.h"
#include "cloudmap/cloudmap.h"

/* API text {"Tags":[…],"Attributes":{…}}; the key is that of the namespace or service. */
extern const struct store_kind cloudmap_labels_kind;

enum operation_type {
	OPERATION_CREATE_NAMESPACE,
	OPERATION_DELETE_NAMESPACE,
	OPERATION_UPDATE_NAMESPACE,
	OPERATION_UPDATE_SERVICE,
	OPERATION_REGISTER_INSTANCE,
	OPERATION_DEREGISTER_INSTANCE,
	OPERATION_TYPE_COUNT
};
extern const char *const cloudmap_operation_types[OPERATION_TYPE_COUNT];

enum operation_index {
	OPERATION_BY_TIME,         /* "ACCOUNT/REGION/MILLISECONDS" */
	OPERATION_BY_REQUEST,      /* "ACCOUNT/REGION/REQUEST", see facts */
	OPERATION_BY_DEREGISTERED, /* "ACCOUNT/REGION/INSTANCE" of DEREGISTER_INSTANCE */
};

struct operation_facts {
	struct span id;
	enum operation_type type;
	struct span namespace_id, service_id, instance_id; /* targets; "" */
	/* Hash of the type, scope and CreatorRequestId, unique per request; "": no id. */
	struct span request;
	int64_t created_ms;
};
static inline const struct operation_facts *operation_facts(const struct store_object *object)
{
	return object->facts;
}

const char *cloudmap_namespace_type_name(enum cloudmap_namespace_type type);
/* Texts of facts are plain: see store/fact_table.h. */
void cloudmap_namespace_write_facts(const struct cloudmap_namespace_facts *facts,
	struct arena *arena, struct json *private_);
struct span cloudmap_service_private(const struct cloudmap_service_facts *facts,
	struct arena *arena);
void cloudmap_instance_write_facts(const struct cloudmap_instance_facts *facts, struct arena *arena,
	struct json *private_);
struct span cloudmap_operation_private(const struct operation_facts *facts, struct arena *arena);

#endif
