#include "model/extraction.h"

static const char *const block_kind_strings[] = {
#define X(name, string) [BLOCK_##name] = string,
    BLOCK_KIND_MAP(X)
#undef X
};

static const struct {
    const char *string;
    bool usable;
} status_rows[] = {
#define X(name, string, usable) [EXTRACTION_##name] = {string, usable},
    EXTRACTION_STATUS_MAP(X)
#undef X
};

const char *block_kind_string(enum block_kind kind)
{
    return block_kind_strings[kind];
}

const char *extraction_status_string(enum extraction_status status)
{
    return status_rows[status].string;
}

bool extraction_is_usable(enum extraction_status status)
{
    return status_rows[status].usable;
}

struct str extraction_metadata(const struct extraction *extraction, const char *key)
{
    for (size_t i = 0; i < extraction->metadata_count; i++)
        if (str_is(extraction->metadata[i].key, key))
            return extraction->metadata[i].value;
    return STR_EMPTY;
}

uint32_t extraction_page_at(const struct extraction *extraction, uint32_t offset)
{
    size_t low = 0, high = extraction->page_count; /* the last page with start <= offset */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (extraction->pages[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? extraction->pages[low - 1].number : 0;
}
