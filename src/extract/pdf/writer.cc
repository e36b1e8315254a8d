/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/writer.h"

#include "extract/pdf/paragraphs.h"
#include "extract/pdf/pieces.h"

namespace pdf
{

static str slice_of(const std::string &text)
{
    return {text.data(), text.size()};
}

static void write_pieces(emitter *out, const block &block)
{
    for (const piece &piece : block.pieces) {
        switch (piece.before) {
        case gap::none:
            break;
        case gap::space:
            emit_text(out, STR(" "));
            break;
        case gap::line:
            emit_text(out, STR(" "));
            break;
        case gap::newline:
            emit_text(out, STR("\n"));
            break;
        case gap::cell:
            emit_cell_end(out);
            break;
        }
        const box &place = piece.place;
        if (piece.text.empty())
            continue;
        if (place.x1 > place.x0)
            emit_word(out, slice_of(piece.text), place.x0, place.y0, place.x1, place.y1);
        else
            emit_text(out, slice_of(piece.text));
    }
}

static void write_block(emitter *out, const block &block)
{
    emit_open(out, block.kind, block.level, block.flags);
    write_pieces(out, block);
    for (const struct block &child : block.children)
        write_block(out, child);
    emit_close(out);
}

static void write_blocks(emitter *out, const std::vector<block> &blocks)
{
    for (const block &block : blocks)
        write_block(out, block);
}

void writer::write_held(bool goes_on)
{
    const page_content &page = held;
    emit_page(out, page.number, page.width, page.height, slice_of(page.label));
    if (page.needs_ocr)
        emit_page_needs_ocr(out);
    size_t first = 0, last = page.body.size();
    if (open) {
        /* A block cannot stay open over what else stands on the page: one that fills it ends here. */
        write_pieces(out, page.body[0]);
        first = 1;
        goes_on &= last > 1 || (page.before.empty() && page.after.empty());
        if (last == 1 && goes_on)
            return;
        emit_close(out);
        open = false;
    }
    write_blocks(out, page.before);
    if (goes_on)
        last--;
    for (size_t i = first; i < last; i++)
        write_block(out, page.body[i]);
    write_blocks(out, page.after);
    if (goes_on && last >= first) {
        emit_open(out, page.body[last].kind, page.body[last].level, page.body[last].flags);
        write_pieces(out, page.body[last]);
        open = true;
    }
}

void writer::add(page_content page)
{
    if (holding) {
        bool on = !held.body.empty() && !page.body.empty() && goes_on(held.body.back(), page.body.front());
        if (on) {
            piece &next = page.body.front().pieces.front();
            next.before = gap_between_lines(held.body.back().pieces.back().text, next.text);
            join_hyphen(held.body.back().pieces.back(), next, counts);
        }
        write_held(on);
        if (on && !open)
            page.body.front().pieces.front().before = gap::none;
    }
    held = std::move(page);
    holding = true;
}

void writer::finish()
{
    if (holding)
        write_held(false);
    holding = false;
}

} // namespace pdf
