/* The members of the blob store seam; everyone else finds them through blob_store_registry. */
#pragma once

#include "blob_store/blob_store.h"

extern const struct blob_store_ops blob_store_local;
