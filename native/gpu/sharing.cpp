#include "gpu/sharing.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "gpu/d3d12.hpp"
#include "gpu/vulkan_card.hpp"
#include "gpu/vulkan_memory.hpp"
#include "platform/process.hpp"

namespace sotto::gpu {
namespace {

// The CiG contexts of this process: one for each renderer queue, shared by all engines that use it.
class Lent {
public:
    struct One {
        std::unique_ptr<ExternalQueue> queue; // destroyed after the context
        std::unique_ptr<const CudaContext> context;
        unsigned users = 0;
    };

    template <typename Make>
    std::shared_ptr<const CudaContext> of(void* queue, Make make) {
        const std::lock_guard lock(mutex_);
        auto found = all_.find(queue);
        if (found == all_.end()) {
            found = all_.emplace(queue, make()).first;
        }
        ++found->second.users;
        return {found->second.context.get(), [this, queue](const CudaContext*) { give_back(queue); }};
    }

private:
    void give_back(void* queue) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(queue);
        if (--found->second.users == 0) {
            all_.erase(found);
        }
    }

    // Guards all_, also while a context is created. Recursive: if of() runs out of memory for the shared_ptr,
    // give_back() runs while of() holds the lock.
    std::recursive_mutex mutex_;
    std::map<void*, One> all_;
};

Lent& lent() {
    static PerProcess<Lent> all; // never destroyed, for engines destroyed during static destruction
    return all.get();
}

const char* named(const Renderer& renderer) noexcept {
    constexpr const char* kNames[] = {"d3d12", "vulkan", "cuda"};
    return kNames[renderer.with.index()];
}

} // namespace

// Tries the rungs of the sharing ladder in order, the closest sharing first. cig(), cuda() and vulkan() each
// take one rung, or throw an Error with the reason.
class Sharing::Ladder {
public:
    Ladder(Sharing& sharing, const Renderer& renderer, const Terms& terms)
        : sharing_(sharing), renderer_(renderer), terms_(terms) {}

    void go() {
        if (const auto* vulkan = std::get_if<sotto_gpu_vulkan>(&renderer_.with)) {
            try {
                card_.emplace(*vulkan).check_queue();
            } catch (const Error& error) {
                if (error.status() != SOTTO_ERROR_UNSUPPORTED) {
                    throw;
                }
                card_.reset();
                no_card_ = error.what();
            }
        } else if (const auto* d3d12 = std::get_if<sotto_gpu_d3d12>(&renderer_.with)) {
            luid_ = luid_of(*d3d12);
        }
        const bool taken = rung(SOTTO_GPU_SHARING_CIG, [this] { cig(); }) ||
                           rung(SOTTO_GPU_SHARING_CUDA, [this] { cuda(); }) ||
                           rung(SOTTO_GPU_SHARING_VULKAN, [this] { vulkan(); });
        if (!taken) {
            sharing_.rung_ = SOTTO_GPU_SHARING_CPU;
        }
    }

private:
    // Calls `take` to take a rung. If `take` throws an Error, records the reason in not_taken_ and returns
    // false, but rethrows SOTTO_ERROR_ARGUMENT.
    template <typename Take>
    bool rung(sotto_gpu_sharing which, Take take) {
        try {
            take();
            sharing_.rung_ = which;
            return true;
        } catch (const Error& error) {
            if (error.status() == SOTTO_ERROR_ARGUMENT) {
                throw;
            }
            sharing_.not_taken_.push_back({which, error.what()});
            return false;
        }
    }

    static void need(const std::string& why_not) {
        if (!why_not.empty()) {
            throw Error(SOTTO_ERROR_UNSUPPORTED, why_not);
        }
    }

    // Returns the renderer's GPU as the CUDA driver describes it.
    const Adapter& adapter() {
        need(no_card_);
        open_driver();
        if (!sharing_.adapter_) {
            sharing_.adapter_ = card_ ? with_uuid(*driver_, card_->uuid()) : with_luid(*driver_, luid_);
        }
        return *sharing_.adapter_;
    }

    void open_driver() {
        if (driver_ == nullptr) {
            driver_ = Driver::open(terms_.driver);
            sharing_.driver_ = driver_->version();
        }
    }

    void cig() {
        need(terms_.no_cuda);
        if (std::holds_alternative<sotto_gpu_cuda>(renderer_.with)) {
            hosts_context();
            need(sharing_.context_->is_cig() ? "" : "cuda->context is not a CiG context");
            return;
        }
        const auto& card = adapter();
        const bool on_vulkan = card_.has_value();
        need(on_vulkan ? card.cig_vulkan_why : card.cig_d3d12_why);
        void* queue = on_vulkan ? card_->shown().queue : std::get<sotto_gpu_d3d12>(renderer_.with).queue;
        sharing_.context_ = lent().of(queue, [&] {
            Lent::One one;
            cuda::CigParam param = {cuda::kD3d12CommandQueue, queue};
            if (on_vulkan) {
                one.queue = std::make_unique<ExternalQueue>(*card_);
                param = {cuda::kNvBlob, one.queue->data()};
            }
            one.context = std::make_unique<const CudaContext>(driver_, card, &param);
            return one;
        });
    }

    void cuda() {
        need(terms_.no_cuda);
        if (std::holds_alternative<sotto_gpu_cuda>(renderer_.with)) {
            hosts_context();
            return;
        }
        const auto& card = adapter();
        sharing_.context_ = std::make_shared<const CudaContext>(driver_, card, nullptr);
    }

    void hosts_context() {
        if (sharing_.context_ != nullptr) {
            return;
        }
        open_driver();
        auto* hosts = static_cast<cuda::Context>(std::get<sotto_gpu_cuda>(renderer_.with).context);
        try {
            // The constructor makes the first driver call with the host's context: fails for an invalid
            // context
            sharing_.context_ = std::make_shared<const CudaContext>(driver_, hosts);
        } catch (const Error& error) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED, "cuda->context cannot be used: " + std::string(error.what())
            );
        }
        sharing_.adapter_ = sharing_.context_->adapter();
    }

    void vulkan() {
        need(terms_.no_vulkan);
        need(no_card_);
        if (std::holds_alternative<sotto_gpu_cuda>(renderer_.with)) {
            hosts_context(); // the context determines the GPU
            sharing_.context_.reset();
            sharing_.uuid_ = sharing_.adapter_->uuid;
        } else {
            sharing_.uuid_ = card_ ? card_->uuid() : vulkan_uuid(luid_);
        }
    }

    Sharing& sharing_;
    const Renderer& renderer_;
    const Terms& terms_;
    std::shared_ptr<const Driver> driver_;
    std::optional<VulkanCard> card_;
    std::string no_card_; // reason why the renderer's Vulkan objects cannot be queried
    std::uint64_t luid_ = 0;
};

Sharing::Sharing(const Renderer& renderer, const Terms& terms) : with_(named(renderer)) {
    Ladder(*this, renderer, terms).go();
    if (rung_ >= renderer.least) {
        return;
    }
    const auto expected = std::string("at most '") + name_of(rung_) + "' here";
    std::string why = invalid("gpu->min_sharing", name_of(renderer.least), expected);
    for (const auto& one : not_taken_) {
        why += std::string("; ") + name_of(one.rung) + ": " + one.why;
    }
    throw Error(SOTTO_ERROR_UNSUPPORTED, why);
}

const char* name_of(sotto_gpu_sharing rung) noexcept {
    switch (rung) {
    case SOTTO_GPU_SHARING_CIG:
        return "cig";
    case SOTTO_GPU_SHARING_CUDA:
        return "cuda";
    case SOTTO_GPU_SHARING_VULKAN:
        return "vulkan";
    case SOTTO_GPU_SHARING_CPU:
        return "cpu";
    default:
        return "none";
    }
}

} // namespace sotto::gpu
