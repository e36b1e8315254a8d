/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/hidden_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <zlib.h>

namespace pdf
{

namespace
{

constexpr size_t LARGEST_STREAM = 4 << 20;  /* decoded bytes read of one stream */
constexpr size_t LARGEST_SUM = 256 << 20;   /* and of all */
constexpr size_t LONGEST_DICTIONARY = 2048; /* before the keyword "stream" */
enum { DEEPEST_STATE = 64, OPERANDS = 8 };

bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\0';
}

bool is_delimiter(char c)
{
    return std::string_view("()<>[]{}/%").find(c) != std::string_view::npos;
}

/* Reads operands and operators; strings, names and whatever else only as far as to pass them. */
class content_reader
{
  public:
    explicit content_reader(std::string_view content) : content(content)
    {
    }

    bool hides_text()
    {
        for (std::string_view token = next(); !token.empty(); token = next()) {
            char first = token[0];
            if ((first >= '0' && first <= '9') || first == '-' || first == '.' || first == '+') {
                push(static_cast<float>(strtod(std::string(token.substr(0, 32)).c_str(), nullptr)));
                continue;
            }
            if (first == '(' || first == '<' || first == '/' || first == '[' || first == ']' || first == '>')
                continue;
            if (shows_text(token) && (state.mode == 3 || state.mode == 7 || state.white))
                return true;
            apply(token);
            count = 0;
        }
        return false;
    }

  private:
    struct graphics_state {
        bool white = false;
        int mode = 0;
    };

    std::string_view content;
    size_t position = 0;
    std::array<float, OPERANDS> operands = {};
    size_t count = 0;
    graphics_state state;
    std::vector<graphics_state> saved;

    void push(float value)
    {
        if (count == OPERANDS) {
            std::move(operands.begin() + 1, operands.end(), operands.begin());
            count--;
        }
        operands[count++] = value;
    }

    static bool shows_text(std::string_view operation)
    {
        return operation == "Tj" || operation == "TJ" || operation == "'" || operation == "\"";
    }

    bool are_operands(size_t wanted, float value) const
    {
        if (count < wanted)
            return false;
        for (size_t i = count - wanted; i < count; i++)
            if (operands[i] != value)
                return false;
        return true;
    }

    void apply(std::string_view operation)
    {
        if (operation == "q" && saved.size() < DEEPEST_STATE) {
            saved.push_back(state);
        } else if (operation == "Q" && !saved.empty()) {
            state = saved.back();
            saved.pop_back();
        } else if (operation == "Tr" && count) {
            state.mode = static_cast<int>(std::clamp(operands[count - 1], 0.0f, 9.0f));
        } else if (operation == "g") {
            state.white = are_operands(1, 1);
        } else if (operation == "rg") {
            state.white = are_operands(3, 1);
        } else if (operation == "k") {
            state.white = are_operands(4, 0);
        } else if (operation == "sc" || operation == "scn") {
            state.white = count == 4 ? are_operands(4, 0) : count > 0 && are_operands(count, 1);
        } else if (operation == "cs") {
            state.white = false;
        } else if (operation == "ID") {
            skip_inline_image();
        }
    }

    void skip_inline_image()
    {
        size_t end = content.find("EI", position);
        while (end != std::string_view::npos && end + 2 < content.size() && !is_space(content[end + 2]))
            end = content.find("EI", end + 2);
        position = end == std::string_view::npos ? content.size() : end + 2;
    }

    std::string_view next()
    {
        while (position < content.size() && is_space(content[position]))
            position++;
        size_t start = position;
        if (start == content.size())
            return {};
        switch (content[position++]) {
        case '(':
            skip_string();
            break;
        case '%':
            position = std::min(content.find_first_of("\r\n", position), content.size());
            return next();
        case '<':
            if (position < content.size() && content[position] != '<')
                position = std::min(content.find('>', position), content.size() - 1) + 1;
            break;
        case '/':
            while (position < content.size() && !is_space(content[position]) &&
                   !is_delimiter(content[position]))
                position++;
            break;
        case '>':
        case '[':
        case ']':
        case '{':
        case '}':
        case ')':
            break;
        default:
            while (position < content.size() && !is_space(content[position]) &&
                   !is_delimiter(content[position]))
                position++;
        }
        return content.substr(start, position - start);
    }

    void skip_string()
    {
        for (int depth = 1; position < content.size() && depth > 0; position++) {
            if (content[position] == '\\')
                position++;
            else if (content[position] == '(')
                depth++;
            else if (content[position] == ')')
                depth--;
        }
        position = std::min(position, content.size());
    }
};

std::string inflate_stream(std::string_view data)
{
    std::string out;
    z_stream stream = {};
    if (inflateInit(&stream) != Z_OK)
        return out;
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    stream.avail_in = static_cast<uInt>(std::min<size_t>(data.size(), 1u << 30));
    char block[16384];
    int result = Z_OK;
    while (result == Z_OK && out.size() < LARGEST_STREAM) {
        stream.next_out = reinterpret_cast<Bytef *>(block);
        stream.avail_out = sizeof block;
        result = inflate(&stream, Z_NO_FLUSH);
        out.append(block, sizeof block - stream.avail_out);
    }
    inflateEnd(&stream);
    return out;
}

bool holds_content(std::string_view dictionary)
{
    for (const char *other : {"/Image", "/FontFile", "/Length1", "/ObjStm", "/XRef", "/XML", "/CIDFontType0C",
                              "/Type1C", "/OpenType", "/EmbeddedFile", "/FunctionType", "/CMap"})
        if (dictionary.find(other) != std::string_view::npos)
            return false;
    return true;
}

} // namespace

bool content_hides_text(std::string_view content)
{
    return content_reader(content).hides_text();
}

bool may_hide_text(std::string_view file)
{
    size_t sum = 0;
    for (size_t at = file.find("stream"); at != std::string_view::npos && sum < LARGEST_SUM;
         at = file.find("stream", at + 6)) {
        if (at >= 3 && file.substr(at - 3, 3) == "end")
            continue;
        size_t from = at > LONGEST_DICTIONARY ? at - LONGEST_DICTIONARY : 0;
        std::string_view dictionary = file.substr(from, at - from);
        size_t object = dictionary.rfind(" obj");
        if (object != std::string_view::npos)
            dictionary.remove_prefix(object);
        if (!holds_content(dictionary))
            continue;
        size_t start = at + 6;
        while (start < file.size() && (file[start] == '\r' || file[start] == '\n'))
            start++;
        size_t end = std::min(file.find("endstream", start), file.size());
        std::string_view data = file.substr(start, end - start);
        bool packed = dictionary.find("/FlateDecode") != std::string_view::npos;
        if (!packed && dictionary.find("/Filter") != std::string_view::npos)
            continue;
        std::string unpacked = packed ? inflate_stream(data) : std::string(data.substr(0, LARGEST_STREAM));
        sum += unpacked.size();
        if (content_hides_text(unpacked))
            return true;
        at = end;
    }
    return false;
}

} // namespace pdf
