// Inner products for x86-64-v3 and -v4. Each function is compiled for its own instruction set and called only
// where the processor has it.
#include "store/vector_kernels.hpp"

#if defined(__x86_64__)

#  include <immintrin.h>

#  include <cstring>

#  define SOTTO_AVX2 __attribute__((target("avx2,fma,f16c")))
#  if defined(__clang__) && __clang_major__ >= 18 && __clang_major__ < 22 // others know no such feature
#    define SOTTO_EVEX512 ",evex512"
#  else
#    define SOTTO_EVEX512 ""
#  endif
#  define SOTTO_AVX512                                                                                       \
      __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c" SOTTO_EVEX512)))

namespace sotto::store::kernels {
namespace {

// While one vector is multiplied, the next one is fetched into the cache.
inline const std::byte* next_of(const std::byte* const* vectors, std::size_t n, std::size_t count) noexcept {
    return vectors[n + 1 < count ? n + 1 : n];
}

inline float scale_of(const std::byte* vector, std::size_t dims) noexcept {
    float scale;
    std::memcpy(&scale, vector + dims, sizeof scale);
    return scale;
}

SOTTO_AVX2 inline float sum_of(__m256 sums) noexcept {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

SOTTO_AVX2 inline std::int32_t sum_of(__m256i sums) noexcept {
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
}

SOTTO_AVX2 void f32_avx2(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const float*>(vectors[n]);
        const auto* next = reinterpret_cast<const char*>(next_of(vectors, n, count));
        __m256 a = _mm256_setzero_ps();
        __m256 b = a;
        __m256 c = a;
        __m256 d = a;
        for (std::size_t i = 0; i < dims; i += 32) {
            _mm_prefetch(next + 4 * i, _MM_HINT_T0);
            _mm_prefetch(next + 4 * i + kCacheLine, _MM_HINT_T0);
            a = _mm256_fmadd_ps(_mm256_loadu_ps(v + i), _mm256_load_ps(q + i), a);
            b = _mm256_fmadd_ps(_mm256_loadu_ps(v + i + 8), _mm256_load_ps(q + i + 8), b);
            c = _mm256_fmadd_ps(_mm256_loadu_ps(v + i + 16), _mm256_load_ps(q + i + 16), c);
            d = _mm256_fmadd_ps(_mm256_loadu_ps(v + i + 24), _mm256_load_ps(q + i + 24), d);
        }
        products[n] = sum_of(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    }
}

SOTTO_AVX2 inline __m256 widen(const std::uint16_t* halves) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
}

SOTTO_AVX2 void f16_avx2(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const std::uint16_t*>(vectors[n]);
        const auto* next = reinterpret_cast<const char*>(next_of(vectors, n, count));
        __m256 a = _mm256_setzero_ps();
        __m256 b = a;
        __m256 c = a;
        __m256 d = a;
        for (std::size_t i = 0; i < dims; i += 32) {
            _mm_prefetch(next + 2 * i, _MM_HINT_T0);
            a = _mm256_fmadd_ps(widen(v + i), _mm256_load_ps(q + i), a);
            b = _mm256_fmadd_ps(widen(v + i + 8), _mm256_load_ps(q + i + 8), b);
            c = _mm256_fmadd_ps(widen(v + i + 16), _mm256_load_ps(q + i + 16), c);
            d = _mm256_fmadd_ps(widen(v + i + 24), _mm256_load_ps(q + i + 24), d);
        }
        products[n] = sum_of(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    }
}

SOTTO_AVX2 void i8_avx2(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const std::int16_t*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* next = reinterpret_cast<const char*>(next_of(vectors, n, count));
        __m256i a = _mm256_setzero_si256();
        __m256i b = a;
        for (std::size_t i = 0; i < dims; i += 32) {
            _mm_prefetch(next + i, _MM_HINT_T0);
            const auto* v = reinterpret_cast<const __m128i*>(vectors[n] + i);
            const auto* w = reinterpret_cast<const __m256i*>(q + i);
            a = _mm256_add_epi32(
                a, _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(v)), _mm256_load_si256(w))
            );
            b = _mm256_add_epi32(
                b, _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(v + 1)), _mm256_load_si256(w + 1))
            );
        }
        const auto sum = static_cast<float>(sum_of(_mm256_add_epi32(a, b)));
        products[n] = sum * query.scale * scale_of(vectors[n], dims);
    }
}

SOTTO_AVX512 void f32_avx512(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const float*>(vectors[n]);
        const auto* next = reinterpret_cast<const char*>(next_of(vectors, n, count));
        __m512 a = _mm512_setzero_ps();
        __m512 b = a;
        for (std::size_t i = 0; i < dims; i += 32) {
            _mm_prefetch(next + 4 * i, _MM_HINT_T0);
            _mm_prefetch(next + 4 * i + kCacheLine, _MM_HINT_T0);
            a = _mm512_fmadd_ps(_mm512_loadu_ps(v + i), _mm512_load_ps(q + i), a);
            b = _mm512_fmadd_ps(_mm512_loadu_ps(v + i + 16), _mm512_load_ps(q + i + 16), b);
        }
        products[n] = _mm512_reduce_add_ps(_mm512_add_ps(a, b));
    }
}

SOTTO_AVX512 void f16_avx512(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const std::uint16_t*>(vectors[n]);
        const auto* next = reinterpret_cast<const char*>(next_of(vectors, n, count));
        __m512 a = _mm512_setzero_ps();
        __m512 b = a;
        for (std::size_t i = 0; i < dims; i += 32) {
            _mm_prefetch(next + 2 * i, _MM_HINT_T0);
            const auto* halves = reinterpret_cast<const __m256i*>(v + i);
            a = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(halves)), _mm512_load_ps(q + i), a);
            b = _mm512_fmadd_ps(
                _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1)), _mm512_load_ps(q + i + 16), b
            );
        }
        products[n] = _mm512_reduce_add_ps(_mm512_add_ps(a, b));
    }
}

} // namespace

InnerProducts of_x86(VectorStorage storage, Isa isa) noexcept {
    switch (storage) {
    case VectorStorage::f16:
        return isa == Isa::avx512 ? f16_avx512 : f16_avx2;
    case VectorStorage::i8:
        return i8_avx2; // limited by memory, not by the width of registers
    default:
        return isa == Isa::avx512 ? f32_avx512 : f32_avx2;
    }
}

} // namespace sotto::store::kernels

#else

namespace sotto::store::kernels {

InnerProducts of_x86(VectorStorage, Isa) noexcept {
    return nullptr;
}

} // namespace sotto::store::kernels

#endif
