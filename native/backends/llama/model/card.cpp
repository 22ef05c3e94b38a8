// What a model's file says about it, for display and for tools.
#include "model/card.hpp"

#include "json/utf8_cut.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace sotto::llama {
namespace {

constexpr std::int32_t kMaxEntries = 256; // of the metadata
constexpr std::size_t kMaxKey = 128;      // bytes
constexpr std::size_t kMaxValue = 512;    // bytes; a longer value is shortened
constexpr std::size_t kMaxTemplates = 16;
constexpr std::size_t kMaxTemplate = 64 * 1024; // bytes; a longer template is left out
constexpr std::string_view kTemplate = "tokenizer.chat_template";

// Returns the text that `read` stores in a buffer as snprintf() does.
template <typename Read>
std::string text_from(const Read& read) {
    std::string text(kMaxValue, '\0');
    const auto size = read(text.data(), text.size());
    if (size < 0) {
        return {};
    }
    if (static_cast<std::size_t>(size) >= text.size()) {
        text.resize(static_cast<std::size_t>(size) + 1);
        read(text.data(), text.size());
    }
    text.resize(static_cast<std::size_t>(size));
    return text;
}

const char* name_of(enum llama_vocab_type type) {
    constexpr const char* kNames[] = {"none", "spm", "bpe", "wpm", "ugm", "rwkv", "plamo2"};
    return static_cast<std::size_t>(type) < std::size(kNames) ? kNames[type] : "other";
}

Json special_tokens_of(const llama_vocab* vocab) {
    auto tokens = Json::object();
    for (const auto& [name, token] : {
             std::pair("bos", llama_vocab_bos(vocab)),
             std::pair("eos", llama_vocab_eos(vocab)),
             std::pair("eot", llama_vocab_eot(vocab)),
             std::pair("sep", llama_vocab_sep(vocab)),
             std::pair("nl", llama_vocab_nl(vocab)),
             std::pair("pad", llama_vocab_pad(vocab)),
             std::pair("mask", llama_vocab_mask(vocab)),
             std::pair("fim_pre", llama_vocab_fim_pre(vocab)),
             std::pair("fim_suf", llama_vocab_fim_suf(vocab)),
             std::pair("fim_mid", llama_vocab_fim_mid(vocab)),
             std::pair("fim_pad", llama_vocab_fim_pad(vocab)),
             std::pair("fim_rep", llama_vocab_fim_rep(vocab)),
             std::pair("fim_sep", llama_vocab_fim_sep(vocab)),
         }) {
        if (token >= 0 && token < llama_vocab_n_tokens(vocab)) {
            const std::string text = llama_vocab_get_text(vocab, token);
            tokens[name] = {{"id", token}, {"text", utf8_shortened(text, kMaxValue)}};
        }
    }
    return tokens;
}

// Returns the name of the chat template with this key: "default", or what follows the common beginning;
// empty: the key is not that of a chat template.
std::string template_name(std::string_view key) {
    if (!key.starts_with(kTemplate)) {
        return {};
    }
    const auto name = key.substr(kTemplate.size());
    return name.empty() ? "default" : name.starts_with('.') ? std::string(name.substr(1)) : std::string();
}

} // namespace

Json card_of(const llama_model* model) {
    const auto* vocab = llama_model_get_vocab(model);
    auto metadata = Json::object();
    auto templates = Json::object();
    const auto count = std::min(llama_model_meta_count(model), kMaxEntries);
    for (std::int32_t i = 0; i < count; ++i) {
        const auto key = text_from([&](char* out, std::size_t size) {
            return llama_model_meta_key_by_index(model, i, out, size);
        });
        auto value = text_from([&](char* out, std::size_t size) {
            return llama_model_meta_val_str_by_index(model, i, out, size);
        });
        if (const auto name = template_name(key); !name.empty()) {
            if (templates.size() < kMaxTemplates && value.size() <= kMaxTemplate) {
                templates[utf8_shortened(name, kMaxKey)] = std::move(value);
            }
        } else {
            metadata[utf8_shortened(key, kMaxKey)] = utf8_shortened(value, kMaxValue);
        }
    }
    return {
        {"embedding_length", llama_model_n_embd(model)},
        {"vocabulary_type", name_of(llama_vocab_type(vocab))},
        {"adds_bos", llama_vocab_get_add_bos(vocab)},
        {"adds_eos", llama_vocab_get_add_eos(vocab)},
        {"special_tokens", special_tokens_of(vocab)},
        {"chat_templates", std::move(templates)},
        {"metadata", std::move(metadata)},
    };
}

} // namespace sotto::llama
