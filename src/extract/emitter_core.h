/* The inside of an emitter: for the program that runs an extractor (a broker's child, a fuzz
 * target), not for extractors. */
#pragma once

#include "base/buffer.h"
#include "extract/emitter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct emitter {
    /* Takes a run of whole events; ends the process when nobody listens. */
    void (*write)(void *context, struct str events);
    /* Leaves the extractor after a failure was written; does not return. */
    void (*leave)(void *context);
    void *context;
    bool words; /* whether boxes are wanted; else words travel as text */
    struct buffer pending;
};

/* Starts the stream. `write` and `leave` as above. */
void emitter_begin(struct emitter *emitter, bool words, void (*write)(void *context, struct str events),
                   void (*leave)(void *context), void *context);
/* Ends the stream of an extractor that came to its end, and frees the emitter's memory. */
void emitter_end(struct emitter *emitter);
void emitter_release(struct emitter *emitter);

#ifdef __cplusplus
}
#endif
