#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "extract/assembly.h"
#include "extract/detect.h"
#include "extract/extract.h"
#include "extract/launch.h"
#include "extract/registry.h"

enum {
    TICK_MS = 50,                       /* how soon a raised `cancel` is seen */
    BROKER_GRACE_US = 10 * 1000 * 1000, /* how much later than its child's deadline a broker must answer */
    READ_SIZE = 64 * 1024,
};

/* A running broker, shared by the documents under way in it. */
struct shared_broker {
    struct broker_link link;
    size_t users; /* the pool's slot counts as one */
};

struct extract_pool {
    struct extract_settings settings;
    char *libexec; /* what settings.libexec points at */
    const char *level;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct shared_broker *brokers[BROKER_COUNT]; /* NULL until its first document, or once it died */
    size_t documents;                            /* under way */
    _Atomic bool closing;
};

static const struct option extract_options[] = {
    {.name = "sandbox",
     .type = OPTION_CHOICE,
     .choices = "required|auto|off",
     .offset = offsetof(struct extract_settings, sandbox),
     .default_text = "auto",
     .help = "How documents are read: 'required' refuses to work without seccomp, 'auto' takes what the "
             "system offers, 'off' keeps only the limits of memory and time."},
    {.name = "max_file_size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct extract_settings, max_file_size),
     .default_text = "100MB",
     .low = 1,
     .high = 1e12,
     .help = "Larger files are not read."},
    {.name = "max_memory",
     .type = OPTION_SIZE,
     .offset = offsetof(struct extract_settings, max_memory),
     .default_text = "1GB",
     .low = 64 << 20,
     .high = 1e12,
     .help = "Memory (address space) for reading one document."},
    {.name = "max_cpu_time",
     .type = OPTION_DURATION,
     .offset = offsetof(struct extract_settings, max_cpu_time),
     .default_text = "60s",
     .low = 1e6,
     .high = 86400e6,
     .help = "CPU time for reading one document, in whole seconds."},
    {.name = "max_time",
     .type = OPTION_DURATION,
     .offset = offsetof(struct extract_settings, max_time),
     .default_text = "120s",
     .low = 1e4,
     .high = 86400e6,
     .help = "Time for reading one document."},
    {.name = "max_pages",
     .type = OPTION_INT,
     .offset = offsetof(struct extract_settings, max_pages),
     .default_text = "10000",
     .low = 1,
     .high = 10e6,
     .help = "Documents with more pages are refused."},
    {.name = "max_text",
     .type = OPTION_SIZE,
     .offset = offsetof(struct extract_settings, max_text),
     .default_text = "64MB",
     .low = 1,
     .high = EXTRACTION_TEXT_LIMIT,
     .help = "Documents with more text are refused."},
    {.name = "libexec",
     .type = OPTION_PATH,
     .offset = offsetof(struct extract_settings, libexec),
     .placeholder = "FOLDER",
     .help = "Where the programs ibid-extract and ibid-extract-pdf are; by default beside ibid or where they "
             "were installed."},
    OPTION_END,
};

const struct option_section extract_section = {"extract", "Reading documents.", extract_options};

/* ---- brokers ---- */

static ibid_code check_sandbox(const struct extract_pool *pool, const struct hello *hello, ibid_error *err)
{
    if (pool->settings.sandbox == SANDBOX_REQUIRED && !(hello->flags & HELLO_SECCOMP))
        return fail(
            err, IBID_EUNAVAILABLE,
            "extract.sandbox is 'required', but seccomp cannot be used here: set it to 'auto' to go without");
    return IBID_OK;
}

/* Gives back `count` uses, under the lock. */
static void put_broker(struct shared_broker *broker, size_t count)
{
    broker->users -= count;
    if (broker->users > 0)
        return;
    broker_link_close(&broker->link);
    free(broker);
}

/* The running broker, started when there is none; ret is to be given back with release_broker(). */
static ibid_code acquire_broker(struct extract_pool *pool, enum extract_broker which,
                                struct shared_broker **ret, ibid_error *err)
{
    ibid_code code = IBID_OK;
    pthread_mutex_lock(&pool->lock);
    struct shared_broker *broker = pool->brokers[which];
    if (!broker) {
        broker = xcalloc(1, sizeof *broker);
        code =
            broker_link_open(pool->libexec, which, pool->settings.sandbox != SANDBOX_OFF, &broker->link, err);
        if (code != IBID_OK) {
            free(broker);
        } else {
            broker->users = 1;
            code = check_sandbox(pool, &broker->link.hello, err);
            if (code != IBID_OK)
                put_broker(broker, 1);
            else
                pool->brokers[which] = broker;
        }
    }
    if (code == IBID_OK) {
        broker->users++;
        *ret = broker;
    }
    pthread_mutex_unlock(&pool->lock);
    return code;
}

/* `dead`: it does not answer any more, the next document gets a new one. */
static void release_broker(struct extract_pool *pool, enum extract_broker which, struct shared_broker *broker,
                           bool dead)
{
    pthread_mutex_lock(&pool->lock);
    bool drop = dead && pool->brokers[which] == broker;
    if (drop) {
        kill(broker->link.pid, SIGKILL);
        pool->brokers[which] = NULL;
    }
    put_broker(broker, drop ? 2 : 1);
    pthread_mutex_unlock(&pool->lock);
}

ibid_code extract_pool_open(const struct extract_settings *settings, struct extract_pool **ret,
                            ibid_error *err)
{
    struct extract_pool *pool = xcalloc(1, sizeof *pool);
    pool->settings = *settings;
    pool->libexec = settings->libexec ? xstrdup(settings->libexec) : NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->idle, NULL);
    struct shared_broker *broker;
    ibid_code code = acquire_broker(pool, BROKER_EXTRACT, &broker, err);
    if (code != IBID_OK) {
        extract_pool_close(pool);
        return code;
    }
    pool->level = settings->sandbox == SANDBOX_OFF        ? "off"
                  : broker->link.hello.flags & HELLO_FULL ? "full"
                                                          : "basic";
    release_broker(pool, BROKER_EXTRACT, broker, false);
    *ret = pool;
    return IBID_OK;
}

void extract_pool_close(struct extract_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    while (pool->documents > 0)
        pthread_cond_wait(&pool->idle, &pool->lock);
    for (size_t i = 0; i < BROKER_COUNT; i++)
        if (pool->brokers[i])
            put_broker(pool->brokers[i], 1);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
    free(pool->libexec);
    free(pool);
}

const char *extract_pool_sandbox_level(const struct extract_pool *pool)
{
    return pool->level;
}

/* ---- one document in one child ---- */

/* The host's ends of what it shares with a child and its broker. */
struct channel {
    int output, status;
};

static void close_channel(struct channel *channel)
{
    close(channel->output);
    close(channel->status);
}

static ibid_code send_with_descriptors(int socket, struct str packet, const int fds[PROTOCOL_FD_COUNT],
                                       bool *ret_died, ibid_error *err)
{
    char control[CMSG_SPACE(sizeof(int) * PROTOCOL_FD_COUNT)] __attribute__((aligned(8))) = {0};
    struct iovec part = {(void *)packet.data, packet.size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * PROTOCOL_FD_COUNT);
    memcpy(CMSG_DATA(rights), fds, sizeof(int) * PROTOCOL_FD_COUNT);
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        *ret_died = errno == EPIPE || errno == ECONNRESET;
        return fail(err, IBID_EUNAVAILABLE, "cannot hand a document to its broker: %s",
                    strerrordesc_np(errno));
    }
    return IBID_OK;
}

static ibid_code open_channel(struct shared_broker *broker, int document, const struct request *request,
                              struct channel *ret, bool *ret_died, ibid_error *err)
{
    int output[2], status[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return fail_errno(err, errno, "cannot make a pipe");
    if (pipe2(status, O_CLOEXEC) != 0) {
        ibid_code code = fail_errno(err, errno, "cannot make a pipe");
        close(output[0]);
        close(output[1]);
        return code;
    }
    AUTO_BUFFER packet = BUFFER(PROTOCOL_PACKET_LIMIT);
    request_encode(request, &packet);
    const int fds[PROTOCOL_FD_COUNT] = {document, output[1], status[1]};
    struct channel channel = {output[0], status[0]};
    ibid_code sent = send_with_descriptors(broker->link.socket, buffer_str(&packet), fds, ret_died, err);
    explicit_bzero(packet.data, packet.size); /* may hold a password */
    close(output[1]);
    close(status[1]);
    if (sent != IBID_OK)
        close_channel(&channel);
    else
        *ret = channel;
    return sent;
}

/* What a child has written before it ended, without waiting for more. */
static void drain(int output, struct assembly *assembly, char buffer[READ_SIZE])
{
    fcntl(output, F_SETFL, O_NONBLOCK);
    for (;;) {
        ssize_t size = read(output, buffer, READ_SIZE);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0 || !assembly_feed(assembly, buffer, (size_t)size))
            return;
    }
}

enum outcome { OUTCOME_DONE, OUTCOME_CANCELED, OUTCOME_BROKER_DIED };

/* Follows a child to its end, or to the point where nothing it says matters any more. */
static enum outcome follow(struct extract_pool *pool, const struct channel *channel,
                           const _Atomic bool *cancel, struct assembly *assembly, struct child_report *report)
{
    AUTO_FREE char *buffer = xmalloc(READ_SIZE);
    int64_t deadline = clock_monotonic_us() + pool->settings.max_time + BROKER_GRACE_US;
    struct pollfd polled[2] = {{channel->output, POLLIN, 0}, {channel->status, POLLIN, 0}};
    for (;;) {
        if ((cancel && *cancel) || pool->closing)
            return OUTCOME_CANCELED;
        if (poll(polled, 2, TICK_MS) < 0)
            continue;
        if (polled[0].revents) {
            ssize_t size = read(channel->output, buffer, READ_SIZE);
            if (size > 0 && !assembly_feed(assembly, buffer, (size_t)size))
                return OUTCOME_DONE;
            if (size == 0)
                polled[0].fd = -1; /* the child has ended; the report comes */
            if (size > 0)
                continue;
        }
        if (polled[1].revents) {
            char packet[PROTOCOL_REPORT_SIZE];
            ssize_t size = read(channel->status, packet, sizeof packet);
            if (size < 0 || !report_decode((struct str){packet, (size_t)size}, report))
                return OUTCOME_BROKER_DIED;
            drain(channel->output, assembly, buffer);
            return OUTCOME_DONE;
        }
        if (clock_monotonic_us() > deadline)
            return OUTCOME_BROKER_DIED;
    }
}

struct job {
    struct extract_pool *pool;
    const struct extractor_row *extractor;
    struct request request;
    int document;
    const _Atomic bool *cancel;
    struct arena *arena;
};

static void name_extractor(const struct job *job, const struct hello *hello, struct extraction *ret)
{
    const char *engine = "", *gap = "";
    for (uint32_t i = 0; i < hello->count; i++)
        if (str_is(hello->extractors[i].name, job->extractor->name) && hello->extractors[i].engine.size) {
            engine = arena_str(job->arena, hello->extractors[i].engine).data;
            gap = " ";
        }
    ret->format = str_from(job->extractor->name);
    ret->extractor = str_from(arena_printf(job->arena, "%s%s%s", job->extractor->version, gap, engine));
}

/* *ret_died: the broker went away under it; another try may help. */
static ibid_code attempt(const struct job *job, struct extraction *ret, bool *ret_died, ibid_error *err)
{
    struct extract_pool *pool = job->pool;
    enum extract_broker which = job->extractor->broker;
    struct shared_broker *broker;
    TRY(acquire_broker(pool, which, &broker, err));
    struct channel channel;
    ibid_code code = open_channel(broker, job->document, &job->request, &channel, ret_died, err);
    if (code != IBID_OK) {
        release_broker(pool, which, broker, *ret_died);
        return code;
    }
    struct assembly_limits limits = {
        .max_text = (size_t)pool->settings.max_text,
        .max_pages = (uint32_t)pool->settings.max_pages,
        .words = job->request.words,
    };
    struct assembly *assembly = assembly_new(&limits);
    struct child_report report = {.ending = ENDING_CANCELED};
    enum outcome outcome = follow(pool, &channel, job->cancel, assembly, &report);
    close_channel(&channel);
    if (outcome == OUTCOME_CANCELED) {
        code = fail(err, IBID_ECANCELED, "canceled");
    } else if (outcome == OUTCOME_BROKER_DIED) {
        *ret_died = true;
        code = fail(err, IBID_EUNAVAILABLE, "the program %s ended while it read a document",
                    registry_broker_program(which));
    } else if (report.ending == ENDING_REFUSED) {
        code = fail(err, IBID_EUNAVAILABLE, "%s cannot start a process for a document: %s",
                    registry_broker_program(which), strerrordesc_np((int)report.detail));
    } else if (report.ending == ENDING_EXIT && report.detail == CHILD_EXIT_SANDBOX) {
        code = fail(err, IBID_EUNAVAILABLE, "a process of %s cannot enter its sandbox",
                    registry_broker_program(which));
    } else {
        assembly_finish(assembly, &report, &job->request, job->arena, ret);
        name_extractor(job, &broker->link.hello, ret);
    }
    assembly_free(assembly);
    release_broker(pool, which, broker, outcome == OUTCOME_BROKER_DIED);
    return code;
}

/* A document whose fate is clear before any child sees it. */
static void refuse(struct extraction *ret, struct arena *arena, enum extraction_status status,
                   const char *reason)
{
    *ret = (struct extraction){.status = status, .text = STR_EMPTY};
    ret->reason = str_from(arena_strdup(arena, reason));
}

static ibid_code extract_typed(struct extract_pool *pool, const struct extract_request *request,
                               const char *media_type, const _Atomic bool *cancel, struct arena *arena,
                               struct extraction *ret, ibid_error *err)
{
    const struct extractor_row *extractor = registry_find(str_from(media_type));
    if (!extractor) {
        refuse(ret, arena, EXTRACTION_UNSUPPORTED,
               arena_printf(arena, "there is no extractor for %s", media_type));
        return IBID_OK;
    }
    const struct extract_settings *settings = &pool->settings;
    struct job job = {
        .pool = pool,
        .extractor = extractor,
        .document = request->fd,
        .cancel = cancel,
        .arena = arena,
        .request =
            {
                .words = request->words,
                .max_memory = (uint64_t)settings->max_memory,
                .max_cpu_time = (uint64_t)settings->max_cpu_time,
                .max_time = (uint64_t)settings->max_time,
                .extractor = str_from(extractor->name),
                .name = path_base_name(str_from(request->name)),
                .media_type = str_from(media_type),
                .charset = str_from(request->charset),
                .password = str_from(request->password),
                .parent = str_from(request->parent),
                .container_path = str_from(request->container_path),
            },
    };
    bool died = false;
    ibid_code code = attempt(&job, ret, &died, err);
    if (code != IBID_OK && died) /* once more: it need not have been the fault of this document */
        code = attempt(&job, ret, &died, err);
    return code;
}

static ibid_code check_request(const struct extract_request *request, ibid_error *err)
{
    const char *const strings[] = {request->name,     request->media_type, request->charset,
                                   request->password, request->parent,     request->container_path};
    for (size_t i = 0; i < COUNT_OF(strings); i++)
        if (str_from(strings[i]).size > PROTOCOL_STRING_LIMIT)
            return fail(err, IBID_ETOOBIG, "a name, password or path of the document is longer than %d bytes",
                        PROTOCOL_STRING_LIMIT);
    return IBID_OK;
}

static ibid_code extract_counted(struct extract_pool *pool, const struct extract_request *request,
                                 const _Atomic bool *cancel, struct arena *arena, struct extraction *ret,
                                 ibid_error *err)
{
    struct stat status;
    if (fstat(request->fd, &status) != 0)
        return fail_errno(err, errno, "cannot read the document");
    if (!S_ISREG(status.st_mode))
        return fail(err, IBID_EINVAL, "a document must be a regular file");
    struct detection detection;
    TRY(detect_file(request->fd, (uint64_t)status.st_size, request->name, request->media_type, &detection,
                    err));
    const char *media_type = detection.media_type;
    ibid_code code = IBID_OK;
    if (status.st_size == 0)
        refuse(ret, arena, EXTRACTION_EMPTY, "the file is empty");
    else if (status.st_size > pool->settings.max_file_size)
        refuse(ret, arena, EXTRACTION_LIMIT,
               arena_printf(arena, "the file is larger than %lld bytes (extract.max_file_size)",
                            (long long)pool->settings.max_file_size));
    else
        code = extract_typed(pool, request, media_type, cancel, arena, ret, err);
    ret->media_type = str_from(media_type);
    return code;
}

ibid_code extract_document(struct extract_pool *pool, const struct extract_request *request,
                           const _Atomic bool *cancel, struct arena *arena, struct extraction *ret,
                           ibid_error *err)
{
    TRY(check_request(request, err));
    pthread_mutex_lock(&pool->lock);
    pool->documents++;
    pthread_mutex_unlock(&pool->lock);
    struct extraction extraction = {0};
    ibid_code code = extract_counted(pool, request, cancel, arena, &extraction, err);
    if (code == IBID_OK)
        *ret = extraction;
    pthread_mutex_lock(&pool->lock);
    if (--pool->documents == 0)
        pthread_cond_broadcast(&pool->idle);
    pthread_mutex_unlock(&pool->lock);
    return code;
}
