#include "embedder/local/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

extern char **environ;

/* The environment with another TMPDIR; free() the array alone. */
static char **environment_with(char *temporary)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = xcalloc(count + 2, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0)
            copy[kept++] = environ[i];
    copy[kept] = temporary;
    return copy;
}

static ibid_code start(const struct program *program, const char *output_path, pid_t *ret, ibid_error *err)
{
    AUTO_FREE char *temporary = xasprintf("TMPDIR=%s", program->temporary_folder);
    AUTO_FREE char **environment = environment_with(temporary);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    const int os_errno = posix_spawnp(ret, program->arguments[0], &actions, &attributes,
                                      (char *const *)program->arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return os_errno ? fail_errno(err, os_errno, "cannot run %s", program->arguments[0]) : IBID_OK;
}

/* Waits; *ret_status as of waitpid(2). */
static ibid_code await(const struct program *program, pid_t process, int *ret_status, ibid_error *err)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    for (;;) {
        const pid_t ended = waitpid(process, ret_status, WNOHANG);
        if (ended == process)
            return IBID_OK;
        if (ended < 0 && errno != EINTR)
            return fail_errno(err, errno, "cannot wait for %s", program->arguments[0]);
        if (program->cancel && atomic_load(program->cancel)) {
            kill(-process, SIGKILL);
            while (waitpid(process, ret_status, 0) < 0 && errno == EINTR)
                continue;
            return fail(err, IBID_ECANCELED, "canceled");
        }
        if (program->tick)
            program->tick(program->context);
        nanosleep(&pause, NULL);
    }
}

static void append_end(const char *path, struct buffer *output)
{
    const size_t room = output->limit - output->size;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && (size_t)info.st_size > room)
        lseek(fd, info.st_size - (off_t)room, SEEK_SET);
    if (file_read_fd(fd, output, NULL) != IBID_OK)
        buffer_append_string(output, "");
    close(fd);
}

ibid_code program_run(const struct program *program, struct buffer *output, ibid_error *err)
{
    AUTO_FREE char *output_path = path_join(program->temporary_folder, "output");
    pid_t process;
    int status = 0;
    TRY(start(program, output_path, &process, err));
    const ibid_code code = await(program, process, &status, err);
    append_end(output_path, output);
    unlink(output_path);
    TRY(code);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return IBID_OK;
    if (WIFEXITED(status))
        return fail(err, IBID_EUPSTREAM, "%s failed with status %d", program->arguments[0],
                    WEXITSTATUS(status));
    return fail(err, IBID_EUPSTREAM, "%s was ended by signal %d", program->arguments[0], WTERMSIG(status));
}
