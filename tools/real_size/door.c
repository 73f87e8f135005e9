/* Answers queries through the C library, and prints what tools/real_size/scan.c prints.
 *
 * usage: door QUERIES K INDEX…, where the file of queries holds 64-bit words */
#include <inttypes.h>
#include <simidx.h>
#include <stdio.h>
#include <stdlib.h>

static void check(simidx_status status) {
    if (status != SIMIDX_OK) {
        fprintf(stderr, "%s\n", simidx_error_message());
        exit(2);
    }
}

int main(int argc, char **argv) {
    enum { ROOM = 1 << 20 };
    static uint64_t queries[1 << 16];
    if (argc < 4)
        return 2;
    FILE *file = fopen(argv[1], "rb");
    if (!file) {
        perror(argv[1]);
        return 2;
    }
    size_t count = fread(queries, sizeof *queries, sizeof queries / sizeof *queries, file);
    fclose(file);

    simidx_index *index = NULL;
    simidx_searcher *searcher = NULL;
    check(simidx_open_many((const char *const *)(argv + 3), (size_t)(argc - 3), NULL, &index));
    check(simidx_searcher_new(index, &searcher));
    simidx_match *found = malloc(ROOM * sizeof *found);
    size_t total = 0;
    if (!found)
        return 2;
    check(simidx_query_many(searcher, queries, 64, count, (uint32_t)atoi(argv[2]), NULL, NULL, found, ROOM, &total));
    for (size_t i = 0; i < total; i++) {
        const simidx_match *match = &found[i];
        printf("%016" PRIx64 "\t%016" PRIx64 "\t%" PRIu32 "\n", queries[match->query], match->fingerprint.low, match->distance);
    }
    simidx_searcher_free(searcher);
    simidx_close(index);
    return 0;
}
