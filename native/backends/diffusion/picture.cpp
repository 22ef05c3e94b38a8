#include "backends/diffusion/picture.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include <ggml-cpu.h>

#include "backends/diffusion/graph_parts.hpp"
#include "image/base64_text.hpp"
#include "image/encode.hpp"
#include "runtime/guard.hpp"

namespace sotto::diffusion {

using llama::Call;
using Json = nlohmann::json;

// Computes the graphs of a picture's thread.
class PictureRun : public Run {
public:
    explicit PictureRun(Picture& picture) : picture_(picture) {}

    ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) override {
        return picture_.compute(backend, graph);
    }
    void end_phase(std::uint32_t phase) override { picture_.end_phase(phase); }

    // The calling thread's picture; null: it generates none, or measures.
    static Picture* current() noexcept {
        const auto* run = dynamic_cast<PictureRun*>(Run::current());
        return run != nullptr ? &run->picture_ : nullptr;
    }
    static bool wants_preview() noexcept {
        const auto* const picture = current();
        return picture != nullptr && picture->wants_preview();
    }
    static void on_preview(int step, int, sd_image_t* images, bool, void*) {
        if (auto* const picture = current(); picture != nullptr) {
            picture->keep_preview(step, *images);
        }
    }

private:
    Picture& picture_;
};

// stable-diffusion.cpp calls this: see sd_facts.hpp.
sd_preview_cb_t preview_callback() {
    return PictureRun::wants_preview() ? PictureRun::on_preview : nullptr;
}

Picture::Picture(
    PictureRequest request,
    Network& network,
    const sotto_backend_host& host,
    std::uint32_t threads,
    const PhaseCosts& expected
)
    : request_(std::move(request)), network_(network), host_(host), threads_(threads),
      progress_(expected, request_.count, request_.computed), turns_([this](Turns& turns) { work(turns); }) {
    turns_.on_turn = [this] { threads_.enter(turns_.thread_class()); };
}

bool Picture::step(const sotto_step& step, sotto_step_item& item) {
    progress_.begin_step(item.tokens);
    const auto end = turns_.advance(step);
    if (end == Turns::End::cancelled) {
        return false;
    }
    const auto told = progress_.end_step();
    item.evaluated = told.evaluated;
    item.remaining = end == Turns::End::finished ? 0 : told.remaining;
    delivered_ = std::exchange(ready_, {});
    item.data = llama::str(delivered_.data);
    item.data_info = llama::str(delivered_.info);
    if (end == Turns::End::finished) {
        item.result = llama::str(answer_);
        item.finish = SOTTO_FINISH_STOP;
    }
    return true;
}

void Picture::work(Turns&) {
    const Call call(host_, Call::Abort::Throws, network_.loss());
    const PictureRun run(*this);
    try {
        generate_all();
    } catch (const std::exception& error) {
        llama::throw_if_lost(error);
        throw;
    }
    answer_ = Json{
        {"created", static_cast<std::int64_t>(std::time(nullptr))},
        {"data", std::move(made_)},
        {"output_format", request_.output.format},
        {"size", std::to_string(request_.width) + "x" + std::to_string(request_.height)}
    }.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Picture::generate_all() {
    for (; image_ < request_.count; ++image_) {
        auto image = request_.computed == 0 ? start_image() : network_.generate(request_, image_, adapters_);
        if (!image) {
            if (turns_.ask()) {
                return;
            }
            Call::current()->refuse("stable-diffusion.cpp generated no image");
        }
        keep_unmasked(*image);
        finish(*image, image_);
        progress_.end_image();
        if (image_ + 1 < request_.count) {
            turns_.hand_over_or_throw();
        }
    }
}

std::optional<RgbImage> Picture::start_image() const {
    const auto& start = request_.start.pixels;
    RgbImage image{start.width, start.height, std::vector<std::uint8_t>(start.count() * image::kRgb)};
    for (std::size_t i = 0; i < start.count(); ++i) {
        std::copy_n(
            start.pixels.data() + i * image::kRgba, image::kRgb, image.pixels.data() + i * image::kRgb
        );
    }
    return image;
}

// Decoding changes all pixels slightly, also those that the mask keeps.
void Picture::keep_unmasked(RgbImage& image) const {
    const auto& [start, mask, strength] = request_.start;
    for (std::size_t i = 0; i < mask.count(); ++i) {
        if (mask.pixels[i * image::kRgba] == 0) {
            std::copy_n(
                start.pixels.data() + i * image::kRgba, image::kRgb, image.pixels.data() + i * image::kRgb
            );
        }
    }
}

void Picture::finish(const RgbImage& image, std::uint32_t index) {
    auto file = encode(image, index);
    Json told = {{"revised_prompt", request_.prompt}, {"seed", request_.seed_of(index)}};
    if (request_.output.as_data) {
        ready_ = {std::move(file), about(image, index).dump()};
    } else {
        told["b64_json"] = image::to_base64(file);
    }
    made_.push_back(std::move(told));
}

std::string Picture::encode(const RgbImage& image, std::uint32_t index) {
    if (request_.output.format == "raw") {
        std::string pixels(image.pixels.size() / image::kRgb * image::kRgba, '\xff');
        for (std::size_t i = 0; i < image.pixels.size() / image::kRgb; ++i) {
            std::copy_n(image.pixels.data() + i * image::kRgb, image::kRgb, pixels.data() + i * image::kRgba);
        }
        return pixels;
    }
    image::Metadata metadata;
    if (!request_.output.model.empty()) {
        metadata = {
            {"Software", "Sotto"},
            {"model", request_.output.model},
            {"prompt", request_.prompt},
            {"seed", std::to_string(request_.seed_of(index))},
            {"steps", std::to_string(request_.steps)},
            {"guidance_scale", Json(request_.guidance).dump()},
        };
        if (!request_.negative_prompt.empty()) {
            metadata.insert(metadata.begin() + 3, {"negative_prompt", request_.negative_prompt});
        }
    }
    const image::Pixels pixels{image.pixels.data(), image.width, image.height, image::kRgb};
    const auto goes_on = [this] { return !turns_.ask(); };
    auto file = request_.output.format == "webp"
                    ? image::encode_webp(pixels, request_.output.compression, goes_on, metadata)
                    : image::encode_png(pixels, goes_on, metadata);
    if (!file) {
        throw llama::Error(SOTTO_ERROR_CANCELLED, "cancelled");
    }
    return *std::move(file);
}

Json Picture::about(const RgbImage& image, std::uint32_t index) const {
    return {
        {"index", index},
        {"seed", request_.seed_of(index)},
        {"width", image.width},
        {"height", image.height},
        {"format", request_.output.format}
    };
}

// Hands over when the step has computed what it was asked for.
ggml_status Picture::compute(ggml_backend_t backend, ggml_cgraph* graph) {
    GraphParts parts(*graph, ggml_backend_is_cpu(backend));
    auto status = turns_.ask() ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
    while (status == GGML_STATUS_SUCCESS) {
        auto* const part = parts.next();
        if (part == nullptr) {
            return status;
        }
        status = compute_part(backend, part);
        progress_.add(parts.cost());
        if (status == GGML_STATUS_SUCCESS && progress_.ends_step() && turns_.hand_over()) {
            status = GGML_STATUS_ABORTED;
        }
    }
    if (status == GGML_STATUS_ABORTED) {
        Call::current()->expect_below(0); // stable-diffusion.cpp logs it as an error
    }
    return status;
}

ggml_status Picture::compute_part(ggml_backend_t backend, ggml_cgraph* part) {
    if (!ggml_backend_is_cpu(backend)) {
        return ggml_backend_graph_compute(backend, part);
    }
    ggml_backend_cpu_set_threadpool(backend, threads_.pool(turns_.threads()));
    ggml_backend_cpu_set_n_threads(backend, static_cast<int>(threads_.size()));
    ggml_backend_cpu_set_abort_callback(
        backend, [](void* turns) { return static_cast<Turns*>(turns)->ask(); }, &turns_
    );
    ggml_status status = GGML_STATUS_FAILED;
    {
        const Call call(host_, Call::Abort::Dies);
        status = ggml_backend_graph_compute(backend, part);
    }
    ggml_backend_cpu_set_abort_callback(backend, nullptr, nullptr);
    ggml_backend_cpu_set_threadpool(backend, nullptr);
    return status;
}

bool Picture::wants_preview() const noexcept {
    return request_.output.previews > 0;
}

// Previews are spread evenly over the denoise steps.
void Picture::keep_preview(int step, const sd_image_t& image) {
    const auto parts = request_.output.previews + 1;
    for (std::uint32_t at = 1; at < parts; ++at) {
        const auto place = std::lround(static_cast<double>(request_.computed) * at / parts);
        if (step != place || place >= static_cast<long>(request_.computed)) {
            continue;
        }
        const auto bytes = std::size_t{image.width} * image.height * image.channel;
        const RgbImage preview{image.width, image.height, {image.data, image.data + bytes}};
        auto info = about(preview, image_);
        info["partial"] = true;
        info["partial_image_index"] = at - 1;
        info["step"] = step;
        ready_ = {encode(preview, image_), info.dump()};
    }
}

// Hands over, so that each denoise step reports progress and delivers its preview.
void Picture::end_phase(std::uint32_t phase) {
    if (progress_.end_phase(phase)) {
        turns_.hand_over_or_throw();
    }
}

} // namespace sotto::diffusion
