#include "tests/test.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/str.h"
#include "base/utf8.h"

static void glob_matches_like_a_shell(void **state)
{
    static const struct {
        const char *path, *pattern;
        bool matches;
    } rows[] = {
        {"a/b/c.md", "*.md", true},       {"a/b/c.md", "a/*.md", false}, {"a/b/c.md", "a/**/*.md", true},
        {"a/c.md", "a/**/*.md", true},    {"a/b/c.md", "**", true},      {"x.txt", "?.txt", true},
        {"x.txt", "[a-w].txt", false},    {"x.txt", "[!a-w].txt", true}, {"a[b", "a[b", true},
        {"a/b/c", "a/**", true},          {"", "*", true},               {"ab", "a", false},
        {"draft/one/two.md", "draft/**", true}, {"aaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*c", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_matches_glob(str_from(rows[i].path), str_from(rows[i].pattern)) != rows[i].matches)
            fail_msg("'%s' against '%s'", rows[i].path, rows[i].pattern);
}

static void split_yields_every_part(void **state)
{
    struct str rest = STR("a,,b"), part;
    assert_true(str_split(&rest, ',', &part) && str_is(part, "a"));
    assert_true(str_split(&rest, ',', &part) && str_is(part, ""));
    assert_true(str_split(&rest, ',', &part) && str_is(part, "b"));
    assert_false(str_split(&rest, ',', &part));
}

static void buffer_keeps_its_ceiling(void **state)
{
    AUTO_BUFFER buffer = BUFFER(5);
    buffer_append_string(&buffer, "hello");
    assert_string_equal(buffer.data, "hello");
    buffer_append_byte(&buffer, '!');
    assert_int_equal(buffer.size, 5);
    ibid_error err;
    assert_int_equal(buffer_check(&buffer, "greeting", &err), IBID_ETOOBIG);
    assert_string_equal(err.message, "greeting is larger than the limit of 5 bytes");
}

static void clock_reads_what_it_writes(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {
        {"1970-01-01T00:00:01Z", 1000000},
        {"2026-02-16T10:30:00Z", INT64_C(1771237800000000)},
        {"2026-02-16T12:30:00.25+02:00", INT64_C(1771237800250000)},
        {"2024-02-29", INT64_C(1709164800000000)},
    };
    char text[CLOCK_TEXT_SIZE];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t us = -1, again = -1;
        assert_true(clock_parse(str_from(rows[i].text), &us));
        assert_true(us == rows[i].us);
        assert_true(clock_parse(str_from(clock_format(us, text)), &again) && again == us);
    }
    int64_t us;
    assert_false(clock_parse(STR("2026-13-01"), &us));
    assert_false(clock_parse(STR("yesterday"), &us));
}

static void utf8_refuses_what_the_standard_refuses(void **state)
{
    assert_true(utf8_is_valid(STR("aä€𠮷")));
    assert_false(utf8_is_valid(STR("\xC0\xAF")));         /* overlong */
    assert_false(utf8_is_valid(STR("\xED\xA0\x80")));     /* surrogate */
    assert_false(utf8_is_valid(STR("\xF4\x90\x80\x80"))); /* above U+10FFFF */
    assert_false(utf8_is_valid(STR("\xE2\x82")));         /* cut off */
    AUTO_BUFFER out = BUFFER(100);
    assert_int_equal(utf8_append_repaired(&out, (struct str){"a\0b\xFF", 4}), 1);
    assert_string_equal(out.data, "ab\xEF\xBF\xBD");
    assert_int_equal(utf8_count(STR("aä€𠮷")), 4);
    assert_int_equal(utf8_count_utf16(STR("aä€𠮷")), 5);
    assert_int_equal(utf8_floor(STR("a€"), 3), 1);
}

static void hashes_match_published_values(void **state)
{
    char hex[SHA256_HEX_SIZE];
    struct sha256 hash = sha256_of("abc", 3);
    sha256_to_hex(&hash, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct sha256 back;
    assert_true(sha256_from_hex(str_from(hex), &back) && sha256_equal(&hash, &back));
    assert_true(checksum64("", 0, 0) == UINT64_C(0xEF46DB3751D8E999));
    assert_true(checksum64("abc", 3, 0) == UINT64_C(0x44BC2CF5AD770999));
    assert_true(checksum64("xxhash is 64-bit or longer than 32 bytes.", 41, 0) !=
                checksum64("xxhash is 64-bit or longer than 32 bytes!", 41, 0));
}

struct sample {
    bool verbose;
    int64_t port, limit, wait;
    int mode;
    const char *path, *token;
    struct option_list names;
};

static const struct option sample_options[] = {
    {.name = "verbose", .letter = 'v', .type = OPTION_BOOL, .offset = offsetof(struct sample, verbose), .help = "Say more."},
    {.name = "port", .type = OPTION_INT, .offset = offsetof(struct sample, port), .default_text = "8080", .low = 1, .high = 65535, .help = "Port."},
    {.name = "max_size", .type = OPTION_SIZE, .offset = offsetof(struct sample, limit), .default_text = "50MB", .help = "Limit."},
    {.name = "wait", .type = OPTION_DURATION, .offset = offsetof(struct sample, wait), .default_text = "90s", .help = "Wait."},
    {.name = "mode", .type = OPTION_CHOICE, .choices = "hybrid|vector|keyword", .offset = offsetof(struct sample, mode), .default_text = "hybrid", .help = "Mode."},
    {.name = "path", .type = OPTION_PATH, .offset = offsetof(struct sample, path), .help = "Path."},
    {.name = "token", .type = OPTION_STRING, .flags = OPTION_SECRET, .offset = offsetof(struct sample, token), .help = "Token."},
    {.name = "names", .type = OPTION_LIST, .offset = offsetof(struct sample, names), .default_text = "a,b", .help = "Names."},
    OPTION_END,
};

static void arguments_fill_the_table(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct sample sample = {0};
    option_set_defaults(sample_options, &sample, &arena);
    assert_true(sample.limit == 50 << 20 && sample.wait == 90000000 && sample.names.count == 2);
    const char *argv[] = {"one", "--port=99", "-v", "--max-size", "1.5GiB", "--mode", "keyword", "two", "--", "--port"};
    const char **positional;
    size_t count;
    assert_ok(option_parse_arguments(sample_options, &sample, COUNT_OF(argv), argv, &arena, &positional, &count, err));
    assert_true(sample.port == 99 && sample.verbose && sample.mode == 2 && sample.limit == INT64_C(1610612736));
    assert_int_equal(count, 3);
    assert_string_equal(positional[2], "--port");
    static const struct {
        const char *argument, *message;
    } wrong[] = {
        {"--prot=1", "unknown option --prot; did you mean --port?"},
        {"--port=70000", "port: 70000 is out of range (1 to 65535)"},
        {"--mode=fast", "mode: 'fast' is none of hybrid|vector|keyword"},
        {"--path", "--path needs a value: PATH"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        ibid_error err;
        assert_int_equal(option_parse_arguments(sample_options, &sample, 1, &wrong[i].argument, &arena, &positional, &count, &err), IBID_EINVAL);
        assert_string_equal(err.message, wrong[i].message);
    }
}

static void environment_overrides_the_default(void **state)
{
    static const struct option_section section = {"demo.part", "Demo.", sample_options};
    struct sample sample = {0};
    struct settings *settings = settings_new();
    settings_add(settings, &section, &sample);
    char *environment[] = {(char *)"IBID_DEMO_PART_NAMES=x,y,z", (char *)"IBID_DEMO_PART_TOKEN=s3cret",
                           (char *)"IBID_OTHER=1", NULL};
    assert_ok(settings_load_environment(settings, environment, err));
    assert_int_equal(sample.names.count, 3);
    assert_string_equal(sample.names.items[2], "z");
    AUTO_ARENA arena = ARENA_INIT;
    assert_string_equal(option_format(option_find(sample_options, STR("token")), &sample, &arena), "***");
    assert_string_equal(option_format(option_find(sample_options, STR("max-size")), &sample, &arena), "50MB");
    assert_string_equal(option_format(option_find(sample_options, STR("wait")), &sample, &arena), "90s");
    ibid_error err;
    assert_int_equal(settings_set(settings, STR("demo.part.colour"), STR("red"), "flag", &err), IBID_EINVAL);
    settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glob_matches_like_a_shell),
        cmocka_unit_test(split_yields_every_part),
        cmocka_unit_test(buffer_keeps_its_ceiling),
        cmocka_unit_test(clock_reads_what_it_writes),
        cmocka_unit_test(utf8_refuses_what_the_standard_refuses),
        cmocka_unit_test(hashes_match_published_values),
        cmocka_unit_test(arguments_fill_the_table),
        cmocka_unit_test(environment_overrides_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
