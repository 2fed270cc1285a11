/*
 * YAML through libyaml into the same struct json, with line numbers for messages, and a writer.
 *
 * Two readers:
 *
 * yaml_parse() reads slipway's own configuration: the core schema of YAML 1.2. Refused: anchors and
 * aliases, tags other than the core ones, duplicate keys, several documents in one text, keys that
 * are not scalars, depth and size beyond the limits.
 *
 * yaml_parse_kubernetes() reads as the Go library sigs.k8s.io/yaml does, which is what Helm, kubectl
 * and PipeCD use: booleans of YAML 1.1 (yes, on, …), octal 0777, underscores in numbers, timestamps
 * as strings, keys of any scalar type turned into strings, merge keys, anchors and aliases, and the
 * last of several equal keys wins. Numbers have the text that Go's encoding/json writes for them.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

#define YAML_TEXT_MAX (4 * 1024 * 1024)

/* Limits of yaml_parse_kubernetes(). */
#define YAML_KUBERNETES_TEXT_MAX (16 * 1024 * 1024)
#define YAML_KUBERNETES_DEPTH_MAX 400
#define YAML_DOCUMENTS_MAX 100000
#define YAML_ANCHORS_MAX 10000              /* in one document */
#define YAML_EXPANDED_MAX (4 * 1000 * 1000) /* nodes, each alias counted with all nodes in it */

/* An empty text gives null. Messages carry "line N". */
int yaml_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err);

/* The first document of text; the rest is not looked at. first_line: the line of its first byte in
 * the file that the caller names in messages, usually 1. Aliases share the anchor's struct json. */
int yaml_parse_kubernetes(struct span text, uint32_t first_line, struct arena *arena,
	struct json **ret_value, struct err *err);

/* Several documents in one text. */
struct yaml_document {
	struct span text;   /* as it stands, without the "---" and "..." lines around it */
	uint32_t line;      /* of the first byte of text */
	struct json *value; /* null for an empty document */
};

/* All documents of text, by the rules of YAML itself ("---" inside a block scalar that is indented
 * less than its content ends the document). Reads values as yaml_parse_kubernetes() does. */
int yaml_parse_documents(struct span text, struct arena *arena,
	struct yaml_document **ret_documents, size_t *ret_count, struct err *err);

/* Cuts the next document off *rest without parsing it, as kubectl and Helm split a file: at lines that
 * begin with "---" and hold nothing else but a comment. *line is the line of the first byte of rest and
 * moves along. Returns 1 with a document (value is NULL), 0 at the end, -EINVAL for a line "--- text". */
int yaml_next_document(struct span *rest, uint32_t *line, struct yaml_document *ret_document,
	struct err *err);

/* Writing. Both end in a line break and sort members by the library's order of keys, where "a2" comes before "a10". */
enum yaml_style {
	YAML_STYLE_KUBERNETES, /* sigs.k8s.io/yaml: "- " of a sequence below its key, not indented */
	YAML_STYLE_PRETTY,     /* sequences are indented by two spaces */
};

/* A number with a fraction or an exponent in its text is a float, any other an integer; the styles
 * differ: 1e+06 stays in YAML_STYLE_PRETTY and is 1000000 in the other, which goes through JSON.
 * -EINVAL: the value holds a character that the Go library cannot write; -E2BIG: out's cap. */
int yaml_write(const struct json *value, enum yaml_style style, struct buffer *out,
	struct err *err);

#endif
