/* Which lines of a file are near-duplicates? Each line is a document, its id is its number.
 *
 *     cc lines.c $(pkg-config --cflags --libs simidx) -o lines
 *     ./lines FILE lines.simidx */
#include <simidx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTANCE = 3, MOST_LINES = 100000, ROOM = 64 };

static void check(simidx_status status) {
    if (status != SIMIDX_OK) {
        fprintf(stderr, "lines: %s\n", simidx_error_message());
        exit(2);
    }
}

/* Gets an id of a match; `user` is the number of the line that was asked about. */
static int32_t print_id(void *user, const char *bytes, size_t len, uint64_t id) {
    uint64_t line = *(const uint64_t *)user;
    (void)bytes, (void)len; /* These have the ids that are strings. */
    if (id > line)
        printf("%llu\t%llu\n", (unsigned long long)line, (unsigned long long)id);
    return 0;
}

int main(int argc, char **argv) {
    static uint64_t fingerprints[MOST_LINES], ids[MOST_LINES];
    static char text[1 << 20];
    size_t count = 0;
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: lines FILE INDEX\n");
        return 2;
    }

    simidx_pipeline *pipeline;
    check(simidx_pipeline_open("web", 64, &pipeline));
    while (count < MOST_LINES && fgets(text, sizeof text, file) != NULL) {
        simidx_fingerprint fingerprint;
        check(simidx_fingerprint_text(pipeline, text, strcspn(text, "\n"), &fingerprint));
        fingerprints[count] = fingerprint.low;
        ids[count] = count + 1;
        count++;
    }
    fclose(file);

    simidx_build_options options = {.struct_size = sizeof options};
    options.id_numbers = ids;
    options.pipeline = pipeline;
    check(simidx_build(argv[2], fingerprints, 64, count, DISTANCE, &options));
    simidx_pipeline_close(pipeline);

    simidx_index *index;
    simidx_searcher *searcher;
    check(simidx_open(argv[2], NULL, &index));
    check(simidx_searcher_new(index, &searcher));
    for (size_t i = 0; i < count; i++) {
        simidx_fingerprint query = {fingerprints[i], 0};
        simidx_match matches[ROOM];
        size_t found, first = 0;
        check(simidx_query(searcher, query, DISTANCE, matches, ROOM, &found));
        while (found > 0) {
            size_t here = found < ROOM ? found : ROOM;
            for (size_t m = 0; m < here; m++)
                check(simidx_ids(index, matches[m].fingerprint, print_id, &ids[i]));
            first += here;
            check(simidx_matches(searcher, first, matches, ROOM, &found));
        }
    }
    simidx_searcher_free(searcher);
    simidx_close(index);
    return 0;
}
