#include "embedder/embedder.h"
#include "embedder/members.h"

const struct embedder_ops *const embedder_registry[] = {
    &embedder_local,
    &embedder_openai,
    &embedder_hash,
    NULL,
};
