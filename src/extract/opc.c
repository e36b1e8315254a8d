#include "extract/opc.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "extract/xml_reader.h"

enum { RELATIONSHIP_LIMIT = 100000 };

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* In place: %xx to its byte, backslash to slash, without fragment. */
static void decode_name(char *name)
{
    char *out = name;
    for (const char *in = name; *in && *in != '#'; in++) {
        int high = in[0] == '%' ? hex_digit(in[1]) : -1, low = high >= 0 ? hex_digit(in[2]) : -1;
        if (low >= 0) {
            *out++ = (char)(high << 4 | low);
            in += 2;
        } else {
            *out++ = *in == '\\' ? '/' : *in;
        }
    }
    *out = '\0';
}

/* In place: takes out "." and "name/.." (and ".." at the top), and empty steps. */
static void normalize_path(char *path)
{
    char *out = path;
    for (char *in = path; *in;) {
        char *slash = strchr(in, '/');
        size_t size = slash ? (size_t)(slash - in) : strlen(in);
        if (size == 2 && memcmp(in, "..", 2) == 0) {
            while (out > path && *--out != '/')
                ;
        } else if (size > 0 && !(size == 1 && *in == '.')) {
            if (out > path)
                *out++ = '/';
            memmove(out, in, size);
            out += size;
        }
        in += size + (slash != NULL);
    }
    *out = '\0';
}

char *opc_resolve(const char *part, const char *target)
{
    const char *slash = strrchr(part, '/');
    int folder_size = target[0] == '/' || !slash ? 0 : (int)(slash - part);
    char *path = xasprintf("%.*s/%s", folder_size, part, target);
    decode_name(path);
    normalize_path(path);
    return path;
}

static void add(struct opc_relationships *list, struct xml_reader *reader, const char *part)
{
    const char *id = xml_reader_attribute(reader, "Id");
    struct opc_relationship item = {.id = xstrdup(id ? id : "")};
    const char *type = xml_reader_attribute(reader, "Type"), *slash = type ? strrchr(type, '/') : NULL;
    item.type = xstrdup(slash ? slash + 1 : "");
    const char *mode = xml_reader_attribute(reader, "TargetMode");
    bool external = mode && strcmp(mode, "External") == 0;
    const char *target = external ? NULL : xml_reader_attribute(reader, "Target");
    item.target = target ? opc_resolve(part, target) : NULL;
    GROW(list->items, list->count, list->capacity);
    list->items[list->count++] = item;
}

void opc_relationships_read(struct emitter *emitter, struct zip_package *package, const char *part,
                            struct opc_relationships *ret)
{
    *ret = (struct opc_relationships){0};
    const char *slash = strrchr(part, '/'), *name = slash ? slash + 1 : part;
    AUTO_FREE char *path = xasprintf("%.*s_rels/%s.rels", (int)(name - part), part, name);
    struct xml_reader *reader = xml_reader_open(emitter, package, path);
    if (!reader)
        return;
    enum xml_event event;
    while ((event = xml_reader_next(reader)) != XML_DONE && event != XML_BROKEN)
        if (event == XML_START && xml_reader_is(reader, "rel:Relationship") &&
            ret->count < RELATIONSHIP_LIMIT)
            add(ret, reader, part);
    xml_reader_close(reader);
}

void opc_relationships_release(struct opc_relationships *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->items[i].id);
        free(self->items[i].type);
        free(self->items[i].target);
    }
    free(self->items);
}

const char *opc_target_by_type(const struct opc_relationships *self, const char *type)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->items[i].target && strcmp(self->items[i].type, type) == 0)
            return self->items[i].target;
    return NULL;
}

const char *opc_target_by_id(const struct opc_relationships *self, const char *id)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->items[i].target && strcmp(self->items[i].id, id) == 0)
            return self->items[i].target;
    return NULL;
}
