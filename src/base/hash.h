/* Hashes: SHA-256 where identity or trust hangs on it, a fast 64-bit checksum for our own files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 65 };

struct sha256 {
    unsigned char bytes[SHA256_SIZE];
};

/* A hash that is fed in pieces: sha256_start, sha256_feed..., sha256_finish (which also frees). */
struct sha256_state;
struct sha256_state *sha256_start(void) __attribute__((returns_nonnull));
void sha256_feed(struct sha256_state *state, const void *data, size_t size);
/* Feeds the length first, so that ("ab","c") and ("a","bc") differ. */
void sha256_feed_field(struct sha256_state *state, struct str field);
struct sha256 sha256_finish(struct sha256_state *take_state);

struct sha256 sha256_of(const void *data, size_t size);
/* Hashes an open file from its start to its end. */
ibid_code sha256_of_fd(int fd, struct sha256 *ret, ibid_error *err) MUST_CHECK;
bool sha256_equal(const struct sha256 *a, const struct sha256 *b);

void sha256_to_hex(const struct sha256 *hash, char out[SHA256_HEX_SIZE]);
bool sha256_from_hex(struct str hex, struct sha256 *ret);

/* 64-bit checksum of stored bytes: XXH64 (the xxHash specification), stable across machines.
 * Detects damage, not forgery. */
uint64_t checksum64(const void *data, size_t size, uint64_t seed);
