/* What each element of HTML means for text. */
#pragma once

enum html_role {
    ROLE_INLINE,
    ROLE_BREAK,
    ROLE_IMAGE,
    ROLE_NO_TEXT, /* its content is not for readers */
    /* From here on the element is a block: text before and after it does not run together. */
    ROLE_BLOCK,
    ROLE_HEADING, /* level: 1..6 */
    ROLE_PREFORMATTED,
    ROLE_CAPTION,
    ROLE_LIST, /* level: how its items are labelled, 0 bullets, 1 numbers, 2 not at all */
    ROLE_ITEM,
    ROLE_TERM,
    ROLE_DESCRIPTION,
    ROLE_QUOTE,
    ROLE_TABLE,
    ROLE_TABLE_HEAD,
    ROLE_ROW,
    ROLE_CELL, /* level: 1 for a header cell */
};

struct html_element {
    const char *name;
    enum html_role role;
    unsigned char level;
    unsigned char flags; /* enum block_flags */
};

/* Elements that are not known are inline. `name` in lower case. */
const struct html_element *html_element_find(const char *name) __attribute__((returns_nonnull));
