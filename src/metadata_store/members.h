/* The members of the metadata store seam; everyone else finds them through metadata_store_registry. */
#pragma once

#include "metadata_store/metadata_store.h"

extern const struct metadata_store_ops metadata_store_sqlite;
