#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

/* OpenSSL's EVP context under our name. */
struct sha256_state {
    char opaque; /* never defined further: the pointer is an EVP_MD_CTX */
};

static EVP_MD_CTX *context_of(struct sha256_state *state)
{
    return (EVP_MD_CTX *)(void *)state;
}

struct sha256_state *sha256_start(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        BUG("SHA-256 is not available");
    return (struct sha256_state *)(void *)context;
}

void sha256_feed(struct sha256_state *state, const void *data, size_t size)
{
    if (EVP_DigestUpdate(context_of(state), data, size) != 1)
        BUG("SHA-256 update failed");
}

void sha256_feed_field(struct sha256_state *state, struct str field)
{
    uint64_t size = field.size;
    unsigned char length[8];
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)(size >> (8 * i));
    sha256_feed(state, length, sizeof length);
    sha256_feed(state, field.data, field.size);
}

struct sha256 sha256_finish(struct sha256_state *take_state)
{
    struct sha256 hash;
    if (EVP_DigestFinal_ex(context_of(take_state), hash.bytes, NULL) != 1)
        BUG("SHA-256 final failed");
    EVP_MD_CTX_free(context_of(take_state));
    return hash;
}

struct sha256 sha256_of(const void *data, size_t size)
{
    struct sha256_state *state = sha256_start();
    sha256_feed(state, data, size);
    return sha256_finish(state);
}

ibid_code sha256_of_fd(int fd, struct sha256 *ret, ibid_error *err)
{
    struct sha256_state *state = sha256_start();
    char piece[64 * 1024];
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(fd, piece, sizeof piece, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            int os_errno = errno;
            *ret = sha256_finish(state);
            return got == 0 ? IBID_OK : fail_errno(err, os_errno, "cannot read the file");
        }
        sha256_feed(state, piece, (size_t)got);
        offset += got;
    }
}

bool sha256_equal(const struct sha256 *a, const struct sha256 *b)
{
    return memcmp(a->bytes, b->bytes, SHA256_SIZE) == 0;
}

void sha256_to_hex(const struct sha256 *hash, char out[SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[2 * SHA256_SIZE] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool sha256_from_hex(struct str hex, struct sha256 *ret)
{
    if (hex.size != 2 * SHA256_SIZE)
        return false;
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        int high = hex_digit(hex.data[2 * i]), low = hex_digit(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* XXH64: constants and rounds as the xxHash specification (version 0.1.1) states them. */
static const uint64_t PRIME1 = 0x9E3779B185EBCA87u, PRIME2 = 0xC2B2AE3D27D4EB4Fu, PRIME3 = 0x165667B19E3779F9u,
                      PRIME4 = 0x85EBCA77C2B2AE63u, PRIME5 = 0x27D4EB2F165667C5u;

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static uint64_t load64(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value; /* ibid's files are little-endian; big-endian machines are refused at open */
}

static uint32_t load32(const unsigned char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t mix_lane(uint64_t accumulator, uint64_t lane)
{
    return rotate_left(accumulator + lane * PRIME2, 31) * PRIME1;
}

uint64_t checksum64(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data, *end = p + size;
    uint64_t hash;
    if (size >= 32) {
        uint64_t lanes[4] = {seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1};
        for (; end - p >= 32; p += 32)
            for (int i = 0; i < 4; i++)
                lanes[i] = mix_lane(lanes[i], load64(p + 8 * i));
        hash = rotate_left(lanes[0], 1) + rotate_left(lanes[1], 7) + rotate_left(lanes[2], 12) +
               rotate_left(lanes[3], 18);
        for (int i = 0; i < 4; i++)
            hash = (hash ^ mix_lane(0, lanes[i])) * PRIME1 + PRIME4;
    } else {
        hash = seed + PRIME5;
    }
    hash += size;
    for (; end - p >= 8; p += 8)
        hash = rotate_left(hash ^ mix_lane(0, load64(p)), 27) * PRIME1 + PRIME4;
    if (end - p >= 4) {
        hash = rotate_left(hash ^ load32(p) * PRIME1, 23) * PRIME2 + PRIME3;
        p += 4;
    }
    for (; p < end; p++)
        hash = rotate_left(hash ^ *p * PRIME5, 11) * PRIME1;
    hash = (hash ^ hash >> 33) * PRIME2;
    hash = (hash ^ hash >> 29) * PRIME3;
    return hash ^ hash >> 32;
}
