// Holds requests whose model has no room at present.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/codec/codec.hpp"
#include "core/control/device_evacuation.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/teller.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Control thread only.
class Admission {
public:
    // Answers a request that was held. May throw.
    using Answer = std::function<void(Slot& slot)>;

    Admission(
        const Ledger& ledger,
        const IdleModels& idle,
        const StepRunner& runner,
        const DeviceEvacuation& evacuation,
        Teller& teller,
        Answer answer
    )
        : ledger_(ledger), idle_(idle), runner_(runner), evacuation_(evacuation), teller_(teller),
          answer_(std::move(answer)) {}

    // Returns true if a request has to wait until its model has room.
    bool must_hold(const ModelEntry& entry) const noexcept;
    // Holds a request. Throws Error(SOTTO_ERROR_BUDGET) if the request does not wait and there is no room.
    void hold(Slot& slot, ModelEntry& entry, OnBudget on_budget);
    // Answers the requests that were held, if their model has room. Returns true if there were any.
    bool admit(ModelEntry& entry);
    // Ends the requests that do not wait. Returns true if there were any.
    bool refuse_impatient(ModelEntry& entry);
    // Why a model has no room.
    std::string reason(const ModelEntry& entry) const;

private:
    const Ledger& ledger_;
    const IdleModels& idle_;
    const StepRunner& runner_;
    const DeviceEvacuation& evacuation_;
    Teller& teller_;
    const Answer answer_;
};

} // namespace sotto
