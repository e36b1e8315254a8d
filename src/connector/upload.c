/* Documents that people bring themselves. They are put by ingest and kept by the blob store: there is
 * nothing to list, and nothing is ever gone because it was not listed. */
#include <stdlib.h>

#include "base/memory.h"
#include "connector/members.h"

static const struct option no_options[] = {OPTION_END};

static ibid_code upload_open(const void *options, struct connector **ret, ibid_error *err)
{
    struct connector *connector = xcalloc(1, sizeof *connector);
    connector->ops = &connector_upload;
    *ret = connector;
    return IBID_OK;
}

static void upload_close(struct connector *connector)
{
    free(connector);
}

static ibid_code upload_discover(struct connector *connector, const char *source, const void *source_options,
                                 const _Atomic bool *cancel, connector_receive *receive, void *context,
                                 bool *ret_complete, ibid_error *err)
{
    *ret_complete = false;
    return IBID_OK;
}

static ibid_code upload_fetch(struct connector *connector, const char *source, const void *source_options,
                              struct str external_key, int64_t limit, struct arena *arena,
                              struct connector_item *ret_item, int *ret_fd, ibid_error *err)
{
    return fail(err, IBID_EUNSUPPORTED, "the bytes of an upload are in the blob store");
}

const struct connector_ops connector_upload = {
    .name = "upload",
    .help = "Documents that people upload.",
    .source_word = "name",
    .options = no_options,
    .options_size = 0,
    .source_options = no_options,
    .source_options_size = 0,
    .open = upload_open,
    .close = upload_close,
    .discover = upload_discover,
    .fetch = upload_fetch,
};
