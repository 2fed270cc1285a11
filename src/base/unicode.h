/* Properties of Unicode characters, as Go's package unicode has them. */
#ifndef BASE_UNICODE_H
#define BASE_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

bool unicode_is_letter(uint32_t character);

#endif
