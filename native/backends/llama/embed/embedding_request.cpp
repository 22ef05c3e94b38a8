// Prepares requests for an embedding model: tokenizes texts, and pairs of a query and a document.
#include "embed/embedding_request.hpp"

#include "embed/pooling.hpp"
#include "request/fields.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"
#include "token/token_operations.hpp"
#include "json/utf8_cut.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

using Tokens = std::vector<llama_token>;

std::string indexed(const std::string& list, std::size_t i) {
    return list + "[" + std::to_string(i) + "]";
}

Error too_long(const std::string& path, std::size_t tokens, std::size_t max) {
    return Error(
        SOTTO_ERROR_ARGUMENT,
        "invalid " + path + " of " + std::to_string(tokens) + " tokens: expected at most " +
            std::to_string(max) + ", the model's context; shorten the text, or set truncate"
    );
}

void append_tokens(Tokens& tokens, const Tokens& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
}

void append_tokens(Tokens& tokens, llama_token token, bool wanted) {
    if (wanted && token != LLAMA_TOKEN_NULL) {
        tokens.push_back(token);
    }
}

// Tokenizes a text as llama.cpp does by default: with special tokens around it.
Tokens enclosed(const llama_vocab* vocab, std::string_view text) {
    const auto size = static_cast<std::int32_t>(text.size());
    Tokens tokens(text.size() + 16);
    const auto room = static_cast<std::int32_t>(tokens.size());
    const auto count = llama_tokenize(vocab, text.data(), size, tokens.data(), room, true, false);
    tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
    return tokens;
}

// Splits a template at the first `mark`; the text before it is appended to `parts`. Returns the rest.
std::string_view take_until(std::string_view form, std::string_view mark, std::vector<PromptPart>& parts) {
    const auto at = form.find(mark);
    parts.push_back({std::string(form.substr(0, at)), true});
    return at == std::string_view::npos ? std::string_view() : form.substr(at + mark.size());
}

const std::string& text_of_document(const Json& document) {
    return (document.is_object() ? document.at("text") : document).get_ref<const std::string&>();
}

} // namespace

EmbeddingPreparer::EmbeddingPreparer(const llama_model* model, const Options& options)
    : model_(model), context_(options.context), ranks_(options.pooling == Options::Pooling::Rank),
      of_tokens_(options.pooling == Options::Pooling::Tokens), size_(values_of(model, options)),
      tokenizer_(llama_model_get_vocab(model)) {
    constexpr std::string_view kText = "a";
    const auto bare = tokenizer_.cut(kText, false);
    const auto whole = enclosed(tokenizer_.vocab(), kText);
    const auto found = std::search(whole.begin(), whole.end(), bare.begin(), bare.end());
    if (found != whole.end()) {
        before_.assign(whole.begin(), found);
        after_.assign(found + static_cast<std::ptrdiff_t>(bare.size()), whole.end());
    }
}

Json EmbeddingPreparer::capabilities() const {
    return {
        {"chat", false},
        {"vision", false},
        {"audio", false},
        {"infill", false},
        {"embed", !ranks_},
        {"rerank", ranks_},
    };
}

// Returns the tokens of a text between the special tokens. Cuts the text's own tokens if it is too long.
Tokens EmbeddingPreparer::text(const std::string& text, const std::string& path, bool truncate) const {
    auto own = tokenizer_.cut(text, false);
    const auto around = before_.size() + after_.size();
    const auto room = context_ - std::min(context_, around);
    if (own.size() > room) {
        if (!truncate) {
            throw too_long(path, own.size() + around, context_);
        }
        own.resize(room);
    }
    auto tokens = before_;
    append_tokens(tokens, own);
    append_tokens(tokens, after_);
    if (tokens.empty()) {
        throw invalid_argument(path, text.substr(0, 16), "a text with at least one token");
    }
    return tokens;
}

Tokens EmbeddingPreparer::given(const Json& tokens, const std::string& path, bool truncate) const {
    auto count = tokens.size();
    if (count > context_) {
        if (!truncate) {
            throw too_long(path, count, context_);
        }
        count = context_;
    }
    Tokens checked;
    for (std::size_t i = 0; i < count; ++i) {
        const auto token = tokens[i].get<std::int64_t>();
        if (!tokenizer_.exists(token)) {
            throw invalid_argument(
                indexed(path, i),
                std::to_string(token),
                "a token of the model, 0 to " + std::to_string(tokenizer_.size() - 1)
            );
        }
        checked.push_back(static_cast<llama_token>(token));
    }
    return checked;
}

void EmbeddingPreparer::embed(const Json& body, EmbeddingRequest& request) const {
    const auto form = of_tokens_ ? Vectors::Form::OfTokens : Vectors::Form::OfTexts;
    request.results = std::make_unique<Vectors>(body, size_, form);
    const bool truncate = flag(body, field::truncate);
    const auto add = [&](const Json& one, const std::string& path) {
        request.texts.push_back(
            one.is_string() ? text(one.get_ref<const std::string&>(), path, truncate)
                            : given(one, path, truncate)
        );
    };
    const auto& input = body.at(field::input.name);
    if (input.is_string() || input.front().is_number()) {
        add(input, field::input.name);
        return check_size(request);
    }
    for (std::size_t i = 0; i < input.size(); ++i) {
        throw_if_cancelled();
        add(input[i], indexed(field::input.name, i));
    }
    check_size(request);
}

// Throws if the vectors of all tokens would make a response of more than about 100 MB.
void EmbeddingPreparer::check_size(const EmbeddingRequest& request) const {
    constexpr std::size_t kMaxValues = 8 << 20;
    std::size_t tokens = 0;
    for (const auto& one : request.texts) {
        tokens += one.size();
    }
    if (of_tokens_ && tokens > kMaxValues / size_) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid input of " + std::to_string(tokens) + " tokens: expected at most " +
                std::to_string(kMaxValues / size_) +
                " where options.pooling is \"none\"; send fewer texts in a request"
        );
    }
}

// Returns the tokens of a query and a document: by the model's template, or else, as cross-encoders are
// trained, with the special tokens before, between and after them.
Tokens EmbeddingPreparer::pair(const std::string& query, const std::string& document) const {
    const auto* vocab = tokenizer_.vocab();
    if (const char* form = llama_model_chat_template(model_, "rerank")) {
        std::vector<PromptPart> parts;
        auto rest = take_until(form, "{query}", parts);
        parts.push_back({query, false});
        rest = take_until(rest, "{document}", parts);
        parts.push_back({document, false});
        parts.push_back({std::string(rest), true});
        return tokenizer_.cut(parts);
    }
    const bool ends = llama_vocab_get_add_eos(vocab);
    const bool separates = llama_vocab_get_add_sep(vocab);
    const auto sep = llama_vocab_sep(vocab);
    const auto eos = llama_vocab_eos(vocab) != LLAMA_TOKEN_NULL ? llama_vocab_eos(vocab) : sep;
    Tokens tokens;
    append_tokens(tokens, llama_vocab_bos(vocab), llama_vocab_get_add_bos(vocab));
    append_tokens(tokens, tokenizer_.cut(query, false));
    append_tokens(tokens, eos, ends);
    append_tokens(tokens, sep, separates);
    append_tokens(tokens, tokenizer_.cut(document, false));
    append_tokens(tokens, ends ? eos : sep, ends || separates);
    return tokens;
}

// Returns the tokens of a query and a document. Shortens the document until both fit the context.
Tokens EmbeddingPreparer::document(
    const std::string& query, std::string document, const std::string& path, bool truncate
) const {
    for (;;) {
        throw_if_cancelled();
        auto tokens = pair(query, document);
        if (tokens.size() <= context_) {
            return tokens;
        }
        if (!truncate || document.empty()) {
            throw too_long(document.empty() ? field::query.name : path, tokens.size(), context_);
        }
        // a little less than what fits on average, so that few rounds suffice
        const auto fits = document.size() / tokens.size() * context_ / 16 * 15 + context_ / 2;
        document.resize(utf8_cut(document, std::min(fits, document.size() * 15 / 16)).size());
    }
}

void EmbeddingPreparer::rerank(const Json& body, EmbeddingRequest& request) const {
    request.results = std::make_unique<Scores>(body);
    const bool truncate = flag(body, field::truncate);
    const auto query = body.at(field::query.name).get<std::string>();
    const auto& documents = body.at(field::documents.name);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const auto path = indexed(field::documents.name, i);
        request.texts.push_back(document(query, text_of_document(documents[i]), path, truncate));
    }
}

EmbeddingRequest EmbeddingPreparer::prepare(const sotto_stream_desc& desc, const Json& body) const {
    EmbeddingRequest request;
    request.alone = (desc.flags & SOTTO_STREAM_ALONE) != 0;
    if (desc.op == SOTTO_OP_EMBED && !ranks_) {
        embed(body, request);
    } else if (desc.op == SOTTO_OP_RERANK && ranks_) {
        rerank(body, request);
    } else if (desc.op == SOTTO_OP_TOKENIZE) {
        request.result = tokenize(body, tokenizer_, [this](Tokens& tokens) {
            tokens.insert(tokens.begin(), before_.begin(), before_.end());
            append_tokens(tokens, after_);
        });
    } else if (desc.op == SOTTO_OP_DETOKENIZE) {
        request.result = detokenize(body, tokenizer_);
    } else {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "operation " + std::to_string(desc.op) + ": this model cannot chat, it " +
                (ranks_ ? "ranks documents" : "embeds texts")
        );
    }
    return request;
}

} // namespace sotto::llama
