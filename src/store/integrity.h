/*
 * The seal on every record: HMAC-SHA256 over kind, key, revision and texts, each with its length
 * before it, under a key that is kept in a file outside the database. Used by one thread at a time.
 */
#ifndef STORE_INTEGRITY_H
#define STORE_INTEGRITY_H

#include "store/backend.h"

struct integrity;

/* Reads the key file. When there is none, draws a key that integrity_save() will keep: *ret_fresh. */
int integrity_open(const char *key_path, struct integrity **ret_integrity, bool *ret_fresh,
	struct err *err);
/* Writes the key file (0600); when another server was quicker, takes over its key. */
int integrity_save(struct integrity *integrity, struct err *err);
/* Removes the key file, if it still has the key that integrity_save() has just written. */
void integrity_forget(struct integrity *integrity);
/* Names the key without disclosing it; never 0. */
int integrity_fingerprint(struct integrity *integrity, uint64_t *ret_fingerprint, struct err *err);
void integrity_free(struct integrity *integrity); /* NULL is fine */

int integrity_seal(struct integrity *integrity, const struct store_row *row,
	unsigned char ret_mac[STORE_MAC_SIZE], struct err *err);
/* -EBADMSG when row->mac is not the seal of the row; any other code: it is not known. */
int integrity_check(struct integrity *integrity, const struct store_row *row, struct err *err);

#endif
