// Collects the vectors or scores of a request's texts, and writes the response.
#include "embed/results.hpp"

#include "request/fields.hpp"
#include "runtime/fence.hpp"
#include "runtime/json_parts.hpp"

#include <algorithm>
#include <array>
#include <base64.hpp>
#include <charconv>
#include <cmath>
#include <numeric>

namespace sotto::llama {
namespace {

// Appends the shortest text that reads as the same float, which is valid JSON.
void append_number(std::string& to, float value) {
    std::array<char, 32> text;
    to.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_numbers(std::string& to, std::span<const float> values) {
    char before = '[';
    for (const float value : values) {
        to += before;
        append_number(to, value);
        before = ',';
    }
    to += ']';
}

// Scales a vector to length 1, unless all values are 0.
void scale_to_1(std::span<float> vector) {
    double squares = 0;
    for (const float value : vector) {
        squares += static_cast<double>(value) * value;
    }
    const auto scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (float& value : vector) {
        value = static_cast<float>(value * scale);
    }
}

std::size_t dimensions_of(const Json& body, std::size_t size) {
    const auto asked = value_or<std::size_t>(body, field::dimensions, size);
    if (asked > size) {
        const auto max = std::to_string(size);
        throw invalid_argument(
            field::dimensions.name,
            std::to_string(asked),
            "1 to " + max + ", the values of the model's vectors"
        );
    }
    return asked;
}

std::string model_of(const Json& body) {
    return text_of(value_or<std::string>(body, field::model, ""));
}

std::string usage_of(std::uint64_t tokens) {
    const auto count = std::to_string(tokens);
    return "\"usage\":{\"prompt_tokens\":" + count + ",\"total_tokens\":" + count + "}}";
}

} // namespace

Vectors::Vectors(const Json& body, std::size_t size, Form form)
    : model_(model_of(body)), size_(size), form_(form), dimensions_(dimensions_of(body, size)),
      normalize_(flag(body, field::normalize)),
      base64_(value_or<std::string>(body, field::encoding_format, "float") == "base64") {}

void Vectors::add(std::span<const float> values) {
    data_ += data_.empty() ? "" : ",";
    data_ += "{\"object\":\"embedding\",\"index\":" + std::to_string(count_++) + ",\"embedding\":";
    if (form_ == Form::OfTexts) {
        append(values);
    } else {
        for (std::size_t at = 0; at < values.size(); at += size_) {
            data_ += at == 0 ? '[' : ',';
            append(values.subspan(at, size_));
        }
        data_ += ']';
    }
    data_ += '}';
}

// Appends one vector.
void Vectors::append(std::span<const float> values) {
    vector_.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(dimensions_));
    if (normalize_) {
        scale_to_1(vector_);
    }
    if (base64_) {
        const auto* bytes = reinterpret_cast<const char*>(vector_.data()); // little-endian on all platforms
        data_ += '"' + base64::encode(bytes, vector_.size() * sizeof(float)) + '"';
    } else {
        append_numbers(data_, vector_);
    }
}

std::string Vectors::response(std::uint64_t tokens) {
    return "{\"object\":\"list\",\"data\":[" + data_ + "],\"model\":" + model_ + "," + usage_of(tokens);
}

Scores::Scores(const Json& body) : model_(model_of(body)) {
    const auto& documents = body.at(field::documents.name);
    top_ =
        std::min<std::size_t>(documents.size(), value_or<std::size_t>(body, field::top_n, documents.size()));
    for (std::size_t i = 0; i < documents.size() && flag(body, field::return_documents); ++i) {
        documents_.push_back(text_of(documents[i].is_object() ? documents[i] : Json{{"text", documents[i]}}));
    }
}

std::string Scores::response(std::uint64_t tokens) {
    std::vector<std::size_t> order(scores_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores_[a] > scores_[b]; });
    std::string response = "{\"object\":\"list\",\"results\":[";
    for (std::size_t i = 0; i < top_; ++i) {
        const auto at = order[i];
        response += i == 0 ? "" : ",";
        response += "{\"index\":" + std::to_string(at) + ",\"relevance_score\":";
        append_number(response, scores_[at]);
        if (!documents_.empty()) {
            response += ",\"document\":" + documents_[at];
        }
        response += '}';
    }
    return response + "],\"model\":" + model_ + "," + usage_of(tokens);
}

} // namespace sotto::llama
