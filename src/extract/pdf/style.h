/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a document is set: which font size is the body's, and which styles its headings have.
 * Learned from all lines before any block is made. */
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <unordered_map>

#include "extract/pdf/blocks.h"
#include "extract/pdf/lines.h"

namespace pdf
{

class document_style
{
  public:
    /* A bookmark of the document; depth from 1. Before the lines. */
    void add_bookmark(std::string_view title, unsigned depth);
    void learn(const line &line, const std::vector<word> &words, uint32_t page);
    /* Once, after the last line. */
    void settle();

    float body_size() const
    {
        return body.size;
    }
    bool body_is_bold() const
    {
        return body.bold;
    }
    bool body_is_fixed_pitch() const
    {
        return body.fixed_pitch;
    }

    /* 1..6 when the block reads and looks like a heading, else 0. */
    unsigned heading_level(const block &block) const;

  private:
    struct style_use {
        uint64_t characters = 0;
        uint64_t running = 0;     /* characters in lines long enough for running text */
        uint64_t fixed_pitch = 0; /* characters */
        uint32_t lines = 0;
        uint32_t last_page = 0, pages = 0;
        unsigned least_depth = 0;               /* of section numbers seen in it; 0: none */
        std::array<uint32_t, 7> bookmarks = {}; /* lines that are bookmarks of this depth */
    };
    std::unordered_map<uint64_t, uint8_t> bookmarks; /* depth by what is left of the title */
    /* By half points of the size, times two, plus bold. */
    std::map<unsigned, style_use> uses;
    struct {
        float size = 10;
        bool bold = false, fixed_pitch = false;
    } body;
    struct ranked_style {
        unsigned key, level;
    };
    std::vector<ranked_style> heading_styles; /* those that recur, from the most to the least important */

    unsigned level_of(unsigned key) const;
    unsigned bookmark_depth(std::string_view text) const;
    bool stands_out(unsigned key) const;
};

} // namespace pdf
