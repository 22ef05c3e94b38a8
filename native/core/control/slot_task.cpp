#include "core/control/slot_task.hpp"

#include <algorithm>
#include <utility>

#include "core/state/state_file.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// Returns the id of a session; empty if it was closed.
std::string id_of(const Session* session, const Sessions& sessions) {
    std::string found;
    sessions.each([&](const std::string& id, const Session& one) { found = &one == session ? id : found; });
    return found;
}

const Stream* stream_in(std::int32_t slot, const ModelEntry& entry, const StreamTable& streams) {
    const auto found = std::ranges::find_if(streams.all(), [&](const auto& stream) {
        return &stream->entry == &entry && stream->handle != nullptr && !stream->is_outside() &&
               stream->state != Stream::State::over && stream->slot() == slot;
    });
    return found == streams.all().end() ? nullptr : found->get();
}

// Returns the session of a stream, or the pinned session that keeps the slot; null if neither exists.
const Session* session_in(std::int32_t slot, const ModelEntry& entry, const Stream* stream) {
    if (stream != nullptr) {
        return stream->reply->turn.session().get();
    }
    const auto found = std::ranges::find_if(entry.slots.pinned, [&](const PinnedSlot& one) {
        return one.handle != nullptr && one.slot == slot;
    });
    return found == entry.slots.pinned.end() ? nullptr : found->session.get();
}

} // namespace

void run_slot_task(Model& model, SlotTask& task, const PageBuffer* state) {
    switch (task.action) {
    case SlotAction::list:
        for (std::uint32_t slot = 0; slot < model.info().streams; ++slot) {
            task.uses.push_back(model.read_slot(slot));
        }
        break;
    case SlotAction::save:
        task.saved = save_slot(model, task.slot, task.saved_tokens);
        break;
    case SlotAction::restore:
        task.response = restore_slot(model, task.slot, *state);
        break;
    case SlotAction::erase:
        task.response = to_text(Ordered{{"id_slot", task.slot}, {"n_erased", model.erase_slot(task.slot)}});
        break;
    }
}

std::string slot_list(
    const std::vector<SlotUse>& uses,
    const ModelEntry& entry,
    const StreamTable& streams,
    const Sessions& sessions
) {
    auto slots = Ordered::array();
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const auto number = static_cast<std::int32_t>(i);
        const auto* stream = stream_in(number, entry, streams);
        const auto* session = session_in(number, entry, stream);
        Ordered slot = {
            {"id", i},
            {"is_processing", stream != nullptr},
            {"n_ctx", entry.loaded.context},
            {"n_tokens", uses[i].tokens},
            {"session", nullptr},
            {"request", nullptr},
        };
        if (auto id = session == nullptr ? std::string() : id_of(session, sessions); !id.empty()) {
            slot["session"] = std::move(id);
        }
        if (stream != nullptr) {
            slot["request"] = stream->reply->slot.id.load();
        }
        slots.push_back(std::move(slot));
    }
    return to_text(Ordered{{"slots", std::move(slots)}});
}

} // namespace sotto
