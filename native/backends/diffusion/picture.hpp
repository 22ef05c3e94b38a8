// One request to generate images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sotto/module.h>

#include "backends/diffusion/adapter.hpp"
#include "backends/diffusion/graph_threads.hpp"
#include "backends/diffusion/network.hpp"
#include "backends/diffusion/progress.hpp"
#include "backends/diffusion/run.hpp"
#include "backends/diffusion/turns.hpp"

namespace sotto::diffusion {

class Picture {
public:
    // `network` and `host` outlive this object. `threads`: the most that compute a graph; 0: no limit.
    // `expected`: costs of each image.
    Picture(
        PictureRequest request,
        Network& network,
        const sotto_backend_host& host,
        std::uint32_t threads,
        const PhaseCosts& expected
    );

    // Called before the first step. The adapters outlive the steps.
    void use(ScaledAdapters adapters) { adapters_ = std::move(adapters); }

    // Units that are expected to remain: see graph_cost.hpp.
    std::uint32_t units() const noexcept { return progress_.remaining(); }
    // Computes the next `tokens` units of `item` and fills its out fields. Returns false if the gate ended
    // the step; the next step continues where this one stopped. Throws Error.
    bool step(const sotto_step& step, sotto_step_item& item);

private:
    friend class PictureRun;

    // On the thread of turns_.
    void work(Turns& turns);
    void generate_all();
    std::optional<RgbImage> start_image() const;
    void keep_unmasked(RgbImage& image) const;
    void finish(const RgbImage& image, std::uint32_t index);
    std::string encode(const RgbImage& image, std::uint32_t index);
    nlohmann::json about(const RgbImage& image, std::uint32_t index) const;
    ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph);
    ggml_status compute_part(ggml_backend_t backend, ggml_cgraph* part);
    void end_phase(std::uint32_t phase);
    void keep_preview(int step, const sd_image_t& image);
    bool wants_preview() const noexcept;

    // Data of a step, and the JSON object that describes it.
    struct Delivery {
        std::string data;
        std::string info;
    };

    const PictureRequest request_;
    ScaledAdapters adapters_;
    Network& network_;
    const sotto_backend_host& host_;
    GraphThreads threads_;
    Progress progress_;
    std::uint32_t image_ = 0; // that is generated
    Delivery ready_;          // for the present step
    Delivery delivered_;      // by the last step: valid until the next one
    nlohmann::json made_ = nlohmann::json::array();
    std::string answer_;
    Turns turns_; // last: ends its thread first
};

} // namespace sotto::diffusion
