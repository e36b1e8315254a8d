/* From a request to its route and back (inside api/rest/ only). */
#pragma once

#include "net/http_server.h"

/* The functions of a `struct http_service` whose context is a `struct rest`. */
ibid_code dispatch_begin(struct http_call *http, void *rest, ibid_error *err) MUST_CHECK;
void dispatch_handle(struct http_call *http, struct http_reply *reply, void *rest);
void dispatch_refuse(struct arena *arena, int status, const ibid_error *error, struct http_reply *reply,
                     void *rest);
extern const struct http_header dispatch_common_headers[];
