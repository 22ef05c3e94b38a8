// Holds requests until their model has the memory to answer them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/codec/codec.hpp"
#include "core/control/device_evacuation.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/step_runner.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Control thread only.
class Admission {
public:
    // Starts answering a held request. May throw.
    using Answer = std::function<void(Slot& slot)>;

    Admission(
        const Ledger& ledger,
        const IdleModels& idle,
        const StepRunner& runner,
        const DeviceEvacuation& evacuation,
        EventSender& sender,
        Answer answer
    )
        : ledger_(ledger), idle_(idle), runner_(runner), evacuation_(evacuation), sender_(sender),
          answer_(std::move(answer)) {}

    // Returns true if new requests for the model must wait, because the model is evicted,
    // has no slots or must leave its device, or because the budget is exceeded.
    bool must_hold(const ModelEntry& entry) const noexcept;
    // Holds a request. Throws Error(SOTTO_ERROR_BUDGET) if its on_budget
    // is "fail" and evicting idle models would not free enough memory.
    void hold(Slot& slot, ModelEntry& entry, OnBudget on_budget);
    // Starts answering the requests held for a model, unless must_hold() is true.
    // Returns false if no request was held, or if the requests stay held.
    bool admit(ModelEntry& entry);
    // Fails the held requests whose on_budget is "fail". Returns true if any request failed.
    bool refuse_impatient(ModelEntry& entry);
    // Returns the error text that says why the model lacks memory.
    std::string reason(const ModelEntry& entry) const;

private:
    const Ledger& ledger_;
    const IdleModels& idle_;
    const StepRunner& runner_;
    const DeviceEvacuation& evacuation_;
    EventSender& sender_;
    const Answer answer_;
};

} // namespace sotto
