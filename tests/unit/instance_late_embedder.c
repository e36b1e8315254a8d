/* An embedder that is opened when it is first asked for: who waits for it, and who does not. */
#include "tests/test.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "instance/late_embedder.h"

/* Opens as often as the test lets it. */
struct place {
    struct late_embedder late;
    _Atomic int begun, allowed;
    _Atomic bool missing;
};

static ibid_code open_slowly(void *context, struct embedder **ret, ibid_error *error)
{
    struct place *place = context;
    const int turn = atomic_fetch_add(&place->begun, 1);
    while (atomic_load(&place->allowed) <= turn)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(&place->missing))
        return fail(error, IBID_ENOTFOUND, "it is missing, %d", turn);
    const struct embedder_ops *hash = embedder_find("hash");
    AUTO_ARENA arena = ARENA_INIT;
    void *options = arena_alloc(&arena, hash->options_size);
    option_set_defaults(hash->options, options, &arena);
    return embedder_open(hash, NULL, options, ret, error);
}

/* What one call gives. */
struct asked {
    struct place *place;
    pthread_t thread;
    ibid_code code;
    struct embedder *embedder;
    ibid_error error;
};

static void *ask(void *argument)
{
    struct asked *asked = argument;
    asked->code =
        late_embedder_get(&asked->place->late, 0, open_slowly, asked->place, &asked->embedder, &asked->error);
    return NULL;
}

static void wait_until_begun(struct place *place, int count)
{
    while (atomic_load(&place->begun) < count)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void it_is_opened_once_for_all_who_wait(void **state)
{
    struct place place = {0};
    struct asked asked[4];
    late_embedder_init(&place.late);
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        asked[i] = (struct asked){.place = &place};
        thread_start(&asked[i].thread, "ask", ask, &asked[i]);
    }
    wait_until_begun(&place, 1);
    atomic_store(&place.allowed, 100);
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        pthread_join(asked[i].thread, NULL);
        assert_int_equal(asked[i].code, IBID_OK);
        assert_ptr_equal(asked[i].embedder, asked[0].embedder);
    }
    assert_int_equal(atomic_load(&place.begun), 1);
    late_embedder_release(&place.late);
}

/* One on another machine may take a minute not to answer: that is one caller's minute. */
static void nobody_waits_for_a_later_try(void **state)
{
    struct place place = {.allowed = 1, .missing = true};
    struct asked first = {.place = &place}, later = {.place = &place}, beside = {.place = &place};
    late_embedder_init(&place.late);
    ask(&first);
    assert_int_equal(first.code, IBID_EUNAVAILABLE);
    assert_string_equal(first.error.message, "it is missing, 0");

    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    thread_start(&later.thread, "ask", ask, &later);
    wait_until_begun(&place, 2);
    ask(&beside);
    assert_int_equal(beside.code, IBID_EUNAVAILABLE);
    assert_string_equal(beside.error.message, "it is missing, 0");
    atomic_store(&place.missing, false);
    atomic_store(&place.allowed, 2);
    pthread_join(later.thread, NULL);
    assert_int_equal(later.code, IBID_OK);
    ask(&beside);
    assert_int_equal(beside.code, IBID_OK);
    assert_ptr_equal(beside.embedder, later.embedder);
    late_embedder_release(&place.late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_opened_once_for_all_who_wait),
        cmocka_unit_test(nobody_waits_for_a_later_try),
    };
    return cmocka_run_group_tests_name("instance_late_embedder", tests, NULL, NULL);
}
