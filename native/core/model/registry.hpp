// The models of an engine, from the load request until their memory is freed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/model_entry.hpp"

namespace sotto {

class Registry {
public:
    // Returns the model with this id, or null. Ignores models that are being unloaded, and models that are
    // only measured for a load plan.
    ModelEntry* find(std::string_view id) noexcept;

    // Allocates space for one more model, so that add() cannot fail.
    void reserve() { entries_.reserve(entries_.size() + 1); }
    void add(std::unique_ptr<ModelEntry> entry) noexcept {
        entry->loaded.number = ++added_;
        entries_.push_back(std::move(entry));
    }

    void remove(ModelEntry& entry);

    const std::vector<std::unique_ptr<ModelEntry>>& entries() const noexcept { return entries_; }

    // Updates the JSON that list() and states() return; "[]" if out of memory.
    void publish() noexcept;

    // Models that were loaded, evicted ones included, as JSON. Any thread.
    std::string list() const;
    // States and slot counts of all models except those that are only measured for a load plan, as JSON. Any
    // thread.
    std::string states() const;

private:
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    std::uint64_t added_ = 0;  // number of models that were added
    mutable std::mutex mutex_; // guards the JSON; never held by the compute thread
    std::string picture_ = "[]";
    std::string states_ = "[]";
};

} // namespace sotto
