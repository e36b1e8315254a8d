/* What the contract suites share: every check runs over every fixture, and every member of the registry has one.
 *
 * A fixture is a struct of the suite's own that begins with `const char *name`, the member's name. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "tests/test.h"

struct contract_check {
    const char *name;
    CMUnitTestFunction run; /* *state is the fixture, or what `set_up` made of it */
};

/* An array of fixtures as bytes: CONTRACT_FIXTURES(fixtures). */
struct contract_fixtures {
    const void *first;
    size_t size, count;
};
#define CONTRACT_FIXTURES(array) ((struct contract_fixtures){(array), sizeof((array)[0]), COUNT_OF(array)})

static inline const void *contract_fixture(const struct contract_fixtures *fixtures, size_t position)
{
    return (const char *)fixtures->first + position * fixtures->size;
}

static inline const char *contract_fixture_name(const struct contract_fixtures *fixtures, size_t position)
{
    return *(const char *const *)contract_fixture(fixtures, position);
}

/* Fails, naming the suite's file, when the member has no fixture. */
static inline void contract_expect_fixture(struct contract_fixtures fixtures, const char *seam, const char *member)
{
    for (size_t i = 0; i < fixtures.count; i++)
        if (strcmp(contract_fixture_name(&fixtures, i), member) == 0)
            return;
    fail_msg("%s member '%s' has no fixtures in tests/contract/%s.c", seam, member, seam);
}

/* Runs `every_member` once and each check over each fixture. `set_up` and `tear_down` may be NULL. Returns how
 * many failed. */
static inline int contract_run(const char *seam, CMUnitTestFunction every_member,
                               struct contract_fixtures fixtures, const struct contract_check *checks,
                               size_t check_count, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct arena arena = ARENA_INIT;
    struct CMUnitTest *tests = ARENA_ARRAY(&arena, struct CMUnitTest, 1 + fixtures.count * check_count);
    size_t count = 0;
    tests[count++] = (struct CMUnitTest){"every member has fixtures", every_member, NULL, NULL, NULL};
    for (size_t i = 0; i < fixtures.count; i++)
        for (size_t j = 0; j < check_count; j++)
            tests[count++] = (struct CMUnitTest){
                .name = arena_printf(&arena, "%s: %s", contract_fixture_name(&fixtures, i), checks[j].name),
                .test_func = checks[j].run,
                .setup_func = set_up,
                .teardown_func = tear_down,
                .initial_state = (void *)(uintptr_t)contract_fixture(&fixtures, i),
            };
    const int failed = _cmocka_run_group_tests(seam, tests, count, NULL, NULL);
    arena_release(&arena);
    return failed;
}
