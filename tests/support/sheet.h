/* A page of words made by hand, as the PDF library would give them, and what the layout makes of
 * it in short form. For the tests of src/extract/pdf/. */
#pragma once

#include <string>

#include "extract/pdf/layout.h"
#include "extract/pdf/paragraphs.h"
#include "extract/pdf/pieces.h"
#include "extract/pdf/words.h"

namespace sheet
{

enum look { PLAIN = 0, BOLD = 1, FIXED = 2, HIDDEN = 4 };

/* Every character is half as wide as its font is high, a space takes 0.3. */
inline float width_of(const std::string &text, float size)
{
    return 0.5f * size * static_cast<float>(text.size());
}

/* Sets the words of `text` (parted by spaces) in one line, `y` at its top. Returns where it ends. */
inline float put(pdf::page &page, float x, float y, const std::string &text, float size = 10,
                 int look = PLAIN)
{
    for (size_t i = 0, end; i < text.size(); i = end + 1) {
        end = std::min(text.find(' ', i), text.size());
        pdf::word word;
        word.text = text.substr(i, end - i);
        word.size = size;
        word.bold = look & BOLD;
        word.fixed_pitch = look & FIXED;
        word.hidden = look & HIDDEN;
        word.place = {x, y, x + width_of(word.text, size), y + size};
        word.space_after = end < text.size();
        x = word.place.x1 + 0.3f * size;
        page.words.push_back(word);
    }
    return x - 0.3f * size;
}

inline pdf::page blank(uint32_t number = 1)
{
    pdf::page page;
    page.number = number;
    page.width = 600;
    page.height = 800;
    return page;
}

inline void describe(const pdf::block &block, std::string &out)
{
    static const char *const names[] = {"P",   "H",   "LIST", "LI",  "TABLE", "TR", "CODE", "Q",
                                        "CAP", "IMG", "FN",   "COM", "PH",    "PF", "SEC"};
    out += names[block.kind];
    if (block.level)
        out += std::to_string(block.level);
    if (block.flags & BLOCK_HEADER)
        out += "!";
    if (block.flags & BLOCK_HIDDEN)
        out += "?";
    if (!block.pieces.empty()) {
        out += " ";
        for (char c : pdf::block_text(block))
            out += c == '\t' ? "|" : c == '\n' ? "/" : std::string(1, c);
    }
    out += "\n";
    for (const pdf::block &child : block.children)
        describe(child, out);
}

inline std::string describe(const std::vector<pdf::block> &blocks)
{
    std::string out;
    for (const pdf::block &block : blocks)
        describe(block, out);
    return out;
}

/* The whole way of a document of these pages: learned, laid out, described page by page. */
inline std::string lay_out(std::vector<pdf::page> pages)
{
    pdf::document_profile profile;
    for (pdf::page &page : pages) {
        pdf::repair_words(page.words);
        profile.learn(page);
    }
    profile.settle();
    std::string out;
    for (pdf::page &page : pages) {
        pdf::page_content content = pdf::lay_out(page, profile);
        out += describe(content.before) + describe(content.body) + describe(content.after);
    }
    return out;
}

inline std::string lay_out(const pdf::page &page)
{
    return lay_out(std::vector<pdf::page>{page});
}

} // namespace sheet
