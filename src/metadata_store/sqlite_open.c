#include "metadata_store/sqlite_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "metadata_store/migration.h"

/* ---- one process owns a data directory ---------------------------------------------------------- */

static long lock_owner(int fd)
{
    char digits[24] = "";
    const ssize_t got = pread(fd, digits, sizeof digits - 1, 0);
    long long pid = 0;
    if (got > 0 && str_to_int64(str_trim((struct str){digits, (size_t)got}), &pid))
        return (long)pid;
    return 0;
}

static ibid_code note_owner(int fd, ibid_error *err)
{
    char digits[24];
    const int size = snprintf(digits, sizeof digits, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, digits, (size_t)size, 0) != size)
        return fail_errno(err, errno, "cannot write the lock file");
    return IBID_OK;
}

ibid_code sqlite_lock_folder(const char *folder, int *ret_fd, ibid_error *err)
{
    AUTO_FREE char *path = path_join(folder, SQLITE_LOCK_NAME);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open '%s'", path);
    ibid_code code;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        code = note_owner(fd, err);
    else if (errno == EWOULDBLOCK)
        code = fail(err, IBID_EBUSY, "'%s' is in use by process %ld: stop it, or talk to it", folder,
                    lock_owner(fd));
    else
        code = fail_errno(err, errno, "cannot lock '%s'", path);
    if (code != IBID_OK) {
        close(fd);
        return code;
    }
    *ret_fd = fd;
    return IBID_OK;
}

/* ---- schema ----------------------------------------------------------------------------------- */

static ibid_code migrate(struct connection *connection, int version, ibid_error *err)
{
    char now[24];
    snprintf(now, sizeof now, "%lld", (long long)clock_now_us());
    const struct migration_word words[] = {
        {"{id}", "INTEGER PRIMARY KEY AUTOINCREMENT"},
        {"{int}", "INTEGER"},
        {"{real}", "REAL"},
        {"{blob}", "BLOB"},
        {"{strict}", "STRICT"},
        {"{clustered}", "STRICT, WITHOUT ROWID"},
        {"{now}", now},
        {NULL, NULL},
    };
    AUTO_BUFFER sql = BUFFER(4 << 20);
    buffer_append_string(&sql, "BEGIN IMMEDIATE;");
    for (const struct migration *migration = migrations; migration->sql; migration++)
        if (migration->version > version)
            migration_append(&sql, migration->sql, words);
    buffer_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT;",
                  SQLITE_APPLICATION_ID, migration_newest_version());
    TRY(buffer_check(&sql, "the migrations", err));
    return connection_execute(connection, sql.data, err);
}

/* Whether the file is ours, and at which version. An empty one (killed while it was made) is version 0. */
static ibid_code identify(struct connection *connection, const char *path, int64_t *ret_version,
                          ibid_error *err)
{
    int64_t application, version, objects;
    TRY(connection_query_int(connection, "PRAGMA application_id", &application, err));
    TRY(connection_query_int(connection, "PRAGMA user_version", &version, err));
    TRY(connection_query_int(connection, "SELECT count(*) FROM sqlite_schema", &objects, err));
    if (application != SQLITE_APPLICATION_ID && (application != 0 || version != 0 || objects != 0))
        return fail(err, IBID_ECORRUPT, "'%s' is a database of another program", path);
    if (version > migration_newest_version())
        return fail(err, IBID_EUNSUPPORTED,
                    "'%s' was made by a newer ibid (schema %lld; this one knows %d): use that one", path,
                    (long long)version, migration_newest_version());
    *ret_version = version;
    return IBID_OK;
}

static ibid_code prepare_writer(struct connection *connection, const char *path,
                                const struct sqlite_options *options, ibid_error *err)
{
    char pragmas[256];
    /* The page size only takes effect while the file is empty. 4,000 pages are 64 MiB of log.
     * A page that several commits change goes to the file once. */
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000;"
             "PRAGMA journal_size_limit = 134217728; PRAGMA cache_size = -%lld;",
             (long long)(options->cache_size / 1024));
    TRY(connection_execute(connection, pragmas, err));
    int64_t version = 0;
    TRY(identify(connection, path, &version, err));
    return version < migration_newest_version() ? migrate(connection, (int)version, err) : IBID_OK;
}

/* A file that does not begin as SQLite's do is left alone: SQLite would take a log beside it for its own. */
static ibid_code check_file(const char *path, bool create, ibid_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno != ENOENT)
            return fail_errno(err, errno, "cannot read '%s'", path);
        return create ? IBID_OK : fail(err, IBID_ENOTFOUND, "there is no store at '%s'", path);
    }
    if (!S_ISREG(info.st_mode))
        return fail(err, IBID_ECORRUPT, "'%s' is not a file", path);
    if (info.st_size == 0)
        return create ? IBID_OK : fail(err, IBID_ENOTFOUND, "the store at '%s' is empty", path);
    char magic[16] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open '%s'", path);
    const ssize_t got = pread(fd, magic, sizeof magic, 0);
    close(fd);
    if (got != (ssize_t)sizeof magic || memcmp(magic, "SQLite format 3", sizeof magic) != 0)
        return fail(err, IBID_ECORRUPT, "'%s' is damaged or is no store of ibid: put a backup in its place",
                    path);
    return IBID_OK;
}

ibid_code sqlite_open_writer(const char *path, bool create, const struct sqlite_options *options,
                             struct connection **ret, ibid_error *err)
{
    TRY(check_file(path, create, err));
    struct connection *connection;
    TRY(connection_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options, &connection, err));
    const ibid_code code = prepare_writer(connection, path, options, err);
    if (code != IBID_OK) {
        connection_close(connection);
        return code;
    }
    *ret = connection;
    return IBID_OK;
}
