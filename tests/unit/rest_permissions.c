/* Who may not see something cannot learn that it exists: over every route, for random people in random
 * workspaces, with documents of their own, shared and sensitive ones.
 *
 * 1. An answer about a document that the caller may not read is the one about a document that is not there.
 * 2. No answer shows anything of such a document.
 * 3. Once all such documents are deleted, the caller gets the same answers as before: lists, counts, facets,
 *    scores.
 *
 * IBID_TEST_SEED repeats a run. */
#include "tests/test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/token.h"
#include "api/rest/dispatch.h"
#include "api/rest/route.h"
#include "base/clock.h"
#include "ingest/upload.h"
#include "records/audit.h"
#include "records/bootstrap.h"
#include "records/collection.h"
#include "records/document.h"
#include "records/source.h"
#include "records/succession.h"
#include "tests/folder.h"

enum {
    WORLDS = 3,
    ROUNDS = 2000, /* of random questions in each world */
    USERS = 9,
    WORKSPACES = 5,
    DOCUMENTS = 28,
    NAMES = 9, /* fewer than documents: several have the same */
};

/* ---- chance ---- */

static uint64_t chance;

static unsigned below(unsigned limit)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)((chance >> 11) % limit);
}

/* ---- a world ---- */

enum { NOBODY = -1, ADMINISTRATOR = USERS - 1 }; /* a System-Admin is a member of nothing by that */

struct person {
    int64_t id;
    char token[TOKEN_TEXT_SIZE];
    int roles[WORKSPACES]; /* NOBODY or enum workspace_role */
};

struct paper {
    int64_t id;
    char file_id[80];
    const char *secret; /* a word of its own, in its text and title */
    bool replaced;      /* by a later one, which has its id now; nobody can read it */
    bool in_workspace[WORKSPACES];
    enum document_state state;
    unsigned owner, home; /* who brought it where */
};

struct world {
    char *root;
    struct rest_settings settings;
    struct rest *rest;
    struct instance *instance;
    struct arena arena;
    struct person people[USERS];
    int64_t workspaces[WORKSPACES];
    struct paper papers[DOCUMENTS];
    _Atomic bool hung_up; /* so does the caller of what is asked */
};

/* What the product must come to, said once more and in other words. */
static bool may_read(const struct person *person, const struct paper *paper)
{
    for (unsigned i = 0; i < WORKSPACES; i++)
        if (paper->in_workspace[i] && person->roles[i] != NOBODY &&
            (paper->state != DOCUMENT_SENSITIVE || person->roles[i] >= ROLE_ADMIN))
            return true;
    return false;
}

static bool may_change(const struct world *world, unsigned who, const struct paper *paper)
{
    const int role = world->people[who].roles[paper->home];
    return may_read(&world->people[who], paper) &&
           role >= (int)(paper->owner == who ? ROLE_EDITOR : ROLE_ADMIN);
}

/* ---- asking ---- */

struct answer {
    int status;
    struct str body;
};

static struct str body_of(struct http_reply *reply, struct arena *arena)
{
    if (reply->fd <= 0)
        return reply->text;
    char *bytes = arena_alloc(arena, (size_t)reply->fd_size + 1);
    assert_int_equal(pread(reply->fd, bytes, (size_t)reply->fd_size, 0), reply->fd_size);
    close(reply->fd);
    return (struct str){bytes, (size_t)reply->fd_size};
}

/* As a server would carry out a request that came over the network. */
static struct answer ask(struct world *world, const struct person *person, const char *method,
                         const char *target, const char *content_type, const char *body)
{
    struct arena *arena = &world->arena;
    const struct str whole = str_from(target);
    const size_t mark = str_find(whole, '?');
    const struct http_header headers[] = {
        {STR("Authorization"), str_from(arena_printf(arena, "Bearer %s", person->token))},
        {STR("Content-Type"), str_from(content_type)},
    };
    struct http_call http = {
        .arena = arena,
        .method = str_from(method),
        .path = str_slice(whole, 0, mark),
        .query = str_slice(whole, mark + 1, whole.size),
        .headers = {headers, COUNT_OF(headers)},
        .peer = {.address = "192.0.2.1"},
        .content_length = (int64_t)strlen(body),
        .has_body = *body,
        .cancel = &world->hung_up,
    };
    struct http_reply reply = {.status = 200};
    ibid_error error = {0};
    ibid_code code = dispatch_begin(&http, world->rest, &error);
    if (code == IBID_OK && http.sink) {
        code = http.sink->write(http.sink, str_from(body), &error);
        if (code == IBID_OK)
            code = http.sink->finish(http.sink, &error);
    }
    http.body = http.sink ? STR_EMPTY : str_from(body);
    if (code == IBID_OK) {
        dispatch_handle(&http, &reply, world->rest);
    } else {
        reply.status = ibid_code_http_status(code);
        dispatch_refuse(arena, reply.status, &error, &reply, world->rest);
    }
    if (http.sink)
        http.sink->close(http.sink);
    return (struct answer){reply.status, body_of(&reply, arena)};
}

static struct answer ask_json(struct world *world, const struct person *person, const char *method,
                              const char *target, const char *body)
{
    return ask(world, person, method, target, "application/json", body);
}

static struct answer upload(struct world *world, const struct person *person, const char *workspace,
                            const char *name, const char *secret)
{
    const char *body =
        arena_printf(&world->arena,
                     "--x\r\nContent-Disposition: form-data; name=\"workspace\"\r\n\r\n%s\r\n"
                     "--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nAbout %s\r\n"
                     "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\n"
                     "Content-Type: text/plain\r\n\r\n"
                     "Bake bread with rye flour. The secret word is %s.\r\n--x--\r\n",
                     workspace, secret, name, secret);
    return ask(world, person, "POST", "/api/v1/documents?wait=60s", "multipart/form-data; boundary=x", body);
}

/* ---- making one ---- */

static void open_rest(struct world *world)
{
    rest_settings_init(&world->settings);
    struct settings *table = instance_settings_table(world->settings.instance);
    static const char *const set[][2] = {{"embedder.provider", "hash"}, {"embedder.hash.dimension", "64"}};
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_ok(settings_set(table, str_from(set[i][0]), str_from(set[i][1]), "test", err));
    world->settings.folder = path_join(world->root, "data");
    assert_ok(rest_open(&world->settings, &world->rest, err));
    assert_ok(rest_instance(world->rest, true, &world->instance, err));
}

static void invite_people(struct world *world, struct transaction *transaction)
{
    for (unsigned i = 0; i < USERS; i++) {
        struct person *person = &world->people[i];
        const struct user user = {.name = str_from(arena_printf(&world->arena, "user%u", i)),
                                  .system_admin = i == ADMINISTRATOR};
        int64_t token_id;
        assert_ok(user_create(transaction, &user, &person->id, err));
        assert_ok(token_issue(transaction, person->id, STR("test"), 0, person->token, &token_id, err));
    }
}

static const char *workspace_name(struct world *world, unsigned i)
{
    return arena_printf(&world->arena, "workspace%u", i);
}

/* Each workspace has an owner and some members; the last two people are in none. */
static void found_workspaces(struct world *world, struct transaction *transaction)
{
    for (unsigned i = 0; i < USERS; i++)
        for (unsigned j = 0; j < WORKSPACES; j++)
            world->people[i].roles[j] = NOBODY;
    for (unsigned j = 0; j < WORKSPACES; j++) {
        const unsigned owner = below(USERS - 2);
        assert_ok(workspace_create(transaction, str_from(workspace_name(world, j)), false,
                                   world->people[owner].id, &world->workspaces[j], err));
        world->people[owner].roles[j] = ROLE_OWNER;
        for (unsigned i = 0; i < USERS - 2; i++)
            if (i != owner && below(3) == 0) {
                const enum workspace_role role = below(ROLE_OWNER);
                assert_ok(membership_set(transaction, world->workspaces[j], world->people[i].id, role, err));
                world->people[i].roles[j] = (int)role;
            }
    }
}

static const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    assert_non_null(text);
    return text;
}

/* The document of an answer to an upload; free it with json_decref. */
static json_t *uploaded(const struct answer *answer)
{
    json_t *whole;
    if (answer->status != 201)
        fail_msg("an upload was answered %d: %.*s", answer->status, STR_ARG(answer->body));
    assert_ok(json_parse(answer->body, &whole, err));
    json_t *document = json_incref(json_array_get(json_object_get(whole, "documents"), 0));
    json_decref(whole);
    return document;
}

/* Somebody who may brings it. */
static void bring(struct world *world, unsigned number)
{
    struct paper *paper = &world->papers[number];
    unsigned who, where;
    do {
        who = below(USERS - 2);
        where = below(WORKSPACES);
    } while (world->people[who].roles[where] < ROLE_EDITOR);
    paper->secret = arena_printf(&world->arena, "hush%ux", number);
    const char *name = arena_printf(&world->arena, "note%u.txt", below(NAMES));
    const struct answer answer =
        upload(world, &world->people[who], workspace_name(world, where), name, paper->secret);
    AUTO_JSON *document = uploaded(&answer);
    paper->id = json_integer_value(json_object_get(document, "id"));
    snprintf(paper->file_id, sizeof paper->file_id, "%s", json_text(document, "file_id"));
    unsigned owner = who;
    for (unsigned i = 0; i < number; i++)
        if (world->papers[i].id == paper->id) {
            owner = world->papers[i].owner; /* whoever replaces it */
            world->papers[i] = (struct paper){.secret = world->papers[i].secret, .replaced = true};
        }
    paper->in_workspace[where] = true;
    paper->owner = owner;
    paper->home = where;
}

static void share_and_classify(struct world *world, struct transaction *transaction)
{
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        struct paper *paper = &world->papers[i];
        if (paper->replaced)
            continue;
        paper->state = below(2) ? DOCUMENT_ACTIVE : (enum document_state)below(4);
        assert_ok(document_set_state(transaction, paper->id, paper->state, err));
        const unsigned where = below(2 * WORKSPACES);
        if (where < WORKSPACES) {
            assert_ok(document_share(transaction, paper->id, world->workspaces[where], err));
            paper->in_workspace[where] = true;
        }
    }
}

static struct transaction *writing(struct world *world)
{
    struct transaction *transaction;
    assert_ok(transaction_begin(instance_metadata(world->instance), TRANSACTION_WRITE, &transaction, err));
    return transaction;
}

static void settle(struct world *world, struct transaction *take_transaction)
{
    assert_ok(transaction_commit(take_transaction, err));
    instance_committed(world->instance);
    assert_ok(instance_compact(world->instance, NULL, 0, err));
}

/* In the midst of a change of embedder: some documents are in the successor, too. */
static void begin_succession(struct world *world, struct transaction *transaction)
{
    const struct collection_embedder other = {
        .id = STR("hash/words-96@1"), .fingerprint = STR("hash/words-96@1;f32"), .dimension = 96};
    struct collection successor;
    bool found;
    assert_ok(collection_set_embedder(transaction, DEFAULT_COLLECTION_ID, &other, err));
    assert_ok(collection_load_successor(transaction, DEFAULT_COLLECTION_ID, &world->arena, &successor, &found,
                                        err));
    assert_true(found);
    for (unsigned i = 0; i < DOCUMENTS; i++)
        if (!world->papers[i].replaced && below(2))
            assert_ok(
                succession_carry(transaction, world->papers[i].id, DEFAULT_COLLECTION_ID, successor.id, err));
}

static struct world *new_world(void)
{
    struct world *world = xcalloc(1, sizeof *world);
    world->root = test_folder_new();
    open_rest(world);
    struct transaction *transaction = writing(world);
    invite_people(world, transaction);
    found_workspaces(world, transaction);
    assert_ok(transaction_commit(transaction, err));
    for (unsigned i = 0; i < DOCUMENTS; i++)
        bring(world, i);
    transaction = writing(world);
    if (below(2))
        begin_succession(world, transaction);
    share_and_classify(world, transaction);
    settle(world, transaction);
    return world;
}

static void end_world(struct world *world)
{
    rest_close(world->rest);
    rest_settings_release(&world->settings);
    test_folder_free(world->root);
    arena_release(&world->arena);
    free(world);
}

/* ---- 1. as if it were not there ---- */

/* `text` with every `old` replaced. */
static struct str with(struct str text, const char *old, const char *new, struct arena *arena)
{
    AUTO_BUFFER out = BUFFER(64 * 1024 * 1024);
    const struct str part = str_from(old);
    for (size_t at = 0; at < text.size;) {
        if (part.size <= text.size - at && memcmp(text.data + at, old, part.size) == 0) {
            buffer_append_string(&out, new);
            at += part.size;
        } else {
            buffer_append_byte(&out, text.data[at++]);
        }
    }
    return arena_str(arena, buffer_str(&out));
}

static bool is_about_one_document(const struct route *route)
{
    return strstr(route->path, "/documents/{id}");
}

/* What may stand in the query of a route for one document. */
static const char *some_query(const struct route *route)
{
    static const char *const queries[][4] = {
        {"/chunks", "?limit=1", "?offset=1", "?boxes=true"},
        {"/text", "?start=0&end=4", "?start=100000&end=100001", ""},
        {"/content", "?user=1&token=1&expires=9000000000&signature=00", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(queries); i++)
        if (str_ends_with(str_from(route->path), queries[i][0]))
            return below(2) ? queries[i][1 + below(3)] : "";
    return "";
}

static struct answer ask_about(struct world *world, const struct person *person, const struct route *route,
                               const char *id, const char *query)
{
    const struct str path = with(str_from(route->path), "{id}", id, &world->arena);
    const char *target = arena_printf(&world->arena, "%.*s%s", STR_ARG(path), query);
    const struct answer answer =
        ask_json(world, person, route->method, target, route->body == BODY_JSON ? "{}" : "");
    return (struct answer){answer.status, with(answer.body, id, "(id)", &world->arena)};
}

static void assert_same(const struct answer *first, const struct answer *second, const char *what)
{
    if (first->status != second->status || !str_equal(first->body, second->body))
        fail_msg("%s is answered %d: %.*s\n\n   and %d: %.*s", what, first->status, STR_ARG(first->body),
                 second->status, STR_ARG(second->body));
}

static void one_question(struct world *world, unsigned *hidden, unsigned *shown)
{
    const struct person *person = &world->people[below(USERS)];
    const struct paper *paper = &world->papers[below(DOCUMENTS)];
    const struct route *route;
    do
        route = &routes[below((unsigned)route_count)];
    while (!is_about_one_document(route));
    if (paper->replaced)
        return;
    const bool by_number = below(2);
    const char *id = by_number ? arena_printf(&world->arena, "%lld", (long long)paper->id) : paper->file_id;
    const char *query = some_query(route);
    if (may_read(person, paper)) {
        if (strcmp(route->method, "DELETE") != 0) {
            const struct answer answer = ask_about(world, person, route, id, "");
            if (answer.status != 200)
                fail_msg("%s of a document to read is answered %d", route->path, answer.status);
            ++*shown;
        }
        return;
    }
    const char *missing = by_number ? arena_printf(&world->arena, "%u", 1000000 + below(1000000))
                                    : arena_printf(&world->arena, "%08x", below(UINT32_MAX));
    const struct answer about = ask_about(world, person, route, id, query);
    const struct answer without = ask_about(world, person, route, missing, query);
    assert_same(&about, &without, route->path);
    assert_true(about.status >= 400);
    ++*hidden;
}

static void what_may_not_be_read_is_not_there(void **state)
{
    unsigned hidden = 0, shown = 0;
    for (unsigned i = 0; i < WORLDS; i++) {
        struct world *world = new_world();
        for (unsigned j = 0; j < ROUNDS; j++)
            one_question(world, &hidden, &shown);
        end_world(world);
    }
    print_message("# %u questions about documents that were hidden, %u about others\n", hidden, shown);
    assert_true(hidden > ROUNDS / 2 && shown > ROUNDS / 10);
}

/* ---- 2. nothing shows it ---- */

/* Questions about many documents. %s is a secret word. */
static const struct {
    const char *method, *target, *body;
} questions[] = {
    {"GET", "/api/v1/documents", ""},
    {"GET", "/api/v1/documents?limit=3", ""},
    {"GET", "/api/v1/documents?state=completed&limit=2", ""},
    {"GET", "/api/v1/documents?title=%s", ""},
    {"GET", "/api/v1/documents?source_id=1&title=about", ""},
    {"GET", "/api/v1/documents?collection_id=1", ""},
    {"GET", "/api/v1/status", ""},
    {"GET", "/metrics", ""},
    {"GET", "/api/v1/sources", ""},
    {"GET", "/api/v1/indexing/status", ""},
    {"GET", "/api/v1/tokens", ""},
    {"GET", "/api/v1/audit", ""},
    {"GET", "/api/v1/config", ""},
    {"POST", "/api/v1/verify", "{}"},
    {"POST", "/api/v1/search", "{\"query\": [\"%s\"]}"},
    {"POST", "/api/v1/search", "{\"query\": [\"%s bread\"], \"mode\": \"keyword\", \"explain\": true}"},
    {"POST", "/api/v1/search", "{\"query\": [\"%s\"], \"mode\": \"vector\", \"top_k\": 50}"},
    {"POST", "/api/v1/search",
     "{\"query\": [\"rye bread\", \"secret\"], \"top_k\": 50, \"neighbours\": 2, \"explain\": true}"},
    {"POST", "/api/v1/search",
     "{\"query\": [\"bread\"], \"group_by\": \"none\", \"top_k\": 2, \"facets\": [\"workspace_id\", "
     "\"owner\", \"language\", \"source_id\"]}"},
    {"POST", "/api/v1/search",
     "{\"filter\": {\"workspace_id\": {\"gte\": 1}}, \"facets\": [\"workspace_id\"]}"},
    {"POST", "/api/v1/search", "{\"filter\": {\"document_title\": {\"contains\": \"%s\"}}}"},
    {"POST", "/api/v1/search", "{\"query\": [\"flour\"], \"source_diversity\": 2, \"offset\": 1}"},
};

static struct answer ask_question(struct world *world, const struct person *person, size_t number,
                                  const char *secret)
{
    const struct str target = with(str_from(questions[number].target), "%s", secret, &world->arena);
    const struct str body = with(str_from(questions[number].body), "%s", secret, &world->arena);
    return ask_json(world, person, questions[number].method, target.data, body.data);
}

static void assert_shows_nothing_of(const struct answer *answer, const struct paper *paper, const char *what)
{
    const char *const marks[] = {paper->secret, paper->file_id};
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (*marks[i] && memmem(answer->body.data, answer->body.size, marks[i], strlen(marks[i])))
            fail_msg("%s shows '%s': %.*s", what, marks[i], STR_ARG(answer->body));
}

/* Of documents that may be read, the other workspaces that they are in stay hidden. */
static void assert_names_own_workspaces(const struct world *world, const struct person *person,
                                        const json_t *value)
{
    const char *key;
    json_t *item, *id;
    size_t index, place;
    json_array_foreach(value, index, item) assert_names_own_workspaces(world, person, item);
    json_object_foreach((json_t *)value, key, item)
    {
        assert_names_own_workspaces(world, person, item);
        if (strcmp(key, "workspace_ids") != 0)
            continue;
        json_array_foreach(item, place, id)
        {
            bool own = false;
            for (unsigned i = 0; i < WORKSPACES; i++)
                own |= person->roles[i] != NOBODY && world->workspaces[i] == json_integer_value(id);
            assert_true(own);
        }
    }
}

static void no_answer_shows_what_may_not_be_read(void **state)
{
    struct world *world = new_world();
    for (size_t who = 0; who < USERS; who++) {
        const struct person *person = &world->people[who];
        for (size_t i = 0; i < COUNT_OF(questions); i++)
            for (size_t j = 0; j < DOCUMENTS; j++) {
                const struct paper *paper = &world->papers[j];
                const struct answer answer = ask_question(world, person, i, paper->secret);
                AUTO_JSON *body = NULL;
                if (json_parse(answer.body, &body, NULL) == IBID_OK)
                    assert_names_own_workspaces(world, person, body);
                for (size_t k = 0; k < DOCUMENTS; k++)
                    if (!may_read(person, &world->papers[k]))
                        assert_shows_nothing_of(&answer, &world->papers[k], questions[i].target);
                if (!strstr(questions[i].target, "%s") && !strstr(questions[i].body, "%s"))
                    break;
            }
    }
    end_world(world);
}

/* ---- 3. the same answers without it ---- */

/* Without what differs between any two answers. */
static struct answer lasting(struct world *world, struct answer answer)
{
    static const char *const passing[] = {"id", "file_id", "added_at", "indexed_at", "modified_at"};
    json_t *body = NULL, *document;
    size_t index;
    if (json_parse(answer.body, &body, NULL) != IBID_OK)
        return answer;
    json_object_del(body, "took_ms");
    if (answer.status == 201)
        json_array_foreach(json_object_get(body, "documents"), index,
                           document) for (size_t i = 0; i < COUNT_OF(passing); i++)
            json_object_del(document, passing[i]);
    AUTO_BUFFER out = BUFFER(64 * 1024 * 1024);
    json_append(&out, body);
    json_decref(body);
    return (struct answer){answer.status, arena_str(&world->arena, buffer_str(&out))};
}

static void remove_what_is_hidden(struct world *world, const struct person *person, unsigned *ret_count)
{
    *ret_count = 0;
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        struct removal removal;
        if (world->papers[i].replaced || may_read(person, &world->papers[i]))
            continue;
        assert_ok(ingest_remove(instance_ingest(world->instance), world->papers[i].id, &removal, err));
        ++*ret_count;
    }
    settle(world, writing(world));
}

enum { ANSWERS = COUNT_OF(questions) * DOCUMENTS };

static void ask_everything(struct world *world, const struct person *person, struct answer answers[ANSWERS])
{
    for (size_t i = 0; i < ANSWERS; i++)
        answers[i] =
            lasting(world, ask_question(world, person, i / DOCUMENTS, world->papers[i % DOCUMENTS].secret));
}

static void without_what_is_hidden_answers_are_the_same(void **state)
{
    static struct answer before[ANSWERS], after[ANSWERS];
    for (unsigned round = 0; round < WORLDS; round++) {
        struct world *world = new_world();
        const struct person *person = &world->people[below(USERS - 2)];
        unsigned removed;
        ask_everything(world, person, before);
        remove_what_is_hidden(world, person, &removed);
        ask_everything(world, person, after);
        print_message("# %u documents were hidden\n", removed);
        for (size_t i = 0; i < ANSWERS; i++)
            assert_same(&before[i], &after[i], questions[i / DOCUMENTS].target);
        end_world(world);
    }
}

/* Brings a document of each name to each workspace, and to one that is not there. */
static void upload_everywhere(struct world *world, const struct person *person,
                              struct answer answers[WORKSPACES * NAMES + 1])
{
    for (unsigned i = 0; i < WORKSPACES * NAMES; i++) {
        const char *name = arena_printf(&world->arena, "note%u.txt", i % NAMES);
        answers[i] = lasting(world, upload(world, person, workspace_name(world, i / NAMES), name, "none"));
    }
    answers[WORKSPACES * NAMES] = upload(world, person, "workspace9", "note0.txt", "none");
}

/* In one world with what is hidden, in another without; workspaces that the person is in have the same names
 * in both, others answer as one that is not there. */
static void uploads_do_not_meet_what_is_hidden(void **state)
{
    enum { UPLOADS = WORKSPACES * NAMES };
    struct answer with_it[UPLOADS + 1], without_it[UPLOADS + 1];
    const uint64_t start = chance;
    struct world *first = new_world();
    unsigned who = below(USERS - 1);
    for (unsigned i = 0; i < WORKSPACES;
         i++) /* best somebody who may bring, but not change what others brought */
        for (unsigned j = 0; j < USERS; j++)
            if (first->people[j].roles[i] == ROLE_EDITOR)
                who = j;
    upload_everywhere(first, &first->people[who], with_it);
    chance = start;
    struct world *second = new_world();
    unsigned removed;
    remove_what_is_hidden(second, &second->people[who], &removed);
    upload_everywhere(second, &second->people[who], without_it);
    print_message("# %u documents were hidden\n", removed);
    for (unsigned i = 0; i < UPLOADS; i++) {
        assert_same(&with_it[i], &without_it[i], "an upload");
        if (first->people[who].roles[i / NAMES] != NOBODY)
            continue;
        const char *name = workspace_name(first, i / NAMES);
        const struct answer answer = {with_it[i].status,
                                      with(with_it[i].body, name, "workspace9", &first->arena)};
        assert_same(&answer, &with_it[UPLOADS], "an upload to a workspace of others");
    }
    /* What others brought is as it was. */
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        const struct paper *paper = &first->papers[i];
        const char *target = arena_printf(&first->arena, "/api/v1/documents/%lld/text", (long long)paper->id);
        for (unsigned j = 0; j < USERS && !paper->replaced; j++) {
            if (may_change(first, who, paper) || !may_read(&first->people[j], paper))
                continue;
            const struct answer text = ask_json(first, &first->people[j], "GET", target, "");
            assert_non_null(memmem(text.body.data, text.body.size, paper->secret, strlen(paper->secret)));
        }
    }
    end_world(first);
    end_world(second);
}

/* ---- the audit log ---- */

static json_t *audit_log(struct world *world, const char *query)
{
    const char *target = arena_printf(&world->arena, "/api/v1/audit%s", query);
    const struct answer answer = ask_json(world, &world->people[ADMINISTRATOR], "GET", target, "");
    json_t *log;
    assert_int_equal(answer.status, 200);
    assert_ok(json_parse(answer.body, &log, err));
    return log;
}

static void assert_newest(struct world *world, const struct person *person, const char *action,
                          const char *object)
{
    AUTO_JSON *log = audit_log(world, "?limit=1");
    const json_t *entry = json_array_get(json_object_get(log, "entries"), 0);
    assert_string_equal(json_text(entry, "action"), action);
    assert_string_equal(json_text(entry, "object"), object);
    assert_string_equal(json_text(entry, "door"), "192.0.2.1");
    assert_int_equal(json_integer_value(json_object_get(entry, "user_id")), person->id);
    assert_true(json_integer_value(json_object_get(entry, "token_id")) > 0);
}

static void changes_and_denied_requests_are_logged(void **state)
{
    struct world *world = new_world();
    const struct person *owner = NULL, *admin = &world->people[ADMINISTRATOR];
    for (unsigned i = 0; i < USERS; i++)
        if (world->people[i].roles[0] == ROLE_OWNER)
            owner = &world->people[i];
    const struct answer answer = upload(world, owner, workspace_name(world, 0), "audit.txt", "none");
    AUTO_JSON *document = uploaded(&answer);
    const long long id = (long long)json_integer_value(json_object_get(document, "id"));
    assert_newest(world, owner, "document.upload", arena_printf(&world->arena, "document %lld", id));

    const char *target = arena_printf(&world->arena, "/api/v1/documents/%lld", id);
    ask_json(world, admin, "DELETE", target, ""); /* is not there for them: nothing changed, nothing denied */
    assert_newest(world, owner, "document.upload", arena_printf(&world->arena, "document %lld", id));
    assert_int_equal(ask_json(world, owner, "DELETE", target, "").status, 200);
    assert_newest(world, owner, "document.remove", arena_printf(&world->arena, "document %lld", id));

    assert_int_equal(ask_json(world, owner, "GET", "/api/v1/audit?action=secret", "").status, 403);
    assert_newest(world, owner, "denied", "GET /api/v1/audit");
    assert_int_equal(ask_json(world, admin, "POST", "/api/v1/tokens", "{\"name\": \"x\"}").status, 201);
    AUTO_JSON *tokens = audit_log(world, "?action=token.create");
    assert_int_equal(json_array_size(json_object_get(tokens, "entries")), 1);

    size_t all = 0;
    for (long long before = 0; before >= 0;) { /* page by page */
        AUTO_JSON *log = audit_log(world, arena_printf(&world->arena, "?limit=7&before=%lld", before));
        all += json_array_size(json_object_get(log, "entries"));
        const json_t *next = json_object_get(log, "next_before");
        before = next ? (long long)json_integer_value(next) : -1;
    }
    assert_int_equal(all, DOCUMENTS + 4); /* those that new_world() brought */

    /* Old entries go with new ones, some at a time. */
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        struct transaction *transaction = writing(world);
        const struct audit_entry entry = {.action = STR("test"), .object = STR("a\nb"), .door = STR("local")};
        assert_ok(audit_append(transaction, &entry, i < 4 ? clock_now_us() + 1 : 1, err));
        assert_ok(transaction_commit(transaction, err));
    }
    AUTO_JSON *log = audit_log(world, "?limit=1000");
    all = json_array_size(json_object_get(log, "entries"));
    assert_true(all <= DOCUMENTS && all >= DOCUMENTS - 4);
    end_world(world);
}

/* What a removal came to before its caller hung up has changed something. */
static void a_stopped_removal_is_logged(void **state)
{
    struct world *world = new_world();
    const struct person *admin = &world->people[ADMINISTRATOR];
    struct source draft = {.location = STR("/gone"), .options = STR("{}")};
    struct transaction *transaction = writing(world);
    assert_ok(source_connector(transaction, STR("folder"), &draft.connector_id, err));
    assert_ok(source_create(transaction, &draft, &draft.id, err));
    assert_ok(transaction_commit(transaction, err));
    const char *target = arena_printf(&world->arena, "/api/v1/sources/%lld", (long long)draft.id);
    const char *object = arena_printf(&world->arena, "source %lld", (long long)draft.id);
    atomic_store(&world->hung_up, true);
    assert_int_not_equal(ask_json(world, admin, "DELETE", target, "").status, 200);
    atomic_store(&world->hung_up, false);
    assert_newest(world, admin, "source.remove", object);
    assert_int_equal(ask_json(world, admin, "DELETE", target, "").status, 200);
    assert_int_equal(ask_json(world, admin, "DELETE", target, "").status, 404);
    AUTO_JSON *log = audit_log(world, "?action=source.remove");
    assert_int_equal(json_array_size(json_object_get(log, "entries")), 2);
    end_world(world);
}

static void a_token_for_metrics_is_good_for_nothing_else(void **state)
{
    struct world *world = new_world();
    const struct answer answer = ask_json(world, &world->people[ADMINISTRATOR], "POST", "/api/v1/tokens",
                                          "{\"name\": \"monitor\", \"metrics\": true}");
    json_t *made;
    assert_int_equal(answer.status, 201);
    assert_ok(json_parse(answer.body, &made, err));
    struct person monitor = world->people[ADMINISTRATOR];
    snprintf(monitor.token, sizeof monitor.token, "%s", json_text(made, "token"));
    json_decref(made);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        if (route->need == NEED_NOTHING)
            continue;
        const int status = ask_about(world, &monitor, route, "1", "").status;
        assert_int_equal(status, strcmp(route->path, "/metrics") == 0 ? 200 : 403);
    }
    end_world(world);
}

int main(void)
{
    const char *seed = getenv("IBID_TEST_SEED");
    chance = seed ? strtoull(seed, NULL, 10) : (uint64_t)clock_now_us();
    fprintf(stderr, "IBID_TEST_SEED=%llu\n", (unsigned long long)chance); /* not before TAP's first line */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_not_be_read_is_not_there),
        cmocka_unit_test(no_answer_shows_what_may_not_be_read),
        cmocka_unit_test(without_what_is_hidden_answers_are_the_same),
        cmocka_unit_test(uploads_do_not_meet_what_is_hidden),
        cmocka_unit_test(changes_and_denied_requests_are_logged),
        cmocka_unit_test(a_stopped_removal_is_logged),
        cmocka_unit_test(a_token_for_metrics_is_good_for_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
