/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words broken at the end of a line. */
#pragma once

#include <string_view>
#include <vector>

#include "extract/pdf/blocks.h"

namespace pdf
{

/* How often words occur in a document, by hash: enough to know whether something is a word.
 * Holds up to a fixed number of different words and ignores the rest. */
class word_counts
{
  public:
    void add(std::string_view folded_word);
    uint32_t count(std::string_view folded_word) const;
    size_t size() const
    {
        return used;
    }

  private:
    struct slot {
        uint64_t hash = 0; /* 0: free */
        uint32_t count = 0;
    };
    std::vector<slot> slots;
    size_t used = 0;
    size_t find(uint64_t hash) const;
    void grow();
};

/* Whether `end` of a line, which ends with a hyphen, and `start` of the next are one word without
 * it. They are when the joined word occurs in the document more often than the hyphenated one; or,
 * where neither does, when the parts are no words by themselves and `start` is lower case. */
bool is_broken_word(std::string_view end, std::string_view start, const word_counts &counts);

/* Closes the gaps in a block's pieces where a word was broken: takes the hyphen from the first
 * part, or keeps it and closes the gap ("mixed-" "mode"). */
void join_hyphens(std::vector<piece> &pieces, const word_counts &counts);
/* The same for one seam: `last` is the last piece before it, `next` the first behind it. */
void join_hyphen(piece &last, piece &next, const word_counts &counts);

} // namespace pdf
