/* The layout of PDF pages on words made from the input: eight bytes a word, 0xFF in the first byte
 * begins another page. What must hold: it ends, and no word is lost or doubled. */
#include <cstdlib>

#include "extract/pdf/layout.h"
#include "extract/pdf/stream_order.h"
#include "extract/pdf/words.h"
#include "extract/pdf/writer.h"

extern "C" {
#include "extract/emitter_core.h"
#include "tests/fuzz/fuzz.h"
}

static const char *const texts[] = {
    "the",
    "com-",
    "pile",
    "\u2022",
    "1.",
    "2.3.1",
    "Figure",
    "Table",
    "A",
    "(iv)",
    "12.50",
    ".",
    "1987",
    "{",
    "\u05E9\u05DC\u05D5\u05DD",
    "\uFEFB",
    "\u65E5\u672C\u8A9E",
    "\u00ADx\u00AD",
    "\uFB01x",
    "word",
    "THE",
    "ends.",
    "\xFF\xC0",
    "page",
};

static pdf::word word_of(const uint8_t *data)
{
    pdf::word word;
    word.text = texts[data[1] % (sizeof texts / sizeof texts[0])];
    float x = static_cast<float>(data[2]) * 2.4f, y = static_cast<float>(data[3]) * 3.2f;
    word.size = static_cast<float>(data[4] % 40);
    word.place = {x, y, x + static_cast<float>(data[5]), y + static_cast<float>(data[6] % 64)};
    word.rotation = data[7] & 3;
    word.space_after = data[7] & 4;
    word.bold = data[7] & 8;
    word.fixed_pitch = data[7] & 16;
    word.hidden = data[7] & 32;
    return word;
}

/* Rows of dots are leaders, which may go. */
static bool must_stay(const std::string &text, const pdf::box &place)
{
    return text.find_first_not_of('.') != std::string::npos && place.x1 > place.x0;
}

static size_t count_places(const std::vector<pdf::block> &blocks)
{
    size_t count = 0;
    for (const pdf::block &block : blocks) {
        for (const pdf::piece &piece : block.pieces)
            count += must_stay(piece.text, piece.place);
        count += count_places(block.children);
    }
    return count;
}

static void drop(void *, struct str)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::vector<pdf::page> pages(1);
    for (size_t i = 0; i + 8 <= size && pages.size() < 64; i += 8) {
        if (data[i] == 0xFF)
            pages.emplace_back();
        pages.back().words.push_back(word_of(data + i));
    }
    pdf::document_profile profile;
    profile.style.add_bookmark("Figure", 2);
    for (size_t i = 0; i < pages.size(); i++) {
        pages[i].number = static_cast<uint32_t>(i + 1);
        pages[i].width = 612;
        pages[i].height = 792;
        pdf::repair_words(pages[i].words);
        profile.learn(pages[i]);
    }
    profile.settle();
    struct emitter emitter;
    emitter_begin(&emitter, true, drop, nullptr, nullptr);
    pdf::writer writer(&emitter, profile.counts);
    for (pdf::page &page : pages) {
        pdf::restore_overlapping_lines(page.words, pdf::find_overlapping_words(page.words),
                                       "the pile the word");
        pdf::page_content content = pdf::lay_out(page, profile);
        pdf::rank_words(page.words, "word the pile the 12.50 A page");
        content = pdf::lay_out(page, profile);
        size_t places = 0;
        for (const pdf::word &word : page.words)
            places += must_stay(word.text, word.place);
        if (count_places(content.before) + count_places(content.body) + count_places(content.after) < places)
            abort();
        writer.add(std::move(content));
    }
    writer.finish();
    emitter_end(&emitter);
    return 0;
}
