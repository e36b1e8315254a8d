#include <stdlib.h>

#include "api/rest/rest.h"

#define FIELD(name) offsetof(struct server_settings, name)

static const struct option server_options[] = {
    {.name = "address",
     .type = OPTION_STRING,
     .offset = FIELD(address),
     .default_text = "127.0.0.1",
     .placeholder = "ADDRESS",
     .help = "Address to listen on. Other machines reach the server only if this is not a loopback address; "
             "put a proxy that speaks TLS in front then."},
    {.name = "port",
     .type = OPTION_INT,
     .offset = FIELD(port),
     .default_text = "8420",
     .low = 0,
     .high = 65535,
     .help = "Port to listen on; 0: any free one."},
    {.name = "hosts",
     .type = OPTION_LIST,
     .offset = FIELD(hosts),
     .placeholder = "NAME,...",
     .help = "Names under which the server may be asked, beside localhost and addresses."},
    {.name = "max_requests",
     .type = OPTION_INT,
     .offset = FIELD(max_requests),
     .default_text = "64",
     .low = 1,
     .high = 4096,
     .help = "Requests served at a time; others wait."},
    {.name = "max_connections",
     .type = OPTION_INT,
     .offset = FIELD(max_connections),
     .default_text = "1024",
     .low = 1,
     .high = 65536,
     .help = "Connections held at a time, waiting ones included."},
    {.name = "max_upload",
     .type = OPTION_SIZE,
     .offset = FIELD(max_upload),
     .default_text = "1GB",
     .low = 1024,
     .high = 1e15,
     .help = "Size of one upload, with all its files."},
    {.name = "max_file_size",
     .type = OPTION_SIZE,
     .offset = FIELD(max_file_size),
     .default_text = "50MB",
     .low = 1024,
     .high = 1e15,
     .help = "Size of one uploaded file."},
    {.name = "max_uploads",
     .type = OPTION_INT,
     .offset = FIELD(max_uploads),
     .default_text = "8",
     .low = 1,
     .high = 4096,
     .help = "Uploads received at a time; others are told to try again. Each takes up to max_upload on the "
             "disk, and a descriptor for each file."},
    {.name = "head_timeout",
     .type = OPTION_DURATION,
     .offset = FIELD(head_timeout),
     .default_text = "10s",
     .low = 1e5,
     .high = 600e6,
     .help = "How long the head of a request may take to come."},
    {.name = "idle_timeout",
     .type = OPTION_DURATION,
     .offset = FIELD(idle_timeout),
     .default_text = "60s",
     .low = 1e6,
     .high = 3600e6,
     .help = "How long a request or reply may stand still."},
    OPTION_END,
};

static const struct option_section server_section = {
    .name = "server",
    .help = "The server: REST interface and page.",
    .table = server_options,
};

static const struct option log_options[] = {
    {.name = "level",
     .type = OPTION_CHOICE,
     .choices = "error|warning|info|debug",
     .offset = offsetof(struct log_settings, level),
     .default_text = "warning",
     .help = "What is written to standard error; info: every request, too, without its query."},
    {.name = "format",
     .type = OPTION_CHOICE,
     .choices = "text|json",
     .offset = offsetof(struct log_settings, format),
     .default_text = "text",
     .help = "Lines for people or for programs."},
    OPTION_END,
};

static const struct option_section log_section = {
    .name = "log",
    .help = "What the program says about its work.",
    .table = log_options,
};

static const struct option audit_options[] = {
    {.name = "keep",
     .type = OPTION_DURATION,
     .offset = offsetof(struct audit_settings, keep),
     .default_text = "8760h",
     .low = 0,
     .high = 9e17,
     .help = "How long an entry of the audit log is kept; 0: for ever."},
    OPTION_END,
};

static const struct option_section audit_section = {
    .name = "audit",
    .help = "The log of who changed what.",
    .table = audit_options,
};

void rest_settings_init(struct rest_settings *settings)
{
    *settings = (struct rest_settings){.instance = instance_settings_new()};
    struct settings *table = instance_settings_table(settings->instance);
    settings_add(table, &search_section, &settings->search);
    settings_add(table, &server_section, &settings->server);
    settings_add(table, &log_section, &settings->log);
    settings_add(table, &audit_section, &settings->audit);
}

void rest_settings_release(struct rest_settings *settings)
{
    instance_settings_free(settings->instance);
    free(settings->folder);
}
