// The vector index: recall, filters, changes, builds, threads.
#include "store/vector_index.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/refusal.hpp"
#include "support/vectors.hpp"

using namespace sotto::store;
using namespace test;

namespace {

constexpr std::size_t kDim = 32;

IndexOptions small(VectorStorage storage = VectorStorage::f32) {
    IndexOptions options;
    options.dim = kDim;
    options.storage = storage;
    options.ef_construction = 100;
    return options;
}

double recall(const VectorIndex& index, const std::vector<float>& vectors, std::uint32_t ef) {
    constexpr std::size_t kQueries = 100;
    constexpr std::size_t kWanted = 10;
    const auto queries = clustered(kQueries, kDim, 2);
    SearchOptions options;
    options.ef = ef;
    std::size_t hits = 0;
    for (std::size_t i = 0; i < kQueries; ++i) {
        const auto truth = nearest(vectors, row(queries, kDim, i), kWanted);
        for (const auto& match : index.search(row(queries, kDim, i), kWanted, options)) {
            hits += static_cast<std::size_t>(std::count(truth.begin(), truth.end(), match.label));
        }
    }
    return static_cast<double>(hits) / (kQueries * kWanted);
}

} // namespace

TEST_CASE("searches find the nearest vectors, in every storage and with threads") {
    const auto vectors = clustered(3000, kDim, 1);
    for (const auto storage : {VectorStorage::f32, VectorStorage::f16, VectorStorage::i8}) {
        for (const unsigned threads : {1U, 4U}) {
            VectorIndex index(small(storage));
            index.add(vectors, labels_from(0, 3000));
            BuildOptions build;
            build.threads = threads;
            CHECK(index.build(build));
            CHECK(recall(index, vectors, 80) > (storage == VectorStorage::i8 ? 0.85 : 0.97));
        }
    }
}

TEST_CASE("matches are sorted by cosine distance, and exact if ef covers the index") {
    const auto vectors = clustered(60, kDim, 1);
    VectorIndex index(small());
    index.add(vectors, labels_from(100, 60));
    index.build();
    const auto query = row(vectors, kDim, 7);
    const auto found = index.search(query, 60);
    REQUIRE(found.size() == 60);
    CHECK(found[0].label == 107);
    CHECK(found[0].distance < 1e-6F);
    const auto truth = nearest(vectors, query, 60);
    for (std::size_t i = 0; i < 60; ++i) {
        CHECK(found[i].label == truth[i] + 100);
        CHECK(std::abs(found[i].distance - cosine_distance(row(vectors, kDim, truth[i]), query)) < 1e-5);
    }
    CHECK(index.search(query, 1000).size() == 60);
    CHECK(index.search(query, SIZE_MAX).size() == 60);
    CHECK(index.search(query, 0).empty());
}

TEST_CASE("a vector that is added after the build is found at once") {
    const auto vectors = clustered(600, kDim, 1);
    VectorIndex index(small());
    index.build(); // of nothing
    CHECK(index.search(row(vectors, kDim, 0), 3).empty());
    for (std::uint64_t i = 0; i < 600; ++i) {
        index.add(row(vectors, kDim, i), {&i, 1});
        REQUIRE(index.search(row(vectors, kDim, i), 1)[0].label == i);
    }
    CHECK(recall(index, vectors, 80) > 0.97);
}

TEST_CASE("equal vectors, options and seeds give equal graphs") {
    const auto vectors = clustered(1000, kDim, 1);
    VectorIndex first(small());
    VectorIndex second(small());
    for (auto* index : {&first, &second}) {
        index->add(vectors, labels_from(0, 1000));
        index->build();
    }
    const auto queries = clustered(50, kDim, 2);
    SearchOptions narrow;
    narrow.ef = 10; // misses some, and the same ones
    for (std::size_t i = 0; i < 50; ++i) {
        const auto a = first.search(row(queries, kDim, i), 10, narrow);
        const auto b = second.search(row(queries, kDim, i), 10, narrow);
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Match& x, const Match& y) {
            return x.label == y.label && x.distance == y.distance;
        }));
    }
}

TEST_CASE("removed vectors are not found, and updated ones under the same label") {
    const auto vectors = clustered(500, kDim, 1);
    VectorIndex index(small());
    index.add(vectors, labels_from(0, 500));
    CHECK(index.remove(499)); // before the build
    index.build();
    for (std::uint64_t label = 0; label < 250; ++label) {
        CHECK(index.remove(label));
        CHECK_FALSE(index.remove(label));
    }
    CHECK(index.size() == 249);
    CHECK_FALSE(index.contains(3));
    CHECK(index.contains(300));
    for (std::size_t i = 0; i < 500; i += 7) {
        const auto found = index.search(row(vectors, kDim, i), 20);
        CHECK(found.size() == 20);
        for (const auto& match : found) {
            CHECK((match.label >= 250 && match.label != 499));
        }
    }
    CHECK(index.update(row(vectors, kDim, 3), 300));
    CHECK(index.size() == 249);
    CHECK(index.search(row(vectors, kDim, 3), 1)[0].label == 300);
    CHECK_FALSE(index.update(row(vectors, kDim, 3), 3));
    const std::uint64_t again = 3;
    index.add(row(vectors, kDim, 9), {&again, 1}); // a removed label is free
    CHECK(index.search(row(vectors, kDim, 9), 1)[0].label == 3);
    CHECK(index.labels().size() == 250);
}

TEST_CASE("an index whose vectors were all removed can be filled again") {
    const auto vectors = clustered(300, kDim, 1);
    VectorIndex index(small());
    index.add(vectors, labels_from(0, 300));
    index.build();
    for (std::uint64_t label = 0; label < 300; ++label) {
        index.remove(label);
    }
    CHECK(index.search(row(vectors, kDim, 1), 5).empty());
    index.add(vectors, labels_from(1000, 300));
    SearchOptions narrow;
    narrow.ef = 50;
    for (std::size_t i = 0; i < 300; i += 11) {
        CHECK(index.search(row(vectors, kDim, i), 5, narrow)[0].label == 1000 + i);
    }
}

TEST_CASE("filters limit what a search returns") {
    const auto vectors = clustered(2000, kDim, 1);
    VectorIndex index(small());
    index.add(vectors, labels_from(0, 2000));
    index.build();
    const auto query = row(vectors, kDim, 17);
    const auto all = nearest(vectors, query, 2000);
    for (const std::uint64_t step : {2, 10, 400}) {
        std::vector<std::uint64_t> truth;
        std::copy_if(all.begin(), all.end(), std::back_inserter(truth), [&](auto label) {
            return label % step == 1;
        });
        SearchOptions by_callback;
        by_callback.ef = 100;
        by_callback.filter = [&](std::uint64_t label) { return label % step == 1; };
        std::vector<std::uint64_t> list = {99'999}; // a label that does not exist
        std::copy(truth.begin(), truth.end(), std::back_inserter(list));
        const std::span<const std::uint64_t> allowed(list);
        SearchOptions by_list;
        by_list.ef = 100;
        by_list.allowed = &allowed;
        for (const auto* options : {&by_callback, &by_list}) {
            const auto found = index.search(query, 5, *options);
            REQUIRE(found.size() == 5);
            for (std::size_t i = 0; i < 5; ++i) {
                CHECK(found[i].label == truth[i]);
            }
        }
    }
    SearchOptions none;
    none.filter = [](std::uint64_t) { return false; };
    CHECK(index.search(query, 5, none).empty());
}

TEST_CASE("invalid vectors and labels are refused before anything is added") {
    VectorIndex index(small());
    auto vectors = clustered(3, kDim, 1);
    const auto labels = labels_from(0, 3);
    const auto add = [&] { index.add(vectors, labels); };
    CHECK(refusal(SOTTO_ERROR_STATE, [&] {
              index.search(row(vectors, kDim, 0), 1);
          }).find("build()") != std::string::npos);
    vectors[2 * kDim + 5] = std::numeric_limits<float>::quiet_NaN();
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, add).find("vectors[2][5] 'nan'") != std::string::npos);
    vectors[2 * kDim + 5] = -std::numeric_limits<float>::infinity();
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, add).find("vectors[2][5] '-inf'") != std::string::npos);
    std::fill_n(vectors.begin() + kDim, kDim, 0.0F);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, add).find("vectors[1]") != std::string::npos);
    vectors = clustered(3, kDim, 1);
    const std::vector<std::uint64_t> twice = {1, 2, 1};
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              index.add(vectors, twice);
          }).find("labels[2] '1'") != std::string::npos);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              index.add(row(vectors, kDim, 0), labels);
          }).find("3 x 32") != std::string::npos);
    CHECK(index.size() == 0);
    add();
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, add).find("labels[0] '0'") != std::string::npos);
    CHECK(index.size() == 3);
    index.build();
    const std::vector<float> shorter(kDim - 1, 1.0F);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              index.search(shorter, 1);
          }).find("query") != std::string::npos);
    const std::vector<float> zero(kDim, 0.0F);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] { index.search(zero, 1); }).find("query") != std::string::npos);
}

TEST_CASE("very long and very short vectors have a direction too") {
    VectorIndex index(small());
    std::vector<float> vectors(2 * kDim, 0.0F);
    vectors[0] = 3e38F;
    vectors[1] = 3e38F;
    vectors[kDim] = 1e-44F;
    index.add(vectors, labels_from(0, 2));
    index.build();
    const auto found = index.search(row(vectors, kDim, 1), 2);
    CHECK(found[0].label == 1);
    CHECK(found[0].distance < 1e-6F);
    CHECK(std::abs(found[1].distance - (1 - std::sqrt(0.5))) < 1e-5);
}

TEST_CASE("options out of range and too many vectors are refused") {
    const auto make = [](auto&& change) {
        auto options = small();
        change(options);
        return refusal(SOTTO_ERROR_ARGUMENT, [&] { VectorIndex index(options); });
    };
    CHECK(make([](auto& o) { o.dim = 0; }).find("dim '0'") != std::string::npos);
    CHECK(make([](auto& o) { o.dim = 16'385; }).find("dim '16385'") != std::string::npos);
    CHECK(make([](auto& o) { o.m = 1; }).find("m '1'") != std::string::npos);
    CHECK(make([](auto& o) { o.ef_construction = 0; }).find("ef_construction '0'") != std::string::npos);
    CHECK(make([](auto& o) { o.max_elements = UINT64_MAX; }).find("max_elements") != std::string::npos);
    auto options = small();
    options.max_elements = 10;
    VectorIndex index(options);
    const auto vectors = clustered(11, kDim, 1);
    CHECK(refusal(SOTTO_ERROR_BUSY, [&] {
              index.add(vectors, labels_from(0, 11));
          }).find("10") != std::string::npos);
    CHECK(index.size() == 0);
    index.add(std::span<const float>(vectors).first(10 * kDim), labels_from(0, 10));
    index.remove(0);
    index.add(row(vectors, kDim, 10), labels_from(10, 1)); // in the place of the removed one
    CHECK(index.update(row(vectors, kDim, 0), 10));
    CHECK(index.size() == 10);
}

TEST_CASE("a build that was stopped continues later") {
    const auto vectors = clustered(3000, kDim, 1);
    VectorIndex index(small());
    index.add(vectors, labels_from(0, 3000));
    for (const unsigned threads : {1U, 3U}) {
        BuildOptions build;
        build.threads = threads;
        int calls = 0;
        build.progress = [&](std::uint64_t done, std::uint64_t total) {
            CHECK(done <= total);
            return ++calls < 2;
        };
        CHECK_FALSE(index.build(build));
        CHECK(calls == 2);
        CHECK_FALSE(index.is_built());
        CHECK_THROWS_AS(index.search(row(vectors, kDim, 0), 1), sotto::Error);
    }
    std::uint64_t last = 0;
    BuildOptions build;
    build.progress = [&](std::uint64_t done, std::uint64_t total) {
        last = total - done;
        return true;
    };
    CHECK(index.build(build));
    CHECK(last == 0);
    CHECK(recall(index, vectors, 80) > 0.97);
    CHECK(index.build()); // nothing to do
}

TEST_CASE("searches run while other threads add, update and remove") {
    const auto vectors = clustered(2000, kDim, 1);
    VectorIndex index(small());
    index.build();
    index.add(std::span<const float>(vectors).first(400 * kDim), labels_from(0, 400));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (unsigned reader = 0; reader < 3; ++reader) {
        readers.emplace_back([&, reader] {
            for (std::size_t i = reader; !stop; i = (i + 3) % 100) {
                // labels 0 to 99 stay: each is its own nearest neighbour
                const auto found = index.search(row(vectors, kDim, i), 3);
                wrong += found.empty() || found[0].label != i ? 1 : 0;
            }
        });
    }
    std::thread remover([&] {
        for (std::uint64_t label = 100; label < 200; ++label) {
            index.remove(label);
            index.update(row(vectors, kDim, label), label + 100);
        }
    });
    for (std::uint64_t label = 400; label < 2000; ++label) {
        index.add(row(vectors, kDim, label), {&label, 1});
    }
    remover.join();
    stop = true;
    for (auto& reader : readers) {
        reader.join();
    }
    CHECK(wrong == 0);
    CHECK(index.size() == 1900);
}
