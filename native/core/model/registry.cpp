#include "core/model/registry.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/attempt.hpp"
#include "request/operations.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

std::string owner_of(const std::string& id) {
    const auto slash = id.find('/');
    const bool hub_id =
        slash != std::string::npos && slash != 0 && id.find('/', slash + 1) == std::string::npos;
    return hub_id && id[0] != '.' ? id.substr(0, slash) : "local";
}

const char* name_of(ModelEntry::State state) {
    constexpr const char* kNames[] = {"loading", "ready", "evicted", "evicted", "leaving", "planning"};
    return kNames[static_cast<std::size_t>(state)];
}

Ordered state_of(const ModelEntry& entry) {
    return {
        {"id", entry.submission.id},
        {"state", name_of(entry.state)},
        {"streams", entry.state == ModelEntry::State::ready ? entry.traits.streams : 0},
        {"max_streams", entry.loaded.max_slots},
        {"host", entry.state == ModelEntry::State::ready ? entry.loaded.host : 0},
    };
}

// Returns the number that the host most likely wrote: 0.8 for the float 0.800000012.
double shortest(float value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size() - 1, value);
    *end.ptr = '\0';
    return std::strtod(text.data(), nullptr);
}

Ordered operations_of(const ModelEntry& entry) {
    auto names = Ordered::array();
    for (sotto_op op = 1; op <= kLastOperation; ++op) {
        if ((entry.loaded.operations >> static_cast<unsigned>(op) & 1U) != 0) {
            names.push_back(kOperationNames[op]);
        }
    }
    return names;
}

bool is_listed(const ModelEntry& entry) {
    return !entry.is_new() && entry.state != ModelEntry::State::leaving;
}

// Returns the entry of a model in list(), as JSON.
std::string describe(const ModelEntry& entry) {
    ModelInfo bytes;
    const bool ready = entry.state == ModelEntry::State::ready;
    if (ready) { // otherwise the loader owns the claims
        bytes.weights = entry.claims.weights.bytes();
        bytes.kv = entry.claims.kv.bytes();
        bytes.compute = entry.claims.compute.bytes();
        bytes.host = entry.loaded.host;
    }
    auto adapters = Ordered::array();
    for (const auto& adapter : entry.adapters.loaded) {
        adapters.push_back(
            {{"name", adapter->name},
             {"path", adapter->path},
             {"scale", shortest(adapter->scale)},
             {"bytes", ready ? adapter->bytes : 0}}
        );
    }
    auto text = to_text(
        Ordered{
            {"id", entry.submission.id},
            {"object", "model"},
            {"owned_by", owner_of(entry.submission.id)},
            {"backend", entry.loaded.backend},
            {"context", entry.loaded.context},
            {"streams", entry.loaded.max_slots},
            {"operations", operations_of(entry)},
            {"bytes",
             {{"weights", bytes.weights},
              {"kv", bytes.kv},
              {"compute", bytes.compute},
              {"host", bytes.host}}},
            {"adapters", std::move(adapters)},
        }
    );
    text.pop_back(); // the details can be long, and are not parsed again for each list
    return text + R"(,"details":)" + entry.loaded.details + "}";
}

} // namespace

ModelEntry* Registry::find(std::string_view id) noexcept {
    for (const auto& entry : entries_) {
        const bool gone =
            entry->state == ModelEntry::State::leaving || entry->state == ModelEntry::State::planning;
        if (!gone && entry->submission.id == id) {
            return entry.get();
        }
    }
    return nullptr;
}

void Registry::remove(ModelEntry& entry) {
    std::erase_if(entries_, [&](const auto& held) { return held.get() == &entry; });
}

void Registry::publish() noexcept {
    std::string picture = "[]";
    std::string states = "[]";
    const auto draw = [&] {
        std::string all = "[";
        auto doing = Ordered::array();
        for (const auto& entry : entries_) {
            if (is_listed(*entry)) {
                all += (all.size() > 1 ? "," : "") + describe(*entry);
            }
            if (entry->state != ModelEntry::State::planning) {
                doing.push_back(state_of(*entry));
            }
        }
        picture = std::move(all) + "]";
        states = to_text(doing);
    };
    // A model's change of state must not fail half-way for its list.
    attempt(draw, [](sotto_status, const char*) {});
    const std::lock_guard lock(mutex_);
    picture_.swap(picture);
    states_.swap(states);
}

std::string Registry::states() const {
    const std::lock_guard lock(mutex_);
    return states_;
}

std::string Registry::list() const {
    const std::lock_guard lock(mutex_);
    return picture_;
}

} // namespace sotto
