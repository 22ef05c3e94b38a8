// Encodings of vectors, and the inner products of each instruction set.
#include "store/vector_kernels.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "platform/cpu.hpp"

using namespace sotto::store;

namespace {

std::vector<Isa> usable_isas() {
    std::vector<Isa> found = {Isa::portable};
    if (sotto::x86_64_level() >= 3) {
        found.push_back(Isa::avx2);
    }
    if (sotto::x86_64_level() >= 4) {
        found.push_back(Isa::avx512);
    }
    if (best_isa() == Isa::neon) {
        found.push_back(Isa::neon);
    }
    return found;
}

std::vector<float> unit_vector(std::size_t dim, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> made(dim);
    double squares = 0;
    for (auto& value : made) {
        value = normal(random);
        squares += static_cast<double>(value) * value;
    }
    for (auto& value : made) {
        value = static_cast<float>(value / std::sqrt(squares));
    }
    return made;
}

double product(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(a[i]) * b[i];
    }
    return sum;
}

constexpr double kTolerance[] = {1e-5, 2e-3, 2e-2}; // of f32, f16, i8

void check_distances(std::size_t dim, VectorStorage storage, Isa isa) {
    const VectorCodec codec(dim, storage, isa);
    constexpr std::size_t kCount = 5;
    const auto memory = aligned_bytes(kCount * codec.stride());
    const auto values = aligned_bytes(codec.query_bytes());
    const std::byte* vectors[kCount];
    const auto query = unit_vector(dim, 99);
    for (unsigned i = 0; i < kCount; ++i) {
        codec.encode(unit_vector(dim, i), memory.get() + i * codec.stride());
        vectors[i] = memory.get() + i * codec.stride();
        CHECK(codec.is_finite(vectors[i]));
    }
    float distances[kCount];
    codec.distances(codec.prepare(query, values.get()), vectors, kCount, distances);
    const double tolerance = kTolerance[static_cast<std::size_t>(storage)];
    for (unsigned i = 0; i < kCount; ++i) {
        CHECK(std::abs(distances[i] - (1 - product(query, unit_vector(dim, i)))) < tolerance);
    }
    const auto other = aligned_bytes(codec.query_bytes());
    codec.distances(codec.decode(vectors[2], other.get()), vectors, kCount, distances);
    CHECK(distances[2] < tolerance);
    CHECK(std::abs(distances[3] - (1 - product(unit_vector(dim, 2), unit_vector(dim, 3)))) < 2 * tolerance);
}

} // namespace

TEST_CASE("every instruction set computes cosine distances") {
    for (const Isa isa : usable_isas()) {
        for (const auto storage : {VectorStorage::f32, VectorStorage::f16, VectorStorage::i8}) {
            for (const std::size_t dim : {1, 2, 3, 31, 32, 33, 64, 100, 384, 1000}) {
                CAPTURE(static_cast<int>(isa));
                CAPTURE(static_cast<int>(storage));
                CAPTURE(dim);
                check_distances(dim, storage, isa);
            }
        }
    }
}

TEST_CASE("sums of the longest 8-bit vectors do not overflow") {
    for (const Isa isa : usable_isas()) {
        const VectorCodec codec(16'384, VectorStorage::i8, isa);
        const std::vector<float> flat(16'384, 1.0F / 128);
        const auto memory = aligned_bytes(codec.stride());
        const auto values = aligned_bytes(codec.query_bytes());
        codec.encode(flat, memory.get());
        const std::byte* vector = memory.get();
        float distance = 5;
        codec.distances(codec.prepare(flat, values.get()), &vector, 1, &distance);
        CHECK(distance < 1e-3F);
    }
}

TEST_CASE("a distance is a number whatever bytes a vector has") {
    const VectorCodec codec(64, VectorStorage::f32);
    const auto memory = aligned_bytes(codec.stride());
    const auto values = aligned_bytes(codec.query_bytes());
    std::memset(memory.get(), 0xFF, codec.stride()); // NaN
    const std::byte* vector = memory.get();
    CHECK_FALSE(codec.is_finite(vector));
    float distance = 5;
    codec.distances(codec.prepare(unit_vector(64, 1), values.get()), &vector, 1, &distance);
    CHECK(distance == 0.0F);
}

TEST_CASE("half precision converts back and forth") {
    for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = from_half(half);
        if ((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) {
            CHECK(std::isnan(value));
        } else if (to_half(value) != half) {
            FAIL("half ", bits, " becomes ", to_half(value));
        }
    }
    CHECK(from_half(0x3C00) == 1.0F);
    CHECK(from_half(0x0001) == 0x1p-24F);
    CHECK(to_half(1.0F + 0x1p-11F) == 0x3C00); // halfway: to even
    CHECK(to_half(1.0F + 0x3p-11F) == 0x3C02);
    CHECK(to_half(65519.0F) == 0x7BFF);
    CHECK(to_half(65520.0F) == 0x7C00);
    CHECK(to_half(-1e30F) == 0xFC00);
    CHECK(to_half(std::numeric_limits<float>::quiet_NaN()) == 0x7E00);
}
