/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/resource.h>

#include "extract/extractor.h"
#include "extract/pdf/garbage.h"
#include "extract/pdf/hidden_text.h"
#include "extract/pdf/layout.h"
#include "extract/pdf/page_store.h"
#include "extract/pdf/pdf_document.h"
#include "extract/pdf/stream_order.h"
#include "extract/pdf/text.h"
#include "extract/pdf/titles.h"
#include "extract/pdf/words.h"
#include "extract/pdf/writer.h"

extern "C" {
#include "base/clock.h"
}

namespace pdf
{

namespace
{

enum { FAILED_PAGES = 100 }; /* in a row: the page count lies */

constexpr size_t KEPT_BYTES = 64 << 20;           /* of pages read once; those beyond are read again */
constexpr int64_t DRAWING_BUDGET = 5 * SECOND_US; /* of CPU, for finding hidden text */
/* Parts of the limit of CPU time after which no more pages are read, and none written: what there
 * is by then is worth more than nothing. */
constexpr double READING_SHARE = 0.6, WRITING_SHARE = 0.9;

/* How much of the process's CPU time is used up; 0 when there is no limit. */
double used_cpu_share()
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur == 0)
        return 0;
    return static_cast<double>(clock_thread_cpu_us()) / (static_cast<double>(limit.rlim_cur) * SECOND_US);
}

/* How the extraction ended. Without a destructor, so that the emitter may leave from beside it. */
struct ending {
    extraction_status status = EXTRACTION_OK;
    char reason[300] = "";
};

__attribute__((format(printf, 2, 3))) ending end_with(extraction_status status, const char *format, ...)
{
    ending ending;
    ending.status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(ending.reason, sizeof ending.reason, format, args);
    va_end(args);
    return ending;
}

class extractor
{
  public:
    extractor(emitter *emitter, const extract_input *input)
        : out(emitter), input(input), document({input->bytes.data, input->bytes.size},
                                               std::string(input->password.data, input->password.size))
    {
    }

    ending run();

  private:
    struct kept_page {
        struct page page;
        std::string packed;   /* its words, when they are kept */
        bool present = false; /* there is such a page */
        bool kept = false;
        bool garbage = false;
    };

    emitter *out;
    const extract_input *input;
    pdf_document document;
    document_profile profile;
    std::vector<kept_page> pages;
    page_store store{KEPT_BYTES};
    uint32_t missing = 0, unread = 0, with_text = 0, needing_ocr = 0, garbled = 0, unchecked = 0;
    size_t hidden_words = 0;
    bool hides_text = false;  /* perhaps: pages are drawn to see */
    int64_t drawing_time = 0; /* microseconds spent on that */
    std::string largest_heading;

    bool read(uint32_t index, page *ret_page, bool *ret_garbage);
    void learn_pages();
    void write_pages();
    void find_hidden_words(uint32_t index, page &page);
    page_content lay_out_page(uint32_t index, page &page);
    void write_metadata();
    void write_warnings();
    ending finish() const;
};

bool extractor::read(uint32_t index, page *ret_page, bool *ret_garbage)
{
    if (!document.read_page(index, ret_page))
        return false;
    *ret_garbage = is_garbage(ret_page->words);
    if (*ret_garbage)
        ret_page->words.clear();
    repair_words(ret_page->words);
    return true;
}

void extractor::learn_pages()
{
    for (const pdf_document::bookmark &bookmark : document.bookmarks())
        profile.style.add_bookmark(bookmark.title, bookmark.depth);
    uint32_t failed_in_a_row = 0, count = document.page_count();
    for (uint32_t index = 0; index < count && failed_in_a_row < FAILED_PAGES; index++) {
        if (used_cpu_share() > READING_SHARE) {
            unread = count - index;
            break;
        }
        pages.emplace_back();
        kept_page &kept = pages.back();
        kept.present = read(index, &kept.page, &kept.garbage);
        failed_in_a_row = kept.present ? 0 : failed_in_a_row + 1;
        if (!kept.present)
            continue;
        profile.learn(kept.page);
        with_text += !kept.page.words.empty();
        garbled += kept.garbage;
        kept.kept = store.keep(kept.page, kept.packed);
        kept.page.words = {};
    }
    if (failed_in_a_row == FAILED_PAGES)
        pages.resize(pages.size() - FAILED_PAGES);
    missing = count - unread - static_cast<uint32_t>(pages.size());
    for (const kept_page &kept : pages)
        missing += !kept.present;
    profile.settle();
}

/* Drawing is slow: it has a budget, and what is left over is said. */
void extractor::find_hidden_words(uint32_t index, page &page)
{
    if (hides_text && !page.words.empty()) {
        if (drawing_time < DRAWING_BUDGET) {
            int64_t start = clock_thread_cpu_us();
            document.mark_hidden_words(index, page);
            unmark_short_hidden_words(page.words);
            drawing_time += clock_thread_cpu_us() - start;
        } else {
            unchecked++;
        }
    }
    for (const word &word : page.words)
        hidden_words += word.hidden;
}

page_content extractor::lay_out_page(uint32_t index, page &page)
{
    std::vector<uint32_t> overlapping = find_overlapping_words(page.words);
    if (!overlapping.empty())
        restore_overlapping_lines(page.words, overlapping, document.stream_text(index));
    page_content content = lay_out(page, profile);
    if (content.wants_ranks) {
        rank_words(page.words, document.stream_text(index));
        content = lay_out(page, profile);
    }
    return content;
}

void extractor::write_pages()
{
    writer writer(out, profile.counts);
    for (uint32_t index = 0; index < pages.size(); index++) {
        kept_page kept = std::move(pages[index]);
        if (!kept.present)
            continue;
        if (used_cpu_share() > WRITING_SHARE) {
            unread += static_cast<uint32_t>(pages.size()) - index;
            break;
        }
        if (kept.kept)
            page_store::unpack(kept.packed, kept.page);
        else if (!read(index, &kept.page, &kept.garbage))
            continue;
        find_hidden_words(index, kept.page);
        page_content content = lay_out_page(index, kept.page);
        if (kept.page.words.empty() && (kept.garbage || document.shows_something(index))) {
            content.needs_ocr = true;
            needing_ocr++;
        }
        if (largest_heading.empty())
            largest_heading = find_title(content.body);
        writer.add(std::move(content));
    }
    writer.finish();
}

void extractor::write_metadata()
{
    bool titled = false;
    auto emit = [&](const std::string &key, const std::string &value) {
        emit_metadata(out, key.c_str(), {value.data(), value.size()});
    };
    for (auto &[key, value] : document.metadata()) {
        if (key == "title") {
            value = clean_title(value);
            titled = !value.empty();
        }
        emit(key, value);
    }
    if (!titled)
        emit("title", largest_heading);
}

void extractor::write_warnings()
{
    if (missing)
        emit_warning(out, "page_failed", "%u of %u pages could not be read", missing, document.page_count());
    if (garbled)
        emit_warning(out, "garbled_text", "%u pages have fonts whose letters cannot be told: they need OCR",
                     garbled);
    if (needing_ocr)
        emit_warning(out, "page_needs_ocr", "%u pages show something but have no text", needing_ocr);
    if (hidden_words)
        emit_warning(out, "hidden_text", "%zu words are in the text but cannot be seen on their page",
                     hidden_words);
    if (unchecked)
        emit_warning(out, "hidden_text_unchecked",
                     "%u pages were not searched for hidden text: it took too long", unchecked);
    if (document.complaint_count())
        emit_warning(out, "damaged", "%zu problems in the file, the first: %s", document.complaint_count(),
                     document.first_complaint().c_str());
}

ending extractor::finish() const
{
    if (pages.empty())
        return end_with(EXTRACTION_CORRUPT, "the PDF has no page that can be read");
    if (with_text == 0 && needing_ocr)
        return end_with(EXTRACTION_NEEDS_OCR,
                        "none of its pages has text; %u show something that OCR could read", needing_ocr);
    if (with_text == 0)
        return end_with(EXTRACTION_EMPTY, "its pages are empty");
    if (unread)
        return end_with(EXTRACTION_PARTIAL,
                        "the last %u of %u pages were not read: they need more CPU time than the "
                        "limit (extract.max_cpu_time)",
                        unread, document.page_count());
    if (missing)
        return end_with(EXTRACTION_PARTIAL, "%u of %u pages could not be read", missing,
                        document.page_count());
    return {};
}

ending extractor::run()
{
    switch (document.opened()) {
    case pdf_document::state::damaged:
        return end_with(EXTRACTION_CORRUPT, "not a PDF that can be read%s%s",
                        document.first_complaint().empty() ? "" : ": ", document.first_complaint().c_str());
    case pdf_document::state::encrypted:
        return end_with(EXTRACTION_ENCRYPTED, input->password.size ? "the password does not open it"
                                                                   : "it needs a password to open");
    case pdf_document::state::open:
        break;
    }
    hides_text = document.is_encrypted() || may_hide_text({input->bytes.data, input->bytes.size});
    learn_pages();
    write_pages();
    write_metadata();
    write_warnings();
    return finish();
}

ending extract(emitter *emitter, const extract_input *input)
{
    try {
        return extractor(emitter, input).run();
    } catch (const std::bad_alloc &) {
        return end_with(EXTRACTION_LIMIT, "it needs more memory than the limit");
    } catch (const std::exception &failure) {
        return end_with(EXTRACTION_CORRUPT, "it cannot be read: %s", failure.what());
    }
}

} // namespace

} // namespace pdf

extern "C" void extract_pdf(struct emitter *emitter, const struct extract_input *input)
{
    pdf::ending ending = pdf::extract(emitter, input);
    if (ending.status != EXTRACTION_OK)
        emit_failure(emitter, ending.status, "%s", ending.reason);
}
