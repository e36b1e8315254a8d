#include "instance/original.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/origin.h"
#include "records/source.h"

static ibid_code fetch_from_source(struct instance *instance, const struct document *document, int *ret_fd,
                                   ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_TRANSACTION *transaction = NULL;
    struct source source;
    TRY(transaction_begin(instance_metadata(instance), TRANSACTION_READ, &transaction, err));
    TRY(source_load(transaction, document->source_id, &arena, &source, err));
    transaction_rollback(transaction_take(&transaction));
    void *options;
    struct connector *connector;
    struct connector_item item;
    TRY(source_connect(&source, &arena, &options, &connector, err));
    const ibid_code code =
        connector_fetch(connector, arena_str(&arena, source.location).data, options, document->external_key,
                        instance_extract_settings(instance)->max_file_size, &arena, &item, ret_fd, err);
    connector_close(connector);
    return code;
}

ibid_code instance_open_original(struct instance *instance, const struct document *document, int *ret_fd,
                                 int64_t *ret_size, ibid_error *err)
{
    int fd;
    struct stat status;
    if (document->blob)
        TRY(blob_store_open_blob(instance_blobs(instance), &document->sha256, false, &fd, err));
    else
        TRY(fetch_from_source(instance, document, &fd, err));
    if (fstat(fd, &status) != 0) {
        const int os_errno = errno;
        close(fd);
        return fail_errno(err, os_errno, "cannot read the original");
    }
    *ret_fd = fd;
    *ret_size = (int64_t)status.st_size;
    return IBID_OK;
}
