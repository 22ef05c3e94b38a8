#include "backends/diffusion/im2col.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <ggml-cpu.h>
#include <ggml-impl.h>

namespace sotto::diffusion {
namespace {

// Parameters of the node, in place of those of IM2COL.
struct Im2colParams {
    ggml_custom_op_params custom;
    std::int32_t stride[2]; // by columns and by rows, as the next two
    std::int32_t padding[2];
    std::int32_t dilation[2];
    std::int32_t first_row; // of the result
};
static_assert(sizeof(Im2colParams) <= GGML_MAX_OP_PARAMS);

constexpr std::int64_t kLongestKernel = 8; // columns or rows
constexpr std::int64_t kMostReach = 64;    // columns of the image from the first to the last of a kernel
constexpr std::int64_t kSegment = 256;     // columns of the image that are laid out together
constexpr std::size_t kBuffer = 8192;      // values: kSegment columns of kLongestKernel rows of 4 channels

Im2colParams params_of(const ggml_tensor& node) noexcept {
    Im2colParams params;
    std::memcpy(&params, node.op_params, sizeof params);
    return params;
}

void write(ggml_tensor& node, const Im2colParams& params) noexcept {
    std::memcpy(node.op_params, &params, sizeof params);
}

void convert(const float* values, float* to, std::int64_t count) noexcept {
    std::copy_n(values, count, to);
}

void convert(const float* values, ggml_fp16_t* to, std::int64_t count) noexcept {
    ggml_cpu_fp32_to_fp16(values, to, count);
}

// Lays out one row of pixels of the result.
template <typename Value>
class RowLayout {
public:
    RowLayout(const ggml_tensor& node, const Im2colParams& params) noexcept
        : image_(*node.src[1]), params_(params), width_(node.src[0]->ne[0]), height_(node.src[0]->ne[1]),
          columns_(node.ne[1]), values_(node.ne[0]), segment_((kSegment - reach()) / params.stride[0] + 1) {}

    // `row`: of the result. `to`: its first value.
    void run(std::int64_t image, std::int64_t row, Value* to) noexcept {
        const auto most = static_cast<std::int64_t>(kBuffer) / (height_ * kSegment);
        for (std::int64_t column = 0; column < columns_; column += segment_) {
            const auto columns = std::min(segment_, columns_ - column);
            for (std::int64_t channel = 0; channel < image_.ne[2]; channel += most) {
                const auto channels = std::min(most, image_.ne[2] - channel);
                for (std::int64_t i = 0; i < channels; ++i) {
                    load(image, channel + i, row, column, buffer_.data() + i * height_ * kSegment);
                }
                store(columns, channels, to + column * values_ + channel * width_ * height_);
            }
        }
    }

private:
    std::int64_t reach() const noexcept { return (width_ - 1) * params_.dilation[0] + 1; }

    // Converts the values of a channel that the kernel reaches from `column` on: kSegment columns of each of
    // its rows; zeros beside the image.
    void load(
        std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t column, Value* to
    ) const noexcept {
        const auto left = column * params_.stride[0] - params_.padding[0];
        const auto begin = std::clamp<std::int64_t>(-left, 0, kSegment);
        const auto end = std::clamp<std::int64_t>(image_.ne[0] - left, begin, kSegment);
        const auto* plane =
            static_cast<const std::byte*>(image_.data) + image * image_.nb[3] + channel * image_.nb[2];
        for (std::int64_t i = 0; i < height_; ++i, to += kSegment) {
            const auto y = row * params_.stride[1] + i * params_.dilation[1] - params_.padding[1];
            if (y < 0 || y >= image_.ne[1] || begin == end) {
                std::fill_n(to, kSegment, Value{});
                continue;
            }
            std::fill_n(to, begin, Value{});
            convert(
                reinterpret_cast<const float*>(plane + y * image_.nb[1]) + left + begin,
                to + begin,
                end - begin
            );
            std::fill_n(to + end, kSegment - end, Value{});
        }
    }

    void store(std::int64_t columns, std::int64_t channels, Value* to) const noexcept {
        constexpr std::int64_t kUsual = 3; // columns of most kernels
        const auto rows = channels * height_;
        const bool dense = params_.dilation[0] == 1;
        for (std::int64_t column = 0; column < columns; ++column, to += values_) {
            const Value* from = buffer_.data() + column * params_.stride[0];
            if (dense && width_ == kUsual) {
                copy_rows<kUsual>(from, rows, to);
            } else if (width_ == 1) {
                copy_rows<1>(from, rows, to);
            } else {
                copy_rows(from, rows, to);
            }
        }
    }

    template <std::int64_t kWidth>
    static void copy_rows(const Value* from, std::int64_t rows, Value* to) noexcept {
        for (std::int64_t row = 0; row < rows; ++row) {
            std::memcpy(to + row * kWidth, from + row * kSegment, kWidth * sizeof(Value));
        }
    }

    void copy_rows(const Value* from, std::int64_t rows, Value* to) const noexcept {
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t i = 0; i < width_; ++i) {
                to[row * width_ + i] = from[row * kSegment + i * params_.dilation[0]];
            }
        }
    }

    const ggml_tensor& image_;
    const Im2colParams params_;
    const std::int64_t width_; // of the kernel
    const std::int64_t height_;
    const std::int64_t columns_; // of the result
    const std::int64_t values_;  // of one of its pixels
    const std::int64_t segment_; // columns of the result that kSegment columns of the image are enough for
    std::array<Value, kBuffer> buffer_;
};

template <typename Value>
void lay_out(ggml_tensor& node, int thread, int threads) noexcept {
    const auto params = params_of(node);
    RowLayout<Value> layout(node, params);
    const auto rows = node.ne[2] * node.ne[3];
    const auto end = rows * (thread + 1) / threads;
    for (auto i = rows * thread / threads; i < end; ++i) {
        const auto image = i / node.ne[2];
        const auto row = i % node.ne[2];
        auto* const to = static_cast<std::byte*>(node.data) + image * node.nb[3] + row * node.nb[2];
        layout.run(image, params.first_row + row, reinterpret_cast<Value*>(to));
    }
}

void compute(ggml_tensor* node, int thread, int threads, void*) noexcept {
    if (node->type == GGML_TYPE_F16) {
        lay_out<ggml_fp16_t>(*node, thread, threads);
    } else {
        lay_out<float>(*node, thread, threads);
    }
}

} // namespace

bool take_over_im2col(ggml_tensor& node) noexcept {
    if (node.op != GGML_OP_IM2COL || (node.type != GGML_TYPE_F16 && node.type != GGML_TYPE_F32)) {
        return false;
    }
    const auto param = [&](std::uint32_t i) { return ggml_get_op_params_i32(&node, i); };
    constexpr std::uint32_t kIs2d = 6;
    const auto& kernel = *node.src[0];
    const auto& image = *node.src[1];
    const Im2colParams params = {
        .custom = {compute, GGML_N_TASKS_MAX, nullptr},
        .stride = {param(0), param(1)},
        .padding = {param(2), param(3)},
        .dilation = {param(4), param(5)},
        .first_row = 0
    };
    const bool fits = param(kIs2d) == 1 && image.type == GGML_TYPE_F32 && image.nb[0] == sizeof(float) &&
                      kernel.ne[0] <= kLongestKernel && kernel.ne[1] <= kLongestKernel &&
                      (kernel.ne[0] - 1) * params.dilation[0] < kMostReach && params.stride[0] > 0;
    if (fits) {
        write(node, params);
        node.op = GGML_OP_CUSTOM;
    }
    return fits;
}

bool is_own_im2col(const ggml_tensor& node) noexcept {
    return node.op == GGML_OP_CUSTOM && params_of(node).custom.fun == compute;
}

void set_first_row(ggml_tensor& copy, std::int64_t first) noexcept {
    auto params = params_of(copy);
    params.first_row = static_cast<std::int32_t>(first);
    write(copy, params);
}

} // namespace sotto::diffusion
