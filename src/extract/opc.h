/* Office packages (ECMA-376 part 2): how parts refer to each other. */
#pragma once

#include <stddef.h>

#include "extract/zip_package.h"

struct opc_relationship {
    char *id;
    char *type;   /* the last part of its address: "officeDocument", "styles", "header" */
    char *target; /* name of a part, resolved; NULL when it lies outside the package */
};

struct opc_relationships {
    struct opc_relationship *items;
    size_t count, capacity;
};

/* Those of a part, or of the package itself for "". None when the file that lists them is missing or
 * damaged. */
void opc_relationships_read(struct emitter *emitter, struct zip_package *package, const char *part,
                            struct opc_relationships *ret);
void opc_relationships_release(struct opc_relationships *relationships);

/* The target of the first of that type, or of that id; NULL when there is none. */
const char *opc_target_by_type(const struct opc_relationships *relationships, const char *type);
const char *opc_target_by_id(const struct opc_relationships *relationships, const char *id);

/* "/word/../media/x%20y.png" seen from the part "word/document.xml" gives "media/x y.png"; free() it. */
char *opc_resolve(const char *part, const char *target);
