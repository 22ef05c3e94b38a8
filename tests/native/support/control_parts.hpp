// The parts of the control thread that schedule streams and manage models, connected as in an engine, but
// without the thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/control/memory_manager.hpp"
#include "core/control/model_pool.hpp"
#include "support/control_world.hpp"
#include "support/reply.hpp"

namespace test {

// A test that opens streams calls close() for each before it ends.
struct ControlParts {
    // A model opened by the scripted backend. Its memory is charged, as after a load.
    sotto::ModelEntry& open(const std::string& script, const std::string& id = "m") {
        auto& entry = all.open_model(script, id);
        const auto& info = entry.model->info();
        entry.traits.parks = true;
        entry.traits.batches = true;
        entry.claims.weights = all.ledger.take(sotto::Use::weights, id, info.weights);
        entry.claims.kv = all.ledger.take(sotto::Use::kv, id, info.kv);
        entry.claims.compute = all.ledger.take(sotto::Use::compute, id, info.compute);
        entry.loaded.max_slots = entry.loaded.first_slots = info.streams;
        entry.loaded.kv_per_slot = std::max<std::uint64_t>(1, info.kv / info.streams);
        entry.loaded.first_compute = entry.loaded.max_compute = info.compute;
        entry.loaded.min_bytes = info.weights + info.compute + entry.loaded.kv_per_slot;
        return entry;
    }
    // A chat request with one stream, which waits for a slot.
    sotto::Stream& add(sotto::ModelEntry& entry, std::shared_ptr<sotto::Session> session = nullptr) {
        sotto::Submission asked;
        asked.op = SOTTO_OP_CHAT;
        const auto body = test::chat("m", "hello");
        asked.body = sotto::PageString(body.begin(), body.end());
        sotto::Slot& slot = *all.table.add(std::move(asked), all.clock.now());
        slot.done->events = std::make_unique<sotto::RequestEvents>(1, 0.F, g_everybodys_tps);
        auto turn = session == nullptr
                        ? sotto::Turn()
                        : sotto::Turn(std::move(session), slot.id.load(), entry.submission.id, {});
        const auto reply = std::make_shared<sotto::Reply>(slot, sotto::ParsedRequest(), std::move(turn));
        std::vector<std::unique_ptr<sotto::Stream>> made;
        made.push_back(
            std::make_unique<sotto::Stream>(reply, 0, entry, streams.table().next_number(), all.clock.now())
        );
        streams.table().reserve(1);
        entry.slots.closing.reserve(entry.slots.closing.size() + streams.table().all().size() + 1);
        streams.add(std::move(made));
        return *streams.table().all().back();
    }
    // A chat request whose stream has a slot, and decodes.
    sotto::Stream& add_open(sotto::ModelEntry& entry, std::shared_ptr<sotto::Session> session = nullptr) {
        auto& stream = add(entry, std::move(session));
        const auto opened = entry.model->open_stream(SOTTO_OP_CHAT, test::chat("m", "hello"), 0);
        stream.handle = opened.stream;
        ++entry.open_streams;
        stream.opened(opened, all.clock.now());
        stream.stepped(0, false, all.clock.now());
        streams.scheduler().changed(stream);
        return stream;
    }
    // A slice that does `kind` for `stream`.
    static sotto::Slice slice(sotto::Slice::Kind kind, sotto::Stream& stream, std::uint32_t tokens = 0) {
        sotto::Slice made;
        made.kind = kind;
        made.shares.push_back({&stream, tokens});
        return made;
    }
    // Waits for the job under way.
    std::unique_ptr<sotto::Job> wait() {
        for (;;) {
            const auto seen = all.wake.value();
            if (auto done = jobs.take_done()) {
                return done;
            }
            all.wake.wait(seen, -1);
        }
    }
    // Ends the request of `stream`, if it has not ended, and closes what the backend opened.
    void close(sotto::Stream& stream) {
        auto& entry = stream.entry;
        ender.fail(stream, SOTTO_ERROR_CANCELLED, "the test ends");
        for (const auto& one : std::exchange(entry.slots.closing, {})) {
            entry.model->close_stream(one.handle);
            --entry.open_streams;
        }
        streams.sweep();
    }

    ControlWorld all;
    sotto::KvStateStore states{all.ledger, {}, 1 << 20, all.hooks}; // in memory, unlike that of `all`
    sotto::DeviceMoves moves{all.wake};
    sotto::EventSender sender{all.table, all.queue, all.meter, all.clock};
    sotto::ActiveStreams streams{all.world, all.wake};
    sotto::JobDispatch jobs{
        all.world, streams, moves, all.wake, [](sotto::Stream&, sotto_status, const char*) {}
    };
    sotto::RequestEnder ender{
        streams.table(), streams.scheduler(), streams.preparer(), streams.pins(), jobs.runner(), sender
    };
    sotto::StateSpiller spiller{all.hooks, all.settings, all.kv_states, jobs.classes(), all.wake};
    sotto::AdapterChanges adapters{all.registry, sender};
    sotto::IdleModels idle{all.registry, jobs.runner()};
    sotto::ModelManager models{all.world, streams, sender, ender, adapters, idle, all.wake};
    sotto::DeviceEvacuation evacuation{all.registry, all.card, moves, idle, ender, models};
    sotto::ModelResizer resizer{all.world, streams, jobs.starter(), ender, models};
    std::vector<sotto::Slot*> admitted;
    bool refuses = false; // admitted requests cannot be answered
    sotto::Admission admission{
        all.ledger, idle, jobs.runner(), evacuation, sender, [this](sotto::Slot& slot) {
            if (refuses) {
                throw sotto::Error(SOTTO_ERROR_ARGUMENT, "the test refuses");
            }
            admitted.push_back(&slot);
        }
    };
    sotto::MemoryManager memory{
        all.world, streams.table(), idle, jobs.runner(), admission, models, resizer, spiller
    };
};

} // namespace test
