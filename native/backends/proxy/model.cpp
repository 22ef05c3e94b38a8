#include "backends/proxy/model.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "abi/call.hpp"
#include "backends/proxy/remote_request.hpp"
#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

constexpr std::uint32_t kWaitMs = 250; // the engine is woken earlier; this bounds the check of timeout_ms

Json names_in(const std::string& response, const std::string& server) {
    constexpr std::size_t kMaxNames = 1'000;
    const auto json = try_parse(response);
    const auto* data = find(json, "data");
    if (data == nullptr || !data->is_array()) {
        throw Error(
            SOTTO_ERROR_INFERENCE,
            "server '" + server + "' sent no list of models; set options.check to false"
        );
    }
    auto names = Json::array();
    for (std::size_t i = 0; i < std::min(data->size(), kMaxNames); ++i) {
        names.push_back(one_line(string_at((*data)[i], "id"), 200));
    }
    return names;
}

// Checks the response of an operation with data, as far as the engine relies on it.
std::string checked_response(const std::string& response, const std::string& server) {
    const auto json = try_parse(response);
    if (find(json, "data") == nullptr && find(json, "results") == nullptr) {
        throw Error(
            SOTTO_ERROR_INFERENCE,
            "server '" + server + "' sent no JSON object with data or results: '" + one_line(response, 80) +
                "'"
        );
    }
    return response;
}

} // namespace

void Stream::step(sotto_step_item& item) {
    item.text = item.logprobs = item.reason = item.data = item.data_info = item.result = {nullptr, 0};
    item.evaluated = item.remaining = item.generated = item.decoded = 0;
    item.prompt_tokens = item.cached_tokens = item.completion_tokens = item.wait_ms = 0;
    item.finish = SOTTO_FINISH_NONE;
    item.status = SOTTO_OK;
    try {
        switch (answer_->take(piece_)) {
        case RemoteAnswer::State::waits:
            item.wait_ms = kWaitMs;
            return;
        case RemoteAnswer::State::ended:
            end(item);
            return;
        case RemoteAnswer::State::piece:
            break;
        }
        if (!piece_.calls.empty()) {
            parser_.add_calls(std::move(piece_.calls));
        }
        item.text = abi::str(piece_.text);
        item.logprobs = abi::str(piece_.logprobs);
        item.generated = item.decoded = 1;
    } catch (const Error& error) {
        answer_->cancel();
        reason_ = error.what();
        item.status = error.status();
        item.reason = abi::str(reason_);
    }
}

void Stream::end(sotto_step_item& item) {
    if (has_data_) {
        piece_.text = checked_response(answer_->response(), answer_->options().url.server());
        item.result = abi::str(piece_.text);
        item.finish = SOTTO_FINISH_STOP;
        return;
    }
    const auto& end = answer_->end();
    item.finish = end.finish;
    item.prompt_tokens = end.prompt_tokens;
    item.cached_tokens = end.cached_tokens;
    item.completion_tokens = end.completion_tokens;
}

Model::Model(std::shared_ptr<const Options> options, std::shared_ptr<HostLink> host)
    : options_(std::move(options)), host_(std::move(host)) {
    const auto& url = options_->url;
    if (!url.secure && !options_->key.empty() && !url.is_loopback()) {
        host_->log(SOTTO_LOG_WARN, "server '" + url.server() + "' is asked without TLS, also for its key");
    }
    if (url.secure && !options_->verify_ssl) {
        host_->log(SOTTO_LOG_WARN, "the certificate of server '" + url.server() + "' is not verified");
    }
}

void Model::check(sotto_progress_fn progress, void* context) {
    constexpr auto kPoll = std::chrono::milliseconds(10);
    const auto answer =
        std::make_shared<RemoteAnswer>(options_, host_, RemoteAnswer::Kind::data, Call{"GET", "/models", ""});
    RemoteAnswer::start(answer);
    for (Piece unused; answer->take(unused) == RemoteAnswer::State::waits;) {
        if (progress(context, 0) != 0) {
            answer->cancel();
            throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
        }
        std::this_thread::sleep_for(kPoll);
    }
    const auto names = names_in(answer->response(), options_->url.server());
    listed_ = text_of(names);
    if (!options_->model.empty() && std::ranges::find(names, Json(options_->model)) == names.end()) {
        throw Error(
            SOTTO_ERROR_NOT_FOUND,
            "server '" + options_->url.server() + "' has no model '" + one_line(options_->model, 80) +
                "'; it has " + one_line(listed_, 200)
        );
    }
}

std::unique_ptr<Stream> Model::open_stream(const sotto_stream_desc& desc) {
    const bool data = desc.op != SOTTO_OP_CHAT && desc.op != SOTTO_OP_COMPLETION;
    const auto kind = data                       ? RemoteAnswer::Kind::data
                      : desc.op == SOTTO_OP_CHAT ? RemoteAnswer::Kind::chat
                                                 : RemoteAnswer::Kind::completion;
    const auto answer = std::make_shared<RemoteAnswer>(
        options_, host_, kind, call_for(*options_, desc.op, abi::view(desc.body), desc.index)
    );
    auto stream = std::make_unique<Stream>(answer, data);
    RemoteAnswer::start(answer);
    return stream;
}

void Model::describe(sotto_model_info& info) {
    Json description = {
        {"server", options_->url.server()},
        {"tls", options_->url.secure},
        {"model", options_->model},
    };
    if (!listed_.empty()) {
        description["models"] = Json::parse(listed_);
    }
    description_ = text_of(description);
    info.description = abi::str(description_);
    info.capabilities =
        SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_CONSTRAINABLE | SOTTO_CAPABILITY_LOGPROBS;
    info.streams = options_->parallel;
    info.operations = SOTTO_OPERATION_CHAT | SOTTO_OPERATION_COMPLETION | SOTTO_OPERATION_EMBED |
                      SOTTO_OPERATION_RERANK | SOTTO_OPERATION_IMAGE_GENERATE;
}

} // namespace sotto::proxy
