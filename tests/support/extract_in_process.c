#include "tests/support/extract_in_process.h"

#include <setjmp.h>

#include "base/error.h"
#include "extract/assembly.h"
#include "extract/emitter_core.h"
#include "extract/sanitizer.h"
#include "tests/support/extraction_check.h"

#ifdef SANITIZED_LEAKS
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void)
{
}
static void __lsan_enable(void)
{
}
#endif

struct run {
    struct assembly *assembly;
    jmp_buf over;
};

/* An extractor that fails is left where it stands, as a child that exits would be. */
static void leave(void *context)
{
    struct run *run = context;
    longjmp(run->over, 1);
}

static void feed(void *context, struct str events)
{
    struct run *run = context;
    bool more = assembly_feed(run->assembly, events.data, events.size);
    (void)more; /* a child would be stopped here; running on costs time only */
}

void extract_in_process(extract_function *extract, const struct extract_input *input, struct arena *arena,
                        struct extraction *ret)
{
    static const struct assembly_limits limits = {.max_text = 8 << 20, .max_pages = 1000, .words = true};
    static const struct request request = {.max_memory = UINT64_C(1) << 40};
    struct emitter emitter;
    struct run run = {.assembly = assembly_new(&limits)};
    __lsan_disable(); /* what an extractor leaves behind when it fails goes with its process */
    emitter_begin(&emitter, true, feed, leave, &run);
    if (setjmp(run.over) == 0) {
        extract(&emitter, input);
        emitter_end(&emitter);
    } else {
        emitter_release(&emitter);
    }
    __lsan_enable();
    struct child_report report = {.ending = ENDING_EXIT};
    assembly_finish(run.assembly, &report, &request, arena, ret);
    assembly_free(run.assembly);
}

void fuzz_extractor(extract_function *extract, const struct extract_input *input)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extraction extraction;
    extract_in_process(extract, input, &arena, &extraction);
    const char *fault = extraction_find_fault(&extraction);
    if (fault)
        BUG("%s", fault);
}
