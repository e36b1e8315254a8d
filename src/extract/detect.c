#include "extract/detect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "extract/extract.h"
#include "extract/registry.h"
#include "extract/wide_text.h"

static const char unknown_binary[] = "application/octet-stream";
static const char docx_type[] = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

struct signature {
    uint16_t offset;
    uint8_t size;
    bool text; /* also when the rest looks like text, which may begin with these letters by chance */
    const char *bytes;
    const char *media_type;
};

#define SIGNATURE(offset, bytes, media_type)                \
    {                                                       \
        offset, sizeof(bytes) - 1, false, bytes, media_type \
    }
#define TEXT_SIGNATURE(bytes, media_type)             \
    {                                                 \
        0, sizeof(bytes) - 1, true, bytes, media_type \
    }
static const struct signature signatures[] = {
    SIGNATURE(0, "\x89PNG\r\n\x1A\n", "image/png"),
    SIGNATURE(0, "\xFF\xD8\xFF", "image/jpeg"),
    SIGNATURE(0, "GIF87a", "image/gif"),
    SIGNATURE(0, "GIF89a", "image/gif"),
    SIGNATURE(0, "II*\0", "image/tiff"),
    SIGNATURE(0, "MM\0*", "image/tiff"),
    SIGNATURE(8, "WEBP", "image/webp"),
    SIGNATURE(8, "WAVE", "audio/x-wav"),
    SIGNATURE(8, "AVI ", "video/x-msvideo"),
    SIGNATURE(4, "ftypheic", "image/heic"),
    SIGNATURE(4, "ftypavif", "image/avif"),
    SIGNATURE(4, "ftyp", "video/mp4"),
    SIGNATURE(0, "OggS", "audio/ogg"),
    SIGNATURE(0, "fLaC", "audio/flac"),
    SIGNATURE(0, "ID3", "audio/mpeg"),
    SIGNATURE(0, "\x1A\x45\xDF\xA3", "video/x-matroska"),
    SIGNATURE(0, "\x1F\x8B", "application/gzip"),
    SIGNATURE(0, "BZh", "application/x-bzip2"),
    SIGNATURE(0,
              "\xFD"
              "7zXZ\0",
              "application/x-xz"),
    SIGNATURE(0, "\x28\xB5\x2F\xFD", "application/zstd"),
    SIGNATURE(0, "7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"),
    SIGNATURE(0, "Rar!\x1A\x07", "application/vnd.rar"),
    SIGNATURE(257, "ustar", "application/x-tar"),
    SIGNATURE(0,
              "\x7F"
              "ELF",
              "application/x-executable"),
    SIGNATURE(0, "MZ", "application/vnd.microsoft.portable-executable"),
    SIGNATURE(0, "\xCA\xFE\xBA\xBE", "application/java-vm"),
    SIGNATURE(0, "\0asm", "application/wasm"),
    SIGNATURE(0, "SQLite format 3\0", "application/vnd.sqlite3"),
    SIGNATURE(0, "!BDN", "application/vnd.ms-outlook-pst"),
    TEXT_SIGNATURE("{\\rtf", "application/rtf"),
    TEXT_SIGNATURE("%!PS", "application/postscript"),
    SIGNATURE(0, "wOFF", "font/woff"),
    SIGNATURE(0, "wOF2", "font/woff2"),
    SIGNATURE(0, "OTTO", "font/otf"),
    SIGNATURE(0, "\0\1\0\0\0", "font/ttf"),
};

/* Kinds of text that only the name tells apart. */
static const struct {
    const char *suffixes, *media_type;
} text_kinds[] = {
    {".md .markdown .mdown", "text/markdown"},
    {".html .htm", "text/html"},
    {".xhtml", "application/xhtml+xml"},
    {".csv", "text/csv"},
    {".tsv", "text/tab-separated-values"},
    {".adoc .asciidoc", "text/asciidoc"},
    {".json .jsonl", "application/json"},
    {".xml", "application/xml"},
    {".yaml .yml", "application/yaml"},
    {".toml", "application/toml"},
    {".eml", "message/rfc822"},
    {".mbox", "application/mbox"},
    {".svg", "image/svg+xml"},
    {".c .h .cc .cpp .hpp .py .js .ts .go .rs .java .rb .php .sh .sql .css", "text/x-source"},
};

static bool contains(struct str haystack, const char *needle, size_t size)
{
    return haystack.size && memmem(haystack.data, haystack.size, needle, size) != NULL;
}

#define CONTAINS(haystack, literal) contains(haystack, literal, sizeof(literal) - 1)

static struct str suffix_of(const char *name)
{
    return path_extension(path_base_name(str_from(name)));
}

static bool is_one_of(struct str word, const char *words)
{
    struct str rest = str_from(words), each;
    while (str_split(&rest, ' ', &each))
        if (str_equal_nocase(each, word))
            return true;
    return false;
}

/* ---- packages ---- */

/* Names of a package's parts stand uncompressed both before each part and in the directory at the
 * end of the file. */
static const char *package_type(struct str head, struct str tail, const char *name)
{
    static const char mimetype[] = "mimetypeapplication/";
    if (CONTAINS(head, "mimetypeapplication/epub+zip"))
        return "application/epub+zip";
    if (contains(head, mimetype, sizeof mimetype - 1) && CONTAINS(head, "opendocument"))
        return "application/vnd.oasis.opendocument";
    bool office = CONTAINS(head, "[Content_Types].xml") || CONTAINS(tail, "[Content_Types].xml");
    if (office && (CONTAINS(tail, "word/") || CONTAINS(head, "word/")))
        return docx_type;
    if (office && (CONTAINS(tail, "xl/") || CONTAINS(head, "xl/")))
        return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    if (office && (CONTAINS(tail, "ppt/") || CONTAINS(head, "ppt/")))
        return "application/vnd.openxmlformats-officedocument.presentationml.presentation";
    if (CONTAINS(tail, "META-INF/container.xml"))
        return "application/epub+zip";
    /* Cut off, so that the directory is missing: the extractor says so. */
    return is_one_of(suffix_of(name), ".docx .docm") ? docx_type : "application/zip";
}

/* The old Office container. An encrypted .docx is one, too: its extractor tells them apart. */
static const char *compound_type(const char *name)
{
    struct str suffix = suffix_of(name);
    if (is_one_of(suffix, ".docx .docm"))
        return docx_type;
    if (is_one_of(suffix, ".doc .dot"))
        return "application/msword";
    if (is_one_of(suffix, ".xls .xlt .xlsx"))
        return "application/vnd.ms-excel";
    if (is_one_of(suffix, ".ppt .pps .pptx"))
        return "application/vnd.ms-powerpoint";
    if (is_one_of(suffix, ".msg"))
        return "application/vnd.ms-outlook";
    return "application/x-ole-storage";
}

/* ---- text ---- */

static bool has_byte_order_mark(struct str head)
{
    return str_starts_with(head, "\xEF\xBB\xBF") || str_starts_with(head, "\xFF\xFE") ||
           str_starts_with(head, "\xFE\xFF") || (head.size >= 4 && memcmp(head.data, "\0\0\xFE\xFF", 4) == 0);
}

static bool is_text(struct str head)
{
    if (has_byte_order_mark(head))
        return true;
    size_t odd = 0, zeros = 0;
    for (size_t i = 0; i < head.size; i++) {
        unsigned char byte = (unsigned char)head.data[i];
        bool usual = byte >= ' ' ? byte != 0x7F : (byte >= '\b' && byte <= '\r') || byte == 0x1B;
        odd += !usual;
        zeros += byte == '\0';
    }
    /* A stray control character or two does not make a text binary. */
    return (zeros <= 1 + head.size / 1000 && odd <= 2 + head.size / 50) || wide_text_guess(head);
}

/* The start of the text in ASCII: marks and white space skipped, every other byte of UTF-16 dropped. */
static struct str ascii_start(struct str head, char out[512])
{
    size_t size = 0;
    for (size_t i = 0; i < head.size && size < 512; i++) {
        unsigned char byte = (unsigned char)head.data[i];
        bool skipped = byte == 0 || byte >= 0x80 || (size == 0 && byte <= ' ');
        if (!skipped)
            out[size++] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : (char)byte;
    }
    return (struct str){out, size};
}

static const char *markup_type(struct str start)
{
    if (str_starts_with(start, "<!doctype html") || str_starts_with(start, "<html") ||
        (str_starts_with(start, "<!--") && CONTAINS(start, "<html")))
        return "text/html";
    if (!str_starts_with(start, "<?xml"))
        return NULL;
    if (CONTAINS(start, "<html"))
        return "application/xhtml+xml";
    if (CONTAINS(start, "<svg"))
        return "image/svg+xml";
    return "application/xml";
}

static bool is_mail_header(struct str line)
{
    static const char *const names[] = {
        "from:",     "to:",          "subject:",      "date:",         "message-id:",
        "received:", "return-path:", "mime-version:", "delivered-to:", "content-type:"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_starts_with(line, names[i]))
            return true;
    return false;
}

static const char *mail_type(struct str start)
{
    bool mailbox = str_starts_with(start, "from ");
    struct str rest = start, line;
    size_t headers = 0;
    if (mailbox)
        str_split(&rest, '\n', &line);
    while (str_split(&rest, '\n', &line) && line.size > 1)
        headers += is_mail_header(line);
    if (mailbox && headers >= 1)
        return "application/mbox";
    return headers >= 3 ? "message/rfc822" : NULL;
}

static const char *text_type(struct str head, const char *name, const char *declared)
{
    struct str suffix = suffix_of(name);
    for (size_t i = 0; i < COUNT_OF(text_kinds); i++)
        if (suffix.size && is_one_of(suffix, text_kinds[i].suffixes))
            return text_kinds[i].media_type;
    char buffer[512];
    struct str start = ascii_start(head, buffer);
    const char *type = markup_type(start);
    if (!type && suffix.size == 0)
        type = mail_type(start);
    if (type)
        return type;
    struct str essence = str_from(declared);
    essence = str_trim(str_slice(essence, 0, str_find(essence, ';')));
    for (size_t i = 0; i < COUNT_OF(text_kinds); i++)
        if (str_equal_nocase(essence, str_from(text_kinds[i].media_type)))
            return text_kinds[i].media_type;
    return "text/plain";
}

/* Junk may stand before the mark of a PDF file; but a text may also speak of it. */
static bool is_pdf(struct str head, const char *name, bool text)
{
    if (str_starts_with(head, "%PDF-"))
        return true;
    struct str start = str_slice(head, 0, 1024);
    return CONTAINS(start, "%PDF-") && (!text || is_one_of(suffix_of(name), ".pdf"));
}

static bool has_signature(struct str head, const struct signature *row)
{
    return head.size >= (size_t)row->offset + row->size &&
           memcmp(head.data + row->offset, row->bytes, row->size) == 0;
}

const char *detect_type(struct str head, struct str tail, const char *name, const char *declared)
{
    head = str_slice(head, 0, DETECT_HEAD_SIZE);
    bool text = is_text(head);
    if (is_pdf(head, name, text))
        return "application/pdf";
    if (str_starts_with(head, "PK\3\4") || str_starts_with(head, "PK\5\6"))
        return package_type(head, tail, name);
    if (str_starts_with(head, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"))
        return compound_type(name);
    for (size_t i = 0; i < COUNT_OF(signatures); i++)
        if (has_signature(head, &signatures[i]) && (!text || signatures[i].text))
            return signatures[i].media_type;
    return text ? text_type(head, name, declared) : unknown_binary;
}

static ibid_code read_at(int fd, char *buffer, size_t size, uint64_t offset, struct str *ret, ibid_error *err)
{
    size_t got = 0;
    while (got < size) {
        ssize_t part = pread(fd, buffer + got, size - got, (off_t)(offset + got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return fail_errno(err, errno, "cannot read the document");
        if (part == 0)
            break;
        got += (size_t)part;
    }
    *ret = (struct str){buffer, got};
    return IBID_OK;
}

ibid_code detect_file(int fd, uint64_t size, const char *name, const char *declared, struct detection *ret,
                      ibid_error *err)
{
    char buffer[DETECT_HEAD_SIZE];
    struct str head, tail = STR_EMPTY;
    TRY(read_at(fd, buffer, sizeof buffer, 0, &head, err));
    AUTO_FREE char *end = NULL;
    if (str_starts_with(head, "PK")) {
        size_t tail_size = size < DETECT_TAIL_SIZE ? size : DETECT_TAIL_SIZE;
        end = xmalloc(DETECT_TAIL_SIZE);
        TRY(read_at(fd, end, tail_size, size - tail_size, &tail, err));
    }
    ret->media_type = detect_type(head, tail, name, declared);
    return IBID_OK;
}

const char *extract_detect_type(int fd, const char *name, const char *declared)
{
    struct stat info;
    struct detection detection;
    return fstat(fd, &info) == 0 &&
                   detect_file(fd, (uint64_t)info.st_size, name, declared, &detection, NULL) == IBID_OK
               ? detection.media_type
               : unknown_binary;
}
