#include "instance/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"

static const struct option data_options[] = {
    {.name = "metadata_store",
     .type = OPTION_STRING,
     .offset = offsetof(struct member_settings, metadata_store),
     .placeholder = "NAME",
     .help = "Where records are kept; sqlite unless set."},
    {.name = "blob_store",
     .type = OPTION_STRING,
     .offset = offsetof(struct member_settings, blob_store),
     .placeholder = "NAME",
     .help = "Where the bytes of uploads are kept; local unless set."},
    OPTION_END,
};
static const struct option index_options[] = {
    {.name = "store",
     .type = OPTION_STRING,
     .offset = offsetof(struct member_settings, index),
     .placeholder = "NAME",
     .help = "Where vectors and words are kept for searching; ibid's own index unless set."},
    OPTION_END,
};
static const struct option embedder_options[] = {
    {.name = "provider",
     .type = OPTION_STRING,
     .offset = offsetof(struct member_settings, embedder),
     .placeholder = "NAME",
     .help = "What turns text into vectors; a model on this machine unless set."},
    OPTION_END,
};
static const struct option_section data_section = {"data", "Where things are kept.", data_options};
static const struct option_section index_section = {"index", "The search index.", index_options};
static const struct option_section embedder_section = {"embedder", "Searching by meaning.", embedder_options};

/* Adds "prefix.name" for a member that has options; NULL when it has none. */
static void *add_member(struct instance_settings *settings, const char *prefix, const char *name,
                        const char *help, const struct option *options, size_t size)
{
    void *values = arena_alloc(&settings->arena, size ? size : 1);
    if (options && options->name) {
        struct option_section *section = ARENA_NEW(&settings->arena, struct option_section);
        *section =
            (struct option_section){arena_printf(&settings->arena, "%s.%s", prefix, name), help, options};
        settings_add(settings->table, section, values);
    }
    return values;
}

/* The registries differ in type, not in shape. */
#define ADD_MEMBERS(settings, prefix, registry, values)                                          \
    for (size_t i = 0; (registry)[i]; i++) {                                                     \
        ASSERT(i < MEMBERS_LIMIT);                                                               \
        (values)[i] = add_member((settings), (prefix), (registry)[i]->name, (registry)[i]->help, \
                                 (registry)[i]->options, (registry)[i]->options_size);           \
    }

struct instance_settings *instance_settings_new(void)
{
    struct instance_settings *settings = xcalloc(1, sizeof *settings);
    settings->table = settings_new();
    settings_add(settings->table, &data_section, &settings->members);
    ADD_MEMBERS(settings, "data", metadata_store_registry, settings->metadata_stores);
    ADD_MEMBERS(settings, "data", blob_store_registry, settings->blob_stores);
    settings_add(settings->table, &embedder_section, &settings->members);
    ADD_MEMBERS(settings, "embedder", embedder_registry, settings->embedders);
    settings_add(settings->table, &extract_section, &settings->extract);
    settings_add(settings->table, &index_section, &settings->members);
    ADD_MEMBERS(settings, "index", vector_store_registry, settings->vector_stores);
    settings_add(settings->table, &ingest_section, &settings->ingest);
    settings_add(settings->table, &net_section, &settings->net);
    return settings;
}

void instance_settings_free(struct instance_settings *settings)
{
    if (!settings)
        return;
    settings_free(settings->table);
    arena_release(&settings->arena);
    free(settings);
}

struct settings *instance_settings_table(struct instance_settings *settings)
{
    return settings->table;
}

const struct extract_settings *instance_settings_extract(const struct instance_settings *settings)
{
    return &settings->extract;
}

const struct net_settings *instance_settings_net(const struct instance_settings *settings)
{
    return &settings->net;
}

ibid_code instance_settings_load(struct instance_settings *settings, const char *folder, const char *config,
                                 char *const environment[], ibid_error *err)
{
    AUTO_FREE char *usual = path_join(folder, "ibid.yaml");
    if (config || file_exists(usual))
        TRY(settings_load_file(settings->table, config ? config : usual, err));
    return settings_load_environment(settings->table, environment, err);
}

ibid_code instance_data_folder(const char *flag, char **ret, ibid_error *err)
{
    const char *set = flag ? flag : getenv("IBID_DATA");
    if (set && *set) {
        *ret = xstrdup(set);
        return IBID_OK;
    }
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data == '/')
        *ret = path_join(data, "ibid");
    else if (home && *home == '/')
        *ret = path_join(home, ".local/share/ibid");
    else
        return fail(err, IBID_EINVAL,
                    "there is no home folder: say with --data or IBID_DATA where the data is");
    return IBID_OK;
}
