#include "model/row.h"

static const char *const document_states[] = {
    [DOCUMENT_ACTIVE] = "active",
    [DOCUMENT_ARCHIVED] = "archived",
    [DOCUMENT_EXPIRED] = "expired",
    [DOCUMENT_SENSITIVE] = "sensitive",
};

const char *document_state_string(enum document_state state)
{
    ASSERT((size_t)state < COUNT_OF(document_states));
    return document_states[state];
}

bool document_state_from_string(struct str string, enum document_state *ret)
{
    for (size_t i = 0; i < COUNT_OF(document_states); i++)
        if (str_is(string, document_states[i])) {
            *ret = (enum document_state)i;
            return true;
        }
    return false;
}
