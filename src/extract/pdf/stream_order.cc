/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/stream_order.h"

#include <cmath>
#include <unordered_map>

#include "extract/pdf/bidi.h"
#include "extract/pdf/text.h"
#include "extract/pdf/words.h"

namespace pdf
{

namespace
{

/* A word is rather a second use of a near one than the first of one further away than this. */
constexpr float COPY_DISTANCE = 40;

enum {
    CANDIDATES = 32,     /* words of equal text that are compared by place */
    LINES_RESTORED = 64, /* overlapping words whose lines are restored */
};

struct places {
    std::vector<uint32_t> words; /* those with one text, in list order */
    size_t first_free = 0;       /* all before it are taken */
};

class matcher
{
  public:
    explicit matcher(std::vector<word> &words) : words(words), taken(words.size())
    {
        for (uint32_t i = 0; i < words.size(); i++)
            by_text[words[i].text].words.push_back(i);
    }

    /* The word of this text that is nearest to the last one found; UINT32_MAX for none. One that
     * was found before counts as `again` points further away; negative: it does not count. */
    uint32_t find(const std::string &text, float again = -1)
    {
        auto found = by_text.find(text);
        if (found == by_text.end())
            return UINT32_MAX;
        places &places = found->second;
        while (places.first_free < places.words.size() && taken[places.words[places.first_free]])
            places.first_free++;
        uint32_t best = UINT32_MAX;
        float nearest = 0;
        for (size_t i = again < 0 ? places.first_free : 0, seen = 0;
             i < places.words.size() && seen < CANDIDATES; i++) {
            uint32_t candidate = places.words[i];
            if (taken[candidate] && again < 0)
                continue;
            seen++;
            float distance = distance_from_last(words[candidate].place) + (taken[candidate] ? again : 0);
            if (best == UINT32_MAX || distance < nearest) {
                best = candidate;
                nearest = distance;
            }
        }
        if (best != UINT32_MAX) {
            taken[best] = true;
            last = best;
        }
        return best;
    }

  private:
    std::vector<word> &words;
    std::vector<bool> taken;
    std::unordered_map<std::string, places> by_text;
    uint32_t last = UINT32_MAX;

    float distance_from_last(const box &place) const
    {
        if (last == UINT32_MAX)
            return place.y0;
        const box &before = words[last].place;
        return std::abs(place.x0 - before.x1) + 4 * std::abs(place.middle() - before.middle());
    }
};

/* Calls visit(text, ends_line) for each word of the stream text, repaired as the list's words are. */
template <typename Visit> void visit_stream_words(std::string_view stream_text, Visit visit)
{
    size_t i = 0;
    while (i < stream_text.size()) {
        size_t end = std::min(stream_text.find_first_of(" \n\r\t\f", i), stream_text.size());
        if (end > i) {
            word word;
            word.text = stream_text.substr(i, end - i);
            repair_text(word);
            if (!word.text.empty())
                visit(word.text, end == stream_text.size() || stream_text[end] != ' ');
        }
        i = end + 1;
    }
}

} // namespace

/* The library's plain text is in logical order, the words of its list are in the order seen. */
static std::string as_seen(const std::string &text)
{
    std::string seen;
    for (std::string_view rest = text; !rest.empty(); rest = without_last(rest))
        append_code_point(seen, last_code_point(rest));
    return seen;
}

void rank_words(std::vector<word> &words, std::string_view stream_text)
{
    matcher matcher(words);
    uint32_t rank = 0;
    visit_stream_words(stream_text, [&](const std::string &text, bool) {
        uint32_t found = matcher.find(text);
        if (found == UINT32_MAX && has_right_to_left(text))
            found = matcher.find(as_seen(text));
        if (found != UINT32_MAX)
            words[found].rank = rank;
        rank++;
    });
}

void restore_overlapping_lines(std::vector<word> &words, const std::vector<uint32_t> &overlapping,
                               std::string_view stream_text)
{
    if (overlapping.empty())
        return;
    /* Everything on the same lines goes to the end of the list, one stream line after the other. */
    std::vector<bool> concerned(words.size());
    for (size_t i = 0; i < words.size(); i++)
        for (size_t k = 0; k < overlapping.size() && k < LINES_RESTORED && !concerned[i]; k++)
            concerned[i] = on_one_line(words[i].place, words[overlapping[k]].place);
    matcher matcher(words);
    std::vector<word> restored;
    std::vector<bool> moved(words.size());
    bool starts_line = true; /* then the place of the word before tells nothing */
    visit_stream_words(stream_text, [&](const std::string &text, bool ends_line) {
        uint32_t found = starts_line ? matcher.find(text) : UINT32_MAX;
        if (found == UINT32_MAX)
            found = matcher.find(text, COPY_DISTANCE);
        starts_line = ends_line;
        if (found == UINT32_MAX || !concerned[found])
            return;
        moved[found] = true;
        restored.push_back(words[found]);
        restored.back().space_after = !ends_line;
    });
    size_t kept = 0;
    for (size_t i = 0; i < words.size(); i++) {
        if (moved[i])
            continue;
        if (kept != i)
            words[kept] = std::move(words[i]);
        kept++;
    }
    words.resize(kept);
    words.insert(words.end(), std::make_move_iterator(restored.begin()),
                 std::make_move_iterator(restored.end()));
}

} // namespace pdf
