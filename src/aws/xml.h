/*
 * The XML of the AWS query protocol: small documents of elements and text. Strict: UTF-8 only, no
 * document types (and so no entities but the five of XML), no text beside elements, names of ASCII,
 * limits on depth and memory. Attributes, comments and processing instructions are checked and left
 * out; the prefix of a name is cut off.
 */
#ifndef AWS_XML_H
#define AWS_XML_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define XML_DEPTH_MAX 64
#define XML_NAME_MAX 256

struct xml_element {
	struct span name;
	struct span text; /* "" for an element with children */
	struct xml_element *first_child;
	struct xml_element *next; /* beside it */
};

/* Parses the whole of text, which must live as long as the arena. code: -EINVAL bad text (the message
 * has the line), -E2BIG the arena's cap is passed. */
int xml_parse(struct span text, struct arena *arena, struct xml_element **ret_root,
	struct err *err);
/* The first child of this name, or NULL; NULL has no children. */
const struct xml_element *xml_child(const struct xml_element *element, const char *name);
/* The text of the first child of this name, or SPAN_NONE. */
struct span xml_child_text(const struct xml_element *element, const char *name);

/* Text between tags, escaped so that a parser gives back the same. Characters that XML cannot carry
 * (control characters, U+FFFE, U+FFFF, bytes that are not UTF-8) become U+FFFD. */
void xml_write_text(struct span text, struct buffer *out);

#endif
