#include "core/check/topic_vectors.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::size_t kMaxRules = 64; // whose examples are kept

[[noreturn]] void refuse(const std::string& model, const std::string& reason) {
    throw Error(SOTTO_ERROR_INFERENCE, "model '" + model + "' " + reason + "; use another embedding model");
}

std::vector<float> vector_in(const Json& embedding, const std::string& model) {
    if (!embedding.is_array() || embedding.empty()) {
        refuse(model, "returned no vector of numbers");
    }
    std::vector<float> vector;
    vector.reserve(embedding.size());
    double square = 0;
    for (const auto& value : embedding) {
        const auto number = value.is_number() ? value.get<double>() : std::nan("");
        square += number * number;
        vector.push_back(static_cast<float>(number));
    }
    if (!std::isfinite(square) || square <= 0) {
        refuse(model, "returned a vector without a direction");
    }
    const auto scale = 1 / std::sqrt(square);
    for (auto& value : vector) {
        value = static_cast<float>(value * scale);
    }
    return vector;
}

std::string examples_of(const guard::ModelRule& rule) {
    std::string all = rule.model;
    for (const auto& topic : rule.topics) {
        all += '\x01' + topic.name;
        for (const auto& example : topic.examples) {
            all += '\x02' + example;
        }
    }
    return all;
}

} // namespace

std::vector<std::vector<float>>
vectors_in(std::string_view response, std::size_t count, const std::string& model) {
    const auto json = try_parse_json(response);
    const auto data = json.is_object() ? json.find("data") : json.end();
    if (data == json.end() || !data->is_array() || data->size() != count) {
        refuse(model, "returned no response with " + std::to_string(count) + " embeddings");
    }
    std::vector<std::vector<float>> vectors;
    for (const auto& one : *data) {
        vectors.push_back(vector_in(one.is_object() ? one.value("embedding", Json()) : Json(), model));
        if (vectors.back().size() != vectors.front().size()) {
            refuse(model, "returned vectors of different sizes");
        }
    }
    return vectors;
}

void TopicVectors::add(const std::vector<float>& vector, std::size_t topic) {
    if (codec_ == nullptr) {
        dim_ = vector.size();
        codec_ = std::make_unique<store::VectorCodec>(dim_, store::VectorStorage::f32);
    }
    auto encoded = store::aligned_bytes(codec_->stride());
    codec_->encode(vector, encoded.get());
    topics_.reserve(topics_.size() + 1);
    vectors_.push_back(std::move(encoded));
    topics_.push_back(topic);
}

NearestTopic TopicVectors::nearest(const std::vector<float>& vector) const {
    const auto values = store::aligned_bytes(codec_->query_bytes());
    const auto query = codec_->prepare(vector, values.get());
    std::vector<const std::byte*> all;
    for (const auto& one : vectors_) {
        all.push_back(one.get());
    }
    std::vector<float> distances(all.size());
    codec_->distances(query, all.data(), all.size(), distances.data());
    const auto best = std::min_element(distances.begin(), distances.end());
    return {1.0 - *best, topics_[static_cast<std::size_t>(best - distances.begin())]};
}

std::shared_ptr<const TopicVectors>
TopicVectorCache::find(const guard::ModelRule& rule, std::uint64_t model) const {
    const auto examples = examples_of(rule);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.model == model && entry.examples == examples;
    });
    return found == entries_.end() ? nullptr : found->vectors;
}

void TopicVectorCache::add(
    const guard::ModelRule& rule, std::uint64_t model, std::shared_ptr<const TopicVectors> vectors
) {
    if (entries_.size() == kMaxRules) {
        entries_.erase(entries_.begin());
    }
    entries_.push_back({examples_of(rule), model, std::move(vectors)});
}

} // namespace sotto
