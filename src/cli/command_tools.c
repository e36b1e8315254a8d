#include <stdio.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "cli/command.h"

/* ---- extract ---- */

static void append_blocks(const struct terminal *terminal, const json_t *answer, struct buffer *out)
{
    const struct str text = member_text(answer, "text");
    size_t index;
    json_t *block;
    json_array_foreach(json_object_get(answer, "blocks"), index, block)
    {
        AUTO_BUFFER head = BUFFER(1024);
        const size_t start = (size_t)member_int(block, "start"), end = (size_t)member_int(block, "end");
        buffer_append_str(&head, member_text(block, "kind"));
        if (member_int(block, "level") > 0)
            buffer_printf(&head, " %lld", (long long)member_int(block, "level"));
        append_pages(block, &head);
        buffer_printf(&head, " · bytes %zu-%zu", start, end);
        if (json_is_true(json_object_get(block, "hidden")))
            buffer_append_string(&head, " · hidden");
        if (json_is_true(json_object_get(block, "boilerplate")))
            buffer_append_string(&head, " · boilerplate");
        terminal_append(terminal, out, STYLE_DIM, buffer_str(&head));
        buffer_append_byte(out, '\n');
        const struct marked_text shown = {.text = str_slice(text, start, end)};
        terminal_append_wrapped(terminal, out, &shown, 4);
    }
}

static void append_metadata(const struct terminal *terminal, const json_t *metadata, struct buffer *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        terminal_append(terminal, out, STYLE_BOLD, str_from(key));
        buffer_append_string(out, ": ");
        if (json_is_string(value))
            terminal_append(terminal, out, STYLE_PLAIN, member_text(metadata, key));
        else
            json_append(out, value);
        buffer_append_byte(out, '\n');
    }
}

static void print_extraction(const struct invocation *invocation, const json_t *answer)
{
    const struct terminal *terminal = &invocation->terminal;
    const struct str status = member_text(answer, "status"), reason = member_text(answer, "reason");
    size_t index;
    json_t *warning;
    AUTO_BUFFER out = BUFFER(1024 * 1024 * 1024);
    terminal_append(terminal, &out, str_is(status, "ok") ? STYLE_GOOD : STYLE_BAD, status);
    if (reason.size > 0) {
        buffer_append_string(&out, ": ");
        terminal_append(terminal, &out, STYLE_PLAIN, reason);
    }
    buffer_printf(&out, "  %.*s  %.*s  %zu pages  %zu bytes of text\n",
                  STR_ARG(member_text(answer, "media_type")), STR_ARG(member_text(answer, "extractor")),
                  json_array_size(json_object_get(answer, "pages")), member_text(answer, "text").size);
    append_metadata(terminal, json_object_get(answer, "metadata"), &out);
    json_array_foreach(json_object_get(answer, "warnings"), index, warning)
    {
        terminal_append(terminal, &out, STYLE_WARN, STR("warning: "));
        terminal_append(terminal, &out, STYLE_PLAIN, member_text(warning, "message"));
        buffer_printf(&out, " (%lld times)\n", (long long)member_int(warning, "count"));
    }
    buffer_append_byte(&out, '\n');
    append_blocks(terminal, answer, &out);
    print_buffer(&out);
}

static ibid_code run_extract(struct invocation *invocation, ibid_error *err)
{
    struct extract_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    TRY(absolute_path(invocation, invocation->arguments[0], &parameters->path, err));
    parameters_to_json(extract_parameters, parameters, body);
    if (parameters->password)
        json_set_string(body, "password", parameters->password);
    TRY(door_call(invocation->door, "POST", "/api/v1/extract", body, &answer, err));
    if (invocation->global.json)
        print_json(answer);
    else
        print_extraction(invocation, answer);
    const struct str status = member_text(answer, "status");
    if (str_is(status, "ok") || str_is(status, "partial"))
        return IBID_OK;
    return fail(err, IBID_EFORMAT, "nothing can be indexed of this file: %s",
                member_text(answer, "reason").size > 0 ? member_string(answer, "reason")
                                                       : member_string(answer, "status"));
}

static const char *const path_is_an_argument[] = {"path", NULL};

const struct command command_extract = {
    .name = "extract",
    .arguments = "FILE",
    .argument_min = 1,
    .argument_max = 1,
    .summary = "Show what would be extracted from a file, without storing anything",
    .text =
        "Reads FILE in the same sandbox as indexing does and shows its state (ok, partial, needs_ocr, "
        "encrypted, corrupt, ...), its metadata, what there is to warn of, and its text block by block with "
        "the places.",
    .examples = "ibid extract report.pdf\n"
                "ibid extract report.pdf --json | jq -r .text\n"
                "ibid extract report.pdf --words --json  # the box of each word",
    .parameters = extract_parameters,
    .parameters_size = sizeof(struct extract_parameters),
    .hidden = path_is_an_argument,
    .run = run_extract,
};

/* ---- eval ---- */

static void append_scores(const char *name, const json_t *scores, struct buffer *out)
{
    if (json_is_object(scores))
        buffer_printf(out, "%-8s  %8.4f  %10.4f  %7.4f\n", name, member_real(scores, "ndcg@10"),
                      member_real(scores, "recall@100"), member_real(scores, "mrr@10"));
}

static ibid_code run_eval(struct invocation *invocation, ibid_error *err)
{
    struct eval_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    AUTO_BUFFER out = BUFFER(64 * 1024);
    TRY(absolute_path(invocation, invocation->arguments[0], &parameters->path, err));
    parameters_to_json(eval_parameters, parameters, body);
    TRY(call_with_progress(invocation, "POST", "/api/v1/eval", body, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    buffer_printf(&out, "%lld documents, %lld queries", (long long)member_int(answer, "documents"),
                  (long long)member_int(answer, "queries"));
    if (member_text(answer, "embedder").size > 0)
        buffer_printf(&out, ", %s", member_string(answer, "embedder"));
    buffer_append_string(&out, "\n\n           nDCG@10  Recall@100   MRR@10\n");
    append_scores("keyword", json_object_get(answer, "keyword"), &out);
    append_scores("vector", json_object_get(answer, "vector"), &out);
    append_scores("hybrid", json_object_get(answer, "hybrid"), &out);
    if (member_text(answer, "without_meaning").size > 0)
        buffer_printf(&out, "\nBy word only: %s\n", member_string(answer, "without_meaning"));
    print_buffer(&out);
    return IBID_OK;
}

static const char *const path_and_task[] = {"path", "task", NULL};

const struct command command_eval = {
    .name = "eval",
    .arguments = "FOLDER",
    .argument_min = 1,
    .argument_max = 1,
    .summary = "Measure relevance on a judged collection",
    .text = "FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv in the BEIR layout. Prints nDCG@10, "
            "Recall@100 and MRR@10 of searching by word, by meaning, and by both. Nothing is stored; Ctrl-C "
            "stops it.",
    .examples = "ibid eval data/cranfield\n"
                "ibid eval data/cranfield --json | jq '.hybrid[\"ndcg@10\"]'",
    .parameters = eval_parameters,
    .parameters_size = sizeof(struct eval_parameters),
    .hidden = path_and_task,
    .run = run_eval,
};
