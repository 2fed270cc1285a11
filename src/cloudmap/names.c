/* Generated ids, and names in the form used by indexes. */
#include "cloudmap/api.h"

#define SHOWN_MAX 256 /* bytes */
#define ID_LENGTH 16  /* behind "ns-" and "srv-", as AWS has them */

struct span cloudmap_new_id(struct aws_request *request, const char *prefix)
{
	char id[ID_LENGTH + 1];

	id_from_alphabet(request->random, ID_ALPHABET, ID_LENGTH, id);
	return arena_format(request->arena, "%s%s", prefix, id);
}

struct span cloudmap_lower_case(struct arena *arena, struct span name)
{
	char *text = arena_copy(arena, name.data, name.length);

	for (size_t i = 0; i < name.length; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	return (struct span){text, name.length};
}

struct span cloudmap_shown(struct span text)
{
	if (text.length <= SHOWN_MAX)
		return text;
	text.length = SHOWN_MAX;
	/* Not in the middle of a character. */
	while (text.length > 0 && ((unsigned char)text.data[text.length] & 0xc0) == 0x80)
		text.length--;
	return text;
}
