#include <stdio.h>
#include <string.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "base/file.h"
#include "cli/command.h"
#include "net/url.h"

/* ---- naming a document ---- */

const char *document_target(struct invocation *invocation, const char *document, const char *suffix)
{
    AUTO_BUFFER out = BUFFER(64 * 1024);
    buffer_append_string(&out, "/api/v1/documents/");
    url_append_escaped(&out, str_from(document));
    buffer_append_string(&out, suffix);
    return arena_str(&invocation->arena, buffer_str(&out)).data;
}

static const char *id_of(struct invocation *invocation, const json_t *document)
{
    return arena_printf(&invocation->arena, "%lld", (long long)member_int(document, "id"));
}

static ibid_code choose(struct invocation *invocation, const char *argument, const json_t *documents,
                        json_t **ret, ibid_error *err)
{
    const size_t count = json_array_size(documents);
    for (size_t i = 0; i < count; i++) { /* an exact path beats parts of others */
        json_t *document = json_array_get(documents, i);
        if (count == 1 || str_is(member_text(document, "path"), argument)) {
            *ret = json_incref(document);
            return IBID_OK;
        }
    }
    if (count == 0)
        return fail(err, IBID_ENOTFOUND, "no document has the number, file_id, title or path '%s'", argument);
    return fail(err, IBID_EINVAL,
                "'%s' fits %zu%s documents, such as %s and %s: say which (ibid documents --title)", argument,
                count, count == 10 ? " or more" : "", id_of(invocation, json_array_get(documents, 0)),
                id_of(invocation, json_array_get(documents, 1)));
}

ibid_code find_document(struct invocation *invocation, const char *argument, json_t **ret, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    if (!*argument)
        return fail(err, IBID_EINVAL, "which document? an empty name fits none (see 'ibid documents')");
    const ibid_code code =
        door_call(invocation->door, "GET", document_target(invocation, argument, ""), NULL, ret, err);
    if (code != IBID_ENOTFOUND || strspn(argument, "0123456789") == strlen(argument))
        return code;
    AUTO_BUFFER target = BUFFER(64 * 1024);
    buffer_append_string(&target, "/api/v1/documents?limit=10&title=");
    url_append_escaped(&target, str_from(argument));
    TRY(door_call(invocation->door, "GET", target.data, NULL, &answer, err));
    return choose(invocation, argument, json_object_get(answer, "documents"), ret, err);
}

/* ---- documents ---- */

static enum style state_style(struct str state)
{
    if (str_is(state, "completed"))
        return STYLE_GOOD;
    return str_is(state, "failed") ? STYLE_BAD : STYLE_WARN;
}

static void append_document_line(const struct terminal *terminal, const json_t *document, struct buffer *out)
{
    const struct str state = member_text(document, "processing_state"),
                     title = member_text(document, "document_title");
    const struct str path = member_text(document, "path"), reason = member_text(document, "reason");
    buffer_printf(out, "%7lld  ", (long long)member_int(document, "id"));
    terminal_append(terminal, out, state_style(state), state);
    buffer_append_repeated(out, ' ', state.size < 12 ? 12 - state.size : 1);
    terminal_append(terminal, out, STYLE_PLAIN, path.size > 0 ? path : title);
    if (path.size > 0 && title.size > 0 && !str_equal(title, path_base_name(path))) {
        buffer_append_string(out, "  ");
        terminal_append(terminal, out, STYLE_DIM, title);
    }
    if (reason.size > 0) {
        buffer_append_string(out, "  ");
        terminal_append(terminal, out, STYLE_BAD, reason);
    }
    buffer_append_byte(out, '\n');
}

static ibid_code run_documents(struct invocation *invocation, ibid_error *err)
{
    AUTO_BUFFER query = BUFFER(64 * 1024), out = BUFFER(64 * 1024 * 1024);
    AUTO_JSON *answer = NULL;
    parameters_to_query(documents_parameters, invocation->parameters, &query);
    const char *target =
        arena_printf(&invocation->arena, "/api/v1/documents%s", query.data ? query.data : "");
    TRY(door_call(invocation->door, "GET", target, NULL, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    size_t index;
    json_t *document;
    json_array_foreach(json_object_get(answer, "documents"), index, document)
        append_document_line(&invocation->terminal, document, &out);
    if (index == 0)
        buffer_append_string(&out, "No documents.\n");
    const struct str cursor = member_text(answer, "next_cursor");
    if (cursor.size > 0)
        buffer_printf(&out, "More follow: ibid documents --cursor %.*s\n", STR_ARG(cursor));
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_documents = {
    .name = "documents",
    .summary = "List the documents in the index",
    .text = "One line for each document: its number, its state, its path, and why it failed if it did.",
    .examples = "ibid documents  # the first hundred\n"
                "ibid documents --state failed  # those that could not be read\n"
                "ibid documents --title report -n 20",
    .parameters = documents_parameters,
    .parameters_size = sizeof(struct documents_parameters),
    .run = run_documents,
};

/* ---- show ---- */

struct show_options {
    struct chunks_parameters chunks; /* first: the route's table fits */
    bool text;
};

static void append_field(const struct terminal *terminal, struct buffer *out, const char *name,
                         struct str value)
{
    if (value.size == 0)
        return;
    terminal_append(terminal, out, STYLE_DIM, str_from(name));
    buffer_append_repeated(out, ' ', 12 - strlen(name));
    terminal_append(terminal, out, STYLE_PLAIN, value);
    buffer_append_byte(out, '\n');
}

static void append_document(const struct terminal *terminal, const json_t *document, struct buffer *out)
{
    char size[32], modified[32], indexed[32];
    terminal_append(terminal, out, STYLE_TITLE, member_text(document, "document_title"));
    buffer_printf(out, "  [%lld]\n", (long long)member_int(document, "id"));
    append_field(terminal, out, "path", member_text(document, "path"));
    append_field(terminal, out, "source", member_text(document, "source"));
    append_field(terminal, out, "type", member_text(document, "media_type"));
    append_field(terminal, out, "size", str_from(format_size(member_int(document, "size"), size)));
    append_field(terminal, out, "author", member_text(document, "author"));
    append_field(terminal, out, "language", member_text(document, "language"));
    append_field(terminal, out, "modified",
                 str_from(format_time(member_text(document, "modified_at"), modified)));
    append_field(terminal, out, "indexed",
                 str_from(format_time(member_text(document, "indexed_at"), indexed)));
    append_field(terminal, out, "state", member_text(document, "processing_state"));
    append_field(terminal, out, "reason", member_text(document, "reason"));
    append_field(terminal, out, "file_id", member_text(document, "file_id"));
    size_t index;
    json_t *warning;
    json_array_foreach(json_object_get(document, "warnings"), index, warning)
        append_field(terminal, out, "warning", member_text(warning, "message"));
    buffer_append_byte(out, '\n');
}

static void append_chunk(const struct terminal *terminal, const json_t *chunk, struct buffer *out)
{
    AUTO_BUFFER head = BUFFER(64 * 1024);
    buffer_printf(&head, "#%lld", (long long)member_int(chunk, "chunk_index"));
    append_pages(chunk, &head);
    if (json_object_get(chunk, "start"))
        buffer_printf(&head, " · bytes %lld-%lld", (long long)member_int(chunk, "start"),
                      (long long)member_int(chunk, "end"));
    buffer_printf(&head, " · %lld tokens", (long long)member_int(chunk, "tokens"));
    const struct str heading = member_text(chunk, "heading_path");
    if (heading.size > 0) {
        buffer_append_string(&head, " · ");
        buffer_append_str(&head, heading);
    }
    terminal_append(terminal, out, STYLE_BOLD, buffer_str(&head));
    buffer_append_byte(out, '\n');
    terminal_append_lines(out, member_text(chunk, "text"), 4);
    buffer_append_byte(out, '\n');
}

static ibid_code print_text(struct invocation *invocation, json_t *document, ibid_error *err)
{
    struct str text;
    TRY(door_text(invocation->door, "GET", document_target(invocation, id_of(invocation, document), "/text"),
                  STR_EMPTY, &invocation->arena, &text, err));
    if (invocation->global.json) {
        json_set_str(document, "text", text);
        print_json(document);
        return IBID_OK;
    }
    if (invocation->terminal.output_is_terminal) {
        AUTO_BUFFER out = BUFFER(SIZE_MAX);
        terminal_append_lines(&out, text, 0);
        print_buffer(&out);
        return IBID_OK;
    }
    fwrite(text.data, 1, text.size, stdout);
    if (!str_ends_with(text, "\n"))
        putchar('\n');
    return IBID_OK;
}

static ibid_code run_show(struct invocation *invocation, ibid_error *err)
{
    const struct show_options *options = invocation->parameters;
    AUTO_JSON *document = NULL, *answer = NULL;
    AUTO_BUFFER query = BUFFER(4096), out = BUFFER(256 * 1024 * 1024);
    TRY(find_document(invocation, invocation->arguments[0], &document, err));
    if (options->text)
        return print_text(invocation, document, err);
    parameters_to_query(chunks_parameters, &options->chunks, &query);
    const char *target = arena_printf(&invocation->arena, "%s%s",
                                      document_target(invocation, id_of(invocation, document), "/chunks"),
                                      query.data ? query.data : "");
    TRY(door_call(invocation->door, "GET", target, NULL, &answer, err));
    if (invocation->global.json) {
        json_set(document, "chunks", json_incref(json_object_get(answer, "chunks")));
        json_set_int(document, "chunk_count", member_int(answer, "total"));
        print_json(document);
        return IBID_OK;
    }
    size_t index;
    json_t *chunk;
    append_document(&invocation->terminal, document, &out);
    json_array_foreach(json_object_get(answer, "chunks"), index, chunk)
        append_chunk(&invocation->terminal, chunk, &out);
    const int64_t shown = options->chunks.offset + (int64_t)index, total = member_int(answer, "total");
    if (shown < total)
        buffer_printf(&out, "%lld of %lld chunks shown: ibid show %lld --offset %lld goes on\n",
                      (long long)index, (long long)total, (long long)member_int(document, "id"),
                      (long long)shown);
    print_buffer(&out);
    return IBID_OK;
}

static const struct option text_option[] = {
    {.name = "text",
     .type = OPTION_BOOL,
     .offset = offsetof(struct show_options, text),
     .help = "The document's text as it was extracted, and nothing else."},
    OPTION_END,
};

const struct command command_show = {
    .name = "show",
    .arguments = "DOCUMENT",
    .argument_min = 1,
    .argument_max = 1,
    .summary = "Show a document and its chunks with their places",
    .text = "DOCUMENT is a number (as 'ibid search' and 'ibid documents' show it), a file_id, or a part of "
            "a path or title that fits one document only. Each chunk is shown with its page, its bytes in "
            "the extracted text, and the headings it stands under.",
    .examples = "ibid show 42\n"
                "ibid show report.pdf --boxes --json  # where each chunk stands on its page\n"
                "ibid show 42 --text > report.txt",
    .parameters = chunks_parameters,
    .more_parameters = text_option,
    .parameters_size = sizeof(struct show_options),
    .run = run_show,
};

/* ---- rm ---- */

struct rm_options {
    bool yes;
};

/* What ibid keeps itself is gone for good. */
static bool may_remove(const struct invocation *invocation, const json_t *document)
{
    const struct rm_options *options = invocation->parameters;
    const bool kept_here = strstr(member_string(document, "source_type"), "upload") != NULL;
    if (options->yes || !kept_here)
        return true;
    AUTO_BUFFER question = BUFFER(64 * 1024);
    terminal_append(&invocation->terminal, &question, STYLE_PLAIN, member_text(document, "document_title"));
    buffer_append_string(&question, " was uploaded: its only copy here goes, too. Remove it?");
    return terminal_confirm(question.data);
}

static ibid_code run_rm(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *receipts = json_array();
    for (size_t i = 0; i < invocation->argument_count; i++) {
        AUTO_JSON *document = NULL;
        json_t *receipt = NULL;
        TRY(find_document(invocation, invocation->arguments[i], &document, err));
        if (!may_remove(invocation, document))
            continue;
        TRY(door_call(invocation->door, "DELETE",
                      document_target(invocation, id_of(invocation, document), ""), NULL, &receipt, err));
        json_array_append_new(receipts, receipt);
        if (!invocation->global.json && !invocation->global.quiet) {
            AUTO_BUFFER out = BUFFER(64 * 1024);
            buffer_append_string(&out, "Removed ");
            terminal_append(&invocation->terminal, &out, STYLE_BOLD, member_text(document, "document_title"));
            buffer_printf(&out, " [%lld] and its %lld chunks\n", (long long)member_int(receipt, "id"),
                          (long long)member_int(receipt, "chunks"));
            print_buffer(&out);
        }
    }
    if (invocation->global.json) {
        AUTO_JSON *answer = json_object();
        json_set(answer, "removed", json_incref(receipts));
        print_json(answer);
    }
    return IBID_OK;
}

static const struct option rm_table[] = {
    {.name = "yes",
     .letter = 'y',
     .type = OPTION_BOOL,
     .offset = offsetof(struct rm_options, yes),
     .help = "Do not ask before removing an upload."},
    OPTION_END,
};

const struct command command_rm = {
    .name = "rm",
    .arguments = "DOCUMENT...",
    .argument_min = 1,
    .argument_max = 1000,
    .summary = "Remove documents from the index for good",
    .text =
        "The document's chunks, vectors and words leave the index, and its bytes if it was uploaded. A file "
        "of a folder stays where it is and is not indexed again until it changes; 'ibid verify --document "
        "NUMBER' proves that nothing is left here.",
    .examples = "ibid rm 42\n"
                "ibid rm drafts/old.md",
    .parameters = rm_table,
    .parameters_size = sizeof(struct rm_options),
    .run = run_rm,
};
