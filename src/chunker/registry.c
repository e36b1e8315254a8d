#include "chunker/members.h"

const struct chunker_ops *const chunker_registry[] = {
    &chunker_structural, &chunker_recursive, &chunker_sentence, &chunker_tokens, NULL,
};
