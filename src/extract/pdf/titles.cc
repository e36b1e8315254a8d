/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/titles.h"

#include "extract/pdf/text.h"

namespace pdf
{

enum { LONGEST_TITLE = 300 };

static bool starts_with(std::string_view text, std::string_view prefix)
{
    return text.substr(0, prefix.size()) == prefix;
}

static std::string_view trim(std::string_view text)
{
    size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos)
        return "";
    return text.substr(start, text.find_last_not_of(" \t\r\n") + 1 - start);
}

static bool is_file_name(std::string_view folded)
{
    static const char *const endings[] = {".doc",  ".docx", ".pdf", ".dvi", ".ps",  ".tex", ".indd",
                                          ".qxd",  ".qxp",  ".odt", ".rtf", ".txt", ".ppt", ".pptx",
                                          ".xls",  ".xlsx", ".pmd", ".fm",  ".wpd", ".p65", ".htm",
                                          ".html", ".eps",  ".cdr", ".pub"};
    for (std::string_view ending : endings)
        if (folded.size() > ending.size() && folded.substr(folded.size() - ending.size()) == ending)
            return true;
    return false;
}

std::string clean_title(const std::string &embedded)
{
    std::string_view title = trim(embedded);
    for (std::string_view prefix : {"Microsoft Word - ", "Microsoft PowerPoint - ", "Microsoft Excel - "})
        if (starts_with(title, prefix))
            title.remove_prefix(prefix.size());
    std::string folded = fold_line(title);
    static const char *const empty[] = {"untitled",
                                        "(untitled)",
                                        "unknown",
                                        "none",
                                        "title",
                                        "notitle",
                                        "document",
                                        "document#",
                                        "presentation",
                                        "slide#",
                                        "powerpointpresentation",
                                        "unbenannt",
                                        "sanstitre",
                                        "layout#",
                                        "untitled-#",
                                        "untitleddocument"};
    for (const char *word : empty)
        if (folded == word)
            return "";
    return !has_letter(title) || is_file_name(folded) ? "" : std::string(title);
}

std::string find_title(const std::vector<block> &blocks)
{
    const block *largest = nullptr;
    for (const block &block : blocks)
        if (block.kind == BLOCK_HEADING && (!largest || block.size > largest->size + 0.1f))
            largest = &block;
    std::string title = largest ? block_text(*largest) : "";
    return title.size() > LONGEST_TITLE ? "" : title;
}

} // namespace pdf
