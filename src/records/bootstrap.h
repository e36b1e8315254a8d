/* What every new store holds from its first transaction on (migrations/0001): the local owner, one
 * workspace, one collection, the built-in connectors and the source of uploads. */
#pragma once

#include <stdint.h>

#define OWNER_USER_ID INT64_C(1)         /* 'owner', System-Admin: the person at this machine */
#define DEFAULT_WORKSPACE_ID INT64_C(1)  /* 'default', owned by the local owner */
#define DEFAULT_COLLECTION_ID INT64_C(1) /* 'default' */
#define FOLDER_CONNECTOR_ID INT64_C(1)   /* 'folders', type "folder" */
#define UPLOAD_CONNECTOR_ID INT64_C(2)   /* 'uploads', type "upload" */
#define UPLOAD_SOURCE_ID INT64_C(1)      /* where the documents of users come from */
