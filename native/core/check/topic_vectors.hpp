// Embedded examples of topics, and the vectors in a response to SOTTO_OP_EMBED.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/model_rule.hpp"
#include "store/vector_kernels.hpp"

namespace sotto {

// Returns the vectors of a response, scaled to length 1. Throws Error(SOTTO_ERROR_INFERENCE) unless they are
// `count` vectors of equal size that have a direction.
std::vector<std::vector<float>>
vectors_in(std::string_view response, std::size_t count, const std::string& model);

struct NearestTopic {
    double cosine = -1;
    std::size_t topic = 0; // index in the rule
};

// The vectors of a rule's examples. Control thread only.
class TopicVectors {
public:
    // Adds the vectors of examples of `topic`.
    void add(const std::vector<float>& vector, std::size_t topic);
    std::size_t dim() const noexcept { return dim_; }
    std::size_t count() const noexcept { return topics_.size(); }
    // Returns the example nearest to `vector`, which has dim() values.
    NearestTopic nearest(const std::vector<float>& vector) const;

private:
    std::size_t dim_ = 0;
    std::unique_ptr<store::VectorCodec> codec_;
    std::vector<store::AlignedBytes> vectors_;
    std::vector<std::size_t> topics_; // of each vector
};

// Keeps the examples of the rules that were used last, so that they are embedded once.
class TopicVectorCache {
public:
    // `model`: number of the loaded model; another load of the same id has another number.
    std::shared_ptr<const TopicVectors> find(const guard::ModelRule& rule, std::uint64_t model) const;
    void add(const guard::ModelRule& rule, std::uint64_t model, std::shared_ptr<const TopicVectors> vectors);

private:
    struct Entry {
        std::string examples; // all texts of the rule's topics
        std::uint64_t model;
        std::shared_ptr<const TopicVectors> vectors;
    };

    std::vector<Entry> entries_; // the last one was added last
};

} // namespace sotto
