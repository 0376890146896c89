/** A library for LD_PRELOAD by which an event loop is told of its wake-ups by edges. */

import { compiled } from '../compiled.mjs';

// Only what libuv reads up at every wake-up anyway, so that the service goes on. Newer versions of
// libuv would tell the kernel by a ring of io_uring and without this call.
const SOURCE = `
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = -result;
  return -1;
}

long syscall(long number, ...) {
  long of[6];
  va_list list;
  va_start(list, number);
  for (int at = 0; at < 6; at++) of[at] = va_arg(list, long);
  va_end(list);
  if (number == SYS_io_uring_setup) {
    errno = ENOSYS;
    return -1;
  }
  return call(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

int epoll_ctl(int set, int what, int fd, struct epoll_event *event) {
  char path[64], to[64] = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int is_wakeup = readlink(path, to, sizeof to - 1) > 0 && strstr(to, "eventfd") != NULL;
  if (event != NULL && what != EPOLL_CTL_DEL && is_wakeup) event->events |= EPOLLET;
  return call(SYS_epoll_ctl, set, what, fd, (long)event, 0, 0);
}
`;

/** Its path; compiled for this test. */
export const edgeTriggered = (test) => compiled(test, SOURCE);
