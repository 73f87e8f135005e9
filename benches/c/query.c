/* The C side of run.py: answers the same queries from the same file, a round for each line on standard input. */
#define _POSIX_C_SOURCE 199309L
#include <simidx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(simidx_status status) {
    if (status != SIMIDX_OK) {
        fprintf(stderr, "query: %s\n", simidx_error_message());
        exit(2);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    FILE *file = argc == 5 ? fopen(argv[2], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: query INDEX QUERIES DISTANCE THREADS; 0 threads: one query after the other\n");
        return 2;
    }
    fseek(file, 0, SEEK_END);
    size_t count = ftell(file) / sizeof(uint64_t), room = 1 << 20;
    rewind(file);
    uint64_t *queries = malloc(count * sizeof *queries), *offsets = malloc((count + 1) * sizeof *offsets);
    simidx_match *matches = malloc(room * sizeof *matches);
    if (queries == NULL || offsets == NULL || matches == NULL || fread(queries, sizeof *queries, count, file) != count)
        return 2;
    fclose(file);
    uint32_t distance = (uint32_t)atoi(argv[3]);
    simidx_work_options work = {.struct_size = sizeof work};
    work.threads = (uint32_t)atoi(argv[4]);

    simidx_index *index;
    simidx_searcher *searcher;
    check(simidx_open(argv[1], NULL, &index));
    check(simidx_searcher_new(index, &searcher));
    for (int byte; (byte = getchar()) != EOF;) {
        if (byte != '\n')
            continue;
        double start = now();
        size_t all = 0;
        if (work.threads == 0) {
            for (size_t i = 0; i < count; i++) {
                simidx_fingerprint query = {queries[i], 0};
                size_t found;
                check(simidx_query(searcher, query, distance, matches + all, room - all, &found));
                all += found;
                if (all > room) {
                    fprintf(stderr, "more than %zu matches\n", room);
                    return 1;
                }
            }
        } else {
            check(simidx_query_many(searcher, queries, 64, count, distance, &work, offsets, matches, room, &all));
        }
        printf("%.9f %zu\n", now() - start, all);
        fflush(stdout);
    }
    simidx_searcher_free(searcher);
    simidx_close(index);
    free(matches);
    free(offsets);
    free(queries);
    return 0;
}
