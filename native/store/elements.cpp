#include "store/elements.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"

namespace sotto::store {
namespace {

// Scrambles a number: SplitMix64.
std::uint64_t scramble(std::uint64_t x) noexcept {
    x += 0x9E37'79B9'7F4A'7C15;
    x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
    x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
    return x ^ x >> 31;
}

void check(const char* name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
    if (value < min || value > max) {
        throw invalid_argument(
            name, std::to_string(value), std::to_string(min) + " to " + std::to_string(max)
        );
    }
}

const IndexOptions& checked(const IndexOptions& options) {
    check("dim", options.dim, 1, 16'384);
    check("storage", static_cast<std::uint32_t>(options.storage), 0, 2);
    check("m", options.m, 2, 128);
    check("ef_construction", options.ef_construction, 1, 65'536);
    check("max_elements", options.max_elements, 0, kMaxElements);
    return options;
}

} // namespace

void Links::assign(std::span<const ElementId> ids) const noexcept {
    for (std::uint32_t slot = 0; slot < capacity_; ++slot) {
        set(slot, slot < ids.size() ? ids[slot] : kNoElement);
    }
}

Elements::Elements(const IndexOptions& options)
    : codec_(checked(options).dim, options.storage), m_(options.m), seed_(options.seed),
      vectors_(codec_.stride()), base_links_(2 * m_ * sizeof(ElementId)),
      upper_links_(m_ * sizeof(ElementId)), records_(sizeof(Record)) {}

void Elements::reserve(std::size_t more) {
    const std::uint64_t wanted = std::uint64_t{count()} + more;
    if (more > kMaxElements || wanted > kMaxElements) {
        throw Error(
            SOTTO_ERROR_BUSY,
            "the index has room for " + std::to_string(kMaxElements - count()) + " more vectors, not for " +
                std::to_string(more) + "; use several indexes"
        );
    }
    vectors_.grow(wanted);
    base_links_.grow(wanted);
    records_.grow(wanted);
}

ElementId Elements::append(std::span<const float> normalised, std::uint64_t label) {
    reserve(1);
    const ElementId id = count();
    new (records_.at(id)) Record;
    record(id).label = label;
    set_level(id, random_level(id));
    codec_.encode(normalised, vector(id));
    count_.store(id + 1, std::memory_order_release);
    return id;
}

void Elements::adopt(const std::byte* vectors, std::uint32_t count) {
    if (vectors != nullptr) {
        vectors_.borrow(vectors, count);
    } else {
        vectors_.grow(count);
    }
    base_links_.grow(count);
    records_.grow(count);
    for (ElementId id = 0; id < count; ++id) {
        new (records_.at(id)) Record;
    }
    count_.store(count, std::memory_order_release);
}

void Elements::set_level(ElementId id, unsigned level) {
    upper_links_.grow(std::uint64_t{upper_rows_} + level);
    record(id).upper = upper_rows_;
    record(id).level = static_cast<std::uint8_t>(level);
    upper_rows_ += level;
    for (unsigned layer = 0; layer <= level; ++layer) {
        links(id, layer).assign({});
    }
}

std::size_t Elements::memory() const noexcept {
    const std::uint64_t all = count();
    return (all - vectors_.borrowed()) * vectors_.stride() +
           all * (base_links_.stride() + records_.stride()) + upper_rows_ * upper_links_.stride();
}

// The level that HNSW draws: each layer has 1 / m of the elements of the one below.
unsigned Elements::random_level(ElementId id) const noexcept {
    const auto bits = scramble(scramble(seed_) ^ id) >> 11;
    const double uniform = (static_cast<double>(bits) + 1.0) * 0x1p-53; // above 0, at most 1
    const double level = -std::log(uniform) / std::log(static_cast<double>(m_));
    return std::min(static_cast<unsigned>(level), kMaxLevel);
}

} // namespace sotto::store
