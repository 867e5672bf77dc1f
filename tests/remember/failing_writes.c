/* Preloaded into a writer: the n-th write to a file below EDGEMEM_FAIL_IN fails, as does every one after it unless EDGEMEM_FAIL_ONCE.
 *
 * EDGEMEM_FAIL_AT: n, counted from 1 (0 = never; the number of writes is told on stderr at the end).
 * EDGEMEM_SYNCED: a directory into which every file is copied as it is synced: what a power cut would leave at the least.
 * EDGEMEM_FAIL_WITH: errno to fail with; -1 = write half of it and then fail with ENOSPC (a short write).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long calls;

static int ours(int file) {
  static const char *below;
  char link[64], path[4096];
  if (!below && !(below = getenv("EDGEMEM_FAIL_IN"))) below = "/nowhere";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strncmp(path, below, strlen(below)) == 0;
}

/* 0 = go on; else what to do with this call. */
static int verdict(int file) {
  if (!ours(file)) return 0;
  const char *at = getenv("EDGEMEM_FAIL_AT"), *with = getenv("EDGEMEM_FAIL_WITH");
  long now = ++calls, from = at ? atol(at) : 0;
  if (!from || now < from || (now > from && getenv("EDGEMEM_FAIL_ONCE"))) return 0;
  return with ? atoi(with) : EIO;
}

static void keep(int file) {
  const char *to = getenv("EDGEMEM_SYNCED");
  char link[64], path[4096], copy[8192], command[16384];
  struct stat what;
  if (!to || !ours(file) || fstat(file, &what) || !S_ISREG(what.st_mode)) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  snprintf(copy, sizeof copy, "%s/%s", to, strrchr(path, '/') + 1);
  snprintf(command, sizeof command, "LD_PRELOAD= cp '%s' '%s'", path, copy);
  if (system(command)) perror("copy");
}

static int failed(int error) {
  errno = error;
  return -1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *data, size_t size) {
  REAL(write);
  int error = verdict(file);
  if (error == -1) return size > 1 ? real(file, data, size / 2) : failed(ENOSPC);
  return error ? failed(error) : real(file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t where) {
  REAL(pwrite64);
  int error = verdict(file);
  if (error == -1) return size > 1 && calls % 2 ? real(file, data, size / 2, where) : failed(ENOSPC);
  return error ? failed(error) : real(file, data, size, where);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t where) { return pwrite64(file, data, size, where); }

int fsync(int file) {
  REAL(fsync);
  int error = verdict(file);
  if (error) return failed(error == -1 ? ENOSPC : error);
  keep(file);
  return real(file);
}

int fdatasync(int file) {
  REAL(fdatasync);
  int error = verdict(file);
  if (error) return failed(error == -1 ? ENOSPC : error);
  keep(file);
  return real(file);
}

int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  int error = verdict(file);
  return error ? failed(error == -1 ? ENOSPC : error) : real(file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

__attribute__((destructor)) static void tell(void) {
  if (getenv("EDGEMEM_FAIL_COUNT")) fprintf(stderr, "writes %ld\n", calls);
}
