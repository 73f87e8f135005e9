/* Every answer against a naive scan: fingerprints of real texts, in all widths, with and without ids, in one file and in two.
 *
 * usage: answers TEXTS FOLDER [QUERIES], where TEXTS has a text a line */
#include "test.h"

/* The most queries of each kind, and the most matches and ids that they have room for. */
enum { MOST_QUERIES = 120, ROOM = 1 << 16 };

static size_t query_count = MOST_QUERIES;

typedef struct {
    uint32_t width;
    size_t count;
    simidx_fingerprint *all; /* of each record */
    simidx_fingerprint *sorted; /* each once, in order */
    size_t distinct;
    void *packed; /* as the library takes them */
} records;

static int compare(const void *a, const void *b) {
    const simidx_fingerprint *x = a, *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static int equal(simidx_fingerprint a, simidx_fingerprint b) { return a.low == b.low && a.high == b.high; }

static uint32_t ones(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (uint32_t)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

static uint32_t distance(simidx_fingerprint a, simidx_fingerprint b) { return ones(a.low ^ b.low) + ones(a.high ^ b.high); }

static size_t bytes_of(uint32_t width) { return width / 8; }

static void *pack(uint32_t width, const simidx_fingerprint *all, size_t count) {
    char *packed = allocate(count * bytes_of(width));
    for (size_t i = 0; i < count; i++) {
        uint32_t narrow = (uint32_t)all[i].low;
        const void *from = width == 32 ? (const void *)&narrow : (const void *)&all[i];
        memcpy(packed + i * bytes_of(width), from, bytes_of(width));
    }
    return packed;
}

static simidx_fingerprint unpack(uint32_t width, const void *packed, size_t i) {
    simidx_fingerprint value = {0, 0};
    uint32_t narrow = 0;
    const char *from = (const char *)packed + i * bytes_of(width);
    if (width == 32) {
        memcpy(&narrow, from, 4);
        value.low = narrow;
    } else {
        memcpy(&value, from, bytes_of(width));
    }
    return value;
}

/* The naive scan: all within a distance, by distance, then by value. */
static size_t scan(const records *r, simidx_fingerprint query, uint32_t most, simidx_match *found) {
    static uint8_t distances[ROOM];
    size_t count = 0;
    for (size_t i = 0; i < r->distinct; i++)
        distances[i] = (uint8_t)distance(r->sorted[i], query);
    for (uint32_t at = 0; at <= most; at++)
        for (size_t i = 0; i < r->distinct; i++)
            if (distances[i] == at) {
                simidx_match match = {r->sorted[i], 0, at, 0};
                found[count++] = match;
            }
    return count;
}

static int same(const simidx_match *a, const simidx_match *b, size_t count, uint64_t query) {
    for (size_t i = 0; i < count; i++)
        if (!equal(a[i].fingerprint, b[i].fingerprint) || a[i].distance != b[i].distance || a[i].query != query)
            return 0;
    return 1;
}

static simidx_fingerprint perturbed(const records *r, uint64_t *random) {
    simidx_fingerprint query = r->all[next_random(random) % r->count];
    for (uint64_t flips = next_random(random) % 5; flips > 0; flips--) {
        uint64_t bit = next_random(random) % r->width;
        *(bit < 64 ? &query.low : &query.high) ^= (uint64_t)1 << (bit % 64);
    }
    return query;
}

static void check_queries(const simidx_index *index, const records *r) {
    static simidx_match wanted[ROOM], found[ROOM];
    simidx_fingerprint queries[MOST_QUERIES];
    uint64_t offsets[MOST_QUERIES + 1], random = 7;
    uint8_t contains[MOST_QUERIES], one;
    size_t count, total;
    simidx_searcher *searcher;
    OK(simidx_searcher_new(index, &searcher));
    for (size_t q = 0; q < query_count; q++)
        queries[q] = perturbed(r, &random);
    void *packed = pack(r->width, queries, query_count);
    uint32_t distances[] = {0, 1, 3, 4, 8, r->width == 32 ? 12 : 20};
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
        uint32_t most = distances[d];
        OK(simidx_contains_many(searcher, packed, r->width, query_count, most, NULL, contains));
        OK(simidx_query_many(searcher, packed, r->width, query_count, most, NULL, offsets, found, ROOM, &total));
        CHECK(offsets[0] == 0 && offsets[query_count] == total && total <= ROOM);
        for (size_t q = 0; q < query_count; q++) {
            size_t expected = scan(r, queries[q], most, wanted);
            CHECK(offsets[q + 1] - offsets[q] == expected);
            CHECK(same(found + offsets[q], wanted, expected, q));
            CHECK(contains[q] == (expected > 0));
        }
        /* The same in pieces of 7, from a buffer that has room for none. */
        OK(simidx_query_many(searcher, packed, r->width, query_count, most, NULL, NULL, NULL, 0, &count));
        CHECK(count == total);
        for (size_t first = 0; first <= total; first += 7) {
            simidx_match piece[7];
            OK(simidx_matches(searcher, first, piece, 7, &count));
            CHECK(count == total - first);
            for (size_t i = 0; i < count && i < 7; i++)
                CHECK(same(piece + i, found + first + i, 1, found[first + i].query));
        }
        for (size_t q = 0; q < query_count; q++) {
            size_t expected = scan(r, queries[q], most, wanted);
            OK(simidx_query(searcher, queries[q], most, found, ROOM, &count));
            CHECK(count == expected && same(found, wanted, expected, 0));
            OK(simidx_contains(searcher, queries[q], most, &one));
            CHECK(one == (expected > 0));
        }
    }
    /* The nearest are the first of all. */
    OK(simidx_nearest_many(searcher, packed, r->width, query_count, 5, 128, NULL, offsets, found, ROOM, &total));
    for (size_t q = 0; q < query_count; q++) {
        size_t expected = scan(r, queries[q], r->width, wanted);
        expected = expected < 5 ? expected : 5;
        CHECK(offsets[q + 1] - offsets[q] == expected);
        CHECK(same(found + offsets[q], wanted, expected, q));
    }
    scan(r, queries[0], r->width, wanted);
    OK(simidx_nearest(searcher, queries[0], SIZE_MAX, 128, found, ROOM, &count));
    CHECK(count == r->distinct && same(found, wanted, count, 0));
    OK(simidx_nearest(searcher, queries[0], 3, 0, found, ROOM, &count));
    CHECK(count <= 1);
    free(packed);
    simidx_searcher_free(searcher);
}

/* The ids in these tests: record i has the number 1000 + i, or the string "text i". */
typedef struct {
    const records *r;
    simidx_fingerprint of;
    size_t seen;
    int strings;
} visit;

static int32_t see(void *user, const char *bytes, size_t len, uint64_t number) {
    visit *v = user;
    char text[32] = "";
    if (v->strings) {
        CHECK(bytes != NULL && len < sizeof text);
        memcpy(text, bytes, len);
        number = strtoull(text + 5, NULL, 10) + 1000;
    } else {
        CHECK(bytes == NULL && len == 0);
    }
    CHECK(number >= 1000 && number - 1000 < v->r->count && equal(v->r->all[number - 1000], v->of));
    v->seen++;
    return 0;
}

static int32_t stop(void *user, const char *bytes, size_t len, uint64_t number) {
    (void)bytes, (void)len, (void)number;
    return ++*(int *)user;
}

static void check_ids(const simidx_index *index, const records *r, uint32_t kind) {
    static uint64_t numbers[ROOM];
    static char bytes[ROOM];
    static size_t ends[ROOM];
    for (size_t i = 0; i < r->distinct; i += 37) {
        simidx_fingerprint of = r->sorted[i];
        visit v = {r, of, 0, kind == SIMIDX_IDS_STRINGS};
        size_t records_of = 0, found, len, more;
        for (size_t j = 0; j < r->count; j++)
            records_of += equal(r->all[j], of);
        if (kind == SIMIDX_IDS_NONE)
            records_of = 0;
        OK(simidx_ids(index, of, see, &v));
        CHECK(v.seen == records_of);
        OK(simidx_number_ids(index, of, numbers, ROOM, &found));
        CHECK(found == (kind == SIMIDX_IDS_NUMBERS ? records_of : 0));
        OK(simidx_string_ids(index, of, bytes, ROOM, &len, ends, ROOM, &more));
        CHECK(more == (kind == SIMIDX_IDS_STRINGS ? records_of : 0));
        if (more > 0) {
            char small[4];
            size_t end, again, of_all;
            CHECK(ends[more - 1] == len && memcmp(bytes, "text ", 5) == 0);
            OK(simidx_string_ids(index, of, small, sizeof small, &of_all, &end, 1, &again));
            CHECK(of_all == len && again == more && end == ends[0] && memcmp(small, "text", 4) == 0);
        }
        int stopped = 0;
        IS(records_of > 0 ? SIMIDX_ERROR_STOPPED : SIMIDX_OK, simidx_ids(index, of, stop, &stopped));
        CHECK(stopped == (records_of > 0));
    }
    for (size_t i = 0; i < r->count && kind != SIMIDX_IDS_NONE; i += 101) {
        char text[32];
        simidx_fingerprint of[2];
        size_t found;
        int len = snprintf(text, sizeof text, "text %zu", i);
        if (kind == SIMIDX_IDS_STRINGS)
            OK(simidx_find_string(index, text, (size_t)len, of, 2, &found));
        else
            OK(simidx_find_number(index, 1000 + i, of, 2, &found));
        CHECK(found == 1 && equal(of[0], r->all[i]));
        OK(simidx_find_string(index, "no such id", 10, of, 2, &found));
        CHECK(found == 0);
        OK(simidx_find_number(index, 1, NULL, 0, &found));
        CHECK(found == 0);
    }
}

static void check_index(const simidx_index *index, const records *r, uint32_t kind, uint64_t segments) {
    simidx_info info = {.struct_size = sizeof info};
    OK(simidx_index_info(index, &info));
    CHECK(info.struct_size == sizeof info && info.width == r->width && info.max_distance == 3);
    CHECK(info.id_kind == kind && info.record_count == r->count && info.segment_count == segments);
    CHECK(segments > 1 || info.fingerprint_count == r->distinct);
    OK(simidx_verify(index, NULL));
    OK(simidx_warm(index, NULL));
    check_queries(index, r);
    check_ids(index, r, kind);
}

/* Ids from record `first` on. */
typedef struct {
    uint64_t *numbers, *ends;
    char **strings, *bytes;
    size_t len;
} ids;

static ids make_ids(size_t first, size_t count) {
    ids made = {allocate(count * 8), allocate(count * 8), allocate(count * sizeof(char *)), allocate(count * 32), 0};
    for (size_t i = 0; i < count; i++) {
        made.numbers[i] = 1000 + first + i;
        made.strings[i] = allocate(32);
        made.len += (size_t)sprintf(made.bytes + made.len, "text %zu", first + i);
        made.ends[i] = made.len;
        sprintf(made.strings[i], "text %zu", first + i);
    }
    return made;
}

static void free_ids(ids made, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(made.strings[i]);
    free(made.numbers), free(made.ends), free(made.strings), free(made.bytes);
}

static void set_ids(simidx_build_options *options, const ids *made, int ids_as) {
    options->struct_size = sizeof *options;
    if (ids_as == 1)
        options->id_numbers = made->numbers;
    if (ids_as == 2)
        options->id_strings = (const char *const *)made->strings;
    if (ids_as == 3)
        options->id_ends = made->ends, options->id_bytes = made->bytes, options->id_bytes_len = made->len;
}

static void build(const char *path, const records *r, size_t first, size_t count, int ids_as, simidx_build_options options) {
    ids made = make_ids(first, count);
    set_ids(&options, &made, ids_as);
    const char *from = (const char *)r->packed + first * bytes_of(r->width);
    OK(simidx_build(path, from, r->width, count, 3, &options));
    free_ids(made, count);
}

/* All records in batches of at most 99. */
static void build_in_batches(const char *path, const records *r, int ids_as, uint32_t kind, simidx_build_options options) {
    simidx_builder *builder;
    options.struct_size = sizeof options;
    OK(simidx_builder_new(path, r->width, kind, 3, &options, &builder));
    for (size_t first = 0; first < r->count; first += 99) {
        size_t count = r->count - first < 99 ? r->count - first : 99;
        ids made = make_ids(first, count);
        simidx_build_options of_batch = {0};
        set_ids(&of_batch, &made, ids_as);
        const char *from = (const char *)r->packed + first * bytes_of(r->width);
        OK(simidx_builder_add(builder, from, r->width, count, ids_as ? &of_batch : NULL));
        free_ids(made, count);
    }
    OK(simidx_builder_add(builder, NULL, r->width, 0, NULL));
    OK(simidx_builder_finish(builder));
}

/* The next pair that the naive scan finds. */
typedef struct {
    const records *r;
    uint32_t most;
    size_t first, second;
    uint64_t stop_after;
} next_pair;

static int32_t is_next(void *user, uint64_t first, uint64_t second, uint32_t bits) {
    next_pair *next = user;
    const simidx_fingerprint *all = next->r->all;
    do {
        if (++next->second >= next->r->count)
            next->second = ++next->first + 1;
    } while (next->second < next->r->count && distance(all[next->first], all[next->second]) > next->most);
    CHECK(first == next->first && second == next->second && bits == distance(all[first], all[second]));
    return next->stop_after > 0 && --next->stop_after == 0;
}

static void check_pairs(const records *r) {
    uint32_t distances[] = {0, 3, 6};
    for (size_t d = 0; d < 3; d++) {
        uint64_t count = 0;
        uint32_t most = distances[d];
        for (size_t i = 0; i < r->count; i++)
            for (size_t j = i + 1; j < r->count; j++)
                count += distance(r->all[i], r->all[j]) <= most;
        next_pair next = {r, most, 0, 0, 0}, seen = {r, most, 0, 0, count};
        OK(simidx_pairs(r->packed, r->width, r->count, most, count, NULL, is_next, &next));
        if (count > 0)
            FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_pairs(r->packed, r->width, r->count, most, 0, NULL, is_next, &seen));
        if (count > 1)
            FAILS(SIMIDX_ERROR_LIMIT, "pairs", simidx_pairs(r->packed, r->width, r->count, most, count - 1, NULL, is_next, &next));
        CHECK(seen.stop_after == 0);
    }
}

/* Each text twice, the second time with other case and one more sign, which no word has. */
static void check_dedup(const char *const *texts, const size_t *lens, size_t count) {
    const char **twice = allocate(2 * count * sizeof *twice);
    uint64_t *kept = allocate(2 * count * sizeof *kept), *few = allocate(count * sizeof *few);
    for (size_t i = 0; i < count; i++) {
        char *copy = allocate(lens[i] + 1), *other = allocate(lens[i] + 2);
        memcpy(copy, texts[i], lens[i]);
        for (size_t j = 0; j < lens[i]; j++)
            other[j] = copy[j] >= 'a' && copy[j] <= 'z' ? (char)(copy[j] - 32) : copy[j];
        copy[lens[i]] = 0;
        memcpy(other + lens[i], "!", 2);
        twice[i] = copy, twice[count + i] = other;
    }
    OK(simidx_dedup_texts(NULL, twice, NULL, 2 * count, 0.8, 3, NULL, kept));
    OK(simidx_dedup_texts(NULL, texts, lens, count, 0.8, 3, NULL, few));
    for (size_t i = 0; i < count; i++) {
        CHECK(kept[i] <= i && kept[kept[i]] == kept[i] && (kept[i] == i) == (few[i] == i));
        CHECK(kept[count + i] < count && kept[kept[count + i]] == kept[count + i]);
        CHECK(kept[i] != i || kept[count + i] == i);
    }
    for (size_t i = 0; i < 2 * count; i++)
        free((char *)twice[i]);
    free(twice), free(kept), free(few);
}

static int same_files(const char *a, const char *b) {
    size_t len_a, len_b;
    char *bytes_a = read_file(a, &len_a), *bytes_b = read_file(b, &len_b);
    int same = len_a == len_b && memcmp(bytes_a, bytes_b, len_a) == 0;
    free(bytes_a), free(bytes_b);
    return same;
}

static void check_width(uint32_t width, const char *const *texts, const size_t *lens, size_t count, const char *folder) {
    char one[512], two[512], three[512];
    snprintf(one, sizeof one, "%s/one.simidx", folder);
    snprintf(two, sizeof two, "%s/two.simidx", folder);
    snprintf(three, sizeof three, "%s/three.simidx", folder);
    simidx_pipeline *pipeline;
    OK(simidx_pipeline_open("web", width, &pipeline));
    records r = {width, count, allocate(count * 16), allocate(count * 16), 0, allocate(count * bytes_of(width))};
    uint8_t *says = allocate(count);
    OK(simidx_fingerprint_texts(pipeline, texts, lens, count, NULL, width, r.packed, says));
    for (size_t i = 0; i < count; i++) {
        simidx_fingerprint alone;
        r.all[i] = r.sorted[i] = unpack(width, r.packed, i);
        OK(simidx_fingerprint_text(pipeline, texts[i], lens[i], &alone));
        CHECK(equal(alone, r.all[i]) && says[i] == 1);
    }
    qsort(r.sorted, count, sizeof *r.sorted, compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !equal(r.sorted[i], r.sorted[i - 1]))
            r.sorted[r.distinct++] = r.sorted[i];
    CHECK(r.distinct > count / 2);

    check_pairs(&r);
    for (int ids_as = 0; ids_as < 4; ids_as++) {
        uint32_t kind = ids_as == 0 ? SIMIDX_IDS_NONE : ids_as == 1 ? SIMIDX_IDS_NUMBERS : SIMIDX_IDS_STRINGS;
        simidx_index *index;
        simidx_build_options options = {0};
        options.pipeline = pipeline;
        options.id_lookup = ids_as > 0;
        build(one, &r, 0, count, ids_as, options);
        OK(simidx_open(one, NULL, &index));
        check_index(index, &r, kind, 1);
        simidx_close(index);
        build_in_batches(two, &r, ids_as, kind, options);
        CHECK(same_files(one, two));
        if (ids_as == 3) {
            /* Other threads, other memory, the ids in another form: the same bytes. */
            options.threads = 3;
            options.memory = (uint64_t)64 << 20;
            options.temp_dir = folder;
            build(two, &r, 0, count, 2, options);
            CHECK(same_files(one, two));
        }
        /* Two files as one, read into memory and warmed. */
        options.tables = 4;
        options.codec = "gap";
        options.block_size = 1024;
        build(two, &r, 0, count / 3, ids_as, options);
        build(three, &r, count / 3, count - count / 3, ids_as, options);
        const char *paths[] = {two, three};
        simidx_open_options open = {sizeof open, 1, 1};
        OK(simidx_open_many(paths, 2, &open, &index));
        check_index(index, &r, kind, 2);
        simidx_close(index);
    }
    /* Where the caller has it, at an odd address; the pipeline of the file makes the same fingerprints. */
    size_t len, described, again;
    char *file = read_file(one, &len), *moved = allocate(len + 1), description[4096];
    simidx_index *index;
    simidx_pipeline *read;
    memcpy(moved + 1, file, len);
    OK(simidx_open_memory(moved + 1, len, &index));
    check_index(index, &r, SIMIDX_IDS_STRINGS, 1);
    OK(simidx_index_pipeline(index, NULL, 0, &described));
    OK(simidx_index_pipeline(index, description, sizeof description - 1, &again));
    CHECK(described == again && described < sizeof description);
    description[described] = 0;
    OK(simidx_pipeline_open(description, width, &read));
    simidx_fingerprint alone;
    OK(simidx_fingerprint_text(read, texts[1], lens[1], &alone));
    CHECK(equal(alone, r.all[1]));
    simidx_pipeline_close(read);
    simidx_close(index);
    free(file), free(moved), free(says), free(r.all), free(r.sorted), free(r.packed);
    simidx_pipeline_close(pipeline);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argc > 3)
        query_count = (size_t)atoi(argv[3]);
    if (query_count < 1 || query_count > MOST_QUERIES)
        return 2;
    CHECK(simidx_version() == SIMIDX_VERSION);
    CHECK(strchr(simidx_version_string(), '.') != NULL);
    size_t len, count = 0, room = ROOM;
    char *all = read_file(argv[1], &len);
    const char **texts = allocate(room * sizeof *texts);
    size_t *lens = allocate(room * sizeof *lens);
    for (char *line = all; line < all + len && count < room; count++) {
        char *end = memchr(line, '\n', (size_t)(all + len - line));
        end = end ? end : all + len;
        texts[count] = line;
        lens[count] = (size_t)(end - line);
        line = end + 1;
    }
    CHECK(count >= 20);
    uint32_t widths[] = {32, 64, 128};
    for (size_t w = 0; w < 3; w++)
        check_width(widths[w], texts, lens, count, argv[2]);
    check_dedup(texts, lens, count);
    free(all), free(texts), free(lens);
    return finish("answers");
}
