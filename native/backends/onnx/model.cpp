#include "backends/onnx/model.hpp"

#include <algorithm>
#include <thread>

#include "abi/call.hpp"
#include "backends/onnx/model_check.hpp"
#include "backends/onnx/model_file.hpp"

namespace sotto::onnx {
namespace {

std::uint32_t threads_of(const Options& options) {
    constexpr unsigned kMax = 8; // convolutions gain little beyond
    const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
    return options.threads != 0 ? options.threads : std::min(cores, kMax);
}

Metadata metadata_of(const Session& session) {
    return {
        session.metadata("sotto.mean"),
        session.metadata("sotto.std"),
        session.metadata("sotto.size"),
        session.metadata("sotto.form"),
        session.metadata("sotto.normalise"),
        session.metadata("sotto.activation")
    };
}

void report(const sotto_model_source& source, float progress) {
    if (source.progress(source.context, progress) != 0) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
}

std::uint64_t image_bytes(const Options& options) {
    return Cutout::kBytesPerPixel * options.max_pixels + Cutout::kBandBytes;
}

// Estimates the memory of a run: two layers of 128 channels.
std::uint64_t run_bytes(std::uint64_t width, std::uint64_t height) {
    constexpr std::uint64_t kPerPixel = 1'024;
    return width * height * kPerPixel;
}

void fill(sotto_model_info& info) {
    info.capabilities = SOTTO_CAPABILITY_ABORTABLE | SOTTO_CAPABILITY_PREPARABLE;
    info.streams = 1;
    info.step_tokens = 1;
    info.operations = SOTTO_OPERATION_IMAGE_MATTE;
}

} // namespace

Model::Model(const sotto_model_source& source) : options_(read_options(abi::view(source.options))) {
    constexpr float kRead = 0.2F;
    constexpr float kLoaded = 0.6F;
    const auto& runtime = Runtime::open(options_.library);
    report(source, 0);
    const auto file = read_model_file(source);
    check_model(file);
    report(source, kRead);
    const auto threads = threads_of(options_);
    session_ = std::make_unique<Session>(runtime, file, threads);
    recipe_ = recipe_of(options_, metadata_of(*session_), session_->input_shape(), session_->input_name());
    report(source, kLoaded);
    warm_up(source);
    description_ = Json{
        {"format", "onnx"},
        {"form", name_of(recipe_.form)},
        {"size", std::to_string(recipe_.size.width) + "x" + std::to_string(recipe_.size.height)},
        {"threads", threads},
        {"onnxruntime", runtime.version()}
    }.dump();
}

// A model that cannot run is refused here, not at the first request.
void Model::warm_up(const sotto_model_source& source) {
    constexpr float kLoaded = 0.6F;
    const std::vector<float> image(std::size_t{3} * recipe_.size.width * recipe_.size.height);
    const auto stops = [&] { return source.progress(source.context, kLoaded) != 0; };
    if (!session_->run(image, recipe_.size, SOTTO_THREAD_NORMAL, stops)) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
    session_->keep_memory();
    report(source, 1);
}

std::unique_ptr<Matting> Model::prepare(std::string_view body) {
    return std::make_unique<Matting>(read_request(body, options_.max_pixels), *session_, recipe_);
}

void Model::describe(sotto_model_info& info) const {
    const auto prepared = std::uint64_t{3} * recipe_.size.width * recipe_.size.height * sizeof(float);
    fill(info);
    info.weights = session_->weights();
    const auto measured = session_->run_memory();
    const auto run = measured != 0 ? measured : run_bytes(recipe_.size.width, recipe_.size.height);
    info.compute = run + prepared + image_bytes(options_);
    info.description = abi::str(description_);
}

void measure(const sotto_model_source& source, sotto_model_info& info) {
    constexpr std::uint64_t kSide = 1'024;
    const auto options = read_options(abi::view(source.options));
    const auto file = read_model_file(source);
    const auto facts = check_model(file);
    const auto side = [&](std::uint32_t fixed) -> std::uint64_t {
        return fixed != 0 ? fixed : options.size != 0 ? options.size : facts.size != 0 ? facts.size : kSide;
    };
    fill(info);
    info.weights = file.size();
    info.compute = run_bytes(side(facts.width), side(facts.height)) + image_bytes(options);
}

} // namespace sotto::onnx
