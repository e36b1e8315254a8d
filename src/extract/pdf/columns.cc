/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/columns.h"

#include <cmath>

#include "extract/pdf/text.h"

namespace pdf
{

namespace
{

enum { DEEPEST_CUT = 24, BINS = 512, GUTTERS = 8, CUTS_TRIED = 12, HEADER_ROWS = 4 };

/* Distances in font sizes. */
constexpr float NARROWEST_GUTTER = 0.8f;
constexpr float COLUMN_BREAK = 2.5f; /* a gap in a column beyond which its upper part stands apart */
constexpr float ROW_GAP = 1.2f;      /* between a table and its header above it */

/* A line is one of running text when it has this many and fills this part of its column. */
enum { PROSE_CHARACTERS = 24, PROSE_WORDS = 4, PROSE_IDEOGRAPHS = 10 };
constexpr float FULL_LINE = 0.75f;
/* So many of a column's lines must be running text. */
constexpr float PROSE_SHARE = 0.35f;
/* A side whose lines are shorter than this has cells, not text. */
constexpr float CELL_CHARACTERS = 12;
/* In a table at least so many rows have a cell on both sides. */
constexpr float PAIRED_ROWS = 0.25f, PAIRED_LABELS = 0.1f;

/* A vertical gap and the run of lines that leave it free. */
struct cut {
    float gutter = 0;             /* x */
    std::vector<uint32_t> before; /* left of it, sorted by y0 */
    std::vector<uint32_t> after;  /* right of it */
    size_t first = 0, last = 0;   /* the run: positions in the region's lines, last excluded */
    float top = 0, bottom = 0;    /* where lines stand on both sides */
    size_t score = 0;
};

struct side_shape {
    size_t lines = 0;
    float characters = 0;    /* per line */
    bool prose = false;      /* a good part of the lines is running text */
    bool fixed_pitch = true; /* all lines */
};

enum class verdict { columns, table, neither };

class cutter
{
  public:
    cutter(const std::vector<line> &lines, const std::vector<word> &words, bool right_to_left)
        : lines(lines), words(words), right_to_left(right_to_left)
    {
    }

    void arrange(std::vector<uint32_t> region, unsigned depth);
    reading_order result;

  private:
    const std::vector<line> &lines;
    const std::vector<word> &words;
    bool right_to_left;

    std::vector<float> find_gutters(const std::vector<uint32_t> &region) const;
    void collect_cuts(const std::vector<uint32_t> &region, float gutter, std::vector<cut> &cuts) const;
    bool measure_cut(cut &cut) const;
    side_shape measure_side(const std::vector<uint32_t> &side, const cut &cut) const;
    size_t count_pairs(const cut &cut) const;
    verdict judge(const cut &cut);
    verdict judge_by_rank(const cut &cut, size_t pairs) const;
    bool ends_paragraph(const line &above, const std::vector<uint32_t> &side) const;
    void take_columns(const std::vector<uint32_t> &region, const cut &cut, unsigned depth);
    float top_with_header(const std::vector<uint32_t> &region, const cut &cut) const;
    void take_table(const std::vector<uint32_t> &region, const cut &cut, unsigned depth);
    void emit(region_kind kind, std::vector<uint32_t> region);
    float typical_size(const std::vector<uint32_t> &region) const;
};

float cutter::typical_size(const std::vector<uint32_t> &region) const
{
    std::vector<float> sizes;
    sizes.reserve(region.size());
    for (uint32_t index : region)
        sizes.push_back(lines[index].size);
    auto middle = sizes.begin() + static_cast<long>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    return std::max(*middle, 1.0f);
}

/* Where few lines pass compared with both neighbourhoods, the clearest first. */
std::vector<float> cutter::find_gutters(const std::vector<uint32_t> &region) const
{
    box bounds = lines[region[0]].place;
    for (uint32_t index : region)
        bounds = box_around(bounds, lines[index].place);
    float bin_width = std::max(bounds.width(), 1.0f) / BINS;
    auto bin_of = [&](float x) {
        return static_cast<int>(std::clamp((x - bounds.x0) / bin_width, 0.0f, static_cast<float>(BINS - 1)));
    };
    std::vector<int> cover(BINS + 1);
    for (uint32_t index : region) {
        cover[static_cast<size_t>(bin_of(lines[index].place.x0))]++;
        cover[static_cast<size_t>(bin_of(lines[index].place.x1)) + 1]--;
    }
    std::vector<int> highest_after(BINS + 1);
    for (size_t i = 1; i < BINS; i++)
        cover[i] += cover[i - 1];
    for (size_t i = BINS; i-- > 0;)
        highest_after[i] = std::max(highest_after[i + 1], cover[i]);

    struct valley {
        float x;
        int depth;
    };
    std::vector<valley> valleys;
    int highest_before = 0;
    for (size_t start = 0, end; start < BINS; start = end) {
        for (end = start + 1; end < BINS && cover[end] == cover[start]; end++)
            ;
        int depth = std::min(highest_before, highest_after[end]) - cover[start];
        bool lowest = start > 0 && end < BINS && cover[start - 1] > cover[start] && cover[end] > cover[start];
        if (lowest && depth >= 2)
            valleys.push_back({bounds.x0 + bin_width * static_cast<float>(start + end) / 2, depth});
        highest_before = std::max(highest_before, cover[start]);
    }
    std::sort(valleys.begin(), valleys.end(), [](const valley &a, const valley &b) {
        return a.depth != b.depth ? a.depth > b.depth : a.x < b.x;
    });
    std::vector<float> gutters;
    for (size_t i = 0; i < valleys.size() && i < GUTTERS; i++)
        gutters.push_back(valleys[i].x);
    return gutters;
}

static bool by_top(const line &a, const line &b)
{
    return a.place.y0 < b.place.y0;
}

/* Finds where both sides have lines and how many; false when it is no gap worth looking at. */
bool cutter::measure_cut(cut &cut) const
{
    if (cut.before.size() < 2 || cut.after.size() < 2)
        return false;
    auto span_of = [&](const std::vector<uint32_t> &side) {
        box span = lines[side[0]].place;
        for (uint32_t index : side)
            span = box_around(span, lines[index].place);
        return span;
    };
    box left = span_of(cut.before), right = span_of(cut.after);
    cut.top = std::max(left.y0, right.y0) - 1;
    cut.bottom = std::min(left.y1, right.y1) + 1;
    std::vector<float> ends, starts;
    for (uint32_t index : cut.before)
        if (lines[index].place.middle() > cut.top && lines[index].place.middle() < cut.bottom)
            ends.push_back(lines[index].place.x1);
    for (uint32_t index : cut.after)
        if (lines[index].place.middle() > cut.top && lines[index].place.middle() < cut.bottom)
            starts.push_back(lines[index].place.x0);
    if (ends.size() < 2 || starts.size() < 2)
        return false;
    /* One line in twenty may reach into the gap. */
    std::sort(ends.begin(), ends.end());
    std::sort(starts.begin(), starts.end());
    float gap = starts[starts.size() / 20] - ends[ends.size() - 1 - ends.size() / 20];
    cut.score = std::min(ends.size(), starts.size());
    return gap >= NARROWEST_GUTTER * typical_size(cut.before);
}

/* Parts the region's lines at those that cross the gutter; what lies between is a run. */
void cutter::collect_cuts(const std::vector<uint32_t> &region, float gutter, std::vector<cut> &cuts) const
{
    cut run;
    run.gutter = gutter;
    for (size_t i = 0; i <= region.size(); i++) {
        const box *place = i < region.size() ? &lines[region[i]].place : nullptr;
        if (place && place->x1 <= gutter) {
            run.before.push_back(region[i]);
        } else if (place && place->x0 >= gutter) {
            run.after.push_back(region[i]);
        } else {
            run.last = i;
            if (measure_cut(run))
                cuts.push_back(run);
            run.before.clear();
            run.after.clear();
            run.first = i + 1;
        }
    }
}

side_shape cutter::measure_side(const std::vector<uint32_t> &side, const cut &cut) const
{
    side_shape shape;
    std::vector<float> widths;
    for (uint32_t index : side)
        if (lines[index].place.middle() > cut.top && lines[index].place.middle() < cut.bottom)
            widths.push_back(lines[index].place.width());
    shape.lines = widths.size();
    if (widths.empty())
        return shape;
    std::sort(widths.begin(), widths.end());
    float full = FULL_LINE * widths[widths.size() - 1 - widths.size() / 20];
    size_t running = 0;
    for (uint32_t index : side) {
        const line &line = lines[index];
        if (line.place.middle() < cut.top || line.place.middle() > cut.bottom)
            continue;
        shape.characters += static_cast<float>(line.characters);
        shape.fixed_pitch &= line.fixed_pitch;
        bool ideographic = is_ideographic(first_code_point(first_text(line, words)));
        running += line.place.width() > full &&
                   (ideographic ? line.characters >= PROSE_IDEOGRAPHS
                                : line.characters >= PROSE_CHARACTERS && line.words.size() >= PROSE_WORDS);
    }
    shape.characters /= static_cast<float>(shape.lines);
    shape.prose =
        running >= 2 && static_cast<float>(running) >= PROSE_SHARE * static_cast<float>(shape.lines);
    return shape;
}

/* Lines of one side that have a partner on the same baseline on the other. */
size_t cutter::count_pairs(const cut &cut) const
{
    size_t pairs = 0, i = 0;
    for (uint32_t index : cut.before) {
        const box &left = lines[index].place;
        while (i < cut.after.size() && lines[cut.after[i]].place.y1 < left.y1 - 0.3f * left.height())
            i++;
        for (size_t j = i; j < cut.after.size() && lines[cut.after[j]].place.y0 < left.y1; j++)
            if (std::abs(lines[cut.after[j]].place.y1 - left.y1) <= 0.3f * left.height()) {
                pairs++;
                break;
            }
    }
    return pairs;
}

/* How often the content stream changes sides tells whether it was written by rows or by columns. */
verdict cutter::judge_by_rank(const cut &cut, size_t pairs) const
{
    std::vector<std::pair<uint32_t, bool>> ranked;
    for (bool right : {false, true})
        for (uint32_t index : right ? cut.after : cut.before)
            if (lines[index].rank != UNKNOWN_RANK && lines[index].place.middle() > cut.top &&
                lines[index].place.middle() < cut.bottom)
                ranked.emplace_back(lines[index].rank, right);
    std::sort(ranked.begin(), ranked.end());
    size_t changes = 0;
    for (size_t i = 1; i < ranked.size(); i++)
        changes += ranked[i].second != ranked[i - 1].second;
    if (ranked.size() < 4)
        return verdict::neither;
    return changes <= 2 + pairs / 3 ? verdict::columns : verdict::table;
}

verdict cutter::judge(const cut &cut)
{
    side_shape left = measure_side(cut.before, cut), right = measure_side(cut.after, cut);
    if (left.fixed_pitch && right.fixed_pitch)
        return verdict::neither; /* code and the comments beside it */
    size_t pairs = count_pairs(cut), fewer = std::min(left.lines, right.lines);
    float paired = static_cast<float>(pairs) / static_cast<float>(fewer);
    float dense = static_cast<float>(pairs) / static_cast<float>(std::max(left.lines, right.lines));
    if (left.prose && right.prose)
        return verdict::columns;
    bool cells = left.characters < CELL_CHARACTERS || right.characters < CELL_CHARACTERS;
    /* Labels stand beside the first lines of what they stand for. */
    bool labels = left.prose != right.prose && cells && paired >= 0.8f && dense >= PAIRED_LABELS;
    if (pairs >= 3 && ((cells && paired >= 0.6f && dense >= PAIRED_ROWS) || labels))
        return verdict::table;
    if (pairs < 2 && fewer < 3)
        return verdict::neither;
    bool ranked = false;
    for (uint32_t index : cut.before)
        ranked |= lines[index].rank != UNKNOWN_RANK;
    if (!ranked) {
        result.wants_ranks = true;
        if (paired < 0.3f)
            return fewer >= 3 ? verdict::columns : verdict::neither;
        return pairs >= 3 ? verdict::table : verdict::neither;
    }
    verdict verdict = judge_by_rank(cut, pairs);
    if (verdict == verdict::table && (pairs < 3 || paired < 0.5f))
        return verdict::neither;
    return verdict;
}

void cutter::emit(region_kind kind, std::vector<uint32_t> region)
{
    if (!region.empty())
        result.regions.push_back({kind, std::move(region)});
}

/* The lines of `side` from the one nearest to the shared zone outwards, as long as no wide gap
 * parts them, stay with it. Returns [first, last) of those that stay. */
static std::pair<size_t, size_t> contiguous_part(const std::vector<line> &lines,
                                                 const std::vector<uint32_t> &side, float top, float bottom)
{
    size_t first = 0, last = side.size();
    while (first < side.size() && lines[side[first]].place.y1 < top)
        first++;
    while (last > first && lines[side[last - 1]].place.y0 > bottom)
        last--;
    for (; first > 0 && first < side.size(); first--) {
        const line &below = lines[side[first]], &above = lines[side[first - 1]];
        if (below.place.y0 - above.place.y1 > COLUMN_BREAK * std::max(above.size, below.size))
            break;
    }
    for (; last < side.size() && last > 0; last++) {
        const line &below = lines[side[last]], &above = lines[side[last - 1]];
        if (below.place.y0 - above.place.y1 > COLUMN_BREAK * std::max(above.size, below.size))
            break;
    }
    return {first, last};
}

/* Whether the first line of a column is the short last one of a paragraph across the page above. */
bool cutter::ends_paragraph(const line &above, const std::vector<uint32_t> &side) const
{
    const line &last = lines[side[0]];
    float pitch = last.place.y1 - above.place.y1, size = above.size;
    bool near = pitch > 0 && pitch < 1.5f * size && std::abs(last.size - size) < 0.05f * size &&
                std::abs(last.place.x0 - above.place.x0) < size;
    return near && (side.size() == 1 || lines[side[1]].place.y1 - last.place.y1 > 1.25f * pitch);
}

void cutter::take_columns(const std::vector<uint32_t> &region, const cut &cut, unsigned depth)
{
    std::vector<uint32_t> above(region.begin(), region.begin() + static_cast<long>(cut.first));
    std::vector<uint32_t> below(region.begin() + static_cast<long>(std::min(cut.last, region.size())),
                                region.end());
    std::vector<uint32_t> columns[2];
    std::vector<uint32_t> early;
    for (int right = 0; right < 2; right++) {
        const std::vector<uint32_t> &side = right ? cut.after : cut.before;
        auto [first, last] = contiguous_part(lines, side, cut.top, cut.bottom);
        if (first == 0 && cut.first > 0 && ends_paragraph(lines[region[cut.first - 1]], side))
            first = 1;
        early.insert(early.end(), side.begin(), side.begin() + static_cast<long>(first));
        columns[right].assign(side.begin() + static_cast<long>(first),
                              side.begin() + static_cast<long>(last));
        below.insert(below.end(), side.begin() + static_cast<long>(last), side.end());
    }
    above.insert(above.end(), early.begin(), early.end());
    arrange(std::move(above), depth + 1);
    arrange(std::move(columns[right_to_left]), depth + 1);
    arrange(std::move(columns[!right_to_left]), depth + 1);
    arrange(std::move(below), depth + 1);
}

/* Rows close above a table that are part of it though the gutter does not hold there: several cells,
 * or one over some of the columns. Returns the top of the highest. */
float cutter::top_with_header(const std::vector<uint32_t> &region, const cut &cut) const
{
    float top = cut.top;
    box bounds = lines[cut.before[0]].place;
    for (size_t i = cut.first; i < cut.last; i++)
        if (lines[region[i]].place.middle() > cut.top && lines[region[i]].place.middle() < cut.bottom)
            bounds = box_around(bounds, lines[region[i]].place);
    for (int rows = 0; rows < HEADER_ROWS; rows++) {
        const line *lowest = nullptr;
        for (uint32_t index : region)
            if (lines[index].place.middle() < top && (!lowest || lines[index].place.y1 > lowest->place.y1))
                lowest = &lines[index];
        if (!lowest || lowest->place.y1 < top - ROW_GAP * lowest->size)
            break;
        size_t cells = 0;
        box row = lowest->place;
        for (uint32_t index : region)
            if (on_one_line(lines[index].place, lowest->place)) {
                cells++;
                row = box_around(row, lines[index].place);
            }
        bool inside = row.x0 > bounds.x0 - lowest->size && row.x1 < bounds.x1 + lowest->size;
        if (!inside || (cells < 2 && row.x0 < bounds.x0 + lowest->size))
            break;
        top = std::min(top - 0.1f, row.y0 - 1);
    }
    return top;
}

/* A table takes the rows that both sides share, and its header. */
void cutter::take_table(const std::vector<uint32_t> &region, const cut &cut, unsigned depth)
{
    float top = top_with_header(region, cut);
    std::vector<uint32_t> above, table, below;
    for (size_t i = 0; i < region.size(); i++) {
        float middle = lines[region[i]].place.middle();
        if (middle < top)
            above.push_back(region[i]);
        else if (i >= cut.last || middle > cut.bottom)
            below.push_back(region[i]);
        else
            table.push_back(region[i]);
    }
    arrange(std::move(above), depth + 1);
    emit(region_kind::table, std::move(table));
    arrange(std::move(below), depth + 1);
}

void cutter::arrange(std::vector<uint32_t> region, unsigned depth)
{
    std::stable_sort(region.begin(), region.end(),
                     [&](uint32_t a, uint32_t b) { return by_top(lines[a], lines[b]); });
    std::vector<cut> cuts;
    if (region.size() >= 4 && depth < DEEPEST_CUT)
        for (float gutter : find_gutters(region))
            collect_cuts(region, gutter, cuts);
    std::stable_sort(cuts.begin(), cuts.end(), [](const cut &a, const cut &b) { return a.score > b.score; });
    for (size_t i = 0; i < cuts.size() && i < CUTS_TRIED; i++) {
        switch (judge(cuts[i])) {
        case verdict::columns:
            take_columns(region, cuts[i], depth);
            return;
        case verdict::table:
            take_table(region, cuts[i], depth);
            return;
        case verdict::neither:
            break;
        }
    }
    emit(region_kind::column, std::move(region));
}

} // namespace

reading_order find_reading_order(const std::vector<line> &lines, const std::vector<word> &words,
                                 bool right_to_left)
{
    cutter cutter(lines, words, right_to_left);
    std::vector<uint32_t> all(lines.size());
    for (uint32_t i = 0; i < all.size(); i++)
        all[i] = i;
    cutter.arrange(std::move(all), 0);
    return std::move(cutter.result);
}

} // namespace pdf
