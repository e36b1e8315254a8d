#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/rest/handlers.h"
#include "api/rest/parameter_tables.h"
#include "api/rest/render.h"
#include "api/rest/state.h"
#include "api/rest/tasks.h"
#include "base/file.h"
#include "extract/extract.h"
#include "search/eval.h"

static ibid_code check_path(const char *path, ibid_error *err)
{
    if (!path || path[0] != '/')
        return fail(err, IBID_EINVAL, "'path' must be an absolute path");
    return IBID_OK;
}

/* ---- extraction of a file, nothing stored ---- */

static ibid_code open_file(const char *path, int *ret_fd, ibid_error *err)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open %s", path);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return fail(err, IBID_EINVAL, "%s is no regular file", path);
    }
    *ret_fd = fd;
    return IBID_OK;
}

ibid_code handle_extract(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct extract_parameters *parameters = call->parameters;
    struct extract_pool *pool;
    struct extraction extraction;
    int fd;
    TRY(check_path(parameters->path, err));
    TRY(rest_extract_pool(call, &pool, err));
    TRY(open_file(parameters->path, &fd, err));
    const struct str name = path_base_name(str_from(parameters->path));
    const struct extract_request request = {
        .fd = fd,
        .name = name.data,
        .media_type = parameters->media_type,
        .charset = parameters->charset,
        .password = parameters->password,
        .words = parameters->words,
    };
    const ibid_code code =
        extract_document(pool, &request, call->http->cancel, call->arena, &extraction, err);
    close(fd);
    TRY(code);
    reply_json(call, reply, 200, render_extraction(&extraction, parameters->words));
    return IBID_OK;
}

/* ---- relevance on a judged collection ---- */

static json_t *render_scores(const struct eval_scores *scores)
{
    json_t *object = json_object();
    json_set_real(object, "ndcg@10", scores->ndcg10);
    json_set_real(object, "recall@100", scores->recall100);
    json_set_real(object, "mrr@10", scores->mrr10);
    return object;
}

static void show_progress(const char *stage, size_t done, size_t total, void *context)
{
    const struct noted_task *task = context;
    task->watch.show(task->watch.context, stage, (int64_t)done, (int64_t)total);
}

ibid_code handle_eval(struct rest_call *call, struct http_reply *reply, ibid_error *err)
{
    const struct eval_parameters *parameters = call->parameters;
    struct noted_task task;
    struct eval_options options = {.settings = &call_settings(call)->search,
                                   .progress = show_progress,
                                   .progress_context = &task,
                                   .cancel = call->http->cancel};
    struct eval_report report;
    ibid_error no_embedder = {0};
    TRY(check_path(parameters->path, err));
    ibid_code code = rest_embedder(call, &options.embedder, &no_embedder);
    if (code != IBID_OK && code != IBID_EUNAVAILABLE) {
        if (err)
            *err = no_embedder;
        return code;
    }
    TRY(noted_task_begin(&task, call, "eval", parameters->task, err));
    code = eval_run(parameters->path, &options, &report, err);
    noted_task_end(&task);
    TRY(code);
    json_t *answer = json_object();
    json_set_int(answer, "documents", (int64_t)report.documents);
    json_set_int(answer, "queries", (int64_t)report.queries);
    json_set_int(answer, "skipped_queries", (int64_t)report.skipped_queries);
    json_set(answer, "keyword", render_scores(&report.keyword));
    json_set(answer, "vector", report.has_vector ? render_scores(&report.vector) : json_null());
    json_set(answer, "hybrid", report.has_vector ? render_scores(&report.hybrid) : json_null());
    if (options.embedder)
        json_set_string(answer, "embedder", options.embedder->info.id);
    else
        json_set_string(answer, "without_meaning", no_embedder.message);
    json_set_real(answer, "embed_seconds", report.embed_seconds);
    json_set_real(answer, "search_seconds", report.search_seconds);
    reply_json(call, reply, 200, answer);
    return IBID_OK;
}
