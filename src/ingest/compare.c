#include "ingest/compare.h"

#include "extract/extract.h"
#include "model/extraction.h"

/* As it was when the outcome came about. What a source does not tell in its list it may tell of the bytes. */
static bool is_same_listing(const struct connector_item *item, const struct ledger_line *line)
{
    return (item->size == -1 || item->size == line->size) &&
           (item->modified_us == 0 || item->modified_us == line->modified_at) &&
           str_equal(item->version, line->version) && (item->modified_us != 0 || item->version.size > 0);
}

/* Chunks sized by a guess are kept while there is no embedder to do better; those of an embedder that is
 * missing at the moment are not thrown away for a guess. */
static bool is_cut_alike(const struct ledger_line *line, const struct recipe *recipe)
{
    return str_is(line->chunker, recipe->chunking_fingerprint) ||
           (!recipe->embedder && line->embedder.size > 0);
}

static bool is_reason(const struct ledger_line *line, enum extraction_status status)
{
    return str_is(str_slice(line->reason, 0, str_find(line->reason, ':')), extraction_status_string(status));
}

/* Reading the same bytes again would cost as much and end as badly. */
static bool is_hopeless(const struct ledger_line *line)
{
    if (line->outcome != LEDGER_FAILED && line->outcome != LEDGER_SKIPPED)
        return false;
    return is_reason(line, EXTRACTION_CRASHED) || is_reason(line, EXTRACTION_TIMEOUT) ||
           is_reason(line, EXTRACTION_LIMIT) || is_reason(line, EXTRACTION_UNSUPPORTED);
}

enum verdict compare_item(const struct connector_item *item, const struct ledger_line *line,
                          const struct recipe *recipe, bool force)
{
    if (item->skip)
        return VERDICT_SKIP;
    if (!line || (line->document_id == 0 && line->outcome != LEDGER_REMOVED))
        return VERDICT_NEW;
    const bool same = is_same_listing(item, line) && extract_version_is_current(line->extractor);
    switch (line->outcome) {
    case LEDGER_INDEXED:
        return same && !force && is_cut_alike(line, recipe) ? VERDICT_UNCHANGED : VERDICT_WORK;
    case LEDGER_FAILED:
    case LEDGER_SKIPPED:
        return same && !force && is_hopeless(line) ? VERDICT_REFUSED : VERDICT_WORK;
    case LEDGER_REMOVED:
        return is_same_listing(item, line) && !force &&
                       str_starts_with(line->reason, REASON_REMOVED_BY_REQUEST)
                   ? VERDICT_REFUSED
                   : VERDICT_NEW;
    default:
        return VERDICT_WORK;
    }
}

bool is_read_alike(const struct ledger_line *line, const struct sha256 *sha256, const char *extractor)
{
    return line->outcome == LEDGER_INDEXED && line->has_sha256 && sha256_equal(&line->sha256, sha256) &&
           extractor && str_is(line->extractor, extractor);
}

bool is_up_to_date(const struct ledger_line *line, const struct sha256 *sha256, const char *extractor,
                   const struct recipe *recipe)
{
    return is_read_alike(line, sha256, extractor) && is_cut_alike(line, recipe);
}

bool is_refused_still(const struct ledger_line *line, const struct sha256 *sha256)
{
    return is_hopeless(line) && line->has_sha256 && sha256_equal(&line->sha256, sha256) &&
           extract_version_is_current(line->extractor);
}
