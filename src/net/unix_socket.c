#include "net/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"

ibid_code unix_socket_name(const char *path, char out[UNIX_SOCKET_PATH_SIZE], int *ret_folder_fd,
                           ibid_error *err)
{
    if (strlen(path) < UNIX_SOCKET_PATH_SIZE) {
        snprintf(out, UNIX_SOCKET_PATH_SIZE, "%s", path);
        *ret_folder_fd = -1;
        return IBID_OK;
    }
    const char *slash = strrchr(path, '/');
    if (!slash || strlen(slash) > 64)
        return fail(err, IBID_ETOOBIG, "the socket's name is longer than the limit of 64 bytes: %s", path);
    AUTO_FREE char *folder = xmemdup0(path, (size_t)(slash - path));
    const int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open %s", folder);
    snprintf(out, UNIX_SOCKET_PATH_SIZE, "/proc/self/fd/%d%s", fd, slash);
    *ret_folder_fd = fd;
    return IBID_OK;
}

static ibid_code bind_and_listen(int fd, const struct sockaddr_un *address, const char *path, ibid_error *err)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(path);
    /* The mode that the socket has now, less the umask, is the one its file gets. */
    if (fchmod(fd, 0600) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return fail_errno(err, errno, "cannot listen on %s", path);
    return IBID_OK;
}

ibid_code unix_socket_listen(const char *path, int *ret_fd, ibid_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder_fd;
    TRY(unix_socket_name(path, address.sun_path, &folder_fd, err));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const ibid_code code = fd < 0 ? fail_errno(err, errno, "cannot listen on %s", path)
                                  : bind_and_listen(fd, &address, path, err);
    if (folder_fd >= 0)
        close(folder_fd);
    if (code != IBID_OK) {
        if (fd >= 0)
            close(fd);
        return code;
    }
    *ret_fd = fd;
    return IBID_OK;
}
