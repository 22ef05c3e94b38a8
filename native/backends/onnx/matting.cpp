#include "backends/onnx/matting.hpp"

#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "abi/call.hpp"
#include "image/base64_text.hpp"
#include "image/encode.hpp"

namespace sotto::onnx {
namespace {

bool ends(const sotto_step& step) {
    return step.gate(step.context) != 0;
}

std::optional<std::string>
encoded(const image::Pixels& pixels, const MatteRequest& request, const image::GoesOn& goes_on) {
    if (request.format == "raw") {
        const auto bytes = std::size_t{pixels.width} * pixels.height * pixels.channels;
        return std::string(reinterpret_cast<const char*>(pixels.data), bytes);
    }
    return request.format == "webp" ? image::encode_webp(pixels, request.compression, goes_on)
                                    : image::encode_png(pixels, goes_on);
}

} // namespace

Matting::Matting(MatteRequest request, Session& session, const Recipe& recipe)
    : cutout_(std::move(request)), session_(session), recipe_(recipe) {}

bool Matting::step(const sotto_step& step, sotto_step_item& item) {
    if (ends(step) || !compute(step)) {
        return false;
    }
    ++done_;
    item.evaluated = 1;
    item.remaining = units() - done_;
    if (item.remaining == 0) {
        deliver(item);
    }
    return true;
}

bool Matting::compute(const sotto_step& step) {
    if (done_ == 0) {
        return run_model(step);
    }
    if (done_ + 1 == units()) {
        return encode(step);
    }
    cutout_.compute_band(done_ - 1);
    return true;
}

bool Matting::run_model(const sotto_step& step) {
    const auto prepared = prepare_image(cutout_.request().image, recipe_);
    auto mask = session_.run(prepared, recipe_.size, step.thread_class, [&] { return ends(step); });
    if (!mask) {
        return false;
    }
    finish_mask(recipe_, *mask);
    cutout_.set_mask(*mask);
    return true;
}

bool Matting::encode(const sotto_step& step) {
    const auto goes_on = [&] { return !ends(step); };
    const auto pixels = cutout_.pixels();
    const auto& request = cutout_.request();
    auto file = encoded(pixels, request, goes_on);
    if (!file) {
        return false;
    }
    file_ = std::move(*file);
    cutout_.drop_pixels();
    return true;
}

void Matting::deliver(sotto_step_item& item) {
    const auto& request = cutout_.request();
    const auto& image = request.image;
    Json answer = {{"created", static_cast<std::int64_t>(std::time(nullptr))}, {"data", Json::array()}};
    if (request.as_data) {
        info_ = Json{
            {"index", 0}, {"width", image.width}, {"height", image.height}, {"format", request.format}
        }.dump();
        item.data = abi::str(file_);
        item.data_info = abi::str(info_);
    } else {
        answer["data"].push_back(Json{{"b64_json", image::to_base64(file_)}});
    }
    answer["output_format"] = request.format;
    answer["size"] = std::to_string(image.width) + "x" + std::to_string(image.height);
    answer_ = answer.dump();
    item.result = abi::str(answer_);
    item.finish = SOTTO_FINISH_STOP;
}

} // namespace sotto::onnx
