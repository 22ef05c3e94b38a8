// The objects that an engine passes to its control thread, without an engine.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/control/world.hpp"
#include "support/game.hpp"
#include "support/manual_clock.hpp"

namespace test {

// Jobs run in the normal class, so that they do not wait for a core.
struct ControlWorld {
    ControlWorld() { settings.mode = SOTTO_MODE_PRIORITIZE_COMPUTE; }

    // A request as the host submits it.
    sotto::Slot& slot(sotto::Submission asked) { return *table.add(std::move(asked), clock.now()); }
    sotto::Slot& chat(const std::string& model, const std::string& more = "") {
        sotto::Submission asked;
        asked.op = SOTTO_OP_CHAT;
        const auto body = test::chat(model, "hello", more);
        asked.body = sotto::PageString(body.begin(), body.end());
        return slot(std::move(asked));
    }
    sotto::Slot& load(const std::string& model, const std::string& script) {
        modules.add(scripted());
        sotto::Submission asked;
        asked.kind = sotto::Submission::Kind::load;
        asked.id = model;
        asked.path = "a path";
        asked.backend = "scripted";
        asked.options = script;
        return slot(std::move(asked));
    }
    // The last event of a request, if it has ended; otherwise the status is SOTTO_EMPTY.
    struct Done {
        sotto_status status = SOTTO_EMPTY;
        std::string error;
    };
    Done done(sotto_request id) {
        Done found;
        bool any = true;
        while (any) {
            any = queue.take(clock, [&](const sotto::Event& event) {
                if (event.request == id && event.kind == SOTTO_EVENT_REQUEST_DONE) {
                    found = {event.status, event.error};
                }
            });
        }
        return found;
    }
    // A model that is ready, and that no backend has opened.
    sotto::ModelEntry& add_model(const std::string& id = "m") {
        sotto::Submission asked;
        asked.id = id;
        auto model = std::make_unique<sotto::ModelEntry>(asked);
        model->state = sotto::ModelEntry::State::ready;
        model->loaded.max_slots = 1;
        registry.reserve();
        registry.add(std::move(model));
        return *registry.entries().back();
    }
    // The same, opened by the scripted backend.
    sotto::ModelEntry& open_model(const std::string& script, const std::string& id = "m") {
        auto& entry = add_model(id);
        sotto_model_source source{};
        source.struct_size = sizeof source;
        source.path = str("a path");
        source.options = str(script);
        source.progress = [](void*, float) { return std::int32_t{0}; };
        entry.model = std::make_unique<sotto::Model>(backend, source);
        entry.traits.streams = entry.model->info().streams;
        return entry;
    }

    ManualClock clock;
    sotto::Hooks hooks;
    sotto::Settings settings;
    sotto::Frames frames;
    sotto::Backend backend{scripted()};
    sotto::Modules modules{{}, hooks.log};
    sotto::DeviceManager card{modules, "cpu", {}, hooks.log};
    sotto::RequestTable table;
    sotto::EventQueue queue;
    sotto::Trace trace{0};
    sotto::Meter meter;
    sotto::Recorder recorder{hooks};
    sotto::Ledger ledger;
    sotto::Registry registry; // its models return their claims to the ledger
    sotto::KvStateStore kv_states{ledger, {}, 0, hooks};
    sotto::Signal wake;
    const sotto::World world{
        .hooks = hooks,
        .settings = settings,
        .frames = frames,
        .clock = clock,
        .devices = card,
        .table = table,
        .queue = queue,
        .registry = registry,
        .trace = trace,
        .meter = meter,
        .recorder = recorder,
        .ledger = ledger,
        .host_ledger = ledger,
        .kv_states = kv_states,
        .waker = modules.waker(),
    };
};

} // namespace test
