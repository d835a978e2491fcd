/*
 * The record of a disk, part of disk-shim.c: one entry for each change below the folder, in the order in which
 * the changes happened, with the bytes of writes. Every change and its entry are one step for all threads and
 * processes. cut-disk.ts reads the file, which DISK_RECORD names.
 */
struct entry {
  /* w: write, t: truncate, s: sync, c: new file, d: new folder, r: rename, l: link, u: removed name,
     m: writable map of a file. */
  uint32_t kind;
  uint32_t path_bytes, other_bytes;
  /* Of a write: it is synced when it returns. */
  uint32_t durable;
  /* When the change was done, by the monotonic clock. */
  uint64_t time_ns;
  /* The number of the file, its inode. */
  uint64_t file;
  /* Position of a write, length after a truncation, number of entries when a sync began. */
  int64_t at;
  uint64_t data_bytes;
};

static int records(void) { return control && record_file >= 0; }

static void begin_change(void) {
  if (!records()) return;
  while (__sync_lock_test_and_set(&control->locked, 1)) sched_yield();
}

static void add_entry(struct entry entry, const char *path, const char *other, struct iovec data) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  entry.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  entry.path_bytes = (uint32_t)strlen(path);
  entry.other_bytes = (uint32_t)strlen(other);
  entry.data_bytes = data.iov_len;
  struct iovec parts[] = {
      {&entry, sizeof entry}, {(void *)path, entry.path_bytes}, {(void *)other, entry.other_bytes}, data};
  syscall(SYS_writev, record_file, parts, 4);
  control->entries++;
}

static void end_change(int done, struct entry entry, const char *path, struct iovec data) {
  if (!records()) return;
  int code = errno;
  if (done) add_entry(entry, path, "", data);
  __sync_lock_release(&control->locked);
  errno = code;
}

static uint64_t find_number(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

/* A change of names, of which `other` is the second one or empty. */
static int change_names(uint32_t kind, const char *path, const char *other, long call, long mode) {
  int inside = records() && (is_inside(path) || is_inside(other));
  if (inside) begin_change();
  int result = (int)(*other ? syscall(call, path, other) : syscall(call, path, mode));
  if (!inside) return result;
  int code = errno;
  if (result == 0) add_entry((struct entry){.kind = kind}, path, other, (struct iovec){0, 0});
  __sync_lock_release(&control->locked);
  errno = code;
  return result;
}
int rename(const char *from, const char *to) { return change_names('r', from, to, SYS_rename, 0); }
int link(const char *from, const char *to) { return change_names('l', from, to, SYS_link, 0); }
int unlink(const char *path) { return change_names('u', path, "", SYS_unlink, 0); }
int rmdir(const char *path) { return change_names('u', path, "", SYS_rmdir, 0); }
int mkdir(const char *path, mode_t mode) { return change_names('d', path, "", SYS_mkdir, mode); }

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  if (!records() || !(flags & (O_CREAT | O_TRUNC)) || !is_inside(path))
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  begin_change();
  int existed = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  int changed = file >= 0 && (!existed || (flags & O_TRUNC));
  struct entry entry = {.kind = existed ? 't' : 'c', .file = changed ? find_number(file) : 0};
  end_change(changed, entry, path, (struct iovec){0, 0});
  return file;
}

int ftruncate64(int file, off64_t bytes) {
  char path[PATH_MAX];
  if (!records() || !find(file, path)) return (int)syscall(SYS_ftruncate, file, bytes);
  begin_change();
  int result = (int)syscall(SYS_ftruncate, file, bytes);
  struct entry entry = {.kind = 't', .file = find_number(file), .at = bytes};
  end_change(result == 0, entry, path, (struct iovec){0, 0});
  return result;
}

void *mmap64(void *near, size_t bytes, int use, int flags, int file, off64_t at) {
  char path[PATH_MAX];
  int writable = (use & PROT_WRITE) && (flags & MAP_SHARED) && file >= 0;
  if (writable && records() && find(file, path)) {
    begin_change();
    end_change(1, (struct entry){.kind = 'm', .file = find_number(file)}, path, (struct iovec){0, 0});
  }
  return (void *)syscall(SYS_mmap, near, bytes, use, flags, file, at);
}
