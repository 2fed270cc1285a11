/* Text as XML; see xml.h. */
#include "aws/xml.h"
#include "base/json_scan.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The escape for a character of one byte, or NULL for the character itself. */
static const char *escape_of(unsigned char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\r': return "&#13;"; /* as it is, a parser would read a line feed */
	case '\t':
	case '\n': return NULL;
	default: return c < 0x20 ? REPLACEMENT : NULL;
	}
}

static bool is_noncharacter(const char *at, size_t length)
{
	return length == 3 &&
	       (memcmp(at, "\xef\xbf\xbe", 3) == 0 || memcmp(at, "\xef\xbf\xbf", 3) == 0);
}

void xml_write_text(struct span text, struct buffer *out)
{
	const char *at = text.data, *end = text.data + text.length, *plain = at;

	while (at < end) {
		size_t length = json_utf8_length(at, end);
		const char *instead = NULL;

		if (length == 0 || is_noncharacter(at, length))
			instead = REPLACEMENT;
		else if (length == 1)
			instead = escape_of((unsigned char)*at);
		if (length == 0)
			length = 1;
		at += length;
		if (!instead)
			continue;
		buffer_add(out, plain, (size_t)(at - length - plain));
		buffer_add_string(out, instead);
		plain = at;
	}
	buffer_add(out, plain, (size_t)(end - plain));
}
