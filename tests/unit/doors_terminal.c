#include "tests/test.h"

#include <locale.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/terminal.h"

static const struct terminal plain = {.width = 20, .unicode = true};
static const struct terminal coloured = {.width = 20, .unicode = true, .colours = true};

static void text_is_wrapped_between_words(void **state)
{
    AUTO_BUFFER out = BUFFER(4096);
    const struct marked_text text = {
        .text = STR("The quick brown fox\n\njumps over  the lazydogwithaverylongname.")};
    terminal_append_wrapped(&plain, &out, &text, 2);
    assert_string_equal(out.data, "  The quick brown\n  fox jumps over the\n  lazydogwithaverylongname.\n");
    buffer_clear(&out);
    const struct marked_text nothing = {.text = STR(" \n ")};
    buffer_append_string(&out, "");
    terminal_append_wrapped(&plain, &out, &nothing, 2);
    assert_int_equal(out.size, 0);
}

static void marks_are_shown(void **state)
{
    static const uint32_t marks[][2] = {{0, 3}, {8, 12}, {16, 19}};
    const struct marked_text text = {STR("abc def ghijkl mno"), marks, 3};
    AUTO_BUFFER out = BUFFER(4096);
    terminal_append_wrapped(&plain, &out, &text, 0);
    assert_string_equal(out.data, "*abc* def *ghij*kl m*no*\n");
    buffer_clear(&out);
    terminal_append_wrapped(&coloured, &out, &text, 0);
    assert_non_null(strstr(out.data, "\033[1;33mabc\033[0m def "));
    /* A mark over several words is marked in each of them. */
    static const uint32_t long_mark[][2] = {{1, 6}};
    const struct marked_text two = {STR("abc def"), long_mark, 1};
    buffer_clear(&out);
    terminal_append_wrapped(&plain, &out, &two, 0);
    assert_string_equal(out.data, "a*bc* *de*f\n");
}

static void controls_do_not_reach_the_terminal(void **state)
{
    AUTO_BUFFER out = BUFFER(4096);
    terminal_append(&plain, &out, STYLE_BAD,
                    STR("a\033[31mb\x07\x7f\xc2\x9b"
                        "c\xe2\x80\xae\xff\td\n"));
    assert_string_equal(out.data, "a?[31mb???c?? d ");
}

static void lines_keep_their_tabs(void **state)
{
    AUTO_BUFFER out = BUFFER(4096);
    terminal_append_lines(&out, STR("\tif x:\r\n\n\t\ta\t\033]0;b\x07\rc"), 2);
    assert_string_equal(out.data, "  \tif x:\n\n  \t\ta\t?]0;b? c\n");
    buffer_clear(&out);
    terminal_append_lines(&out, STR("a\n"), 0);
    assert_string_equal(out.data, "a\n");
}

static void widths_are_columns(void **state)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        SKIP_TEST("there is no locale C.UTF-8");
    assert_int_equal(text_width(STR("abc")), 3);
    assert_int_equal(text_width(STR("äö")), 2);
    assert_int_equal(text_width(STR("日本")), 4);
    assert_true(str_is(text_fit(STR("日本語"), 5), "日本"));
    assert_true(str_is(text_fit(STR("ab"), 5), "ab"));
    assert_int_equal(text_fit(STR("ab"), 0).size, 0);
}

static void numbers_are_readable(void **state)
{
    char out[32];
    assert_string_equal(format_count(0, out), "0");
    assert_string_equal(format_count(1234567, out), "1,234,567");
    assert_string_equal(format_count(-1234, out), "-1,234");
    assert_string_equal(format_count(-123, out), "-123");
    assert_string_equal(format_size(999, out), "999 bytes");
    assert_string_equal(format_size(1536, out), "1.5 KB");
    assert_string_equal(format_size(91335750, out), "87.1 MB");
    assert_string_equal(format_seconds(0.25, out), "250 ms");
    assert_string_equal(format_seconds(12.34, out), "12.3 s");
    assert_string_equal(format_seconds(12, out), "12 s");
    assert_string_equal(format_seconds(200, out), "3 min 20 s");
    assert_string_equal(format_seconds(7500, out), "2 h 5 min");
    assert_string_equal(format_time(STR("2026-01-31T12:05:59.123456Z"), out), "2026-01-31 12:05 UTC");
    assert_string_equal(format_time(STR("2014-06-25T14:42:00Z"), out), "2014-06-25 14:42 UTC");
    assert_string_equal(format_time(STR_EMPTY, out), "");
}

static void commands_are_complete(void **state)
{
    const struct terminal wide = {.width = 100};
    for (const struct command *const *command = commands; *command; command++) {
        AUTO_ARENA arena = ARENA_INIT;
        AUTO_BUFFER help = BUFFER(1 << 20), manual = BUFFER(1 << 20);
        bool letters[256] = {0};
        const struct option *rows = command_options(*command, &arena);
        for (const struct option *row = rows; row->name; row++) {
            if (row->letter && letters[(unsigned char)row->letter])
                fail_msg("ibid %s: -%c stands for two options", (*command)->name, row->letter);
            letters[(unsigned char)row->letter] = true;
            if (option_find(rows, str_from(row->name)) != row)
                fail_msg("ibid %s: --%s is there twice", (*command)->name, row->name);
            if (!row->help || !str_ends_with(str_from(row->help), "."))
                fail_msg("ibid %s: --%s has no help that ends with a full stop", (*command)->name, row->name);
        }
        help_append(&wide, *command, &help);
        manual_append(*command, &manual);
        assert_non_null(strstr(help.data, (*command)->summary));
        assert_non_null(strstr(manual.data, ".SH SYNOPSIS"));
        int words;
        const struct str name = str_from((*command)->name);
        const size_t space = str_find(name, ' ');
        const char *argv[] = {arena_str(&arena, str_slice(name, 0, space)).data,
                              arena_str(&arena, str_slice(name, space + 1, name.size)).data};
        assert_ptr_equal(command_find(2, argv, &words), *command);
    }
}

static void every_code_has_its_exit_status(void **state)
{
    assert_int_equal(exit_status_of(IBID_OK), 0);
    assert_int_equal(exit_status_of(IBID_EINVAL), 2);
    assert_int_equal(exit_status_of(IBID_ENOTFOUND), 3);
    assert_int_equal(exit_status_of(IBID_EUNAVAILABLE), 5);
    assert_int_equal(exit_status_of(IBID_ECANCELED), 130);
#define X(name, string, http, retry, text) \
    if (IBID_##name != IBID_OK)            \
        assert_true(exit_status_of(IBID_##name) > 0);
    IBID_CODE_MAP(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_wrapped_between_words),
        cmocka_unit_test(marks_are_shown),
        cmocka_unit_test(controls_do_not_reach_the_terminal),
        cmocka_unit_test(lines_keep_their_tabs),
        cmocka_unit_test(widths_are_columns),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(commands_are_complete),
        cmocka_unit_test(every_code_has_its_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
