#include <stdio.h>
#include <string.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "cli/command.h"

/* The route's parameters, and what its body has beside them. */
struct search_options {
    struct search_parameters parameters; /* first: the route's table fits */
    const char *filter;
};

/* ---- one hit ---- */

static void append_place(const struct terminal *terminal, const json_t *hit, struct buffer *out)
{
    AUTO_BUFFER place = BUFFER(64 * 1024);
    const struct str path = member_text(hit, "path");
    buffer_append_str(&place, path.size > 0 ? path : member_text(hit, "source"));
    append_pages(hit, &place);
    if (member_text(hit, "heading_path").size > 0) {
        buffer_append_string(&place, " · ");
        buffer_append_str(&place, member_text(hit, "heading_path"));
    }
    if (str_is(member_text(hit, "state"), "archived"))
        buffer_append_string(&place, " · archived");
    buffer_append_string(out, "    ");
    terminal_append(terminal, out, STYLE_DIM, buffer_str(&place));
    buffer_append_byte(out, '\n');
}

/* Dots stand for what was cut off; those in front move the marks. */
static void append_passage(const struct terminal *terminal, const json_t *hit, struct arena *arena,
                           struct buffer *out)
{
    const json_t *array = json_object_get(hit, "marks");
    const size_t count = json_array_size(array);
    const char *dots = terminal->unicode ? "…" : "...";
    const char *before =
        json_is_true(json_object_get(hit, "passage_cut_before")) ? arena_printf(arena, "%s ", dots) : "";
    const char *after =
        json_is_true(json_object_get(hit, "passage_cut_after")) ? arena_printf(arena, " %s", dots) : "";
    uint32_t(*marks)[2] = arena_alloc_array(arena, count + 1, sizeof *marks);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 2; j++)
            marks[i][j] = (uint32_t)strlen(before) +
                          (uint32_t)json_integer_value(json_array_get(json_array_get(array, i), j));
    const char *passage =
        arena_printf(arena, "%s%.*s%s", before, STR_ARG(member_text(hit, "passage")), after);
    const struct marked_text text = {str_from(passage), (const uint32_t(*)[2])marks, count};
    terminal_append_wrapped(terminal, out, &text, 4);
}

static void append_explanation(const struct terminal *terminal, const json_t *hit, struct buffer *out)
{
    const char *key;
    json_t *value;
    if (member_text(hit, "explanation").size > 0) {
        buffer_append_string(out, "    ");
        terminal_append(terminal, out, STYLE_DIM, member_text(hit, "explanation"));
        buffer_append_byte(out, '\n');
    }
    buffer_append_string(out, "   ");
    json_object_foreach(json_object_get(hit, "scores"), key, value) if (json_is_number(value))
        buffer_printf(out, " %s=%.4g", key, json_number_value(value));
    buffer_printf(out, " confidence=%.3f\n", member_real(hit, "confidence"));
}

static void append_hit(const struct invocation *invocation, const json_t *hit, size_t number,
                       struct arena *arena, struct buffer *out)
{
    const struct terminal *terminal = &invocation->terminal;
    const struct search_options *options = invocation->parameters;
    const struct str band = member_text(hit, "confidence_band");
    const enum style style = str_is(band, "high")     ? STYLE_GOOD
                             : str_is(band, "medium") ? STYLE_WARN
                                                      : STYLE_DIM;
    char score[64];
    struct str title = member_text(hit, "document_title");
    buffer_printf(out, "%3zu ", number);
    terminal_append(terminal, out, STYLE_TITLE, title.size > 0 ? title : STR("(untitled)"));
    snprintf(score, sizeof score, "  %.3f %.*s", member_real(hit, "score"), STR_ARG(band));
    terminal_append(terminal, out, style, str_from(score));
    buffer_printf(out, "  [%lld]\n", (long long)member_int(hit, "document_id"));
    append_place(terminal, hit, out);
    append_passage(terminal, hit, arena, out);
    if (options->parameters.explain)
        append_explanation(terminal, hit, out);
    buffer_append_byte(out, '\n');
}

/* ---- all of them ---- */

static void append_facets(const struct terminal *terminal, const json_t *facets, struct buffer *out)
{
    const char *key;
    json_t *counts, *count;
    size_t index;
    json_object_foreach((json_t *)(uintptr_t)facets, key, counts)
    {
        terminal_append(terminal, out, STYLE_BOLD, str_from(key));
        buffer_append_byte(out, ':');
        json_array_foreach(counts, index, count)
        {
            buffer_append_byte(out, ' ');
            terminal_append(terminal, out, STYLE_PLAIN, member_text(count, "value"));
            buffer_printf(out, " (%lld)", (long long)member_int(count, "chunks"));
        }
        buffer_append_byte(out, '\n');
    }
}

/* What a person should know but is no result goes to standard error. */
static void warn_degraded(const struct invocation *invocation, const json_t *answer)
{
    const json_t *degraded = json_object_get(answer, "degraded");
    if (!degraded || invocation->global.quiet)
        return;
    fprintf(stderr, "ibid: %s\n", member_string(degraded, "message"));
}

static void print_hits(const struct invocation *invocation, const json_t *answer)
{
    const struct search_options *options = invocation->parameters;
    const json_t *hits = json_object_get(answer, "hits");
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER out = BUFFER(256 * 1024 * 1024);
    for (size_t i = 0; i < json_array_size(hits); i++)
        append_hit(invocation, json_array_get(hits, i), (size_t)options->parameters.offset + i + 1, &arena,
                   &out);
    if (json_array_size(hits) == 0)
        buffer_append_string(&out, "Nothing found.\n");
    append_facets(&invocation->terminal, json_object_get(answer, "facets"), &out);
    print_buffer(&out);
}

static ibid_code run_search(struct invocation *invocation, ibid_error *err)
{
    struct search_options *options = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    /* Words given without quotes are one question. */
    const char *question = "";
    for (size_t i = 0; i < invocation->argument_count; i++)
        question =
            arena_printf(&invocation->arena, "%s%s%s", question, i > 0 ? " " : "", invocation->arguments[i]);
    const bool asks = str_trim(str_from(question)).size > 0;
    options->parameters.query = (struct option_list){&question, asks};
    if (!asks && !(options->filter && *options->filter))
        return fail(err, IBID_EINVAL, "what is to be searched for? (ibid search \"QUESTION\")");
    parameters_to_json(search_parameters, &options->parameters, body);
    if (options->filter && *options->filter)
        json_set_string(body, "filter", options->filter);
    TRY(door_call(invocation->door, "POST", "/api/v1/search", body, &answer, err));
    warn_degraded(invocation, answer);
    if (invocation->global.json)
        print_json(answer);
    else
        print_hits(invocation, answer);
    return IBID_OK;
}

static const struct option filter_option[] = {
    {.name = "filter",
     .letter = 'f',
     .type = OPTION_STRING,
     .offset = offsetof(struct search_options, filter),
     .placeholder = "FILTER",
     .help =
         "Only passages that pass: KEY, one of = != < <= > >= ~ (contains), and a value, joined by 'and': "
         "'language=de', 'page>=3 and path~2024'; or JSON such as {\"or\": [{\"language\": \"de\"}, "
         "{\"path\": {\"contains\": \"2024\"}}]}. Any other KEY is looked up in the documents' metadata."},
    OPTION_END,
};
static const char *const not_for_the_command_line[] = {"query", NULL};

const struct command command_search = {
    .name = "search",
    .arguments = "QUESTION...",
    .argument_max = 1000,
    .summary = "Find passages by meaning and by word",
    .text = "Shows the passages that answer QUESTION best, with title, score, place (path, page, headings) "
            "and the matching words marked. The number in brackets is the document's, for 'ibid show'.\n\n"
            "The band after the score tells how sure the match is: high, medium, or low. Without an "
            "embedding model the search goes by word alone and says so.",
    .examples = "ibid search \"how are invoices approved?\"\n"
                "ibid search --mode keyword 'error E1042'  # exact words\n"
                "ibid search budget --filter 'language=de and page>=3' -k 3\n"
                "ibid search budget --json | jq -r '.hits[].path'",
    .parameters = search_parameters,
    .parameters_size = sizeof(struct search_options),
    .more_parameters = filter_option,
    .hidden = not_for_the_command_line,
    .keys = filter_keys,
    .run = run_search,
};
