// Prepares requests for an embedding model: tokenizes texts, and pairs of a query and a document.
#pragma once

#include "embed/results.hpp"
#include "model/options.hpp"
#include "model/prepared_request.hpp"
#include "token/tokenizer.hpp"

#include <memory>

namespace sotto::llama {

struct EmbeddingRequest : PreparedRequest {
    std::vector<std::vector<llama_token>> texts; // tokens of each text, at least one
    std::unique_ptr<Results> results;
    bool alone = false; // the result must depend on this request only
};

class EmbeddingPreparer {
public:
    EmbeddingPreparer(const llama_model* model, const Options& options);

    // Throws Error, with SOTTO_ERROR_ARGUMENT if the request is at fault. Any thread.
    EmbeddingRequest prepare(const sotto_stream_desc& desc, const nlohmann::ordered_json& body) const;
    // Operations that the model supports, as JSON.
    nlohmann::ordered_json capabilities() const;

private:
    using Tokens = std::vector<llama_token>;

    Tokens text(const std::string& text, const std::string& path, bool truncate) const;
    Tokens given(const nlohmann::ordered_json& tokens, const std::string& path, bool truncate) const;
    Tokens pair(const std::string& query, const std::string& document) const;
    Tokens
    document(const std::string& query, std::string document, const std::string& path, bool truncate) const;
    void embed(const nlohmann::ordered_json& body, EmbeddingRequest& request) const;
    void check_size(const EmbeddingRequest& request) const;
    void rerank(const nlohmann::ordered_json& body, EmbeddingRequest& request) const;

    const llama_model* model_;
    const std::size_t context_;
    const bool ranks_;
    const bool of_tokens_;   // a vector for each token
    const std::size_t size_; // values of a vector
    Tokenizer tokenizer_;
    Tokens before_; // special tokens before each text
    Tokens after_;  // special tokens after each text
};

} // namespace sotto::llama
