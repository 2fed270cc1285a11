/*
 * The admin key: created on the first start, kept in the state folder (0600) and the store. The
 * file is the master copy: every start adds it to a store that lacks it (a new database), so that a
 * user with read access to the state folder always has access.
 */
#ifndef SERVER_ADMIN_KEY_H
#define SERVER_ADMIN_KEY_H

#include <stdatomic.h>

#include "base/random.h"
#include "store/store.h"

#define ADMIN_KEY_FILE "admin-key.json"
#define ADMIN_KEY_USED_FILE "admin-key.used" /* empty; exists once a key was used */

struct admin_key {
	char id[32];
	char secret[64];
	char account[16];
	char *path;      /* NULL: not kept */
	char *used_path; /* NULL: likewise */
	bool created;    /* by this start */
	/* A request was signed with some key, in this run or an earlier one. */
	_Atomic bool used;
};

/* folder NULL: a new key, kept nowhere. A key file of another account is refused. A key whose record in
 * the store is quarantined is replaced by a new one. */
int admin_key_open(struct store *store, const char *folder, const char *account,
	struct random *random, struct clock *clock, struct admin_key *ret_key, struct err *err);
/* Remembers, in the folder of the key, that some key was used. Cheap after the first time. */
void admin_key_note_use(struct admin_key *key);
/* For commands: the file alone. */
int admin_key_read(const char *path, struct admin_key *ret_key, struct err *err);
void admin_key_clear(struct admin_key *key); /* forgets the secret, frees the path */

#endif
