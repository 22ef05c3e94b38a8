// The thread that loads models and frees them, so that nothing else waits for files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "core/card.hpp"
#include "core/registry.hpp"
#include "core/settings.hpp"
#include "module/modules.hpp"
#include "platform/signal.hpp"

namespace sotto {

class ModelLoader {
public:
    // `told` is told after each note.
    ModelLoader(
        const Hooks& hooks,
        const Settings& settings,
        std::string device,
        Modules& modules,
        Card& card,
        Ledger& ledger,
        Signal& told
    );
    // Gives up what is being loaded; frees what is to be freed.
    ~ModelLoader();

    // Loads an entry that has no model, or frees the model of one that has; of one that is planning, finds
    // out what it would take. Until a note comes that is not of kind progress, the entry's model is the
    // loader's.
    void take_on(ModelEntry& entry) noexcept;

    // The oldest note, or null. The control thread's.
    std::unique_ptr<LoaderNote> take() noexcept { return std::unique_ptr<LoaderNote>(notes_.pop()); }

private:
    // What an open hears back from.
    struct Watch {
        ModelLoader* loader;
        ModelEntry* entry;
        std::string device;
        float told = -1;
    };

    static std::int32_t SOTTO_CALL on_progress(void* context, float progress);

    void work();
    void run_aside(ModelEntry& entry) noexcept;
    void run(ModelEntry& entry) noexcept;
    void open(ModelEntry& entry, LoaderNote& note);
    void free(ModelEntry& entry) noexcept;
    // What there is room for. `room`: bytes.
    Fit find_fit(
        const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
    ) const;
    void claim(ModelEntry& entry, const ModelInfo& info);
    sotto_model_source source_of(const ModelEntry& entry, const std::string& path, Watch& watch) const;
    void tell(std::unique_ptr<LoaderNote> note) noexcept;
    bool gives_up(const ModelEntry& entry) const noexcept { return stopping_.load() || entry.give_up.load(); }

    const Hooks& hooks_;
    const std::string device_;
    const Settings& settings_;
    Modules& modules_;
    Card& card_;
    Ledger& ledger_;
    Signal& told_;
    MpscQueue<ModelEntry> tasks_; // see take_on()
    MpscQueue<LoaderNote> notes_;
    Signal wake_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

} // namespace sotto
