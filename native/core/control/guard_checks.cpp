#include "core/control/guard_checks.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "guard/escapes.hpp"

namespace sotto {
namespace {

constexpr float kUnpaced = 1e6F; // tokens per second: faster than any model

} // namespace

// A request to the model of a rule.
struct GuardChecks::ModelCall {
    std::uint64_t model = 0;       // number of the model when the rule began
    Slot* request = nullptr;       // while it is live
    std::unique_ptr<Event> answer; // last event of the request, once it has ended
};

struct GuardChecks::Check {
    Check(Slot& slot, GuardedTexts given, Done then)
        : of(slot), texts(std::move(given)), done(std::move(then)) {}

    Slot& of;
    const GuardedTexts texts;
    Done done;
    CheckResult result;
    std::size_t text = 0;                  // index of the text that is being checked
    std::size_t rule = 0;                  // index of its rule
    std::string plain;                     // the text without JSON escapes
    std::unique_ptr<ModelChecker> checker; // of that rule; null: not begun
    ModelCall call;
    guard::Verdict verdict; // on the text, so far
    bool over = false;

    const guard::ModelRule& current() const { return texts.guard->model_rules(texts.stage)[rule]; }
};

GuardChecks::GuardChecks(const World& world, Call start, Call cancel)
    : table_(world.table), registry_(world.registry), clock_(world.clock), start_(std::move(start)),
      cancel_(std::move(cancel)) {}

GuardChecks::~GuardChecks() = default;

void GuardChecks::start(Slot& of, GuardedTexts texts, Done done) {
    checks_.push_back(std::make_unique<Check>(of, std::move(texts), std::move(done)));
}

bool GuardChecks::drop(const Slot& of) noexcept {
    const auto found = std::ranges::find_if(checks_, [&](const auto& check) { return &check->of == &of; });
    if (found == checks_.end()) {
        return false;
    }
    const auto check = std::move(*found);
    checks_.erase(found);
    if (Slot* request = std::exchange(check->call.request, nullptr)) {
        cancel_(*request);
    }
    return true;
}

bool GuardChecks::advance() noexcept {
    bool any = false;
    for (;;) {
        const auto found = std::ranges::find_if(checks_, [](const auto& check) {
            return check->call.request == nullptr || check->call.answer != nullptr;
        });
        if (found == checks_.end()) {
            return any;
        }
        any = true;
        Check& check = **found;
        proceed(check);
        if (check.over) {
            const auto ended =
                std::ranges::find_if(checks_, [&](const auto& one) { return one.get() == &check; });
            const auto owned = std::move(*ended);
            checks_.erase(ended);
            owned->done(std::move(owned->result));
        }
    }
}

void GuardChecks::heard(Slot& slot, std::unique_ptr<Event> event) noexcept {
    const auto found =
        std::ranges::find_if(checks_, [&](const auto& one) { return one->call.request == &slot; });
    if (found != checks_.end() && event->kind == SOTTO_EVENT_REQUEST_DONE) {
        (*found)->call.answer = std::move(event);
    }
}

// Continues a check until it has sent a request or is over.
void GuardChecks::proceed(Check& check) noexcept {
    const auto fail = [&](sotto_status status, const char* why) {
        attempt(
            [&] { failed(check, status, why); },
            [&](sotto_status, const char*) {
                check.result.failure.set(SOTTO_ERROR_MEMORY, "out of host memory");
                check.over = true;
            }
        );
    };
    bool goes_on = true;
    while (goes_on && !check.over) {
        attempt([&] { goes_on = step(check); }, fail);
    }
}

// Takes the answer of a request, or begins or ends a rule. Returns false if a request was sent.
bool GuardChecks::step(Check& check) {
    if (const auto answer = std::exchange(check.call.answer, nullptr)) {
        check.call.request = nullptr;
        take(check, *answer);
    }
    if (check.checker == nullptr && !begin_rule(check)) {
        return true;
    }
    auto body = check.checker->next_request();
    if (body.empty()) {
        end_rule(check);
        return true;
    }
    send(check, check.checker->op(), std::move(body));
    return false;
}

// Begins the next rule. Returns false if all rules have checked the text.
bool GuardChecks::begin_rule(Check& check) {
    const auto& rules = check.texts.guard->model_rules(check.texts.stage);
    const bool decided = check.verdict.action != guard::Action::allow;
    if (!decided && check.rule < rules.size()) {
        const auto& rule = check.current();
        check.call.model = number_of(rule.model);
        check.plain = guard::unescaped(check.texts.texts[check.text].text);
        check.checker = checker_of(rule, check.plain, examples_, check.call.model);
        return true;
    }
    if (!decided) {
        check.verdict.checker = rules.back().name;
    }
    const bool stops = check.verdict.action == guard::Action::block && !check.texts.check_all;
    check.over = stops || check.text + 1 == check.texts.texts.size();
    check.result.verdicts.push_back(std::exchange(check.verdict, {}));
    check.rule = 0;
    ++check.text;
    return false;
}

void GuardChecks::end_rule(Check& check) {
    const auto& rule = check.current();
    if (const auto& found = check.checker->objection()) {
        check.verdict = verdict_of(rule, check.texts.texts[check.text].text, found->topic, found->score);
    }
    check.checker.reset();
    ++check.rule;
}

// Sends a request to a model.
void GuardChecks::send(Check& check, sotto_op op, std::string body) {
    Submission submission;
    submission.op = op;
    submission.body = body;
    submission.priority = check.of.submission.priority;
    submission.deadline_ns = check.of.submission.deadline_ns;
    submission.target_tps = kUnpaced;
    Slot* slot = table_.add(std::move(submission), clock_.now(), this);
    if (slot == nullptr) {
        throw Error(SOTTO_ERROR_BUSY, "too many requests are live: check again when some have ended");
    }
    check.call.request = slot;
    start_(*slot);
}

// Takes the last event of a request.
void GuardChecks::take(Check& check, const Event& answer) {
    if (answer.status < 0) {
        throw Error(answer.status, answer.error);
    }
    if (number_of(check.current().model) != check.call.model) {
        throw Error(SOTTO_ERROR_STATE, "model '" + check.current().model + "' was loaded again; check again");
    }
    check.checker->take(answer.json);
}

// Ends the rule that failed as it says.
void GuardChecks::failed(Check& check, sotto_status status, const char* why) {
    check.checker.reset();
    if (check.rule >= check.texts.guard->model_rules(check.texts.stage).size()) {
        check.result.failure.set(status, why);
        check.over = true;
        return;
    }
    const auto& rule = check.current();
    if (rule.on_error == guard::OnError::allow && status != SOTTO_ERROR_CANCELLED) {
        ++check.rule;
    } else if (rule.on_error == guard::OnError::block && status != SOTTO_ERROR_CANCELLED) {
        check.verdict.action = guard::Action::block;
        check.verdict.checker = rule.name;
        check.verdict.category = rule.category;
        check.verdict.reason = std::string("the check failed: ") + why;
    } else {
        check.result.failure = {status, "guardrails." + rule.path + ": " + why};
        check.over = true;
    }
}

// Returns the number of a loaded model, or 0.
std::uint64_t GuardChecks::number_of(const std::string& model) const noexcept {
    const auto* entry = registry_.find(model);
    return entry == nullptr ? 0 : entry->loaded.number;
}

} // namespace sotto
