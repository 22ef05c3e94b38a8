// JSON reports about memory: the plan of a load, and the memory in use.
#include "core/memory/report.hpp"

#include <algorithm>

#include "core/memory/ledger.hpp"
#include "core/model/load_plan.hpp"
#include "core/state/kv_state_store.hpp"
#include "gpu/adapter_memory.hpp"
#include "gpu/video_memory.hpp"
#include "gpu/vulkan_memory.hpp"
#include "platform/memory.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

Ordered rung_json(const PlanStep& rung) {
    const auto& info = rung.info;
    return {
        {"rung", rung.name},
        {"streams", info.streams},
        {"context", info.context},
        {"weights", info.weights},
        {"kv", info.kv},
        {"compute", info.compute},
        {"bytes", info.bytes()},
        {"host", info.host},
        {"layers", info.layers},
        {"fits", rung.fits},
    };
}

Ordered video_json(std::string_view device) {
    const auto memory = gpu::vulkan_memory(device);
    if (!memory) {
        return nullptr;
    }
    return {{"total", memory->total}, {"available", memory->available}, {"process", memory->process}};
}

Ordered system_json(std::string_view device) {
    const auto memory = system_memory();
    if (!memory) {
        return nullptr;
    }
    return {
        {"total", memory->total},
        {"available", memory->available},
        {"process", memory->own},
        {"mapped", memory->mapped},
        {"device", video_json(device)},
    };
}

Ordered cards_json() {
    auto cards = Ordered::array();
    for (const auto& card : gpu::video_memory()) {
        cards.push_back(
            {{"name", card.name}, {"uuid", card.uuid}, {"total", card.total}, {"available", card.available}}
        );
    }
    return cards;
}

Ordered adapters_json() {
    auto adapters = Ordered::array();
    for (const auto& adapter : gpu::adapter_memory()) {
        adapters.push_back(
            {{"name", adapter.name},
             {"luid", adapter.luid},
             {"total", adapter.total},
             {"budget", adapter.budget},
             {"used", adapter.used}}
        );
    }
    return adapters;
}

} // namespace

std::string plan_json(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
) {
    const auto& requested = fit.rungs.front().info;
    const auto tokens = static_cast<std::uint64_t>(requested.streams) * requested.context;
    const auto free = budget - std::min(budget, used);
    auto rungs = Ordered::array();
    for (const auto& rung : fit.rungs) {
        rungs.push_back(rung_json(rung));
    }
    const bool by_idle = !fit.fits && fit.least() <= free + idle;
    if (by_idle) {
        rungs.push_back(rung_json(fit.last()));
        rungs.back()["rung"] = "unload idle";
        rungs.back()["fits"] = true;
    }
    const bool fits = fit.fits || by_idle;
    return to_text(
        Ordered{
            {"model", id},
            {"budget", budget == 0 ? Ordered(nullptr) : Ordered(budget)},
            {"used", used},
            {"free", budget == 0 ? Ordered(nullptr) : Ordered(free)},
            {"kv_per_token", tokens == 0 ? 0 : requested.kv / tokens},
            {"rung", fits ? rungs.back()["rung"] : Ordered(nullptr)},
            {"rungs", std::move(rungs)},
            {"fits", fits},
            {"reason", fits ? "" : refusal(id, fit, budget, used, idle)},
        }
    );
}

std::string memory_json(
    const Ledger& ledger, const KvStateStore& kv_states, std::string_view models, std::string_view device
) {
    const auto now = ledger.snapshot();
    auto uses = Ordered::object();
    for (std::size_t at = 0; at < kUses; ++at) {
        uses[name_of(static_cast<Use>(at))] = {{"used", now.used[at]}, {"peak", now.peaks[at]}};
    }
    auto listed = try_parse_ordered(models);
    for (auto& model : listed) {
        const auto owner = now.owners.find(model["id"].get_ref<const std::string&>());
        for (std::size_t at = 0; at < kUses; ++at) {
            model[name_of(static_cast<Use>(at))] = owner == now.owners.end() ? 0 : owner->second[at];
        }
    }
    const auto parked = kv_states.figures();
    const auto over = now.ceiling == 0 ? 0 : now.all - std::min(now.all, now.ceiling);
    return to_text(
        Ordered{
            {"budget", now.ceiling},
            {"used", now.all},
            {"peak", now.peak},
            {"over", over},
            {"uses", std::move(uses)},
            {"models", std::move(listed)},
            {"parked", {{"count", parked.count}, {"memory", parked.memory}, {"disk", parked.disk}}},
            {"system", system_json(device)},
            {"cards", cards_json()},
            {"adapters", adapters_json()},
        }
    );
}

} // namespace sotto
