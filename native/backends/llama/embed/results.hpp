// Collects the vectors or scores of a request's texts, and writes the response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace sotto::llama {

class Results {
public:
    virtual ~Results() = default;
    // Adds the values of the next text, all finite; with Tokens those of its tokens in a row.
    virtual void add(std::span<const float> values) = 0;
    // Returns the response, a JSON object, once all texts are added. `tokens`: of all texts.
    virtual std::string response(std::uint64_t tokens) = 0;
};

// The vectors of texts, in the format of OpenAI's embeddings API; for a model with one vector per token, each
// `embedding` is an array of vectors.
class Vectors : public Results {
public:
    enum class Form { OfTexts, OfTokens };

    // `body`: the request. Throws Error(SOTTO_ERROR_ARGUMENT) if it asks for more than `size` dimensions.
    Vectors(const nlohmann::ordered_json& body, std::size_t size, Form form);

    void add(std::span<const float> values) override;
    std::string response(std::uint64_t tokens) override;

private:
    void append(std::span<const float> values);

    const std::string model_;
    const std::size_t size_;
    const Form form_;
    std::size_t dimensions_;
    const bool normalize_;
    const bool base64_;
    std::size_t count_ = 0;
    std::string data_;          // elements of the response's array
    std::vector<float> vector_; // the last one
};

// The scores of documents, in the format of Jina's reranker API.
class Scores : public Results {
public:
    explicit Scores(const nlohmann::ordered_json& body);

    void add(std::span<const float> values) override { scores_.push_back(values.front()); }
    std::string response(std::uint64_t tokens) override;

private:
    const std::string model_;
    std::size_t top_;
    std::vector<std::string> documents_; // as JSON; empty: the response has none
    std::vector<float> scores_;
};

} // namespace sotto::llama
