#include "backends/diffusion/file/tensor_check.hpp"

#include <algorithm>
#include <array>

#include "abi/error.hpp"
#include "json/utf8_cut.hpp"

namespace sotto::diffusion {
namespace {

constexpr std::size_t kMaxNameBytes = 127; // ggml keeps 128 with the final NUL
constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kMaxExtent = 1 << 20;
constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 31) - 1; // converted with 32-bit integers
constexpr std::int64_t kMaxBlock = 200; // published networks have up to 80 blocks

bool is_control(char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}

// Returns true if a number after this component of a name counts the blocks of a network.
bool counts(std::string_view component) {
    constexpr std::array<std::string_view, 6> kEnds = {"blocks", "layers", "blk", "block", "sub", "body"};
    return std::any_of(kEnds.begin(), kEnds.end(), [&](auto end) { return component.ends_with(end); });
}

// Returns the number that atoi() reads from `text`, or kMaxBlock + 1 if it is larger than kMaxBlock.
std::int64_t leading_number(std::string_view text) {
    const auto start = text.find_first_not_of(' ');
    text.remove_prefix(std::min(start, text.size()));
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    std::int64_t number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9' || number > kMaxBlock) {
            break;
        }
        number = number * 10 + (digit - '0');
    }
    return std::min(number, kMaxBlock + 1);
}

void check_blocks(std::string_view name) {
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
        if (counts(name.substr(0, dot)) && leading_number(name.substr(dot + 1)) > kMaxBlock) {
            refuse_tensor(name, "block number above " + std::to_string(kMaxBlock));
        }
    }
    // stable-diffusion.cpp takes what follows the block's number without a check that anything does
    constexpr std::string_view kOpenClip = "resblocks.";
    const auto block = name.rfind(kOpenClip);
    if (block != std::string_view::npos &&
        name.find('.', block + kOpenClip.size()) == std::string_view::npos) {
        refuse_tensor(name, "name without a part after the number of the block");
    }
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string_view last_component(std::string_view name) {
    return name.substr(name.rfind('.') + 1); // npos + 1 is 0
}

// Tensors whose presence is a flag.
bool is_marker(std::string_view name) {
    const auto last = last_component(name);
    return is_one_of(last, {"v_pred", "ztsnr", "scaled_fp8"}) ||
           (last.starts_with("__") && last.ends_with("__"));
}

// Tensors of integers that no network computes with.
bool is_counter(std::string_view name, std::uint64_t elements) {
    const auto last = last_component(name);
    return is_marker(name) || last == "position_ids" ||
           (elements == 1 &&
            (last == name || is_one_of(last, {"alpha", "num_updates", "num_batches_tracked"})));
}

} // namespace

void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

void refuse_tensor(std::string_view name, const std::string& reason) {
    auto shown = utf8_shortened(name, kMaxNameBytes);
    std::replace_if(shown.begin(), shown.end(), is_control, ' ');
    refuse("tensor '" + shown + "': " + reason);
}

void check_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxNameBytes) {
        refuse_tensor(
            name,
            "name of " + std::to_string(name.size()) + " bytes; expected 1 to " +
                std::to_string(kMaxNameBytes)
        );
    }
    if (std::any_of(name.begin(), name.end(), is_control)) {
        refuse_tensor(name, "name with control characters");
    }
    check_blocks(name);
}

std::uint64_t check_shape(const TensorFact& tensor) {
    if (tensor.shape.size() > kMaxRank) {
        refuse_tensor(
            tensor.name,
            std::to_string(tensor.shape.size()) + " dimensions; expected at most " + std::to_string(kMaxRank)
        );
    }
    std::uint64_t elements = 1;
    for (const auto extent : tensor.shape) {
        const bool empty = extent == 0 && tensor.shape.size() == 1 && is_marker(tensor.name);
        if (extent > kMaxExtent || (extent < 1 && !empty)) {
            refuse_tensor(
                tensor.name,
                "extent " + std::to_string(extent) + "; expected 1 to " + std::to_string(kMaxExtent)
            );
        }
        elements *= static_cast<std::uint64_t>(extent); // at most 2^31 * 2^20
        if (elements > kMaxElements) {
            refuse_tensor(tensor.name, "more than " + std::to_string(kMaxElements) + " elements");
        }
    }
    return elements;
}

void check_type(const TensorFact& tensor, std::uint64_t elements) {
    const auto last = last_component(tensor.name);
    if (is_one_of(last, {"scale_weight", "weight_scale", "comfy_quant"})) {
        refuse_tensor(
            tensor.name,
            "weights that are scaled by tensors of their own are not supported; use a file of fp16, bf16 or "
            "plain fp8 "
            "weights, or a GGUF file"
        );
    }
    if (tensor.type == "U8" && last == "weight") {
        refuse_tensor(
            tensor.name,
            "packed weights are not supported; use a file of fp16 or bf16 weights, or a GGUF file"
        );
    }
    const bool integers = tensor.type.starts_with('I') || tensor.type.starts_with('i');
    const bool quantised = tensor.type.starts_with("iq");
    if (integers && !quantised && !is_counter(tensor.name, elements)) {
        refuse_tensor(tensor.name, "integers of type " + tensor.type + " in place of weights");
    }
}

} // namespace sotto::diffusion
