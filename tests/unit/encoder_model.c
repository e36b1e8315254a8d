/* Reading models, hostile ones too; the whole encoder at every kernel; the golden vectors. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embedder/embedder.h"
#include "embedder/local/kernel.h"
#include "embedder/local/local.h"
#include "embedder/local/model_config.h"
#include "embedder/local/safetensors.h"
#include "tests/tiny_model.h"

static double cosine(const float *a, const float *b, size_t dimension)
{
    double dot = 0, a_square = 0, b_square = 0;
    for (size_t i = 0; i < dimension; i++) {
        dot += (double)a[i] * b[i];
        a_square += (double)a[i] * a[i];
        b_square += (double)b[i] * b[i];
    }
    return dot / sqrt(a_square * b_square);
}

static struct embedder *open_local(const char *folder, const char *kernel)
{
    struct embedder *embedder;
    const struct local_options options = {.model = folder, .kernel = kernel};
    assert_ok(embedder_open(embedder_find("local"), NULL, &options, &embedder, err));
    return embedder;
}

/* ---- safetensors ---- */

static ibid_code parse(const char *header, size_t data_size, char message[480])
{
    AUTO_BUFFER file = BUFFER(1 << 20);
    buffer_append_u64(&file, strlen(header));
    buffer_append_string(&file, header);
    buffer_append_repeated(&file, 1, data_size);
    struct safetensors *tensors;
    ibid_error err = {0};
    const ibid_code code = safetensors_parse(buffer_str(&file), &tensors, &err);
    if (code == IBID_OK)
        safetensors_free(tensors);
    memcpy(message, err.message, sizeof err.message);
    return code;
}

#define TENSOR(dtype, shape, offsets) \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_refuses_hostile_safetensors(void **state)
{
    static const struct {
        const char *header;
        ibid_code code;
        const char *says;
    } cases[] = {
        {"{}", IBID_OK, ""},
        {TENSOR("F32", "[2,2]", "[0,16]"), IBID_OK, ""},
        {TENSOR("I64", "[2]", "[0,16]"), IBID_OK, ""},
        {TENSOR("F32", "[]", "[4,8]"), IBID_OK, ""},
        {TENSOR("F32", "[0,5]", "[8,8]"), IBID_OK, ""},
        {"", IBID_EFORMAT, "JSON"},
        {"[]", IBID_EFORMAT, "object"},
        {"{\"t\":7}", IBID_EFORMAT, "'t'"},
        {"{\"t\":{}}", IBID_EUNSUPPORTED, "type"},
        {TENSOR("F4", "[2]", "[0,1]"), IBID_EUNSUPPORTED, "F4"},
        {TENSOR("F32", "[2,2]", "[0,12]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[2,2]", "[4,20]"), IBID_EFORMAT, "inside"},
        {TENSOR("F32", "[2,2]", "[16,0]"), IBID_EFORMAT, "inside"},
        {TENSOR("F32", "[-1]", "[0,4]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[-2,-2]", "[0,16]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[4294967296,4294967296]", "[0,0]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[4611686018427387904]", "[0,0]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), IBID_EFORMAT, "dimensions"},
        {TENSOR("F32", "[2.5]", "[0,10]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "4", "[0,16]"), IBID_EFORMAT, "shape"},
        {TENSOR("F32", "[4]", "[0]"), IBID_EFORMAT, "inside"},
        {TENSOR("F32", "[4]", "[0,18446744073709551615]"), IBID_EFORMAT, ""},
        {"{\"t\":{\"dtype\":5,\"shape\":[],\"data_offsets\":[0,4]}}", IBID_EFORMAT, "dtype"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char message[480];
        const ibid_code code = parse(cases[i].header, 16, message);
        if (code != cases[i].code || !strstr(message, cases[i].says))
            fail_msg("%s: %s (%s)", cases[i].header, ibid_code_string(code), message);
    }
    struct safetensors *tensors;
    assert_int_equal(safetensors_parse(STR("1234567"), &tensors, NULL), IBID_EFORMAT);
    assert_int_equal(safetensors_parse(STR("\xff\xff\xff\xff\xff\xff\xff\xff"), &tensors, NULL),
                     IBID_ETOOBIG);
    assert_int_equal(safetensors_parse(STR("\x10\0\0\0\0\0\0\0{}"), &tensors, NULL), IBID_EFORMAT);
}

static void test_reads_half_precision(void **state)
{
    AUTO_BUFFER file = BUFFER(4096);
    const char header[] = "{\"half\":{\"dtype\":\"F16\",\"shape\":[6],\"data_offsets\":[0,12]},"
                          "\"brain\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]}}";
    static const uint16_t bits[] = {0x3C00, 0xC000, 0x3555, 0x0001, 0x83FF, 0x7BFF, 0x3F80, 0xC049};
    buffer_append_u64(&file, sizeof header - 1);
    buffer_append_string(&file, header);
    buffer_append(&file, bits, sizeof bits);
    struct safetensors *tensors;
    assert_ok(safetensors_parse(buffer_str(&file), &tensors, err));
    float values[6];
    tensor_read(safetensors_find(tensors, "half"), 0, 6, values);
    static const float expected[] = {1, -2, 0.333251953125f, 0x1p-24f, -0x3FFp-24f, 65504};
    assert_memory_equal(values, expected, sizeof expected);
    tensor_read(safetensors_find(tensors, "brain"), 1, 1, values);
    assert_true(values[0] == -3.140625f);
    assert_null(safetensors_find(tensors, "none"));
    safetensors_free(tensors);
}

/* ---- folders ---- */

static ibid_code try_open(const char *folder, char message[480])
{
    struct embedder *embedder = NULL;
    ibid_error err = {0};
    const struct local_options options = {.model = folder, .kernel = "portable"};
    const ibid_code code = embedder_open(embedder_find("local"), NULL, &options, &embedder, &err);
    embedder_close(embedder);
    memcpy(message, err.message, sizeof err.message);
    return code;
}

static void test_names_what_is_wrong_with_a_folder(void **state)
{
    static const struct {
        const char *file, *content; /* NULL: removed */
        ibid_code code;
        const char *says;
    } cases[] = {
        {"config.json", NULL, IBID_EUNAVAILABLE, "config.json"},
        {"model.safetensors", NULL, IBID_EUNAVAILABLE, "model.safetensors"},
        {"tokenizer.json", NULL, IBID_EUNAVAILABLE, "tokenizer.json"},
        {"config.json", "{", IBID_EFORMAT, "JSON"},
        {"config.json", "{\"model_type\":\"bert\"}", IBID_EFORMAT, "hidden_size"},
        {"config.json", "{\"model_type\":\"gpt2\"}", IBID_EUNSUPPORTED, "gpt2"},
        {"config.json", "{\"hidden_size\":999999}", IBID_EFORMAT, "hidden_size"},
        {"config.json", "{\"model_type\":\"roberta\",\"pad_token_id\":65}", IBID_EFORMAT, "pad_token_id"},
        {"config.json",
         "{\"model_type\":\"xlm-roberta\",\"hidden_size\":40,\"num_hidden_layers\":2,\"num_attention_heads\":"
         "4,"
         "\"intermediate_size\":72,\"vocab_size\":99,\"max_position_embeddings\":2}",
         IBID_EFORMAT, "positions"},
        {"model.safetensors", "\2\0\0\0\0\0\0\0{}", IBID_EFORMAT, ""},
        {"model.safetensors", "short", IBID_EFORMAT, "short"},
        {"tokenizer.json", "{}", IBID_EUNSUPPORTED, "model"},
        {"modules.json", "[{\"path\":\"2_Dense\",\"type\":\"sentence_transformers.models.Dense\"}]",
         IBID_EUNSUPPORTED, "Dense"},
        {"modules.json", "[{\"path\":\"../x\",\"type\":\"sentence_transformers.models.Pooling\"}]",
         IBID_EFORMAT, "../x"},
        {"1_Pooling/config.json", "{\"pooling_mode_max_tokens\":true}", IBID_EUNSUPPORTED, "pooling"},
        {"sentence_bert_config.json", "{\"max_seq_length\":2}", IBID_EFORMAT, "max_seq_length"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = temporary_folder(), message[480];
        tiny_model_write(folder, "", false);
        assert_int_equal(try_open(folder, message), IBID_OK);
        AUTO_FREE char *path = path_join(folder, cases[i].file);
        if (cases[i].content)
            tiny_write(
                folder, cases[i].file,
                (struct str){cases[i].content, cases[i].content[0] == '\2' ? 10 : strlen(cases[i].content)});
        else
            assert_int_equal(unlink(path), 0);
        const ibid_code code = try_open(folder, message);
        if (code != cases[i].code || !strstr(message, cases[i].says))
            fail_msg("%s = %s: %s (%s)", cases[i].file, cases[i].content ? cases[i].content : "none",
                     ibid_code_string(code), message);
        assert_ok(folder_remove(folder, err));
        free(folder);
    }
}

static void test_refuses_options_that_make_no_sense(void **state)
{
    char *folder = temporary_folder();
    AUTO_FREE char *long_prefix = xmalloc(401);
    memset(long_prefix, '-', 400);
    long_prefix[400] = '\0';
    tiny_model_write(folder, "", false);
    const struct local_options cases[] = {
        {.model = folder, .kernel = "abacus"},
        {.model = folder, .kernel = "portable", .precision = LOCAL_PRECISION_BF16},
        {.model = folder, .kernel = "portable", .query_prefix = long_prefix},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct embedder *embedder;
        assert_int_equal(embedder_open(embedder_find("local"), NULL, &cases[i], &embedder, NULL),
                         IBID_EINVAL);
    }
    const struct local_options missing = {
        .model = "all-MiniLM-L6-v2", .models_folder = folder, .kernel = "auto"};
    struct embedder *embedder;
    ibid_error error = {0};
    assert_int_equal(embedder_open(embedder_find("local"), NULL, &missing, &embedder, &error),
                     IBID_EUNAVAILABLE);
    assert_non_null(strstr(error.message, "ibid model pull all-MiniLM-L6-v2"));
    assert_ok(folder_remove(folder, err));
    free(folder);
}

/* ---- the whole encoder ---- */

static const struct str some_texts[] = {
    STR("The cafe"), STR(""), STR("permission checks belong inside the index"), STR("a"),
    STR("a much longer text that fills the window of the small model and is cut at its end, because the "
        "window "
        "has room for forty-eight tokens and this text has a good many more than that")};
enum { TEXTS = 5 };

static void embed_all(const char *folder, const char *kernel, float out[TEXTS * TINY_HIDDEN])
{
    struct embedder *embedder = open_local(folder, kernel);
    assert_int_equal(embedder->info.dimension, TINY_HIDDEN);
    assert_int_equal(embedder->info.max_tokens, 48);
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, some_texts, TEXTS, out, err));
    embedder_close(embedder);
}

static void test_all_kernels_give_the_same_vectors(void **state)
{
    char *folder = temporary_folder();
    float expected[TEXTS * TINY_HIDDEN], found[TEXTS * TINY_HIDDEN];
    tiny_model_write(folder, "", false);
    embed_all(folder, "portable", expected);
    assert_true(cosine(expected, expected + 4 * TINY_HIDDEN, TINY_HIDDEN) < 0.95);
    for (size_t i = 1; kernel_list[i]; i++) {
        if (!kernel_is_usable(kernel_list[i])) {
            print_message("# SKIPPED: this processor has no %s\n", kernel_list[i]->name);
            continue;
        }
        embed_all(folder, kernel_list[i]->name, found);
        const double lowest = kernel_list[i]->precision == KERNEL_BF16 ? 0.999 : 0.999999;
        for (size_t text = 0; text < TEXTS; text++)
            if (!(cosine(found + text * TINY_HIDDEN, expected + text * TINY_HIDDEN, TINY_HIDDEN) >= lowest))
                fail_msg("kernel %s differs on text %zu", kernel_list[i]->name, text);
    }
    assert_ok(folder_remove(folder, err));
    free(folder);
}

/* Mean and CLS pooling, and the positions of XLM-R, as a plain encoder in numpy has them. */
static void test_small_models_give_the_vectors_of_the_reference(void **state)
{
    static const struct {
        const char *root;
        bool pool_cls;
    } models[] = {{"", false}, {"", true}, {"roberta.", false}};
    AUTO_FREE char *path = golden_path("tiny.f32");
    AUTO_BUFFER file = BUFFER(1 << 20);
    assert_ok(file_read(path, &file, err));
    const float *expected = (const float *)file.data;
    float found[TEXTS * TINY_HIDDEN];
    assert_int_equal(file.size, COUNT_OF(models) * sizeof found);
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        char *folder = temporary_folder();
        tiny_model_write(folder, models[i].root, models[i].pool_cls);
        embed_all(folder, "portable", found);
        for (size_t text = 0; text < TEXTS; text++, expected += TINY_HIDDEN)
            if (!(cosine(found + text * TINY_HIDDEN, expected, TINY_HIDDEN) >= 0.999999))
                fail_msg("model %zu, text %zu: cosine %.7f", i, text,
                         cosine(found + text * TINY_HIDDEN, expected, TINY_HIDDEN));
        assert_ok(folder_remove(folder, err));
        free(folder);
    }
}

/* Prefixes, languages and calibration come from the catalogue when the folder bears a name of it. */
static void test_knows_a_folder_by_its_name_where_weights_are_not_pinned(void **state)
{
    char *parent = temporary_folder();
    AUTO_FREE char *folder = path_join(parent, "multilingual-e5-small");
    tiny_model_write(folder, "roberta.", false);
    struct embedder *embedder = open_local(folder, "portable");
    float query[TINY_HIDDEN], passage[TINY_HIDDEN];
    assert_non_null(strstr(embedder->info.fingerprint, "query=query: ;passage=passage: "));
    const struct token_counter *counter = &embedder->token_counter;
    assert_int_equal(counter->special_tokens, 2 + counter->count(counter, STR("passage: ")));
    assert_true(embedder_knows_language(embedder, "ru"));
    assert_false(embedder_knows_language(embedder, "mi"));
    assert_ok(embedder_embed(embedder, EMBED_QUERY, some_texts, 1, query, err));
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, some_texts, 1, passage, err));
    assert_true(cosine(query, passage, TINY_HIDDEN) < 0.9999);
    embedder_close(embedder);
    assert_ok(folder_remove(parent, err));
    free(parent);
}

/* bge-small-en-v1.5 by its name: CLS pooling from its folder, the prefix of queries from the catalogue. */
static void test_runs_a_model_of_the_catalogue_by_its_name(void **state)
{
    char *models = temporary_folder();
    AUTO_FREE char *folder = path_join(models, "bge-small-en-v1.5");
    const struct local_options options = {
        .model = "bge-small-en-v1.5", .models_folder = models, .kernel = "portable"};
    struct embedder *embedder, *plain;
    float asked[TINY_HIDDEN], written[TINY_HIDDEN];
    tiny_model_write(folder, "bert.", true);
    tiny_write(folder, "sentence_bert_config.json", STR("{\"max_seq_length\":64}"));
    assert_ok(embedder_open(embedder_find("local"), NULL, &options, &embedder, err));
    assert_non_null(strstr(embedder->info.fingerprint, "pooling=cls"));
    assert_true(embedder_knows_language(embedder, "en"));
    assert_false(embedder_knows_language(embedder, "de"));
    plain = open_local(folder, "portable"); /* other weights than the pinned ones: a model of its own */
    assert_ok(embedder_embed(embedder, EMBED_QUERY, &STR("cafe"), 1, asked, err));
    assert_ok(embedder_embed(plain, EMBED_QUERY,
                             &STR("Represent this sentence for searching relevant passages: cafe"), 1,
                             written, err));
    assert_memory_equal(asked, written, sizeof asked);
    assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &STR("cafe"), 1, asked, err));
    assert_ok(embedder_embed(plain, EMBED_PASSAGE, &STR("cafe"), 1, written, err));
    assert_memory_equal(asked, written, sizeof asked);
    embedder_close(plain);
    embedder_close(embedder);
    assert_ok(folder_remove(models, err));
    free(models);
}

static void test_reads_both_ways_of_naming_tensors(void **state)
{
    char *plain = temporary_folder(), *rooted = temporary_folder();
    float expected[TEXTS * TINY_HIDDEN], found[TEXTS * TINY_HIDDEN];
    tiny_model_write(plain, "", false);
    tiny_model_write(rooted, "bert.", false);
    embed_all(plain, "portable", expected);
    embed_all(rooted, "portable", found);
    assert_memory_equal(found, expected, sizeof found);
    assert_ok(folder_remove(plain, err));
    assert_ok(folder_remove(rooted, err));
    free(plain);
    free(rooted);
}

static void test_pooling_and_prefixes_change_vector_and_fingerprint(void **state)
{
    char *folder = temporary_folder();
    float mean[TEXTS * TINY_HIDDEN], cls[TEXTS * TINY_HIDDEN], prefixed[TINY_HIDDEN], joined[TINY_HIDDEN];
    tiny_model_write(folder, "", false);
    embed_all(folder, "portable", mean);
    tiny_model_write(folder, "", true);
    embed_all(folder, "portable", cls);
    assert_true(cosine(mean, cls, TINY_HIDDEN) < 0.9999);

    struct embedder *plain = open_local(folder, "portable"), *asking;
    const struct local_options options = {
        .model = folder, .kernel = "portable", .query_prefix = "the index:"};
    assert_ok(embedder_open(embedder_find("local"), NULL, &options, &asking, err));
    assert_string_not_equal(plain->info.fingerprint, asking->info.fingerprint);
    assert_string_equal(plain->info.id, asking->info.id);
    assert_ok(embedder_embed(asking, EMBED_QUERY, &STR("cafe"), 1, prefixed, err));
    assert_ok(embedder_embed(plain, EMBED_QUERY, &STR("the index: cafe"), 1, joined, err));
    assert_memory_equal(prefixed, joined, sizeof joined);
    assert_ok(embedder_embed(asking, EMBED_PASSAGE, &STR("cafe"), 1, prefixed, err));
    assert_memory_not_equal(prefixed, joined, sizeof joined);
    embedder_close(plain);
    embedder_close(asking);
    assert_ok(folder_remove(folder, err));
    free(folder);
}

/* ---- the real model ---- */

static void check_golden(const char *folder, const struct kernel *kernel)
{
    struct golden golden;
    golden_open("minilm.jsonl", &golden);
    AUTO_FREE char *path = golden_path("minilm.f32");
    AUTO_BUFFER file = BUFFER(16 << 20);
    assert_ok(file_read(path, &file, err));
    struct embedder *embedder = open_local(folder, kernel->name);
    const size_t dimension = embedder->info.dimension;
    assert_int_equal(dimension, 384);
    assert_int_equal(file.size, golden.count * dimension * sizeof(float));
    float *vectors = xcalloc(golden.count * dimension, sizeof *vectors);
    const double lowest = kernel->precision == KERNEL_BF16 ? 0.999 : 0.9999;
    /* Under sanitizers long texts take the portable kernel too long. */
    const size_t longest = kernel->features ? SIZE_MAX : 24;
    for (size_t i = 0; i < golden.count; i++) {
        if (golden.id_counts[i] > longest)
            continue;
        assert_ok(embedder_embed(embedder, EMBED_PASSAGE, &golden.texts[i], 1, vectors + i * dimension, err));
        const double found =
            cosine(vectors + i * dimension, (const float *)file.data + i * dimension, dimension);
        if (!(found >= lowest))
            fail_msg("kernel %s: cosine %.6f on line %zu", kernel->name, found, i + 1);
    }
    free(vectors);
    embedder_close(embedder);
    golden_close(&golden);
}

static void test_gives_the_vectors_of_the_reference(void **state)
{
    AUTO_FREE char *folder = model_folder();
    if (!folder)
        SKIP_TEST("no model all-MiniLM-L6-v2 here (IBID_TEST_MODEL names its folder)");
    for (size_t i = 0; kernel_list[i]; i++)
        if (kernel_is_usable(kernel_list[i]))
            check_golden(folder, kernel_list[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_hostile_safetensors),
        cmocka_unit_test(test_reads_half_precision),
        cmocka_unit_test(test_names_what_is_wrong_with_a_folder),
        cmocka_unit_test(test_refuses_options_that_make_no_sense),
        cmocka_unit_test(test_all_kernels_give_the_same_vectors),
        cmocka_unit_test(test_small_models_give_the_vectors_of_the_reference),
        cmocka_unit_test(test_knows_a_folder_by_its_name_where_weights_are_not_pinned),
        cmocka_unit_test(test_runs_a_model_of_the_catalogue_by_its_name),
        cmocka_unit_test(test_reads_both_ways_of_naming_tensors),
        cmocka_unit_test(test_pooling_and_prefixes_change_vector_and_fingerprint),
        cmocka_unit_test(test_gives_the_vectors_of_the_reference),
    };
    return cmocka_run_group_tests_name("encoder_model", tests, NULL, NULL);
}
