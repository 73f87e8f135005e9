// Makes texts for deduplication at any size, some of them changed copies of earlier ones, and checks the answer.
//
//   cc -O2 -pthread copies.c -o copies
//   ./copies make 0 1000000 > part.jsonl               JSON lines for the texts 0 to 999,999
//   ./copies check 1000000 20000 dropped.tsv           the report of `simidx dedup`, for 20,000 of a million texts
//
// A text has about 300 bytes, in 44 to 57 made words; a fifth begin with one of 100 runs of 15 words. A text in 5.6 is a
// copy of an earlier one with up to five words changed, left out or added. All is drawn from the number of the text.
//
// The check is brute force: it makes the kept texts again, and compares each with the sampled texts behind it by their
// runs of three words. A sampled text must have been dropped if a kept text before it has a similarity of 0.8.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 60000, MOST_WORDS = 64, LETTERS = 12, BATCH = 100000, BUCKET_BITS = 24, FILTER_WORDS = 1 << 22 };

static char word[WORDS][LETTERS];
static int word_len[WORDS];

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// Returns the next random number of a state (splitmix64).
static uint64_t draw(uint64_t *state) {
    uint64_t number = mix(*state);
    *state += 0x9e3779b97f4a7c15;
    return number;
}

static void make_words(void) {
    for (int i = 0; i < WORDS; i++) {
        int rest = i, n = 0;
        do {
            word[i][n++] = "bcdfghjklmnpqrstvwxz"[rest % 20];
            rest /= 20;
            word[i][n++] = "aeiou"[rest % 5];
            rest /= 5;
        } while (rest);
        word_len[i] = n;
    }
}

// Words of small numbers are frequent.
static uint32_t draw_word(uint64_t *state) {
    double u = (draw(state) >> 11) * 0x1p-53;
    return (uint32_t)(WORDS * u * u);
}

// Writes the words of a text that is not a copy, and returns how many.
static int original(uint64_t number, uint32_t *words) {
    uint64_t state = mix(number * 2 + 1);
    int n = 0, wanted = 44 + draw(&state) % 14;
    if (draw(&state) % 5 == 0) {
        uint64_t shared = mix(0xb0000000 + draw(&state) % 100);
        while (n < 15)
            words[n++] = draw_word(&shared);
    }
    while (n < wanted)
        words[n++] = draw_word(&state);
    return n;
}

// Returns the text that a text is a copy of, or a copy of a copy; itself if it is none.
static uint64_t source(uint64_t number) {
    for (;;) {
        uint64_t state = mix(number * 2);
        if (number == 0 || draw(&state) % 100 >= 18)
            return number;
        uint64_t drawn = draw(&state), near = number < 1000 ? number : 1000;
        // Half of the copies are of any text before them, half of one of the last thousand.
        number = drawn & 1 ? (drawn >> 1) % number : number - 1 - (drawn >> 1) % near;
    }
}

// Writes the words of a text, and returns how many.
static int text(uint64_t number, uint32_t *words) {
    uint64_t from = source(number);
    int n = original(from, words);
    if (from == number)
        return n;
    uint64_t state = mix(~number);
    for (int changes = draw(&state) % 6; changes > 0; changes--) {
        int at = draw(&state) % n, kind = draw(&state) % 3;
        if (kind == 0) {
            words[at] = draw_word(&state);
        } else if (kind == 1 && n > 40) {
            memmove(words + at, words + at + 1, (n - at - 1) * sizeof *words);
            n--;
        } else if (kind == 2 && n < MOST_WORDS) {
            memmove(words + at + 1, words + at, (n - at) * sizeof *words);
            words[at] = draw_word(&state);
            n++;
        }
    }
    return n;
}

static void make(uint64_t begin, uint64_t end) {
    for (uint64_t number = begin; number < end; number++) {
        uint32_t words[MOST_WORDS];
        int n = text(number, words);
        printf("{\"id\": %llu, \"text\": \"", (unsigned long long)number);
        for (int i = 0; i < n; i++) {
            if (i)
                putchar_unlocked(' ');
            fwrite(word[words[i]], 1, word_len[words[i]], stdout);
        }
        fputs("\"}\n", stdout);
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Writes the hashes of a text's runs of three words, and returns how many.
static int hashes_of(uint64_t number, uint64_t *hashes) {
    uint32_t w[MOST_WORDS];
    int n = text(number, w);
    for (int i = 0; i + 3 <= n; i++)
        hashes[i] = mix(mix(w[i] * 0x1000003ULL + w[i + 1]) ^ (uint64_t)w[i + 2] << 20);
    return n - 2;
}

// Sorts hashes and removes those that come twice.
static int distinct(uint64_t *hashes, int n) {
    int kept = 0;
    qsort(hashes, n, sizeof *hashes, by_value);
    for (int i = 0; i < n; i++)
        if (i == 0 || hashes[i] != hashes[i - 1])
            hashes[kept++] = hashes[i];
    return kept;
}

// A sampled text, and the largest similarity to a kept one before it, as a fraction.
typedef struct {
    uint64_t number;
    int runs, common, all;
} Sampled;

// A run of a sampled text, in the list of its bucket.
typedef struct {
    uint64_t hash;
    uint32_t owner, next;
} Run;

static uint64_t count, next_batch;
static int sample_count;
static unsigned char *dropped;
static Sampled *sample;
static Run *runs;
static uint32_t *buckets;
static uint64_t *filter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int may_be_sampled(uint64_t hash) { return filter[hash >> 6 & (FILTER_WORDS - 1)] >> (hash & 63) & 1; }

static void compare(uint64_t number, int *common, int *met) {
    uint64_t hashes[MOST_WORDS];
    int n = hashes_of(number, hashes), meets = 0, met_count = 0;
    for (int i = 0; i < n; i++)
        meets |= may_be_sampled(hashes[i]);
    if (!meets)
        return;
    n = distinct(hashes, n);
    for (int i = 0; i < n; i++) {
        if (!may_be_sampled(hashes[i]))
            continue;
        for (uint32_t at = buckets[hashes[i] >> (64 - BUCKET_BITS)]; at; at = runs[at].next)
            if (runs[at].hash == hashes[i] && !common[runs[at].owner]++)
                met[met_count++] = runs[at].owner;
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < met_count; i++) {
        Sampled *s = &sample[met[i]];
        int both = common[met[i]], all = n + s->runs - both;
        common[met[i]] = 0;
        if (number < s->number && (int64_t)both * s->all > (int64_t)s->common * all) {
            s->common = both;
            s->all = all;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    int *common = calloc(sample_count, sizeof *common), *met = malloc(sample_count * sizeof *met);
    for (;;) {
        pthread_mutex_lock(&lock);
        uint64_t begin = next_batch;
        next_batch += BATCH;
        pthread_mutex_unlock(&lock);
        if (begin >= count)
            break;
        for (uint64_t number = begin; number < begin + BATCH && number < count; number++)
            if (!dropped[number])
                compare(number, common, met);
    }
    free(common);
    free(met);
    return unused;
}

static int check(const char *report) {
    dropped = calloc(count, 1);
    FILE *file = fopen(report, "r");
    if (!file) {
        perror(report);
        return 1;
    }
    char line[4096];
    uint64_t total = 0;
    while (fgets(line, sizeof line, file)) {
        char *end;
        uint64_t number = strtoull(line, &end, 10);
        if (end == line || *end != '\t' || number >= count || dropped[number]) {
            fprintf(stderr, "%s: not a number of a text, or twice: %s", report, line);
            return 1;
        }
        dropped[number] = 1;
        total++;
    }
    fclose(file);

    sample = calloc(sample_count, sizeof *sample);
    runs = calloc((size_t)sample_count * MOST_WORDS + 1, sizeof *runs);
    buckets = calloc(1 << BUCKET_BITS, sizeof *buckets);
    filter = calloc(FILTER_WORDS, sizeof *filter);
    uint32_t run_count = 0;
    for (int s = 0; s < sample_count; s++) {
        uint64_t hashes[MOST_WORDS];
        uint64_t number = mix(0x5a5a0000 + s) % count;
        int n = distinct(hashes, hashes_of(number, hashes));
        sample[s] = (Sampled){.number = number, .runs = n, .all = 1};
        for (int i = 0; i < n; i++) {
            uint32_t *bucket = &buckets[hashes[i] >> (64 - BUCKET_BITS)];
            runs[++run_count] = (Run){hashes[i], s, *bucket};
            *bucket = run_count;
            filter[hashes[i] >> 6 & (FILTER_WORDS - 1)] |= 1ULL << (hashes[i] & 63);
        }
    }
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);

    int right = 0, wrong = 0, missed = 0;
    for (int s = 0; s < sample_count; s++) {
        int is_similar = sample[s].common * 5 >= sample[s].all * 4, is_dropped = dropped[sample[s].number];
        right += is_similar && is_dropped;
        wrong += !is_similar && is_dropped;
        missed += is_similar && !is_dropped;
    }
    printf("%llu of %llu dropped; of %d sampled: %d rightly, %d wrongly, %d missed; F1 %.4f\n", (unsigned long long)total,
           (unsigned long long)count, sample_count, right, wrong, missed, 2.0 * right / (2.0 * right + wrong + missed));
    return wrong + missed > 0;
}

int main(int argc, char **argv) {
    make_words();
    if (argc == 4 && !strcmp(argv[1], "make")) {
        make(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
        return 0;
    }
    if (argc == 5 && !strcmp(argv[1], "check")) {
        count = strtoull(argv[2], NULL, 10);
        sample_count = atoi(argv[3]);
        return check(argv[4]);
    }
    fprintf(stderr, "usage: copies make BEGIN END | copies check COUNT SAMPLE REPORT\n");
    return 2;
}
