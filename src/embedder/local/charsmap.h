/* The precompiled normaliser of SentencePiece (Kudo and Richardson, 2018): a table of strings and what
 * stands for them, such as NFKC with all white space made blanks. In the file: the size of a trie
 * (uint32, little-endian), the trie, then the replacements, each ended by NUL. The trie is a double array in
 * the form of the darts-clone library: of a unit's 32 bits, 0..7 and 31 are its label, 8 says that a value
 * follows, 9 that the offset in bits 10..30 is shifted by 8; a value unit holds the place of a replacement.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { CHARSMAP_SIZE_MAX = 16 << 20 };

struct charsmap;

/* From base64 as tokenizer.json has it. IBID_EFORMAT or IBID_ETOOBIG say what is wrong. */
ibid_code charsmap_parse(struct str base64, struct charsmap **ret, ibid_error *err) MUST_CHECK;
void charsmap_free(struct charsmap *take_charsmap); /* NULL is fine */

/* Normalises one grapheme cluster at the front of `text` and moves *position behind it. Calls `put` for every
 * code point of the result. As the reference library does it: a cluster of less than 6 bytes is replaced
 * as a whole by what stands for the shortest entry that it begins with; else each of its code points is,
 * where it has an entry. `charsmap` NULL: nothing is replaced. */
void charsmap_next(const struct charsmap *charsmap, struct str text, size_t *position,
                   void (*put)(void *context, uint32_t code_point), void *context);
