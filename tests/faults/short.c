/* Writes to files below a directory store only the first half of what they are given. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Adds the path to the record, by a call that is not cut short itself. */
static void note(char *path, size_t length) {
    int record = open(getenv("HINDSIGHT_TEST_SHORTENED"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    path[length] = '\n';
    syscall(SYS_write, record, path, length + 1);
    close(record);
}

/* How much is stored of so many bytes. */
static size_t shortened(int file, size_t bytes) {
    char link[64], path[4096];
    const char *place = getenv("HINDSIGHT_TEST_SHORT");
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && !strncmp(path, place, strlen(place)) && bytes > 1) {
        note(path, length);
        bytes /= 2;
    }
    errno = before;
    return bytes;
}

ssize_t write(int file, const void *from, size_t bytes) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return real(file, from, shortened(file, bytes));
}

ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real)
        real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(file, from, shortened(file, bytes), at);
}

/* Stores no more than the first part that is not empty. */
ssize_t writev(int file, const struct iovec *parts, int count) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real)
        real = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    int first = 0;
    while (first < count && parts[first].iov_len == 0)
        first++;
    if (first < count) {
        struct iovec part = parts[first];
        part.iov_len = shortened(file, part.iov_len);
        if (part.iov_len < parts[first].iov_len)
            return real(file, &part, 1);
    }
    return real(file, parts, count);
}
