/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker program `ibid-extract-pdf`: the only one that links poppler, and so the only one
 * under the GPL. */
#include <new>

#include "extract/broker.h"
#include "extract/pdf/pdf_document.h"

extern "C" extract_function extract_pdf;

static void prepare()
{
    std::set_new_handler([] { broker_out_of_memory(0); });
    pdf::pdf_document::warm_up();
}

static const char *engine()
{
    return pdf::pdf_document::engine();
}

static const struct broker_extractor extractors[] = {{"pdf", extract_pdf, prepare, engine}, {}};

/* Character maps of fonts that are not embedded, and fonts to draw with. */
static const char *const readable[] = {"/usr/share/poppler",
                                       "/usr/share/fonts",
                                       "/usr/local/share/fonts",
                                       "/usr/share/fontconfig",
                                       "/var/cache/fontconfig",
                                       "/etc/fonts",
                                       nullptr};

extern "C" const struct broker_program broker_program;
const struct broker_program broker_program = {"ibid-extract-pdf", extractors, readable};

#ifdef __SANITIZE_ADDRESS__
/* fontconfig keeps some of what it has read until the process ends, out of the sanitizer's sight. */
extern "C" const char *__lsan_default_suppressions();
extern "C" const char *__lsan_default_options();
const char *__lsan_default_options()
{
    return "print_suppressions=0";
}
const char *__lsan_default_suppressions()
{
    return "leak:libfontconfig";
}
#endif
