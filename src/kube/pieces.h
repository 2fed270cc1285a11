/*
 * Cuts JSON that arrives in chunks into the objects it is made of, so that each can be parsed, used and
 * dropped before the next has come. Two shapes:
 *
 *     a sequence   {…} {…} {…}                              what a watch sends
 *     a list       {"kind":"PodList","metadata":{…},"items":[{…},{…}]}   what a list sends
 *
 * The text around the items of a list is collected, with a 0 in place of each item, and parsed at
 * the end, so that the strict parser reads every byte. Inside kube/ only.
 */
#ifndef KUBE_PIECES_H
#define KUBE_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"

/* Limit for the text around the items of a list. */
#define KUBE_PIECES_FRAME_MAX ((size_t)256 * 1024)

struct kube_pieces {
	/* Set by the caller. take returns 0 to go on; anything else ends feeding and is returned, err filled
	 * if negative. The piece lives during the call only. */
	bool list;
	size_t piece_max;
	int (*take)(void *context, struct span piece, struct err *err);
	void *context;

	/* Own. */
	struct buffer piece; /* the beginning of one that is not complete */
	struct buffer frame; /* of a list */
	size_t depth;
	size_t count;
	size_t key_at, key_length; /* in the frame: the last string of its outermost object */
	bool in_string, escaped;
	bool in_piece;
	bool after_colon; /* and nothing since but space */
	bool in_items;
	bool complete; /* the list's outermost object was closed */
};

void kube_pieces_clear(struct kube_pieces *pieces);

/* -EPROTO: this cannot become such JSON; -EFBIG: a piece or the frame is too long. */
int kube_pieces_feed(struct kube_pieces *pieces, struct span data, struct err *err);
/* Ends the input. -EPROTO if it is incomplete. For a list, *ret_frame (in the arena) is the text
 * around its items, parsed; otherwise ret_frame may be NULL. */
int kube_pieces_end(struct kube_pieces *pieces, struct arena *arena, struct json **ret_frame,
	struct err *err);

#endif
