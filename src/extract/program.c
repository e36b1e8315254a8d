/* The extractors of `ibid-extract`: those whose licences are as free as ibid's own. */
#include "extract/broker.h"

#define PROTOTYPE_BROKER_EXTRACT(format) extract_function extract_##format;
#define PROTOTYPE_BROKER_EXTRACT_PDF(format)
#define X(name, version, broker, types, suffixes) PROTOTYPE_##broker(name)
EXTRACTOR_MAP(X)
#undef X

#define ROW_BROKER_EXTRACT(format) {.name = #format, .extract = extract_##format},
#define ROW_BROKER_EXTRACT_PDF(format)
static const struct broker_extractor extractors[] = {
#define X(name, version, broker, types, suffixes) ROW_##broker(name)
    EXTRACTOR_MAP(X)
#undef X
        {.name = NULL},
};

const struct broker_program broker_program = {.name = "ibid-extract", .extractors = extractors};
