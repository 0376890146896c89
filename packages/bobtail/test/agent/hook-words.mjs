/**
 * A native addon that looks where V8 keeps what it calls back: the words of an isolate that hold
 * an address of the probe's code. Bobtail's own word that it took its hooks out would prove
 * nothing, and JavaScript cannot read memory. It can also take those words, as another tool that
 * knows V8 would.
 */
import { compiled } from '../compiled.mjs';

const SOURCE = String.raw`
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void *value;
typedef value (*callback)(void *env, void *info);
extern int napi_create_function(void *, const char *, size_t, callback, void *, value *);
extern int napi_set_named_property(void *, value, const char *, value);
extern int napi_create_object(void *, value *);
extern int napi_create_double(void *, double, value *);

enum { VECTOR_MAX = 1024, WORDS_MAX = 64 };
static struct range { uintptr_t from, to; int is_probe; } ranges[4096];
static int count;

static void read_map(void) {
  char line[512];
  FILE *map = fopen("/proc/self/maps", "r");
  for (count = 0; map != NULL && count < 4096 && fgets(line, sizeof line, map) != NULL;) {
    unsigned long from, to;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3) continue;
    int is_probe = strstr(line, "bobtail-probe.node") != NULL && rights[2] == 'x';
    /* What lies on the stack is of calls that are over, too. */
    int is_data = rights[0] == 'r' && rights[1] == 'w' && strstr(line, "[stack]") == NULL;
    if (!is_probe && !is_data) continue;
    ranges[count++] = (struct range){from, to, is_probe};
  }
  if (map != NULL) fclose(map);
}

static struct range *range_of(uintptr_t address) {
  for (int at = 0; at < count; at++)
    if (address >= ranges[at].from && address < ranges[at].to) return &ranges[at];
  return NULL;
}

static int is_probes(uintptr_t word) {
  struct range *range = range_of(word);
  return range != NULL && range->is_probe;
}

/*
 * A block of just that size was allocated there, by the word that glibc keeps before it. Without
 * this, the end of an empty vector, the end of its room and the next one's begin are a vector, too,
 * and what was erased is still in it.
 */
static int is_allocated(uintptr_t begin, uintptr_t size) {
  uintptr_t least = (size + 8 + 15) / 16 * 16, block = ((uintptr_t *)begin)[-1] & ~(uintptr_t)7;
  /* A rest too small for a block of its own is part of it. */
  return begin % 16 == 0 && (block == least || block == least + 16);
}

/* A std::vector lies there (begin, end, end of its room), and an element is the probe's. */
static int is_vector_of_probes(const uintptr_t *word) {
  uintptr_t begin = word[0], end = word[1], room = word[2];
  if (begin == 0 || end % 8 != 0 || begin >= end || end > room) return 0;
  struct range *range = range_of(begin);
  if (range == NULL || range->is_probe || begin - 8 < range->from) return 0;
  if (room - begin > VECTOR_MAX || room > range->to) return 0;
  if (!is_allocated(begin, room - begin)) return 0;
  for (uintptr_t at = begin; at < end; at += 8)
    if (is_probes(*(uintptr_t *)at)) return 1;
  return 0;
}

/* The table of what generated code calls lies beyond; before it, V8 notes what it calls now. */
enum { BEFORE_TABLE = 4096 };
typedef unsigned __int128 pair;
typedef pair (*runtime_function)(long count, void *arguments, void *isolate);
static uintptr_t *seen[WORDS_MAX];
static runtime_function taken[WORDS_MAX];

#define PASS_ON(n) \
  static pair pass_on_##n(long a, void *b, void *c) { return taken[0##n](a, b, c); }
#define EACH_OF_8(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define EACH(f) \
  EACH_OF_8(f, 0) EACH_OF_8(f, 1) EACH_OF_8(f, 2) EACH_OF_8(f, 3) \
  EACH_OF_8(f, 4) EACH_OF_8(f, 5) EACH_OF_8(f, 6) EACH_OF_8(f, 7)
#define NAME(n) pass_on_##n,
EACH(PASS_ON)
static const runtime_function passing_on[WORDS_MAX] = {EACH(NAME)};

/* Takes the words that the last look found, now that they hold V8's own functions again. */
static value take(void *env, void *info) {
  for (int at = 0; at < WORDS_MAX && seen[at] != NULL; at++) {
    taken[at] = (runtime_function)*seen[at];
    if (taken[at] != NULL) *seen[at] = (uintptr_t)passing_on[at];
  }
  return NULL;
}

static value look(void *env, void *info) {
  void *(*current)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "_ZN2v87Isolate10GetCurrentEv");
  int words = 0, vectors = 0;
  read_map();
  uintptr_t at = (uintptr_t)current();
  /* V8 has an isolate allocated; what comes after it is somebody else's, or nobody's. */
  uintptr_t end = at + malloc_usable_size((void *)at), table = at + BEFORE_TABLE;
  for (int found = 0; at + 24 <= end; at += 8) {
    int is_hook = is_probes(*(uintptr_t *)at);
    words += is_hook;
    if (is_hook && at >= table && found < WORDS_MAX) seen[found++] = (uintptr_t *)at;
    vectors += is_vector_of_probes((uintptr_t *)at);
  }
  value result, number;
  napi_create_object(env, &result);
  napi_create_double(env, words, &number);
  napi_set_named_property(env, result, "words", number);
  napi_create_double(env, vectors, &number);
  napi_set_named_property(env, result, "vectors", number);
  return result;
}

value napi_register_module_v1(void *env, value exports) {
  value function;
  napi_create_function(env, "look", 4, look, NULL, &function);
  napi_set_named_property(env, exports, "look", function);
  napi_create_function(env, "take", 4, take, NULL, &function);
  napi_set_named_property(env, exports, "take", function);
  return exports;
}
`;

/** Its path; compiled for this test. */
export const hookWords = (test) => compiled(test, SOURCE);
