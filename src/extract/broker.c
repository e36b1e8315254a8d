#include "extract/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "extract/emitter_core.h"
#include "extract/protocol.h"
#include "extract/sandbox.h"
#include "extract/sanitizer.h"

enum {
    CONTROL_FD = 0,
    CHILD_LIMIT = 64, /* requests beyond wait in the socket */
    CHILD_DOCUMENT_FD = 3,
    CHILD_OUTPUT_FD = 4,
    CHILD_FIRST_FREE_FD = 5,
};

struct child {
    pid_t pid;
    int pidfd;
    int status_fd;
    int64_t deadline_us;
    bool timed_out, canceled;
};

struct broker {
    struct sandbox *sandbox;
    struct child children[CHILD_LIMIT];
    size_t child_count;
    bool host_gone;
};

/* A request as it came: the strings of `request` lie in `packet`. */
struct arrival {
    struct request request;
    int fds[PROTOCOL_FD_COUNT]; /* document, output, status */
    char packet[PROTOCOL_PACKET_LIMIT];
};

/* ---- the child ---- */

void broker_out_of_memory(size_t size)
{
    _exit(CHILD_EXIT_MEMORY);
}

static void write_events(void *context, struct str events)
{
    ibid_error err;
    if (file_write_fd(CHILD_OUTPUT_FD, events.data, events.size, &err) != IBID_OK)
        _exit(CHILD_EXIT_DONE); /* the host has gone: nobody asks any more */
}

static void leave_child(void *context)
{
    _exit(CHILD_EXIT_DONE);
}

/* Gives the child null devices, the document and the output. */
static void arrange_descriptors(const struct arrival *arrival)
{
    int document = fcntl(arrival->fds[0], F_DUPFD, 16), output = fcntl(arrival->fds[1], F_DUPFD, 16);
    if (document < 0 || output < 0 || dup2(STDOUT_FILENO, STDIN_FILENO) < 0 ||
        dup2(document, CHILD_DOCUMENT_FD) < 0 || dup2(output, CHILD_OUTPUT_FD) < 0)
        _exit(CHILD_EXIT_SANDBOX);
#ifndef SANITIZED_ADDRESSES /* else the report of a found bug would be lost */
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(CHILD_EXIT_SANDBOX);
#endif
}

static struct str map_document(void)
{
    struct stat status;
    if (fstat(CHILD_DOCUMENT_FD, &status) != 0 || !S_ISREG(status.st_mode))
        _exit(CHILD_EXIT_UNREADABLE);
    struct str bytes = STR_EMPTY;
    if (status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, CHILD_DOCUMENT_FD, 0);
        if (data == MAP_FAILED)
            _exit(errno == ENOMEM ? CHILD_EXIT_MEMORY : CHILD_EXIT_UNREADABLE);
        bytes = (struct str){data, (size_t)status.st_size};
    }
    close(CHILD_DOCUMENT_FD);
    return bytes;
}

static _Noreturn void run_child(const struct sandbox *sandbox, const struct broker_extractor *extractor,
                                const struct arrival *arrival)
{
    const struct request *request = &arrival->request;
    arrange_descriptors(arrival);
    struct str bytes = map_document();
    memory_set_exhausted(broker_out_of_memory);
    struct sandbox_limits limits = {request->max_memory, request->max_cpu_time, CHILD_FIRST_FREE_FD};
    ibid_error err;
    if (sandbox_enter(sandbox, &limits, &err) != IBID_OK)
        _exit(CHILD_EXIT_SANDBOX);
    struct extract_input input = {
        .bytes = bytes,
        .name = request->name,
        .media_type = request->media_type,
        .charset = request->charset,
        .password = request->password,
        .parent = request->parent,
        .container_path = request->container_path,
    };
    struct emitter emitter;
    emitter_begin(&emitter, request->words, write_events, leave_child, NULL);
    extractor->extract(&emitter, &input);
    emitter_end(&emitter);
    _exit(CHILD_EXIT_DONE);
}

/* ---- the broker ---- */

static void send_report(int status_fd, const struct child_report *report)
{
    AUTO_BUFFER packet = BUFFER(PROTOCOL_REPORT_SIZE);
    report_encode(report, &packet);
    ibid_error err;
    /* Fits into an empty pipe, so it never waits; that nobody listens is no matter. */
    (void)!file_write_fd(status_fd, packet.data, packet.size, &err);
}

static const struct broker_extractor *find_extractor(struct str name)
{
    for (const struct broker_extractor *row = broker_program.extractors; row->name; row++)
        if (str_is(name, row->name))
            return row;
    return NULL;
}

static void start_child(struct broker *broker, const struct arrival *arrival)
{
    const struct broker_extractor *extractor = find_extractor(arrival->request.extractor);
    pid_t pid = extractor ? fork() : -1;
    if (pid == 0)
        run_child(broker->sandbox, extractor, arrival);
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd < 0) {
        struct child_report report = {.ending = ENDING_REFUSED,
                                      .detail = extractor ? (uint32_t)errno : ENOENT};
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        send_report(arrival->fds[2], &report);
        close(arrival->fds[2]);
        return;
    }
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    broker->children[broker->child_count++] = (struct child){
        .pid = pid,
        .pidfd = pidfd,
        .status_fd = arrival->fds[2],
        .deadline_us = clock_monotonic_us() + (int64_t)arrival->request.max_time,
    };
}

static void reap_child(struct broker *broker, size_t index)
{
    struct child *child = &broker->children[index];
    struct rusage usage;
    int status = 0;
    while (wait4(child->pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    struct child_report report = {
        .cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .peak_memory = (uint64_t)usage.ru_maxrss * 1024,
    };
    if (WIFSIGNALED(status)) {
        report.ending = child->timed_out ? ENDING_TIMEOUT : child->canceled ? ENDING_CANCELED : ENDING_SIGNAL;
        report.detail = (uint32_t)WTERMSIG(status);
    } else {
        report.ending = ENDING_EXIT;
        report.detail = (uint32_t)WEXITSTATUS(status);
    }
    send_report(child->status_fd, &report);
    close(child->status_fd);
    close(child->pidfd);
    broker->children[index] = broker->children[--broker->child_count];
}

/* Takes the descriptors out of a message; false unless there are exactly as many as expected. */
static bool take_descriptors(struct msghdr *message, int fds[PROTOCOL_FD_COUNT])
{
    size_t count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t held = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < held; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (count < PROTOCOL_FD_COUNT)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    if (count == PROTOCOL_FD_COUNT)
        return true;
    while (count)
        close(fds[--count]);
    return false;
}

static void receive_request(struct broker *broker, struct arrival *arrival)
{
    char control[CMSG_SPACE(sizeof(int) * PROTOCOL_FD_COUNT)] __attribute__((aligned(8)));
    struct iovec part = {arrival->packet, sizeof arrival->packet};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(CONTROL_FD, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (size <= 0) {
        broker->host_gone = true;
        return;
    }
    if (!take_descriptors(&message, arrival->fds))
        return;
    if (request_decode((struct str){arrival->packet, (size_t)size}, &arrival->request))
        start_child(broker, arrival);
    else
        close(arrival->fds[2]);
    close(arrival->fds[0]);
    close(arrival->fds[1]);
    explicit_bzero(arrival->packet, (size_t)size); /* the next child must not see this one's password */
}

/* Waits for what happens next, but not beyond the nearest deadline. */
static void wait_for_events(struct broker *broker, struct pollfd polled[], bool accept)
{
    int64_t now = clock_monotonic_us(), nearest = INT64_MAX;
    polled[0] = (struct pollfd){.fd = accept ? CONTROL_FD : -1, .events = POLLIN};
    for (size_t i = 0; i < broker->child_count; i++) {
        struct child *child = &broker->children[i];
        polled[1 + 2 * i] = (struct pollfd){.fd = child->pidfd, .events = POLLIN};
        /* A pipe reports an error to its writer once its reader has closed it. */
        polled[2 + 2 * i] = (struct pollfd){.fd = child->canceled ? -1 : child->status_fd, .events = 0};
        if (!child->timed_out && child->deadline_us < nearest)
            nearest = child->deadline_us;
    }
    int timeout = -1;
    if (nearest != INT64_MAX)
        timeout = nearest <= now
                      ? 0
                      : (int)((nearest - now) / 1000 < 3600000 ? (nearest - now) / 1000 + 1 : 3600000);
    if (poll(polled, 1 + 2 * broker->child_count, timeout) < 0)
        for (size_t i = 0; i < 1 + 2 * broker->child_count; i++)
            polled[i].revents = 0;
}

static void tend_children(struct broker *broker, const struct pollfd polled[])
{
    int64_t now = clock_monotonic_us();
    for (size_t i = broker->child_count; i-- > 0;) { /* backwards: reaping moves the last one here */
        struct child *child = &broker->children[i];
        if (polled[1 + 2 * i].revents) {
            reap_child(broker, i);
            continue;
        }
        if (polled[2 + 2 * i].revents & (POLLERR | POLLHUP)) {
            child->canceled = true;
            kill(child->pid, SIGKILL);
        } else if (!child->timed_out && child->deadline_us <= now) {
            child->timed_out = true;
            kill(child->pid, SIGKILL);
        }
    }
}

static bool say_hello(struct broker *broker)
{
    struct hello hello = {0};
    if (sandbox_has_seccomp(broker->sandbox))
        hello.flags |= HELLO_SECCOMP;
    if (sandbox_has_landlock(broker->sandbox))
        hello.flags |= HELLO_LANDLOCK;
    if (sandbox_is_full(broker->sandbox))
        hello.flags |= HELLO_FULL;
    for (const struct broker_extractor *row = broker_program.extractors; row->name; row++) {
        ASSERT(hello.count < PROTOCOL_EXTRACTOR_LIMIT);
        if (row->prepare)
            row->prepare();
        hello.extractors[hello.count].name = str_from(row->name);
        hello.extractors[hello.count].engine = str_from(row->engine ? row->engine() : "");
        hello.count++;
    }
    AUTO_BUFFER packet = BUFFER(PROTOCOL_PACKET_LIMIT);
    hello_encode(&hello, &packet);
    return send(CONTROL_FD, packet.data, packet.size, MSG_NOSIGNAL) == (ssize_t)packet.size;
}

static int usage(void)
{
    fprintf(stderr,
            "%s is started by ibid to read documents apart from it; it is of no use alone.\n"
            "See `ibid extract --help`.\n",
            broker_program.name);
    return 2;
}

int main(int argc, char **argv)
{
    int type = 0;
    socklen_t type_size = sizeof type;
    if (argc != 2 || getsockopt(CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
        type != SOCK_SEQPACKET)
        return usage();
    close_range(3, ~0U, 0);
    signal(SIGPIPE, SIG_IGN);
    fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
    struct broker *broker = xcalloc(1, sizeof *broker);
    struct arrival *arrival = xcalloc(1, sizeof *arrival);
    broker->sandbox = sandbox_prepare(broker_program.readable, strcmp(argv[1], "--sandbox=off") != 0);
    broker->host_gone = !say_hello(broker);
    struct pollfd polled[1 + 2 * CHILD_LIMIT];
    while (!broker->host_gone) {
        wait_for_events(broker, polled, broker->child_count < CHILD_LIMIT);
        tend_children(broker, polled);
        if (polled[0].revents)
            receive_request(broker, arrival);
    }
    /* Children that are left end with the broker (PR_SET_PDEATHSIG). */
    sandbox_free(broker->sandbox);
    free(arrival);
    free(broker);
    return 0;
}
