#include "extract/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "extract/registry.h"

enum { HELLO_TIMEOUT_MS = 20000, ENVIRONMENT_LIMIT = 12 };

/* Where a broker may lie, seen from the folder of the running program: an unpacked archive, an
 * installation with another prefix, the build tree (program in src/cli or tests). */
static const char *const beside_program[] = {".", "../libexec/ibid", "../extract", "../src/extract",
                                             "src/extract"};

static char *try_folder(const char *folder, const char *program)
{
    char *path = path_join(folder, program);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *find_beside_program(const char *program)
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0)
        return NULL;
    self[size] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < COUNT_OF(beside_program); i++) {
        AUTO_FREE char *folder = path_join(self, beside_program[i]);
        char *path = try_folder(folder, program);
        if (path)
            return path;
    }
    return NULL;
}

static ibid_code find_program(const char *libexec, const char *program, char **ret, ibid_error *err)
{
    const char *folder = libexec ? libexec : getenv("IBID_LIBEXEC");
    char *path = folder ? try_folder(folder, program) : find_beside_program(program);
    if (!folder && !path)
        path = try_folder(IBID_LIBEXEC_FOLDER, program);
    if (!path)
        return fail(err, IBID_EUNAVAILABLE,
                    "the program %s is not in %s: install it there or set extract.libexec to its folder",
                    program, folder ? folder : IBID_LIBEXEC_FOLDER);
    *ret = path;
    return IBID_OK;
}

/* A broker gets nothing of the host's environment, which may hold secrets, but what the system's
 * loader and the sanitizers need. */
static void build_environment(char *environment[ENVIRONMENT_LIMIT])
{
    static const char *const kept[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
                                       "TSAN_OPTIONS"};
    size_t count = 0;
    environment[count++] = xstrdup("LANG=C.UTF-8");
    environment[count++] = xstrdup("TZ=UTC0");
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value)
            environment[count++] = xasprintf("%s=%s", kept[i], value);
    }
    environment[count] = NULL;
}

/* Its stdin is the socket, its stdout goes nowhere, its stderr is ours. A process group of its own
 * keeps a Ctrl-C at the terminal from it: the host decides when it ends. */
static int spawn(const char *path, int socket, bool sandbox, pid_t *ret)
{
    char *environment[ENVIRONMENT_LIMIT];
    build_environment(environment);
    char *const arguments[] = {(char *)path, (char *)(sandbox ? "--sandbox=on" : "--sandbox=off"), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int signal = 1; signal < 32; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            sigaddset(&defaults, signal);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int result = posix_spawn(ret, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; environment[i]; i++)
        free(environment[i]);
    return result;
}

static ibid_code receive_hello(struct broker_link *link, const char *path, ibid_error *err)
{
    struct pollfd polled = {link->socket, POLLIN, 0};
    int64_t deadline = clock_monotonic_us() + HELLO_TIMEOUT_MS * 1000;
    int ready;
    do {
        int64_t left = (deadline - clock_monotonic_us()) / 1000;
        ready = poll(&polled, 1, left > 0 ? (int)left : 0);
    } while (ready < 0 && errno == EINTR);
    link->hello_packet = xmalloc(PROTOCOL_PACKET_LIMIT);
    ssize_t size = ready > 0 ? recv(link->socket, link->hello_packet, PROTOCOL_PACKET_LIMIT, 0) : -1;
    if (size <= 0)
        return fail(err, IBID_EUNAVAILABLE, "%s does not start: run it by hand to see why", path);
    if (!hello_decode((struct str){link->hello_packet, (size_t)size}, &link->hello))
        return fail(err, IBID_EUNAVAILABLE, "%s is of another version than this program", path);
    return IBID_OK;
}

ibid_code broker_link_open(const char *libexec, enum extract_broker broker, bool sandbox,
                           struct broker_link *ret, ibid_error *err)
{
    AUTO_FREE char *path = NULL;
    TRY(find_program(libexec, registry_broker_program(broker), &path, err));
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(err, errno, "cannot make a socket for %s", path);
    struct broker_link link = {.socket = ends[0]};
    int os_errno = spawn(path, ends[1], sandbox, &link.pid);
    close(ends[1]);
    if (os_errno != 0) {
        close(link.socket);
        return fail(err, IBID_EUNAVAILABLE, "cannot start %s: %s", path, strerrordesc_np(os_errno));
    }
    ibid_code code = receive_hello(&link, path, err);
    if (code != IBID_OK) {
        kill(link.pid, SIGKILL);
        broker_link_close(&link);
        return code;
    }
    *ret = link;
    return IBID_OK;
}

void broker_link_close(struct broker_link *link)
{
    close(link->socket);
    /* A broker ends when its socket does. One that cannot is stopped. */
    pid_t ended = 0;
    for (int tries = 0; tries < 200 && ended == 0; tries++) {
        ended = waitpid(link->pid, NULL, WNOHANG);
        if (ended == 0)
            usleep(tries < 20 ? 1000 : 10000);
    }
    if (ended == 0) {
        kill(link->pid, SIGKILL);
        while (waitpid(link->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(link->hello_packet);
}
