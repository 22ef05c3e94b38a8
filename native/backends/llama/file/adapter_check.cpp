// Validates the file of a LoRA adapter against its model, before llama.cpp reads it.
#include "file/adapter_check.hpp"

#include "file/tensor_rules.hpp"

#include <algorithm>
#include <cmath>
#include <ggml.h>
#include <gguf.h>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::llama {
namespace {

constexpr std::string_view kA = ".lora_a";
constexpr std::string_view kB = ".lora_b";

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

// Throws unless the text stored under `key` is `expected`. `reason`: a hint how to fix the file, for the
// error.
void expect(const GgufValues& values, std::string_view key, const std::string& expected, const char* reason) {
    const auto found = values.find(key);
    const bool is_text =
        found != values.end() && !found->second.is_array && found->second.type == GGUF_TYPE_STRING;
    if (!is_text || found->second.text != expected) {
        refuse(invalid(key, is_text ? found->second.text : "", "'" + expected + "'; " + reason));
    }
}

void check_values(const GgufValues& values, const AdapterBase& base) {
    expect(values, "general.type", "adapter", "pass the file of an adapter, not of a model");
    expect(values, "adapter.type", "lora", "pass a LoRA adapter");
    expect(
        values,
        "general.architecture",
        base.architecture,
        "the architecture of the model; pass an adapter that was trained for this model"
    );
    if (values.contains("adapter.alora.invocation_tokens")) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the adapter has adapter.alora.invocation_tokens: activated LoRA is not supported; "
            "pass a plain LoRA adapter"
        );
    }
    const auto alpha = values.find("adapter.lora.alpha");
    if (alpha == values.end()) {
        return; // without alpha, llama.cpp uses a scale of 1
    }
    const auto& value = alpha->second;
    if (value.is_array || value.type != GGUF_TYPE_FLOAT32 || !std::isfinite(value.numbers.front())) {
        refuse("invalid adapter.lora.alpha: expected a finite float32; convert the adapter again");
    }
}

std::string shown(const std::vector<std::uint64_t>& extents) {
    std::string text;
    for (const auto extent : extents) {
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
    }
    return text;
}

std::uint64_t extent(const std::vector<std::uint64_t>& extents, std::size_t i) {
    return i < extents.size() ? extents[i] : 1;
}

// Returns true if the product of A and B, as llama.cpp computes it, has the shape of the weight `of`. For the
// token embeddings A and B are transposed, because rows are looked up in them.
bool fits(
    const std::vector<std::uint64_t>& a,
    const std::vector<std::uint64_t>& b,
    const std::vector<std::uint64_t>& of,
    bool embeddings
) {
    if (embeddings) {
        return extent(a, 1) == of[1] && extent(b, 1) == of[0] && extent(a, 0) == extent(b, 0);
    }
    return extent(a, 0) == of[0] && extent(b, 1) == of[1] && extent(a, 1) == extent(b, 0) &&
           extent(a, 2) == of[2] && extent(b, 2) == of[2];
}

void check_pair(const GgufTensors& tensors, const AdapterBase& base, const std::string& name) {
    const auto* a = find_tensor(tensors, name + std::string(kA));
    const auto* b = find_tensor(tensors, name + std::string(kB));
    if (a == nullptr || b == nullptr) {
        refuse(
            "missing tensor '" + name + std::string(a == nullptr ? kA : kB) +
            "': expected beside the other one of the pair; convert the adapter again"
        );
    }
    const auto weight = base.tensors.find(name);
    if (weight == base.tensors.end()) {
        refuse(
            "invalid tensor '" + a->name +
            "': expected the name of one of the model's weights; "
            "pass an adapter that was trained for this model"
        );
    }
    const auto& of = weight->second;
    if (!fits(a->extents, b->extents, of, name == "token_embd.weight")) {
        refuse(
            "invalid tensor '" + name + "': A of " + shown(a->extents) + " and B of " + shown(b->extents) +
            "; expected " + std::to_string(of[0]) + " x rank and rank x " + std::to_string(of[1]) +
            ", as the weight is " + shown({of[0], of[1]}) +
            "; pass an adapter that was trained for this model"
        );
    }
}

void check_tensors(const GgufTensors& tensors, const AdapterBase& base) {
    for (const auto& [name, tensor] : tensors) {
        const bool is_a = name.ends_with(kA);
        if (!is_a && !name.ends_with(kB)) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                "tensor '" + name +
                    "' is not supported: expected the suffix .lora_a or .lora_b; "
                    "train the adapter without modules_to_save"
            );
        }
        check_pair(tensors, base, name.substr(0, name.size() - kA.size()));
    }
}

// Returns a hash of the whole file. Throws if a tensor contains NaN or infinity.
std::uint64_t check_numbers(Source& source, const GgufFacts& facts) {
    std::vector<char> bytes;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    const auto add = [&](std::uint64_t offset, std::uint64_t count) {
        bytes.resize(count);
        source.read(offset, bytes.data(), count);
        XXH3_64bits_update(&state, bytes.data(), count);
    };
    add(0, facts.data);
    for (const auto& [name, tensor] : facts.tensors) {
        add(facts.data + tensor.offset, tensor.bytes);
        if (!ggml_validate_row_data(static_cast<ggml_type>(tensor.type), bytes.data(), bytes.size())) {
            refuse(
                "invalid tensor '" + name +
                "': it holds NaN or infinity; expected finite numbers; "
                "train or convert the adapter again"
            );
        }
    }
    return XXH3_64bits_digest(&state);
}

} // namespace

AdapterFacts check_adapter(Source& source, const AdapterBase& base, AdapterCheck what) {
    const auto found = check_gguf(source, GgufKind::Adapter);
    check_values(found.values, base);
    check_tensors(found.tensors, base);
    AdapterFacts facts;
    facts.weights = found.weights;
    for (const auto& [name, tensor] : found.tensors) {
        facts.widest = std::max(facts.widest, name.ends_with(kB) ? extent(tensor.extents, 1) : 0);
    }
    facts.hash = what == AdapterCheck::All ? check_numbers(source, found) : 0;
    return facts;
}

} // namespace sotto::llama
