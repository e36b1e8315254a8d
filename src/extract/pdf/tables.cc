/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/tables.h"

#include <cmath>

#include "extract/pdf/pieces.h"

namespace pdf
{

namespace
{

enum { BINS = 1024, MOST_COLUMNS = 64 };

/* In font sizes. */
constexpr float NARROWEST_SEPARATOR = 0.6f;
/* Part of the rows that may have text across a separator: headings over several columns. */
constexpr float CROSSING_ROWS = 0.15f;
/* A row nearer to the one above it than this part of the usual distance continues it. */
constexpr float CONTINUATION_PITCH = 0.85f;
/* Rows that share this part of their height are one where their cells do not collide. */
constexpr float INTERLOCKED = 0.25f;
/* Lines of one row share their baseline, to this part of their height. */
constexpr float SAME_BASELINE = 0.35f;
/* A distance between rows this many times the usual parts two tables. */
constexpr float TABLE_BREAK = 1.8f;

/* Words of a row with nothing but word spaces between them. */
struct run {
    std::vector<uint32_t> words;
    float x0 = 0, x1 = 0;
};

struct row {
    box place;                   /* of its first line */
    std::vector<uint32_t> lines; /* from left to right */
    std::vector<run> runs;
    std::vector<std::vector<uint32_t>> cells;
    bool bold = true;
};

std::vector<row> find_rows(const std::vector<uint32_t> &region, const std::vector<line> &lines)
{
    std::vector<uint32_t> order = region;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const box &p = lines[a].place, &q = lines[b].place;
        return p.y1 != q.y1 ? p.y1 < q.y1 : p.x0 < q.x0;
    });
    std::vector<row> rows;
    for (uint32_t index : order) {
        const box &place = lines[index].place;
        if (rows.empty() || place.y1 - rows.back().place.y1 > SAME_BASELINE * place.height()) {
            rows.emplace_back();
            rows.back().place = place;
        }
        rows.back().lines.push_back(index);
        rows.back().bold &= lines[index].bold;
    }
    for (row &row : rows)
        std::sort(row.lines.begin(), row.lines.end(),
                  [&](uint32_t a, uint32_t b) { return lines[a].place.x0 < lines[b].place.x0; });
    return rows;
}

/* The words of a row, cut at gaps that could part two cells. */
void find_runs(row &row, const std::vector<line> &lines, const std::vector<word> &words)
{
    for (uint32_t index : row.lines)
        for (size_t i = 0; i < lines[index].words.size(); i++) {
            const word &word = words[lines[index].words[i]];
            if (i == 0 || word.upright.x0 - row.runs.back().x1 > NARROWEST_SEPARATOR * word.size) {
                row.runs.emplace_back();
                row.runs.back().x0 = word.upright.x0;
            }
            row.runs.back().words.push_back(lines[index].words[i]);
            row.runs.back().x1 = word.upright.x1;
        }
}

/* The places, from left to right, where (nearly) no row has text. */
std::vector<float> find_separators(const std::vector<row> &rows, float size)
{
    float x0 = rows[0].runs[0].x0, x1 = x0;
    for (const row &row : rows)
        for (const run &run : row.runs) {
            x0 = std::min(x0, run.x0);
            x1 = std::max(x1, run.x1);
        }
    float bin_width = std::max(x1 - x0, 1.0f) / BINS;
    std::vector<int> cover(BINS + 1);
    auto bin_of = [&](float x) {
        return static_cast<size_t>(std::clamp((x - x0) / bin_width, 0.0f, static_cast<float>(BINS - 1)));
    };
    for (const row &row : rows)
        for (const run &run : row.runs) {
            cover[bin_of(run.x0)]++;
            cover[bin_of(run.x1) + 1]--;
        }
    int allowed = static_cast<int>(CROSSING_ROWS * static_cast<float>(rows.size()));
    std::vector<float> separators;
    int covered = 0;
    size_t start = 0;
    bool inside = false;
    for (size_t i = 0; i < BINS; i++) {
        covered += cover[i];
        if (covered <= allowed && !inside) {
            inside = true;
            start = i;
        } else if (covered > allowed && inside) {
            inside = false;
            if (start > 0 && static_cast<float>(i - start) * bin_width >= NARROWEST_SEPARATOR * size * 0.8f &&
                separators.size() < MOST_COLUMNS)
                separators.push_back(x0 + bin_width * static_cast<float>(start + i) / 2);
        }
    }
    return separators;
}

void fill_cells(row &row, const std::vector<float> &separators, bool right_to_left)
{
    row.cells.assign(separators.size() + 1, {});
    for (const run &run : row.runs) {
        /* What spans several columns belongs to the first that it stands in. */
        size_t first = 0, center = 0;
        for (float separator : separators) {
            first += run.x0 >= separator - 1;
            center += (run.x0 + run.x1) / 2 >= separator;
        }
        bool spans = run.x1 > (first < separators.size() ? separators[first] : run.x1);
        std::vector<uint32_t> &cell = row.cells[spans ? first : center];
        cell.insert(cell.end(), run.words.begin(), run.words.end());
    }
    if (right_to_left)
        std::reverse(row.cells.begin(), row.cells.end());
    row.runs.clear();
}

bool continues_row(const row &above, const row &below)
{
    if (!below.cells[0].empty())
        return false;
    for (size_t i = 0; i < below.cells.size(); i++)
        if (!below.cells[i].empty() && above.cells[i].empty())
            return false;
    return true;
}

/* The usual distance between rows that have a first cell; 0 when there are too few. */
float usual_pitch(const std::vector<row> &rows)
{
    std::vector<float> pitches;
    const row *last = nullptr;
    for (const row &row : rows)
        if (!row.cells[0].empty()) {
            if (last)
                pitches.push_back(row.place.y1 - last->place.y1);
            last = &row;
        }
    if (pitches.size() < 2)
        return 0;
    auto middle = pitches.begin() + static_cast<long>(pitches.size() / 2);
    std::nth_element(pitches.begin(), middle, pitches.end());
    return *middle;
}

void merge_continuations(std::vector<row> &rows)
{
    float pitch = usual_pitch(rows);
    size_t kept = 0;
    float last_bottom = 0;
    for (size_t i = 0; i < rows.size(); i++) {
        bool near = i > 0 && rows[i].place.y1 - last_bottom < CONTINUATION_PITCH * pitch;
        last_bottom = rows[i].place.y1;
        if (near && continues_row(rows[kept - 1], rows[i])) {
            for (size_t k = 0; k < rows[i].cells.size(); k++)
                rows[kept - 1].cells[k].insert(rows[kept - 1].cells[k].end(), rows[i].cells[k].begin(),
                                               rows[i].cells[k].end());
            continue;
        }
        if (kept != i)
            rows[kept] = std::move(rows[i]);
        kept++;
    }
    rows.resize(kept);
}

bool has_first_cell_only(const row &row)
{
    for (size_t i = 1; i < row.cells.size(); i++)
        if (!row.cells[i].empty())
            return false;
    return !row.cells[0].empty();
}

bool have_common_cell(const row &a, const row &b)
{
    for (size_t i = 0; i < a.cells.size(); i++)
        if (!a.cells[i].empty() && !b.cells[i].empty())
            return true;
    return false;
}

/* A label of two lines with its values at half height: three rows that are one. They overlap, and
 * no two neighbours have the same cell. */
void merge_interlocked(std::vector<row> &rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows.size(); i++) {
        if (i > 0 && !have_common_cell(rows[i - 1], rows[i]) &&
            shared_height(rows[i - 1].place, rows[i].place) > INTERLOCKED * rows[i].place.height()) {
            row &whole = rows[kept - 1];
            for (size_t k = 0; k < whole.cells.size(); k++)
                whole.cells[k].insert(whole.cells[k].end(), rows[i].cells[k].begin(), rows[i].cells[k].end());
            whole.bold &= rows[i].bold;
            whole.place = box_around(whole.place, rows[i].place);
            continue;
        }
        if (kept != i)
            rows[kept] = rows[i]; /* a copy: the next one is compared with it */
        kept++;
    }
    rows.resize(kept);
}

block row_block(const row &row, const std::vector<word> &words)
{
    block block;
    block.kind = BLOCK_TABLE_ROW;
    for (size_t k = 0; k < row.cells.size(); k++) {
        if (k) {
            block.pieces.emplace_back();
            block.pieces.back().before = gap::cell;
        }
        std::vector<piece> pieces = pieces_of(row.cells[k], words);
        for (size_t i = 0; i < pieces.size(); i++) {
            if (i == 0)
                pieces[i].before = gap::none;
            block.pieces.push_back(std::move(pieces[i]));
        }
    }
    return block;
}

/* The distance between rows above which another table begins. */
float widest_pitch(const std::vector<row> &rows)
{
    std::vector<float> pitches;
    for (size_t i = 1; i < rows.size(); i++)
        pitches.push_back(rows[i].place.y1 - rows[i - 1].place.y1);
    std::sort(pitches.begin(), pitches.end());
    return pitches.size() < 3 ? INFINITY : TABLE_BREAK * pitches[pitches.size() * 3 / 4];
}

} // namespace

std::vector<std::vector<uint32_t>> split_table_region(const std::vector<uint32_t> &region,
                                                      const std::vector<line> &lines)
{
    std::vector<row> rows = find_rows(region, lines);
    float widest = widest_pitch(rows);
    std::vector<std::vector<uint32_t>> parts;
    for (size_t i = 0; i < rows.size(); i++) {
        if (i == 0 || rows[i].place.y1 - rows[i - 1].place.y1 > widest)
            parts.emplace_back();
        parts.back().insert(parts.back().end(), rows[i].lines.begin(), rows[i].lines.end());
    }
    return parts;
}

block build_table(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                  const std::vector<word> &words, bool right_to_left)
{
    block table;
    table.kind = BLOCK_TABLE;
    std::vector<float> sizes;
    table.place = lines[region[0]].place;
    for (uint32_t index : region) {
        table.place = box_around(table.place, lines[index].place);
        sizes.push_back(lines[index].size);
    }
    auto middle = sizes.begin() + static_cast<long>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    table.size = *middle;
    std::vector<row> rows = find_rows(region, lines);
    for (row &row : rows)
        find_runs(row, lines, words);
    std::vector<float> separators = find_separators(rows, table.size);
    if (rows.size() < 2 || separators.empty())
        return table;
    size_t bold_rows = 0;
    for (row &row : rows) {
        fill_cells(row, separators, right_to_left);
        bold_rows += row.bold;
    }
    merge_interlocked(rows);
    merge_continuations(rows);
    bool header = bold_rows < rows.size();
    for (const row &row : rows) {
        header &= row.bold && !has_first_cell_only(row);
        table.children.push_back(row_block(row, words));
        table.children.back().flags = header ? BLOCK_HEADER : 0;
    }
    return table;
}

} // namespace pdf
