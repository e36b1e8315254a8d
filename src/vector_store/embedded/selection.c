#include "vector_store/embedded/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "vector_store/embedded/bitmap.h"
#include "vector_store/embedded/filter_bits.h"
#include "vector_store/members.h"

/* ---- copies ---- */

static const int64_t *copy_ids(struct arena *arena, const int64_t *ids, size_t count)
{
    int64_t *copy = ARENA_ARRAY(arena, int64_t, count);
    if (count)
        memcpy(copy, ids, count * sizeof *copy);
    return copy;
}

/* Of the workspaces where sensitive documents may be read, those that may be read at all. */
static struct scope copy_scope(struct arena *arena, const struct scope *scope)
{
    struct scope copy = {.workspaces = copy_ids(arena, scope->workspaces, scope->workspace_count),
                         .workspace_count = scope->workspace_count};
    int64_t *sensitive = ARENA_ARRAY(arena, int64_t, scope->sensitive_workspace_count);
    for (size_t i = 0; i < scope->sensitive_workspace_count; i++)
        if (scope_has_workspace(scope, scope->sensitive_workspaces[i]))
            sensitive[copy.sensitive_workspace_count++] = scope->sensitive_workspaces[i];
    copy.sensitive_workspaces = sensitive;
    return copy;
}

static const struct filter *copy_filter(struct arena *arena, const struct filter *filter)
{
    if (!filter)
        return NULL;
    struct filter *copy = ARENA_NEW(arena, struct filter);
    struct value *values = ARENA_ARRAY(arena, struct value, filter->value_count);
    const struct filter **children = ARENA_ARRAY(arena, const struct filter *, filter->child_count);
    *copy = *filter;
    copy->key = arena_str(arena, filter->key);
    for (size_t i = 0; i < filter->value_count; i++) {
        values[i] = filter->values[i];
        if (values[i].type == VALUE_STRING)
            values[i].string = arena_str(arena, values[i].string);
    }
    for (size_t i = 0; i < filter->child_count; i++)
        children[i] = copy_filter(arena, filter->children[i]);
    copy->values = values;
    copy->children = children;
    return copy;
}

/* ---- selecting ---- */

static ibid_code add_workspaces(struct segment *segment, const int64_t *workspaces, size_t count,
                                uint64_t *bits, ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        char id[8];
        TRY(segment_add_set(segment, SET_WORKSPACE, set_workspace_value(workspaces[i], id), bits, err));
    }
    return IBID_OK;
}

static ibid_code add_state(struct segment *segment, enum document_state state, uint64_t *bits,
                           ibid_error *err)
{
    const char value = (char)state;
    return segment_add_set(segment, SET_STATE, (struct str){&value, 1}, bits, err);
}

/* (in a workspace of the scope, but not sensitive) or (sensitive, in one where those are read); never
 * expired. */
static ibid_code readable_bits(struct segment *segment, const struct scope *scope, struct arena *arena,
                               uint64_t *bits, ibid_error *err)
{
    uint64_t *expired = ARENA_ARRAY(arena, uint64_t, segment->words);
    uint64_t *sensitive = ARENA_ARRAY(arena, uint64_t, segment->words);
    TRY(add_workspaces(segment, scope->workspaces, scope->workspace_count, bits, err));
    TRY(add_state(segment, DOCUMENT_EXPIRED, expired, err));
    TRY(add_state(segment, DOCUMENT_SENSITIVE, sensitive, err));
    bitmap_and_not(bits, expired, segment->words);
    bitmap_and_not(bits, sensitive, segment->words);
    if (scope->sensitive_workspace_count == 0 || bitmap_is_empty(sensitive, segment->words))
        return IBID_OK;
    uint64_t *admitted = ARENA_ARRAY(arena, uint64_t, segment->words);
    TRY(add_workspaces(segment, scope->sensitive_workspaces, scope->sensitive_workspace_count, admitted,
                       err));
    bitmap_and(admitted, sensitive, segment->words);
    bitmap_or(bits, admitted, segment->words);
    return IBID_OK;
}

static ibid_code select_part(struct embedded_selection *self, struct selected_part *part,
                             const struct outside_leaves *leaves, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const size_t words = part->segment->words;
    TRY(readable_bits(part->segment, &self->scope, &arena, part->readable, err));
    if (part->dead)
        bitmap_and_not(part->readable, part->dead->bits, words);
    part->readable_count = bitmap_count(part->readable, words);
    part->selected_count = part->readable_count;
    if (!self->filter) {
        memcpy(part->selected, part->readable, words * sizeof *part->selected);
    } else if (part->readable_count) {
        TRY(filter_bits(part->segment, self->filter, leaves, &arena, part->selected, err));
        bitmap_and(part->selected, part->readable, words);
        part->selected_count = bitmap_count(part->selected, words);
    }
    self->readable_rows += part->readable_count;
    self->base.count += part->selected_count;
    return IBID_OK;
}

static void forget_state(struct embedded_selection *self)
{
    snapshot_unref(self->snapshot);
    free(self->parts);
    free(self->bits);
    arena_release(&self->term_arena);
    free(self->terms);
    self->snapshot = NULL;
    self->parts = NULL;
    self->bits = NULL;
    self->terms = NULL;
    self->term_count = self->term_capacity = 0;
    self->readable_rows = self->base.count = 0;
    self->words_known = false;
}

static ibid_code select_now(struct embedded_selection *self, ibid_error *err)
{
    struct collection *collection = self->collection;
    forget_state(self);
    if (atomic_load(&collection->open_holes))
        return fail(err, IBID_ECORRUPT, "a segment is missing");
    struct snapshot *snapshot = self->snapshot = collection_snapshot(collection);
    size_t words = 0;
    for (size_t i = 0; i < snapshot->count; i++)
        words += snapshot->parts[i].segment->words;
    self->parts = xcalloc(snapshot->count, sizeof *self->parts);
    uint64_t *bits = self->bits = xcalloc(2 * words, sizeof *bits);
    AUTO_ARENA arena = ARENA_INIT;
    struct outside_leaves leaves = {0};
    if (self->filter)
        TRY(outside_leaves_ask(collection->source, collection->id, self->filter, &arena, &leaves, err));
    for (size_t i = 0; i < snapshot->count; i++) {
        struct selected_part *part = &self->parts[i];
        *part = (struct selected_part){.segment = snapshot->parts[i].segment,
                                       .dead = snapshot->parts[i].dead,
                                       .readable = bits,
                                       .selected = bits + snapshot->parts[i].segment->words};
        bits += 2 * part->segment->words;
        TRY(select_part(self, part, &leaves, err));
    }
    return IBID_OK;
}

ibid_code embedded_selection_recover(struct embedded_selection *self, ibid_error *err)
{
    enum { ATTEMPTS = 4 };
    ibid_code code = IBID_ECORRUPT;
    for (unsigned attempt = 0; attempt < ATTEMPTS && code == IBID_ECORRUPT; attempt++) {
        TRY(collection_mend(self->collection, err));
        code = select_now(self, err);
    }
    return code;
}

ibid_code embedded_select(struct collection *collection, const struct scope *scope,
                          const struct filter *filter, struct selection **ret, ibid_error *err)
{
    struct embedded_selection *self = xcalloc(1, sizeof *self);
    self->base.ops = &vector_store_embedded;
    self->base.dimension = collection->dimension;
    self->collection = collection_ref(collection);
    self->scope = copy_scope(&self->arena, scope);
    self->filter = copy_filter(&self->arena, filter);
    pthread_mutex_init(&self->lock, NULL);
    ibid_code code = select_now(self, err);
    if (code == IBID_ECORRUPT)
        code = embedded_selection_recover(self, err);
    if (code != IBID_OK) {
        embedded_selection_free(&self->base);
        return code;
    }
    *ret = &self->base;
    return IBID_OK;
}

void embedded_selection_free(struct selection *selection)
{
    struct embedded_selection *self = embedded_selection(selection);
    forget_state(self);
    collection_unref(self->collection);
    pthread_mutex_destroy(&self->lock);
    arena_release(&self->arena);
    free(self);
}

/* ---- rows ---- */

ibid_code embedded_find(struct embedded_selection *self, int64_t row_id, bool *ret_found, size_t *ret_part,
                        uint32_t *ret_row, ibid_error *err)
{
    *ret_found = false;
    for (size_t i = 0; i < self->snapshot->count && !*ret_found; i++) {
        const struct selected_part *part = &self->parts[i];
        int64_t row;
        TRY(segment_find_row(part->segment, row_id, &row, err));
        if (row < 0 || !bitmap_get(part->selected, (uint32_t)row))
            continue;
        *ret_found = true;
        *ret_part = i;
        *ret_row = (uint32_t)row;
    }
    return IBID_OK;
}

/* The selected rows of one part, from some row id on. */
struct listed_part {
    const int64_t *row_ids;
    struct bitmap_walk walk;
    uint32_t row;
    bool more;
};

static ibid_code list_part(const struct selected_part *part, int64_t after_row, struct listed_part *listed,
                           ibid_error *err)
{
    uint32_t first;
    if (part->selected_count == 0 || part->segment->header->last_row_id <= after_row)
        return IBID_OK;
    listed->row_ids = segment_section(part->segment, SECTION_ROW_IDS);
    if (!listed->row_ids)
        return segment_damage(part->segment, err);
    TRY(segment_lower_bound(part->segment, after_row + 1, &first, err));
    if (first == part->segment->rows)
        return IBID_OK;
    listed->walk = bitmap_walk_from(part->selected, part->segment->words, first);
    listed->more = bitmap_next(&listed->walk, &listed->row);
    return IBID_OK;
}

ibid_code embedded_list(struct embedded_selection *self, int64_t after_row, size_t limit, int64_t *out,
                        size_t *ret_count, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct listed_part *listed = ARENA_ARRAY(&arena, struct listed_part, self->snapshot->count);
    size_t count = 0;
    for (size_t i = 0; i < self->snapshot->count; i++)
        TRY(list_part(&self->parts[i], after_row, &listed[i], err));
    while (count < limit) {
        struct listed_part *least = NULL;
        for (size_t i = 0; i < self->snapshot->count; i++)
            if (listed[i].more && (!least || listed[i].row_ids[listed[i].row] < least->row_ids[least->row]))
                least = &listed[i];
        if (!least)
            break;
        out[count++] = least->row_ids[least->row];
        least->more = bitmap_next(&least->walk, &least->row);
    }
    *ret_count = count;
    return IBID_OK;
}
