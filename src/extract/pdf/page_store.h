/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages kept from the first pass for the second, packed, as long as there is room. */
#pragma once

#include "extract/pdf/word.h"

namespace pdf
{

class page_store
{
  public:
    /* `limit`: bytes that all pages together may take. */
    explicit page_store(size_t limit) : limit(limit)
    {
    }

    /* Packs the page's words and empties it; false, and the page stays as it is, when it would not
     * fit. Ranks and upright boxes are not kept. */
    bool keep(page &page, std::string &ret_packed);
    /* The words again; `page` keeps everything else. */
    static void unpack(const std::string &packed, page &page);

  private:
    size_t limit, used = 0;
};

} // namespace pdf
