/* XML parts of a package, event by event, in memory that does not grow with the part.
 *
 * Names are given with the usual prefix of their namespace ("w:p"), whatever prefix the file uses and
 * whether it speaks the transitional or the strict dialect; "?:x" in a namespace nobody here knows.
 * Documents with a DTD are refused, nothing is loaded, no entity is replaced but XML's own five. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "extract/zip_package.h"

enum xml_event {
    XML_START,
    XML_END,  /* comes for empty elements, too */
    XML_TEXT, /* character data of any kind */
    XML_DONE,
    XML_BROKEN, /* not well-formed from here on, or has a DTD */
};

enum { XML_DEPTH_LIMIT = 250 }; /* just below the parser's own, which would not be named */

struct xml_reader;

/* NULL when the package has no such part. */
struct xml_reader *xml_reader_open(struct emitter *emitter, struct zip_package *package, const char *part);
void xml_reader_close(struct xml_reader *take_reader);

/* Does not return when the document is nested deeper than XML_DEPTH_LIMIT. */
enum xml_event xml_reader_next(struct xml_reader *reader);

/* Of the present start or end. */
const char *xml_reader_name(const struct xml_reader *reader);
bool xml_reader_is(const struct xml_reader *reader, const char *name);
/* Of the present text. Borrowed until the next event. */
struct str xml_reader_text(struct xml_reader *reader);
/* Of the present start; name as above, or without a prefix for attributes in no namespace. NULL
 * when there is none. Borrowed until the next call. */
const char *xml_reader_attribute(struct xml_reader *reader, const char *name);
long xml_reader_attribute_number(struct xml_reader *reader, const char *name, long fallback);
/* For elements that switch something: false when the attribute says "0", "false", "off" or "none". */
bool xml_reader_attribute_flag(struct xml_reader *reader, const char *name);

/* After a start: goes on to its end, which is the present event then. False when it is broken. */
bool xml_reader_skip(struct xml_reader *reader);
