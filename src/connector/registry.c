#include "connector/connector.h"
#include "connector/members.h"

const struct connector_ops *const connector_registry[] = {
    &connector_folder,
    &connector_upload,
    NULL,
};
