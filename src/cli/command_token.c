#include <stdio.h>
#include <string.h>

#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "cli/command.h"

/* ---- list ---- */

/* Without its zone, which the help names. */
static void append_time(struct buffer *out, const char *label, struct str time, const char *otherwise)
{
    enum { TO_THE_MINUTE = sizeof "2026-01-31 12:00" - 1 };
    char shown[32];
    buffer_printf(out, "  %s %.*s", label, TO_THE_MINUTE,
                  time.size > 0 ? format_time(time, shown) : otherwise);
}

static void append_token(const struct terminal *terminal, const json_t *token, struct buffer *out)
{
    const struct str state = member_text(token, "state"), name = member_text(token, "name");
    const bool valid = str_is(state, "valid");
    const size_t width = text_width(name);
    buffer_printf(out, "%5lld  ", (long long)member_int(token, "id"));
    terminal_append(terminal, out, valid ? STYLE_GOOD : STYLE_DIM, state);
    buffer_append_repeated(out, ' ', state.size < 9 ? 9 - state.size : 1);
    terminal_append(terminal, out, STYLE_BOLD, name);
    buffer_append_repeated(out, ' ', width < 16 ? 16 - width : 1);
    buffer_printf(out, "%s...", member_string(token, "hint"));
    append_time(out, "made", member_text(token, "created_at"), "");
    append_time(out, "used", member_text(token, "last_used_at"), "never");
    append_time(out, "expires", member_text(token, "expires_at"), "never");
    buffer_append_byte(out, '\n');
}

static ibid_code run_list(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER out = BUFFER(16 * 1024 * 1024);
    TRY(door_call(invocation->door, "GET", "/api/v1/tokens", NULL, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    size_t index;
    json_t *token;
    json_array_foreach(json_object_get(answer, "tokens"), index, token)
        append_token(&invocation->terminal, token, &out);
    if (index == 0)
        buffer_append_string(&out,
                             "No tokens. 'ibid serve' makes the first one, 'ibid token create' others.\n");
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_token_list = {
    .name = "token list",
    .summary = "List the access tokens of the server",
    .text = "One line for each token: its number, whether it holds, its name, how it begins, when it was "
            "made, when it was last used (to within five minutes), and when it expires. Times are in UTC. "
            "The token itself is shown only once, when it is made.",
    .examples = "ibid token list",
    .run = run_list,
};

/* ---- create ---- */

static ibid_code run_create(struct invocation *invocation, ibid_error *err)
{
    struct token_parameters *parameters = invocation->parameters;
    AUTO_JSON *body = json_object(), *answer = NULL;
    parameters->name = invocation->arguments[0];
    parameters_to_json(token_parameters, parameters, body);
    TRY(door_call(invocation->door, "POST", "/api/v1/tokens", body, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    puts(member_string(answer, "token"));
    if (!invocation->global.quiet)
        fprintf(stderr, "This is token %lld. It is not shown again; 'ibid token revoke %lld' ends it.\n",
                (long long)member_int(answer, "id"), (long long)member_int(answer, "id"));
    return IBID_OK;
}

static const char *const name_is_an_argument[] = {"name", NULL};

const struct command command_token_create = {
    .name = "token create",
    .arguments = "NAME",
    .argument_min = 1,
    .argument_max = 1,
    .summary = "Make an access token for the server",
    .text = "Prints the token, once: only a hash of it is kept. NAME says what it is for. Whoever has the "
            "token may do what you may do through the server, but for naming files of this machine.",
    .examples = "ibid token create laptop\n"
                "ibid token create 'backup script' --expires-in 30d\n"
                "ibid token create prometheus --metrics  # may read /metrics and nothing else",
    .parameters = token_parameters,
    .parameters_size = sizeof(struct token_parameters),
    .hidden = name_is_an_argument,
    .run = run_create,
};

/* ---- revoke ---- */

static ibid_code revoke(struct invocation *invocation, const char *id, json_t **ret, ibid_error *err)
{
    if (*id == '\0' || strspn(id, "0123456789") != strlen(id))
        return fail(err, IBID_EINVAL, "'%s' is no number of a token (see 'ibid token list')", id);
    return door_call(invocation->door, "DELETE", arena_printf(&invocation->arena, "/api/v1/tokens/%s", id),
                     NULL, ret, err);
}

static ibid_code run_revoke(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = json_object();
    json_t *revoked = json_array();
    json_set(answer, "revoked", revoked);
    for (size_t i = 0; i < invocation->argument_count; i++) {
        json_t *token = NULL;
        TRY(revoke(invocation, invocation->arguments[i], &token, err));
        json_array_append_new(revoked, token);
        if (invocation->global.json || invocation->global.quiet)
            continue;
        AUTO_BUFFER out = BUFFER(64 * 1024);
        buffer_printf(&out, "Revoked token %lld, ", (long long)member_int(token, "id"));
        terminal_append(&invocation->terminal, &out, STYLE_BOLD, member_text(token, "name"));
        buffer_append_byte(&out, '\n');
        print_buffer(&out);
    }
    if (invocation->global.json)
        print_json(answer);
    return IBID_OK;
}

const struct command command_token_revoke = {
    .name = "token revoke",
    .arguments = "NUMBER...",
    .argument_min = 1,
    .argument_max = 1000,
    .summary = "Revoke access tokens",
    .text =
        "A revoked token is refused from that moment on, also by a server that runs, and so are the links "
        "to originals that were made with it. It stays in the list and cannot be taken into use again. When "
        "the token in the file 'token' of the data folder was revoked, the next 'ibid serve' makes a new "
        "one.",
    .examples = "ibid token list  # which number?\n"
                "ibid token revoke 2",
    .run = run_revoke,
};
