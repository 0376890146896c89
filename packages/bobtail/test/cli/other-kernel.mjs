/** Libraries for LD_PRELOAD by which a process finds another kernel, or another libc. */

import { compiled } from '../compiled.mjs';

// A filter of the kernel's own (seccomp), as that of a container: nothing stands in for the kernel.
const DENIES = `
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

__attribute__((constructor)) static void deny(void) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ERRNO),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) abort();
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) abort();
}

/* An addon, too: a service that loads it is denied from then on. */
void *napi_register_module_v1(void *env, void *exports) { return exports; }
`;

const NAMED_OTHERWISE = `
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

int xetsockopt(int fd, int level, int name, void *value, socklen_t *length) {
  return getsockopt(fd, level, name, value, length);
}

int xpoll_pwait(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask) {
  return epoll_pwait(fd, events, max, ms, mask);
}
`;

/** Has the kernel refuse `perf_event_open` with an error; path of the library. */
export const deniesPerfEvents = (test, errno) => compiled(test, DENIES, `-DERRNO=${errno}`);

/** Has `getsockopt` and `epoll_pwait` under names that begin with an x; path of the library. */
export const namedOtherwise = (test) => compiled(test, NAMED_OTHERWISE);
