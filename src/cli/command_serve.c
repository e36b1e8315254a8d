#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli/command.h"

enum { GRACE_S = 10, WAIT_FOR_DATA_S = 10 };

struct serve_options {
    int64_t port;
    const char *address;
};

/* Every connection takes two descriptors, and the store its own: as many as the system gives. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static ibid_code apply_options(struct invocation *invocation, ibid_error *err)
{
    const struct serve_options *options = invocation->parameters;
    struct settings *table = instance_settings_table(invocation->settings.instance);
    if (options->port >= 0)
        TRY(settings_set(table, STR("server.port"),
                         str_from(arena_printf(&invocation->arena, "%lld", (long long)options->port)), "flag",
                         err));
    if (options->address)
        TRY(settings_set(table, STR("server.address"), str_from(options->address), "flag", err));
    return IBID_OK;
}

/* Another command may have the data for a moment. */
static ibid_code open_data(struct invocation *invocation, struct rest *rest, ibid_error *err)
{
    struct instance *instance;
    for (int tries = 0;; tries++) {
        const ibid_code code = rest_instance(rest, true, &instance, err);
        if (code != IBID_EBUSY || atomic_load(invocation->cancel))
            return code;
        if (tries == WAIT_FOR_DATA_S * 10)
            return fail(
                err, IBID_EBUSY,
                "another ibid process has %s open (a server, or 'ibid index'): stop it, or wait for it",
                invocation->settings.folder);
        if (tries == 0)
            fprintf(stderr, "Waiting for another ibid process to let go of %s\n",
                    invocation->settings.folder);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

static void announce(const struct invocation *invocation, const struct http_server *server, const char *token)
{
    const struct server_settings *settings = &invocation->settings.server;
    const struct terminal *terminal = &invocation->terminal;
    struct ip_address address;
    const bool any = ip_parse(str_from(settings->address), &address) && !ip_is_loopback(&address);
    AUTO_BUFFER out = BUFFER(64 * 1024);
    const bool ipv6 = strchr(settings->address, ':') != NULL;
    AUTO_FREE char *url = xasprintf(ipv6 ? "http://[%s]:%u" : "http://%s:%u",
                                    any ? "127.0.0.1" : settings->address, http_server_port(server));
    buffer_append_string(&out, "ibid serves ");
    terminal_append(terminal, &out, STYLE_BOLD, str_from(invocation->settings.folder));
    buffer_append_string(&out, "\n\n  Page    ");
    terminal_append(terminal, &out, STYLE_TITLE,
                    str_from(arena_printf((struct arena *)&invocation->arena, "%s/#token=%s", url, token)));
    buffer_printf(&out, "\n  REST    %s/api/v1 (described by %s/api/v1/openapi.json)\n", url, url);
    buffer_printf(&out, "  Token   in %s/token; send it as 'Authorization: Bearer ...'\n",
                  invocation->settings.folder);
    buffer_append_string(&out, "  Search  ibid search \"your question\"\n  Stop    Ctrl-C\n\n");
    if (any)
        buffer_append_string(
            &out, "Other machines can reach this server, unencrypted: put a proxy that speaks TLS in "
                  "front of it.\n");
    print_buffer(&out);
    fflush(stdout);
}

static ibid_code serve(struct invocation *invocation, struct rest *rest, ibid_error *err)
{
    struct http_server *server;
    AUTO_FREE char *token = NULL;
    bool is_new;
    TRY(open_data(invocation, rest, err));
    TRY(rest_owner_token(rest, &token, &is_new, err));
    TRY(rest_serve(rest, true, true, &server, err));
    if (!invocation->global.quiet)
        announce(invocation, server, token);
    while (!atomic_load(invocation->cancel))
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (!invocation->global.quiet)
        fputs("Stopping: requests under way are finished first (Ctrl-C again ends at once)\n", stderr);
    http_server_close(server, GRACE_S * SECOND_US);
    return IBID_OK;
}

static ibid_code run_serve(struct invocation *invocation, ibid_error *err)
{
    struct rest *rest;
    TRY(apply_options(invocation, err));
    if (door_is_remote(invocation->door))
        return fail(err, IBID_EBUSY, "another ibid process serves %s already (see 'ibid status')",
                    invocation->settings.folder);
    raise_file_limit();
    TRY(door_rest(invocation->door, &rest, err));
    return serve(invocation, rest, err);
}

static const struct option serve_table[] = {
    {.name = "port",
     .letter = 'p',
     .type = OPTION_INT,
     .offset = offsetof(struct serve_options, port),
     .default_text = "-1",
     .low = -1,
     .high = 65535,
     .help = "Port to listen on; 0: any free one. Without it, as server.port is set (8420)."},
    {.name = "address",
     .type = OPTION_STRING,
     .offset = offsetof(struct serve_options, address),
     .placeholder = "ADDRESS",
     .help = "Address to listen on; without it, as server.address is set (127.0.0.1)."},
    OPTION_END,
};

const struct command command_serve = {
    .name = "serve",
    .summary = "Serve the page and the REST interface",
    .text =
        "Listens on this machine only, unless told otherwise, and prints the address of the page with the "
        "access token in it. The token was made at the first start and is kept in the file 'token' of the "
        "data folder, readable by its owner. Other ibid commands work beside the server: they go through "
        "its socket.\n\n"
        "The server speaks HTTP without encryption. For other machines put a proxy with TLS (nginx, Caddy) "
        "in front and name it in server.hosts.",
    .examples = "ibid serve\n"
                "ibid serve --port 9000\n"
                "curl -H \"Authorization: Bearer $(cat ~/.local/share/ibid/token)\" \\\n"
                "  http://127.0.0.1:8420/api/v1/search -H 'Content-Type: application/json' -d '{\"query\": "
                "\"budget\"}'",
    .parameters = serve_table,
    .parameters_size = sizeof(struct serve_options),
    .run = run_serve,
};
