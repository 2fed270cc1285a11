/* The content of !!binary scalars. */
#ifndef BASE_YAML_BINARY_H
#define BASE_YAML_BINARY_H

#include "base/buffer.h"

/* Standard base64 with its padding and with line breaks anywhere. Bytes that are not UTF-8 become
 * U+FFFD, as encoding/json has it. False if text is not base64. */
bool yaml_binary_decode(struct span text, struct buffer *out);

#endif
