#include "net/http_download.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { DEFAULT_ATTEMPTS = 5, MAX_REDIRECTS = 10, LONGEST_WAIT_S = 60 };

struct part {
    const struct http_download *download;
    int fd;
    int64_t done;    /* bytes in the file */
    int64_t total;   /* 0: unknown */
    int64_t resumed; /* where this attempt asked to go on */
};

/* The numbers of "bytes 200-999/1000"; total 0 for "*". */
static bool parse_content_range(struct str text, int64_t *ret_start, int64_t *ret_total)
{
    const size_t dash = str_find(text, '-'), slash = str_find(text, '/');
    long long start, total = 0;
    if (!str_starts_with(text, "bytes ") || dash > slash || slash == text.size)
        return false;
    const struct str after = str_slice(text, slash + 1, text.size);
    if (!str_to_int64(str_slice(text, 6, dash), &start) ||
        (!str_is(after, "*") && !str_to_int64(after, &total)))
        return false;
    *ret_start = start;
    *ret_total = total;
    return true;
}

static ibid_code restart(struct part *part, ibid_error *err)
{
    if (ftruncate(part->fd, 0) != 0 || lseek(part->fd, 0, SEEK_SET) != 0)
        return fail_errno(err, errno, "cannot empty %s.part", part->download->path);
    part->done = 0;
    return IBID_OK;
}

static ibid_code begin(const struct http_response *response, void *context, ibid_error *err)
{
    struct part *part = context;
    const struct http_download *download = part->download;
    if (response->status == 206) {
        int64_t start;
        if (!parse_content_range(http_headers_get(&response->headers, "content-range"), &start,
                                 &part->total) ||
            start != part->resumed)
            return fail(err, IBID_EUPSTREAM, "%s answered with another range than was asked for",
                        response->url);
    } else {
        long long size = 0;
        TRY(restart(part, err)); /* the server sends the whole */
        const struct str text = http_headers_get(&response->headers, "content-length");
        part->total = str_to_int64(text, &size) ? size : 0;
    }
    if (download->size_limit > 0 && part->total > download->size_limit)
        return fail(err, IBID_ETOOBIG, "%s is larger than the limit of %lld bytes", response->url,
                    (long long)download->size_limit);
    if (download->expected_size > 0 && part->total > 0 && part->total != download->expected_size)
        return fail(err, IBID_EFORMAT, "%s has %lld bytes instead of %lld", response->url,
                    (long long)part->total, (long long)download->expected_size);
    return IBID_OK;
}

static ibid_code write_bytes(struct str bytes, void *context, ibid_error *err)
{
    struct part *part = context;
    const struct http_download *download = part->download;
    const int64_t ceiling = download->expected_size > 0 ? download->expected_size : download->size_limit;
    if (ceiling > 0 && (int64_t)bytes.size > ceiling - part->done)
        return fail(err, IBID_ETOOBIG, "the file is larger than the limit of %lld bytes", (long long)ceiling);
    const ibid_code code = file_write_fd(part->fd, bytes.data, bytes.size, err);
    if (code != IBID_OK) {
        error_context(err, "%s.part", download->path);
        return code;
    }
    part->done += (int64_t)bytes.size;
    if (download->progress)
        download->progress(part->done, download->expected_size > 0 ? download->expected_size : part->total,
                           download->context);
    return IBID_OK;
}

/* One request; on a break, what came stays in the part. */
static ibid_code attempt(struct http_client *client, struct part *part, ibid_error *err)
{
    const struct http_download *download = part->download;
    AUTO_ARENA arena = ARENA_INIT;
    struct http_header *headers = ARENA_ARRAY(&arena, struct http_header, download->header_count + 1);
    size_t count = 0;
    for (; count < download->header_count; count++)
        headers[count] = download->headers[count];
    part->resumed = part->done;
    if (part->done > 0)
        headers[count++] = (struct http_header){
            STR("Range"), str_from(arena_printf(&arena, "bytes=%lld-", (long long)part->done))};
    const struct http_sink sink = {.begin = begin, .write = write_bytes, .context = part};
    const struct http_request request = {.url = download->url,
                                         .headers = headers,
                                         .header_count = count,
                                         .max_redirects = MAX_REDIRECTS,
                                         .cancel = download->cancel,
                                         .sink = &sink};
    struct http_response response;
    TRY(http_client_send(client, &request, &arena, &response, err));
    if (response.status == 416 && part->done > 0) {
        TRY(restart(part, err)); /* the file has changed or the part was whole: begin anew */
        return fail(err, IBID_EUPSTREAM, "%s cannot be resumed", response.url);
    }
    TRY(http_response_check(&response, "download", err));
    if (part->total > 0 && part->done != part->total)
        return fail(err, IBID_EUPSTREAM, "%s ended after %lld of %lld bytes", response.url,
                    (long long)part->done, (long long)part->total);
    return IBID_OK;
}

/* Sleeps between attempts, but not through a cancellation. */
static ibid_code wait_before_retry(const struct http_download *download, unsigned failures, unsigned asked_s,
                                   ibid_error *err)
{
    int64_t wait = (SECOND_US / 2) << (failures < 6 ? failures : 6);
    if ((int64_t)asked_s * SECOND_US > wait)
        wait = (int64_t)asked_s * SECOND_US;
    const int64_t until = clock_monotonic_us() + wait;
    while (clock_monotonic_us() < until) {
        if (download->cancel && atomic_load(download->cancel))
            return fail(err, IBID_ECANCELED, "canceled");
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return IBID_OK;
}

static ibid_code fetch(struct http_client *client, struct part *part, ibid_error *err)
{
    const unsigned attempts = part->download->attempts ? part->download->attempts : DEFAULT_ATTEMPTS;
    ibid_error local = {0};
    for (unsigned failures = 0;; failures++) {
        const int64_t before = part->done;
        const ibid_code code = attempt(client, part, &local);
        if (code == IBID_OK)
            return IBID_OK;
        if (part->done > before)
            failures = 0; /* it moves: only attempts in a row without a byte count */
        if (!ibid_code_is_retryable(code) || failures + 1 >= attempts ||
            local.retry_after_s > LONGEST_WAIT_S) {
            if (err)
                *err = local;
            return code;
        }
        TRY(wait_before_retry(part->download, failures, local.retry_after_s, err));
    }
}

static ibid_code check(const struct part *part, ibid_error *err)
{
    const struct http_download *download = part->download;
    if (download->expected_size > 0 && part->done != download->expected_size)
        return fail(err, IBID_EFORMAT, "the file has %lld bytes instead of %lld", (long long)part->done,
                    (long long)download->expected_size);
    if (!download->expected_hash)
        return IBID_OK;
    struct sha256 hash;
    TRY(sha256_of_fd(part->fd, &hash, err));
    if (sha256_equal(&hash, download->expected_hash))
        return IBID_OK;
    char expected[SHA256_HEX_SIZE], found[SHA256_HEX_SIZE];
    sha256_to_hex(download->expected_hash, expected);
    sha256_to_hex(&hash, found);
    return fail(err, IBID_EFORMAT, "the file is not the expected one: SHA-256 %s instead of %s", found,
                expected);
}

static ibid_code fetch_and_place(struct http_client *client, struct part *part, const char *part_path,
                                 ibid_error *err)
{
    const int64_t expected = part->download->expected_size;
    if (expected == 0 || part->done != expected)
        TRY(fetch(client, part, err));
    const ibid_code code = check(part, err);
    if (code != IBID_OK) {
        if (unlink(part_path) != 0 && errno != ENOENT)
            return fail_errno(err, errno, "cannot remove %s", part_path);
        return code;
    }
    if (fsync(part->fd) != 0)
        return fail_errno(err, errno, "cannot write %s", part_path);
    return file_rename_durably(part_path, part->download->path, err);
}

ibid_code http_download(struct http_client *client, const struct http_download *download, ibid_error *err)
{
    AUTO_FREE char *part_path = xasprintf("%s.part", download->path);
    struct part part = {.download = download, .fd = open(part_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (part.fd < 0)
        return fail_errno(err, errno, "cannot create %s", part_path);
    struct stat status;
    ibid_code code;
    if (fstat(part.fd, &status) != 0 || lseek(part.fd, 0, SEEK_END) < 0) {
        code = fail_errno(err, errno, "cannot read %s", part_path);
    } else {
        part.done = (int64_t)status.st_size;
        if (download->expected_size > 0 && part.done > download->expected_size)
            code = restart(&part, err);
        else
            code = IBID_OK;
        if (code == IBID_OK)
            code = fetch_and_place(client, &part, part_path, err);
    }
    close(part.fd);
    return code;
}
