#include "tests/test.h"

#include <stdio.h>

#include "base/memory.h"
#include "search/query_vectors.h"

static const struct embedder first_embedder = {.info = {.fingerprint = "first"}};
static const struct embedder second_embedder = {.info = {.fingerprint = "second"}};

static struct sha256 key_of(int i)
{
    char text[16];
    snprintf(text, sizeof text, "query %d", i);
    return query_vectors_key(&first_embedder, str_from(text));
}

static void put(struct query_vectors *vectors, int i, int64_t now_us)
{
    const struct sha256 key = key_of(i);
    const float vector[2] = {(float)i, 1};
    query_vectors_put(vectors, &key, now_us, vector, 2);
}

/* The first number of the vector, or -1. */
static int get(struct query_vectors *vectors, int i, int64_t now_us)
{
    const struct sha256 key = key_of(i);
    float vector[2];
    return query_vectors_get(vectors, &key, now_us, vector, 2) ? (int)vector[0] : -1;
}

static void keeps_for_a_while(void **state)
{
    struct query_vectors *vectors = query_vectors_new(10, 100);
    assert_int_equal(get(vectors, 1, 0), -1);
    put(vectors, 1, 1000);
    assert_int_equal(get(vectors, 1, 1099), 1);
    assert_int_equal(get(vectors, 1, 1100), -1);
    put(vectors, 1, 1100); /* made anew in its place */
    assert_int_equal(get(vectors, 1, 1150), 1);
    assert_int_equal(query_vectors_count(vectors), 1);
    query_vectors_free(vectors);
}

static void the_least_recently_used_goes_first(void **state)
{
    struct query_vectors *vectors = query_vectors_new(3, 100);
    put(vectors, 1, 0);
    put(vectors, 2, 0);
    put(vectors, 3, 0);
    assert_int_equal(get(vectors, 1, 1), 1);
    put(vectors, 4, 1);
    assert_int_equal(get(vectors, 2, 1), -1);
    assert_int_equal(get(vectors, 1, 1), 1);
    assert_int_equal(get(vectors, 3, 1), 3);
    assert_int_equal(get(vectors, 4, 1), 4);
    assert_int_equal(query_vectors_count(vectors), 3);
    query_vectors_free(vectors);
}

static void survives_much_traffic(void **state)
{
    enum { CAPACITY = 50 };
    struct query_vectors *vectors = query_vectors_new(CAPACITY, 1000000);
    for (int i = 0; i < 5000; i++) {
        put(vectors, i * 7919 % 200, i);
        assert_int_equal(get(vectors, i * 7919 % 200, i), i * 7919 % 200);
        if (i % 3 == 0)
            get(vectors, i % 200, i);
    }
    assert_int_equal(query_vectors_count(vectors), CAPACITY);
    query_vectors_free(vectors);
}

static void keys_tell_embedders_and_texts_apart(void **state)
{
    const struct sha256 a = query_vectors_key(&first_embedder, STR("tea"));
    const struct sha256 b = query_vectors_key(&second_embedder, STR("tea"));
    const struct sha256 c = query_vectors_key(&first_embedder, STR("Tea"));
    assert_false(sha256_equal(&a, &b) || sha256_equal(&a, &c) || sha256_equal(&b, &c));
    float vector[3] = {0};
    struct query_vectors *vectors = query_vectors_new(3, 100);
    query_vectors_put(vectors, &a, 0, vector, 3);
    assert_false(query_vectors_get(vectors, &a, 0, vector, 2)); /* another dimension */
    query_vectors_free(vectors);
}

static void nothing_is_kept_for_no_time(void **state)
{
    struct query_vectors *vectors = query_vectors_new(3, 0);
    put(vectors, 1, 0);
    assert_int_equal(get(vectors, 1, 0), -1);
    query_vectors_free(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_for_a_while),           cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(survives_much_traffic),       cmocka_unit_test(keys_tell_embedders_and_texts_apart),
        cmocka_unit_test(nothing_is_kept_for_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
