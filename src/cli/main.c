/* The program `ibid`: finds the command, reads options and settings, runs it, and says what went wrong. */
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/command_list.h"

extern char **environ;

/* Raised by the first Ctrl-C; the second ends the process. A signal handler can reach nothing but a global.
 */
static _Atomic bool interrupted;

static void on_signal(int number)
{
    if (atomic_exchange(&interrupted, true))
        _exit(EXIT_INTERRUPTED);
}

static void catch_signals(void)
{
    const struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static int complain(const ibid_error *error, ibid_code code)
{
    const bool colours = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    const struct terminal terminal = {.colours = colours};
    AUTO_BUFFER out = BUFFER(64 * 1024);
    fflush(stdout);
    terminal_append(&terminal, &out, STYLE_BAD,
                    str_from(error->message)); /* it may name a file, as a document may be called */
    fprintf(stderr, "ibid: %.*s\n", STR_ARG(buffer_str(&out)));
    return exit_status_of(code);
}

/* ---- options and settings ---- */

static ibid_code read_arguments(struct invocation *invocation, int argc, const char *const argv[],
                                ibid_error *err)
{
    const struct command *command = invocation->command;
    const struct option *table = command_options(command, &invocation->arena);
    char *values = arena_alloc(&invocation->arena, GLOBAL_SIZE + command->parameters_size + 1);
    option_set_defaults(table, values, &invocation->arena);
    if (command->parameters) /* hidden rows have defaults, too */
        option_set_defaults(command->parameters, values + GLOBAL_SIZE, &invocation->arena);
    TRY(option_parse_arguments(table, values, argc, argv, &invocation->arena, &invocation->arguments,
                               &invocation->argument_count, err));
    memcpy(&invocation->global, values, sizeof invocation->global);
    invocation->parameters = values + GLOBAL_SIZE;
    if (invocation->global.help)
        return IBID_OK;
    if (invocation->argument_count < command->argument_min)
        return fail(err, IBID_EINVAL, "what? 'ibid %s %s' (see --help)", command->name, command->arguments);
    if (invocation->argument_count > command->argument_max)
        return fail(err, IBID_EINVAL, "'%s' is too much for 'ibid %s%s%s' (see --help)",
                    invocation->arguments[command->argument_max], command->name,
                    command->arguments ? " " : "", command->arguments ? command->arguments : "");
    return IBID_OK;
}

static ibid_code apply_set(struct invocation *invocation, ibid_error *err)
{
    struct settings *table = instance_settings_table(invocation->settings.instance);
    for (size_t i = 0; i < invocation->global.set.count; i++)
        TRY(settings_set_pair(table, str_from(invocation->global.set.items[i]), "flag", err));
    return IBID_OK;
}

static ibid_code load_settings(struct invocation *invocation, ibid_error *err)
{
    rest_settings_init(&invocation->settings);
    TRY(instance_data_folder(invocation->global.data, &invocation->settings.folder, err));
    TRY(instance_settings_load(invocation->settings.instance, invocation->settings.folder,
                               invocation->global.config, environ, err));
    TRY(apply_set(invocation, err));
    const struct log_settings *log = &invocation->settings.log;
    log_setup(invocation->global.verbose ? LOG_DEBUG : (enum log_level)log->level,
              (enum log_format)log->format);
    return IBID_OK;
}

/* ---- running ---- */

static ibid_code run(struct invocation *invocation, ibid_error *err)
{
    if (invocation->command->bare)
        return invocation->command->run(invocation, err);
    const ibid_code loaded = load_settings(invocation, err);
    ibid_code code = loaded;
    if (loaded == IBID_OK) {
        invocation->door = door_new(&invocation->settings, invocation->command->shares_data, &interrupted);
        code = invocation->command->run(invocation, err);
        door_free(invocation->door);
    }
    rest_settings_release(&invocation->settings);
    return code;
}

static int show_help(const struct command *command)
{
    struct terminal terminal;
    AUTO_BUFFER out = BUFFER(1024 * 1024);
    terminal_init(&terminal, false);
    help_append(&terminal, command, &out);
    print_buffer(&out);
    return EXIT_OK;
}

/* `ibid search ... | head -1` is no reason to complain. */
static bool reader_has_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

static int run_command(const struct command *command, int argc, const char *const argv[])
{
    struct invocation invocation = {.command = command, .cancel = &interrupted};
    ibid_error error = {0};
    ibid_code code = read_arguments(&invocation, argc, argv, &error);
    int status;
    if (code == IBID_OK && invocation.global.help) {
        status = show_help(command);
    } else {
        terminal_init(&invocation.terminal, invocation.global.no_color);
        if (code == IBID_OK)
            code = run(&invocation, &error);
        status = code == IBID_OK ? EXIT_OK : complain(&error, code);
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
        if (!reader_has_gone())
            fputs("ibid: cannot write the output\n", stderr);
        status = EXIT_FAILED;
    }
    arena_release(&invocation.arena);
    return status;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int main(int argc, char *argv[])
{
    const char *const *words = (const char *const *)argv + 1;
    int count = argc - 1, name_words;
    catch_signals();
    if (count == 0 || asks_for_help(words[0])) {
        setlocale(LC_CTYPE, "");
        return show_help(NULL);
    }
    if (strcmp(words[0], "--version") == 0)
        return run_command(&command_version, count - 1, words + 1);
    const struct command *command = command_find(count, words, &name_words);
    if (!command && count == 2 && asks_for_help(words[1])) /* a family's: "token --help" */
        return run_command(&command_help, 1, words);
    if (!command) {
        ibid_error error = {0};
        return complain(&error, command_missing(words[0], &error));
    }
    return run_command(command, count - name_words, words + name_words);
}
