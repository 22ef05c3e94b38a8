// Tests the matrix kernels against sums in double precision: called directly, and by a ggml graph.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml-cpu/repack.h>
#include <ggml-cpu/traits.h>
#include <ggml.h>

#include "backends/llama/devices/cpu/matmul/matmul.hpp"
#include "backends/llama/isa/isa_tier.hpp"

namespace {

struct Free {
    void operator()(ggml_context* context) const { ggml_free(context); }
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

struct Shape {
    ggml_type type;
    std::int64_t depth;
    std::int64_t columns;
    std::int64_t rows;
    int flags = 0; // of the weights, beside ggml's
};

enum class Fill { random, largest, smallest };

// A product of quantised weights and activations that quantise without loss.
class Case {
public:
    Case(const Shape& shape, Fill fill) : shape_(shape), fill_(fill) {
        ggml_cpu_init();
        ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
        context_.reset(ggml_init({.mem_size = 256U << 20, .mem_buffer = nullptr, .no_alloc = true}));
        weights_ = ggml_new_tensor_2d(context_.get(), shape.type, shape.depth, shape.columns);
        weights_->flags |= shape.flags;
        const bool packs = shape.type == GGML_TYPE_Q4_0 || shape.type == GGML_TYPE_Q4_K;
        const bool packed = ggml_cpu_has_avx2() != 0 && packs; // as in llama.cpp
        const auto bytes = ggml_nbytes(weights_);
        buffer_.reset(
            ggml_backend_buft_alloc_buffer(packed ? repacked() : ggml_backend_cpu_buffer_type(), bytes)
        );
        ggml_backend_tensor_alloc(buffer_.get(), weights_, ggml_backend_buffer_get_base(buffer_.get()));
        const auto plain = plain_weights(bytes);
        values_.resize(count(shape.depth * shape.columns));
        ggml_get_type_traits(shape.type)->to_float(plain.data(), values_.data(), shape.depth * shape.columns);
        ggml_backend_tensor_set(weights_, plain.data(), 0, bytes);
        fill_activations();
    }

    const void* weights() const { return weights_->data; }
    const float* activations(std::int64_t row) const { return &activations_[count(row * shape_.depth)]; }

    // Returns the result of a ggml graph.
    std::vector<float> computed(int threads) const {
        const std::unique_ptr<ggml_context, Free> context(
            ggml_init({.mem_size = 64U << 20, .mem_buffer = nullptr, .no_alloc = false})
        );
        auto* right = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, shape_.depth, shape_.rows);
        std::copy(activations_.begin(), activations_.end(), static_cast<float*>(right->data));
        auto* result = ggml_mul_mat(context.get(), weights_, right);
        auto* graph = ggml_new_graph(context.get());
        ggml_build_forward_expand(graph, result);
        REQUIRE(ggml_graph_compute_with_ctx(context.get(), graph, threads) == GGML_STATUS_SUCCESS);
        const auto* data = static_cast<const float*>(result->data);
        return {data, data + ggml_nelements(result)};
    }

    // Maximum error in the first `rows` rows, relative to the sum of absolute products.
    double error(const std::vector<float>& found, std::int64_t rows) const {
        double most = 0;
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t column = 0; column < shape_.columns; ++column) {
                double sum = 0;
                double size = 0;
                for (std::int64_t i = 0; i < shape_.depth; ++i) {
                    const auto product =
                        double{values_[count(column * shape_.depth + i)]} * activations(row)[i];
                    sum += product;
                    size += std::abs(product);
                }
                const double one = found[count(row * shape_.columns + column)];
                REQUIRE(std::isfinite(one));
                most = std::max(most, std::abs(one - sum) / std::max(size, 1e-30));
            }
        }
        return most;
    }

private:
    static std::size_t count(std::int64_t number) { return static_cast<std::size_t>(number); }

    static ggml_backend_buffer_type_t repacked() {
        for (auto* type : ggml_backend_cpu_get_extra_buffer_types()) {
            if (ggml_backend_buft_name(type) == std::string("CPU_REPACK")) {
                return type;
            }
        }
        FAIL("ggml has no repacked buffers");
        return nullptr;
    }

    bool is_half() const { return shape_.type == GGML_TYPE_F16 || shape_.type == GGML_TYPE_BF16; }

    std::vector<std::uint8_t> plain_weights(std::size_t bytes) {
        std::vector<std::uint8_t> plain(bytes);
        std::normal_distribution<float> normal;
        std::vector<float> values(count(shape_.depth * shape_.columns));
        // the largest values of blocks with a positive scale
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = fill_ == Fill::random    ? normal(chance_)
                        : fill_ == Fill::largest ? (i % 256 == 0 ? -8.0F : 7.0F)
                                                 : (i % 256 == 0 ? 7.0F : -8.0F);
        }
        for (auto& value : values) { // to values that need no more bits than bfloat16 has
            value = is_half() ? ggml_bf16_to_fp32(ggml_fp32_to_bf16(value)) : value;
        }
        ggml_quantize_chunk(
            shape_.type, values.data(), plain.data(), 0, shape_.columns, shape_.depth, nullptr
        );
        return plain;
    }

    // Integers, of which one in 32 is 127 or -127, times a power of two for each 256.
    void fill_activations() {
        activations_.resize(count(shape_.depth * shape_.rows));
        std::uniform_int_distribution<int> number(-127, 127);
        std::uniform_int_distribution<int> power(-4, 4);
        int exponent = 0;
        for (std::size_t i = 0; i < activations_.size(); ++i) {
            exponent = i % 256 == 0 ? power(chance_) : exponent;
            const auto sign = number(chance_) < 0 ? -1 : 1;
            const auto one = fill_ == Fill::random ? i % 32 == 7 ? 127 * sign : number(chance_) : 127;
            activations_[i] = std::ldexp(static_cast<float>(one), exponent);
        }
    }

    Shape shape_;
    Fill fill_;
    std::mt19937 chance_{1};
    std::unique_ptr<ggml_context, Free> context_;
    std::unique_ptr<ggml_backend_buffer, Free> buffer_;
    ggml_tensor* weights_ = nullptr;
    std::vector<float> values_;      // dequantised weights
    std::vector<float> activations_; // row by row
};

constexpr double kTolerance = 2e-6;
constexpr std::array kTypes = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K};

void check_graph(const Shape& shape, Fill fill = Fill::random) {
    CAPTURE(ggml_type_name(shape.type));
    CAPTURE(shape.depth);
    CAPTURE(shape.columns);
    CAPTURE(shape.rows);
    const Case one(shape, fill);
    const auto alone = one.computed(1);
    CHECK(one.error(alone, shape.rows) < kTolerance);
    for (const int threads : {2, 3}) {
        CHECK(one.computed(threads) == alone);
    }
}

} // namespace

TEST_CASE("a graph multiplies any number of rows, with the same result on any number of threads") {
    for (const auto type : kTypes) {
        for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 40, 67}) {
            check_graph({type, 512, 72, rows});
        }
    }
}

TEST_CASE("with our kernels for Q4_0, the result of a row does not depend on the rows beside it") {
    if (!sotto::llama::cpu_supports("avx2") ||
        (sotto::llama::cpu_supports("avx512f") && !sotto::llama::cpu_supports("avx512vnni"))) {
        MESSAGE("ggml's kernels are used on this processor");
        return;
    }
    for (const std::int64_t columns : {8, 24, 256}) {
        const auto alone = Case({GGML_TYPE_Q4_0, 2304, columns, 1}, Fill::random).computed(1);
        const auto beside = Case({GGML_TYPE_Q4_0, 2304, columns, 21}, Fill::random).computed(1);
        CHECK(std::equal(alone.begin(), alone.end(), beside.begin()));
    }
}

TEST_CASE("a graph multiplies matrices deeper than a tile, and with few columns") {
    for (const auto type : kTypes) {
        for (const std::int64_t depth : {256, 2048, 2304, 4352}) {
            check_graph({type, depth, 8, 20});
        }
        check_graph({type, 256, 1000, 20});
    }
}

TEST_CASE("weights that may be computed in bfloat16 are multiplied without loss of what it holds") {
    using namespace sotto::llama;
    const int vectors = cpu_supports("avx512bf16") ? kBf16Weights : 0;
    const int tiles = may_use_tiles() ? vectors | kTileWeights : 0;
    for (const auto type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (const int flags : {vectors, tiles}) {
            CAPTURE(flags);
            for (const std::int64_t rows : {1, 2, 15, 16, 17, 31, 33, 256, 257, 300}) {
                check_graph({type, 384, 70, rows, flags});
            }
            for (const std::int64_t depth : {32, 96, 512, 544, 1536, 4096}) {
                check_graph({type, depth, 12, 20, flags});
                check_graph({type, depth, 1, 1, flags});
            }
            check_graph({type, 40, 24, 20, flags}); // not a multiple of 32
        }
    }
}

TEST_CASE("the largest products do not overflow") {
    for (const auto type : kTypes) {
        for (const auto fill : {Fill::largest, Fill::smallest}) {
            check_graph({type, 4096, 16, 4}, fill);
            check_graph({type, 4096, 16, 1}, fill);
        }
    }
}

#if defined __x86_64__

// Without VNNI, a graph calls ggml's own kernels on AVX-512.
namespace {

using Quantize = void(const float*, void*, std::int64_t);

struct Kernel {
    const char* needs;
    ggml_type type;
    decltype(sotto_gemm_q4_0)* multiply;
    Quantize* quantize; // four rows, interleaved
    ggml_type activations;
};

void check_kernel(const Kernel& kernel, const Shape& shape, Fill fill) {
    CAPTURE(ggml_type_name(shape.type));
    CAPTURE(shape.depth);
    CAPTURE(shape.rows);
    const Case one(shape, fill);
    const auto bytes = ggml_row_size(kernel.activations, shape.depth);
    std::vector<std::uint8_t> quantised(bytes * static_cast<std::size_t>(shape.rows));
    for (std::int64_t row = 0; row < shape.rows; row += 4) {
        kernel.quantize(
            one.activations(row), quantised.data() + bytes * static_cast<std::size_t>(row), shape.depth
        );
    }
    std::vector<float> found(static_cast<std::size_t>(shape.rows * shape.columns));
    kernel.multiply(
        static_cast<int>(shape.depth),
        found.data(),
        static_cast<std::size_t>(shape.columns),
        one.weights(),
        quantised.data(),
        static_cast<int>(shape.rows),
        static_cast<int>(shape.columns)
    );
    CHECK(one.error(found, shape.rows) < kTolerance);
}

} // namespace

TEST_CASE("the kernels match the reference without ggml") {
    constexpr auto kMat8 = ggml_quantize_mat_q8_0_4x8;
    constexpr std::array kKernels = {
        Kernel{"avx2", GGML_TYPE_Q4_0, sotto_gemm_q4_0, kMat8, GGML_TYPE_Q8_0},
        Kernel{"avx512vnni", GGML_TYPE_Q4_0, sotto_gemm_q4_0_vnni, kMat8, GGML_TYPE_Q8_0},
        Kernel{"avx2", GGML_TYPE_Q4_K, sotto_gemm_q4_k, ggml_quantize_mat_q8_K_4x8, GGML_TYPE_Q8_K},
        Kernel{
            "avx512vnni", GGML_TYPE_Q4_K, sotto_gemm_q4_k_vnni, ggml_quantize_mat_q8_K_4x8, GGML_TYPE_Q8_K
        },
    };
    for (const auto& kernel : kKernels) {
        if (!sotto::llama::cpu_supports(kernel.needs)) {
            MESSAGE("this processor has no " << kernel.needs);
            continue;
        }
        for (const auto fill : {Fill::random, Fill::largest, Fill::smallest}) {
            for (const std::int64_t depth : {256, 2304}) {
                for (const std::int64_t rows : {4, 12, 16, 36}) {
                    check_kernel(kernel, {kernel.type, depth, 24, rows}, fill);
                }
            }
        }
    }
}

#endif
