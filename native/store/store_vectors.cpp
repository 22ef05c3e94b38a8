#include "store/store_vectors.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/path.hpp"
#include "store/checks.hpp"

namespace sotto::store {

VectorSearch& StoreVectors::get() {
    if (search_ == nullptr) {
        auto read = read_index();
        saved_ = read != nullptr;
        search_ = saved_ ? std::move(read) : read_database();
        search_->build();
    }
    return *search_;
}

void StoreVectors::add(VectorSearch& read, std::int64_t number, std::span<const float> values) const {
    try {
        if (values.size() != facts_.dim) {
            throw Error(SOTTO_ERROR_STATE, "its embedding has " + std::to_string(values.size()) + " values");
        }
        check_vector(values, "embedding");
    } catch (const Error& error) {
        throw Error(
            SOTTO_ERROR_STATE,
            "store '" + files_.id() + "' is damaged: entry " + std::to_string(number) + ": " + error.what() +
                "; restore the file from a copy, or delete the store"
        );
    }
    read.set(number, values);
}

// Reads all embeddings from the database.
std::unique_ptr<VectorSearch> StoreVectors::read_database() {
    const auto expected = database_.integer("SELECT count(*) FROM embeddings");
    auto read = std::make_unique<VectorSearch>(facts_.dim, static_cast<std::size_t>(expected));
    entries_.each_embedding(0, [&](std::int64_t number, std::span<const float> values) {
        add(*read, number, values);
    });
    return read;
}

// Reads the index file and brings it up to date with the database. Returns null if it cannot be used.
std::unique_ptr<VectorSearch> StoreVectors::read_index() {
    if (facts_.index.empty()) {
        return nullptr;
    }
    auto read = VectorSearch::load({"index", utf8_of(files_.index(facts_.index))}, facts_.dim);
    if (read == nullptr) {
        return nullptr;
    }
    const auto stored = entries_.embedded_rows();
    const auto indexed = read->rows();
    std::vector<std::int64_t> removed;
    std::vector<std::int64_t> missing;
    std::set_difference(
        indexed.begin(), indexed.end(), stored.begin(), stored.end(), std::back_inserter(removed)
    );
    std::set_difference(
        stored.begin(), stored.end(), indexed.begin(), indexed.end(), std::back_inserter(missing)
    );
    if (missing.size() + removed.size() > stored.size() / 2) {
        return nullptr; // to build it again takes less time
    }
    for (const auto number : removed) {
        read->remove(number);
    }
    for (const auto number : missing) {
        add(*read, number, entries_.embedding(number));
    }
    entries_.each_embedding(facts_.index_generation, [&](std::int64_t number, std::span<const float> values) {
        if (!std::binary_search(missing.begin(), missing.end(), number)) {
            add(*read, number, values);
        }
    });
    return read;
}

void StoreVectors::rebuild() {
    search_ = read_database();
    search_->build();
    saved_ = false;
}

void StoreVectors::save() {
    if (search_ == nullptr || (saved_ && facts_.index_generation == facts_.generation)) {
        return;
    }
    if (!search_->has_graph()) {
        files_.remove_indexes("");
        return;
    }
    const auto name = random_digits(16);
    search_->save({"index", utf8_of(files_.index(name))});
    Transaction transaction(database_);
    write_fact(database_, "index", name);
    write_fact(database_, "index_generation", std::to_string(facts_.generation));
    transaction.commit();
    facts_.index = name;
    facts_.index_generation = facts_.generation;
    saved_ = true;
    files_.remove_indexes(name);
}

std::string random_digits(int digits) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::random_device random;
    std::string text;
    for (int i = 0; i < digits; i += 8) {
        auto bits = random();
        for (int digit = 0; digit < 8; ++digit, bits >>= 4) {
            text += kDigits[bits & 15];
        }
    }
    return text;
}

} // namespace sotto::store
