// The threads that load models and free them, so that nothing else waits for files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "core/model/card.hpp"
#include "core/model/registry.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

class ModelLoader {
public:
    // `told` is told after each note.
    ModelLoader(const Hooks& hooks, const Settings& settings, Card& card, Ledger& ledger, Signal& told);
    // Gives up what is being loaded; frees what is to be freed.
    ~ModelLoader();

    // Loads an entry that has no model, or frees the model of one that has; of one that is planning, finds
    // out what it would take. Until a note comes that is not of kind progress, the entry's model is the
    // loader's.
    void take_on(ModelEntry& entry) noexcept;

    // What is being loaded is given up from now on, also what comes. Any thread.
    void give_up() noexcept { stopping_ = true; }

    // The oldest note, or null. The control thread's.
    std::unique_ptr<LoaderNote> take() noexcept { return std::unique_ptr<LoaderNote>(notes_.pop()); }

private:
    // What an open hears back from.
    struct Watch {
        ModelLoader* loader;
        ModelEntry* entry;
        float told = -1;
    };

    static std::int32_t SOTTO_CALL on_progress(void* context, float progress);

    void work();
    void begin(ModelEntry& entry) noexcept;
    void run(ModelEntry& entry) noexcept;
    void find_place(ModelEntry& entry, LoaderNote& note);
    void open(ModelEntry& entry, const Seat& seat, LoaderNote& note);
    void free(ModelEntry& entry) noexcept;
    void reopen(Adapter& adapter, Model& model, const std::string& id) noexcept;
    // What there is room for. `room`: bytes.
    Fit find_fit(
        const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
    ) const;
    void claim(ModelEntry& entry, const ModelInfo& info);
    sotto_model_source
    source_of(const ModelEntry& entry, const std::string& path, const Seat& seat, Watch& watch) const;
    void tell(std::unique_ptr<LoaderNote> note) noexcept;
    bool gives_up(const ModelEntry& entry) const noexcept { return stopping_.load() || entry.give_up.load(); }

    const Hooks& hooks_;
    const Settings& settings_;
    Card& card_;
    Ledger& ledger_;
    Signal& told_;
    MpscQueue<ModelEntry> frees_; // see take_on()
    MpscQueue<ModelEntry> loads_;
    MpscQueue<LoaderNote> notes_;
    Signal wake_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> over_{false};
    std::atomic<bool> loaded_{false}; // aside_ has done what it was begun for
    std::thread aside_;               // loads; begun and joined by thread_
    std::thread thread_;
};

} // namespace sotto
