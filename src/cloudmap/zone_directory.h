/*
 * The directory of names: which namespace a name is in, which service it is of, and whether anything is
 * below it. A copy of what the store has of namespaces and services, kept current change by change; what the
 * services answer is compiled when it is asked for (zone_answers.h).
 *
 * A name exists when it has records, or when one below it has: a service without instances has no name, as
 * in Route 53, where Cloud Map makes the records with the instances.
 *
 * Not thread-safe: the zone reads it under a shared and changes it under an exclusive lock.
 */
#ifndef CLOUDMAP_ZONE_DIRECTORY_H
#define CLOUDMAP_ZONE_DIRECTORY_H

#include <stdatomic.h>

#include "base/lock.h"
#include "cloudmap/zone_answers.h"

#define ZONE_LABELS_MAX 128 /* of a name */

/* A name cut at its labels: labels[i] is where the i-th begins, labels[count] is the root. */
struct zone_labels {
	const struct dns_name *name;
	uint8_t starts[ZONE_LABELS_MAX];
	size_t count;
};
void zone_labels_of(const struct dns_name *name, struct zone_labels *ret_labels);
/* The labels from first to before last, as bytes. */
static inline struct span zone_labels_span(const struct zone_labels *labels, size_t first,
	size_t last)
{
	return (struct span){(const char *)labels->name->bytes + labels->starts[first],
		(size_t)labels->starts[last] - labels->starts[first]};
}

/* Types of questions that are drawn for separately: a client that asks for A and AAAA at once would
 * otherwise always get every second draw. */
enum zone_question { ZONE_QUERIED_A, ZONE_QUERIED_AAAA, ZONE_QUERIED_OTHER, ZONE_QUESTION_COUNT };

struct zone_service {
	struct span key; /* in the store */
	struct zone_namespace *parent;
	struct dns_name name;     /* whole, as it was spelt */
	struct dns_name relative; /* lower case; length without that of the namespace */
	int64_t records;
	bool weighted;
	uint32_t ttls[ZONE_RECORD_COUNT];
	uint64_t instances;
	/* From NULL to something under the lock below, back under the zone's exclusive lock. */
	_Atomic(struct zone_answers *) answers;
	struct lock lock;
	struct dns_weighted draws[ZONE_QUESTION_COUNT]; /* under the lock */
	bool drawing[ZONE_QUESTION_COUNT];              /* draws[i] has the answers' candidates */
};

struct zone_node {
	struct zone_service *service; /* NULL: only names below it have records */
	uint64_t services;            /* here and below */
	uint64_t instances;           /* of those that have records */
};

struct zone_namespace {
	struct span key;
	struct dns_name name; /* lower case */
	struct dns_name spelt;
	uint32_t soa_ttl;
	int64_t created_ms;
	struct map nodes;               /* labels below the namespace → struct zone_node */
	struct zone_namespace *younger; /* of the same name */
};

struct zone_directory {
	struct map namespaces; /* key → struct zone_namespace */
	struct map services;   /* key → struct zone_service */
	struct map apexes;     /* name → the oldest struct zone_namespace of that name */
	size_t labels_max;     /* of an apex */
};

/* Everything of a view, into an empty directory. */
void zone_directory_load(struct zone_directory *directory, const struct store_view *view);
void zone_directory_clear(struct zone_directory *directory);
void zone_directory_apply(struct zone_directory *directory, const struct store_change *change);

/* The namespace with the longest name that this one is in; *ret_first is where that begins. NULL: none. */
const struct zone_namespace *zone_directory_find(const struct zone_directory *directory,
	const struct zone_labels *labels, size_t *ret_first);
static inline const struct zone_node *zone_namespace_node(const struct zone_namespace *namespace_,
	struct span labels)
{
	return map_get(&namespace_->nodes, labels);
}
/* Forgets what was compiled: it is time to look at health again. */
void zone_service_drop_answers(struct zone_service *service);

#endif
