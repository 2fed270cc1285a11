/*
 * Rendered files become manifests: one per YAML document, hooks apart from the rest, both in the
 * order in which Helm installs kinds.
 */
#ifndef CHART_MANIFEST_H
#define CHART_MANIFEST_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define MANIFESTS_MAX 100000

struct rendered_file {
	struct span name; /* chart/templates/file.yaml */
	struct span text;
};

struct manifest {
	struct span path;  /* of the template, as in "# Source:" */
	struct span chart; /* helm.sh/path: of shop/charts/cart/templates/a.yaml it is shop/cart */
	struct span text;
	struct span kind, name;
	const struct json *object; /* parsed; JSON_NULL for a document without content */
	struct span hook;          /* annotation helm.sh/hook, or data NULL */
};

struct manifests {
	struct manifest *items;
	size_t count, capacity;
};

/* files in any order. Hooks of unknown events are left out of both lists. With `problems`, files that
 * are not YAML are noted there and left out, else they are an error. */
int manifests_sort(struct arena *arena, struct rendered_file *files, size_t count,
	struct buffer *problems, struct manifests *ret_manifests, struct manifests *ret_hooks,
	struct err *err);

/* Whether a hook is a test. */
bool manifest_is_test(const struct manifest *hook);

#endif
