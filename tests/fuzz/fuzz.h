/* A fuzz target is a file tests/fuzz/<name>.c with this one function, and a folder of inputs
 * tests/fuzz/corpus/<name>/. The tests replay the folder; for fuzzing itself build with
 * `CC=clang meson setup -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false build-fuzz` and run
 * build-fuzz/tests/fuzz_<name> tests/fuzz/corpus/<name>. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns 0; stops the process when something is wrong. */
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
