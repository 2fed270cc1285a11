/*
 * Templates of Releases. A template is a chart (.tgz in base64), or plain manifests in which
 * {{ .Values.a.b }} alone is replaced; anything else in braces is an error with its line. Pure.
 *
 * The values (spec.config) are JSON. A node with "_config" has its chart's values in there and its sub-charts
 * beside it, as {"_config": {"replicas": 2}, "cart": {"_config": {…}}}; a node without "_config" is the values
 * themselves, as in Helm's files. "_metadata" is left out.
 */
#ifndef RELEASE_RENDER_H
#define RELEASE_RENDER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "release/naming.h"
#include "release/release_manifest.h"
#include "release/release_snapshot.h"

struct release_render {
	struct release_source source;
	struct span name, namespace; /* of the Release */
	int64_t version;             /* that will have it: .Release.Revision of a chart */
	const char *kube_version;    /* "v1.20.2"; NULL: the library's */
};

/* The objects as the template gives them: base names, no tracks, in the order of the template. Hooks of charts are
 * left out. */
int release_render_objects(struct arena *arena, const struct release_render *render,
	struct naming_object **ret_objects, size_t *ret_count, struct err *err);

/* All steps: rendered, named by source.naming, with labels, sorted. */
int release_render_manifest(struct arena *arena, const struct release_render *render,
	struct release_manifest *ret_manifest, struct err *err);

/* Values of a configuration: "" and null give an empty object. */
int release_config_values(struct arena *arena, struct span config, const struct json **ret_values,
	struct err *err);

/* Replaces {{ .Values.a.b }} in a text. */
int release_replace_values(struct arena *arena, struct span text, const struct json *values,
	struct span *ret_text, struct err *err);

#endif
