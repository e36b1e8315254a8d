/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/style.h"

#include <cmath>

#include "extract/pdf/text.h"

namespace pdf
{

enum {
    DEEPEST_HEADING = 6,
    LONGEST_HEADING = 220,
    MOST_LINES = 4,
    LONGEST_CAPITALS = 90,
    RUNNING_LINE = 36,
    SHORT_SENTENCE = 60,
    MOST_BOOKMARKS = 10000
};

static constexpr float LARGER = 1.12f; /* than the body: a heading's size */
static constexpr float MUCH_LARGER = 1.5f;
static constexpr float DISTINCT_SIZES = 0.75f; /* in points */
static constexpr float ALIKE = 0.94f;          /* not smaller than the body */

static unsigned key_of(float size, bool bold)
{
    return static_cast<unsigned>(std::lround(std::clamp(size, 0.0f, 1000.0f) * 2)) * 2 + bold;
}

static float size_of(unsigned key)
{
    return static_cast<float>(key / 2) / 2;
}

/* What titles are compared by: their letters, without section numbers. */
static uint64_t title_hash(std::string_view title)
{
    std::string letters;
    for (size_t i = 0; i < title.size();) {
        std::string one;
        append_code_point(one, next_code_point(title, i));
        if (has_letter(one))
            letters += fold_word(one);
    }
    return count_code_points(letters) < 3 ? 0 : hash_text(letters);
}

/* "Chapter 2: Copyists" is also known as "Copyists". */
static uint64_t short_title_hash(std::string_view title)
{
    size_t colon = title.find(": ");
    return colon == std::string_view::npos ? 0 : title_hash(title.substr(colon));
}

void document_style::add_bookmark(std::string_view title, unsigned depth)
{
    if (bookmarks.size() >= MOST_BOOKMARKS)
        return;
    uint8_t level = static_cast<uint8_t>(std::clamp<unsigned>(depth, 1, DEEPEST_HEADING));
    for (uint64_t hash : {title_hash(title), short_title_hash(title)})
        if (hash)
            bookmarks.emplace(hash, level);
}

unsigned document_style::bookmark_depth(std::string_view text) const
{
    if (bookmarks.empty() || text.size() > 4 * LONGEST_HEADING ||
        (!text.empty() && text.back() >= '0' && text.back() <= '9'))
        return 0; /* a line with a number at its end is one of a table of contents */
    for (uint64_t hash : {title_hash(text), short_title_hash(text)}) {
        auto found = bookmarks.find(hash);
        if (found != bookmarks.end() && hash)
            return found->second;
    }
    return 0;
}

void document_style::learn(const line &line, const std::vector<word> &words, uint32_t page)
{
    style_use &use = uses[key_of(line.size, line.bold)];
    use.characters += line.characters;
    use.running += line.characters >= RUNNING_LINE ? line.characters : 0;
    use.fixed_pitch += line.fixed_pitch ? line.characters : 0;
    use.lines++;
    use.pages += use.last_page != page;
    use.last_page = page;
    if (line.characters < LONGEST_CAPITALS)
        use.bookmarks[bookmark_depth(line_text(line, words))]++;
    if (line.words.size() > 1 && line.characters < LONGEST_CAPITALS) {
        std::string start = words[line.words[0]].text + " " + words[line.words[1]].text;
        if (unsigned depth = section_number_depth(start))
            use.least_depth = use.least_depth ? std::min(use.least_depth, depth) : depth;
    }
}

bool document_style::stands_out(unsigned key) const
{
    float size = size_of(key);
    bool bold = key & 1;
    return size >= LARGER * body.size || (bold && !body.bold && size >= ALIKE * body.size);
}

void document_style::settle()
{
    uint64_t all = 0, running = 0;
    for (const auto &[key, use] : uses) {
        all += use.characters;
        running += use.running;
    }
    /* The body's size is the one most characters have, bold or not: of those in running text, where
     * there is enough of it. */
    bool tabular = running * 10 < all;
    std::map<unsigned, uint64_t> sizes;
    for (const auto &[key, use] : uses)
        sizes[key / 2] += tabular ? use.characters : use.running;
    uint64_t most = 0;
    unsigned size = 20;
    for (const auto &[half_points, characters] : sizes)
        if (characters > most) {
            most = characters;
            size = half_points;
        }
    body.size = std::max(static_cast<float>(size) / 2, 1.0f);
    const style_use plain = uses[size * 2], bold = uses[size * 2 + 1];
    body.bold = tabular ? bold.characters > plain.characters : bold.running > plain.running;
    body.fixed_pitch = (plain.fixed_pitch + bold.fixed_pitch) * 2 > plain.characters + bold.characters;

    uint32_t last_page = 0;
    for (const auto &[key, use] : uses)
        last_page = std::max(last_page, use.last_page);
    uint32_t pages_wanted = last_page >= 8 ? 2 : 1;
    heading_styles.clear();
    for (auto it = uses.rbegin(); it != uses.rend(); ++it)
        if (stands_out(it->first) && it->second.pages >= pages_wanted && it->second.characters * 3 < all)
            heading_styles.push_back({it->first, level_of(it->first)});
}

/* The depth of the bookmarks in this style; without any, sizes tell: those less than DISTINCT_SIZES
 * apart have one level. */
unsigned document_style::level_of(unsigned key) const
{
    auto use = uses.find(key);
    if (use != uses.end()) {
        const auto &depths = use->second.bookmarks;
        auto most = std::max_element(depths.begin() + 1, depths.end());
        if (*most > 0 && *most * 2u >= use->second.lines)
            return static_cast<unsigned>(most - depths.begin());
    }
    unsigned level = 1;
    for (const ranked_style &style : heading_styles) {
        if (style.key <= key)
            return style.key == key ? style.level : level;
        level = style.level + (size_of(style.key) - size_of(key) >= DISTINCT_SIZES);
    }
    return level;
}

unsigned document_style::heading_level(const block &block) const
{
    if (block.kind != BLOCK_PARAGRAPH || block.lines > MOST_LINES || block.has_leaders)
        return 0;
    std::string text = block_text(block);
    size_t length = count_code_points(text);
    if (length > LONGEST_HEADING || count_letters(text) < 2)
        return 0;
    unsigned key = key_of(block.size, block.bold);
    unsigned depth = section_number_depth(text);
    bool larger = block.size >= LARGER * body.size;
    /* Bold, or in a font of another kind than the body. */
    bool other_font = block.fixed_pitch && !body.fixed_pitch && block.size >= ALIKE * body.size &&
                      length <= LONGEST_CAPITALS && block.lines == 1 && has_letter(text.substr(0, 4)) &&
                      !starts_lower(text);
    bool bold = ((block.bold && stands_out(key)) || other_font) && block.lines <= 3 &&
                (depth || !ends_sentence(text));
    bool capitals = length >= 4 && length <= LONGEST_CAPITALS && is_all_upper(text) &&
                    block.size >= ALIKE * body.size && block.lines <= 2 && !ends_sentence(text) &&
                    count_letters(text) * 2 > length;
    if (is_bullet(first_code_point(text)) || text.back() == ',')
        return 0;
    if (block.size < MUCH_LARGER * body.size && ends_sentence(text) && length > SHORT_SENTENCE && !depth)
        larger = false; /* a lead, an abstract */
    unsigned bookmark = block.size >= ALIKE * body.size ? bookmark_depth(text) : 0;
    if (bookmark)
        return bookmark;
    if (!larger && !bold && !capitals)
        return 0;
    unsigned level = level_of(key);
    auto use = uses.find(key);
    if (depth && use != uses.end() && use->second.least_depth && depth > use->second.least_depth)
        level += depth - use->second.least_depth;
    return std::min<unsigned>(level, DEEPEST_HEADING);
}

} // namespace pdf
