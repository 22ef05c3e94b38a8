// Operations that need no computation (tokenize, detokenize, apply template), and prompts of completions.
#include "chat/prepare.hpp"
#include "request/fields.hpp"
#include "runtime/json_parts.hpp"
#include "token/token_operations.hpp"

namespace sotto::llama {
namespace {

std::string field(const Json& body, const char* name) {
    return value_or<std::string>(body, name, "");
}

std::string whole_of(const std::vector<PromptPart>& parts) {
    std::string whole;
    for (const auto& part : parts) {
        whole += part.medium >= 0 ? "<__media__>" : part.text;
    }
    return whole;
}

// Returns the parts of a text completion's prompt, whose images and sounds media_of() extracted.
std::vector<PromptPart> parts_of(const Json& prompt) {
    std::vector<PromptPart> parts;
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        const auto& part = prompt[i];
        check_reads(part, "prompt[" + std::to_string(i) + "]");
        parts.push_back({value_or<std::string>(part, "text", ""), true, value_or(part, "medium", -1)});
    }
    return parts;
}

llama_token required(llama_token token, const char* what) {
    if (token == LLAMA_TOKEN_NULL) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            std::string("the model does not support infill: its vocabulary lacks a token for the ") + what
        );
    }
    return token;
}

} // namespace

std::string Preparer::answer_at_once(sotto_op op, const Json& body) const {
    switch (op) {
    case SOTTO_OP_TOKENIZE:
        return tokenize(body, tokenizer_, [this](auto& tokens) { tokenizer_.begin(tokens); });
    case SOTTO_OP_DETOKENIZE:
        return detokenize(body, tokenizer_);
    case SOTTO_OP_APPLY_TEMPLATE: {
        auto text = body;
        media_of(text);
        const auto prompt = chat().prompt(text);
        return text_of({{"prompt", whole_of(prompt.parts)}});
    }
    default:
        return {};
    }
}

// Tokenizes the prompt of a text completion or an infill into `prepared`.
void Preparer::take_text(sotto_op op, const Json& body, Prepared& prepared) const {
    const auto* prompt = find(body, field::prompt);
    const bool has_parts = prompt != nullptr && prompt->is_array() && prompt->front().is_object();
    if (has_parts) {
        auto text = body; // a copy whose images and sounds are extracted
        const auto media = media_of(text);
        cut(parts_of(text.at(field::prompt.name)), media, context_, prepared);
        return;
    }
    const bool infill = op == SOTTO_OP_INFILL || find(body, field::suffix) != nullptr;
    prepared.prompt = infill ? infill_prompt(body) : text_prompt(body);
    const auto whole = prepared.prompt.size();
    take_tail(prepared.prompt, body);
    prepared.truncated = prepared.prompt.size() < whole;
}

// Returns the tokens of an infill prompt. Order: other files, prefix, suffix: most models are trained with
// this order.
std::vector<llama_token> Preparer::infill_prompt(const Json& body) const {
    const auto* vocab = tokenizer_.vocab();
    std::vector<llama_token> tokens;
    const auto add = [&](const std::string& text) {
        const auto cut = tokenizer_.cut(text, false);
        tokens.insert(tokens.end(), cut.begin(), cut.end());
    };
    const auto repository = llama_vocab_fim_rep(vocab);
    const auto file = llama_vocab_fim_sep(vocab);
    const auto extra = body.find(field::input_extra.name);
    if (extra != body.end() && extra->is_array() && !extra->empty() && repository != LLAMA_TOKEN_NULL) {
        tokens.push_back(repository);
        add("project\n");
    }
    for (const auto& one : extra != body.end() && extra->is_array() ? *extra : Json::array()) {
        if (file != LLAMA_TOKEN_NULL) {
            tokens.push_back(file);
            add(field(one, "filename") + "\n");
        }
        add(field(one, "text"));
        add("\n");
    }
    const bool completion = body.contains(field::suffix.name); // a text completion
    tokens.push_back(required(llama_vocab_fim_pre(vocab), "text before it"));
    add(completion ? field(body, "prompt") : field(body, "input_prefix"));
    tokens.push_back(required(llama_vocab_fim_suf(vocab), "text after it"));
    add(completion ? field(body, "suffix") : field(body, "input_suffix"));
    tokens.push_back(required(llama_vocab_fim_mid(vocab), "gap itself"));
    if (!completion) {
        add(field(body, "prompt")); // the start of the answer
    }
    tokenizer_.begin(tokens);
    return tokens;
}

} // namespace sotto::llama
