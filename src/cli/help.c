#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/command_list.h"

/* ---- help on the terminal ---- */

static const char *spelt(const struct option *option, struct arena *arena)
{
    char *name = arena_strdup(arena, option->name);
    for (char *byte = name; *byte; byte++)
        if (*byte == '_')
            *byte = '-';
    return name;
}

static const char *flag_text(const struct option *option, struct arena *arena)
{
    const char *placeholder = option->type == OPTION_BOOL ? "" : option_placeholder(option);
    const char *letter = option->letter ? arena_printf(arena, "-%c, ", option->letter) : "    ";
    return arena_printf(arena, "%s--%s%s%s", letter, spelt(option, arena), *placeholder ? " " : "",
                        placeholder);
}

/* A number that is none (-1, an id of 0) says nothing. */
static bool says_default(const struct option *option)
{
    const char *text = option->default_text;
    if (!text || !*text || option->type == OPTION_BOOL || strcmp(text, "-1") == 0)
        return false;
    return strcmp(text, "0") != 0 || strcmp(option_placeholder(option), "ID") != 0;
}

static void append_option(const struct terminal *terminal, const struct option *option, struct arena *arena,
                          struct buffer *out)
{
    buffer_append_string(out, "  ");
    terminal_append(terminal, out, STYLE_BOLD, str_from(flag_text(option, arena)));
    buffer_append_byte(out, '\n');
    const char *help = says_default(option)
                           ? arena_printf(arena, "%s Default: %s.", option->help, option->default_text)
                           : option->help;
    const struct marked_text text = {.text = str_from(help)};
    terminal_append_wrapped(terminal, out, &text, 10);
}

static void append_paragraphs(const struct terminal *terminal, const char *text, struct buffer *out)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        const struct marked_text paragraph = {.text = {text, end ? (size_t)(end - text) : strlen(text)}};
        terminal_append_wrapped(terminal, out, &paragraph, 0);
        buffer_append_byte(out, '\n');
        text = end ? end + 2 : NULL;
    }
}

static void append_examples(const struct terminal *terminal, const char *examples, struct buffer *out)
{
    struct str rest = str_from(examples), line;
    if (rest.size == 0)
        return;
    terminal_append(terminal, out, STYLE_BOLD, STR("Examples"));
    buffer_append_byte(out, '\n');
    while (str_split(&rest, '\n', &line)) {
        buffer_append_string(out, "  ");
        buffer_append_str(out, line);
        buffer_append_byte(out, '\n');
    }
    buffer_append_byte(out, '\n');
}

static void append_filter_keys(const struct terminal *terminal, const struct filter_key *keys,
                               struct buffer *out)
{
    if (!keys)
        return;
    buffer_append_byte(out, '\n');
    terminal_append(terminal, out, STYLE_BOLD, STR("Filter keys"));
    buffer_append_byte(out, '\n');
    for (; keys->name; keys++)
        buffer_printf(out, "  %-18s %s\n", keys->name, keys->help);
}

static void append_command_help(const struct terminal *terminal, const struct command *command,
                                struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    terminal_append(terminal, out, STYLE_BOLD, str_from(arena_printf(&arena, "ibid %s", command->name)));
    buffer_printf(out, "%s%s [OPTION...]\n\n%s.\n\n", command->arguments ? " " : "",
                  command->arguments ? command->arguments : "", command->summary);
    append_paragraphs(terminal, command->text, out);
    append_examples(terminal, command->examples, out);
    terminal_append(terminal, out, STYLE_BOLD, STR("Options"));
    buffer_append_byte(out, '\n');
    const struct option *rows = command_options(command, &arena);
    for (const struct option *row = rows; row->name; row++)
        if (row->offset >= GLOBAL_SIZE)
            append_option(terminal, row, &arena, out);
    for (const struct option *row = rows; row->name; row++)
        if (row->offset < GLOBAL_SIZE)
            append_option(terminal, row, &arena, out);
    append_filter_keys(terminal, command->keys, out);
}

static const char program_text[] =
    "ibid indexes folders of documents on this machine and finds passages in them by meaning and by word, "
    "with the place they come from. Nothing leaves the machine unless you point it at a remote model.";

static const struct {
    int status;
    const char *meaning;
} exit_rows[] = {
    {EXIT_OK, "done"},
    {EXIT_FAILED, "something is wrong: the system failed, or damage was found"},
    {EXIT_USAGE, "the command line or a request makes no sense"},
    {EXIT_NOT_FOUND, "what was named is not there"},
    {EXIT_NOT_ALLOWED, "not allowed"},
    {EXIT_TRY_LATER, "busy, not reachable or not available: may work later"},
    {EXIT_INTERRUPTED, "stopped by Ctrl-C"},
};

static void append_summary(const struct command *command, struct buffer *out)
{
    buffer_printf(out, "  %-15s %s\n", command->name, command->summary);
}

static void append_program_help(const struct terminal *terminal, struct buffer *out)
{
    append_paragraphs(terminal, program_text, out);
    buffer_append_string(out,
                         "Begin with:  ibid index ~/Documents    then:  ibid search \"your question\"\n\n");
    terminal_append(terminal, out, STYLE_BOLD, STR("Commands"));
    buffer_append_byte(out, '\n');
    for (const struct command *const *command = commands; *command; command++)
        append_summary(*command, out);
    buffer_append_string(out, "\n'ibid COMMAND --help' explains each. ");
    buffer_append_string(out, "All take --json, --data FOLDER, --config FILE, --set KEY=VALUE.\n\n");
    terminal_append(terminal, out, STYLE_BOLD, STR("Exit status"));
    buffer_append_byte(out, '\n');
    for (size_t i = 0; i < COUNT_OF(exit_rows); i++)
        buffer_printf(out, "  %3d  %s\n", exit_rows[i].status, exit_rows[i].meaning);
}

void help_append(const struct terminal *terminal, const struct command *command, struct buffer *out)
{
    if (command)
        append_command_help(terminal, command, out);
    else
        append_program_help(terminal, out);
}

/* ---- manual pages ---- */

/* Text for troff: backslashes and hyphens as they are, no line that begins with a control character. */
static void append_troff(struct buffer *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            buffer_append_string(out, "\\&");
        if (*text == '\\')
            buffer_append_string(out, "\\e");
        else if (*text == '-')
            buffer_append_string(out, "\\-");
        else
            buffer_append_byte(out, *text);
        line_start = *text == '\n';
    }
}

static void append_manual_paragraphs(struct buffer *out, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        AUTO_FREE char *paragraph = xmemdup0(text, end ? (size_t)(end - text) : strlen(text));
        append_troff(out, paragraph);
        buffer_append_string(out, end ? "\n.PP\n" : "\n");
        text = end ? end + 2 : NULL;
    }
}

static void append_manual_option(struct buffer *out, const struct option *option, struct arena *arena)
{
    const char *placeholder = option->type == OPTION_BOOL ? "" : option_placeholder(option);
    buffer_append_string(out, ".TP\n.BR ");
    if (option->letter)
        buffer_printf(out, "\\-%c \", \" ", option->letter);
    buffer_append_string(out, "\\-\\-");
    append_troff(out, spelt(option, arena));
    if (*placeholder) {
        buffer_append_string(out, " \" ");
        append_troff(out, placeholder);
        buffer_append_byte(out, '"');
    }
    buffer_append_byte(out, '\n');
    append_troff(out, option->help);
    if (says_default(option)) {
        buffer_append_string(out, " Default: ");
        append_troff(out, option->default_text);
        buffer_append_byte(out, '.');
    }
    buffer_append_byte(out, '\n');
}

static void append_manual_keys(struct buffer *out, const struct filter_key *keys)
{
    if (!keys)
        return;
    buffer_append_string(out, ".SH FILTER KEYS\n");
    for (; keys->name; keys++) {
        buffer_append_string(out, ".TP\n.B ");
        append_troff(out, keys->name);
        buffer_append_byte(out, '\n');
        append_troff(out, keys->help);
        buffer_append_byte(out, '\n');
    }
}

static void append_manual_examples(struct buffer *out, const char *examples)
{
    if (!examples)
        return;
    buffer_append_string(out, ".SH EXAMPLES\n.nf\n");
    append_troff(out, examples);
    buffer_append_string(out, "\n.fi\n");
}

static const char *page_name(const struct command *command, struct arena *arena)
{
    char *name = arena_printf(arena, "ibid-%s", command->name);
    for (char *byte = name; *byte; byte++)
        if (*byte == ' ')
            *byte = '-';
    return name;
}

static void append_command_manual(const struct command *command, struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    buffer_append_string(out, ".TH ");
    append_troff(out, page_name(command, &arena));
    buffer_printf(out, " 1 \"\" \"ibid %s\" \"ibid manual\"\n.SH NAME\n", IBID_VERSION);
    append_troff(out, page_name(command, &arena));
    buffer_append_string(out, " \\- ");
    append_troff(out, command->summary);
    buffer_append_string(out, "\n.SH SYNOPSIS\n.B ibid ");
    append_troff(out, command->name);
    buffer_append_string(out, "\n.RI [ OPTION... ]");
    if (command->arguments) {
        buffer_append_string(out, "\n.I ");
        append_troff(out, command->arguments);
    }
    if (command->text)
        buffer_append_string(out, "\n.SH DESCRIPTION\n");
    append_manual_paragraphs(out, command->text);
    buffer_append_string(out, command->text ? ".SH OPTIONS\n" : "\n.SH OPTIONS\n");
    const struct option *rows = command_options(command, &arena);
    for (const struct option *row = rows; row->name; row++)
        if (row->offset >= GLOBAL_SIZE)
            append_manual_option(out, row, &arena);
    for (const struct option *row = rows; row->name; row++)
        if (row->offset < GLOBAL_SIZE)
            append_manual_option(out, row, &arena);
    append_manual_keys(out, command->keys);
    append_manual_examples(out, command->examples);
    buffer_append_string(out, ".SH SEE ALSO\n.BR ibid (1)\n");
}

static void append_program_manual(struct buffer *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    buffer_printf(out, ".TH ibid 1 \"\" \"ibid %s\" \"ibid manual\"\n", IBID_VERSION);
    buffer_append_string(
        out, ".SH NAME\nibid \\- find passages in your documents, with their places\n.SH SYNOPSIS\n"
             ".B ibid\n.I COMMAND\n.RI [ ARGUMENT... ]\n.RI [ OPTION... ]\n.SH DESCRIPTION\n");
    append_manual_paragraphs(out, program_text);
    buffer_append_string(out, ".SH COMMANDS\n");
    for (const struct command *const *command = commands; *command; command++) {
        buffer_append_string(out, ".TP\n.BR ");
        append_troff(out, page_name(*command, &arena));
        buffer_append_string(out, " (1)\n");
        append_troff(out, (*command)->summary);
        buffer_append_byte(out, '\n');
    }
    buffer_append_string(out, ".SH OPTIONS\n");
    for (const struct option *row = global_options; row->name; row++)
        append_manual_option(out, row, &arena);
    buffer_append_string(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT_OF(exit_rows); i++) {
        buffer_printf(out, ".TP\n.B %d\n", exit_rows[i].status);
        append_troff(out, exit_rows[i].meaning);
        buffer_append_byte(out, '\n');
    }
    buffer_append_string(
        out, ".SH FILES\n"
             ".TP\n.I ~/.local/share/ibid/\nThe data folder, unless told otherwise. What is in it:\n"
             ".TP\n.I ibid.yaml\nSettings; see\n.BR ibid\\-config\\-explain (1).\n"
             ".TP\n.I token\nThe access token of the first start of the server.\n"
             ".TP\n.I socket\nBy which commands reach the process that has the data open.\n"
             ".SH ENVIRONMENT\n.TP\n.B IBID_DATA\nThe data folder.\n"
             ".TP\n.B XDG_DATA_HOME\nStands for ~/.local/share.\n.TP\n.B IBID_SECTION_NAME\n"
             "The setting section.name, for instance IBID_SERVER_PORT.\n.TP\n.B NO_COLOR\n"
             "No colours when it is not empty.\n");
}

void manual_append(const struct command *command, struct buffer *out)
{
    if (command)
        append_command_manual(command, out);
    else
        append_program_manual(out);
}

/* ---- the command ---- */

struct help_options {
    bool man;
};

/* The commands of a family; nothing when there is none of that name. */
static void append_family_help(const char *family, struct buffer *out)
{
    for (const struct command *const *command = commands; *command; command++)
        if (command_is_of(*command, family))
            append_summary(*command, out);
    if (out->size > 0)
        buffer_append_string(out, "\n'ibid COMMAND --help' explains each.\n");
}

static void append_asked(const struct invocation *invocation, const struct command *command,
                         struct buffer *out)
{
    const struct help_options *options = invocation->parameters;
    if (options->man)
        manual_append(command, out);
    else
        help_append(&invocation->terminal, command, out);
}

static ibid_code run_help(struct invocation *invocation, ibid_error *err)
{
    const struct help_options *options = invocation->parameters;
    const char *const *names = invocation->arguments;
    const int count = (int)invocation->argument_count;
    const struct command *command = NULL;
    AUTO_BUFFER out = BUFFER(4 * 1024 * 1024);
    int words;
    if (count > 0)
        command = command_find(count, names, &words);
    if (command || count == 0)
        append_asked(invocation, command, &out);
    else if (count == 1 && !options->man)
        append_family_help(names[0], &out);
    if (out.size == 0)
        return command_missing(names[0], err);
    print_buffer(&out);
    return IBID_OK;
}

static const struct option help_table[] = {
    {.name = "man",
     .type = OPTION_BOOL,
     .offset = offsetof(struct help_options, man),
     .help = "As the source of a manual page."},
    OPTION_END,
};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .argument_max = 2,
    .summary = "Explain ibid or one of its commands",
    .examples = "ibid help search\nibid help --man search | man -l -",
    .parameters = help_table,
    .parameters_size = sizeof(struct help_options),
    .bare = true,
    .run = run_help,
};

static ibid_code run_version(struct invocation *invocation, ibid_error *err)
{
    if (invocation->global.json) {
        AUTO_JSON *answer = json_object();
        json_set_string(answer, "version", IBID_VERSION);
        print_json(answer);
    } else {
        puts("ibid " IBID_VERSION);
    }
    return IBID_OK;
}

const struct command command_version = {
    .name = "version",
    .summary = "Print the version",
    .bare = true,
    .run = run_version,
};
