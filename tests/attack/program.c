/* A broker whose extractors attack what holds them. The document's text says how. It is built
 * without sanitizers, so that the attacks meet the real sandbox in every build. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "extract/broker.h"

extern char **environ;

static void say(struct emitter *emitter, const char *what, long result)
{
    char line[100];
    snprintf(line, sizeof line, "%s: %s", what, result < 0 ? strerrorname_np(errno) : "succeeded");
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, str_from(line));
}

static void attack_open(struct emitter *emitter)
{
    say(emitter, "read", open("/etc/passwd", O_RDONLY));
    say(emitter, "write", open("/tmp/ibid-attack", O_WRONLY | O_CREAT, 0600));
    say(emitter, "stat", access("/etc/passwd", F_OK));
}

static void attack_socket(struct emitter *emitter)
{
    say(emitter, "socket", socket(AF_INET, SOCK_STREAM, 0));
}

static void attack_fork(struct emitter *emitter)
{
    say(emitter, "fork", fork());
}

static void attack_exec(struct emitter *emitter)
{
    say(emitter, "exec", execl("/bin/true", "true", (char *)NULL));
}

static void attack_kill(struct emitter *emitter)
{
    say(emitter, "kill", kill(getppid(), SIGKILL));
}

static void attack_trace(struct emitter *emitter)
{
    say(emitter, "trace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static void attack_code(struct emitter *emitter)
{
    say(emitter, "code",
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
            ? -1
            : 0);
}

static void attack_limits(struct emitter *emitter)
{
    struct rlimit endless = {RLIM_INFINITY, RLIM_INFINITY};
    say(emitter, "limits", setrlimit(RLIMIT_AS, &endless));
}

static void attack_memory(struct emitter *emitter)
{
    for (;;) {
        char *block = xmalloc(16 << 20);
        for (size_t i = 0; i < 16 << 20; i += 4096)
            block[i] = 1;
    }
}

static void attack_huge(struct emitter *emitter)
{
    say(emitter, "huge", malloc((size_t)1 << 40) ? 0 : -1);
}

/* As a library would that does not look at what malloc gives. */
static void attack_careless_memory(struct emitter *emitter)
{
    for (;;)
        memset(malloc(16 << 20), 1, 16 << 20);
}

static volatile unsigned sink;

static void attack_loop(struct emitter *emitter)
{
    for (;;)
        sink++;
}

static void attack_sleep(struct emitter *emitter)
{
    for (;;)
        usleep(100000);
}

__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
    volatile char room[4096];
    room[depth % sizeof room] = (char)depth;
    return depth == UINT32_MAX ? 0 : recurse(depth + 1) + (unsigned)room[0];
}

static void attack_stack(struct emitter *emitter)
{
    sink = recurse(0);
}

static void attack_crash(struct emitter *emitter)
{
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("before the crash"));
    *(volatile int *)(uintptr_t)sink = 1;
}

static void attack_abort(struct emitter *emitter)
{
    abort();
}

static void attack_exit(struct emitter *emitter)
{
    exit(0);
}

static void attack_text(struct emitter *emitter)
{
    static char text[65536];
    memset(text, 'x', sizeof text);
    for (;;)
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, (struct str){text, sizeof text});
}

static void attack_blocks(struct emitter *emitter)
{
    for (;;)
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("x"));
}

static void attack_warnings(struct emitter *emitter)
{
    for (unsigned i = 0; i < 20000; i++) {
        char code[16];
        snprintf(code, sizeof code, "w%u", i);
        emit_warning(emitter, code, "%s", "again");
    }
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("enough"));
}

/* Writes into the output behind the emitter's back. */
static void attack_stream(struct emitter *emitter)
{
    static const char junk[] = "this is no event at all, but it is long enough to look like one";
    for (int fd = 0; fd < 16; fd++)
        (void)!write(fd, junk, sizeof junk);
    _exit(0);
}

static void attack_descriptors(struct emitter *emitter)
{
    for (int fd = 0; fd < 1000; fd++) {
        char line[32];
        snprintf(line, sizeof line, "descriptor %d", fd);
        if (fcntl(fd, F_GETFD) >= 0)
            emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, str_from(line));
    }
}

static void attack_environment(struct emitter *emitter)
{
    for (char **variable = environ; *variable; variable++)
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, str_from(*variable));
}

static void attack_user(struct emitter *emitter)
{
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, geteuid() == 0 ? STR("root") : STR("nobody"));
}

#define ATTACK_MAP(X)                                                                                 \
    X(open)                                                                                           \
    X(socket) X(fork) X(exec) X(kill) X(trace) X(code) X(limits) X(memory) X(huge) X(careless_memory) \
        X(loop) X(sleep) X(stack) X(crash) X(abort) X(exit) X(text) X(blocks) X(warnings) X(stream)   \
            X(descriptors) X(environment) X(user)

static const struct {
    const char *name;
    void (*attack)(struct emitter *emitter);
} attacks[] = {
#define X(name) {#name, attack_##name},
    ATTACK_MAP(X)
#undef X
};

static void extract_attack(struct emitter *emitter, const struct extract_input *input)
{
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        if (str_is(str_trim(input->bytes), attacks[i].name))
            attacks[i].attack(emitter);
    emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, STR("the attack is over"));
}

static const struct broker_extractor extractors[] = {
    {.name = "text", .extract = extract_attack},
    {.name = NULL},
};

const struct broker_program broker_program = {.name = "ibid-extract", .extractors = extractors};
