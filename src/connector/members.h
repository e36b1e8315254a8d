/* The members of the connector seam; everyone else finds them through connector_registry. */
#pragma once

#include "connector/connector.h"

extern const struct connector_ops connector_folder;
extern const struct connector_ops connector_upload;
