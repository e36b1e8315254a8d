#include "connector/connector.h"

const struct connector_ops *connector_find(const char *name)
{
    for (size_t i = 0; connector_registry[i]; i++)
        if (strcmp(connector_registry[i]->name, name) == 0)
            return connector_registry[i];
    return NULL;
}

ibid_code connector_open(const struct connector_ops *ops, const void *options, struct connector **ret,
                         ibid_error *err)
{
    struct connector *connector;
    TRY(ops->open(options, &connector, err));
    ASSERT(connector->ops == ops);
    *ret = connector;
    return IBID_OK;
}

void connector_close(struct connector *connector)
{
    if (connector)
        connector->ops->close(connector);
}

ibid_code connector_discover(struct connector *connector, const char *source, const void *source_options,
                             const _Atomic bool *cancel, connector_receive *receive, void *context,
                             bool *ret_complete, ibid_error *err)
{
    return connector->ops->discover(connector, source, source_options, cancel, receive, context, ret_complete,
                                    err);
}

ibid_code connector_fetch(struct connector *connector, const char *source, const void *source_options,
                          struct str external_key, int64_t limit, struct arena *arena,
                          struct connector_item *ret_item, int *ret_fd, ibid_error *err)
{
    return connector->ops->fetch(connector, source, source_options, external_key, limit, arena, ret_item,
                                 ret_fd, err);
}

ibid_code connector_resolve(const struct connector_ops *ops, const char *source, struct arena *arena,
                            const char **ret, ibid_error *err)
{
    if (ops->resolve)
        return ops->resolve(source, arena, ret, err);
    *ret = arena_strdup(arena, source);
    return IBID_OK;
}

bool connector_covers(const struct connector_ops *ops, const char *outer, const void *outer_options,
                      const char *inner, const void *inner_options, struct arena *arena,
                      struct str *ret_prefix)
{
    return ops->covers && ops->covers(outer, outer_options, inner, inner_options, arena, ret_prefix);
}

bool connector_item_is_unchanged(const struct connector *connector, const struct connector_item *item, int fd)
{
    return !connector->ops->is_unchanged || connector->ops->is_unchanged(item, fd);
}
