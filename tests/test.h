/* What every cmocka test file includes. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" { /* cmocka's own guard leaves some of its functions out */
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif
/* cmocka's fail() gives way to that of base/error.h; its fail_msg() is built on it. */
#undef fail
#undef fail_msg
#define fail_msg(...)                       \
    do {                                    \
        print_error("ERROR: " __VA_ARGS__); \
        print_error("\n");                  \
        _fail(__FILE__, __LINE__);          \
    } while (0)

#include "base/error.h"

/* The call succeeds; else the test fails with the error's message. */
#define assert_ok(call)                                       \
    do {                                                      \
        ibid_error assert_error_ = {0};                       \
        ibid_error *err = &assert_error_;                     \
        if ((call) != IBID_OK)                                \
            fail_msg("%s: %s", #call, assert_error_.message); \
        (void)err;                                            \
    } while (0)

/* Leaves the test with a visible line saying what was missing. cmocka's own skip() prints
 * "not ok # SKIP" in TAP, which Meson counts as a failure. */
#define SKIP_TEST(...)                            \
    do {                                          \
        print_message("# SKIPPED: " __VA_ARGS__); \
        print_message("\n");                      \
        return;                                   \
    } while (0)
