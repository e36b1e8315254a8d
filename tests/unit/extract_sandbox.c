#include "tests/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "extract/extract.h"

/* The attacking broker (tests/attack) in place of the real one. */
static struct extract_settings settings;
static struct arena settings_arena;

static int set_up(void **state)
{
    setenv("IBID_TEST_SECRET", "s3cret", 1);
    option_set_defaults(extract_section.table, &settings, &settings_arena);
    settings.libexec = getenv("IBID_ATTACK_FOLDER");
    settings.max_memory = 256 << 20;
    settings.max_cpu_time = 1 * SECOND_US;
    settings.max_time = 60 * SECOND_US;
    settings.max_text = 10 << 20;
    assert_non_null(settings.libexec);
    return 0;
}

static int tear_down(void **state)
{
    arena_release(&settings_arena);
    return 0;
}

static struct extract_pool *open_pool(void)
{
    struct extract_pool *pool = NULL;
    assert_ok(extract_pool_open(&settings, &pool, err));
    return pool;
}

static int document_of(const char *text)
{
    int fd = memfd_create("document", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return fd;
}

static ibid_code run_attack(struct extract_pool *pool, const char *name, const _Atomic bool *cancel,
                            struct arena *arena, struct extraction *ret, ibid_error *err)
{
    struct extract_request request = {.fd = document_of(name), .name = "attack.txt"};
    ibid_code code = extract_document(pool, &request, cancel, arena, ret, err);
    close(request.fd);
    return code;
}

static bool sandbox_is_full(struct extract_pool *pool)
{
    return strcmp(extract_pool_sandbox_level(pool), "full") == 0;
}

/* What has no limit of its own but the sandbox. */
static void the_sandbox_holds(void **state)
{
    static const struct {
        const char *attack;
        enum extraction_status status;
        const char *says; /* reason or text */
    } rows[] = {
        {"open", EXTRACTION_OK, "read: EACCES\n\nwrite: EACCES\n\nstat: EACCES\n\nthe attack is over"},
        {"socket", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"fork", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"exec", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"kill", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"trace", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"code", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"limits", EXTRACTION_CRASHED, "the parser tried what the sandbox forbids"},
        {"descriptors", EXTRACTION_OK,
         "descriptor 0\n\ndescriptor 1\n\ndescriptor 2\n\ndescriptor 4\n\nthe attack is over"},
        {"user", EXTRACTION_OK, "nobody\n\nthe attack is over"},
    };
    struct extract_pool *pool = open_pool();
    if (!sandbox_is_full(pool)) {
        const char *level = extract_pool_sandbox_level(pool);
        extract_pool_close(pool);
        SKIP_TEST("the sandbox is '%s' here", level);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        assert_ok(run_attack(pool, rows[i].attack, NULL, &arena, &extraction, err));
        struct str said = extraction.status == EXTRACTION_OK ? extraction.text : extraction.reason;
        if (extraction.status != rows[i].status || !str_is(said, rows[i].says))
            fail_msg("%s: %s '%.*s'", rows[i].attack, extraction_status_string(extraction.status),
                     STR_ARG(said));
    }
    extract_pool_close(pool);
}

/* What resource limits and the reader of the stream end, with or without a sandbox. */
static void the_limits_hold(void **state)
{
    static const struct {
        const char *attack;
        enum extraction_status status;
        const char *says;
        bool slow; /* tried once, not at each level */
    } rows[] = {
        {"memory", EXTRACTION_LIMIT, "needs more than 256 MiB of memory (extract.max_memory)"},
        {"careless_memory", EXTRACTION_LIMIT, "needs more than 256 MiB of memory (extract.max_memory)"},
        {"huge", EXTRACTION_OK, "huge: ENOMEM\n\nthe attack is over"},
        {"loop", EXTRACTION_LIMIT, "used more than 1.0 seconds of CPU time (extract.max_cpu_time)",
         .slow = true},
        {"stack", EXTRACTION_CRASHED, "the parser crashed (Segmentation fault)"},
        {"crash", EXTRACTION_CRASHED, "the parser crashed (Segmentation fault)"},
        {"abort", EXTRACTION_CRASHED, "the parser crashed (Aborted)"},
        {"exit", EXTRACTION_CRASHED, "the parser ended without a result"},
        {"text", EXTRACTION_LIMIT, "more than 10485760 bytes of text (extract.max_text)"},
        {"blocks", EXTRACTION_LIMIT, "more than 1000000 blocks"},
        {"warnings", EXTRACTION_OK, "enough\n\nthe attack is over"},
        {"stream", EXTRACTION_CRASHED, "the extractor sent a malformed result (an unknown event)"},
        {"none", EXTRACTION_OK, "the attack is over"},
    };
    static const int levels[] = {SANDBOX_AUTO, SANDBOX_OFF};
    for (size_t level = 0; level < COUNT_OF(levels); level++) {
        settings.sandbox = levels[level];
        struct extract_pool *pool = open_pool();
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            if (rows[i].slow && level > 0)
                continue;
            AUTO_ARENA arena = ARENA_INIT;
            struct extraction extraction;
            assert_ok(run_attack(pool, rows[i].attack, NULL, &arena, &extraction, err));
            struct str said = extraction.status == EXTRACTION_OK ? extraction.text : extraction.reason;
            if (extraction.status != rows[i].status || !str_is(said, rows[i].says))
                fail_msg("%s: %s '%.*s'", rows[i].attack, extraction_status_string(extraction.status),
                         STR_ARG(said));
        }
        extract_pool_close(pool);
    }
    settings.sandbox = SANDBOX_AUTO;
}

static void the_clock_ends_what_only_waits(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    settings.max_time = SECOND_US / 2;
    struct extract_pool *pool = open_pool();
    settings.max_time = 60 * SECOND_US;
    struct extraction extraction;
    assert_ok(run_attack(pool, "sleep", NULL, &arena, &extraction, err));
    assert_int_equal(extraction.status, EXTRACTION_TIMEOUT);
    assert_string_equal(extraction.reason.data, "took longer than 0.5 seconds (extract.max_time)");
    extract_pool_close(pool);
}

static void secrets_stay_in_the_host(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extract_pool *pool = open_pool();
    struct extraction extraction;
    assert_ok(run_attack(pool, "environment", NULL, &arena, &extraction, err));
    assert_null(strstr(extraction.text.data, "s3cret"));
    assert_non_null(strstr(extraction.text.data, "LANG=C.UTF-8"));
    extract_pool_close(pool);
}

static void a_raised_flag_cancels(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extract_pool *pool = open_pool();
    _Atomic bool cancel = true;
    struct extraction extraction;
    ibid_error err;
    assert_int_equal(run_attack(pool, "sleep", &cancel, &arena, &extraction, &err), IBID_ECANCELED);
    extract_pool_close(pool);
}

struct worker {
    pthread_t thread;
    struct extract_pool *pool;
    const char *attack;
    _Atomic unsigned *right;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < 20; i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        if (run_attack(worker->pool, worker->attack, NULL, &arena, &extraction, NULL) != IBID_OK)
            continue;
        bool crash = strcmp(worker->attack, "crash") == 0;
        *worker->right += extraction.status == (crash ? EXTRACTION_CRASHED : EXTRACTION_OK);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    static const char *const attacks_of[] = {"none", "crash", "environment", "warnings"};
    struct extract_pool *pool = open_pool();
    _Atomic unsigned right = 0;
    struct worker workers[4];
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        workers[i] = (struct worker){.pool = pool, .attack = attacks_of[i], .right = &right};
        thread_start(&workers[i].thread, "worker", work, &workers[i]);
    }
    for (size_t i = 0; i < COUNT_OF(workers); i++)
        pthread_join(workers[i].thread, NULL);
    assert_int_equal(right, 80);
    extract_pool_close(pool);
}

/* The process id of the broker that this process has started. */
static pid_t find_broker(void)
{
    AUTO_FREE char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
    AUTO_BUFFER text = BUFFER(1000);
    assert_ok(file_read(path, &text, err));
    return (pid_t)strtol(text.data ? text.data : "0", NULL, 10);
}

static void a_killed_broker_is_replaced(void **state)
{
    AUTO_FREE char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
    if (!file_exists(path))
        SKIP_TEST("this kernel does not list children");
    struct extract_pool *pool = open_pool();
    for (int i = 0; i < 3; i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        pid_t broker = find_broker();
        assert_true(broker > 0);
        kill(broker, SIGKILL);
        assert_ok(run_attack(pool, "none", NULL, &arena, &extraction, err));
        assert_int_equal(extraction.status, EXTRACTION_OK);
    }
    extract_pool_close(pool);
}

static void a_missing_program_is_said(void **state)
{
    struct extract_settings wrong = settings;
    wrong.libexec = "/nonexistent";
    struct extract_pool *pool;
    ibid_error err;
    assert_int_equal(extract_pool_open(&wrong, &pool, &err), IBID_EUNAVAILABLE);
    assert_string_equal(err.message,
                        "the program ibid-extract is not in /nonexistent: install it there or set "
                        "extract.libexec to its folder");
}

static void a_required_sandbox_is_there_or_refused(void **state)
{
    struct extract_settings strict = settings;
    strict.sandbox = SANDBOX_REQUIRED;
    struct extract_pool *usual = open_pool(), *pool = NULL;
    bool full = sandbox_is_full(usual);
    ibid_error err;
    ibid_code code = extract_pool_open(&strict, &pool, &err);
    assert_int_equal(code, full ? IBID_OK : IBID_EUNAVAILABLE);
    extract_pool_close(pool);
    extract_pool_close(usual);
}

static void no_descriptor_is_left(void **state)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    struct extract_pool *pool = open_pool();
    static const char *const all[] = {"none", "crash", "text", "exit"};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        assert_ok(run_attack(pool, all[i], NULL, &arena, &extraction, err));
    }
    extract_pool_close(pool);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    assert_int_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sandbox_holds),
        cmocka_unit_test(the_limits_hold),
        cmocka_unit_test(the_clock_ends_what_only_waits),
        cmocka_unit_test(secrets_stay_in_the_host),
        cmocka_unit_test(a_raised_flag_cancels),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(a_killed_broker_is_replaced),
        cmocka_unit_test(a_missing_program_is_said),
        cmocka_unit_test(a_required_sandbox_is_there_or_refused),
        cmocka_unit_test(no_descriptor_is_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
