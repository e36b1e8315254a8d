/* Runs a fuzz target over every file of the folders given: what libFuzzer's main does with files. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

static unsigned replay_folder(const char *folder)
{
    unsigned count = 0;
    DIR *entries = opendir(folder);
    if (!entries) {
        perror(folder);
        exit(1);
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = path_join(folder, entry->d_name);
        AUTO_BUFFER input = BUFFER(64 * 1024 * 1024);
        ibid_error error;
        if (file_read(path, &input, &error) != IBID_OK) {
            fprintf(stderr, "%s\n", error.message);
            exit(1);
        }
        LLVMFuzzerTestOneInput((const uint8_t *)buffer_str(&input).data, input.size);
        count++;
    }
    closedir(entries);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("1..1\n%s 1 - %u inputs replayed\n", count ? "ok" : "not ok", count);
    return count == 0;
}
