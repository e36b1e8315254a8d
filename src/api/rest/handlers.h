/* The handlers that route.c lists (inside api/rest/ only), and what they share. */
#pragma once

#include "api/rest/route.h"

typedef ibid_code route_handler(struct rest_call *call, struct http_reply *reply, ibid_error *err);

/* page.c */
route_handler handle_page;
/* system.c */
route_handler handle_health, handle_status, handle_metrics, handle_config, handle_verify;
/* openapi.c */
route_handler handle_openapi;
/* search.c */
route_handler handle_search;
/* documents.c */
route_handler handle_documents, handle_document, handle_document_upload, handle_document_remove,
    handle_chunks, handle_text;
/* content.c */
route_handler handle_content, handle_content_link;
/* indexing.c */
route_handler handle_index, handle_index_status, handle_index_cancel, handle_retry;
/* models.c */
route_handler handle_models, handle_model_pull, handle_model_pull_status, handle_model_pull_cancel,
    handle_model_check, handle_embed;
/* sources.c */
route_handler handle_sources, handle_source_remove;
/* tasks.c */
route_handler handle_tasks;
/* tokens.c */
route_handler handle_tokens, handle_token_create, handle_token_revoke;
/* audit.c */
route_handler handle_audit;
/* tools.c */
route_handler handle_extract, handle_eval;

/* The document with that number or file_id (mostly call->id); IBID_ENOTFOUND also where the caller may not
 * read it. */
ibid_code call_document(struct rest_call *call, struct transaction *transaction, const struct scope *scope,
                        struct str id, struct document *ret, ibid_error *err) MUST_CHECK;

/* Appends every source to an array. */
ibid_code call_sources(struct rest_call *call, struct transaction *transaction, json_t *array,
                       ibid_error *err) MUST_CHECK;
