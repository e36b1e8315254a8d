#include "access/access.h"

#include "access/token.h"
#include "base/clock.h"
#include "tests/store.h"

struct people {
    int64_t viewer, editor, admin, stranger;
    int64_t engineering, personal;
    int64_t document; /* the editor's own, at home in engineering */
};

static int64_t person(struct transaction *transaction, const char *name)
{
    int64_t id;
    assert_ok(user_create(transaction, &(struct user){.name = str_from(name)}, &id, err));
    return id;
}

static struct people invite(struct transaction *transaction)
{
    struct people people = {
        .viewer = person(transaction, "vera"),
        .editor = person(transaction, "edith"),
        .admin = person(transaction, "ada"),
        .stranger = person(transaction, "sam"),
    };
    assert_ok(
        workspace_create(transaction, STR("engineering"), false, people.admin, &people.engineering, err));
    assert_ok(membership_set(transaction, people.engineering, people.viewer, ROLE_VIEWER, err));
    assert_ok(membership_set(transaction, people.engineering, people.editor, ROLE_EDITOR, err));
    assert_ok(workspace_create(transaction, STR("edith's"), true, people.editor, &people.personal, err));
    assert_ok(document_create(transaction,
                              &(struct document){.source_id = UPLOAD_SOURCE_ID,
                                                 .external_key = STR("notes.md"),
                                                 .home_workspace_id = people.engineering,
                                                 .owner_id = people.editor,
                                                 .size = -1},
                              &people.document, err));
    return people;
}

static struct principal acting(int64_t user_id)
{
    return (struct principal){.user_id = user_id};
}

static struct scope scope_for(struct test_store *store, struct transaction *transaction,
                              struct principal principal)
{
    struct scope scope;
    assert_ok(scope_of(transaction, &principal, &store->arena, &scope, err));
    return scope;
}

static void a_scope_follows_memberships(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    struct scope scope = scope_for(store, transaction, acting(people.editor));
    assert_int_equal(scope.workspace_count, 2);
    assert_true(scope.workspaces[0] < scope.workspaces[1]);
    assert_true(scope_has_workspace(&scope, people.engineering) &&
                scope_has_workspace(&scope, people.personal));
    assert_int_equal(scope.sensitive_workspace_count, 1);
    assert_int_equal(scope.sensitive_workspaces[0], people.personal);
    scope = scope_for(store, transaction, acting(people.admin));
    assert_int_equal(scope.sensitive_workspace_count, 1);
    assert_true(scope_is_empty(&(struct scope){0}));
    scope = scope_for(store, transaction, acting(people.stranger));
    assert_true(scope_is_empty(&scope));
    scope = scope_for(store, transaction, (struct principal){0});
    assert_true(scope_is_empty(&scope));
    struct principal owner;
    assert_ok(principal_local_owner(transaction, &store->arena, &owner, err));
    assert_true(owner.system_admin);
    scope = scope_for(store, transaction, owner);
    assert_int_equal(scope.workspace_count, 3);
    assert_int_equal(scope.sensitive_workspace_count, 3);
    scope = scope_restrict(&scope, (const int64_t[]){people.engineering, 99}, 2, &store->arena);
    assert_int_equal(scope.workspace_count, 1);
    assert_int_equal(scope.workspaces[0], people.engineering);
    assert_ok(membership_remove(transaction, people.engineering, people.viewer, err));
    scope = scope_for(store, transaction, acting(people.viewer));
    assert_true(scope_is_empty(&scope));
}

static void a_list_keeps_only_what_it_shows(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const int64_t source = test_source(transaction, "/notes");
    size_t kept[2];
    for (size_t round = 0; round < 2; round++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct principal local;
        struct document *documents;
        size_t count;
        bool more;
        for (int i = 0; i < 50; i++) {
            char name[32];
            snprintf(name, sizeof name, "Note %zu.%d", round, i);
            test_document(transaction, source, name);
        }
        assert_ok(principal_local_owner(transaction, &store->arena, &local, err));
        const struct scope all = scope_for(store, transaction, local);
        const struct document_query query = {
            .limit = 4, .processing_state = -1, .title_contains = STR("note 0.7")};
        assert_ok(document_list(transaction, &all, &query, &arena, &documents, &count, &more, err));
        assert_int_equal(count, 1);
        kept[round] = arena.allocated;
    }
    assert_int_equal(kept[0], kept[1]); /* however many documents were looked at */
}

static void what_may_not_be_read_looks_missing(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    const struct scope none = scope_for(store, transaction, acting(people.stranger));
    const struct scope viewer = scope_for(store, transaction, acting(people.viewer));
    struct document document;
    ibid_error hidden, missing;
    assert_ok(document_read(transaction, &viewer, people.document, &store->arena, &document, err));
    assert_int_equal(document_read(transaction, &none, people.document, &store->arena, &document, &hidden),
                     IBID_ENOTFOUND);
    assert_ok(document_load(transaction, people.document, &store->arena, &document, err));
    struct removal removal;
    assert_ok(document_remove(transaction, people.document, "test", &removal, err));
    assert_int_equal(document_read(transaction, &viewer, people.document, &store->arena, &document, &missing),
                     IBID_ENOTFOUND);
    assert_string_equal(hidden.message, missing.message);
}

static void lists_and_counts_show_only_what_may_be_read(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    const int64_t source = test_source(transaction, "/notes"); /* in the default workspace */
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "Note %d", i);
        test_document(transaction, source, name);
    }
    const struct scope editor = scope_for(store, transaction, acting(people.editor));
    const struct scope none = {0};
    struct principal local;
    assert_ok(principal_local_owner(transaction, &store->arena, &local, err));
    const struct scope all = scope_for(store, transaction, local);
    struct document *documents;
    size_t count;
    bool more;
    struct document_query query = {.limit = 4, .processing_state = -1};
    assert_ok(document_list(transaction, &all, &query, &store->arena, &documents, &count, &more, err));
    assert_true(count == 4 && more);
    query.after_id = documents[3].id;
    assert_ok(document_list(transaction, &all, &query, &store->arena, &documents, &count, &more, err));
    assert_true(count == 2 && !more);
    query.after_id = 0;
    query.title_contains = STR("nOTE 3");
    assert_ok(document_list(transaction, &all, &query, &store->arena, &documents, &count, &more, err));
    assert_int_equal(count, 1);
    query = (struct document_query){.limit = 10, .processing_state = PROCESSING_PENDING};
    assert_ok(document_list(transaction, &editor, &query, &store->arena, &documents, &count, &more, err));
    assert_int_equal(count, 1);
    assert_int_equal(documents[0].id, people.document);
    query = (struct document_query){.limit = 10, .processing_state = -1, .source_id = source};
    assert_ok(document_list(transaction, &editor, &query, &store->arena, &documents, &count, &more, err));
    assert_int_equal(count, 0);
    assert_ok(document_list(transaction, &none, &query, &store->arena, &documents, &count, &more, err));
    assert_int_equal(count, 0);
    int64_t counts[PROCESSING_STATE_COUNT];
    assert_ok(document_count(transaction, &all, counts, err));
    assert_int_equal(counts[PROCESSING_PENDING], 6);
    assert_ok(document_set_state(transaction, people.document, DOCUMENT_SENSITIVE, err));
    assert_ok(document_count(transaction, &editor, counts, err));
    assert_int_equal(counts[PROCESSING_PENDING], 0); /* an Editor is no Admin */
    assert_ok(document_count(transaction, &all, counts, err));
    assert_int_equal(counts[PROCESSING_PENDING], 6);
}

static void roles_decide_who_may_change(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    struct document document;
    assert_ok(document_load(transaction, people.document, &store->arena, &document, err));
    struct principal local;
    assert_ok(principal_local_owner(transaction, &store->arena, &local, err));
    const struct {
        struct principal principal;
        ibid_code change, editor_role;
    } rows[] = {
        {acting(people.viewer), IBID_EDENIED, IBID_EDENIED},
        {acting(people.editor), IBID_OK, IBID_OK}, /* their own */
        {acting(people.admin), IBID_OK, IBID_OK},
        {acting(people.stranger), IBID_ENOTFOUND, IBID_ENOTFOUND},
        {(struct principal){0}, IBID_ENOTFOUND, IBID_ENOTFOUND},
        {local, IBID_OK, IBID_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(access_check_change(transaction, &rows[i].principal, &document, NULL),
                         rows[i].change);
        assert_int_equal(
            access_check_role(transaction, &rows[i].principal, people.engineering, ROLE_EDITOR, NULL),
            rows[i].editor_role);
        assert_int_equal(access_check_role(transaction, &rows[i].principal, 999, ROLE_VIEWER, NULL),
                         IBID_ENOTFOUND);
    }
    const struct principal ada = acting(people.admin);
    assert_int_equal(access_check_system_admin(&ada, NULL), IBID_EDENIED);
    assert_ok(access_check_system_admin(&local, err));
}

static void a_workspace_keeps_one_owner(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    assert_int_equal(membership_remove(transaction, people.engineering, people.admin, NULL), IBID_ECONFLICT);
    assert_int_equal(membership_set(transaction, people.engineering, people.admin, ROLE_VIEWER, NULL),
                     IBID_ECONFLICT);
    assert_ok(membership_set(transaction, people.engineering, people.editor, ROLE_OWNER, err));
    assert_ok(membership_remove(transaction, people.engineering, people.admin, err));
    assert_int_equal(membership_set(transaction, people.personal, people.viewer, ROLE_VIEWER, NULL),
                     IBID_EINVAL);
    assert_int_equal(membership_remove(transaction, people.engineering, 999, NULL), IBID_ENOTFOUND);
}

static void a_token_is_shown_once_and_stored_hashed(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    char text[TOKEN_TEXT_SIZE], other[TOKEN_TEXT_SIZE];
    int64_t id, other_id;
    assert_ok(token_issue(transaction, OWNER_USER_ID, STR("laptop"), 0, text, &id, err));
    assert_ok(token_issue(transaction, OWNER_USER_ID, STR("phone"), 0, other, &other_id, err));
    assert_int_equal(strlen(text), TOKEN_TEXT_SIZE - 1);
    assert_true(strcmp(text, other) != 0);
    struct principal principal;
    assert_ok(principal_from_token(transaction, str_from(text), &store->arena, &principal, err));
    assert_int_equal(principal.user_id, OWNER_USER_ID);
    assert_int_equal(principal.token_id, id);
    assert_true(principal.system_admin && !principal.every_workspace);
    struct statement *statement;
    bool row;
    assert_ok(statement_prepare(transaction,
                                "SELECT count(*) FROM tokens WHERE instr(hash, ?1) OR instr(hint, ?1)",
                                &statement, err));
    statement_bind_text(statement, 1, str_from(text + 12));
    assert_ok(statement_step(statement, &row, err));
    assert_int_equal(statement_int(statement, 0), 0);
    struct token_record *tokens;
    size_t count;
    assert_ok(token_record_list(transaction, OWNER_USER_ID, &store->arena, &tokens, &count, err));
    assert_int_equal(count, 2);
    assert_true(str_is(tokens[0].name, "laptop") && str_starts_with(tokens[0].hint, "ibid_"));
}

static void expect_refused(struct test_store *store, struct transaction *transaction, struct str text)
{
    struct principal principal;
    ibid_error err = {0};
    assert_int_equal(principal_from_token(transaction, text, &store->arena, &principal, &err), IBID_EAUTH);
    assert_string_equal(err.message, "the access token is not valid");
}

static void every_wrong_token_is_refused_alike(void **state)
{
    struct test_store *store = *state;
    AUTO_TRANSACTION *transaction = test_begin(store, TRANSACTION_WRITE);
    char text[TOKEN_TEXT_SIZE];
    int64_t id;
    const int64_t user = person(transaction, "tom");
    assert_ok(token_issue(transaction, user, STR(""), clock_now_us() - 1, text, &id, err));
    expect_refused(store, transaction, str_from(text)); /* expired */
    assert_ok(token_issue(transaction, user, STR(""), clock_now_us() + 60 * SECOND_US, text, &id, err));
    struct principal principal;
    assert_ok(principal_from_token(transaction, str_from(text), &store->arena, &principal, err));
    text[20] ^= 1;
    expect_refused(store, transaction, str_from(text)); /* unknown */
    text[20] ^= 1;
    assert_ok(user_set_disabled(transaction, user, true, err));
    expect_refused(store, transaction, str_from(text)); /* of a disabled user */
    assert_ok(user_set_disabled(transaction, user, false, err));
    assert_ok(token_record_revoke(transaction, id, err));
    expect_refused(store, transaction, str_from(text)); /* revoked */
    expect_refused(store, transaction, STR(""));
    expect_refused(store, transaction, STR("ibid_"));
    expect_refused(store, transaction, STR("Bearer 12345678901234567890123456789012345678901"));
    assert_int_equal(token_issue(transaction, 999, STR(""), 0, text, &id, NULL), IBID_ENOTFOUND);
}

static void taking_a_mapping_back_hides_at_once(void **state)
{
    struct test_store *store = *state;
    struct transaction *transaction = test_begin(store, TRANSACTION_WRITE);
    const struct people people = invite(transaction);
    const int64_t source = test_source(transaction, "/notes");
    const int64_t id = test_document(transaction, source, "a.txt");
    test_publish(transaction, id, "text");
    const struct scope viewer = scope_for(store, transaction, acting(people.viewer));
    bool readable;
    assert_ok(document_is_readable(transaction, &viewer, id, &readable, err));
    assert_false(readable);
    int64_t after = 0;
    assert_ok(source_map(transaction, source, people.engineering, err));
    assert_ok(source_mapping_apply(transaction, source, 100, &after, err));
    assert_int_equal(after, 0);
    assert_ok(document_is_readable(transaction, &viewer, id, &readable, err));
    assert_true(readable);
    test_commit(transaction);
    struct row *rows;
    assert_int_equal(test_changes(store, 0, &rows), 1);
    assert_int_equal(rows[0].workspace_count, 2);
    const int64_t seq = rows[0].seq;
    transaction = test_begin(store, TRANSACTION_WRITE);
    assert_ok(source_unmap(transaction, source, people.engineering, err));
    assert_ok(document_is_readable(transaction, &viewer, id, &readable, err));
    assert_false(readable); /* before anything was applied */
    assert_ok(source_mapping_apply(transaction, source, 100, &after, err));
    assert_ok(source_mapping_apply(transaction, source, 100, &after, err)); /* changes nothing more */
    test_commit(transaction);
    assert_int_equal(test_changes(store, seq, &rows), 1);
    assert_int_equal(rows[0].workspace_count, 1);
    assert_int_equal(rows[0].workspaces[0], DEFAULT_WORKSPACE_ID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_store_set_up, test_store_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_scope_follows_memberships),
        TEST(what_may_not_be_read_looks_missing),
        TEST(a_list_keeps_only_what_it_shows),
        TEST(lists_and_counts_show_only_what_may_be_read),
        TEST(roles_decide_who_may_change),
        TEST(a_workspace_keeps_one_owner),
        TEST(a_token_is_shown_once_and_stored_hashed),
        TEST(every_wrong_token_is_refused_alike),
        TEST(taking_a_mapping_back_hides_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
