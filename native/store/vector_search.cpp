#include "store/vector_search.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "store/vector_index.hpp"

namespace sotto::store {
namespace {

// Eight sums, so that the compiler can use vector instructions.
float dot(const float* a, const float* b, std::size_t count) noexcept {
    constexpr std::size_t kLanes = 8;
    float sums[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            sums[lane] += a[i + lane] * b[i + lane];
        }
    }
    float sum = 0.0F;
    for (const float one : sums) {
        sum += one;
    }
    for (; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Writes `vector` with length 1. Scales by the largest value first, so that no square overflows.
void write_normalised(std::span<const float> vector, float* out) noexcept {
    double largest = 0.0;
    for (const float value : vector) {
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    double squares = 0.0;
    for (const float value : vector) {
        squares += value / largest * (value / largest);
    }
    const double scale = 1.0 / (largest * std::sqrt(squares));
    for (std::size_t i = 0; i < vector.size(); ++i) {
        out[i] = static_cast<float>(vector[i] * scale);
    }
}

std::vector<float> normalised(std::span<const float> vector) {
    std::vector<float> out(vector.size());
    write_normalised(vector, out.data());
    return out;
}

constexpr std::uint32_t kMinEf = 128; // candidates of a graph search: recall of about 0.99 at 100,000 vectors

IndexOptions graph_options(std::size_t dim) {
    IndexOptions options;
    options.dim = static_cast<std::uint32_t>(dim);
    return options;
}

} // namespace

float cosine(std::span<const float> a, std::span<const float> b) noexcept {
    double product = 0.0;
    double of_a = 0.0;
    double of_b = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += static_cast<double>(a[i]) * b[i];
        of_a += static_cast<double>(a[i]) * a[i];
        of_b += static_cast<double>(b[i]) * b[i];
    }
    return static_cast<float>(std::clamp(product / std::sqrt(of_a) / std::sqrt(of_b), -1.0, 1.0));
}

VectorSearch::VectorSearch(std::size_t dim, std::size_t expected) : dim_(dim) {
    if (expected > kMaxExact) {
        graph_ = std::make_unique<VectorIndex>(graph_options(dim));
    }
}

VectorSearch::~VectorSearch() = default;

void VectorSearch::set(std::int64_t number, std::span<const float> vector) {
    if (graph_ != nullptr) {
        const auto label = static_cast<std::uint64_t>(number);
        if (!graph_->update(vector, label)) {
            graph_->add(vector, {&label, 1});
        }
        return;
    }
    auto found = places_.find(number);
    if (found == places_.end()) {
        rows_.reserve(rows_.size() + 1);
        vectors_.resize((rows_.size() + 1) * dim_);
        found = places_.emplace(number, rows_.size()).first;
        rows_.push_back(number);
    }
    write_normalised(vector, &vectors_[found->second * dim_]);
}

void VectorSearch::remove(std::int64_t number) {
    if (graph_ != nullptr) {
        graph_->remove(static_cast<std::uint64_t>(number));
        return;
    }
    const auto found = places_.find(number);
    if (found == places_.end()) {
        return;
    }
    const auto place = found->second;
    const auto last = rows_.size() - 1;
    if (place != last) { // the last vector takes the place
        std::copy_n(&vectors_[last * dim_], dim_, &vectors_[place * dim_]);
        rows_[place] = rows_[last];
        places_[rows_[place]] = place;
    }
    places_.erase(found);
    rows_.pop_back();
    vectors_.resize(rows_.size() * dim_);
}

// Moves all vectors into a graph that is not built.
void VectorSearch::begin_graph() {
    auto graph = std::make_unique<VectorIndex>(graph_options(dim_));
    std::vector<std::uint64_t> labels(rows_.begin(), rows_.end());
    graph->add(vectors_, labels);
    graph_ = std::move(graph);
    vectors_ = {};
    rows_ = {};
    places_ = {};
}

void VectorSearch::build() {
    if (graph_ == nullptr && rows_.size() > kMaxExact) {
        begin_graph();
    }
    if (graph_ != nullptr && !graph_->is_built()) {
        graph_->build({.threads = 0, .progress = {}});
    }
}

std::size_t VectorSearch::size() const noexcept {
    return graph_ != nullptr ? graph_->size() : rows_.size();
}

std::vector<std::int64_t> VectorSearch::rows() const {
    std::vector<std::int64_t> all = rows_;
    if (graph_ != nullptr) {
        const auto labels = graph_->labels();
        all.assign(labels.begin(), labels.end());
    }
    std::sort(all.begin(), all.end());
    return all;
}

void VectorSearch::save(const PathArgument& path) const {
    graph_->save(path);
}

std::unique_ptr<VectorSearch> VectorSearch::load(const PathArgument& path, std::size_t dim) {
    auto loaded = std::make_unique<VectorSearch>(dim, 0);
    try {
        loaded->graph_ = VectorIndex::load(path);
    } catch (const Error&) {
        return nullptr;
    }
    const auto& options = loaded->graph_->options();
    const bool fits =
        options.dim == dim && options.storage == VectorStorage::f32 && loaded->graph_->is_built();
    return fits ? std::move(loaded) : nullptr;
}

std::vector<VectorMatch> VectorSearch::find(
    std::span<const float> query, std::size_t limit, const std::vector<std::int64_t>* allowed
) const {
    if (graph_ == nullptr) {
        return scan(query, limit, allowed);
    }
    SearchOptions options;
    options.ef = std::max(static_cast<std::uint32_t>(limit), kMinEf);
    std::span<const std::uint64_t> labels;
    if (allowed != nullptr) {
        // rows are positive, and the signed and the unsigned type may share memory
        labels = {reinterpret_cast<const std::uint64_t*>(allowed->data()), allowed->size()};
        options.allowed = &labels;
    }
    std::vector<VectorMatch> found;
    for (const auto& match : graph_->search(query, limit, options)) {
        found.push_back(
            {static_cast<std::int64_t>(match.label), std::clamp(1.0F - match.distance, -1.0F, 1.0F)}
        );
    }
    return found;
}

std::vector<VectorMatch> VectorSearch::scan(
    std::span<const float> query, std::size_t limit, const std::vector<std::int64_t>* allowed
) const {
    const auto unit = normalised(query);
    std::vector<VectorMatch> found;
    const auto compare = [&](std::size_t place) {
        const float similarity = dot(unit.data(), &vectors_[place * dim_], dim_);
        found.push_back({rows_[place], std::clamp(similarity, -1.0F, 1.0F)});
    };
    if (allowed == nullptr) {
        found.reserve(rows_.size());
        for (std::size_t place = 0; place < rows_.size(); ++place) {
            compare(place);
        }
    } else {
        for (const auto number : *allowed) {
            if (const auto one = places_.find(number); one != places_.end()) {
                compare(one->second);
            }
        }
    }
    const auto kept = std::min(limit, found.size());
    const auto better = [](const VectorMatch& a, const VectorMatch& b) {
        return a.similarity != b.similarity ? a.similarity > b.similarity : a.number < b.number;
    };
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), better);
    found.resize(kept);
    return found;
}

} // namespace sotto::store
