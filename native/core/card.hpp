// The card that an engine shares with a renderer, if it shares one.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "gpu/sharing.hpp"
#include "module/modules.hpp"
#include "text/json_reader.hpp"

namespace sotto {

class Card {
public:
    // `driver`: the CUDA driver's file; empty: the system's.
    Card(Modules& modules, std::filesystem::path driver, const Log& log);

    // Takes the closest rung that can be had. Opens the modules. Throws as gpu::Sharing does, and
    // Error(SOTTO_ERROR_STATE) where there is a card. One thread at a time, as for the next two.
    sotto_gpu_rung attach(const gpu::Renderer& renderer);
    // No model comes to the card any more. False: there is none.
    bool begin_to_leave();
    // No model is on the card any more.
    void leave();

    // A device that models were on was lost: from now on, until another card comes, they are opened on the
    // processor. Any thread.
    void lose(std::string why);
    bool is_lost() const noexcept { return is_lost_.load(); }
    // Why one was lost; empty: none was. Any thread.
    std::string lost() const;
    // Where models on the card are opened.
    struct Place {
        std::shared_ptr<const gpu::CudaContext> context; // null: in none
        std::string device;                              // empty: backends that use CUDA know by themselves
    };
    // Nothing of it where there is no card. Any thread.
    Place place() const;
    // Whether models of that backend belong on the card, in a context of CUDA. Any thread.
    bool draws(const Backend& backend) const;
    // As in sotto_engine_describe(). Any thread.
    nlohmann::ordered_json describe() const;

private:
    Modules& modules_;
    const std::filesystem::path driver_;
    const Log& log_;
    mutable std::mutex mutex_; // guards what follows
    std::shared_ptr<const gpu::Sharing> sharing_;
    std::vector<std::string> users_; // the names of backends that use CUDA, when it came
    nlohmann::ordered_json shown_;   // so that nobody keeps `sharing_` for longer than it may live
    bool leaving_ = false;
    std::string lost_;
    std::atomic<bool> is_lost_{false}; // whether lost_ says anything
};

// A card, as sotto_gpu_query() describes it.
struct CardInfo {
    gpu::Adapter adapter;
    std::string driver;
    std::string why; // there is none of that index; empty: there is
};
CardInfo query_card(std::uint32_t index);

// What the device of a renderer on Vulkan must be made with, all of it for ever; or why it can't be shared.
struct VulkanNeeds {
    const char* const* extension = nullptr;
    const void* next = nullptr;
    std::string why; // empty: it can
};
// Throws as gpu::VulkanCard does.
VulkanNeeds query_vulkan(const sotto_gpu_vulkan& vulkan);

} // namespace sotto
