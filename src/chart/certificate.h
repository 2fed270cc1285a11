/* Keys and certificates for genCA and its relatives, by OpenSSL. */
#ifndef CHART_CERTIFICATE_H
#define CHART_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define CERTIFICATE_NAMES_MAX 1000
/* Bits of RSA keys for certificates and for genPrivateKey. */
#define CERTIFICATE_RSA_BITS 2048
#define CERTIFICATE_PRIVATE_KEY_BITS 4096
#define CERTIFICATE_DSA_BITS 2048

struct certificate_request {
	struct span common_name;
	const struct span *addresses; /* IP */
	size_t address_count;
	const struct span *names; /* DNS */
	size_t name_count;
	int64_t days;
	int64_t now; /* seconds since 1970 */
	bool authority;
	struct span key;        /* PEM of the key to use; data NULL: a new one */
	struct span issuer;     /* PEM of the certificate that signs; data NULL: signs itself */
	struct span issuer_key; /* PEM */
};

/* Both PEM. */
int certificate_make(struct arena *arena, const struct certificate_request *request,
	struct span *ret_certificate, struct span *ret_key, struct err *err);
/* "rsa" or "", "dsa", "ecdsa", "ed25519". */
int certificate_make_key(struct arena *arena, struct span type, struct span *ret_key,
	struct err *err);
/* Checks that both are PEM of the right kind. */
int certificate_check_pair(struct span certificate, struct span key, struct err *err);

#endif
