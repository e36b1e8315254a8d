/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at pieces of UTF-8 text. Ill-formed bytes count as U+FFFD everywhere. */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pdf
{

/* The code point at `position`, which moves behind it; position < text.size(). */
uint32_t next_code_point(std::string_view text, size_t &position);
uint32_t first_code_point(std::string_view text); /* 0 when the text is empty */
uint32_t last_code_point(std::string_view text);  /* 0 when the text is empty */
void append_code_point(std::string &text, uint32_t code_point);
/* The text without its last code point. */
std::string_view without_last(std::string_view text);

bool is_ascii(std::string_view text);
size_t count_code_points(std::string_view text);
size_t count_letters(std::string_view text);
bool has_letter(std::string_view text);
bool has_digit(std::string_view text);
/* First letter lower or upper case; false where the script has no case. */
bool starts_lower(std::string_view text);
bool starts_upper(std::string_view text);
bool is_all_upper(std::string_view text); /* letters it has, and none is lower case */

/* Han, kana and the like, which are written without spaces between words. */
bool is_ideographic(uint32_t code_point);
bool is_right_to_left(uint32_t code_point);
bool is_hyphen(uint32_t code_point);
bool is_bullet(uint32_t code_point);
bool is_word_character(uint32_t code_point); /* letters, marks and digits */

/* Ends with what closes a sentence, closing quotes and brackets not counted. */
bool ends_sentence(std::string_view text);

/* For comparing words: case folded, without punctuation at both ends. */
std::string fold_word(std::string_view text);
/* For comparing lines from page to page: case folded, runs of digits as '#', spaces gone. */
std::string fold_line(std::string_view text);
uint64_t hash_text(std::string_view text);

} // namespace pdf
