/*
 * Certificates for ports whose TLS ends at the proxy, from the Secrets that are mounted into its pod: FOLDER/SECRET/tls.crt
 * and tls.key. Kubernetes replaces the files when a Secret changes. A certificate that cannot be used leaves the one
 * before in use.
 */
#ifndef RELEASE_CANARY_CERTIFICATES_H
#define RELEASE_CANARY_CERTIFICATES_H

#include "release/canary.h"

#define CANARY_CERTIFICATE_READ_US INT64_C(2000000) /* between two reads */

struct canary_certificates;

struct canary_certificates *canary_certificates_new(const char *folder); /* copied */
void canary_certificates_free(struct canary_certificates *certificates); /* NULL is fine */

/* Reads the certificates of all Secrets that the CanaryRelease names. True: it names some. */
bool canary_certificates_read(struct canary_certificates *certificates,
	const struct canary *canary);
/* Chain and key until the next read, or NULL. *ret_problem: why the present one is not used; "". certificates NULL: there
 * are none. */
const char *canary_certificates_find(const struct canary_certificates *certificates,
	struct span secret, struct span *ret_problem);

#endif
