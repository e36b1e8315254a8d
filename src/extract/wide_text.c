#include "extract/wide_text.h"

enum { SAMPLE_SIZE = 4096 };

const char *wide_text_guess(struct str bytes)
{
    size_t zeros[4] = {0}, groups = (bytes.size < SAMPLE_SIZE ? bytes.size : SAMPLE_SIZE) / 4;
    for (size_t i = 0; i < groups * 4; i++)
        zeros[i % 4] += bytes.data[i] == '\0';
    size_t most = groups * 7 / 10 + 1, few = groups / 10;
    if (zeros[0] <= few && zeros[1] >= most && zeros[2] >= most && zeros[3] >= most)
        return "UTF-32LE";
    if (zeros[3] <= few && zeros[0] >= most && zeros[1] >= most && zeros[2] >= most)
        return "UTF-32BE";
    if (zeros[1] + zeros[3] >= most && zeros[0] + zeros[2] <= few)
        return "UTF-16LE";
    if (zeros[0] + zeros[2] >= most && zeros[1] + zeros[3] <= few)
        return "UTF-16BE";
    return NULL;
}
