/*
 * The disk of one process and its children, for tests: preloaded, it makes writes and syncs of files below a
 * folder fail or wait, and records what reaches them (disk-record.h). Its control page, a file that
 * DISK_CONTROL names, may be changed at any moment; built and used by faulty-disk.ts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  int32_t write_error, growth_error, sync_error, sync_delay_ms;
  /* How many writes or syncs were refused. */
  int32_t refused;
  char folder[1024];
  /* Of the record: a lock for all processes, and the number of entries. */
  int32_t locked;
  uint64_t entries;
};
static volatile struct control *control;
static int record_file = -1;

__attribute__((constructor)) static void open_control(void) {
  const char *path = getenv("DISK_CONTROL");
  int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
  if (file < 0) return;
  void *page = mmap(0, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) control = page;
  syscall(SYS_close, file);
  path = getenv("DISK_RECORD");
  if (path) record_file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
}

static int is_inside(const char *path) {
  if (!control) return 0;
  const char *folder = (const char *)control->folder;
  size_t length = strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Whether the file is inside, and its path. */
static int find(int file, char path[PATH_MAX]) {
  char link[32];
  if (!control) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_inside(path);
}

static int refuse(int code) {
  if (code == 0) return 0;
  __sync_fetch_and_add(&control->refused, 1);
  errno = code;
  return -1;
}

#include "disk-record.h"

/* One write of a file that is inside; `at` is -1 for the position of the descriptor. */
static ssize_t write_inside(int file, const char *path, struct iovec part, int64_t at) {
  struct stat status;
  if (refuse(control->write_error)) return -1;
  begin_change();
  int flags = (int)syscall(SYS_fcntl, file, F_GETFL, 0);
  fstat(file, &status);
  int64_t from = at >= 0 ? at : flags & O_APPEND ? status.st_size : syscall(SYS_lseek, file, 0, SEEK_CUR);
  ssize_t done = -1;
  int fits = control->growth_error == 0 || from + (int64_t)part.iov_len <= status.st_size;
  /* A disk that becomes full takes a part first. */
  if (!fits && part.iov_len > 1) part.iov_len /= 2, fits = 1;
  if (fits || !refuse(control->growth_error))
    done = at >= 0 ? syscall(SYS_pwrite64, file, part.iov_base, part.iov_len, at)
                   : syscall(SYS_write, file, part.iov_base, part.iov_len);
  struct entry entry = {.kind = 'w', .file = status.st_ino, .at = from, .durable = (flags & O_DSYNC) != 0};
  end_change(done >= 0, entry, path, (struct iovec){part.iov_base, done});
  return done;
}

ssize_t write(int file, const void *data, size_t bytes) {
  char path[PATH_MAX];
  if (!find(file, path)) return syscall(SYS_write, file, data, bytes);
  return write_inside(file, path, (struct iovec){(void *)data, bytes}, -1);
}
ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t at) {
  char path[PATH_MAX];
  if (!find(file, path)) return syscall(SYS_pwrite64, file, data, bytes, at);
  return write_inside(file, path, (struct iovec){(void *)data, bytes}, at);
}
static ssize_t write_parts(int file, const char *path, const struct iovec *parts, int count, int64_t at) {
  ssize_t all = 0;
  for (int part = 0; part < count; part++) {
    ssize_t done = write_inside(file, path, parts[part], at < 0 ? at : at + all);
    if (done < 0) return all > 0 ? all : -1;
    all += done;
    if ((size_t)done < parts[part].iov_len) break;
  }
  return all;
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  char path[PATH_MAX];
  if (!find(file, path)) return syscall(SYS_writev, file, parts, count);
  return write_parts(file, path, parts, count, -1);
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  char path[PATH_MAX];
  if (!find(file, path)) return syscall(SYS_pwritev, file, parts, count, at, 0);
  return write_parts(file, path, parts, count, at);
}

/* It makes durable what was written before it began. */
static int sync_file(int file, long call) {
  char path[PATH_MAX];
  if (!find(file, path)) return (int)syscall(call, file);
  uint64_t before = control->entries;
  int32_t delay_ms = control->sync_delay_ms;
  if (delay_ms > 0) nanosleep(&(struct timespec){delay_ms / 1000, delay_ms % 1000 * 1000000L}, 0);
  if (refuse(control->sync_error)) return -1;
  int result = (int)syscall(call, file);
  begin_change();
  struct entry entry = {.kind = 's', .file = find_number(file), .at = (int64_t)before};
  end_change(result == 0, entry, path, (struct iovec){0, 0});
  return result;
}
int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }
