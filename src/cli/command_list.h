/* All commands; everyone else finds them through command_find(). */
#pragma once

#include "cli/command.h"

extern const struct command command_index, command_search, command_show, command_documents, command_status,
    command_serve, command_rm, command_retry, command_extract, command_model_list, command_model_pull,
    command_model_check, command_embed, command_eval, command_verify, command_config, command_source_list,
    command_source_remove, command_audit, command_token_list, command_token_create, command_token_revoke,
    command_version, command_help;
