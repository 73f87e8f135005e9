/* Bad input through every function: a status and a message, and never a crash.
 *
 * usage: bad_input DATA FOLDER [STEP], where DATA is the folder of the test files of the format. With a step, only every
 * STEP-th byte is changed, and every STEP-th file read */
#include "test.h"

#define ARGUMENT(words, call) FAILS(SIMIDX_ERROR_ARGUMENT, words, call)
#define CLOSED(words, call) FAILS(SIMIDX_ERROR_CLOSED, words, call)

/* A struct of options of a later version. */
typedef struct {
    simidx_open_options known;
    uint64_t unknown[4];
} later_options;

static const simidx_fingerprint fp = {0xff00, 0};
static const uint64_t fps[] = {0xff00, 0xff01, 0x123456789abcdef0u, 0xff00};
static const char *const names[] = {"a", "b", "c", "d"};

static char path[600], other[600];

static simidx_build_options with_names(void) {
    simidx_build_options options = {.struct_size = sizeof options};
    options.id_strings = names;
    options.id_lookup = 1;
    return options;
}

static int32_t see(void *user, const char *bytes, size_t len, uint64_t number) {
    (void)bytes, (void)len, (void)number;
    ++*(int *)user;
    return 0;
}

static int32_t stop(void *user, const char *stage, uint64_t done, uint64_t total) {
    CHECK(stage != NULL && strlen(stage) > 0 && (done <= total || total == 0));
    ++*(int *)user;
    return -1;
}

static void handles(simidx_index *index) {
    simidx_searcher *searcher, *closed;
    simidx_pipeline *pipeline;
    simidx_index *second;
    simidx_match match;
    simidx_info info = {.struct_size = sizeof info};
    simidx_fingerprint out;
    uint8_t near;
    uint64_t number;
    size_t found, len, end;
    int seen = 0;
    OK(simidx_searcher_new(index, &searcher));
    OK(simidx_searcher_new(index, &closed));
    OK(simidx_pipeline_open("web", 64, &pipeline));

    /* NULL is a status in each call, and nothing to close. */
    simidx_close(NULL), simidx_searcher_free(NULL), simidx_pipeline_close(NULL);
    ARGUMENT("index is NULL", simidx_index_info(NULL, &info));
    ARGUMENT("simidx_info is NULL", simidx_index_info(index, NULL));
    ARGUMENT("index is NULL", simidx_index_pipeline(NULL, NULL, 0, &found));
    ARGUMENT("found is NULL", simidx_index_pipeline(index, NULL, 0, NULL));
    ARGUMENT("buffer is NULL", simidx_index_pipeline(index, NULL, 1, &found));
    ARGUMENT("index is NULL", simidx_warm(NULL, NULL));
    ARGUMENT("index is NULL", simidx_verify(NULL, NULL));
    ARGUMENT("index is NULL", simidx_searcher_new(NULL, &closed));
    CHECK(closed == NULL);
    ARGUMENT("out is NULL", simidx_searcher_new(index, NULL));
    ARGUMENT("searcher is NULL", simidx_query(NULL, fp, 3, &match, 1, &found));
    ARGUMENT("found is NULL", simidx_query(searcher, fp, 3, &match, 1, NULL));
    ARGUMENT("buffer is NULL", simidx_query(searcher, fp, 3, NULL, 1, &found));
    ARGUMENT("searcher is NULL", simidx_nearest(NULL, fp, 1, 3, &match, 1, &found));
    ARGUMENT("found is NULL", simidx_nearest(searcher, fp, 1, 3, &match, 1, NULL));
    ARGUMENT("buffer is NULL", simidx_nearest(searcher, fp, 1, 3, NULL, 1, &found));
    ARGUMENT("searcher is NULL", simidx_matches(NULL, 0, &match, 1, &found));
    ARGUMENT("found is NULL", simidx_matches(searcher, 0, &match, 1, NULL));
    ARGUMENT("buffer is NULL", simidx_matches(searcher, 0, NULL, 1, &found));
    ARGUMENT("searcher is NULL", simidx_contains(NULL, fp, 3, &near));
    ARGUMENT("out is NULL", simidx_contains(searcher, fp, 3, NULL));
    ARGUMENT("searcher is NULL", simidx_query_many(NULL, fps, 64, 4, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("fingerprints is NULL", simidx_query_many(searcher, NULL, 64, 4, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("buffer is NULL", simidx_query_many(searcher, fps, 64, 4, 3, NULL, NULL, NULL, 1, &found));
    ARGUMENT("found is NULL", simidx_query_many(searcher, fps, 64, 4, 3, NULL, NULL, &match, 1, NULL));
    ARGUMENT("searcher is NULL", simidx_nearest_many(NULL, fps, 64, 4, 1, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("fingerprints is NULL", simidx_nearest_many(searcher, NULL, 64, 4, 1, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("searcher is NULL", simidx_contains_many(NULL, fps, 64, 1, 3, NULL, &near));
    ARGUMENT("fingerprints is NULL", simidx_contains_many(searcher, NULL, 64, 1, 3, NULL, &near));
    ARGUMENT("out is NULL", simidx_contains_many(searcher, fps, 64, 1, 3, NULL, NULL));
    ARGUMENT("index is NULL", simidx_ids(NULL, fp, see, &seen));
    ARGUMENT("visit is NULL", simidx_ids(index, fp, NULL, NULL));
    ARGUMENT("index is NULL", simidx_number_ids(NULL, fp, &number, 1, &found));
    ARGUMENT("buffer is NULL", simidx_number_ids(index, fp, NULL, 1, &found));
    ARGUMENT("found is NULL", simidx_number_ids(index, fp, &number, 1, NULL));
    ARGUMENT("index is NULL", simidx_string_ids(NULL, fp, NULL, 0, &len, &end, 1, &found));
    ARGUMENT("bytes is NULL", simidx_string_ids(index, fp, NULL, 1, &len, &end, 1, &found));
    ARGUMENT("bytes_found is NULL", simidx_string_ids(index, fp, NULL, 0, NULL, &end, 1, &found));
    ARGUMENT("ends is NULL", simidx_string_ids(index, fp, NULL, 0, &len, NULL, 1, &found));
    ARGUMENT("found is NULL", simidx_string_ids(index, fp, NULL, 0, &len, &end, 1, NULL));
    ARGUMENT("index is NULL", simidx_find_number(NULL, 1, &out, 1, &found));
    ARGUMENT("found is NULL", simidx_find_number(index, 1, &out, 1, NULL));
    ARGUMENT("buffer is NULL", simidx_find_string(index, "a", 1, NULL, 1, &found));
    ARGUMENT("id is NULL", simidx_find_string(index, NULL, 1, &out, 1, &found));
    ARGUMENT("path is NULL", simidx_open(NULL, NULL, &second));
    ARGUMENT("out is NULL", simidx_open(path, NULL, NULL));
    ARGUMENT("paths is NULL", simidx_open_many(NULL, 1, NULL, &second));
    ARGUMENT("out is NULL", simidx_open_many(NULL, 0, NULL, NULL));
    const char *const without[] = {path, NULL};
    ARGUMENT("paths[1] is NULL", simidx_open_many(without, 2, NULL, &second));
    ARGUMENT("no segment", simidx_open_many(NULL, 0, NULL, &second));
    ARGUMENT("bytes is NULL", simidx_open_memory(NULL, 1, &second));
    ARGUMENT("out is NULL", simidx_open_memory("", 0, NULL));
    ARGUMENT("path is NULL", simidx_build(NULL, fps, 64, 4, 3, NULL));
    ARGUMENT("fingerprints is NULL", simidx_build(other, NULL, 64, 4, 3, NULL));
    ARGUMENT("name is NULL", simidx_pipeline_open(NULL, 64, &pipeline));
    CHECK(pipeline == NULL);
    ARGUMENT("out is NULL", simidx_pipeline_open("web", 64, NULL));
    OK(simidx_pipeline_open("web", 64, &pipeline));
    ARGUMENT("pipeline is NULL", simidx_fingerprint_text(NULL, "", 0, &out));
    ARGUMENT("text is NULL", simidx_fingerprint_text(pipeline, NULL, 1, &out));
    ARGUMENT("out is NULL", simidx_fingerprint_text(pipeline, "", 0, NULL));
    ARGUMENT("texts is NULL", simidx_fingerprint_texts(pipeline, NULL, NULL, 1, NULL, 64, &number, NULL));
    ARGUMENT("out is NULL", simidx_fingerprint_texts(pipeline, names, NULL, 1, NULL, 64, NULL, NULL));
    ARGUMENT("texts[1] is NULL", simidx_fingerprint_texts(pipeline, without, NULL, 2, NULL, 64, &number, NULL));

    /* Nothing of nothing is an answer. */
    OK(simidx_query_many(searcher, NULL, 64, 0, 3, NULL, &number, NULL, 0, &found));
    CHECK(found == 0 && number == 0);
    OK(simidx_fingerprint_texts(pipeline, NULL, NULL, 0, NULL, 64, NULL, NULL));
    OK(simidx_fingerprint_text(pipeline, NULL, 0, &out));
    OK(simidx_query(searcher, fp, 3, NULL, 0, &found));
    CHECK(found == 2);

    /* Widths, distances, addresses, sizes. */
    simidx_fingerprint wide = {0, 1};
    ARGUMENT("64 bits", simidx_query(searcher, wide, 3, &match, 1, &found));
    ARGUMENT("64 bits", simidx_contains(searcher, wide, 3, &near));
    ARGUMENT("64 bits", simidx_number_ids(index, wide, &number, 1, &found));
    ARGUMENT("at most 128", simidx_query(searcher, fp, 129, &match, 1, &found));
    ARGUMENT("at most 128", simidx_nearest(searcher, fp, 1, UINT32_MAX, &match, 1, &found));
    ARGUMENT("at most 128", simidx_contains(searcher, fp, UINT32_MAX, &near));
    uint32_t widths[] = {0, 1, 32, 63, 65, 128, UINT32_MAX};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        ARGUMENT("width is", simidx_query_many(searcher, fps, widths[i], 1, 3, NULL, NULL, &match, 1, &found));
        ARGUMENT("width is", simidx_contains_many(searcher, fps, widths[i], 1, 3, NULL, &near));
        ARGUMENT("width is", simidx_fingerprint_texts(pipeline, names, NULL, 1, NULL, widths[i], &out, NULL));
        if (widths[i] % 32 != 0 || widths[i] == 0) {
            ARGUMENT("width is", simidx_build(other, fps, widths[i], 1, 3, NULL));
            simidx_pipeline *none;
            ARGUMENT("width is", simidx_pipeline_open("web", widths[i], &none));
            CHECK(none == NULL);
        }
    }
    ARGUMENT("not a multiple of 8", simidx_query_many(searcher, (const char *)fps + 1, 64, 1, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("no memory", simidx_query_many(searcher, fps, 64, SIZE_MAX / 4, 3, NULL, NULL, &match, 1, &found));
    ARGUMENT("no memory", simidx_query(searcher, fp, 3, &match, SIZE_MAX, &found));
    ARGUMENT("no memory", simidx_open_memory(fps, SIZE_MAX, &second));
    ARGUMENT("no memory", simidx_build(other, fps, 64, SIZE_MAX, 3, NULL));

    /* Closed handles, handles of other things, what never was a handle. */
    uint64_t never[4] = {1, 2, 3, 4};
    void *const wrong[] = {searcher, pipeline, never, (void *)fps, (void *)(uintptr_t)1, (void *)UINTPTR_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        simidx_index *as_index = wrong[i];
        CLOSED("index", simidx_index_info(as_index, &info));
        CLOSED("index", simidx_searcher_new(as_index, &closed));
        CLOSED("index", simidx_verify(as_index, NULL));
        simidx_close(as_index);
    }
    CLOSED("pipeline", simidx_fingerprint_text((simidx_pipeline *)(void *)searcher, "", 0, &out));
    CLOSED("searcher", simidx_query((simidx_searcher *)(void *)index, fp, 3, &match, 1, &found));
    OK(simidx_searcher_new(index, &closed));
    simidx_searcher_free(closed);
    simidx_searcher_free(closed);
    CLOSED("searcher", simidx_query(closed, fp, 3, &match, 1, &found));
    CLOSED("searcher", simidx_matches(closed, 0, &match, 1, &found));
    CLOSED("searcher", simidx_contains(closed, fp, 3, &near));
    simidx_pipeline_close(pipeline);
    simidx_pipeline_close(pipeline);
    CLOSED("pipeline", simidx_fingerprint_text(pipeline, "a", 1, &out));
    simidx_build_options options = {.struct_size = sizeof options};
    options.pipeline = pipeline;
    CLOSED("pipeline", simidx_build(other, fps, 64, 4, 3, &options));

    /* A searcher outlives its index. */
    OK(simidx_open(path, NULL, &second));
    OK(simidx_searcher_new(second, &closed));
    simidx_close(second);
    simidx_close(second);
    CLOSED("index", simidx_index_info(second, &info));
    CLOSED("index", simidx_ids(second, fp, see, &seen));
    CLOSED("index", simidx_find_number(second, 1, &out, 1, &found));
    OK(simidx_query(closed, fp, 3, &match, 1, &found));
    CHECK(found == 2);
    simidx_searcher_free(closed);

    /* A failed query leaves no answer. */
    OK(simidx_matches(searcher, 0, &match, 1, &found));
    OK(simidx_query(searcher, fp, 3, &match, 1, &found));
    OK(simidx_matches(searcher, 1, &match, 1, &found));
    CHECK(found == 1 && match.fingerprint.low == 0xff01);
    OK(simidx_matches(searcher, SIZE_MAX, &match, 1, &found));
    CHECK(found == 0);
    IS(SIMIDX_ERROR_ARGUMENT, simidx_query(searcher, wide, 3, &match, 1, &found));
    OK(simidx_matches(searcher, 0, &match, 1, &found));
    CHECK(found == 0 && seen == 0);
    simidx_searcher_free(searcher);
}

static void options(simidx_index *index) {
    simidx_index *opened;
    later_options later;
    memset(&later, 0, sizeof later);
    size_t sizes[] = {0, 1, sizeof(size_t), sizeof(simidx_open_options) - 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        later.known.struct_size = sizes[i];
        ARGUMENT("struct_size", simidx_open(path, &later.known, &opened));
        CHECK(opened == NULL);
        simidx_info info = {.struct_size = sizes[i]};
        ARGUMENT("struct_size", simidx_index_info(index, &info));
        simidx_work_options work = {.struct_size = sizes[i] == sizeof(simidx_open_options) - 1 ? 7 : sizes[i]};
        ARGUMENT("struct_size", simidx_verify(index, &work));
    }
    /* A caller of a later version: bytes that this version does not know must be 0. */
    later.known.struct_size = sizeof later;
    OK(simidx_open(path, &later.known, &opened));
    simidx_close(opened);
    later.unknown[3] = 1;
    ARGUMENT("does not know", simidx_open(path, &later.known, &opened));
    struct {
        simidx_info known;
        uint64_t unknown;
    } later_info;
    memset(&later_info, 0x55, sizeof later_info);
    later_info.known.struct_size = sizeof later_info;
    OK(simidx_index_info(index, &later_info.known));
    CHECK(later_info.known.struct_size == sizeof(simidx_info) && later_info.known.width == 64);
    CHECK(later_info.unknown == 0x5555555555555555u);
    ARGUMENT("not a multiple", simidx_open(path, (const void *)((const char *)&later + 1), &opened));

    later.unknown[3] = 0;
    later.known.in_memory = 2;
    ARGUMENT("in_memory is 2", simidx_open(path, &later.known, &opened));
    later.known.in_memory = 0;
    later.known.warm = 7;
    ARGUMENT("warm is 7", simidx_open(path, &later.known, &opened));

    simidx_build_options build = with_names();
    build.id_lookup = 2;
    ARGUMENT("id_lookup is 2", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.threads = 5000;
    ARGUMENT("threads is 5000", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.block_size = 100;
    ARGUMENT("block", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.tables = UINT32_MAX;
    ARGUMENT("tables", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.codec = "zip";
    ARGUMENT("codec", simidx_build(other, fps, 64, 4, 3, &build));
    build.codec = "\xff";
    ARGUMENT("codec is not UTF-8", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.memory = 1;
    FAILS(SIMIDX_ERROR_LIMIT, "memory", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    ARGUMENT("distance", simidx_build(other, fps, 64, 4, UINT32_MAX, &build));
    build.id_numbers = fps;
    ARGUMENT("only one", simidx_build(other, fps, 64, 4, 3, &build));
    build = with_names();
    build.id_strings = NULL;
    build.id_lookup = 0;
    OK(simidx_build(other, fps, 64, 4, 3, &build));
}

static void ids(void) {
    simidx_build_options build = {.struct_size = sizeof build};
    const char *const bad_texts[] = {"a", "b", "\xc3(", "d"}, *const empty[] = {"a", "", "c", "d"};
    const char *const missing[] = {"a", "b", NULL, "d"};
    build.id_strings = bad_texts;
    ARGUMENT("id_strings[2] is not UTF-8 at byte 0", simidx_build(other, fps, 64, 4, 3, &build));
    build.id_strings = missing;
    ARGUMENT("id_strings[2] is NULL", simidx_build(other, fps, 64, 4, 3, &build));
    build.id_strings = empty;
    FAILS(SIMIDX_ERROR_INPUT, "id 1", simidx_build(other, fps, 64, 4, 3, &build));
    build.id_strings = NULL;
    uint64_t bad_ends[][4] = {{1, 2, 3, 9}, {3, 2, 3, 4}, {UINT64_MAX, 1, 2, 3}, {1, 2, 3, UINT64_MAX}};
    for (size_t i = 0; i < 4; i++) {
        build.id_ends = bad_ends[i], build.id_bytes = "abcd", build.id_bytes_len = 4;
        ARGUMENT("id_ends[", simidx_build(other, fps, 64, 4, 3, &build));
    }
    uint64_t within[] = {1, 2, 3, 4};
    build.id_ends = within, build.id_bytes = NULL;
    ARGUMENT("id_bytes is NULL", simidx_build(other, fps, 64, 4, 3, &build));
    build.id_bytes = "ab\xc3" "d";
    ARGUMENT("not UTF-8", simidx_build(other, fps, 64, 4, 3, &build));
}

static void texts(void) {
    simidx_pipeline *pipeline;
    simidx_fingerprint out;
    uint64_t many[2];
    const char *bad[] = {"good", "no good \xff"};
    ARGUMENT("pipeline", simidx_pipeline_open("no such preset", 64, &pipeline));
    ARGUMENT("not UTF-8", simidx_pipeline_open("\xff", 64, &pipeline));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_pipeline_open("", 64, &pipeline));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_pipeline_open("{", 64, &pipeline));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_pipeline_open("web,shingle=0", 64, &pipeline));
    OK(simidx_pipeline_open("web", 64, &pipeline));
    ARGUMENT("text is not UTF-8 at byte 1", simidx_fingerprint_text(pipeline, "a\xff", 2, &out));
    ARGUMENT("texts[1] is not UTF-8 at byte 8", simidx_fingerprint_texts(pipeline, bad, NULL, 2, NULL, 64, many, NULL));
    uint8_t says[2];
    bad[1] = "?!";
    OK(simidx_fingerprint_texts(pipeline, bad, NULL, 2, NULL, 64, many, says));
    CHECK(says[0] == 1 && says[1] == 0);
    OK(simidx_fingerprint_text(pipeline, bad[1], 2, &out));
    CHECK(out.low == many[1]);
    simidx_pipeline_close(pipeline);
}

static int32_t no_pair(void *user, uint64_t first, uint64_t second, uint32_t distance) {
    (void)user, (void)first, (void)second, (void)distance;
    CHECK(!"no pair is to be visited");
    return 0;
}

static void pairs_and_dedup(void) {
    uint64_t kept[4];
    simidx_work_options threads = {sizeof threads, 4096, 0, NULL, NULL};
    ARGUMENT("visit is NULL", simidx_pairs(fps, 64, 4, 3, 0, NULL, NULL, NULL));
    ARGUMENT("fingerprints is NULL", simidx_pairs(NULL, 64, 4, 3, 0, NULL, no_pair, NULL));
    ARGUMENT("at most 128", simidx_pairs(fps, 64, 4, 129, 0, NULL, no_pair, NULL));
    ARGUMENT("width is 33", simidx_pairs(fps, 33, 4, 3, 0, NULL, no_pair, NULL));
    ARGUMENT("threads", simidx_pairs(fps, 64, 4, 3, 0, &threads, no_pair, NULL));
    FAILS(SIMIDX_ERROR_LIMIT, "pairs", simidx_pairs(fps, 64, 4, 3, 1, NULL, no_pair, NULL));
    OK(simidx_pairs(NULL, 64, 0, 3, 0, NULL, no_pair, NULL));
    ARGUMENT("kept is NULL", simidx_dedup_texts(NULL, names, NULL, 4, 0.8, 3, NULL, NULL));
    ARGUMENT("texts is NULL", simidx_dedup_texts(NULL, NULL, NULL, 4, 0.8, 3, NULL, kept));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_dedup_texts(NULL, names, NULL, 4, 0, 3, NULL, kept));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_dedup_texts(NULL, names, NULL, 4, 1.5, 3, NULL, kept));
    IS(SIMIDX_ERROR_ARGUMENT, simidx_dedup_texts(NULL, names, NULL, 4, 0.8, 65, NULL, kept));
    OK(simidx_dedup_texts(NULL, NULL, NULL, 0, 0.8, 3, NULL, NULL));
}

static void builders(void) {
    simidx_builder *builder;
    simidx_build_options with = with_names();
    ARGUMENT("path is NULL", simidx_builder_new(NULL, 64, SIMIDX_IDS_NONE, 3, NULL, &builder));
    CHECK(builder == NULL);
    ARGUMENT("out is NULL", simidx_builder_new(other, 64, SIMIDX_IDS_NONE, 3, NULL, NULL));
    ARGUMENT("width is 1", simidx_builder_new(other, 1, SIMIDX_IDS_NONE, 3, NULL, &builder));
    ARGUMENT("id_kind is 3", simidx_builder_new(other, 64, 3, 3, NULL, &builder));
    ARGUMENT("distance", simidx_builder_new(other, 64, SIMIDX_IDS_NONE, 99, NULL, &builder));
    ARGUMENT("have no ids", simidx_builder_new(other, 64, SIMIDX_IDS_STRINGS, 3, &with, &builder));
    with.id_lookup = 0;
    ARGUMENT("builder is NULL", simidx_builder_add(NULL, fps, 64, 4, NULL));
    ARGUMENT("builder is NULL", simidx_builder_finish(NULL));
    simidx_builder_abort(NULL);
    /* Without an end there is no file, and after a failure only an end. */
    remove(other);
    OK(simidx_builder_new(other, 64, SIMIDX_IDS_STRINGS, 3, NULL, &builder));
    OK(simidx_builder_add(builder, fps, 64, 4, &with));
    simidx_builder_abort(builder);
    CLOSED("builder", simidx_builder_add(builder, fps, 64, 4, &with));
    CHECK(fopen(other, "rb") == NULL);
    OK(simidx_builder_new(other, 64, SIMIDX_IDS_STRINGS, 3, NULL, &builder));
    FAILS(SIMIDX_ERROR_INPUT, "id", simidx_builder_add(builder, fps, 64, 4, NULL));
    CLOSED("failed before", simidx_builder_add(builder, fps, 64, 4, &with));
    CLOSED("failed before", simidx_builder_finish(builder));
    CLOSED("closed", simidx_builder_finish(builder));
    simidx_builder_abort(builder);
    CHECK(fopen(other, "rb") == NULL);
    OK(simidx_builder_new(other, 64, SIMIDX_IDS_NONE, 3, NULL, &builder));
    ARGUMENT("width is 32", simidx_builder_add(builder, fps, 32, 4, NULL));
    simidx_builder_abort(builder);
    simidx_build_options more = with;
    more.memory = 5;
    OK(simidx_builder_new(other, 64, SIMIDX_IDS_STRINGS, 3, NULL, &builder));
    ARGUMENT("memory is an option of the builder", simidx_builder_add(builder, fps, 64, 4, &more));
    simidx_builder_abort(builder);
    int calls = 0;
    simidx_build_options stopped = {.struct_size = sizeof stopped};
    stopped.progress = stop;
    stopped.user = &calls;
    OK(simidx_builder_new(other, 64, SIMIDX_IDS_NONE, 3, &stopped, &builder));
    FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_builder_add(builder, fps, 64, 4, NULL));
    CHECK(calls == 1);
    simidx_builder_abort(builder);
}

static void paths(const char *folder) {
    simidx_index *index = NULL;
    char name[700];
    FAILS(SIMIDX_ERROR_NOT_FOUND, "missing.simidx", simidx_open("missing.simidx", NULL, &index));
    FAILS(SIMIDX_ERROR_NOT_FOUND, "\xef\xbf\xbd", simidx_open("missing-\xff.simidx", NULL, &index));
    FAILS(SIMIDX_ERROR_IO, "directory", simidx_open(folder, NULL, &index));
    IS(SIMIDX_ERROR_NOT_FOUND, simidx_open("", NULL, &index));
    IS(SIMIDX_ERROR_NOT_FOUND, simidx_build("no/such/folder/x", fps, 64, 4, 3, NULL));
    IS(SIMIDX_ERROR_IO, simidx_build(folder, fps, 64, 4, 3, NULL));
    CHECK(index == NULL);
    /* A name that is not UTF-8 is a name. */
    snprintf(name, sizeof name, "%s/\xff\xfe.simidx", folder);
    OK(simidx_build(name, fps, 64, 4, 3, NULL));
    OK(simidx_open(name, NULL, &index));
    simidx_close(index);
    /* Files that do not go together. */
    uint32_t narrow[] = {1, 2};
    OK(simidx_build(other, narrow, 32, 2, 3, NULL));
    const char *const widths[] = {path, other};
    FAILS(SIMIDX_ERROR_INPUT, "width", simidx_open_many(widths, 2, NULL, &index));
    OK(simidx_build(other, fps, 64, 4, 3, NULL));
    FAILS(SIMIDX_ERROR_INPUT, "ids", simidx_open_many(widths, 2, NULL, &index));
    OK(simidx_build(other, NULL, 128, 0, 3, NULL));
    OK(simidx_open(other, NULL, &index));
    simidx_close(index);
}

/* Asks everything of a file that may be damaged. Returns the first failure. */
static simidx_status ask_all(const char *bytes, size_t len) {
    simidx_index *index;
    simidx_searcher *searcher;
    static simidx_match matches[64];
    simidx_fingerprint out[4];
    char text[64];
    size_t found, length, ends[4];
    uint8_t near;
    int seen = 0;
    simidx_status first = simidx_open_memory(bytes, len, &index), next;
    if (first != SIMIDX_OK) {
        CHECK(index == NULL);
        return first;
    }
#define ASK(call) (next = (call), first = first ? first : next)
    OK(simidx_searcher_new(index, &searcher));
    simidx_info info = {.struct_size = sizeof info};
    OK(simidx_index_info(index, &info));
    uint32_t distances[] = {0, 3, 8, 128};
    for (size_t i = 0; i < 4; i++) {
        ASK(simidx_query(searcher, fp, distances[i], matches, 64, &found));
        ASK(simidx_contains(searcher, fp, distances[i], &near));
        ASK(simidx_nearest(searcher, fp, 5, distances[i], matches, 64, &found));
    }
    size_t matched = first == SIMIDX_OK ? found : 0;
    for (size_t i = 0; i < matched && i < 5; i++) {
        ASK(simidx_ids(index, matches[i].fingerprint, see, &seen));
        ASK(simidx_string_ids(index, matches[i].fingerprint, text, sizeof text, &length, ends, 4, &found));
    }
    ASK(simidx_find_string(index, "a", 1, out, 4, &found));
    ASK(simidx_find_number(index, 1, out, 4, &found));
    ASK(simidx_warm(index, NULL));
    ASK(simidx_verify(index, NULL));
    simidx_searcher_free(searcher);
    simidx_close(index);
    return first;
}

static int is_format(simidx_status status) {
    return status == SIMIDX_ERROR_DAMAGED || status == SIMIDX_ERROR_NOT_SIMIDX || status == SIMIDX_ERROR_UNSUPPORTED;
}

static void damage(size_t step) {
    size_t len;
    char *file = read_file(path, &len), *copy = allocate(len);
    CHECK(ask_all(file, len) == SIMIDX_OK);
    for (size_t at = 0; at < len; at += step) {
        memcpy(copy, file, len);
        copy[at] = (char)(copy[at] ^ 1 << at % 8);
        CHECK(is_format(ask_all(copy, len)));
        /* A copy of its own size, so that reading past its end is found. */
        char *part = allocate(at);
        memcpy(part, file, at);
        CHECK(is_format(ask_all(part, at)));
        free(part);
    }
    CHECK(ask_all("", 0) == SIMIDX_ERROR_NOT_SIMIDX);
    free(file), free(copy);
}

/* The test files of the format: what each is, the list says. */
static void test_files(const char *folder, size_t step) {
    char line[4096], name[700], expect[32], class[32];
    snprintf(name, sizeof name, "%s/manifest.tsv", folder);
    FILE *list = fopen(name, "r");
    size_t number = 0, checked = 0;
    CHECK(list != NULL && fgets(line, sizeof line, list) != NULL);
    while (list != NULL && fgets(line, sizeof line, list) != NULL) {
        char file[300];
        if (sscanf(line, "%299[^\t]\t%31[^\t]\t%31[^\t]", file, expect, class) != 3)
            continue;
        if (number++ % step != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", folder, file);
        size_t len;
        char *bytes = read_file(name, &len);
        simidx_status status = ask_all(bytes, len);
        const char *wanted = strcmp(expect, "good") == 0 ? "ok" : class;
        if (strcmp(simidx_status_name((int32_t)status), wanted) != 0) {
            fprintf(stderr, "%s: %s, not %s\n", name, simidx_status_name((int32_t)status), wanted);
            failures++;
        }
        free(bytes);
        checked++;
    }
    fclose(list);
    CHECK(number > 400 && checked >= number / step);
}

/* A searcher has no answer after a failed query, even if the query was not begun. */
static void forgets(simidx_index *index) {
    simidx_searcher *searcher;
    simidx_match match;
    simidx_work_options threads = {sizeof threads, 4096, 0, NULL, NULL};
    size_t found;
    OK(simidx_searcher_new(index, &searcher));
    for (int way = 0; way < 7; way++) {
        OK(simidx_query(searcher, fp, 3, NULL, 0, &found));
        CHECK(found > 0);
        OK(simidx_matches(searcher, 0, NULL, 0, &found));
        CHECK(found > 0);
        simidx_status status = SIMIDX_OK;
        switch (way) {
        case 0: status = simidx_query(searcher, fp, 129, &match, 1, &found); break;
        case 1: status = simidx_query(searcher, fp, 3, NULL, 1, &found); break;
        case 2: status = simidx_query(searcher, fp, 3, &match, 1, NULL); break;
        case 3: status = simidx_nearest(searcher, fp, 1, 129, &match, 1, &found); break;
        case 4: status = simidx_query_many(searcher, fps, 64, 4, 129, NULL, NULL, &match, 1, &found); break;
        case 5: status = simidx_query_many(searcher, fps, 64, 4, 3, &threads, NULL, &match, 1, &found); break;
        case 6: status = simidx_nearest_many(searcher, NULL, 64, 4, 1, 3, NULL, NULL, &match, 1, &found); break;
        }
        CHECK(status == SIMIDX_ERROR_ARGUMENT);
        OK(simidx_matches(searcher, 0, &match, 1, &found));
        CHECK(found == 0);
    }
    simidx_searcher_free(searcher);
}

static void stops(simidx_index *index) {
    int calls = 0;
    simidx_searcher *searcher;
    simidx_match match;
    size_t found;
    simidx_work_options work = {.struct_size = sizeof work};
    work.progress = stop;
    work.user = &calls;
    work.threads = 2;
    OK(simidx_searcher_new(index, &searcher));
    FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_verify(index, &work));
    FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_warm(index, &work));
    FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_query_many(searcher, fps, 64, 4, 3, &work, NULL, &match, 1, &found));
    CHECK(found == 0 && calls >= 3);
    simidx_searcher_free(searcher);
    remove(other);
    simidx_build_options build = with_names();
    build.progress = stop;
    build.user = &calls;
    FAILS(SIMIDX_ERROR_STOPPED, "stopped", simidx_build(other, fps, 64, 4, 3, &build));
    CHECK(fopen(other, "rb") == NULL);
    work.progress = NULL;
    work.threads = UINT32_MAX;
    ARGUMENT("threads", simidx_verify(index, &work));
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    simidx_index *index;
    CHECK(simidx_error_message()[0] == 0 && simidx_error_status() == SIMIDX_OK);
    snprintf(path, sizeof path, "%s/names.simidx", argv[2]);
    snprintf(other, sizeof other, "%s/other.simidx", argv[2]);
    simidx_build_options build = with_names();
    OK(simidx_build(path, fps, 64, 4, 3, &build));
    OK(simidx_open(path, NULL, &index));
    handles(index);
    options(index);
    ids();
    texts();
    pairs_and_dedup();
    builders();
    paths(argv[2]);
    stops(index);
    forgets(index);
    simidx_close(index);
    size_t step = argc > 3 ? (size_t)atoi(argv[3]) : 1;
    if (step < 1)
        return 2;
    damage(step);
    test_files(argv[1], step);
    CHECK(strcmp(simidx_status_name(SIMIDX_ERROR_DAMAGED), "damaged") == 0);
    CHECK(strcmp(simidx_status_name(-1), "unknown") == 0);
    return finish("bad input");
}
