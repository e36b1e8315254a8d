/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PDF through poppler: the only file that knows the library. */
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extract/pdf/word.h"

namespace pdf
{

class pdf_document
{
  public:
    enum class state { open, encrypted, damaged };

    /* Borrows `bytes` for its life. `password` may be empty. */
    pdf_document(std::string_view bytes, const std::string &password);
    ~pdf_document();

    state opened() const;
    bool is_encrypted() const;
    uint32_t page_count() const;

    /* The page's words as the library gives them, in its order; `index` from 0. False when there is
     * no such page, whatever the count says. */
    bool read_page(uint32_t index, page *ret_page);
    /* Its text in the order of the content stream. */
    std::string stream_text(uint32_t index);
    /* Whether anything is drawn on it: renders it small. */
    bool shows_something(uint32_t index);

    /* Marks the words of a page that cannot be seen: whose place is of one colour when the page is drawn. */
    void mark_hidden_words(uint32_t index, page &page);

    /* Key and value, times as RFC 3339. */
    std::vector<std::pair<std::string, std::string>> metadata();

    struct bookmark {
        std::string title;
        unsigned depth; /* from 1 */
    };
    /* In order; a bounded number of them. */
    std::vector<bookmark> bookmarks();

    /* What the library complained about since the document was opened. */
    size_t complaint_count() const;
    const std::string &first_complaint() const;

    /* "poppler 22.12.0" */
    static const char *engine();
    /* Does everything once that the library does lazily (fonts, character maps), so that the
     * children of a broker need not. Finds out whether text can be drawn here: without any fonts,
     * no word is ever marked as hidden. */
    static void warm_up();

  private:
    struct library;
    std::unique_ptr<library> self;
};

} // namespace pdf
