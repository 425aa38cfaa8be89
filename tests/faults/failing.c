// Calls of the system that fail when told to, for tests: loaded before libc (LD_PRELOAD).
//
// fault_arm(kind, nth, error, lasting, folder) lets the nth call of a kind that concerns a file below `folder` fail with
// `error`, and with `lasting` all calls of that kind after it. fault_count(kind) says how many there were since.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, FSYNC, RENAME, MKDIR, RESIZE, KINDS };

static char watched[4096];
static size_t length;
static int armed = -1, armed_error, armed_lasting;
static long armed_nth, counts[KINDS];

void fault_arm(int kind, long nth, int error, int lasting, const char *folder) {
    for (int i = 0; i < KINDS; i++) counts[i] = 0;
    armed = kind, armed_nth = nth, armed_error = error, armed_lasting = lasting;
    strncpy(watched, folder, sizeof watched - 1);
    length = strlen(watched);
}

void fault_disarm(void) { armed = -1, length = 0; }

long fault_count(int kind) { return counts[kind]; }

static int hit(int kind, const char *path) {
    if (!length || strncmp(path, watched, length)) return 0;
    long n = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);
    if (kind != armed || (armed_lasting ? n < armed_nth : n != armed_nth)) return 0;
    errno = armed_error;
    return 1;
}

static int hit_fd(int kind, int fd) {
    char link[64], path[4096];
    if (!length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return hit(kind, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FOR_WRITING(flags) (((flags) & O_ACCMODE) != O_RDONLY)

#define DEFINE_OPEN(name)                                     \
    int name(const char *path, int flags, ...) {              \
        va_list more;                                         \
        va_start(more, flags);                                \
        mode_t mode = va_arg(more, mode_t);                   \
        va_end(more);                                         \
        if (FOR_WRITING(flags) && hit(OPEN, path)) return -1; \
        return REAL(name)(path, flags, mode);                 \
    }
#define DEFINE_OPENAT(name)                                   \
    int name(int at, const char *path, int flags, ...) {      \
        va_list more;                                         \
        va_start(more, flags);                                \
        mode_t mode = va_arg(more, mode_t);                   \
        va_end(more);                                         \
        if (FOR_WRITING(flags) && hit(OPEN, path)) return -1; \
        return REAL(name)(at, path, flags, mode);             \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

#define ON_FD(kind, name, parameters, arguments, type)                        \
    type name parameters { return hit_fd(kind, fd) ? -1 : REAL(name) arguments; }
ON_FD(WRITE, write, (int fd, const void *data, size_t n), (fd, data, n), ssize_t)
ON_FD(WRITE, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), ssize_t)
ON_FD(WRITE, pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at), ssize_t)
ON_FD(WRITE, writev, (int fd, const struct iovec *data, int n), (fd, data, n), ssize_t)
ON_FD(FSYNC, fsync, (int fd), (fd), int)
ON_FD(FSYNC, fdatasync, (int fd), (fd), int)
ON_FD(RESIZE, ftruncate, (int fd, off_t n), (fd, n), int)
ON_FD(RESIZE, ftruncate64, (int fd, off64_t n), (fd, n), int)
ON_FD(RESIZE, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), int)
ON_FD(RESIZE, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n), int)

int posix_fallocate(int fd, off_t at, off_t n) {
    return hit_fd(RESIZE, fd) ? armed_error : REAL(posix_fallocate)(fd, at, n);
}
int posix_fallocate64(int fd, off64_t at, off64_t n) {
    return hit_fd(RESIZE, fd) ? armed_error : REAL(posix_fallocate64)(fd, at, n);
}
int rename(const char *from, const char *to) { return hit(RENAME, to) ? -1 : REAL(rename)(from, to); }
int renameat(int from_at, const char *from, int to_at, const char *to) {
    return hit(RENAME, to) ? -1 : REAL(renameat)(from_at, from, to_at, to);
}
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    return hit(RENAME, to) ? -1 : REAL(renameat2)(from_at, from, to_at, to, flags);
}
int mkdir(const char *path, mode_t mode) { return hit(MKDIR, path) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int at, const char *path, mode_t mode) { return hit(MKDIR, path) ? -1 : REAL(mkdirat)(at, path, mode); }
