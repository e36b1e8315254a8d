#include "cli/command_list.h"

#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"

const struct command *const commands[] = {
    &command_index,
    &command_search,
    &command_show,
    &command_documents,
    &command_status,
    &command_source_list,
    &command_source_remove,
    &command_serve,
    &command_rm,
    &command_retry,
    &command_extract,
    &command_model_list,
    &command_model_pull,
    &command_model_check,
    &command_embed,
    &command_eval,
    &command_verify,
    &command_config,
    &command_audit,
    &command_token_list,
    &command_token_create,
    &command_token_revoke,
    &command_version,
    &command_help,
    NULL,
};

const struct command *command_find(int argc, const char *const argv[], int *ret_words)
{
    for (const struct command *const *command = commands; *command; command++) {
        const char *space = strchr((*command)->name, ' ');
        const size_t first = space ? (size_t)(space - (*command)->name) : strlen((*command)->name);
        if (argc < 1 || strlen(argv[0]) != first || memcmp(argv[0], (*command)->name, first) != 0)
            continue;
        if (space && (argc < 2 || strcmp(argv[1], space + 1) != 0))
            continue;
        *ret_words = space ? 2 : 1;
        return *command;
    }
    return NULL;
}

bool command_is_of(const struct command *command, const char *family)
{
    const size_t size = strlen(family);
    return strncmp(command->name, family, size) == 0 && command->name[size] == ' ';
}

/* "model" alone names a family: say which commands there are. */
ibid_code command_missing(const char *name, ibid_error *err)
{
    AUTO_BUFFER family = BUFFER(4096);
    for (const struct command *const *command = commands; *command; command++)
        if (command_is_of(*command, name))
            buffer_printf(&family, "%s'ibid %s'", family.size > 0 ? ", " : "", (*command)->name);
    if (family.size > 0)
        return fail(err, IBID_EINVAL, "which one? %s", family.data);
    return fail(err, IBID_EINVAL, "there is no command '%s' (see 'ibid help')", name);
}
