/* Unix sockets at a path of any length (sockaddr_un holds only 107 bytes). */
#pragma once

#include "base/error.h"

enum { UNIX_SOCKET_PATH_SIZE = 108 };

/* Listens at `path`, readable and writable for its owner only. A socket that is left there is replaced:
 * the caller knows that no other process serves it (it holds the data directory's lock). */
ibid_code unix_socket_listen(const char *path, int *ret_fd, ibid_error *err) MUST_CHECK;

/* A name for `path` that fits an address: itself, or one through /proc/self/fd, which holds as long as
 * *ret_folder_fd is open (-1: none needed; else the caller closes it). */
ibid_code unix_socket_name(const char *path, char out[UNIX_SOCKET_PATH_SIZE], int *ret_folder_fd,
                           ibid_error *err) MUST_CHECK;
