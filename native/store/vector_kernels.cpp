#include "store/vector_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "platform/cpu.hpp"

namespace sotto::store {
namespace {

constexpr std::size_t kUnit = 32;    // padded dimensions are a multiple of this
constexpr float kStoredMax = 127.0F; // of the 8-bit integers of a vector
// Of the 16-bit integers of a query: the sum of 16,384 products fits 32 bits.
constexpr float kQueryMax = 1023.0F;

constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
    return (size + unit - 1) / unit * unit;
}

template <typename T>
T read(const std::byte* bytes) noexcept {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// Eight independent sums, which compilers turn into vector instructions.
constexpr std::size_t kLanes = 8;

template <typename Sum, typename Term>
Sum add_up(std::size_t count, Term&& term) noexcept {
    Sum sums[kLanes] = {};
    for (std::size_t i = 0; i < count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            sums[lane] += term(i + lane);
        }
    }
    Sum all{};
    for (const Sum sum : sums) {
        all += sum;
    }
    return all;
}

void products_f32(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* values = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* vector = reinterpret_cast<const float*>(vectors[n]);
        products[n] = add_up<float>(dims, [&](std::size_t i) { return values[i] * vector[i]; });
    }
}

void products_f16(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* values = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* vector = reinterpret_cast<const std::uint16_t*>(vectors[n]);
        products[n] = add_up<float>(dims, [&](std::size_t i) { return values[i] * from_half(vector[i]); });
    }
}

void products_i8(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* values = static_cast<const std::int16_t*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* vector = reinterpret_cast<const std::int8_t*>(vectors[n]);
        const auto sum = add_up<std::int32_t>(dims, [&](std::size_t i) { return values[i] * vector[i]; });
        products[n] = static_cast<float>(sum) * query.scale * read<float>(vectors[n] + dims);
    }
}

InnerProducts portable(VectorStorage storage) noexcept {
    switch (storage) {
    case VectorStorage::f16:
        return products_f16;
    case VectorStorage::i8:
        return products_i8;
    default:
        return products_f32;
    }
}

// Writes integers of at most `max` in size, and returns the scale that makes them the values again.
template <typename T>
float quantise(std::span<const float> values, float max, T* out) noexcept {
    float largest = 0.0F;
    for (const float value : values) {
        largest = std::max(largest, std::abs(value));
    }
    const float factor = largest > 0.0F ? max / largest : 0.0F;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out[i] = static_cast<T>(std::lrint(values[i] * factor));
    }
    return largest / max;
}

} // namespace

AlignedBytes aligned_bytes(std::size_t size) {
    return AlignedBytes(static_cast<std::byte*>(::operator new[](size, std::align_val_t(kCacheLine))));
}

std::uint16_t to_half(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const float size = std::abs(value);
    if (!(size < 65520.0F)) {
        return static_cast<std::uint16_t>(sign | (std::isnan(value) ? 0x7E00 : 0x7C00));
    }
    if (size < 0x1p-14F) { // subnormal: units of 2^-24
        return static_cast<std::uint16_t>(sign | std::lrint(size * 0x1p24F));
    }
    const auto magnitude = bits & 0x7FFF'FFFF;
    const auto rounded = magnitude + 0xFFF + (magnitude >> 13 & 1) - (112U << 23);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
}

float from_half(std::uint16_t half) noexcept {
    const auto sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    const std::uint32_t magnitude = half & 0x7FFF;
    if (magnitude < 0x0400) {
        return std::copysign(static_cast<float>(magnitude) * 0x1p-24F, std::bit_cast<float>(sign));
    }
    const std::uint32_t exponent = magnitude >= 0x7C00 ? 224U << 23 : 112U << 23;
    return std::bit_cast<float>(sign | ((magnitude << 13) + exponent));
}

Isa best_isa() noexcept {
#if defined(__aarch64__)
    return Isa::neon;
#else
    const int level = x86_64_level();
    return level >= 4 ? Isa::avx512 : level == 3 ? Isa::avx2 : Isa::portable;
#endif
}

InnerProducts inner_products(VectorStorage storage, Isa isa) noexcept {
    InnerProducts found = nullptr;
    if (isa == Isa::avx2 || isa == Isa::avx512) {
        found = kernels::of_x86(storage, isa);
    } else if (isa == Isa::neon) {
        found = kernels::of_arm(storage);
    }
    return found != nullptr ? found : portable(storage);
}

VectorCodec::VectorCodec(std::size_t dim, VectorStorage storage, Isa isa)
    : dim_(dim), storage_(storage), padded_(round_up(dim, kUnit)), products_(inner_products(storage, isa)) {
    const std::size_t value = storage == VectorStorage::f32 ? 4 : storage == VectorStorage::f16 ? 2 : 1;
    const std::size_t scale = storage == VectorStorage::i8 ? sizeof(float) : 0;
    stride_ = round_up(padded_ * value + scale, 16);
    query_bytes_ = padded_ * (storage == VectorStorage::i8 ? sizeof(std::int16_t) : sizeof(float));
}

void VectorCodec::encode(std::span<const float> vector, std::byte* encoded) const noexcept {
    std::memset(encoded, 0, stride_);
    if (storage_ == VectorStorage::f32) {
        std::memcpy(encoded, vector.data(), vector.size_bytes());
    } else if (storage_ == VectorStorage::f16) {
        auto* halves = reinterpret_cast<std::uint16_t*>(encoded);
        std::transform(vector.begin(), vector.end(), halves, to_half);
    } else {
        const float scale = quantise(vector, kStoredMax, reinterpret_cast<std::int8_t*>(encoded));
        std::memcpy(encoded + padded_, &scale, sizeof scale);
    }
}

EncodedQuery VectorCodec::prepare(std::span<const float> vector, std::byte* values) const noexcept {
    std::memset(values, 0, query_bytes_);
    if (storage_ == VectorStorage::i8) {
        return {values, quantise(vector, kQueryMax, reinterpret_cast<std::int16_t*>(values))};
    }
    std::memcpy(values, vector.data(), vector.size_bytes());
    return {values, 1.0F};
}

EncodedQuery VectorCodec::decode(const std::byte* encoded, std::byte* values) const noexcept {
    if (storage_ == VectorStorage::f32) {
        return {encoded, 1.0F};
    }
    if (storage_ == VectorStorage::f16) {
        const auto* halves = reinterpret_cast<const std::uint16_t*>(encoded);
        std::transform(halves, halves + padded_, reinterpret_cast<float*>(values), from_half);
        return {values, 1.0F};
    }
    const auto* integers = reinterpret_cast<const std::int8_t*>(encoded);
    std::copy(integers, integers + padded_, reinterpret_cast<std::int16_t*>(values));
    return {values, read<float>(encoded + padded_)};
}

bool VectorCodec::is_finite(const std::byte* encoded) const noexcept {
    if (storage_ == VectorStorage::f32) {
        const auto* values = reinterpret_cast<const float*>(encoded);
        return std::all_of(values, values + dim_, [](float value) { return std::isfinite(value); });
    }
    if (storage_ == VectorStorage::f16) {
        const auto* halves = reinterpret_cast<const std::uint16_t*>(encoded);
        return std::all_of(halves, halves + dim_, [](std::uint16_t half) {
            return (half & 0x7C00) != 0x7C00;
        });
    }
    return std::isfinite(read<float>(encoded + padded_));
}

void VectorCodec::distances(
    const EncodedQuery& query, const std::byte* const* vectors, std::size_t count, float* out
) const noexcept {
    products_(query, vectors, count, padded_, out);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = std::max(0.0F, 1.0F - out[i]); // of NaN: 0
    }
}

} // namespace sotto::store
