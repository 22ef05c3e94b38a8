// Vocabularies for the golden tests.
#include "golden_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <gguf.h>
#include <memory>
#include <regex>
#include <stdexcept>

namespace golden {
namespace {

// End-of-turn tokens that llama.cpp does not recognise by spelling; a model's file names them.
constexpr std::array kEnds = {
    "<|END_OF_TURN_TOKEN|>",
    "<|assistant_end|>",
    "<|message_sep|>",
    "<|eot|>",
    "<seed:eos>",
    "</assistant>",
    "<|role_end|>",
    "<|end_of_msg|>",
    "<end_of_sentence>",
    "<sep>",
    "<SPECIAL_12>",
    "<｜hy_eos{}｜>",
};

// One template computes this part of its markers.
std::string filled(std::string spelling) {
    const auto gap = spelling.find("{}");
    return gap == std::string::npos ? spelling : spelling.replace(gap, 2, ":opensource");
}

struct Token {
    std::string text;
    std::int32_t type;
};

// Markers as in real tokenizers: those of reasoning and calls are not special tokens.
std::vector<Token> markers_of(const std::string& source) {
    static const std::regex plain(
        R"re(</?([a-z]+:)?(think|thinking|tool_call|tool_calls|arg_key|arg_value)>)re"
        R"re(|<[|｜][^<>\s]{0,20}(tool|call|channel|think|")[^<>\s]{0,20}>|<[a-z_]{0,10}(tool|call|channel)[a-z_]{0,10}\|>)re"
        R"re(|\[/?(THINK|TOOL_CALLS|CALL_ID|ARGS)\])re"
    );
    static const std::regex control(
        R"re(<\|[^|<>\s]{1,40}\|>|<｜[^<>\s]{1,60}｜>|\[/?[A-Z_]{3,30}\]|<[a-z_]{1,30}\|>|<\|[a-z_]{1,30}>)re"
        R"re(|</?(start|end)_of_turn>|<(seed|begin|end)[a-z_]*:?(bos|eos|of_sentence|of_document)>|</?assistant>)re"
        R"re(|\[e~\[|\]~b\]|\]~!b\[|<SPECIAL_1[0-9]>)re"
    );
    std::vector<Token> tokens;
    const auto add = [&](const std::regex& form, std::int32_t type) {
        for (std::sregex_iterator at(source.begin(), source.end(), form), end; at != end; ++at) {
            const auto text = filled(at->str());
            const bool known = std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
                return token.text == text;
            });
            if (!known) {
                tokens.push_back({text, type});
            }
        }
    };
    add(plain, LLAMA_TOKEN_TYPE_USER_DEFINED);
    add(control, LLAMA_TOKEN_TYPE_CONTROL);
    return tokens;
}

// GPT-2's encoding of a byte.
std::string spelt(unsigned byte) {
    const auto is_plain = [](unsigned one) {
        return (one >= 0x21 && one <= 0x7E) || (one >= 0xA1 && one <= 0xAC) || (one >= 0xAE && one <= 0xFF);
    };
    unsigned code = byte;
    if (!is_plain(byte)) {
        code = 256;
        for (unsigned one = 0; one < byte; ++one) {
            code += !is_plain(one);
        }
    }
    if (code < 0x80) {
        return {static_cast<char>(code)};
    }
    return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

void set_texts(gguf_context* file, const char* key, const std::vector<std::string>& texts) {
    std::vector<const char*> plain;
    for (const auto& text : texts) {
        plain.push_back(text.c_str());
    }
    gguf_set_arr_str(file, key, plain.data(), plain.size());
}

// Returns the index of `spelling` in `tokens`; appends it if it is missing.
std::uint32_t place_of(std::vector<Token>& tokens, const std::string& spelling) {
    auto found = std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) {
        return token.text == spelling;
    });
    if (found == tokens.end()) {
        found = tokens.insert(tokens.end(), {spelling, LLAMA_TOKEN_TYPE_CONTROL});
    }
    found->type = LLAMA_TOKEN_TYPE_CONTROL;
    return static_cast<std::uint32_t>(found - tokens.begin());
}

llama_model* model_of(std::vector<Token> tokens, const std::string& source) {
    const auto* end = std::find_if(kEnds.begin(), kEnds.end(), [&](const char* spelling) {
        return source.find(spelling) != std::string::npos;
    });
    std::unique_ptr<gguf_context, decltype(&gguf_free)> file(gguf_init_empty(), gguf_free);
    gguf_set_val_str(file.get(), "general.architecture", "llama");
    gguf_set_val_str(file.get(), "tokenizer.ggml.model", "gpt2");
    gguf_set_val_str(file.get(), "tokenizer.ggml.pre", "llama-bpe");
    gguf_set_val_u32(file.get(), "tokenizer.ggml.bos_token_id", place_of(tokens, "<s>"));
    gguf_set_val_u32(
        file.get(),
        "tokenizer.ggml.eos_token_id",
        place_of(tokens, end == kEnds.end() ? "</s>" : filled(*end))
    );
    std::vector<std::string> texts;
    std::vector<std::int32_t> types;
    for (const auto& token : tokens) {
        texts.push_back(token.text);
        types.push_back(token.type);
    }
    set_texts(file.get(), "tokenizer.ggml.tokens", texts);
    set_texts(file.get(), "tokenizer.ggml.merges", {"t h"});
    gguf_set_arr_data(file.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> disk(std::tmpfile(), std::fclose);
    if (!disk || !gguf_write_to_file_ptr(file.get(), disk.get(), false)) {
        throw std::runtime_error("no temporary file can be written");
    }
    std::rewind(disk.get());
    auto how = llama_model_default_params();
    how.vocab_only = true;
    how.load_mode = LLAMA_LOAD_MODE_NONE;
    return llama_model_load_from_file_ptr(disk.get(), how);
}

llama_model* model_at(const std::filesystem::path& gguf) {
    auto how = llama_model_default_params();
    how.vocab_only = true;
    return llama_model_load_from_file(gguf.c_str(), how);
}

} // namespace

Vocabulary::Vocabulary(llama_model* model) : model_(model) {
    if (!model) {
        throw std::runtime_error("llama.cpp does not take the vocabulary");
    }
    tokenizer_ = std::make_unique<sotto::llama::Tokenizer>(vocab());
}

Vocabulary::Vocabulary(const std::filesystem::path& gguf) : Vocabulary(model_at(gguf)) {}

Vocabulary Vocabulary::of_template(const std::string& source) {
    std::vector<Token> tokens;
    for (unsigned byte = 0; byte < 256; ++byte) {
        tokens.push_back({spelt(byte), LLAMA_TOKEN_TYPE_NORMAL});
    }
    tokens.push_back({"th", LLAMA_TOKEN_TYPE_NORMAL});
    for (auto& marker : markers_of(source)) {
        tokens.push_back(std::move(marker));
    }
    return Vocabulary(model_of(std::move(tokens), source));
}

std::vector<std::string> Vocabulary::controls() const {
    std::vector<std::string> spellings;
    for (llama_token token = 0; token < tokenizer_->size(); ++token) {
        if ((llama_vocab_get_attr(vocab(), token) & LLAMA_TOKEN_ATTR_CONTROL) != 0) {
            spellings.emplace_back(llama_vocab_get_text(vocab(), token));
        }
    }
    return spellings;
}

} // namespace golden
