/* libsimidx for C++17: handles that close themselves, errors that are thrown, answers in vectors. All of it is in this header,
 * on top of simidx.h, whose rules hold. */
#ifndef SIMIDX_HPP
#define SIMIDX_HPP

#include <simidx.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace simidx {

/// The failure of a call, with the message of the library and its status.
class error : public std::runtime_error {
public:
    explicit error(simidx_status status) : std::runtime_error(simidx_error_message()), status_(status) {}
    simidx_status status() const noexcept { return status_; }

private:
    simidx_status status_;
};

inline void check(simidx_status status) {
    if (status != SIMIDX_OK)
        throw error(status);
}

/// Returns options with all fields at their defaults, for example `auto options = simidx::defaults<simidx_build_options>();`.
template <class Options> Options defaults() {
    Options options{};
    options.struct_size = sizeof(Options);
    return options;
}

using fingerprint = simidx_fingerprint;
using match = simidx_match;

namespace detail {

template <class Handle, void (*Close)(Handle *)> struct closer {
    void operator()(Handle *handle) const noexcept { Close(handle); }
};

/// Reads a result into a vector, which grows until all of it fits.
template <class T, class Call> std::vector<T> all(Call call) {
    std::vector<T> buffer(16);
    for (;;) {
        std::size_t found = 0;
        check(call(buffer.data(), buffer.size(), &found));
        bool const fits = found <= buffer.size();
        buffer.resize(found);
        if (fits)
            return buffer;
    }
}

/// Receives values from the library. Exceptions must not pass through it: the first one stops the call, and is thrown
/// after it.
template <class T> struct receiver {
    std::vector<T> received;
    std::exception_ptr failure;

    template <class... Parts> std::int32_t add(Parts... parts) noexcept {
        try {
            received.push_back(T{parts...});
            return 0;
        } catch (...) {
            failure = std::current_exception();
            return 1;
        }
    }

    std::vector<T> result(simidx_status status) {
        if (failure)
            std::rethrow_exception(failure);
        check(status);
        return std::move(received);
    }
};

/// The bits of the elements of an array of fingerprints.
template <class F> constexpr std::uint32_t width() {
    static_assert(std::is_same_v<F, std::uint32_t> || std::is_same_v<F, std::uint64_t> || std::is_same_v<F, fingerprint>,
                  "fingerprints are std::uint32_t, std::uint64_t or simidx::fingerprint");
    return 8 * sizeof(F);
}

} // namespace detail

/// An open index. Copies share it; all threads may use it at the same time.
class index {
public:
    explicit index(std::string const &path, simidx_open_options const *options = nullptr) {
        simidx_index *handle = nullptr;
        check(simidx_open(path.c_str(), options, &handle));
        handle_.reset(handle, simidx_close);
    }

    /// Opens several files, which are searched as one.
    explicit index(std::vector<std::string> const &paths, simidx_open_options const *options = nullptr) {
        std::vector<char const *> names;
        for (auto const &path : paths)
            names.push_back(path.c_str());
        simidx_index *handle = nullptr;
        check(simidx_open_many(names.data(), names.size(), options, &handle));
        handle_.reset(handle, simidx_close);
    }

    simidx_index *get() const noexcept { return handle_.get(); }

    simidx_info info() const {
        auto info = defaults<simidx_info>();
        check(simidx_index_info(get(), &info));
        return info;
    }

    void warm(simidx_work_options const *options = nullptr) const { check(simidx_warm(get(), options)); }
    void verify(simidx_work_options const *options = nullptr) const { check(simidx_verify(get(), options)); }

    std::vector<std::uint64_t> number_ids(fingerprint of) const {
        return detail::all<std::uint64_t>(
            [&](auto *to, auto room, auto *found) { return simidx_number_ids(get(), of, to, room, found); });
    }

    std::vector<std::string> string_ids(fingerprint of) const {
        detail::receiver<std::string> ids;
        auto add = [](void *to, char const *bytes, std::size_t len, std::uint64_t) -> std::int32_t {
            return bytes == nullptr ? 0 : static_cast<detail::receiver<std::string> *>(to)->add(bytes, len);
        };
        return ids.result(simidx_ids(get(), of, add, &ids));
    }

    std::vector<fingerprint> find(std::uint64_t id) const {
        return detail::all<fingerprint>(
            [&](auto *to, auto room, auto *found) { return simidx_find_number(get(), id, to, room, found); });
    }

    std::vector<fingerprint> find(std::string_view id) const {
        return detail::all<fingerprint>([&](auto *to, auto room, auto *found) {
            return simidx_find_string(get(), id.data(), id.size(), to, room, found);
        });
    }

private:
    std::shared_ptr<simidx_index> handle_;
};

/// The working memory of queries; one for each thread. It keeps its index open.
class searcher {
public:
    explicit searcher(index const &index) {
        simidx_searcher *handle = nullptr;
        check(simidx_searcher_new(index.get(), &handle));
        handle_.reset(handle);
    }

    /// Finds all fingerprints within a distance. The vector is overwritten: reuse it to avoid allocations.
    void query(fingerprint of, std::uint32_t distance, std::vector<match> &found) {
        found.resize(std::min<std::size_t>(found.capacity(), 64)); // more would be cleared for each query
        std::size_t count = 0;
        check(simidx_query(handle_.get(), of, distance, found.data(), found.size(), &count));
        rest(found, count);
    }

    std::vector<match> query(fingerprint of, std::uint32_t distance) {
        std::vector<match> found;
        query(of, distance, found);
        return found;
    }

    std::vector<match> nearest(fingerprint of, std::size_t count, std::uint32_t distance = 128) {
        std::vector<match> found;
        std::size_t all = 0;
        check(simidx_nearest(handle_.get(), of, count, distance, nullptr, 0, &all));
        rest(found, all);
        return found;
    }

    bool contains(fingerprint of, std::uint32_t distance) {
        std::uint8_t found = 0;
        check(simidx_contains(handle_.get(), of, distance, &found));
        return found != 0;
    }

    /// Answers many queries on all threads. Each match has the number of its query.
    template <class F>
    std::vector<match> query_many(std::vector<F> const &of, std::uint32_t distance, simidx_work_options const *options = nullptr) {
        std::vector<match> found;
        std::size_t count = 0;
        check(simidx_query_many(handle_.get(), of.data(), detail::width<F>(), of.size(), distance, options, nullptr, nullptr, 0,
                                &count));
        rest(found, count);
        return found;
    }

    simidx_searcher *get() const noexcept { return handle_.get(); }

private:
    /// Resizes the vector to the answer, and copies the matches that did not fit before.
    void rest(std::vector<match> &found, std::size_t count) {
        std::size_t const first = found.size() < count ? found.size() : count;
        found.resize(count);
        std::size_t more = 0;
        if (first < count)
            check(simidx_matches(handle_.get(), first, found.data() + first, count - first, &more));
    }

    std::unique_ptr<simidx_searcher, detail::closer<simidx_searcher, simidx_searcher_free>> handle_;
};

/// A pipeline, which computes fingerprints of texts.
class pipeline {
public:
    explicit pipeline(std::string const &name = "web", std::uint32_t width = 64) {
        simidx_pipeline *handle = nullptr;
        check(simidx_pipeline_open(name.c_str(), width, &handle));
        handle_.reset(handle);
    }

    fingerprint operator()(std::string_view text) const {
        fingerprint of{};
        check(simidx_fingerprint_text(handle_.get(), text.data(), text.size(), &of));
        return of;
    }

    simidx_pipeline *get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<simidx_pipeline, detail::closer<simidx_pipeline, simidx_pipeline_close>> handle_;
};

/// Writes an index of fingerprints: vectors of std::uint32_t, std::uint64_t or simidx::fingerprint.
template <class F>
void build(std::string const &path, std::vector<F> const &fingerprints, std::uint32_t max_distance = 3,
           simidx_build_options const *options = nullptr) {
    check(simidx_build(path.c_str(), fingerprints.data(), detail::width<F>(), fingerprints.size(), max_distance, options));
}

/// An index file whose records are added in batches. Without `finish` there is no file.
class builder {
public:
    explicit builder(std::string const &path, std::uint32_t width = 64, simidx_id_kind ids = SIMIDX_IDS_NONE,
                     std::uint32_t max_distance = 3, simidx_build_options const *options = nullptr) {
        simidx_builder *handle = nullptr;
        check(simidx_builder_new(path.c_str(), width, ids, max_distance, options, &handle));
        handle_.reset(handle);
    }

    /// Adds records, with the ids of these options.
    template <class F> void add(std::vector<F> const &fingerprints, simidx_build_options const *ids = nullptr) {
        check(simidx_builder_add(handle_.get(), fingerprints.data(), detail::width<F>(), fingerprints.size(), ids));
    }

    void finish() { check(simidx_builder_finish(handle_.get())); }

private:
    std::unique_ptr<simidx_builder, detail::closer<simidx_builder, simidx_builder_abort>> handle_;
};

/// Two fingerprints near each other, by their numbers.
struct pair {
    std::uint64_t first, second;
    std::uint32_t distance;
};

/// Finds all pairs within a distance, in order. If there are more than `max_pairs`, it fails before it stores any; with 0
/// there may be any number.
template <class F>
std::vector<pair> pairs(std::vector<F> const &fingerprints, std::uint32_t distance = 3, simidx_work_options const *options = nullptr,
                        std::uint64_t max_pairs = 0) {
    detail::receiver<pair> found;
    auto add = [](void *to, std::uint64_t first, std::uint64_t second, std::uint32_t bits) -> std::int32_t {
        return static_cast<detail::receiver<pair> *>(to)->add(first, second, bits);
    };
    return found.result(simidx_pairs(fingerprints.data(), detail::width<F>(), fingerprints.size(), distance, max_pairs, options,
                                     add, &found));
}

/// Returns for each text the number of the text that is kept for it: its own if it is kept.
inline std::vector<std::uint64_t> dedup_texts(std::vector<std::string_view> const &texts, double similarity = 0.8,
                                              std::uint32_t words = 3, pipeline const *of = nullptr,
                                              simidx_work_options const *options = nullptr) {
    std::vector<char const *> starts;
    std::vector<std::size_t> lens;
    for (auto text : texts) {
        starts.push_back(text.data());
        lens.push_back(text.size());
    }
    std::vector<std::uint64_t> kept(texts.size());
    check(simidx_dedup_texts(of ? of->get() : nullptr, starts.data(), lens.data(), texts.size(), similarity, words, options,
                             kept.data()));
    return kept;
}

} // namespace simidx

#endif
