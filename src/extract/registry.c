#include "extract/registry.h"

#include "base/memory.h"
#include "extract/extract.h"

static const struct extractor_row rows[] = {
#define X(name, version, broker, media_types, suffixes) \
    {#name, #name "/" #version, broker, media_types, suffixes},
    EXTRACTOR_MAP(X)
#undef X
};

static const char *const broker_programs[BROKER_COUNT] = {
    [BROKER_EXTRACT] = "ibid-extract",
    [BROKER_EXTRACT_PDF] = "ibid-extract-pdf",
};

const struct extractor_row *registry_find(struct str media_type)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str rest = str_from(rows[i].media_types), type;
        while (str_split(&rest, ' ', &type))
            if (str_equal_nocase(type, media_type))
                return &rows[i];
    }
    return NULL;
}

const char *registry_broker_program(enum extract_broker broker)
{
    return broker_programs[broker];
}

const char *extract_extractor_version(const char *media_type)
{
    const struct extractor_row *row = registry_find(str_from(media_type));
    return row ? row->version : NULL;
}

static const char none_version[] = "none"
#define X(name, version, broker, media_types, suffixes) " " #name "/" #version
    EXTRACTOR_MAP(X)
#undef X
    ;

const char *extract_none_version(void)
{
    return none_version;
}

bool extract_version_is_current(struct str version)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_is(version, rows[i].version))
            return true;
    return str_is(version, none_version);
}
