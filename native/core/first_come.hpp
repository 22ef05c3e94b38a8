// A plain scheduler: models in turn; on each, whoever came first is let in first.
#pragma once

#include <cstdint>
#include <deque>

#include "core/scheduler.hpp"

namespace sotto {

// All streams of a model that are due share one step, prompts in order of arrival, where the model
// can batch; else streams take turns.
class FirstCome final : public Scheduler {
public:
    void add(Stream& stream) override;
    void remove(Stream& stream) override;
    Slice next(std::int64_t now, const Limits& limits) override;
    bool goes_on(std::int64_t now) const override;
    std::int64_t wake() const override;

private:
    ModelEntry* next_model(std::int64_t now) const;
    Slice open_slice(const ModelEntry& entry) const;
    Slice step_slice(const ModelEntry& entry, std::int64_t now, const Limits& limits) const;

    std::deque<Stream*> streams_; // in order of arrival; the oldest leave first, mostly
    std::uint64_t slices_ = 0;
};

} // namespace sotto
