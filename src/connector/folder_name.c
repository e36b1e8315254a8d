#include "connector/folder_name.h"

#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

/* ---- keys ------------------------------------------------------------------------------------- */

void folder_name_append_key(struct buffer *out, struct str name)
{
    for (size_t at = 0; at < name.size;) {
        const size_t length = utf8_sequence_length(name.data + at, name.size - at);
        const unsigned char byte = (unsigned char)name.data[at];
        if (length == 0) {
            const char escape[] = {'\\', 'x', hex_digits[byte >> 4], hex_digits[byte & 15]};
            buffer_append(out, escape, sizeof escape);
            at++;
        } else {
            if (byte == '\\')
                buffer_append_byte(out, '\\');
            buffer_append(out, name.data + at, length);
            at += length;
        }
    }
}

static int hex_value(char digit)
{
    const char *found = digit ? strchr(hex_digits, digit) : NULL;
    return found ? (int)(found - hex_digits) : -1;
}

/* Reads one escape behind its backslash; how many bytes of the key it takes, 0 when it is none. */
static size_t unescape(struct str rest, char *out)
{
    if (rest.size >= 1 && rest.data[0] == '\\') {
        *out = '\\';
        return 1;
    }
    if (rest.size < 3 || rest.data[0] != 'x')
        return 0;
    const int high = hex_value(rest.data[1]), low = hex_value(rest.data[2]);
    if (high < 0 || low < 0)
        return 0;
    *out = (char)(high << 4 | low);
    return 3;
}

bool folder_name_from_key(struct str key, struct arena *arena, struct str *ret)
{
    char *out = arena_alloc(arena, key.size + 1);
    size_t size = 0;
    for (size_t at = 0; at < key.size; at++) {
        out[size] = key.data[at];
        if (key.data[at] == '\\') {
            const size_t taken = unescape(str_slice(key, at + 1, key.size), &out[size]);
            if (taken == 0)
                return false;
            at += taken;
        }
        size++;
    }
    /* What was not escaped as it is done here is another spelling, of a name that has its key already. */
    const struct str name = {out, size};
    AUTO_BUFFER again = BUFFER(4 * size + 1);
    folder_name_append_key(&again, name);
    if (memchr(out, '\0', size) || !str_equal(buffer_str(&again), key))
        return false;
    *ret = name;
    return true;
}

void folder_name_append_url(struct buffer *out, struct str path)
{
    buffer_append_string(out, "file://");
    for (size_t i = 0; i < path.size; i++) {
        const unsigned char byte = (unsigned char)path.data[i];
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || (byte && strchr("/-._~!$&'()*+,;=:@", byte));
        if (plain)
            buffer_append_byte(out, (char)byte);
        else
            buffer_printf(out, "%%%02X", byte);
    }
}

/* ---- kinds ------------------------------------------------------------------------------------ */

static const char *const binary_extensions[] = {
    ".7z",    ".a",     ".aac", ".apk",  ".avi",  ".avif", ".bin",         ".blend",   ".bmp",    ".bz2",
    ".class", ".cab",   ".db",  ".deb",  ".dll",  ".dmg",  ".dylib",       ".elf",     ".exe",    ".flac",
    ".flv",   ".gif",   ".gz",  ".heic", ".ico",  ".img",  ".iso",         ".jar",     ".jpeg",   ".jpg",
    ".lz4",   ".m4a",   ".m4v", ".mkv",  ".mov",  ".mp3",  ".mp4",         ".mpeg",    ".mpg",    ".msi",
    ".npy",   ".npz",   ".o",   ".ogg",  ".onnx", ".opus", ".otf",         ".parquet", ".pack",   ".png",
    ".psd",   ".pt",    ".pth", ".pyc",  ".rar",  ".rpm",  ".safetensors", ".so",      ".sqlite", ".sqlite3",
    ".tar",   ".tgz",   ".tif", ".tiff", ".ttf",  ".wasm", ".wav",         ".webm",    ".webp",   ".wmv",
    ".woff",  ".woff2", ".xz",  ".zip",  ".zst",
};

static const char *const document_extensions[] = {
    ".doc",  ".docm", ".docx", ".epub", ".msg",  ".odp", ".ods", ".odt",  ".pdf",  ".pot",
    ".potx", ".pps",  ".ppsx", ".ppt",  ".pptx", ".rtf", ".xls", ".xlsm", ".xlsx",
};

static bool is_among(struct str extension, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal_nocase(extension, str_from(list[i])))
            return true;
    return false;
}

enum folder_kind folder_name_kind(struct str name)
{
    size_t dot = name.size;
    while (dot > 0 && name.data[dot - 1] != '.' && name.data[dot - 1] != '/')
        dot--;
    if (dot == 0 || name.data[dot - 1] == '/')
        return FOLDER_UNKNOWN;
    const struct str extension = str_slice(name, dot - 1, name.size);
    if (is_among(extension, binary_extensions, COUNT_OF(binary_extensions)))
        return FOLDER_BINARY;
    if (is_among(extension, document_extensions, COUNT_OF(document_extensions)))
        return FOLDER_DOCUMENT;
    return FOLDER_UNKNOWN;
}

bool folder_bytes_are_binary(const char *data, size_t size)
{
    if (size >= 2 && (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0))
        return false;
    if (size >= 4 && memcmp(data, "\0\0\xFE\xFF", 4) == 0)
        return false;
    if (size >= 5 && memcmp(data, "%PDF-", 5) == 0)
        return false;
    return size > 0 && memchr(data, '\0', size) != NULL;
}
