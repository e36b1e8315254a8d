/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines: words that stand side by side on one baseline with no more than word spaces between them.
 * A line never crosses the gap between two columns or two cells of a table. */
#pragma once

#include <string_view>

#include "extract/pdf/word.h"

namespace pdf
{

struct line {
    std::vector<uint32_t> words; /* of the page, from left to right */
    box place;                   /* upright */
    float size = 0;              /* of the font that most of its characters have */
    uint32_t characters = 0;
    bool bold = false;            /* all of it */
    bool fixed_pitch = false;     /* all of it */
    bool hidden = false;          /* all of it */
    bool has_leaders = false;     /* dots led from its words to a number; they are gone */
    uint32_t rank = UNKNOWN_RANK; /* lowest rank of its words */
};

/* Builds the lines of the words with this rotation. `words` are in the order of the library, whose
 * neighbours tell which belong together; their space_after becomes right for their line, and true
 * at its end. */
std::vector<line> build_lines(std::vector<word> &words, unsigned rotation);

/* Joins lines on one baseline that the library parted: fragments with hardly a gap, a bullet and its
 * item, a number and its heading, a drop cap and its word. O(n log n). */
void join_markers(std::vector<line> &lines, std::vector<word> &words);

/* Takes rows of dots out of the lines: the leaders of tables of contents. */
void drop_leaders(std::vector<line> &lines, std::vector<word> &words);

/* Recomputes everything that follows from the words. */
void measure_line(line &line, const std::vector<word> &words);

/* The text with its word spaces. */
std::string line_text(const line &line, const std::vector<word> &words);
std::string_view first_text(const line &line, const std::vector<word> &words);
std::string_view last_text(const line &line, const std::vector<word> &words);

/* A label at the start of a list item: "•", "–", "3.", "3)", "(3)", "a)", "(iv)". */
enum class marker { none, bullet, dash, number, letter };
marker marker_of(std::string_view text);
/* How many parts the number of a heading has: "2.3.1" has 3, "IV." and "A." 1; 0 when it is none. */
unsigned section_number_depth(std::string_view text);

} // namespace pdf
