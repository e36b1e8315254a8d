/* A fuzz target is a file tests/fuzz/<name>.c with this one function, and a folder of inputs
 * tests/fuzz/corpus/<name>/. The tests replay the folder. For fuzzing itself:
 *   CC=clang CXX=clang++ meson setup -Dfuzz=true -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false build-fuzz
 *   ninja -C build-fuzz tests/fuzz_<name> && build-fuzz/tests/fuzz_<name> tests/fuzz/corpus/<name> */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns 0; stops the process when something is wrong. */
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
