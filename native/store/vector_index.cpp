#include "store/vector_index.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "base/error.hpp"
#include "store/index_parts.hpp"

namespace sotto::store {
namespace {

std::string position(std::string_view name, std::size_t index) {
    return std::string(name) + "[" + std::to_string(index) + "]";
}

// Returns the length of a vector. Throws for a length that no vector with a direction has.
double checked_length(std::span<const float> vector, const std::string& name) {
    double squares = 0.0;
    for (const float value : vector) {
        squares += static_cast<double>(value) * static_cast<double>(value);
    }
    if (!std::isfinite(squares)) {
        for (std::size_t i = 0; i < vector.size(); ++i) {
            if (!std::isfinite(vector[i])) {
                throw invalid_argument(
                    position(name, i),
                    std::to_string(vector[i]),
                    "a finite number; check what computed the vector"
                );
            }
        }
    }
    if (squares == 0.0) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + name +
                ": expected at least one value other than 0, since a zero vector has no "
                "direction to compare; leave the vector out"
        );
    }
    return std::sqrt(squares);
}

void check_dimensions(std::size_t values, std::size_t vectors, std::uint32_t dim, const char* name) {
    if (values != vectors * dim) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            invalid(
                name,
                std::to_string(values) + " values",
                std::to_string(vectors) + " x " + std::to_string(dim) + " values, the dimensions of the index"
            )
        );
    }
}

Error duplicate(const std::string& name, std::uint64_t label, const char* where) {
    return invalid_argument(
        name,
        std::to_string(label),
        std::string("a label that is not yet ") + where + "; use update() to replace a vector"
    );
}

} // namespace

void normalise(std::span<const float> vector, const std::string& name, std::vector<float>& normalised) {
    const double factor = 1.0 / checked_length(vector, name);
    normalised.resize(vector.size());
    std::transform(vector.begin(), vector.end(), normalised.begin(), [&](float value) {
        return static_cast<float>(value * factor);
    });
}

ElementId LabelMap::find(std::uint64_t label) const {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find(label);
    return found == ids_.end() ? kNoElement : found->second;
}

void LabelMap::set(std::uint64_t label, ElementId id) {
    const std::lock_guard lock(mutex_);
    ids_[label] = id;
}

ElementId LabelMap::erase(std::uint64_t label) {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find(label);
    if (found == ids_.end()) {
        return kNoElement;
    }
    const ElementId id = found->second;
    ids_.erase(found);
    return id;
}

void LabelMap::reserve(std::size_t more) {
    const std::lock_guard lock(mutex_);
    if (const auto wanted = ids_.size() + more; wanted > ids_.bucket_count()) {
        ids_.reserve(std::max(wanted, 2 * ids_.size()));
    }
}

std::size_t LabelMap::size() const {
    const std::lock_guard lock(mutex_);
    return ids_.size();
}

std::vector<ElementId> LabelMap::ids(std::span<const std::uint64_t> labels) const {
    std::vector<ElementId> found;
    const std::lock_guard lock(mutex_);
    for (const auto label : labels) {
        if (const auto at = ids_.find(label); at != ids_.end()) {
            found.push_back(at->second);
        }
    }
    return found;
}

std::vector<ElementId> LabelMap::ids() const {
    std::vector<ElementId> found;
    const std::lock_guard lock(mutex_);
    found.reserve(ids_.size());
    for (const auto& [label, id] : ids_) {
        found.push_back(id);
    }
    return found;
}

VectorIndex::VectorIndex(const IndexOptions& options) : parts_(std::make_unique<Parts>(options)) {}

VectorIndex::~VectorIndex() = default;

void VectorIndex::add(std::span<const float> vectors, std::span<const std::uint64_t> labels) {
    auto& parts = *parts_;
    const std::size_t dim = parts.options.dim;
    check_dimensions(vectors.size(), labels.size(), parts.options.dim, "vectors");
    std::unordered_set<std::uint64_t> fresh;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        (void)checked_length(vectors.subspan(i * dim, dim), position("vectors", i));
        if (!fresh.insert(labels[i]).second) {
            throw duplicate(position("labels", i), labels[i], "among the labels of this call");
        }
    }
    const std::lock_guard lock(parts.writing);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (parts.labels.find(labels[i]) != kNoElement) {
            throw duplicate(position("labels", i), labels[i], "in the index");
        }
    }
    check_room(labels.size());
    parts.elements.reserve(labels.size());
    parts.labels.reserve(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
        add_element(vectors.subspan(i * dim, dim), labels[i]);
    }
}

void VectorIndex::check_room(std::size_t more) const {
    const auto max = parts_->options.max_elements;
    if (const std::size_t live = size(); max != 0 && (more > max || live > max - more)) {
        throw Error(
            SOTTO_ERROR_BUSY,
            "the index holds " + std::to_string(live) + " of at most " + std::to_string(max) +
                " vectors and has no room for " + std::to_string(more) +
                " more; create it with a larger max_elements, or with 0 for no limit"
        );
    }
}

void VectorIndex::add_element(std::span<const float> vector, std::uint64_t label) {
    auto& parts = *parts_;
    const ScratchLease scratch(parts.pool);
    normalise(vector, "vector", scratch->normalised);
    const ElementId id = parts.elements.append(scratch->normalised, label);
    try {
        if (parts.is_built) {
            parts.graph.link(id, *scratch);
            parts.linked = id + 1;
        }
        parts.labels.set(label, id);
    } catch (const std::exception&) { // out of memory
        parts.elements.record(id).removed = 1;
        parts.linked = parts.is_built ? id + 1 : parts.linked;
        throw;
    }
    ++parts.live;
}

bool VectorIndex::update(std::span<const float> vector, std::uint64_t label) {
    auto& parts = *parts_;
    check_dimensions(vector.size(), 1, parts.options.dim, "vector");
    (void)checked_length(vector, "vector");
    const std::lock_guard lock(parts.writing);
    const ElementId old = parts.labels.find(label);
    if (old == kNoElement) {
        return false;
    }
    add_element(vector, label);
    parts.elements.record(old).removed = 1;
    --parts.live;
    return true;
}

bool VectorIndex::remove(std::uint64_t label) {
    auto& parts = *parts_;
    const std::lock_guard lock(parts.writing);
    const ElementId id = parts.labels.erase(label);
    if (id == kNoElement) {
        return false;
    }
    parts.elements.record(id).removed = 1;
    --parts.live;
    return true;
}

bool VectorIndex::is_built() const noexcept {
    return parts_->is_built;
}

void VectorIndex::cancel() noexcept {
    parts_->is_cancelled = true;
}

bool VectorIndex::contains(std::uint64_t label) const {
    return parts_->labels.find(label) != kNoElement;
}

std::vector<std::uint64_t> VectorIndex::labels() const {
    auto ids = parts_->labels.ids();
    std::sort(ids.begin(), ids.end());
    std::vector<std::uint64_t> found(ids.size());
    std::transform(ids.begin(), ids.end(), found.begin(), [&](ElementId id) {
        return parts_->elements.record(id).label;
    });
    return found;
}

std::size_t VectorIndex::size() const noexcept {
    return parts_->live;
}

std::size_t VectorIndex::memory() const noexcept {
    constexpr std::size_t kLabelBytes = 40; // of a node and a bucket of the label map
    return parts_->elements.memory() + parts_->live * kLabelBytes;
}

const IndexOptions& VectorIndex::options() const noexcept {
    return parts_->options;
}

} // namespace sotto::store
