/*
 * Certificates are files: "arn:aws:acm:REGION:ACCOUNT:certificate/NAME" and
 * "arn:aws:iam::ACCOUNT:server-certificate/NAME" both mean NAME.pem in the folder that the configuration
 * names. It has the certificate, those between it and a root, and the private key, in PEM.
 */
#ifndef ELB_CERTIFICATE_H
#define ELB_CERTIFICATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define ELB_CERTIFICATE_NAME_MAX 128

/* NAME of an ARN: letters, digits, '-', '_', '.', and not ".pem" alone or a way out of the folder. -EINVAL
 * with what is wrong. */
int elb_certificate_name(struct span arn, struct span *ret_name, struct err *err);

/* Reads and checks a file: that there is a certificate, and that the key is its key. Blocks on the disk.
 * -ENOENT there is none (or no folder), -EINVAL it is not what it must be, or what reading says; the message
 * names the certificate and says why. The text ends with a zero byte. */
int elb_certificate_read(const char *folder, struct span arn, struct arena *arena,
	struct span *ret_pem, struct err *err);

#endif
