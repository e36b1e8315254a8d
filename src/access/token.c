#include "access/token.h"

#include <sodium.h>
#include <string.h>

#define TOKEN_PREFIX "ibid_"

enum {
    TOKEN_SECRET_SIZE = 32,
    TOKEN_PREFIX_SIZE = sizeof TOKEN_PREFIX - 1,
    HINT_SIZE = TOKEN_PREFIX_SIZE + 4,
    NAME_LIMIT = 256,
};

_Static_assert((int)TOKEN_HASH_SIZE == (int)crypto_generichash_BYTES,
               "the hash of libsodium's default length");

/* BLAKE2b: a token has 256 random bits, so that nothing slower is needed to keep it from being guessed. */
bool token_hash(struct str text, unsigned char ret[TOKEN_HASH_SIZE])
{
    if (text.size != TOKEN_TEXT_SIZE - 1 || !str_starts_with(text, TOKEN_PREFIX))
        return false;
    return crypto_generichash(ret, TOKEN_HASH_SIZE, (const unsigned char *)text.data, text.size, NULL, 0) ==
           0;
}

ibid_code token_issue(struct transaction *transaction, int64_t user_id, struct str name, int64_t expires_at,
                      char ret_text[TOKEN_TEXT_SIZE], int64_t *ret_id, ibid_error *err)
{
    if (name.size > NAME_LIMIT)
        return fail(err, IBID_ETOOBIG, "the name of a token has at most %d bytes", NAME_LIMIT);
    if (sodium_init() < 0)
        return fail(err, IBID_EUNAVAILABLE, "libsodium cannot start");
    AUTO_ARENA arena = ARENA_INIT;
    struct user user;
    TRY(user_load(transaction, user_id, &arena, &user, err));
    unsigned char secret[TOKEN_SECRET_SIZE], hash[TOKEN_HASH_SIZE];
    char text[TOKEN_TEXT_SIZE] = TOKEN_PREFIX;
    randombytes_buf(secret, sizeof secret);
    sodium_bin2base64(text + TOKEN_PREFIX_SIZE, sizeof text - TOKEN_PREFIX_SIZE, secret, sizeof secret,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    ASSERT(token_hash(str_from(text), hash));
    const struct token_record draft = {
        .user_id = user_id, .name = name, .hint = {text, HINT_SIZE}, .expires_at = expires_at};
    const ibid_code code = token_record_create(transaction, &draft, hash, ret_id, err);
    if (code == IBID_OK)
        memcpy(ret_text, text, sizeof text);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(text, sizeof text);
    return code;
}
