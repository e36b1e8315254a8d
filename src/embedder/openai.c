/* Any service with OpenAI's embeddings call (POST /embeddings): OpenAI, Azure-like gateways, vLLM, TEI,
 * Ollama, llama-server, LiteLLM. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "embedder/members.h"
#include "embedder/prefix.h"
#include "model/vector.h"
#include "net/http_client.h"
#include "net/url.h"

enum {
    REQUEST_SIZE_MAX = 64 << 20,
    NUMBER_TEXT_MAX = 28, /* bytes that one number of a reply takes at most, its comma included */
    QUERY_ATTEMPTS = 2,   /* somebody is waiting */
    FIRST_PAUSE_US = 500000,
    LONGEST_PAUSE_US = 60 * 1000000, /* asked to wait longer, the caller shall decide */
};

struct openai_options {
    const char *base_url;
    const char *model;
    const char *api_key;
    int64_t dimensions; /* 0: the model's own */
    int64_t batch_size;
    int64_t concurrency;
    int64_t attempts;
    int64_t timeout;
    int64_t max_tokens;
    const char *query_input_type, *passage_input_type; /* NULL: not sent */
    const char *query_prefix, *passage_prefix;
    struct option_list languages;
    double similarity_floor, similarity_ceiling;
};

struct openai_embedder {
    struct embedder base;
    struct arena arena;
    struct openai_options options; /* strings in the arena */
    const char *url;
    const char *authorization; /* NULL: none */
    struct net_policy policy;
    struct http_client *client;
    struct slots *slots;
    _Atomic bool plain_numbers; /* the service refused encoding_format "base64" */
};

#define FIELD(name) offsetof(struct openai_options, name)
static const struct option openai_option_table[] = {
    {.name = "base_url",
     .type = OPTION_STRING,
     .offset = FIELD(base_url),
     .flags = OPTION_DESTINATION,
     .default_text = "https://api.openai.com/v1",
     .placeholder = "URL",
     .help =
         "Where the service is, up to what stands before /embeddings. One in a private network, or on this "
         "machine, needs an entry in net.allow."},
    {.name = "model",
     .type = OPTION_STRING,
     .offset = FIELD(model),
     .default_text = "text-embedding-3-small",
     .help = "The model's name, as the service knows it."},
    {.name = "api_key",
     .type = OPTION_STRING,
     .offset = FIELD(api_key),
     .flags = OPTION_SECRET,
     .help = "Sent as a bearer token. Not needed by most services of one's own."},
    {.name = "dimensions",
     .type = OPTION_INT,
     .offset = FIELD(dimensions),
     .default_text = "0",
     .high = VECTOR_DIMENSION_MAX,
     .help = "Asks for shorter vectors from models that can give them; 0: as the model has them."},
    {.name = "batch_size",
     .type = OPTION_INT,
     .offset = FIELD(batch_size),
     .default_text = "64",
     .low = 1,
     .high = 2048,
     .help = "Texts in one request, at most."},
    {.name = "concurrency",
     .type = OPTION_INT,
     .offset = FIELD(concurrency),
     .default_text = "4",
     .low = 1,
     .high = 64,
     .help = "Requests under way at the same time, at most."},
    {.name = "attempts",
     .type = OPTION_INT,
     .offset = FIELD(attempts),
     .default_text = "5",
     .low = 1,
     .high = 20,
     .help =
         "How often a request is tried when the service is busy or failing; a search tries twice at most."},
    {.name = "timeout",
     .type = OPTION_DURATION,
     .offset = FIELD(timeout),
     .default_text = "60s",
     .low = 1e5,
     .high = 36e8,
     .help = "How long one request may take."},
    {.name = "max_tokens",
     .type = OPTION_INT,
     .offset = FIELD(max_tokens),
     .default_text = "8191",
     .low = 16,
     .high = 1 << 20,
     .help = "The model's window. Longer texts are cut by an estimate of their tokens."},
    {.name = "query_input_type",
     .type = OPTION_STRING,
     .offset = FIELD(query_input_type),
     .placeholder = "TYPE",
     .help = "Sent as input_type with queries, for services that tell them from passages (\"query\")."},
    {.name = "passage_input_type",
     .type = OPTION_STRING,
     .offset = FIELD(passage_input_type),
     .placeholder = "TYPE",
     .help = "Sent as input_type with passages (\"passage\" or \"document\")."},
    {.name = "query_prefix",
     .type = OPTION_STRING,
     .offset = FIELD(query_prefix),
     .default_text = "",
     .help = "Text put before every query, and a space."},
    {.name = "passage_prefix",
     .type = OPTION_STRING,
     .offset = FIELD(passage_prefix),
     .default_text = "",
     .help = "Text put before every passage, and a space."},
    {.name = "languages",
     .type = OPTION_LIST,
     .offset = FIELD(languages),
     .help = "Languages the model was trained for, as ISO 639-1 codes. Default: any."},
    {.name = "similarity_floor",
     .type = OPTION_REAL,
     .offset = FIELD(similarity_floor),
     .default_text = "0.1",
     .low = -1,
     .high = 1,
     .help = "Cosine that texts without relation reach; scores are calibrated by it."},
    {.name = "similarity_ceiling",
     .type = OPTION_REAL,
     .offset = FIELD(similarity_ceiling),
     .default_text = "0.7",
     .low = -1,
     .high = 1,
     .help = "Cosine of a clear match."},
    OPTION_END,
};

/* ---- counting tokens without the model's tokenizer ---- */

enum kind { OTHER, LETTER, DIGIT };

static enum kind kind_of(uint32_t code)
{
    if (code >= '0' && code <= '9')
        return DIGIT;
    return (code | 0x20) >= 'a' && (code | 0x20) <= 'z' ? LETTER : OTHER;
}

/* An estimate that errs high: a token for every four ASCII letters and every two digits begun, one for
 * every other visible character. Stops where one more would exceed `limit`; *ret_end is that place. */
static size_t estimate_tokens(struct str text, size_t limit, size_t *ret_end)
{
    static const size_t per_token[] = {[LETTER] = 4, [DIGIT] = 2};
    enum kind last = OTHER;
    size_t count = 0, run = 0, position = 0;
    while (position < text.size) {
        size_t next = position;
        const uint32_t code = utf8_next(text, &next);
        const enum kind kind = kind_of(code);
        run = kind == last ? run + 1 : 0;
        last = kind;
        const size_t more = kind == OTHER ? code > ' ' : run % per_token[kind] == 0;
        if (count + more > limit)
            break;
        count += more;
        position = next;
    }
    *ret_end = position;
    return count;
}

static size_t count_tokens(const struct token_counter *self, struct str text)
{
    size_t end;
    return estimate_tokens(text, SIZE_MAX, &end);
}

/* ---- the request ---- */

static bool is_blank(struct str text)
{
    return str_trim(text).size == 0;
}

/* What is sent for a text: with its prefix, well-formed, within the window. Services refuse an empty
 * string, so that a text without anything is sent as one full stop. */
static void add_input(json_t *inputs, struct str prefix, struct str text, size_t max_tokens)
{
    size_t end;
    AUTO_BUFFER whole = BUFFER(SIZE_MAX);
    buffer_append_str(&whole, prefix);
    utf8_append_repaired(&whole, text);
    estimate_tokens(buffer_str(&whole), max_tokens, &end);
    const struct str cut = is_blank(buffer_str(&whole)) ? STR(".") : str_slice(buffer_str(&whole), 0, end);
    json_array_append_new(inputs, json_stringn(cut.data, cut.size));
}

static ibid_code write_request(const struct openai_embedder *self, enum embed_purpose purpose,
                               const struct str *texts, size_t count, bool base64, struct buffer *out,
                               ibid_error *err)
{
    const struct openai_options *options = &self->options;
    const bool query = purpose == EMBED_QUERY;
    const char *input_type = query ? options->query_input_type : options->passage_input_type;
    const struct str prefix = str_from(query ? options->query_prefix : options->passage_prefix);
    AUTO_JSON *root = json_object();
    json_t *inputs = json_array();
    for (size_t i = 0; i < count; i++)
        add_input(inputs, prefix, texts[i], (size_t)options->max_tokens);
    json_set_string(root, "model", options->model);
    json_set(root, "input", inputs);
    json_set_string(root, "encoding_format", base64 ? "base64" : "float");
    if (options->dimensions > 0)
        json_set_int(root, "dimensions", options->dimensions);
    if (input_type)
        json_set_string(root, "input_type", input_type);
    json_append(out, root);
    return buffer_check(out, "an embeddings request", err);
}

/* ---- the reply ---- */

/* Little-endian floats in base64; false unless there are exactly `dimension`, or, when that is 0, at
 * least one and at most VECTOR_DIMENSION_MAX. */
static bool read_base64(struct str text, size_t dimension, float *out, size_t *ret_count)
{
    const size_t most = dimension ? dimension : (size_t)VECTOR_DIMENSION_MAX;
    AUTO_BUFFER bytes = BUFFER(most * sizeof(float));
    if (!base64_decode(text, &bytes) || bytes.overflowed)
        return false;
    const size_t count = bytes.size / sizeof(float);
    const unsigned char *data = (const unsigned char *)bytes.data;
    for (size_t i = 0; out && i < count; i++, data += sizeof(float)) {
        const uint32_t value =
            data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        memcpy(&out[i], &value, sizeof value);
    }
    *ret_count = count;
    return bytes.size % sizeof(float) == 0 && count > 0 && (dimension == 0 || count == dimension);
}

static bool read_numbers(const json_t *array, size_t dimension, float *out, size_t *ret_count)
{
    const size_t count = json_array_size(array);
    if (count == 0 || count > VECTOR_DIMENSION_MAX || (dimension > 0 && count != dimension))
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(array, i);
        if (!json_is_number(number))
            return false;
        if (out)
            out[i] = (float)json_number_value(number);
    }
    *ret_count = count;
    return true;
}

/* A vector in either form. With dimension 0 and no `out`, tells its length alone. */
static bool read_vector(const json_t *embedding, size_t dimension, float *out, size_t *ret_count)
{
    if (json_is_string(embedding))
        return read_base64((struct str){json_string_value(embedding), json_string_length(embedding)},
                           dimension, out, ret_count);
    return read_numbers(embedding, dimension, out, ret_count);
}

/* Gives the vector length 1; false when it has no direction. */
static bool normalize(float *vector, size_t dimension)
{
    double square = 0;
    for (size_t i = 0; i < dimension; i++)
        square += (double)vector[i] * vector[i];
    if (!isfinite(square) || square <= 0)
        return false;
    for (size_t i = 0; i < dimension; i++)
        vector[i] = (float)(vector[i] / sqrt(square));
    return true;
}

static ibid_code read_reply(const struct openai_embedder *self, struct str body, size_t count, float *out,
                            ibid_error *err)
{
    const size_t dimension = self->base.info.dimension;
    AUTO_JSON *root = NULL;
    TRY(error_recode(json_parse(body, &root, err), IBID_EINVAL, IBID_EUPSTREAM, err));
    const json_t *rows = json_object_get(root, "data");
    if (json_array_size(rows) != count)
        return fail(err, IBID_EUPSTREAM, "%s gave %zu vectors for %zu texts", self->url,
                    json_array_size(rows), count);
    AUTO_FREE bool *seen = xcalloc(count, sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        int64_t index = (int64_t)i;
        size_t length;
        TRY(error_recode(json_get_int(row, "index", 0, (int64_t)count - 1, &index, err), IBID_EINVAL,
                         IBID_EUPSTREAM, err));
        float *vector = out + (size_t)index * dimension;
        if (seen[index] || !read_vector(json_object_get(row, "embedding"), dimension, vector, &length) ||
            !normalize(vector, dimension))
            return fail(err, IBID_EUPSTREAM, "%s gave no usable vector of %zu numbers for text %zu",
                        self->url, dimension, i + 1);
        seen[index] = true;
    }
    return IBID_OK;
}

/* ---- calling ---- */

static ibid_code send_once(struct openai_embedder *self, enum embed_purpose purpose, const struct str *texts,
                           size_t count, bool base64, struct arena *arena, struct http_response *ret,
                           ibid_error *err)
{
    AUTO_BUFFER body = BUFFER(REQUEST_SIZE_MAX);
    TRY(write_request(self, purpose, texts, count, base64, &body, err));
    struct http_header headers[2] = {{STR("Content-Type"), STR("application/json")}};
    if (self->authorization)
        headers[1] = (struct http_header){STR("Authorization"), str_from(self->authorization)};
    const struct http_request request = {
        .url = self->url,
        .headers = headers,
        .header_count = self->authorization ? 2 : 1,
        .body = buffer_str(&body),
        .response_limit = (1 << 20) + count * VECTOR_DIMENSION_MAX * NUMBER_TEXT_MAX,
        .timeout = self->options.timeout,
    };
    TRY(http_client_send(self->client, &request, arena, ret, err));
    return http_response_check(ret, "the embedder", err);
}

/* One try, in the encoding that the service understands. Some refuse base64: they are asked once more for
 * plain numbers, and for nothing else from then on. */
static ibid_code send_either_way(struct openai_embedder *self, enum embed_purpose purpose,
                                 const struct str *texts, size_t count, struct arena *arena,
                                 struct http_response *ret, ibid_error *err)
{
    const bool plain = atomic_load(&self->plain_numbers);
    const ibid_code code = send_once(self, purpose, texts, count, !plain, arena, ret, err);
    if (plain || code != IBID_EINVAL)
        return code;
    if (send_once(self, purpose, texts, count, false, arena, ret, NULL) != IBID_OK)
        return code; /* it was something else */
    atomic_store(&self->plain_numbers, true);
    return IBID_OK;
}

/* How long to wait before the next attempt: what the service asked for, else twice as long each time,
 * spread so that callers do not come back together. */
static int64_t pause_before(unsigned attempt, const ibid_error *error)
{
    if (error->retry_after_s > 0)
        return (int64_t)error->retry_after_s * SECOND_US;
    const int64_t longest = (int64_t)FIRST_PAUSE_US << (attempt < 6 ? attempt : 6);
    return longest / 2 + clock_now_us() % (longest / 2);
}

static void sleep_us(int64_t span_us)
{
    struct timespec left = {span_us / SECOND_US, span_us % SECOND_US * 1000};
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* A request with its retries; the slot is not held while waiting. */
static ibid_code call(struct openai_embedder *self, enum embed_purpose purpose, const struct str *texts,
                      size_t count, struct arena *arena, struct http_response *ret, ibid_error *err)
{
    const bool query = purpose == EMBED_QUERY;
    const unsigned configured = (unsigned)self->options.attempts;
    const unsigned attempts = query && configured > QUERY_ATTEMPTS ? QUERY_ATTEMPTS : configured;
    for (unsigned attempt = 0;; attempt++) {
        ibid_error error = {0};
        slots_acquire(self->slots, query);
        const ibid_code code = send_either_way(self, purpose, texts, count, arena, ret, &error);
        slots_release(self->slots);
        if (code == IBID_OK)
            return IBID_OK;
        const int64_t pause = pause_before(attempt, &error);
        if (attempt + 1 >= attempts || !ibid_code_is_retryable(code) || pause > LONGEST_PAUSE_US ||
            (query && pause > 2 * SECOND_US)) {
            if (err)
                *err = error;
            return code;
        }
        sleep_us(pause);
    }
}

static ibid_code openai_embed(struct embedder *embedder, enum embed_purpose purpose, const struct str *texts,
                              size_t count, float *out, ibid_error *err)
{
    struct openai_embedder *self = (struct openai_embedder *)embedder;
    const size_t batch = (size_t)self->options.batch_size, dimension = embedder->info.dimension;
    for (size_t done = 0; done < count; done += batch) {
        const size_t size = count - done < batch ? count - done : batch;
        AUTO_ARENA arena = ARENA_INIT;
        struct http_response response;
        TRY(call(self, purpose, texts + done, size, &arena, &response, err));
        TRY(read_reply(self, response.body, size, out + done * dimension, err));
    }
    return IBID_OK;
}

/* ---- opening ---- */

/* Asks for one vector, which tells the dimension (and whether key and model are right). */
static ibid_code probe_dimension(struct openai_embedder *self, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_JSON *root = NULL;
    const struct str text = STR("dimension");
    struct http_response response;
    size_t dimension;
    TRY(call(self, EMBED_QUERY, &text, 1, &arena, &response, err));
    TRY(error_recode(json_parse(response.body, &root, err), IBID_EINVAL, IBID_EUPSTREAM, err));
    const json_t *row = json_array_get(json_object_get(root, "data"), 0);
    if (!read_vector(json_object_get(row, "embedding"), 0, NULL, &dimension) ||
        dimension < VECTOR_DIMENSION_MIN)
        return fail(err, IBID_EUPSTREAM,
                    "%s gave no vector of %d to %d numbers, which is what the index takes", self->url,
                    VECTOR_DIMENSION_MIN, VECTOR_DIMENSION_MAX);
    if (self->options.dimensions > 0 && dimension != (size_t)self->options.dimensions)
        return fail(err, IBID_EINVAL, "%s gives %zu dimensions, not the %lld asked for", self->url, dimension,
                    (long long)self->options.dimensions);
    self->base.info.dimension = dimension;
    return IBID_OK;
}

static const char *keep(struct arena *arena, const char *string)
{
    return string ? arena_strdup(arena, string) : NULL;
}

static void keep_options(struct openai_embedder *self, const struct openai_options *options)
{
    struct arena *arena = &self->arena;
    const char **languages = ARENA_ARRAY(arena, const char *, options->languages.count + 2);
    self->options = *options;
    self->options.base_url = keep(arena, options->base_url);
    self->options.model = keep(arena, options->model);
    self->options.query_input_type = keep(arena, options->query_input_type);
    self->options.passage_input_type = keep(arena, options->passage_input_type);
    self->options.query_prefix = prefix_with_space(options->query_prefix, arena);
    self->options.passage_prefix = prefix_with_space(options->passage_prefix, arena);
    self->options.api_key = NULL; /* only the header keeps it */
    for (size_t i = 0; i < options->languages.count; i++)
        languages[i] = keep(arena, options->languages.items[i]);
    if (options->languages.count == 0)
        languages[0] = "*";
    self->base.info.languages = languages;
    if (options->api_key && *options->api_key)
        self->authorization = arena_printf(arena, "Bearer %s", options->api_key);
}

static void describe(struct openai_embedder *self, const struct url *url)
{
    const struct openai_options *options = &self->options;
    struct embedder_info *info = &self->base.info;
    info->id = arena_printf(&self->arena, "openai/%s@%.*s:%u", options->model, STR_ARG(url->host), url->port);
    info->precision = "remote";
    info->fingerprint =
        arena_printf(&self->arena, "%s;dimension=%zu;window=%lld;query=%s|%s;passage=%s|%s;remote", info->id,
                     info->dimension, (long long)options->max_tokens,
                     options->query_input_type ? options->query_input_type : "", options->query_prefix,
                     options->passage_input_type ? options->passage_input_type : "", options->passage_prefix);
    info->max_tokens = (size_t)options->max_tokens;
    info->similarity_floor = options->similarity_floor;
    info->similarity_ceiling = options->similarity_ceiling;
    info->batch_size = (size_t)options->batch_size;
    info->concurrency = (unsigned)options->concurrency;
    self->base.token_counter = (struct token_counter){.count = count_tokens, .max_tokens = info->max_tokens};
    self->base.token_counter.special_tokens = count_tokens(NULL, str_from(options->passage_prefix));
}

static ibid_code connect_to(struct openai_embedder *self, const struct net_settings *net, ibid_error *err)
{
    struct url url;
    const char *base = self->options.base_url;
    if (self->options.similarity_floor >= self->options.similarity_ceiling)
        return fail(err, IBID_EINVAL, "similarity_floor is to be below similarity_ceiling");
    if (self->options.dimensions > 0 && self->options.dimensions < VECTOR_DIMENSION_MIN)
        return fail(err, IBID_EINVAL, "dimensions is %lld, but the index takes %d to %d",
                    (long long)self->options.dimensions, VECTOR_DIMENSION_MIN, VECTOR_DIMENSION_MAX);
    TRY(url_parse(base, &self->arena, &url, err));
    TRY(net_policy_init(net, &self->arena, &self->policy, err));
    const size_t size = strlen(base);
    self->url = arena_printf(&self->arena, "%s%sembeddings", base, base[size - 1] == '/' ? "" : "/");
    self->client = http_client_new(&self->policy);
    self->slots = slots_new((unsigned)self->options.concurrency);
    TRY(probe_dimension(self, err));
    describe(self, &url);
    return IBID_OK;
}

static void openai_close(struct embedder *embedder)
{
    struct openai_embedder *self = (struct openai_embedder *)embedder;
    http_client_free(self->client);
    if (self->slots)
        slots_free(self->slots);
    arena_release(&self->arena);
    free(self);
}

static ibid_code openai_open(const struct embedder_context *context, const void *options,
                             struct embedder **ret, ibid_error *err)
{
    struct openai_embedder *self = xcalloc(1, sizeof *self);
    self->base.ops = &embedder_openai;
    keep_options(self, options);
    const ibid_code code = connect_to(self, context->net, err);
    if (code != IBID_OK) {
        openai_close(&self->base);
        return code;
    }
    *ret = &self->base;
    return IBID_OK;
}

const struct embedder_ops embedder_openai = {
    .name = "openai",
    .help = "Asks a service with OpenAI's embeddings API, remote or one's own.",
    .options = openai_option_table,
    .options_size = sizeof(struct openai_options),
    .open = openai_open,
    .close = openai_close,
    .embed = openai_embed,
};
