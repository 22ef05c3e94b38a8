// Runs the checkers of guardrails that need models, by requests of the engine to itself.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "core/check/guarded_texts.hpp"
#include "core/check/model_checker.hpp"
#include "core/control/world.hpp"
#include "core/request/request_table.hpp"

namespace sotto {

// What the checkers decided.
struct CheckResult {
    Failure failure;                      // set if a checker failed and its rule says so
    std::vector<guard::Verdict> verdicts; // of each text; of none after a blocked one unless check_all is set
};

// Checks texts one after another, each with the rules of its stage in their order. Each rule sends requests
// to its model, one after another, which are scheduled with the priority and deadline of the request that
// waits. Control thread only.
class GuardChecks : private RequestListener {
public:
    using Call = std::function<void(Slot& slot)>;
    using Done = std::function<void(CheckResult result)>;

    // `start`: starts a request, or ends it with an error. `cancel`: ends a live request.
    GuardChecks(const World& world, Call start, Call cancel);
    ~GuardChecks() override;

    // Checks `texts` for the request `of`; advance() calls `done`, unless drop() is called before.
    void start(Slot& of, GuardedTexts texts, Done done);
    // Cancels the check of a request. Returns false if the request has none.
    bool drop(const Slot& of) noexcept;
    // Continues checks whose requests have ended. Returns true if any did.
    bool advance() noexcept;

private:
    struct ModelCall;
    struct Check;

    void heard(Slot& slot, std::unique_ptr<Event> event) noexcept override;
    void proceed(Check& check) noexcept;
    bool step(Check& check);
    bool begin_rule(Check& check);
    void end_rule(Check& check);
    void send(Check& check, sotto_op op, std::string body);
    void take(Check& check, const Event& answer);
    void failed(Check& check, sotto_status status, const char* why);
    std::uint64_t number_of(const std::string& model) const noexcept;

    RequestTable& table_;
    Registry& registry_;
    const Clock& clock_;
    const Call start_;
    const Call cancel_;
    TopicVectorCache examples_;
    std::vector<std::unique_ptr<Check>> checks_;
};

} // namespace sotto
