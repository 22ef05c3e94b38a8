// Encoded vectors, and inner products of one query with many of them. The fastest code for the processor is
// chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "store/vector_index.hpp"

namespace sotto::store {

constexpr std::size_t kCacheLine = 64;

struct FreeAligned {
    void operator()(std::byte* memory) const noexcept {
        ::operator delete[](memory, std::align_val_t(kCacheLine));
    }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;
AlignedBytes aligned_bytes(std::size_t size); // throws std::bad_alloc

// A prepared query: floats, or for i8 16-bit integers and a scale.
struct EncodedQuery {
    const void* values = nullptr; // aligned to a cache line
    float scale = 1.0F;
};

// The instruction set of the inner products.
enum class Isa : std::uint8_t { portable, avx2, avx512, neon };

// Returns the best instruction set of this processor.
Isa best_isa() noexcept;

// Computes the inner products of `query` with `count` encoded vectors of `dims` values, padding included.
using InnerProducts = void (*)(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
);

// Returns the code for a processor that supports `isa`.
InnerProducts inner_products(VectorStorage storage, Isa isa) noexcept;

// The encoding of an index's vectors. All functions may be called from any thread.
class VectorCodec {
public:
    VectorCodec(std::size_t dim, VectorStorage storage, Isa isa = best_isa());

    std::size_t stride() const noexcept { return stride_; }           // bytes of an encoded vector
    std::size_t query_bytes() const noexcept { return query_bytes_; } // of an EncodedQuery's values

    // Writes a normalised vector to `encoded`, stride() bytes.
    void encode(std::span<const float> vector, std::byte* encoded) const noexcept;
    // Prepares a query with a normalised vector or with an encoded one, in `values`, query_bytes() long.
    EncodedQuery prepare(std::span<const float> vector, std::byte* values) const noexcept;
    EncodedQuery decode(const std::byte* encoded, std::byte* values) const noexcept;
    // Returns true if every value of an encoded vector is a finite number.
    bool is_finite(const std::byte* encoded) const noexcept;

    // Computes cosine distances, 0 or greater and never NaN, whatever bytes the vectors have.
    void distances(
        const EncodedQuery& query, const std::byte* const* vectors, std::size_t count, float* out
    ) const noexcept;

private:
    std::size_t dim_;
    VectorStorage storage_;
    std::size_t padded_; // dimensions with padding, which is zero
    std::size_t stride_;
    std::size_t query_bytes_;
    InnerProducts products_;
};

// Conversions between float and IEEE 754 half precision, rounded to nearest even.
std::uint16_t to_half(float value) noexcept;
float from_half(std::uint16_t half) noexcept;

// The code of vector_kernels_x86.cpp and vector_kernels_arm.cpp; null if the library is built for another
// processor.
namespace kernels {

InnerProducts of_x86(VectorStorage storage, Isa isa) noexcept;
InnerProducts of_arm(VectorStorage storage) noexcept;

} // namespace kernels
} // namespace sotto::store
