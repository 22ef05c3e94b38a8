// Graphs that are computed in parts, and the kernel of IM2COL: the same values as ggml computes at once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include "backends/diffusion/graph_cost.hpp"
#include "backends/diffusion/graph_parts.hpp"
#include "backends/diffusion/im2col.hpp"
#include "backends/diffusion/node_pieces.hpp"
#include "backends/diffusion/progress.hpp"

using namespace sotto::diffusion;

namespace {

struct Free {
    void operator()(ggml_context* context) const { ggml_free(context); }
    void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

// A graph and the CPU that computes it.
class Bench {
public:
    Bench()
        : context_(ggml_init({.mem_size = std::size_t{1} << 20, .mem_buffer = nullptr, .no_alloc = true})),
          cpu_(ggml_backend_cpu_init()) {
        ggml_backend_cpu_set_n_threads(cpu_.get(), 2);
    }

    ggml_context* get() const { return context_.get(); }

    ggml_tensor* input(ggml_type type, std::vector<std::int64_t> sizes) {
        auto* const made = ggml_new_tensor(get(), type, static_cast<int>(sizes.size()), sizes.data());
        inputs_.push_back(made);
        return made;
    }

    // Computes `result` at once and in parts. Returns true if the bytes are the same.
    bool same_in_parts(ggml_tensor* result) {
        const auto whole = computed(result);
        run_parts();
        return bytes(*result) == whole;
    }

    // As same_in_parts(), with `result` in about `count` pieces. Returns false if it cannot be cut, too.
    bool same_in_pieces(ggml_tensor* result, int count) {
        const auto whole = computed(result);
        take_over_im2col(*result);
        NodePieces pieces;
        if (!pieces.begin(*result, 1, 1.0 / count)) {
            return false;
        }
        double cost = 0;
        while (pieces.is_open()) {
            auto* piece = pieces.next();
            auto part = ggml_graph_view(graph_, 0, 0);
            part.nodes = &piece;
            part.n_nodes = 1;
            CHECK(ggml_backend_graph_compute(cpu_.get(), &part) == GGML_STATUS_SUCCESS);
            cost += pieces.cost();
            ++parts_;
        }
        CHECK(cost == doctest::Approx(1));
        return bytes(*result) == whole;
    }

private:
    // Returns the bytes of `result`, computed at once, and spoils them.
    std::vector<std::byte> computed(ggml_tensor* result) {
        graph_ = ggml_new_graph(get());
        ggml_build_forward_expand(graph_, result);
        buffer_.reset(ggml_backend_alloc_ctx_tensors(get(), cpu_.get()));
        std::mt19937 random(11);
        std::normal_distribution<float> normal;
        for (auto* const one : inputs_) {
            std::vector<float> values(static_cast<std::size_t>(ggml_nelements(one)));
            std::ranges::generate(values, [&] { return normal(random); });
            if (one->type == GGML_TYPE_F16) {
                ggml_fp32_to_fp16_row(
                    values.data(), static_cast<ggml_fp16_t*>(one->data), ggml_nelements(one)
                );
            } else {
                std::memcpy(one->data, values.data(), ggml_nbytes(one));
            }
        }
        ggml_backend_graph_compute(cpu_.get(), graph_);
        auto whole = bytes(*result);
        std::memset(result->data, 0xee, ggml_nbytes(result));
        return whole;
    }

public:
    int parts() const { return parts_; }
    double cost_of_parts() const { return cost_; }
    double largest_part() const { return largest_; }
    double cost_of_graph() const { return cost_of(*graph_); }

private:
    static std::vector<std::byte> bytes(const ggml_tensor& tensor) {
        const auto* data = static_cast<const std::byte*>(tensor.data);
        return {data, data + ggml_nbytes(&tensor)};
    }

    void run_parts() {
        GraphParts parts(*graph_, true);
        while (auto* const part = parts.next()) {
            CHECK(ggml_backend_graph_compute(cpu_.get(), part) == GGML_STATUS_SUCCESS);
            ++parts_;
            cost_ += parts.cost();
            largest_ = std::max(largest_, parts.cost());
        }
    }

    std::unique_ptr<ggml_context, Free> context_;
    std::unique_ptr<ggml_backend, Free> cpu_;
    std::unique_ptr<ggml_backend_buffer, Free> buffer_;
    std::vector<ggml_tensor*> inputs_;
    ggml_cgraph* graph_ = nullptr;
    int parts_ = 0;
    double cost_ = 0;
    double largest_ = 0;
};

struct Convolution {
    std::int64_t width, height, channels, images; // of the input
    std::int64_t kernel_width, kernel_height;
    int stride, padding, dilation;
};

} // namespace

TEST_CASE("the kernel of IM2COL computes what ggml's computes") {
    const Convolution cases[] = {
        {40, 30, 5, 1, 3, 3, 1, 1, 1},
        {40, 30, 40, 2, 3, 3, 1, 1, 1},
        {600, 7, 3, 1, 3, 3, 1, 1, 1}, // wider than a segment
        {601, 9, 3, 1, 3, 3, 2, 1, 1},
        {33, 17, 12, 2, 1, 1, 1, 0, 1},
        {33, 17, 12, 1, 5, 2, 3, 4, 2},
        {300, 20, 4, 1, 8, 8, 8, 0, 1}, // patches
        {4, 3, 2, 1, 3, 3, 1, 5, 1},    // more padding than image
        {1, 1, 1, 1, 3, 3, 1, 1, 1},
    };
    for (const auto type : {GGML_TYPE_F16, GGML_TYPE_F32}) {
        for (const auto& one : cases) {
            CAPTURE(one.width);
            CAPTURE(one.kernel_width);
            CAPTURE(one.stride);
            Bench bench;
            auto* const kernel = bench.input(type, {one.kernel_width, one.kernel_height, one.channels, 1});
            auto* const image = bench.input(GGML_TYPE_F32, {one.width, one.height, one.channels, one.images});
            const auto [s, p, d] = std::tuple(one.stride, one.padding, one.dilation);
            auto* const columns = ggml_im2col(bench.get(), kernel, image, s, s, p, p, d, d, true, type);
            CHECK(bench.same_in_parts(columns));
            CHECK(is_own_im2col(*columns));
        }
    }
}

TEST_CASE("a node that the kernel cannot compute stays as it is") {
    Bench bench;
    auto* const kernel = bench.input(GGML_TYPE_F16, {9, 9, 2, 1}); // too wide
    auto* const image = bench.input(GGML_TYPE_F32, {40, 30, 2, 1});
    auto* const columns = ggml_im2col(bench.get(), kernel, image, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F16);
    CHECK(bench.same_in_parts(columns));
    CHECK(columns->op == GGML_OP_IM2COL);
}

TEST_CASE("long nodes are cut into pieces") {
    Bench bench;
    auto* const context = bench.get();
    auto* const kernel = bench.input(GGML_TYPE_F16, {3, 3, 128, 256});
    auto* const image = bench.input(GGML_TYPE_F32, {128, 128, 128, 1});
    auto* const convolved = ggml_conv_2d(context, kernel, image, 1, 1, 1, 1, 1, 1); // 9.7 G operations
    auto* const weight = bench.input(GGML_TYPE_F16, {128, 1024});
    auto* const wide = ggml_reshape_2d(context, ggml_cont(context, convolved), 128, 128 * 256);
    CHECK(bench.same_in_parts(ggml_mul_mat(context, weight, wide))); // 8.6 G operations
    CHECK(bench.parts() > 8);
    CHECK(bench.largest_part() < 300);
    CHECK(bench.cost_of_parts() == doctest::Approx(bench.cost_of_graph()));
}

TEST_CASE("nodes in pieces have the values of whole nodes") {
    using Make = ggml_tensor* (*)(Bench&);
    static constexpr auto make_image = [](Bench& bench) {
        return bench.input(GGML_TYPE_F32, {20, 12, 32, 1});
    };
    const std::pair<const char*, Make> cases[] = {
        {"add", [](Bench& b) { return ggml_add(b.get(), make_image(b), make_image(b)); }},
        {"add a channel's bias",
         [](Bench& b) { return ggml_add(b.get(), make_image(b), b.input(GGML_TYPE_F32, {1, 1, 32, 1})); }},
        {"multiply by one row",
         [](Bench& b) {
             return ggml_mul(b.get(), b.input(GGML_TYPE_F32, {64, 50}), b.input(GGML_TYPE_F32, {64}));
         }},
        {"scale", [](Bench& b) { return ggml_scale(b.get(), make_image(b), 0.3F); }},
        {"silu", [](Bench& b) { return ggml_silu(b.get(), make_image(b)); }},
        {"gelu of rows", [](Bench& b) { return ggml_gelu(b.get(), b.input(GGML_TYPE_F32, {64, 50})); }},
        {"norm", [](Bench& b) { return ggml_norm(b.get(), b.input(GGML_TYPE_F32, {64, 50}), 1e-5F); }},
        {"rms norm",
         [](Bench& b) { return ggml_rms_norm(b.get(), b.input(GGML_TYPE_F32, {64, 50}), 1e-5F); }},
        {"softmax", [](Bench& b) { return ggml_soft_max(b.get(), b.input(GGML_TYPE_F32, {64, 50, 6})); }},
        {"cont",
         [](Bench& b) { return ggml_cont(b.get(), ggml_permute(b.get(), make_image(b), 1, 0, 2, 3)); }},
        {"upscale",
         [](Bench& b) { return ggml_upscale(b.get(), make_image(b), 2, GGML_SCALE_MODE_NEAREST); }},
        {"group norm", [](Bench& b) { return ggml_group_norm(b.get(), make_image(b), 8, 1e-5F); }},
        {"product with weights",
         [](Bench& b) {
             return ggml_mul_mat(
                 b.get(), b.input(GGML_TYPE_F16, {64, 40}), b.input(GGML_TYPE_F32, {64, 100})
             );
         }},
        {"attention",
         [](Bench& b) {
             return ggml_mul_mat(
                 b.get(), b.input(GGML_TYPE_F32, {32, 70, 4}), b.input(GGML_TYPE_F32, {32, 90, 4})
             );
         }},
        {"convolution",
         [](Bench& b) {
             auto* const columns = ggml_dup(b.get(), b.input(GGML_TYPE_F16, {72, 400}));
             return ggml_mul_mat(b.get(), columns, b.input(GGML_TYPE_F16, {72, 24}));
         }},
        {"im2col", [](Bench& b) {
             auto* const kernel = b.input(GGML_TYPE_F16, {3, 3, 32, 8});
             return ggml_im2col(b.get(), kernel, make_image(b), 2, 2, 1, 1, 1, 1, true, GGML_TYPE_F16);
         }},
    };
    for (const auto& one : cases) {
        for (const int count : {2, 3, 1000}) {
            CAPTURE(one.first);
            CAPTURE(count);
            Bench bench;
            CHECK(bench.same_in_pieces(one.second(bench), count));
            CHECK(bench.parts() > 1);
        }
    }
}

TEST_CASE("nodes that cannot be cut are whole") {
    Bench bench;
    auto* const context = bench.get();
    auto* const image = bench.input(GGML_TYPE_F32, {20, 12, 30, 1});
    NodePieces pieces;
    const auto is_cut = [&](ggml_tensor* node) {
        node->flags |= GGML_TENSOR_FLAG_COMPUTE; // as in a graph
        return pieces.begin(*node, 1, 0.1);
    };
    CHECK(!is_cut(ggml_group_norm(context, image, 8, 1e-5F))); // 30 channels in 8 groups
    CHECK(!is_cut(ggml_concat(context, image, image, 2)));
    CHECK(!is_cut(ggml_silu(context, bench.input(GGML_TYPE_F32, {64})))); // a single row
    CHECK(!pieces.is_open());
    CHECK(is_cut(ggml_group_norm(context, image, 10, 1e-5F)));
    CHECK(pieces.is_open());
}

TEST_CASE("small graphs have few parts") {
    Bench bench;
    auto* const context = bench.get();
    auto* sum = bench.input(GGML_TYPE_F32, {64, 64});
    auto* const other = bench.input(GGML_TYPE_F32, {64, 64});
    for (int i = 0; i < 50; ++i) {
        sum = ggml_add(context, ggml_rms_norm(context, sum, 1e-6F), other);
    }
    CHECK(bench.same_in_parts(sum));
    CHECK(bench.parts() < 3);
}

TEST_CASE("progress is told in units and falls to the end") {
    const PhaseCosts expected{10, 100, 50};
    Progress progress(expected, 2, 3);
    CHECK(progress.remaining() == 2 * (10 + 3 * 100 + 50));
    progress.add(12.5);
    progress.begin_step(12);
    CHECK(progress.ends_step());
    auto told = progress.end_step();
    CHECK(told.evaluated == 12);
    CHECK(told.remaining == 710); // the prompt costs more than expected
    CHECK(progress.end_phase(0));
    CHECK(!progress.end_phase(0));
    CHECK(!progress.ends_step()); // 0.5 units
    for (std::uint32_t step = 1; step <= 3; ++step) {
        progress.add(60);
        CHECK(progress.end_phase(step));
    }
    told = progress.end_step();
    CHECK(told.evaluated == 180);
    CHECK(told.remaining == 50 + 12 + 3 * 60 + 50); // later steps are expected to cost what these did
    progress.add(40);
    progress.end_image();
    progress.end_step();
    progress.add(10);
    CHECK(progress.end_phase(0));
    progress.add(1e6);
    told = progress.end_step();
    CHECK(told.evaluated == 232); // not more than what was told to remain
    CHECK(told.remaining >= 1);
}

TEST_CASE("costs of other sizes follow from two that were measured") {
    const ExpectedCosts costs({100, {5, 10, 20}}, {400, {5, 40, 80}});
    CHECK(costs.of(200).before == doctest::Approx(5));
    CHECK(costs.of(200).step == doctest::Approx(20));
    CHECK(costs.of(400).after == doctest::Approx(80));
    CHECK(ExpectedCosts({100, {5, 10, 20}}, {100, {5, 10, 20}}).of(100).step == doctest::Approx(10));
    CHECK(ExpectedCosts({100, {0, 0, 0}}, {200, {9, 9, 9}}).of(10).step == 0); // not below 0
}
