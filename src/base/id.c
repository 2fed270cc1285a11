/* Identifiers drawn from a struct random, so that simulations get the same ones every time. */
#include "base/id.h"

#include <string.h>

static const char hex[] = "0123456789abcdef";

void id_hex(struct random *random, char out[ID_HEX_SIZE])
{
	unsigned char bytes[16];

	random->fill(random, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		out[2 * i] = hex[bytes[i] >> 4];
		out[2 * i + 1] = hex[bytes[i] & 15];
	}
	out[ID_HEX_SIZE - 1] = '\0';
}

void id_uuid(struct random *random, char out[ID_UUID_SIZE])
{
	unsigned char bytes[16];
	char *at = out;

	random->fill(random, bytes, sizeof(bytes));
	bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40); /* version 4 */
	bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80); /* the variant of RFC 9562 */
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = hex[bytes[i] >> 4];
		*at++ = hex[bytes[i] & 15];
	}
	*at = '\0';
}

void id_from_alphabet(struct random *random, const char *alphabet, size_t length, char *out)
{
	size_t letters = strlen(alphabet);

	for (size_t i = 0; i < length; i++)
		out[i] = alphabet[random_below(random, letters)];
	out[length] = '\0';
}
