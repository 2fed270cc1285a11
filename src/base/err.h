/*
 * The one error idiom: a fallible function returns 0, or a negative errno-like code and fills
 * *err with a sentence a person can act on. On success *err is not touched. Context is added on the
 * way up with err_prefix(), so that the message reads from the outside in:
 * "open store '/var/lib/slipway': database is from a newer slipway (format 7, this one knows 3)".
 *
 * A caller that does not care passes NULL for err.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>

#define ERR_MESSAGE_MAX 1024

struct err {
	int code; /* negative; what the function returned */
	char message[ERR_MESSAGE_MAX];
};

/* Fills err (cut at ERR_MESSAGE_MAX on a UTF-8 boundary) and returns code, which must be negative. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set with -errno, and ": strerror" appended. */
int err_errno(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As err_errno for a given errno value (positive). */
int err_system(struct err *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "format: " before the message that is there. Returns err's code. NULL is allowed only for err == NULL: then returns code. */
int err_prefix(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Compilers cannot see that these calls return < 0; with this they know which outputs are set. */
#define ERR_NEGATIVE(call)                                                                         \
	({                                                                                         \
		int negative_ = (call);                                                            \
		if (negative_ >= 0)                                                                \
			__builtin_unreachable();                                                   \
		negative_;                                                                         \
	})
#define err_set(...) ERR_NEGATIVE(err_set(__VA_ARGS__))
#define err_errno(...) ERR_NEGATIVE(err_errno(__VA_ARGS__))
#define err_system(...) ERR_NEGATIVE(err_system(__VA_ARGS__))

#endif
