/* The embedding stage: batches filled across documents, each text embedded once. */
#pragma once

#include "ingest/task.h"

struct pipeline;
struct embedding;

/* Looks up which chunks of a task have vectors already, and makes room for the others. */
ibid_code prepare_embedding(struct pipeline *pipeline, struct task *task, const struct recipe *recipe,
                            ibid_error *err) MUST_CHECK;

/* Threads start when the first task comes in, as many as suit its embedder. */
struct embedding *embedding_new(struct pipeline *pipeline) __attribute__((returns_nonnull));
/* Nothing comes in any more: finishes what is there. */
void embedding_close(struct embedding *take_embedding);

/* Takes a task with texts to embed; waits for room. It goes on to pipeline->publishing when its last text
 * is done; after a cancel it is dropped. All tasks of a pipeline have the same embedder. */
void embedding_add(struct embedding *embedding, struct task *take_task, struct embedder *embedder);
