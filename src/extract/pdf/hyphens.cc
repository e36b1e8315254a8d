/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/hyphens.h"

#include "extract/pdf/text.h"

namespace pdf
{

enum { LONGEST_PREFIX = 3 };

static constexpr size_t MOST_WORDS = 1 << 20, FIRST_SLOTS = 1 << 10;

size_t word_counts::find(uint64_t hash) const
{
    size_t mask = slots.size() - 1, i = hash & mask;
    while (slots[i].hash != 0 && slots[i].hash != hash)
        i = (i + 1) & mask;
    return i;
}

void word_counts::grow()
{
    std::vector<slot> old = std::move(slots);
    slots.assign(old.empty() ? FIRST_SLOTS : old.size() * 2, {});
    for (const slot &slot : old)
        if (slot.hash)
            slots[find(slot.hash)] = slot;
}

void word_counts::add(std::string_view folded_word)
{
    if (folded_word.empty())
        return;
    if (used * 2 >= slots.size()) {
        if (used >= MOST_WORDS)
            return;
        grow();
    }
    uint64_t hash = hash_text(folded_word) | 1;
    slot &slot = slots[find(hash)];
    used += slot.hash == 0;
    slot.hash = hash;
    slot.count++;
}

uint32_t word_counts::count(std::string_view folded_word) const
{
    if (slots.empty() || folded_word.empty())
        return 0;
    return slots[find(hash_text(folded_word) | 1)].count;
}

bool is_broken_word(std::string_view end, std::string_view start, const word_counts &counts)
{
    if (!is_hyphen(last_code_point(end)))
        return false;
    std::string_view stem = without_last(end);
    if (!has_letter(stem))
        return false;
    std::string first = fold_word(stem), second = fold_word(start);
    uint32_t joined = counts.count(first + second), hyphenated = counts.count(first + "-" + second);
    if (joined || hyphenated)
        return joined > hyphenated;
    if (!starts_lower(start))
        return false;
    /* "un-able" is one word, though "able" is one, too; "mixed-mode" are two. */
    if (counts.count(second) == 0)
        return true;
    return counts.count(first) == 0 && count_code_points(first) <= LONGEST_PREFIX;
}

/* "pre- and postwar": the hyphen stands for the rest of a word. */
static bool is_suspended(std::string_view next)
{
    static const char *const words[] = {"and", "or", "to", "und", "oder", "bzw", "et", "ou",
                                        "y",   "o",  "e",  "en",  "of",   "och", "og", "eller"};
    std::string folded = fold_word(next);
    for (const char *word : words)
        if (folded == word)
            return true;
    return false;
}

void join_hyphen(piece &last, piece &next, const word_counts &counts)
{
    if (next.before == gap::cell || !is_hyphen(last_code_point(last.text)))
        return;
    std::string_view stem = without_last(last.text);
    uint32_t before = last_code_point(stem), after = first_code_point(next.text);
    if (!is_word_character(before) || !is_word_character(after) || is_suspended(next.text))
        return;
    next.before = gap::none;
    if (last_code_point(last.text) == 0xAD || is_broken_word(last.text, next.text, counts))
        last.text = stem;
}

void join_hyphens(std::vector<piece> &pieces, const word_counts &counts)
{
    for (size_t i = 1; i < pieces.size(); i++)
        if (pieces[i].before == gap::line) {
            join_hyphen(pieces[i - 1], pieces[i], counts);
            if (pieces[i].before == gap::line)
                pieces[i].before = gap::space;
        }
}

} // namespace pdf
