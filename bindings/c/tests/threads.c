/* Threads: searchers of their own, one searcher for all, an index that is closed meanwhile, messages, a child process.
 *
 * usage: threads FOLDER [COUNT], with COUNT fingerprints */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 4, MOST = 20000 };

static uint64_t fps[MOST];
static size_t fps_count = MOST;
static int rounds = MOST / 50;
static simidx_index *shared;
static simidx_searcher *of_all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Not from within threads at the same time. */
#define CHECK_LOCKED(condition)                                                                                            \
    do {                                                                                                                   \
        if (!(condition)) {                                                                                                \
            pthread_mutex_lock(&lock);                                                                                     \
            CHECK(condition);                                                                                              \
            pthread_mutex_unlock(&lock);                                                                                   \
        }                                                                                                                  \
    } while (0)

static int finds(simidx_searcher *searcher, size_t i) {
    simidx_fingerprint query = {fps[i] ^ (uint64_t)1 << i % 64, 0};
    simidx_match found[16];
    size_t count;
    if (simidx_query(searcher, query, 3, found, 16, &count) != SIMIDX_OK)
        return 0;
    for (size_t m = 0; m < count && m < 16; m++)
        if (found[m].fingerprint.low == fps[i] && found[m].distance == 1)
            return 1;
    return 0;
}

/* A searcher for each thread. */
static void *own(void *number) {
    simidx_searcher *searcher;
    uint64_t random = (uintptr_t)number;
    char words[32];
    CHECK_LOCKED(simidx_searcher_new(shared, &searcher) == SIMIDX_OK);
    CHECK_LOCKED(simidx_error_message()[0] == 0);
    for (int round = 0; round < rounds; round++)
        CHECK_LOCKED(finds(searcher, next_random(&random) % fps_count));
    /* The message of a thread is its own. */
    for (int round = 0; round < rounds; round++) {
        simidx_index *none;
        snprintf(words, sizeof words, "missing-%d-%d", (int)(uintptr_t)number, round);
        CHECK_LOCKED(simidx_open(words, NULL, &none) == SIMIDX_ERROR_NOT_FOUND);
        CHECK_LOCKED(strstr(simidx_error_message(), words) != NULL);
    }
    simidx_searcher_free(searcher);
    return NULL;
}

/* One searcher for all threads: an answer or busy. */
static void *together(void *answered) {
    uint64_t query = fps[0];
    for (int round = 0; round < rounds; round++) {
        simidx_fingerprint fp = {query, 0};
        simidx_match found[4];
        size_t count = 7;
        simidx_status status = simidx_query(of_all, fp, 3, found, 4, &count);
        CHECK_LOCKED(status == SIMIDX_OK || (status == SIMIDX_ERROR_BUSY && count == 0));
        CHECK_LOCKED(status != SIMIDX_OK || found[0].fingerprint.low == query);
        *(size_t *)answered += status == SIMIDX_OK;
    }
    return NULL;
}

/* The index is closed under the threads: an answer or closed. */
static void *until_closed(void *unused) {
    (void)unused;
    for (;;) {
        simidx_searcher *searcher;
        simidx_status status = simidx_searcher_new(shared, &searcher);
        CHECK_LOCKED(status == SIMIDX_OK || (status == SIMIDX_ERROR_CLOSED && searcher == NULL));
        if (status != SIMIDX_OK)
            return NULL;
        CHECK_LOCKED(finds(searcher, 5));
        simidx_searcher_free(searcher);
    }
}

static void *many(void *threads) {
    simidx_searcher *searcher;
    simidx_work_options work = {.struct_size = sizeof work};
    static simidx_match found[THREADS][4 * MOST];
    size_t count, number = (uintptr_t)threads;
    work.threads = (uint32_t)number % 3;
    CHECK_LOCKED(simidx_searcher_new(shared, &searcher) == SIMIDX_OK);
    for (int round = 0; round < 3; round++) {
        CHECK_LOCKED(simidx_query_many(searcher, fps, 64, fps_count, 3, &work, NULL, found[number], 4 * fps_count, &count) == SIMIDX_OK);
        CHECK_LOCKED(count >= fps_count && count < 4 * fps_count);
        CHECK_LOCKED(found[number][0].query == 0 && found[number][count - 1].query == fps_count - 1);
    }
    simidx_searcher_free(searcher);
    return NULL;
}

static void run(void *(*work)(void *), void *arguments[THREADS]) {
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, work, arguments[t]) != 0)
            abort();
    if (work == until_closed)
        simidx_close(shared);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* A child has its parent's index, and threads of its own. */
static void child(void) {
    pid_t pid = fork();
    if (pid == 0) {
        many((void *)(uintptr_t)0);
        own((void *)(uintptr_t)9);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    if (argc > 2)
        fps_count = (size_t)atoi(argv[2]);
    if (fps_count < 100 || fps_count > MOST)
        return 2;
    rounds = (int)fps_count / 50;
    char path[600];
    uint64_t random = 1;
    size_t answered[THREADS] = {0}, all = 0;
    void *numbers[THREADS], *counts[THREADS];
    for (size_t i = 0; i < fps_count; i++)
        fps[i] = next_random(&random);
    for (size_t t = 0; t < THREADS; t++)
        numbers[t] = (void *)(uintptr_t)t, counts[t] = &answered[t];
    snprintf(path, sizeof path, "%s/threads.simidx", argv[1]);
    OK(simidx_build(path, fps, 64, fps_count, 3, NULL));
    OK(simidx_open(path, NULL, &shared));
    run(own, numbers);
    run(many, numbers);
    OK(simidx_searcher_new(shared, &of_all));
    run(together, counts);
    for (size_t t = 0; t < THREADS; t++)
        all += answered[t];
    CHECK(all > 0);
    simidx_searcher_free(of_all);
    child();
    run(until_closed, numbers);
    return finish("threads");
}
