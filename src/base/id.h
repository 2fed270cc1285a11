/* Identifiers: what ECS puts into ARNs, what requests carry, what keys look like. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/random.h"

#define ID_HEX_SIZE 33
#define ID_UUID_SIZE 37

void id_hex(struct random *random, char out[ID_HEX_SIZE]); /* 32 lower-case hex digits: task ids */
void id_uuid(struct random *random, char out[ID_UUID_SIZE]); /* version 4, for request ids */
/* `length` characters of the alphabet given; for access keys and secrets. out has length + 1. */
void id_from_alphabet(struct random *random, const char *alphabet, size_t length, char *out);

#endif
