/* The page of C++: closes what it opens, throws what fails, finds what is there.
 *
 * usage: page FOLDER */
#include <simidx.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(condition)                                                                                                   \
    do {                                                                                                                   \
        if (!(condition)) {                                                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            std::exit(1);                                                                                                  \
        }                                                                                                                  \
    } while (0)

/// A value that cannot be made.
struct unlucky {
    explicit unlucky(int number) { throw number; }
};

template <class Work> simidx_status status_of(Work work) {
    try {
        work();
    } catch (simidx::error const &error) {
        CHECK(error.what()[0] != 0);
        return error.status();
    }
    return SIMIDX_OK;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    std::string const path = std::string(argv[1]) + "/page.simidx";
    simidx::pipeline const web;
    auto options = simidx::defaults<simidx_build_options>();
    char const *const names[] = {"a", "b", "c", "d"};
    options.id_strings = names;
    options.pipeline = web.get();
    std::vector<std::uint64_t> const fps{0xff00, 0xff01, web("the quick brown fox jumps over the lazy dog").low, 0xff00};
    simidx::build(path, fps, 3, &options);

    std::vector<simidx::match> kept;
    auto searcher = [&] {
        simidx::index const index(path);
        simidx::index const second = index;
        index.verify();
        second.warm();
        CHECK(second.info().record_count == 4 && index.info().fingerprint_count == 3);
        CHECK((index.string_ids({0xff00, 0}) == std::vector<std::string>{"a", "d"}));
        CHECK(index.number_ids({0xff00, 0}).empty());
        CHECK(index.find("b").size() == 1 && index.find("b")[0].low == 0xff01 && index.find(7).empty());
        return simidx::searcher(index);
    }();
    // The index is closed, and the searcher goes on, on another thread.
    std::thread([&, moved = std::move(searcher)]() mutable {
        CHECK(moved.query({0xff03, 0}, 3).size() == 2);
        CHECK(moved.query({0xff03, 0}, 1).size() == 1);
        moved.query({0xff00, 0}, 1, kept);
        CHECK(kept.size() == 2 && kept[0].distance == 0 && kept[1].fingerprint.low == 0xff01);
        moved.query({0, 0}, 1, kept);
        CHECK(kept.empty());
        CHECK(moved.nearest({0xff00, 0}, 3).size() == 3 && moved.nearest({0xff00, 0}, 3)[2].fingerprint.low == fps[2]);
        CHECK(moved.contains({0xff03, 0}, 2) && !moved.contains({0xf0f0f0f0, 0}, 2));
        auto const many = moved.query_many(fps, 3);
        CHECK(many.size() == 7 && many.back().query == 3);
        CHECK(status_of([&] { moved.query_many(std::vector<std::uint32_t>{1}, 3); }) == SIMIDX_ERROR_ARGUMENT);
        CHECK(status_of([&] { moved.query({0, 0}, 1000); }) == SIMIDX_ERROR_ARGUMENT);
    }).join();
    // More matches than any vector starts with.
    std::vector<simidx::fingerprint> wide;
    for (std::uint64_t i = 0; i < 1000; i++)
        wide.push_back({i, 1});
    simidx::build(path + "2", wide, 2);
    simidx::index const both_ways(std::vector<std::string>{path + "2", path + "2"});
    simidx::searcher of_many(both_ways);
    CHECK(of_many.query({0, 1}, 128).size() == 1000);
    of_many.query({0, 1}, 128, kept);
    CHECK(kept.size() == 1000 && kept[999].fingerprint.low == 991);
    of_many.query({0, 1}, 0, kept);
    CHECK(kept.size() == 1 && kept[0].distance == 0);
    std::remove((path + "3").c_str());
    {
        simidx::builder builder(path + "3", 64, SIMIDX_IDS_STRINGS, 3, nullptr);
        auto batch = simidx::defaults<simidx_build_options>();
        for (std::size_t i = 0; i < fps.size(); i += 2) {
            batch.id_strings = names + i;
            builder.add(std::vector{fps[i], fps[i + 1]}, &batch);
        }
        CHECK(status_of([&] { simidx::index const early(path + "3"); }) == SIMIDX_ERROR_NOT_FOUND);
        builder.finish();
        CHECK(simidx::index(path + "3").string_ids({0xff00, 0}).size() == 2);
        CHECK(status_of([&] { builder.finish(); }) == SIMIDX_ERROR_CLOSED);
    }
    auto const pairs = simidx::pairs(fps);
    CHECK(pairs.size() == 3 && pairs[0].first == 0 && pairs[0].second == 1 && pairs[0].distance == 1);
    CHECK(simidx::pairs(fps, 3, nullptr, 3).size() == 3);
    CHECK(status_of([&] { simidx::pairs(fps, 3, nullptr, 2); }) == SIMIDX_ERROR_LIMIT);
    // An exception while an answer is received stops the call, and arrives as itself.
    simidx::detail::receiver<unlucky> none;
    CHECK(none.add(7) != 0);
    try {
        none.result(SIMIDX_ERROR_STOPPED);
        CHECK(false);
    } catch (int number) {
        CHECK(number == 7);
    }
    CHECK((simidx::dedup_texts({"one two three four", "five six seven", "One two, three four!"}) ==
           std::vector<std::uint64_t>{0, 1, 0}));
    CHECK((simidx::dedup_texts({"<html>a b c", "a b c"}, 1.0, 3, &web) == std::vector<std::uint64_t>{0, 0}));
    CHECK(status_of([&] { simidx::index const missing("missing"); }) == SIMIDX_ERROR_NOT_FOUND);
    CHECK(status_of([&] { simidx::pipeline const unknown("unknown"); }) == SIMIDX_ERROR_ARGUMENT);
    CHECK(status_of([&] { simidx::index const mixed(std::vector<std::string>{path, path + "2"}); }) == SIMIDX_ERROR_INPUT);
    std::puts("page of C++: passed");
}
