// Files of a vector index: what is saved is loaded, and what is damaged is refused.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "../fuzz/index_bytes.hpp"
#include "base/error.hpp"
#include "store/vector_index.hpp"
#include "support/vectors.hpp"

using namespace sotto::store;
using namespace test;
namespace fs = std::filesystem;

namespace {

// A folder for one test.
class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("sotto_index_" + std::to_string(std::random_device{}()))) {
        fs::create_directory(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string
saved(const Folder& folder, std::size_t count, std::size_t dim, VectorStorage storage, bool built = true) {
    IndexOptions options;
    options.dim = static_cast<std::uint32_t>(dim);
    options.storage = storage;
    options.m = 4;
    VectorIndex index(options);
    index.add(clustered(count, dim, 1), labels_from(0, count));
    if (built) {
        index.build();
    }
    index.remove(count / 2);
    const auto path = folder.file("saved");
    index.save({"path", path});
    return path;
}

// Loads a file of any bytes, and uses the index if the file is accepted.
bool is_accepted(const std::string& path, bool mapped) {
    try {
        const auto index = VectorIndex::load({"path", path}, mapped);
        const auto vectors = clustered(3, index->options().dim, 3);
        index->build();
        (void)index->search(row(vectors, index->options().dim, 0), 5);
        for (std::uint64_t label = 1'000'000; label < 1'000'003; ++label) {
            if (index->options().max_elements == 0) {
                index->add(row(vectors, index->options().dim, label - 1'000'000), {&label, 1});
            }
        }
        SearchOptions options;
        options.filter = [](std::uint64_t label) { return label % 2 == 0; };
        (void)index->search(row(vectors, index->options().dim, 1), 5, options);
        return true;
    } catch (const sotto::Error& error) {
        const bool expected = error.status() == SOTTO_ERROR_STATE;
        CHECK(expected);
        CHECK(std::string_view(error.what()).starts_with("invalid path '"));
        return false;
    }
}

} // namespace

TEST_CASE("a loaded index finds what the saved one found") {
    const Folder folder;
    const auto queries = clustered(20, 24, 2);
    for (const auto storage : {VectorStorage::f32, VectorStorage::f16, VectorStorage::i8}) {
        IndexOptions options;
        options.dim = 24;
        options.storage = storage;
        VectorIndex index(options);
        const auto vectors = clustered(700, 24, 1);
        index.add(vectors, labels_from(0, 700));
        index.build();
        index.remove(5);
        const auto path = folder.file("index");
        index.save({"path", path});
        for (const bool mapped : {false, true}) {
            const auto loaded = VectorIndex::load({"path", path}, mapped);
            CHECK(loaded->size() == 699);
            CHECK(loaded->labels() == index.labels());
            CHECK_FALSE(loaded->contains(5));
            CHECK((loaded->memory() < index.memory()) == mapped);
            for (std::size_t i = 0; i < 20; ++i) {
                const auto a = index.search(row(queries, 24, i), 10);
                const auto b = loaded->search(row(queries, 24, i), 10);
                CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Match& x, const Match& y) {
                    return x.label == y.label && x.distance == y.distance;
                }));
            }
            loaded->add(clustered(400, 24, 9), labels_from(10'000, 400)); // beyond the mapped segment
            CHECK(loaded->search(row(vectors, 24, 9), 1)[0].label == 9);
            loaded->save({"path", path}); // over the file that is mapped
            CHECK(VectorIndex::load({"path", path})->size() == 1099);
            index.save({"path", path});
        }
    }
}

TEST_CASE("an index that is empty or not built is saved as it is") {
    const Folder folder;
    IndexOptions options;
    options.dim = 3;
    options.max_elements = 50;
    options.seed = 9;
    const VectorIndex index(options);
    const auto path = folder.file("empty");
    index.save({"path", path});
    for (const bool mapped : {false, true}) {
        const auto loaded = VectorIndex::load({"path", path}, mapped);
        CHECK(loaded->size() == 0);
        CHECK_FALSE(loaded->is_built());
        CHECK(loaded->options().max_elements == 50);
        CHECK(loaded->options().seed == 9);
    }
    const auto unbuilt = VectorIndex::load({"path", saved(folder, 30, 8, VectorStorage::f32, false)});
    CHECK_FALSE(unbuilt->is_built());
    CHECK(unbuilt->build());
    CHECK(unbuilt->search(clustered(1, 8, 1), 1)[0].label == 0);
}

TEST_CASE("truncated and lengthened files are refused") {
    const Folder folder;
    const auto bytes = bytes_of(saved(folder, 40, 8, VectorStorage::f32));
    const auto path = folder.file("cut");
    for (std::size_t size = 0; size < bytes.size(); size += 64) {
        write(path, bytes.substr(0, size));
        CHECK_FALSE(is_accepted(path, size % 128 == 0));
    }
    write(path, bytes + '\0');
    CHECK_FALSE(is_accepted(path, false));
    write(path, bytes);
    CHECK(is_accepted(path, false));
}

TEST_CASE("a file with any changed byte is refused") {
    const Folder folder;
    const auto bytes = bytes_of(saved(folder, 12, 8, VectorStorage::i8));
    const auto path = folder.file("flipped");
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        auto changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
        write(path, changed);
        CHECK_FALSE(is_accepted(path, at % 2 == 0));
    }
}

TEST_CASE("damaged files with a correct checksum are refused or harmless") {
    const Folder folder;
    const auto bytes = bytes_of(saved(folder, 30, 8, VectorStorage::f32));
    const auto path = folder.file("forged");
    std::mt19937 random(1);
    int accepted = 0;
    for (int round = 0; round < 1500; ++round) {
        auto forged = bytes;
        const std::size_t limit = round % 3 == 0 ? kIndexHeader : forged.size();
        for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
            constexpr std::uint32_t kValues[] = {
                0, 1, 29, 30, 31, 0xFF, 0x7F80'0000, 0x7FFF'FFFF, 0xFFFF'FFFF
            };
            const std::uint32_t value = random() % 2 == 0 ? kValues[random() % std::size(kValues)] : random();
            std::memcpy(forged.data() + random() % (limit - 4) / 4 * 4, &value, sizeof value);
        }
        correct_index_checksum(forged);
        write(path, forged);
        accepted += is_accepted(path, round % 2 == 0) ? 1 : 0;
    }
    CHECK(accepted > 0); // finite changes of vectors and labels
    CHECK(accepted < 1500);
}

TEST_CASE("files of others and paths that are no files are refused") {
    const Folder folder;
    const auto path = folder.file("foreign");
    write(path, std::string(4096, 'x'));
    CHECK_FALSE(is_accepted(path, false));
    auto newer = bytes_of(saved(folder, 4, 8, VectorStorage::f32));
    newer[8] = 2;
    correct_index_checksum(newer);
    write(path, newer);
    try {
        (void)VectorIndex::load({"path", path});
        FAIL("a newer version was loaded");
    } catch (const sotto::Error& error) {
        CHECK(std::string(error.what()).find("version 2") != std::string::npos);
    }
    CHECK_THROWS_AS((void)VectorIndex::load({"path", folder.file("missing")}), sotto::Error);
    CHECK_THROWS_AS((void)VectorIndex::load({"path", folder.file(".")}), sotto::Error);
    IndexOptions options;
    options.dim = 3;
    const VectorIndex index(options);
    CHECK_THROWS_AS(index.save({"path", folder.file("missing/index")}), sotto::Error);
    CHECK_THROWS_AS(index.save({"path", folder.file(".")}), sotto::Error);
}
