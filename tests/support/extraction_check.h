/* What holds of every struct extraction, whatever the document and its extractor did. */
#pragma once

#include "model/extraction.h"

/* NULL, or what is wrong. */
const char *extraction_find_fault(const struct extraction *extraction);
