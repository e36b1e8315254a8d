/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/pdf_document.h"

#include <poppler-document.h>
#include <poppler-global.h>
#include <poppler-page-renderer.h>
#include <poppler-page.h>
#include <poppler-toc.h>
#include <poppler-version.h>

#include <cctype>
#include <climits>
#include <cmath>
#include <map>

#include "extract/pdf/text.h"

extern "C" {
#include "base/clock.h"
}

namespace pdf
{

enum {
    LONGEST_COMPLAINT = 200,
    OVERVIEW_SIZE = 200,    /* pixels, the longer side of a page that is looked at as a whole */
    LARGEST_DRAWING = 2000, /* the same, looked at word by word */
    MOST_BOOKMARKS = 10000,
    DEEPEST_BOOKMARK = 8,
};

/* Whether the system has fonts for what a document does not bring along; found out once. */
static bool text_can_be_drawn;

/* Letters below this size, in points, are for no reader. */
static constexpr float SMALLEST_LETTERS = 1.5f;
/* Parts of one glyph differ in width by less than this, which is rounding. */
static constexpr double EQUAL_PARTS = 0.025;

struct font_style {
    bool bold = false, fixed_pitch = false;
};

struct pdf_document::library {
    std::unique_ptr<poppler::document> document;
    std::map<std::string, font_style> fonts; /* by name */

    font_style style_of(const std::string &font_name);
};

/* The library's error function is global: so is what it writes to. One document at a time. */
static struct {
    size_t count;
    std::string first;
} complaints;

static void take_complaint(const std::string &message, void *)
{
    std::string_view text = message;
    for (std::string_view prefix : {"poppler/", "error", ":", " "})
        if (text.substr(0, prefix.size()) == prefix)
            text.remove_prefix(prefix.size());
    text = text.substr(0, text.find_first_of("<\n")); /* the library writes control characters as "<0a>" */
    if (complaints.count++ == 0)
        complaints.first = text.substr(0, LONGEST_COMPLAINT);
}

static std::string to_utf8(const poppler::ustring &text)
{
    std::string utf8;
    utf8.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        uint32_t unit = text[i];
        if (unit >= 0xD800 && unit < 0xE000) {
            bool pair = unit < 0xDC00 && i + 1 < text.size() && text[i + 1] >= 0xDC00 && text[i + 1] < 0xE000;
            unit = pair ? 0x10000 + ((unit - 0xD800) << 10) + (text[++i] - 0xDC00u) : 0xFFFD;
        }
        append_code_point(utf8, unit);
    }
    return utf8;
}

/* The document information has no standard for weights: names tell. */
font_style pdf_document::library::style_of(const std::string &font_name)
{
    auto known = fonts.find(font_name);
    if (known != fonts.end())
        return known->second;
    std::string name;
    for (char c : font_name.substr(font_name.find('+') == 6 ? 7 : 0))
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto has = [&](const char *part) { return name.find(part) != std::string::npos; };
    auto ends = [&](std::string_view part) {
        return name.size() >= part.size() && name.compare(name.size() - part.size(), part.size(), part) == 0;
    };
    font_style style;
    style.bold = has("bold") || has("black") || has("heavy") || has("demi") || has("cmbx") || has("cmssbx") ||
                 has("sfbx") || has("extrab") || ends("-bd") || ends("-medi") || ends("-mediital") ||
                 has(",b");
    style.fixed_pitch = has("courier") || has("mono") || has("consol") || has("typewriter") || has("cmtt") ||
                        has("sftt") || has("menlo") || has("codepro") || has("code-") || has("terminal") ||
                        has("fixed");
    fonts.emplace(font_name, style);
    return style;
}

pdf_document::pdf_document(std::string_view bytes, const std::string &password) : self(new library)
{
    complaints = {};
    poppler::set_debug_error_function(take_complaint, nullptr);
    if (bytes.size() > INT_MAX)
        return;
    self->document.reset(poppler::document::load_from_raw_data(bytes.data(), static_cast<int>(bytes.size()),
                                                               password, password));
}

pdf_document::~pdf_document() = default;

pdf_document::state pdf_document::opened() const
{
    if (!self->document)
        return state::damaged;
    return self->document->is_locked() ? state::encrypted : state::open;
}

bool pdf_document::is_encrypted() const
{
    return self->document->is_encrypted();
}

uint32_t pdf_document::page_count() const
{
    return static_cast<uint32_t>(std::max(self->document->pages(), 0));
}

static std::unique_ptr<poppler::page> open_page(poppler::document *document, uint32_t index)
{
    return std::unique_ptr<poppler::page>(document->create_page(static_cast<int>(index)));
}

static box box_of(const poppler::rectf &rectangle)
{
    return {static_cast<float>(rectangle.left()), static_cast<float>(rectangle.top()),
            static_cast<float>(rectangle.right()), static_cast<float>(rectangle.bottom())};
}

static bool is_on_page(const box &place, const page &page)
{
    float x = place.center(), y = place.middle();
    return std::isfinite(x) && std::isfinite(y) && x > -2 && y > -2 && x < page.width + 2 &&
           y < page.height + 2;
}

/* A glyph that stands for several letters has its box cut into equal parts, in the order in which
 * the letters are read; all else in the text of a right-to-left word is in the order seen. Turns
 * the parts of lam-alef, the ligature that every Arabic font has. */
static void turn_lam_alef(poppler::ustring &text, const poppler::text_box &place)
{
    for (size_t i = 0; i + 1 < text.size(); i++) {
        bool alef =
            text[i + 1] == 0x622 || text[i + 1] == 0x623 || text[i + 1] == 0x625 || text[i + 1] == 0x627;
        if (text[i] != 0x644 || !alef)
            continue;
        poppler::rectf lam = place.char_bbox(i), next = place.char_bbox(i + 1);
        if (lam.width() > 0 && std::abs(lam.width() - next.width()) < EQUAL_PARTS * lam.width())
            std::swap(text[i], text[i + 1]);
    }
}

bool pdf_document::read_page(uint32_t index, page *ret_page)
{
    std::unique_ptr<poppler::page> source = open_page(self->document.get(), index);
    if (!source)
        return false;
    page page;
    page.number = index + 1;
    poppler::rectf sheet = source->page_rect(poppler::crop_box);
    page.width = static_cast<float>(sheet.width());
    page.height = static_cast<float>(sheet.height());
    auto orientation = source->orientation();
    if (orientation == poppler::page::landscape || orientation == poppler::page::seascape)
        std::swap(page.width, page.height);
    page.label = to_utf8(source->label());
    if (page.label == std::to_string(page.number))
        page.label.clear();
    for (const poppler::text_box &text : source->text_list(poppler::page::text_list_include_font)) {
        word word;
        word.place = box_of(text.bbox());
        if (!is_on_page(word.place, page))
            continue;
        poppler::ustring letters = text.text();
        turn_lam_alef(letters, text);
        word.text = to_utf8(letters);
        word.size = static_cast<float>(text.has_font_info() ? text.get_font_size() : word.place.height());
        if (!std::isfinite(word.size) || word.size < 0.1f)
            word.size = std::max(word.place.height(), 0.1f);
        word.rotation = static_cast<uint8_t>(text.rotation() & 3);
        word.space_after = text.has_space_after();
        word.hidden = word.size < SMALLEST_LETTERS;
        if (text.has_font_info()) {
            font_style style = self->style_of(text.get_font_name());
            word.bold = style.bold;
            word.fixed_pitch = style.fixed_pitch;
        }
        page.words.push_back(std::move(word));
    }
    *ret_page = std::move(page);
    return true;
}

std::string pdf_document::stream_text(uint32_t index)
{
    std::unique_ptr<poppler::page> source = open_page(self->document.get(), index);
    return source ? to_utf8(source->text(poppler::rectf(), poppler::page::raw_order_layout)) : "";
}

/* A page drawn in shades of gray; knows only whether parts of it are of one shade. */
class drawing
{
  public:
    enum quality { COARSE, FINE };

    drawing(const poppler::page &source, quality quality, double longest_side)
    {
        poppler::rectf sheet = source.page_rect(poppler::crop_box);
        double longer = std::max({sheet.width(), sheet.height(), 1.0});
        double resolution = std::min(quality == FINE ? 72.0 : 48.0, 72.0 * longest_side / longer);
        scale = resolution / 72;
        poppler::page_renderer renderer;
        renderer.set_render_hint(poppler::page_renderer::text_antialiasing, quality == FINE);
        renderer.set_image_format(poppler::image::format_gray8);
        image = renderer.render_page(&source, resolution, resolution);
    }

    bool is_valid() const
    {
        return image.is_valid();
    }

    box all() const
    {
        return {0, 0, static_cast<float>(image.width() / scale), static_cast<float>(image.height() / scale)};
    }

    /* Whether the place, in points, shows anything: pixels that differ. Nothing can be said of
     * places smaller than a few pixels: they count as if they did. */
    bool shows_something(const box &place) const
    {
        int x0 = pixel(place.x0, image.width()), x1 = pixel(place.x1, image.width());
        int y0 = pixel(place.y0, image.height()), y1 = pixel(place.y1, image.height());
        if (x1 - x0 < SMALLEST_PLACE || y1 - y0 < SMALLEST_PLACE)
            return true;
        int first = row(y0)[x0];
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                if (std::abs(row(y)[x] - first) > SAME_GRAY)
                    return true;
        return false;
    }

  private:
    enum { SMALLEST_PLACE = 3, SAME_GRAY = 6 };
    poppler::image image;
    double scale = 1;

    int pixel(float place, int limit) const
    {
        return static_cast<int>(std::clamp(std::round(place * scale), 0.0, static_cast<double>(limit)));
    }

    const unsigned char *row(int y) const
    {
        return reinterpret_cast<const unsigned char *>(image.const_data()) +
               static_cast<ptrdiff_t>(y) * image.bytes_per_row();
    }
};

bool pdf_document::shows_something(uint32_t index)
{
    std::unique_ptr<poppler::page> source = open_page(self->document.get(), index);
    if (!source || !poppler::page_renderer::can_render())
        return false;
    drawing whole(*source, drawing::FINE, OVERVIEW_SIZE);
    return !whole.is_valid() || whole.shows_something(whole.all()); /* too hard to draw is not empty */
}

void pdf_document::mark_hidden_words(uint32_t index, page &page)
{
    std::unique_ptr<poppler::page> source = open_page(self->document.get(), index);
    if (!source || !text_can_be_drawn)
        return;
    /* A coarse drawing costs half of a fine one, and mostly there is nothing to find. */
    drawing overview(*source, drawing::COARSE, LARGEST_DRAWING);
    std::vector<word *> suspects;
    for (word &word : page.words)
        if (overview.is_valid() && !overview.shows_something(word.place))
            suspects.push_back(&word);
    if (suspects.empty())
        return;
    drawing closely(*source, drawing::FINE, LARGEST_DRAWING);
    for (word *word : suspects)
        word->hidden |= closely.is_valid() && !closely.shows_something(word->place);
}

std::vector<std::pair<std::string, std::string>> pdf_document::metadata()
{
    poppler::document &document = *self->document;
    std::vector<std::pair<std::string, std::string>> entries = {
        {"title", to_utf8(document.get_title())},     {"author", to_utf8(document.get_author())},
        {"subject", to_utf8(document.get_subject())}, {"keywords", to_utf8(document.get_keywords())},
        {"creator", to_utf8(document.get_creator())}, {"producer", to_utf8(document.get_producer())},
    };
    char text[CLOCK_TEXT_SIZE];
    time_t created = document.get_creation_date_t(), modified = document.get_modification_date_t();
    if (created > 0)
        entries.emplace_back("created", clock_format(created * SECOND_US, text));
    if (modified > 0)
        entries.emplace_back("modified", clock_format(modified * SECOND_US, text));
    int major = 0, minor = 0;
    document.get_pdf_version(&major, &minor);
    if (major > 0)
        entries.emplace_back("pdf_version", std::to_string(major) + "." + std::to_string(minor));
    return entries;
}

static void collect_bookmarks(const poppler::toc_item *item, unsigned depth,
                              std::vector<pdf_document::bookmark> &found)
{
    for (const poppler::toc_item *child : item->children()) {
        if (found.size() >= MOST_BOOKMARKS)
            return;
        found.push_back({to_utf8(child->title()), depth});
        if (depth < DEEPEST_BOOKMARK)
            collect_bookmarks(child, depth + 1, found);
    }
}

std::vector<pdf_document::bookmark> pdf_document::bookmarks()
{
    std::vector<bookmark> found;
    std::unique_ptr<poppler::toc> contents(self->document->create_toc());
    if (contents && contents->root())
        collect_bookmarks(contents->root(), 1, found);
    return found;
}

size_t pdf_document::complaint_count() const
{
    return complaints.count;
}

const std::string &pdf_document::first_complaint() const
{
    return complaints.first;
}

const char *pdf_document::engine()
{
    static const std::string name = "poppler " + poppler::version_string();
    return name.c_str();
}

void pdf_document::warm_up()
{
    static const char sample[] =
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 50]/Contents 4 0 R"
        "/Resources<</Font<</F 5 0 R/G 6 0 R>>>>>>endobj\n"
        "4 0 obj<</Length 70>>stream\nBT /F 12 Tf 10 10 Td (warm) Tj /G 12 Tf 0 20 Td <0041> Tj ET          "
        "\n"
        "endstream endobj\n"
        "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
        "6 0 obj<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniJIS-UCS2-H/DescendantFonts[7 0 R]>>endobj\n"
        "7 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/X"
        "/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>endobj\n"
        "trailer<</Root 1 0 R>>\n";
    pdf_document document(std::string_view(sample, sizeof sample - 1), "");
    page page;
    if (document.opened() == state::open && document.read_page(0, &page))
        text_can_be_drawn = document.shows_something(0);
}

} // namespace pdf
