#include "embedder/local/kernel_probe.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define PROBE_FILE "kernel-speed.json"
enum { PROBE_FILE_SIZE_MAX = 64 * 1024, PROBE_ROWS = 48 };
#define PROBE_SECONDS 0.003

/* The processor's own name for itself. */
static const char *processor_name(char name[49])
{
#ifdef __x86_64__
    unsigned words[12];
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[i * 4], &words[i * 4 + 1], &words[i * 4 + 2],
                         &words[i * 4 + 3]))
            return "x86-64";
    memcpy(name, words, 48);
    name[48] = '\0';
    return name;
#else
    return "unknown";
#endif
}

/* Speeds by kernel name, measured on this processor; an empty object when none are kept. */
static json_t *read_speeds(const char *path, const char *processor)
{
    AUTO_BUFFER text = BUFFER(PROBE_FILE_SIZE_MAX);
    AUTO_JSON *root = NULL;
    struct str measured_on = STR_EMPTY;
    if (file_read(path, &text, NULL) != IBID_OK || json_parse(buffer_str(&text), &root, NULL) != IBID_OK ||
        json_get_str(root, "processor", &measured_on, NULL) != IBID_OK || !str_is(measured_on, processor))
        return json_object();
    json_t *speeds = json_object_get(root, "gflops");
    return json_is_object(speeds) ? json_incref(speeds) : json_object();
}

/* A folder that cannot be written only costs the milliseconds of the next probe. */
static void keep_speeds(const char *folder, const char *path, const char *processor, json_t *speeds)
{
    AUTO_JSON *root = json_object();
    AUTO_BUFFER text = BUFFER(PROBE_FILE_SIZE_MAX);
    json_set_string(root, "processor", processor);
    json_set(root, "gflops", json_incref(speeds));
    json_append(&text, root);
    if (text.overflowed || folder_make(folder, NULL) != IBID_OK ||
        file_write_atomically(path, text.data, text.size, 0644, NULL) != IBID_OK)
        return;
}

/* The portable kernel need not be timed where a better one runs. */
static bool is_worth_timing(const struct kernel *kernel)
{
    return kernel_is_usable(kernel) &&
           (kernel->features != 0 || !kernel_list[1] || !kernel_is_usable(kernel_list[1]));
}

static double speed_of(json_t *speeds, const struct kernel *kernel, bool *measured)
{
    const json_t *kept = json_object_get(speeds, kernel->name);
    if (json_is_number(kept) && json_number_value(kept) > 0)
        return json_number_value(kept);
    const double speed = kernel_measure(kernel, PROBE_ROWS, PROBE_SECONDS);
    json_set_real(speeds, kernel->name, speed);
    *measured = true;
    return speed;
}

const struct kernel *kernel_probe(int precision, bool pairs, const char *folder)
{
    char name[49];
    const char *processor = processor_name(name);
    AUTO_FREE char *path = path_join(folder, PROBE_FILE);
    AUTO_JSON *speeds = read_speeds(path, processor);
    const struct kernel *fastest = kernel_list[0];
    double best = 0;
    bool measured = false;
    for (size_t i = 0; kernel_list[i]; i++) {
        const struct kernel *kernel = kernel_list[i];
        const bool is_bf16 = kernel->precision == KERNEL_BF16;
        if (!is_worth_timing(kernel) || (is_bf16 && (precision == LOCAL_PRECISION_F32 || !pairs)))
            continue;
        if (precision == LOCAL_PRECISION_BF16 && is_bf16)
            return kernel;
        const double speed = speed_of(speeds, kernel, &measured);
        if (speed > best) {
            best = speed;
            fastest = kernel;
        }
    }
    if (measured)
        keep_speeds(folder, path, processor, speeds);
    return fastest;
}
