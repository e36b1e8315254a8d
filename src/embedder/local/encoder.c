#include "embedder/local/encoder.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

/* Rows that pass through a layer's dense part together: their widest activations stay in the L2 cache.
 * A multiple of every kernel's tile_rows. */
enum { BLOCK_ROWS = 96 };

struct norm {
    const float *scale, *shift;
};

struct layer {
    struct linear qkv, attention_out, up, down;
    struct norm attention_norm, out_norm;
};

/* What one pass needs besides the weights. Handed from call to call. */
struct workspace {
    struct workspace *next;
    size_t tokens; /* capacity */
    void *memory;
    float *x;       /* [tokens][hidden] the running sum */
    void *elements; /* [tokens][hidden] the same, normalised, as elements */
    void *qkv;      /* [tokens][3 * hidden] */
    void *context;  /* [tokens][hidden] */
    void *wide;     /* [BLOCK_ROWS][intermediate] */
    void *attention;
};

struct encoder {
    struct model_config config;
    const struct kernel *kernel;
    const struct tensor *words;
    const float *positions; /* [positions][hidden], the first token type added */
    struct norm embedding_norm;
    struct layer *layers;

    char *memory; /* of all packed weights */
    size_t memory_size, memory_used;

    /* Rows of activations are an odd number of cache lines apart, so that they do not share cache sets. */
    size_t hidden_stride, qkv_stride, wide_stride;

    pthread_mutex_t lock;
    struct workspace *idle;
};

/* ---- weights ---- */

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static void *take_memory(struct encoder *self, size_t size)
{
    char *start = self->memory + self->memory_used;
    self->memory_used += round_up(size, 64);
    ASSERT(self->memory_used <= self->memory_size);
    return start;
}

static size_t packed_size(const struct encoder *self, size_t inputs, size_t outputs)
{
    return round_up(self->kernel->packed_size(inputs, outputs), 64) + round_up(outputs * sizeof(float), 64);
}

static size_t weights_size(const struct encoder *self)
{
    const size_t hidden = self->config.hidden_size, wide = self->config.intermediate_size;
    const size_t norm = 2 * round_up(hidden * sizeof(float), 64);
    const size_t layer = packed_size(self, hidden, 3 * hidden) + packed_size(self, hidden, hidden) +
                         packed_size(self, hidden, wide) + packed_size(self, wide, hidden) + 2 * norm;
    return layer * self->config.layers + norm + round_up(self->config.positions * hidden * sizeof(float), 64);
}

/* Large pages where the system has them: the weights are read from end to end in every pass. */
static ibid_code reserve_memory(struct encoder *self, ibid_error *err)
{
    self->memory_size = round_up(weights_size(self), 2 << 20);
    void *memory = mmap(NULL, self->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return fail(err, IBID_ETOOBIG, "there is no memory for a model of %zu MB", self->memory_size >> 20);
    madvise(memory, self->memory_size, MADV_HUGEPAGE);
    self->memory = memory;
    return IBID_OK;
}

/* Where tensors are looked for. */
struct source {
    const struct safetensors *file;
    const char *root; /* "", "bert." or "roberta." */
    char name[160];
};

/* The tensor `root` + `prefix` + `name`, which must have `rows` x `columns` values (columns 0: a vector). */
static ibid_code find_tensor(struct source *source, const char *prefix, const char *name, size_t rows,
                             size_t columns, const struct tensor **ret, ibid_error *err)
{
    snprintf(source->name, sizeof source->name, "%s%s%s", source->root, prefix, name);
    const struct tensor *tensor = safetensors_find(source->file, source->name);
    if (!tensor)
        return fail(err, IBID_EFORMAT, "the weights lack the tensor '%s'", source->name);
    const size_t rank = columns ? 2 : 1;
    if (tensor->rank != rank || tensor->shape[0] != rows || (columns && tensor->shape[1] != columns))
        return fail(err, IBID_EFORMAT, "tensor '%s' does not have the shape that config.json says",
                    source->name);
    if (tensor->type == TENSOR_OTHER)
        return fail(err, IBID_EUNSUPPORTED, "tensor '%s' is neither F32 nor F16 nor BF16", source->name);
    *ret = tensor;
    return IBID_OK;
}

static ibid_code read_tensor(struct source *source, const char *prefix, const char *name, size_t rows,
                             size_t columns, float *out, ibid_error *err)
{
    const struct tensor *tensor;
    TRY(find_tensor(source, prefix, name, rows, columns, &tensor, err));
    tensor_read(tensor, 0, tensor->count, out);
    return IBID_OK;
}

/* Older files call the two parts of a layer normalisation gamma and beta. */
static ibid_code read_norm(struct encoder *self, struct source *source, const char *prefix, const char *name,
                           struct norm *norm, ibid_error *err)
{
    const size_t hidden = self->config.hidden_size;
    char scale_name[80], shift_name[80];
    snprintf(scale_name, sizeof scale_name, "%s%s%s.gamma", source->root, prefix, name);
    const bool old = safetensors_find(source->file, scale_name) != NULL;
    snprintf(scale_name, sizeof scale_name, "%s.%s", name, old ? "gamma" : "weight");
    snprintf(shift_name, sizeof shift_name, "%s.%s", name, old ? "beta" : "bias");
    float *scale = take_memory(self, hidden * sizeof *scale),
          *shift = take_memory(self, hidden * sizeof *shift);
    TRY(read_tensor(source, prefix, scale_name, hidden, 0, scale, err));
    TRY(read_tensor(source, prefix, shift_name, hidden, 0, shift, err));
    *norm = (struct norm){scale, shift};
    return IBID_OK;
}

/* One dense layer made of `count` tensors that share their input; the first is scaled by `scale`. */
static ibid_code read_linear(struct encoder *self, struct source *source, const char *prefix,
                             const char *const names[], size_t count, size_t inputs, size_t outputs,
                             float scale, struct linear *linear, ibid_error *err)
{
    AUTO_FREE float *weights = xcalloc(count * outputs * inputs, sizeof *weights);
    float *bias = take_memory(self, count * outputs * sizeof *bias);
    for (size_t i = 0; i < count; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s.weight", names[i]);
        TRY(read_tensor(source, prefix, name, outputs, inputs, weights + i * outputs * inputs, err));
        snprintf(name, sizeof name, "%s.bias", names[i]);
        TRY(read_tensor(source, prefix, name, outputs, 0, bias + i * outputs, err));
    }
    for (size_t i = 0; i < outputs * inputs; i++)
        weights[i] *= scale;
    for (size_t i = 0; i < outputs; i++)
        bias[i] *= scale;
    void *packed = take_memory(self, self->kernel->packed_size(inputs, count * outputs));
    self->kernel->pack(weights, inputs, count * outputs, packed);
    *linear = (struct linear){packed, bias, inputs, count * outputs};
    return IBID_OK;
}

static ibid_code read_layer(struct encoder *self, struct source *source, size_t index, ibid_error *err)
{
    static const char *const qkv[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    static const char *const attention_out[] = {"attention.output.dense"},
                             *const up[] = {"intermediate.dense"}, *const down[] = {"output.dense"};
    const size_t hidden = self->config.hidden_size, wide = self->config.intermediate_size;
    const float query_scale = 1.0f / sqrtf((float)(hidden / self->config.heads));
    struct layer *layer = &self->layers[index];
    char prefix[48];
    snprintf(prefix, sizeof prefix, "encoder.layer.%zu.", index);
    TRY(read_linear(self, source, prefix, qkv, 3, hidden, hidden, query_scale, &layer->qkv, err));
    TRY(read_linear(self, source, prefix, attention_out, 1, hidden, hidden, 1, &layer->attention_out, err));
    TRY(read_norm(self, source, prefix, "attention.output.LayerNorm", &layer->attention_norm, err));
    TRY(read_linear(self, source, prefix, up, 1, hidden, wide, 1, &layer->up, err));
    TRY(read_linear(self, source, prefix, down, 1, wide, hidden, 1, &layer->down, err));
    return read_norm(self, source, prefix, "output.LayerNorm", &layer->out_norm, err);
}

/* Every token is of the first type, so that type's vector is added to the positions once and for all. */
static ibid_code read_positions(struct encoder *self, struct source *source, ibid_error *err)
{
    const struct model_config *config = &self->config;
    const size_t hidden = config->hidden_size;
    const struct tensor *places, *token_types;
    float *positions = take_memory(self, config->positions * hidden * sizeof *positions);
    TRY(find_tensor(source, "", "embeddings.position_embeddings.weight",
                    config->first_position + config->positions, hidden, &places, err));
    tensor_read(places, config->first_position * hidden, config->positions * hidden, positions);
    TRY(find_tensor(source, "", "embeddings.token_type_embeddings.weight", config->token_types, hidden,
                    &token_types, err));
    AUTO_FREE float *token_type = xcalloc(hidden, sizeof *token_type);
    tensor_read(token_types, 0, hidden, token_type);
    for (size_t i = 0; i < config->positions * hidden; i++)
        positions[i] += token_type[i % hidden];
    self->positions = positions;
    return IBID_OK;
}

static ibid_code read_weights(struct encoder *self, const struct safetensors *file, ibid_error *err)
{
    struct source source = {.file = file, .root = ""};
    if (safetensors_find(file, "bert.embeddings.word_embeddings.weight"))
        source.root = "bert.";
    else if (safetensors_find(file, "roberta.embeddings.word_embeddings.weight"))
        source.root = "roberta.";
    TRY(find_tensor(&source, "", "embeddings.word_embeddings.weight", self->config.vocabulary_size,
                    self->config.hidden_size, &self->words, err));
    TRY(read_positions(self, &source, err));
    TRY(read_norm(self, &source, "", "embeddings.LayerNorm", &self->embedding_norm, err));
    for (size_t i = 0; i < self->config.layers; i++)
        TRY(read_layer(self, &source, i, err));
    return IBID_OK;
}

/* ---- life ---- */

/* The least stride >= width whose bytes are an odd number of cache lines. */
static size_t spaced(size_t width, size_t element_size)
{
    const size_t lines = (width * element_size + 63) / 64;
    return (lines | 1) * 64 / element_size;
}

ibid_code encoder_new(const struct model_config *config, const struct safetensors *weights,
                      const struct kernel *kernel, struct encoder **ret, ibid_error *err)
{
    const size_t multiple = kernel->input_multiple;
    if (config->intermediate_size % multiple != 0 || config->hidden_size / config->heads % multiple != 0)
        return fail(err, IBID_EUNSUPPORTED, "the kernel '%s' cannot run a model of these sizes",
                    kernel->name);
    struct encoder *self = xcalloc(1, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    self->config = *config;
    self->kernel = kernel;
    self->layers = xcalloc(config->layers, sizeof *self->layers);
    self->hidden_stride = spaced(config->hidden_size, sizeof(float));
    self->qkv_stride = spaced(3 * config->hidden_size, kernel->element_size);
    self->wide_stride = spaced(config->intermediate_size, kernel->element_size);
    ibid_code code = reserve_memory(self, err);
    if (code == IBID_OK)
        code = read_weights(self, weights, err);
    if (code != IBID_OK) {
        encoder_free(self);
        return code;
    }
    *ret = self;
    return IBID_OK;
}

void encoder_free(struct encoder *self)
{
    if (!self)
        return;
    for (struct workspace *next, *workspace = self->idle; workspace; workspace = next) {
        next = workspace->next;
        free(workspace->memory);
        free(workspace);
    }
    if (self->memory)
        munmap(self->memory, self->memory_size);
    pthread_mutex_destroy(&self->lock);
    free(self->layers);
    free(self);
}

/* ---- workspaces ---- */

static struct workspace *workspace_new(const struct encoder *self, size_t tokens)
{
    const size_t element = self->kernel->element_size;
    const size_t longest = tokens < self->config.positions ? tokens : self->config.positions;
    const size_t x_size = tokens * self->hidden_stride * sizeof(float);
    const size_t hidden_size = round_up(tokens * self->hidden_stride * element, 64);
    const size_t qkv_size = round_up(tokens * self->qkv_stride * element, 64);
    const size_t wide_size = round_up(BLOCK_ROWS * self->wide_stride * element, 64);
    const size_t attention_size =
        self->kernel->attend_scratch(longest, self->config.hidden_size / self->config.heads);
    const bool shared = element == sizeof(float); /* x is its own elements */
    struct workspace *workspace = xcalloc(1, sizeof *workspace);
    workspace->tokens = tokens;
    char *memory =
        xaligned_alloc(64, round_up(x_size + 2 * hidden_size + qkv_size + wide_size + attention_size, 64));
    workspace->memory = memory;
    workspace->x = (float *)memory;
    workspace->elements = shared ? memory : memory + x_size;
    memory += x_size + (shared ? 0 : hidden_size);
    workspace->context = memory;
    workspace->qkv = memory + hidden_size;
    workspace->wide = memory + hidden_size + qkv_size;
    workspace->attention = memory + hidden_size + qkv_size + wide_size;
    return workspace;
}

static struct workspace *take_workspace(struct encoder *self, size_t tokens)
{
    pthread_mutex_lock(&self->lock);
    struct workspace *workspace = self->idle;
    if (workspace)
        self->idle = workspace->next;
    pthread_mutex_unlock(&self->lock);
    if (workspace && workspace->tokens < tokens) {
        free(workspace->memory);
        free(workspace);
        workspace = NULL;
    }
    return workspace ? workspace
                     : workspace_new(self, tokens > ENCODER_PASS_TOKENS ? tokens : ENCODER_PASS_TOKENS);
}

static void return_workspace(struct encoder *self, struct workspace *workspace)
{
    pthread_mutex_lock(&self->lock);
    workspace->next = self->idle;
    self->idle = workspace;
    pthread_mutex_unlock(&self->lock);
}

/* ---- one pass ---- */

static void *row_of(void *base, size_t row, size_t stride, size_t element_size)
{
    return (char *)base + row * stride * element_size;
}

static void look_up(const struct encoder *self, const int32_t *ids, const size_t *lengths, size_t count,
                    float *x)
{
    const size_t hidden = self->config.hidden_size;
    for (size_t i = 0; i < count; i++)
        for (size_t position = 0; position < lengths[i]; position++, ids++, x += self->hidden_stride) {
            const float *place = self->positions + position * hidden;
            tensor_read(self->words, (size_t)*ids * hidden, hidden, x);
            for (size_t j = 0; j < hidden; j++)
                x[j] += place[j];
        }
}

static void normalize(const struct encoder *self, const struct norm *norm, struct workspace *work, size_t row,
                      size_t rows)
{
    const size_t stride = self->hidden_stride;
    self->kernel->normalize(work->x + row * stride, stride, rows, self->config.hidden_size, norm->scale,
                            norm->shift, self->config.epsilon,
                            row_of(work->elements, row, stride, self->kernel->element_size), stride);
}

static void attend(const struct encoder *self, struct workspace *work, const size_t *lengths, size_t count)
{
    const struct kernel *kernel = self->kernel;
    const size_t heads = self->config.heads;
    for (size_t i = 0, row = 0; i < count; row += lengths[i++])
        kernel->attend(row_of(work->qkv, row, self->qkv_stride, kernel->element_size), self->qkv_stride,
                       lengths[i], heads, self->config.hidden_size / heads,
                       row_of(work->context, row, self->hidden_stride, kernel->element_size),
                       self->hidden_stride, work->attention);
}

/* Everything of a layer behind the attention, for some rows. */
static void run_dense(const struct encoder *self, const struct layer *layer, struct workspace *work,
                      size_t row, size_t rows)
{
    const struct kernel *kernel = self->kernel;
    const size_t stride = self->hidden_stride, size = kernel->element_size;
    float *x = work->x + row * stride;
    kernel->linear_add(&layer->attention_out, row_of(work->context, row, stride, size), stride, rows, x,
                       stride);
    normalize(self, &layer->attention_norm, work, row, rows);
    kernel->linear_gelu(&layer->up, row_of(work->elements, row, stride, size), stride, rows, work->wide,
                        self->wide_stride);
    kernel->linear_add(&layer->down, work->wide, self->wide_stride, rows, x, stride);
    normalize(self, &layer->out_norm, work, row, rows);
}

static void run_layer(const struct encoder *self, const struct layer *layer, struct workspace *work,
                      const size_t *lengths, size_t count, size_t tokens)
{
    const struct kernel *kernel = self->kernel;
    for (size_t row = 0; row < tokens; row += BLOCK_ROWS) {
        const size_t rows = tokens - row < BLOCK_ROWS ? tokens - row : BLOCK_ROWS;
        kernel->linear(&layer->qkv, row_of(work->elements, row, self->hidden_stride, kernel->element_size),
                       self->hidden_stride, rows,
                       row_of(work->qkv, row, self->qkv_stride, kernel->element_size), self->qkv_stride);
    }
    attend(self, work, lengths, count);
    for (size_t row = 0; row < tokens; row += BLOCK_ROWS)
        run_dense(self, layer, work, row, tokens - row < BLOCK_ROWS ? tokens - row : BLOCK_ROWS);
}

static void pool(const struct encoder *self, const float *x, size_t length, float *out)
{
    const size_t hidden = self->config.hidden_size;
    const size_t rows = self->config.pooling == POOL_CLS ? 1 : length;
    memset(out, 0, hidden * sizeof *out);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < hidden; i++)
            out[i] += x[row * self->hidden_stride + i];
    double square = 0;
    for (size_t i = 0; i < hidden; i++)
        square += (double)out[i] * out[i];
    const float scale = (float)(1 / sqrt(square));
    for (size_t i = 0; i < hidden; i++)
        out[i] *= scale;
}

void encoder_run(struct encoder *self, const int32_t *ids, const size_t *lengths, size_t count, float *out)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) {
        ASSERT(lengths[i] > 0 && lengths[i] <= self->config.positions);
        tokens += lengths[i];
    }
    struct workspace *work = take_workspace(self, tokens);
    look_up(self, ids, lengths, count, work->x);
    normalize(self, &self->embedding_norm, work, 0, tokens);
    for (size_t i = 0; i < self->config.layers; i++)
        run_layer(self, &self->layers[i], work, lengths, count, tokens);
    const float *x = work->x;
    for (size_t i = 0; i < count; x += lengths[i++] * self->hidden_stride)
        pool(self, x, lengths[i], out + i * self->config.hidden_size);
    return_workspace(self, work);
}
