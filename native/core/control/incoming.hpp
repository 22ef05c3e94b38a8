// A request that is being read, and the sessions that it may name.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/guarded_texts.hpp"
#include "core/codec/codec.hpp"
#include "core/control/guard_checks.hpp"
#include "core/control/preparing.hpp"
#include "core/request/request_table.hpp"
#include "guard/guard.hpp"

namespace sotto {

// Ids of the sessions that a request may name. `all`: it may name any session.
struct SessionNames {
    bool all = false;
    std::vector<std::string> ids;

    bool touch(const SessionNames& others) const noexcept;
};

// Returns the sessions that `body` may name. Searches the
// bytes, in a fraction of the time that parsing takes.
SessionNames names_in(std::string_view body);

// A request that is read on a preparing thread, or that
// waits for earlier requests that may name its session.
struct Incoming {
    // `guard`: the engine's guardrails, or null.
    Incoming(Slot& slot, std::shared_ptr<const guard::Guard> guard)
        : slot(&slot), op(slot.submission.op), guard(std::move(guard)) {}

    Slot* slot; // null: the request was dropped
    const sotto_op op;
    const std::shared_ptr<const guard::Guard> guard;
    PageString body;                // moved here from the slot while the request is queued
    ParsedRequest parsed;           // out: set unless the request is about sessions
    SessionRequest session_request; // out: set if the request is about sessions
    guard::Verdict verdict;         // out: of SOTTO_OP_CHECK
    GuardedTexts unchecked;         // out: texts that checkers with models have yet to check
    bool is_checking = false;       // they check `unchecked`
    SessionNames names;             // valid once `named` is true
    std::atomic<bool> named{false};
    PreparingTask reading; // done once the body is read

    // Checks and parses `text`, the body of the request, which guardrails may rewrite. Throws Error if it is
    // invalid or blocked, or reading was cancelled.
    void read(PageString& text);
    // Takes what checkers with models decided about `unchecked`. Throws like read().
    void take(CheckResult result);
    // Returns true if reading has succeeded and checkers with models have not decided yet.
    bool is_unchecked() const noexcept { return !unchecked.is_empty() && !reading.failure; }
    // Sets `names` from the parsed request.
    void take_names();
    // Returns true if `later` must not overtake this request, as both may name the same session.
    bool holds(const Incoming& later) const noexcept;

private:
    void rewrite(PageString& text, const std::optional<std::string>& rewritten);
};

} // namespace sotto
