/* What a document says of itself: title, author, times, language, and the rest of its metadata. */
#pragma once

#include "connector/connector.h"
#include "ingest/task.h"

/* Fills title, author, language, metadata and times of the task from its extraction, the source's word and
 * the file's name, in this order. */
void fill_fields(struct task *task, const struct connector_item *item);
