#include "embedder/local/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

struct safetensors {
    struct file_map map; /* empty when the memory is the caller's */
    struct arena arena;
    struct tensor *tensors; /* sorted by name */
    size_t count;
};

static const struct {
    const char *name;
    enum tensor_type type;
    size_t size; /* of a value */
} types[] = {
    {"F32", TENSOR_F32, 4},    {"F16", TENSOR_F16, 2},   {"BF16", TENSOR_BF16, 2}, {"F64", TENSOR_OTHER, 8},
    {"I64", TENSOR_OTHER, 8},  {"I32", TENSOR_OTHER, 4}, {"I16", TENSOR_OTHER, 2}, {"I8", TENSOR_OTHER, 1},
    {"U64", TENSOR_OTHER, 8},  {"U32", TENSOR_OTHER, 4}, {"U16", TENSOR_OTHER, 2}, {"U8", TENSOR_OTHER, 1},
    {"BOOL", TENSOR_OTHER, 1},
};

/* Type and size of a value; false when the name is unknown. */
static bool find_type(struct str name, enum tensor_type *ret_type, size_t *ret_size)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_is(name, types[i].name)) {
            *ret_type = types[i].type;
            *ret_size = types[i].size;
            return true;
        }
    return false;
}

/* A non-negative whole number that fits a size. */
static bool read_size(const json_t *value, size_t *ret)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *ret = (size_t)json_integer_value(value);
    return true;
}

static ibid_code read_shape(const json_t *shape, struct tensor *tensor, ibid_error *err)
{
    tensor->rank = json_array_size(shape);
    if (!json_is_array(shape) || tensor->rank > SAFETENSORS_RANK_MAX)
        return fail(err, IBID_EFORMAT, "tensor '%s' has no shape of at most %d dimensions", tensor->name,
                    SAFETENSORS_RANK_MAX);
    tensor->count = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        if (!read_size(json_array_get(shape, i), &tensor->shape[i]) ||
            __builtin_mul_overflow(tensor->count, tensor->shape[i], &tensor->count))
            return fail(err, IBID_EFORMAT, "tensor '%s' has an impossible shape", tensor->name);
    return IBID_OK;
}

static ibid_code read_tensor(const char *name, const json_t *row, struct str data, struct arena *arena,
                             struct tensor *tensor, ibid_error *err)
{
    struct str type_name = STR_EMPTY;
    size_t value_size, size, begin, end;
    tensor->name = arena_strdup(arena, name);
    if (!json_is_object(row))
        return fail(err, IBID_EFORMAT, "tensor '%s' is not described", name);
    TRY(json_get_str(row, "dtype", &type_name, err));
    if (!find_type(type_name, &tensor->type, &value_size))
        return fail(err, IBID_EUNSUPPORTED, "tensor '%s' has the unknown type '%.*s'", name,
                    STR_ARG(type_name));
    TRY(read_shape(json_object_get(row, "shape"), tensor, err));
    const json_t *offsets = json_object_get(row, "data_offsets");
    if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end) || begin > end || end > data.size)
        return fail(err, IBID_EFORMAT, "tensor '%s' does not lie inside the file", name);
    if (__builtin_mul_overflow(tensor->count, value_size, &size) || size != end - begin)
        return fail(err, IBID_EFORMAT, "tensor '%s' has %zu bytes, which is not what its shape says", name,
                    end - begin);
    tensor->data = (const unsigned char *)data.data + begin;
    return IBID_OK;
}

static int compare_tensors(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static ibid_code read_header(struct safetensors *self, struct str file, ibid_error *err)
{
    if (file.size < 8)
        return fail(err, IBID_EFORMAT, "the file is too short to be safetensors");
    uint64_t header_size = 0;
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | (unsigned char)file.data[i];
    if (header_size > SAFETENSORS_HEADER_SIZE_MAX)
        return fail(err, IBID_ETOOBIG, "the header has %llu bytes, more than %d",
                    (unsigned long long)header_size, SAFETENSORS_HEADER_SIZE_MAX);
    if (header_size > file.size - 8)
        return fail(err, IBID_EFORMAT, "the file ends within its header");
    AUTO_JSON *header = NULL;
    TRY(json_parse(str_slice(file, 8, 8 + header_size), &header, err));
    if (!json_is_object(header))
        return fail(err, IBID_EFORMAT, "the header is no JSON object");
    if (json_object_size(header) > SAFETENSORS_TENSORS_MAX)
        return fail(err, IBID_ETOOBIG, "the file has more than %d tensors", SAFETENSORS_TENSORS_MAX);
    const struct str data = str_slice(file, 8 + header_size, file.size);
    self->tensors = ARENA_ARRAY(&self->arena, struct tensor, json_object_size(header) + 1);
    const char *name;
    json_t *row;
    json_object_foreach(header, name, row)
    {
        if (strcmp(name, "__metadata__") != 0) {
            TRY(read_tensor(name, row, data, &self->arena, &self->tensors[self->count], err));
            self->count++;
        }
    }
    qsort(self->tensors, self->count, sizeof *self->tensors, compare_tensors);
    return IBID_OK;
}

ibid_code safetensors_parse(struct str file, struct safetensors **ret, ibid_error *err)
{
    struct safetensors *self = xcalloc(1, sizeof *self);
    const ibid_code code = error_recode(read_header(self, file, err), IBID_EINVAL, IBID_EFORMAT, err);
    if (code != IBID_OK) {
        safetensors_free(self);
        return code;
    }
    *ret = self;
    return IBID_OK;
}

ibid_code safetensors_open(const char *path, struct safetensors **ret, ibid_error *err)
{
    struct file_map map;
    TRY(file_map_open(path, &map, err));
    struct safetensors *self;
    const ibid_code code = safetensors_parse((struct str){map.data, map.size}, &self, err);
    if (code != IBID_OK) {
        file_map_close(&map);
        error_context(err, "%s", path);
        return code;
    }
    self->map = map;
    *ret = self;
    return IBID_OK;
}

void safetensors_free(struct safetensors *self)
{
    if (!self)
        return;
    file_map_close(&self->map);
    arena_release(&self->arena);
    free(self);
}

const struct tensor *safetensors_find(const struct safetensors *self, const char *name)
{
    const struct tensor wanted = {.name = name};
    return bsearch(&wanted, self->tensors, self->count, sizeof *self->tensors, compare_tensors);
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16 to binary32. */
static float from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1F,
                   fraction = half & 0x3FF;
    if (exponent == 0x1F)
        return from_bits(sign | 0x7F800000 | fraction << 13);
    if (exponent > 0)
        return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

static uint16_t read_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

void tensor_read(const struct tensor *tensor, size_t first, size_t count, float *out)
{
    ASSERT(first <= tensor->count && count <= tensor->count - first);
    switch (tensor->type) {
    case TENSOR_F32:
        memcpy(out, tensor->data + first * 4, count * sizeof *out);
        return;
    case TENSOR_F16:
        for (size_t i = 0; i < count; i++)
            out[i] = from_half(read_u16(tensor->data + (first + i) * 2));
        return;
    case TENSOR_BF16:
        for (size_t i = 0; i < count; i++)
            out[i] = from_bits((uint32_t)read_u16(tensor->data + (first + i) * 2) << 16);
        return;
    case TENSOR_OTHER:
        break;
    }
    BUG("tensor '%s' has no values that can be read", tensor->name);
}
