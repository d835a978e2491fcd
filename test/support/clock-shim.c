/*
 * Moves the wall clock of one process, for tests: preloaded, it adds an offset to the time that the C
 * library returns. The offset, 64 bits of milliseconds, is in the file that CLOCK_OFFSET_FILE names; it may be
 * changed at any moment; the monotonic clocks are unchanged. It calls the kernel directly and allocates
 * nothing, so it also works in a process whose allocator reads the time. Built and used by shifted-clock.ts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset_ms;

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) offset_ms = page;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = (int)syscall(SYS_clock_gettime, clock, time);
  if (failed || !offset_ms || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  int64_t offset = *offset_ms;
  int64_t nanos = time->tv_nsec + offset % 1000 * 1000000;
  time->tv_sec += offset / 1000 + (nanos >= 1000000000) - (nanos < 0);
  time->tv_nsec = (nanos + 1000000000) % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *kept) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  if (kept) *kept = now.tv_sec;
  return now.tv_sec;
}
