/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes laid out pages to the emitter, in order, with paragraphs that go on over page breaks. */
#pragma once

#include "extract/emitter.h"
#include "extract/pdf/layout.h"

namespace pdf
{

class writer
{
  public:
    writer(emitter *emitter, const word_counts &counts) : out(emitter), counts(counts)
    {
    }

    /* Pages come in order; one is held back until it is known whether its text goes on. */
    void add(page_content page);
    void finish();

  private:
    emitter *out;
    const word_counts &counts;
    page_content held;
    bool holding = false;
    bool open = false; /* the last block of the page before goes on */

    void write_held(bool goes_on);
};

} // namespace pdf
