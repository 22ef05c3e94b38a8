// The models an engine holds, from the wish to load one to its last byte given back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/request_table.hpp"
#include "core/schedule/scheduled.hpp"
#include "module/backend.hpp"

namespace sotto {

struct ModelEntry;

// What the loader tells the control thread.
struct LoaderNote : MpscNode {
    enum class Kind : std::uint8_t { progress, loaded, failed, freed };

    Kind kind = Kind::progress;
    ModelEntry* entry = nullptr;
    float progress = 0;
    std::unique_ptr<Model> model;
    Failure failure;
};

// One model. Its members are the control thread's, unless they say otherwise.
struct ModelEntry : MpscNode, ScheduledModel {
    explicit ModelEntry(const Asked& how) : asked(how) {}

    enum class State : std::uint8_t { loading, ready, leaving };

    const Asked asked; // how it was asked for
    State state = State::loading;
    std::unique_ptr<Model> model;     // once ready; made and freed by the loader
    std::vector<Slot*> waiting;       // requests to be told when it is loaded, or gone
    std::vector<void*> closing;       // streams that the compute thread shall close next
    bool with_loader = false;         // whether the loader has it
    std::atomic<bool> give_up{false}; // read by the loader: stop loading
    // What the loader will tell when it is done; made beforehand, so that it can without memory.
    std::unique_ptr<LoaderNote> verdict = std::make_unique<LoaderNote>();
};

class Registry {
public:
    // The model under that id that is loading or ready, or null.
    ModelEntry* find(std::string_view id) noexcept;

    // Makes room for one more, so that add() cannot fail.
    void reserve() { entries_.reserve(entries_.size() + 1); }
    void add(std::unique_ptr<ModelEntry> entry) noexcept { entries_.push_back(std::move(entry)); }

    // Forgets a model that is gone.
    void remove(ModelEntry& entry);

    const std::vector<std::unique_ptr<ModelEntry>>& entries() const noexcept { return entries_; }

    // Takes a new picture of the models that answer, for list(). Without memory: an empty one.
    void publish() noexcept;

    // The models that answer, as JSON. Any thread.
    std::string list() const;

private:
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    mutable std::mutex mutex_; // guards picture_; never held by the compute thread
    std::string picture_ = "[]";
};

} // namespace sotto
