// Starts submitted requests: parses bodies, executes session requests, and creates the answering streams.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/control/active_streams.hpp"
#include "core/control/admission.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/field_warnings.hpp"
#include "core/control/incoming_requests.hpp"
#include "core/control/quantizer.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/state_files.hpp"
#include "core/control/world.hpp"
#include "core/game/game_state.hpp"
#include "core/game/game_task.hpp"

namespace sotto {

// Requests that only work on files, and continue on threads for files.
struct FileRequests {
    StateFiles states;
    Quantizer quantizer;
};

// Control thread only.
class RequestIntake {
public:
    // `wake`: notified when the session names in a large request have been found, and when a state file has
    // been read or written.
    RequestIntake(
        const World& world,
        ActiveStreams& streams,
        Admission& admission,
        RequestEnder& ender,
        EventSender& sender,
        GuardChecks& checks,
        Signal& wake
    );

    // Starts a request of kind Submission::Kind::answer. If add() throws, no reference to the slot is kept.
    void add(Slot& slot);
    // Removes a cancelled request whose body is being read, or whose state file is being read or written.
    // Returns false if `slot` holds no such request.
    bool drop(const Slot& slot) noexcept;
    // Cancels the request if it quantizes a file: it ends later. Returns false otherwise.
    bool cancel(const Slot& slot) noexcept { return files_.quantizer.cancel(slot); }
    // End requests as cancelled: cancel_reading() those whose body is being read, cancel_files() those whose
    // state file is being read or written; those that quantize a file end later.
    void cancel_reading(std::string_view why) noexcept;
    void cancel_files(std::string_view why) noexcept;
    // Returns true if no request is being read, and none quantizes a file.
    bool is_empty() const noexcept { return incoming_.is_empty() && files_.quantizer.is_empty(); }

    // Continue requests: take_read() those whose body has been parsed, take_prepared() those that the backend
    // has prepared, take_files() those whose file has been read or written. Each returns true if
    // anything changed.
    bool take_read() noexcept;
    bool take_prepared() noexcept;
    bool take_files() noexcept;

    const Sessions& sessions() const noexcept { return stored_.sessions; }
    StateFiles& files() noexcept { return files_.states; }

private:
    void proceed(Incoming& incoming);
    void finish_reading(Incoming& incoming) noexcept;
    void answer(Slot& slot, ParsedRequest parsed);
    void start(Slot& slot, ModelEntry& entry, ParsedRequest parsed, Turn turn);
    std::vector<std::unique_ptr<Stream>> streams_for(const std::shared_ptr<Reply>& reply, ModelEntry& entry);
    void file_done(Slot& slot, StateTask& task) noexcept;
    void start_game(Slot& slot, ParsedRequest& parsed);
    void restore_game(Slot& slot, GameRead& read);

    const Settings& settings_;
    const Clock& clock_;
    Registry& registry_;
    ActiveStreams& streams_;
    Admission& admission_;
    RequestEnder& ender_;
    EventSender& sender_;
    FieldWarnings warnings_;
    Conversations stored_;
    KvStateStore& kv_states_;
    IncomingRequests incoming_;
    FileRequests files_;
};

} // namespace sotto
