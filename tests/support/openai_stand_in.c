#include "tests/support/openai_stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/memory.h"
#include "embedder/embedder.h"
#include "net/policy.h"
#include "tests/support/tiny_server.h"

static void reply(struct buffer *out, const char *status, struct str body)
{
    buffer_printf(out, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", status,
                  body.size);
    buffer_append_str(out, body);
}

static void refuse(struct buffer *out, const char *status, const char *message)
{
    AUTO_FREE char *body = xasprintf("{\"error\": {\"message\": \"%s\"}}", message);
    reply(out, status, str_from(body));
}

static void append_base64(struct buffer *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned bits = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        buffer_append_byte(out, digits[bits >> 18]);
        buffer_append_byte(out, digits[bits >> 12 & 63]);
        buffer_append_byte(out, left > 1 ? digits[bits >> 6 & 63] : '=');
        buffer_append_byte(out, left > 2 ? digits[bits & 63] : '=');
    }
}

static void append_vector(struct buffer *out, struct str text, int64_t dimension, bool base64)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct embedder_ops *ops = embedder_find("hash");
    void *options = arena_alloc(&arena, ops->options_size);
    struct embedder *embedder;
    float *vector = ARENA_ARRAY(&arena, float, (size_t)dimension);
    option_set_defaults(ops->options, options, &arena);
    const char *size = arena_printf(&arena, "%lld", (long long)dimension);
    if (option_set(option_find(ops->options, STR("dimension")), options, str_from(size), &arena, NULL) !=
            IBID_OK ||
        embedder_open(ops, NULL, options, &embedder, NULL) != IBID_OK ||
        embedder_embed(embedder, EMBED_PASSAGE, &text, 1, vector, NULL) != IBID_OK)
        abort();
    if (base64) {
        buffer_append_byte(out, '"');
        append_base64(out, (const unsigned char *)vector, (size_t)dimension * sizeof *vector);
        buffer_append_byte(out, '"');
    } else {
        for (int64_t i = 0; i < dimension; i++) /* not of length 1: some services do not normalise */
            buffer_printf(out, "%s%.9g", i ? "," : "[", 3.0 * (double)vector[i]);
        buffer_append_byte(out, ']');
    }
    embedder_close(embedder);
}

static void note_request(struct stand_in *self, const json_t *inputs, struct str input_type)
{
    const size_t count = json_array_size(inputs);
    pthread_mutex_lock(&self->lock);
    if (count > self->largest_batch)
        self->largest_batch = (unsigned)count;
    snprintf(self->last_input, sizeof self->last_input, "%s",
             json_string_value(json_array_get(inputs, count - 1)));
    snprintf(self->last_input_type, sizeof self->last_input_type, "%.*s", STR_ARG(input_type));
    pthread_mutex_unlock(&self->lock);
}

static bool inputs_are_right(const json_t *inputs)
{
    const size_t count = json_array_size(inputs);
    bool right = count > 0 && count <= 2048;
    for (size_t i = 0; i < count && right; i++)
        right = json_string_length(json_array_get(inputs, i)) > 0;
    return right;
}

static void answer(struct stand_in *self, struct str body, struct buffer *out)
{
    static const char *const known[] = {"model",      "input",      "encoding_format",
                                        "dimensions", "input_type", NULL};
    AUTO_JSON *root = NULL;
    AUTO_BUFFER data = BUFFER(64 << 20);
    struct str model = STR_EMPTY, encoding = STR("float"), input_type = STR_EMPTY;
    int64_t dimension = STAND_IN_DIMENSION;
    if (json_parse(body, &root, NULL) != IBID_OK || json_check_keys(root, known, NULL) != IBID_OK ||
        json_get_str(root, "model", &model, NULL) != IBID_OK ||
        json_get_str(root, "encoding_format", &encoding, NULL) != IBID_OK ||
        json_get_str(root, "input_type", &input_type, NULL) != IBID_OK ||
        json_get_int(root, "dimensions", 8, 512, &dimension, NULL) != IBID_OK) {
        refuse(out, "400 Bad Request", "wrong request: dimensions 999");
        return;
    }
    if (!str_is(model, "stand-in")) {
        refuse(out, "404 Not Found", "no such model");
        return;
    }
    const json_t *inputs = json_object_get(root, "input");
    const bool base64 = str_is(encoding, "base64");
    if (!inputs_are_right(inputs) || (base64 && self->refuses_base64)) {
        refuse(out, "400 Bad Request", "wrong input or encoding_format");
        return;
    }
    *(base64 ? &self->saw_base64 : &self->saw_plain) = true;
    note_request(self, inputs, input_type);
    const size_t count = json_array_size(inputs);
    buffer_append_string(&data, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < count; i++) {
        const size_t index = self->shuffles ? count - 1 - i : i;
        const json_t *text = json_array_get(inputs, index);
        buffer_printf(&data, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i ? "," : "", index);
        append_vector(&data, (struct str){json_string_value(text), json_string_length(text)}, dimension,
                      base64);
        buffer_append_byte(&data, '}');
    }
    buffer_append_string(&data, "],\"usage\":{\"prompt_tokens\":1,\"total_tokens\":1}}");
    reply(out, "200 OK", buffer_str(&data));
}

static bool has_line(struct str head, const char *line)
{
    struct str found;
    while (str_split(&head, '\n', &found))
        if (str_equal_nocase(str_trim(found), str_from(line)))
            return true;
    return false;
}

/* Whether this request is one of those that are to fail. */
static bool takes_failure(struct stand_in *self)
{
    unsigned left = self->failures;
    while (left > 0 && !atomic_compare_exchange_weak(&self->failures, &left, left - 1))
        ;
    return left > 0;
}

static bool serve(struct str head, struct str body, struct buffer *out, void *context)
{
    struct stand_in *self = context;
    self->requests++;
    const unsigned under_way = ++self->under_way;
    unsigned most = self->most_under_way;
    while (under_way > most && !atomic_compare_exchange_weak(&self->most_under_way, &most, under_way))
        ;
    nanosleep(&(struct timespec){.tv_nsec = self->delay_ms * 1000000L}, NULL);
    if (takes_failure(self)) {
        refuse(out, self->failure, "told to fail");
    } else if (self->reply) {
        reply(out, "200 OK", str_from(self->reply));
    } else if (!has_line(head, "Authorization: Bearer " STAND_IN_KEY)) {
        refuse(out, "401 Unauthorized", "wrong key");
    } else if (!str_starts_with(head, "POST /v1/embeddings HTTP/1.1") ||
               !has_line(head, "Content-Type: application/json")) {
        refuse(out, "404 Not Found", "no such call");
    } else {
        answer(self, body, out);
    }
    self->under_way--;
    return true;
}

struct stand_in *stand_in_start(void)
{
    struct stand_in *self = xcalloc(1, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    self->server = tiny_server_start(NULL, serve, self);
    return self;
}

void stand_in_stop(struct stand_in *self)
{
    tiny_server_stop(self->server);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static const char *allowed[] = {"127.0.0.1"};
static const struct net_settings allowing = {.allow = {allowed, COUNT_OF(allowed)}};
const struct embedder_context stand_in_context = {.net = &allowing};

void *stand_in_options(const struct stand_in *self, struct arena *arena, const char *const settings[][2])
{
    const struct embedder_ops *ops = embedder_find("openai");
    const char *address = arena_printf(arena, "http://127.0.0.1:%u/v1", tiny_server_port(self->server));
    const char *const own[][2] = {
        {"base_url", address}, {"model", "stand-in"}, {"api_key", STAND_IN_KEY}, {NULL, NULL}};
    void *options = arena_alloc(arena, ops->options_size);
    option_set_defaults(ops->options, options, arena);
    const char *const(*lists[])[2] = {own, settings};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *const(*pair)[2] = lists[i]; (*pair)[0]; pair++)
            if (option_set(option_find(ops->options, str_from((*pair)[0])), options, str_from((*pair)[1]),
                           arena, NULL) != IBID_OK)
                abort();
    return options;
}
