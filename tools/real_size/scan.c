/* The naive scan that the answers are held against.
 *
 * usage: scan VALUES QUERIES K, where both files hold 64-bit little-endian words; prints each query with each distinct value
 * within K, by query in the order given, then by distance, then by value, as `simidx query` does */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    uint64_t *values;
    size_t count;
} words;

static words words_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(2);
    }
    words all = {NULL, (size_t)ftell(file) / sizeof(uint64_t)};
    rewind(file);
    all.values = malloc(all.count * sizeof(uint64_t) + 1);
    if (!all.values || fread(all.values, sizeof(uint64_t), all.count, file) != all.count) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return all;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s VALUES QUERIES K\n", argv[0]);
        return 2;
    }
    words all = words_of(argv[1]);
    words queries = words_of(argv[2]);
    int most = atoi(argv[3]);
    qsort(all.values, all.count, sizeof(uint64_t), by_value);
    uint64_t *near = malloc(all.count * sizeof(uint64_t));
    if (!near)
        return 2;
    for (size_t q = 0; q < queries.count; q++) {
        uint64_t query = queries.values[q];
        size_t count = 0;
        for (size_t i = 0; i < all.count; i++) {
            int is_first = i == 0 || all.values[i] != all.values[i - 1];
            if (is_first && __builtin_popcountll(all.values[i] ^ query) <= most)
                near[count++] = all.values[i];
        }
        for (int distance = 0; distance <= most; distance++)
            for (size_t i = 0; i < count; i++)
                if (__builtin_popcountll(near[i] ^ query) == distance)
                    printf("%016" PRIx64 "\t%016" PRIx64 "\t%d\n", query, near[i], distance);
    }
    return 0;
}
