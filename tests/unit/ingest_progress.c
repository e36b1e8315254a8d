/* What a run tells of itself while it goes on. */
#include "tests/test.h"

#include "ingest/progress.h"

static struct ingest_status look(struct progress *progress)
{
    struct ingest_status status;
    progress_read(progress, &status);
    return status;
}

/* One that takes long is shown until it is done, whatever others begin and end meanwhile. */
static void the_document_read_the_longest_is_shown(void **state)
{
    struct progress progress;
    struct reading long_one, other, third;
    progress_init(&progress);
    assert_string_equal(look(&progress).current, "");
    progress_reading(&progress, &long_one, "long.pdf");
    progress_reading(&progress, &other, "short.txt");
    assert_string_equal(look(&progress).current, "long.pdf");
    progress_reading_over(&progress, &other);
    assert_string_equal(look(&progress).current, "long.pdf");
    assert_true(look(&progress).current_seconds >= 0);
    progress_reading(&progress, &third, "third.md");
    progress_reading_over(&progress, &long_one);
    assert_string_equal(look(&progress).current, "third.md");
    progress_reading_over(&progress, &third);
    assert_string_equal(look(&progress).current, "third.md");
    assert_true(look(&progress).current_seconds == 0);
    progress_reading(&progress, &other, "last.txt");
    progress_end(&progress, RUN_COMPLETED, "");
    assert_string_equal(look(&progress).current, "");
    progress_reading_over(&progress, &other);
    progress_release(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_read_the_longest_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
