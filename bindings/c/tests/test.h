/* What the tests share: checks that say where they failed, random numbers, files. */
#ifndef SIMIDX_TEST_H
#define SIMIDX_TEST_H

#include <simidx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                                   \
    do {                                                                                                                   \
        if (!(condition)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, simidx_error_message());                   \
            if (++failures > 20)                                                                                           \
                exit(1);                                                                                                   \
        }                                                                                                                  \
    } while (0)

/* The call returns this status. */
#define IS(status, call) CHECK((call) == (status))
#define OK(call) IS(SIMIDX_OK, call)

/* The call fails so, with a message that says this. */
#define FAILS(status, words, call)                                                                                         \
    do {                                                                                                                   \
        IS(status, call);                                                                                                  \
        CHECK(simidx_error_status() == (status));                                                                          \
        CHECK(strstr(simidx_error_message(), words) != NULL);                                                              \
    } while (0)

static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void *allocate(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL)
        abort();
    return memory;
}

/* The bytes of a file, with a NUL after them. */
static inline char *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *len = (size_t)ftell(file);
    rewind(file);
    char *bytes = allocate(*len + 1);
    if (fread(bytes, 1, *len, file) != *len)
        abort();
    bytes[*len] = 0;
    fclose(file);
    return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t len) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
}

static inline int finish(const char *what) {
    if (failures == 0)
        printf("%s: passed\n", what);
    return failures != 0;
}

#endif
