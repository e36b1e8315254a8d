#include "tests/fuzz/fuzz.h"

#include "base/memory.h"
#include "embedder/local/safetensors.h"

/* A file is refused with a reason, or all values of its tensors can be read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"t", "a", "b", "weight"};
    struct safetensors *file;
    ibid_error error = {0};
    if (safetensors_parse((struct str){(const char *)data, size}, &file, &error) != IBID_OK) {
        ASSERT(error.message[0]);
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct tensor *tensor = safetensors_find(file, names[i]);
        if (!tensor || tensor->type == TENSOR_OTHER)
            continue;
        ASSERT(tensor->count <= size);
        AUTO_FREE float *values = xcalloc(tensor->count + 1, sizeof *values);
        tensor_read(tensor, 0, tensor->count, values);
    }
    safetensors_free(file);
    return 0;
}
