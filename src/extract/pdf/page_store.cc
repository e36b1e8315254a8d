/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/page_store.h"

#include <cstring>

namespace pdf
{

namespace
{

struct packed_word {
    box place;
    float size;
    uint32_t text_size;
    uint8_t rotation;
    bool space_after, bold, fixed_pitch, hidden, soft_hyphen;
};

} // namespace

bool page_store::keep(page &page, std::string &ret_packed)
{
    size_t size = 0;
    for (const word &word : page.words)
        size += sizeof(packed_word) + word.text.size();
    if (size > limit - used)
        return false;
    used += size;
    ret_packed.clear();
    ret_packed.reserve(size);
    for (const word &word : page.words) {
        packed_word record = {};
        record.place = word.place;
        record.size = word.size;
        record.text_size = static_cast<uint32_t>(word.text.size());
        record.rotation = word.rotation;
        record.space_after = word.space_after;
        record.bold = word.bold;
        record.fixed_pitch = word.fixed_pitch;
        record.hidden = word.hidden;
        record.soft_hyphen = word.soft_hyphen;
        ret_packed.append(reinterpret_cast<const char *>(&record), sizeof record);
        ret_packed += word.text;
    }
    page.words = {};
    return true;
}

void page_store::unpack(const std::string &packed, page &page)
{
    page.words.clear();
    for (size_t at = 0; at < packed.size();) {
        packed_word record;
        memcpy(&record, packed.data() + at, sizeof record);
        at += sizeof record;
        word word;
        word.text.assign(packed, at, record.text_size);
        at += record.text_size;
        word.place = record.place;
        word.size = record.size;
        word.rotation = record.rotation;
        word.space_after = record.space_after;
        word.bold = record.bold;
        word.fixed_pitch = record.fixed_pitch;
        word.hidden = record.hidden;
        word.soft_hyphen = record.soft_hyphen;
        page.words.push_back(std::move(word));
    }
}

} // namespace pdf
