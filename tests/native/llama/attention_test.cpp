// Tests the CPU attention kernel against a scalar implementation in double precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <ggml-cpu.h>
#include <ggml.h>

namespace {

struct Shape {
    std::int64_t keys_size = 64;
    std::int64_t values_size = 64;
    std::int64_t tokens = 1;
    std::int64_t keys = 256;
    std::int64_t heads = 4;
    std::int64_t group = 1;
    std::int64_t streams = 1;
    float cap = 0;
    float bias = 0;
    bool sinks = false;
    bool mask = true;
};

struct FreeGgml {
    void operator()(ggml_context* context) const { ggml_free(context); }
};

class Case {
public:
    Case(const Shape& shape, unsigned seed) : shape_(shape), chance_(seed) {
        context_.reset(ggml_init({.mem_size = 256U << 20, .mem_buffer = nullptr, .no_alloc = false}));
        auto* const c = context_.get();
        const auto heads_of_keys = shape.heads / shape.group;
        // llama.cpp's layout: the heads of a token are adjacent.
        q_ = ggml_permute(c, filled(GGML_TYPE_F32, shape.keys_size, shape.heads, shape.tokens), 0, 2, 1, 3);
        k_ = ggml_permute(c, filled(GGML_TYPE_F16, shape.keys_size, heads_of_keys, shape.keys), 0, 2, 1, 3);
        v_ = ggml_permute(c, filled(GGML_TYPE_F16, shape.values_size, heads_of_keys, shape.keys), 0, 2, 1, 3);
        if (shape.mask) {
            mask_ = ggml_new_tensor_4d(c, GGML_TYPE_F16, shape.keys, shape.tokens, 1, shape.streams);
            fill_mask();
        }
        const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.keys_size)));
        result_ = ggml_flash_attn_ext(c, q_, k_, v_, mask_, scale, shape.bias, shape.cap);
        ggml_prec_set_acc(result_, GGML_PREC_F32);
        if (shape.sinks) {
            sinks_ = ggml_new_tensor_1d(c, GGML_TYPE_F32, shape.heads);
            std::normal_distribution<float> normal;
            for (std::int64_t i = 0; i < shape.heads; ++i) {
                static_cast<float*>(sinks_->data)[i] = normal(chance_);
            }
            ggml_flash_attn_ext_add_sinks(result_, sinks_);
        }
    }

    std::vector<float> computed(int threads) const {
        auto* graph = ggml_new_graph(context_.get());
        ggml_build_forward_expand(graph, result_);
        REQUIRE(ggml_graph_compute_with_ctx(context_.get(), graph, threads) == GGML_STATUS_SUCCESS);
        const auto* data = static_cast<const float*>(result_->data);
        return {data, data + ggml_nelements(result_)};
    }

    // Maximum absolute error, relative to the largest expected value.
    double error(const std::vector<float>& found) const {
        double largest = 0;
        double off = 0;
        for (std::int64_t s = 0; s < shape_.streams; ++s) {
            for (std::int64_t t = 0; t < shape_.tokens; ++t) {
                for (std::int64_t h = 0; h < shape_.heads; ++h) {
                    const auto expected = row(s, t, h);
                    for (std::int64_t i = 0; i < shape_.values_size; ++i) {
                        const auto at = ((s * shape_.tokens + t) * shape_.heads + h) * shape_.values_size + i;
                        const double one = found[static_cast<std::size_t>(at)];
                        REQUIRE(std::isfinite(one));
                        largest = std::max(largest, std::abs(expected[static_cast<std::size_t>(i)]));
                        off = std::max(off, std::abs(one - expected[static_cast<std::size_t>(i)]));
                    }
                }
            }
        }
        return largest == 0 ? off : off / largest;
    }

private:
    ggml_tensor* filled(ggml_type type, std::int64_t size, std::int64_t heads, std::int64_t count) {
        auto* tensor = ggml_new_tensor_4d(context_.get(), type, size, heads, count, shape_.streams);
        std::normal_distribution<float> normal;
        for (std::int64_t i = 0; i < ggml_nelements(tensor); ++i) {
            if (type == GGML_TYPE_F16) {
                static_cast<ggml_fp16_t*>(tensor->data)[i] = ggml_fp32_to_fp16(normal(chance_));
            } else {
                static_cast<float*>(tensor->data)[i] = 2 * normal(chance_);
            }
        }
        return tensor;
    }

    // Causal mask. The last keys are unused cells, and the first token attends to no key. With ALiBi, the
    // mask holds distances.
    void fill_mask() const {
        auto* data = static_cast<ggml_fp16_t*>(mask_->data);
        for (std::int64_t s = 0; s < shape_.streams; ++s) {
            for (std::int64_t t = 0; t < shape_.tokens; ++t) {
                const auto visible =
                    t == 0 && shape_.tokens > 1 ? 0 : shape_.keys - 2 * shape_.tokens / 3 - 9 + t / 2 - 3 * s;
                for (std::int64_t key = 0; key < shape_.keys; ++key) {
                    const auto far = shape_.bias > 0 ? -static_cast<float>(std::abs(visible - key)) / 64 : 0;
                    *data++ = ggml_fp32_to_fp16(key < visible ? far : -INFINITY);
                }
            }
        }
    }

    static double
    number(const ggml_tensor* t, std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
        const auto* at = static_cast<const char*>(t->data) + i0 * static_cast<std::int64_t>(t->nb[0]) +
                         i1 * static_cast<std::int64_t>(t->nb[1]) + i2 * static_cast<std::int64_t>(t->nb[2]) +
                         i3 * static_cast<std::int64_t>(t->nb[3]);
        return t->type == GGML_TYPE_F16 ? ggml_fp16_to_fp32(*reinterpret_cast<const ggml_fp16_t*>(at))
                                        : *reinterpret_cast<const float*>(at);
    }

    double slope(std::int64_t head) const {
        if (shape_.bias == 0) {
            return 1;
        }
        const auto power =
            static_cast<std::int64_t>(std::exp2(std::floor(std::log2(static_cast<double>(shape_.heads)))));
        const double whole = std::exp2(-static_cast<double>(shape_.bias) / static_cast<double>(power));
        const double half = std::exp2(-static_cast<double>(shape_.bias) / 2 / static_cast<double>(power));
        return head < power ? std::pow(whole, static_cast<double>(head + 1))
                            : std::pow(half, static_cast<double>(2 * (head - power) + 1));
    }

    std::vector<double> row(std::int64_t s, std::int64_t t, std::int64_t h) const {
        const auto of_keys = h / shape_.group;
        std::vector<double> scores;
        double most = -INFINITY;
        for (std::int64_t key = 0; key < shape_.keys; ++key) {
            double score = 0;
            for (std::int64_t i = 0; i < shape_.keys_size; ++i) {
                score += number(q_, i, t, h, s) * number(k_, i, key, of_keys, s);
            }
            score /= std::sqrt(static_cast<double>(shape_.keys_size));
            score = shape_.cap == 0 ? score : shape_.cap * std::tanh(score / shape_.cap);
            score += mask_ == nullptr ? 0 : slope(h) * number(mask_, key, t, 0, s);
            scores.push_back(score);
            most = std::max(most, score);
        }
        const double sink = sinks_ == nullptr ? -INFINITY : static_cast<const float*>(sinks_->data)[h];
        most = std::max(most, sink);
        std::vector<double> values(static_cast<std::size_t>(shape_.values_size));
        double weights = most == -INFINITY ? 0 : std::exp(sink - most);
        for (std::int64_t key = 0; most > -INFINITY && key < shape_.keys; ++key) {
            const auto weight = std::exp(scores[static_cast<std::size_t>(key)] - most);
            weights += weight;
            for (std::int64_t i = 0; i < shape_.values_size; ++i) {
                values[static_cast<std::size_t>(i)] += weight * number(v_, i, key, of_keys, s);
            }
        }
        for (auto& value : values) {
            value = weights == 0 ? 0 : value / weights;
        }
        return values;
    }

    Shape shape_;
    std::mt19937 chance_;
    std::unique_ptr<ggml_context, FreeGgml> context_;
    ggml_tensor* q_ = nullptr;
    ggml_tensor* k_ = nullptr;
    ggml_tensor* v_ = nullptr;
    ggml_tensor* mask_ = nullptr;
    ggml_tensor* sinks_ = nullptr;
    ggml_tensor* result_ = nullptr;
};

void check(const Shape& shape, double tolerance = 2e-5) {
    CAPTURE(shape.keys_size);
    CAPTURE(shape.values_size);
    CAPTURE(shape.tokens);
    CAPTURE(shape.keys);
    CAPTURE(shape.heads);
    CAPTURE(shape.group);
    CAPTURE(shape.streams);
    const Case one(shape, 1);
    const auto alone = one.computed(1);
    CHECK(one.error(alone) < tolerance);
    for (const int threads : {2, 3}) {
        const auto found = one.computed(threads);
        CHECK(one.error(found) < tolerance);
        const auto blocks = shape.heads / shape.group * shape.streams;
        if (2 * blocks >= threads) { // otherwise ggml's kernel splits the keys between threads
            CHECK(found == alone);
        }
    }
}

} // namespace

TEST_CASE("decode of one token per stream matches the reference") {
    for (const std::int64_t group : {1, 2, 4, 8}) {
        for (const std::int64_t keys : {1, 7, 64, 65, 300}) {
            check({.tokens = 1, .keys = keys + 12, .heads = 8, .group = group, .streams = 4});
        }
    }
}

TEST_CASE("prefill of a chunk matches the reference") {
    for (const std::int64_t tokens : {2, 3, 4, 5, 8, 15, 33, 64, 100}) {
        check({.tokens = tokens, .keys = 256, .heads = 4});
        check({.tokens = tokens, .keys = 200, .heads = 6, .group = 3, .streams = 2});
    }
}

TEST_CASE("head sizes that are a multiple of eight match the reference") {
    for (const std::int64_t size : {8, 40, 72, 128, 256}) {
        check({.keys_size = size, .values_size = size, .tokens = 20, .keys = 130});
        check({.keys_size = size, .values_size = size, .tokens = 1, .keys = 130});
    }
    check({.keys_size = 192, .values_size = 128, .tokens = 20, .keys = 130});
    // falls back to ggml's kernel, in f16
    check({.keys_size = 36, .values_size = 36, .tokens = 20, .keys = 130}, 1e-2);
}

TEST_CASE("softcap, ALiBi, sinks and a missing mask match the reference") {
    for (const std::int64_t tokens : {1, 2, 30}) {
        check({.tokens = tokens, .keys = 130, .cap = 5});
        check({.tokens = tokens, .keys = 130, .heads = 6, .bias = 8});
        check({.tokens = tokens, .keys = 130, .heads = 6, .group = 2, .sinks = true});
        check({.tokens = tokens, .keys = 130, .mask = false});
    }
}
