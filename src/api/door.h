/* The way of the command line and of libibid to the REST routes: through the unix socket of the process that
 * has the data open, else in this process. Either way the same routes answer. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "api/rest/rest.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct door;

/* `settings` and `cancel` are borrowed. Nothing is opened before the first call. `shares`: while this process
 * has the data open, others may reach it through its socket (for commands that take long). */
struct door *door_new(const struct rest_settings *settings, bool shares, const _Atomic bool *cancel)
    __attribute__((returns_nonnull));
void door_free(struct door *take_door); /* NULL is fine */

/* Whether another process answers. Decided at the first call. */
bool door_is_remote(struct door *door);

/* Calls a route; `body` is borrowed and may be NULL. *ret is the answer's JSON, the caller's; NULL when it is
 * none. A status of 400 and above is an error with the code and message that the route gave. Waits a while
 * for a process that has the data open but does not answer yet; then IBID_EBUSY. Thread-safe. */
ibid_code door_call(struct door *door, const char *method, const char *target, const json_t *body,
                    json_t **ret, ibid_error *err) MUST_CHECK;
/* The same for answers of any kind, as their bytes; `body` is JSON or empty. */
ibid_code door_text(struct door *door, const char *method, const char *target, struct str body,
                    struct arena *arena, struct str *ret, ibid_error *err) MUST_CHECK;

/* The door's own REST, opened; for `serve`. */
ibid_code door_rest(struct door *door, struct rest **ret, ibid_error *err) MUST_CHECK;
