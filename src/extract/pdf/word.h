/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words on a page: what every step of the layout works on.
 *
 * Nothing here knows the PDF library: the layout takes words and gives blocks, so that it can be
 * tested and fuzzed with words made by hand. Lengths are points; the origin is the top left corner
 * of the page as it is shown. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace pdf
{

struct box {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

    float width() const
    {
        return x1 - x0;
    }
    float height() const
    {
        return y1 - y0;
    }
    float middle() const
    {
        return (y0 + y1) / 2;
    }
    float center() const
    {
        return (x0 + x1) / 2;
    }
};

/* The smallest box around both. */
inline box box_around(const box &a, const box &b)
{
    return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

/* Length of what both spans share; negative is the distance between them. */
inline float shared_height(const box &a, const box &b)
{
    return std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
}

inline float shared_width(const box &a, const box &b)
{
    return std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
}

/* Whether they stand on one line: half of the smaller height is shared. */
inline bool on_one_line(const box &a, const box &b)
{
    return shared_height(a, b) > 0.5f * std::min(a.height(), b.height());
}

inline constexpr uint32_t UNKNOWN_RANK = UINT32_MAX;

struct word {
    std::string text;     /* UTF-8 */
    box place;            /* where it is shown */
    box upright;          /* where the layout sees it: `place`, turned so that it reads from left to right */
    float size = 0;       /* of the font, in points */
    uint8_t rotation = 0; /* quarter turns, clockwise */
    bool space_after = false; /* the library saw a space between it and the next word of the list */
    bool bold = false;
    bool fixed_pitch = false;
    bool hidden = false;          /* in the text, but not to be seen on the page */
    bool soft_hyphen = false;     /* it ended with a soft hyphen, which is gone from the text */
    uint32_t rank = UNKNOWN_RANK; /* its position in the content stream, where that was asked for */
};

struct page {
    uint32_t number = 0; /* from 1 */
    float width = 0, height = 0;
    std::string label; /* what is printed on it ("iv"); empty when that is its number */
    std::vector<word> words;
};

} // namespace pdf
