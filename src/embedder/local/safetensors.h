/* Reads weights from a safetensors file (https://huggingface.co/docs/safetensors): eight bytes of header
 * length, a JSON header, then the tensors' bytes. The file stays mapped and is never copied whole. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum {
    SAFETENSORS_HEADER_SIZE_MAX = 16 << 20,
    SAFETENSORS_TENSORS_MAX = 65536,
    SAFETENSORS_RANK_MAX = 8,
};

enum tensor_type { TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_OTHER };

struct tensor {
    const char *name;
    enum tensor_type type; /* TENSOR_OTHER has no values to read */
    size_t rank;
    size_t shape[SAFETENSORS_RANK_MAX];
    size_t count; /* of values */
    const unsigned char *data;
};

struct safetensors;

/* Maps the file and checks the header: every tensor lies inside the file and has the size that its
 * shape says. IBID_EFORMAT or IBID_ETOOBIG say what is wrong. */
ibid_code safetensors_open(const char *path, struct safetensors **ret, ibid_error *err) MUST_CHECK;
/* The same from memory, which stays the caller's and must outlive the result. */
ibid_code safetensors_parse(struct str file, struct safetensors **ret, ibid_error *err) MUST_CHECK;
void safetensors_free(struct safetensors *take_file); /* NULL is fine */

/* NULL when there is none of that name. Lives as long as the file. */
const struct tensor *safetensors_find(const struct safetensors *self, const char *name);

/* Converts `count` values from `first` on to f32. They are inside the tensor, whose type is none of
 * TENSOR_OTHER. */
void tensor_read(const struct tensor *tensor, size_t first, size_t count, float *out);
