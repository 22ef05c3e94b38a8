// A backend that answers from a script: the test double of models, through the public interface.
//
// The script is the model's options, a JSON object; without options, the JSON file at its path:
//   tokens         array of strings; default: the words of the last message (the numbers of tokens), repeated
//   hex            array of hexadecimal bytes, instead of tokens that are not complete characters
//   loop           true: start again after the last token
//   finish         "stop" (default) or "length": finish reason
//   response       an object: the model supports chats and the data operations, whose response it is;
//   data           array of hexadecimal bytes: their data, one part per step, in addition to the tokens
//   data_info      array of objects that describe the parts of `data`; default: {"part": number}
//   prompt_tokens  default: the number of words of the request's last message, at least 1
//   cached_tokens, streams (4), context (0), step_tokens (0), weights, kv, compute
//   kv_per_place, kv_per_token   instead of kv: bytes per slot, and per token of a slot
//   gives          array of "places", "streams", "tokens", "kv": what can be shrunk, as the source requests;
//                  kv is then halved. min_stream_tokens (0): minimum tokens of a stream
//   batchable, abortable   default true; constrainable, logprobs   default false
//   token_ids      true: reports ids, which are the tokens' numbers in `tokens`
//   settings       an object: values in effect, reported if the request sets return_settings
//   truncated_at   number of the token from which on the context is full
//   gates          false: no step calls its gate, as if its thread got no core
//   parkable       true: streams can be parked; unpark_tokens (0) must be prefilled again, plus
//                  lost_tokens (0) if slots were resized and no state was restored since
//   deltas         array of arrays: deltas for each token; the last array is for the end
//   plays          instead of deltas: by the text of the last user message, an array of deltas for each round
//   fingerprint    identifies compatible states; the state is the script's "state", default "remembered"
//   stops          array of stop sequences of the model
//   load_ms, open_ms, token_ms, prompt_token_ms    delays in real time
//   load_additions (0)     additions during a load, to use CPU time
//   block_at, block_ms     the step that generates token block_at takes block_ms longer
//   prepare_ms     requests are prepared on other threads, which takes that long in real time
//   fail_prepare   reason of a failing preparation
//   fail_load, fail_open, fail_unpark, fail_resize   reason of a failure; fail_at, fail_step: token at which
//                  the stream, or the whole step, fails. A failed resize leaves no slots; fail_resize_at:
//                  only that resize fails, counting from 0 those that request slots
//   refuses        a device, and those of its kind, on which the model cannot be opened
//   adapters       true: models have adapters of adapter_bytes (1000); loading one takes adapter_ms. A path
//                  that contains "bad" cannot be loaded. A stream's first text names its adapters, as
//                  "<path*scale>", unless adapters_said is false. A step with different sets fails
//   slots          true: slots have numbers. A free slot holds as many tokens as its last stream's prompt
//                  had, or as a state that was saved; a stream with id_slot has these cached
//   pieces (4), piece_ms    to quantize: how often the type is written, each after a delay; no type is "Q0"
//   working_bytes  to quantize: memory charged to the budget
//   lose_at        token at which a device other than the CPU is lost; lose_load, lose_save, lose_restore:
//                  true: lost when the model is opened, or a state saved or restored
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <sotto/module.h>

#include "scripted_adapters.hpp"
#include "scripted_kind.hpp"
#include "scripted_quantize.hpp"
#include "scripted_request.hpp"
#include "scripted_slots.hpp"

namespace {

using namespace scripted;

sotto_status SOTTO_CALL
open_model(void*, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* why) {
    auto made = std::make_unique<Model>();
    if (const auto status = read_script(*source, made->script, why); status < 0) {
        return status;
    }
    const auto& script = made->script;
    constexpr int kParts = 10;
    for (int part = 0; part <= kParts; ++part) {
        if (source->progress(source->context, static_cast<float>(part) / kParts) != 0) {
            return fail(SOTTO_ERROR_CANCELLED, "loading was cancelled", why);
        }
        pause(script, script.number("load_ms") / kParts, nullptr);
    }
    compute(script.count("load_additions"));
    made->on_device = std::string_view(source->device.data, source->device.size) != "cpu";
    const std::string device(source->device.data, source->device.size);
    if (script.has("refuses") && device.rfind(script.text("refuses"), 0) == 0) {
        return fail(SOTTO_ERROR_UNSUPPORTED, "the script is not for " + device, why);
    }
    if (loses(*made, "lose_load")) {
        return fail(SOTTO_ERROR_DEVICE, kLost, why);
    }
    if (script.has("fail_load")) {
        return fail(SOTTO_ERROR_MODEL, script.text("fail_load"), why);
    }
    made->shape = shape_of(script, *source);
    made->most = script.count("streams", 4);
    describe(script, made->shape, info);
    info->description = {made->description.data(), made->description.size()};
    made->fingerprint = made->script.text("fingerprint");
    info->fingerprint = {made->fingerprint.data(), made->fingerprint.size()};
    *model = made.release();
    return SOTTO_OK;
}

sotto_status SOTTO_CALL
measure_model(void*, const sotto_model_source* source, sotto_model_info* info, sotto_str* why) {
    Script script;
    if (const auto status = read_script(*source, script, why); status < 0) {
        return status;
    }
    describe(script, shape_of(script, *source), info);
    return SOTTO_OK;
}

void SOTTO_CALL close_model(void*, void* model) {
    delete static_cast<Model*>(model);
}

std::size_t placed(const Model& model) {
    const auto& all = model.streams;
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Stream* stream) {
        return !stream->parked;
    }));
}

// Fails if no slot is free for one more stream.
sotto_status check_place(const Model& model, sotto_str* why) {
    return placed(model) < model.shape.places
               ? SOTTO_OK
               : fail(SOTTO_ERROR_STATE, "all of the script's places are taken", why);
}

sotto_status SOTTO_CALL prepare_stream(
    void*,
    void* model,
    const sotto_stream_desc* desc,
    sotto_gate_fn cancelled,
    void* context,
    void** prepared,
    sotto_stream_info* info,
    sotto_str* why
) {
    auto request = std::make_unique<Request>();
    const auto& script = static_cast<const Model*>(model)->script;
    if (const auto status = prepare(script, *desc, cancelled, context, *request, why); status < 0) {
        return status;
    }
    info->result = {request->response.data(), request->response.size()};
    *prepared = request.release();
    return SOTTO_OK;
}

void SOTTO_CALL close_prepared(void*, void*, void* prepared) {
    delete static_cast<Request*>(prepared);
}

sotto_status SOTTO_CALL open_stream(
    void*, void* handle, const sotto_stream_desc* desc, void** stream, sotto_stream_info* info, sotto_str* why
) {
    std::unique_ptr<Request> request(static_cast<Request*>(desc->prepared));
    auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    pause(script, script.number("open_ms"), nullptr);
    if (script.has("fail_open")) {
        return fail(SOTTO_ERROR_INFERENCE, script.text("fail_open"), why);
    }
    if (request == nullptr) {
        request = std::make_unique<Request>();
        if (const auto status = read_request(*desc, *request, why); status < 0) {
            return status;
        }
    }
    if (!request->response.empty()) {
        model.result = std::move(request->response);
        info->result = {model.result.data(), model.result.size()};
        return SOTTO_OK;
    }
    if (const auto status = check_place(model, why); status < 0) {
        return status;
    }
    auto made = std::make_unique<Stream>();
    if (const auto status = take_slot(model, *made, request->slot, why); status < 0) {
        return status;
    }
    const auto heard = words(request->said);
    if (script.has("hex")) {
        for (const auto& one : script.values["hex"]) {
            made->tokens.push_back(from_hex(one));
        }
    } else {
        made->tokens = script.has("tokens") ? script.values["tokens"].get<std::vector<std::string>>() : heard;
    }
    made->has_data = desc->op >= SOTTO_OP_EMBED;
    made->adapters = told(*desc);
    if (!made->adapters.empty() && script.flag("adapters_said", true)) {
        made->tokens.insert(made->tokens.begin(), made->adapters);
    }
    info->prompt_tokens = script.count("prompt_tokens", std::max<std::uint32_t>(1, heard.size()));
    info->cached_tokens =
        script.flag("slots", false) ? cached_in(model, *made, request->slot) : script.count("cached_tokens");
    info->slot = static_cast<std::uint32_t>(made->slot + 1);
    made->prompt = info->prompt_tokens;
    made->remaining = info->prompt_tokens - std::min(info->cached_tokens, info->prompt_tokens);
    model.stops = script.has("stops") ? script.values["stops"].dump() : "";
    info->stops = {model.stops.data(), model.stops.size()};
    made->script = deltas_of(script, desc->body);
    info->parsed = !made->script.is_null();
    model.settings =
        request->wants_settings && script.has("settings") ? script.values["settings"].dump() : "";
    info->settings = {model.settings.data(), model.settings.size()};
    model.streams.push_back(made.get());
    *stream = made.release();
    return SOTTO_OK;
}

// Returns the script's deltas for token number `said`; the remaining ones at the end.
sotto_status SOTTO_CALL
parse_stream(void*, void*, void* stream_handle, sotto_str, std::int32_t last, sotto_str* deltas, sotto_str*) {
    auto& stream = *static_cast<Stream*>(stream_handle);
    read_deltas(stream, last != 0);
    *deltas = {stream.deltas.data(), stream.deltas.size()};
    return SOTTO_OK;
}

void SOTTO_CALL close_stream(void*, void* handle, void* stream_handle) {
    const std::unique_ptr<Stream> stream(static_cast<Stream*>(stream_handle));
    auto& all = static_cast<Model*>(handle)->streams;
    leave_slot(*static_cast<Model*>(handle), *stream);
    all.erase(std::find(all.begin(), all.end(), stream.get()));
}

void SOTTO_CALL park_stream(void*, void* handle, void* stream) {
    leave_slot(*static_cast<Model*>(handle), *static_cast<Stream*>(stream));
    static_cast<Stream*>(stream)->parked = true;
}

sotto_status SOTTO_CALL
unpark_stream(void*, void* handle, void* stream_handle, std::uint32_t* remaining, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    auto& stream = *static_cast<Stream*>(stream_handle);
    if (!stream.parked || script.has("fail_unpark")) {
        return fail(SOTTO_ERROR_INFERENCE, script.text("fail_unpark"), why);
    }
    if (const auto status = check_place(model, why); status < 0) {
        return status;
    }
    if (const auto status = take_slot(model, stream, -1, why); status < 0) {
        return status;
    }
    const bool lost = stream.lost && !model.restored;
    stream.parked = stream.lost = model.restored = false;
    stream.remaining += script.count("unpark_tokens") + (lost ? script.count("lost_tokens") : 0);
    *remaining = stream.remaining;
    return SOTTO_OK;
}

sotto_status SOTTO_CALL
resize_model(void*, void* handle, std::uint32_t places, sotto_model_info* info, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    const auto resize = [&](std::uint32_t to) {
        model.shape.places = to;
        model.restored = false;
        tell_memory(script, model.shape, info);
        for (auto* stream : model.streams) {
            stream->lost = true;
        }
    };
    tell_memory(script, model.shape, info);
    if (placed(model) > 0) {
        return fail(SOTTO_ERROR_STATE, "streams have places that are to be resized", why);
    }
    if (places > model.most) {
        return fail(SOTTO_ERROR_ARGUMENT, "there were never so many places", why);
    }
    const bool fails = places > 0 && script.has("fail_resize") &&
                       script.count("fail_resize_at", model.resizes) == model.resizes;
    model.resizes += places > 0 ? 1 : 0;
    resize(fails ? 0 : places);
    return fails ? fail(SOTTO_ERROR_MEMORY, script.text("fail_resize"), why) : SOTTO_OK;
}

void speak(const Script& script, Stream& stream, sotto_step_item& work) {
    if (script.has("fail_at") && stream.said >= script.count("fail_at")) {
        stream.why = "the script fails at token " + std::to_string(stream.said);
        work.status = SOTTO_ERROR_INFERENCE;
        work.reason = {stream.why.data(), stream.why.size()};
        return;
    }
    const bool loops = script.flag("loop", false) && !stream.tokens.empty();
    if (!loops && stream.said >= stream.tokens.size()) {
        work.finish = script.text("finish") == "length" ? SOTTO_FINISH_LENGTH : SOTTO_FINISH_STOP;
        return;
    }
    const auto& token = stream.tokens[stream.said++ % stream.tokens.size()];
    if (script.flag("logprobs", false)) {
        stream.logprobs = json{{"token", token}, {"logprob", -0.25}}.dump();
        work.logprobs = {stream.logprobs.data(), stream.logprobs.size()};
    }
    const auto index = static_cast<std::uint32_t>((stream.said - 1) % stream.tokens.size());
    work.token = script.flag("token_ids", false) ? index + 1 : 0;
    work.truncated = script.has("truncated_at") && index >= script.count("truncated_at") ? 1 : 0;
    work.text = {token.data(), token.size()};
    work.generated = 1;
}

sotto_status SOTTO_CALL
restore_state(void*, void* handle, sotto_str state, std::uint32_t* tokens, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    *tokens = script.count("prompt_tokens", 1);
    if (const auto status = check_place(model, why); status < 0) {
        return status;
    }
    if (loses(model, "lose_restore")) {
        return fail(SOTTO_ERROR_DEVICE, kLost, why);
    }
    const auto expected = script.values.value("state", std::string("remembered"));
    model.restored = std::string_view(state.data, state.size) == expected;
    return model.restored ? SOTTO_OK : fail(SOTTO_ERROR_MODEL, "the script remembers something else", why);
}

sotto_status SOTTO_CALL step_model(void*, void* handle, const sotto_step* step, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    double delay = script.number("token_ms");
    for (std::uint32_t i = 0; i < step->count; ++i) {
        const auto& work = *step->items[i];
        const auto& stream = *static_cast<Stream*>(work.stream);
        if (stream.adapters != static_cast<Stream*>(step->items[0]->stream)->adapters) {
            return fail(SOTTO_ERROR_INFERENCE, "the step has streams with different adapters", why);
        }
        delay += script.number("prompt_token_ms") * std::min(work.tokens, stream.remaining);
        const bool speaks = stream.remaining <= work.tokens;
        if (speaks && script.has("block_at") && script.count("block_at") == stream.said) {
            delay += script.number("block_ms");
        }
        if (speaks && script.has("fail_step") && script.count("fail_step") == stream.said) {
            model.why = "the script fails the step at token " + std::to_string(stream.said);
            *why = {model.why.data(), model.why.size()};
            return SOTTO_ERROR_INFERENCE;
        }
        if (speaks && model.on_device && script.has("lose_at") && script.count("lose_at") == stream.said) {
            return fail(SOTTO_ERROR_DEVICE, kLost, why);
        }
    }
    if (!pause(script, delay, step)) {
        return SOTTO_ERROR_CANCELLED;
    }
    for (std::uint32_t i = 0; i < step->count; ++i) {
        auto& work = *step->items[i];
        auto& stream = *static_cast<Stream*>(work.stream);
        work.slot = static_cast<std::uint32_t>(stream.slot + 1);
        work.evaluated = std::min(work.tokens, stream.remaining);
        work.remaining = stream.remaining -= work.evaluated;
        if (stream.remaining == 0) {
            (stream.has_data ? give_data : speak)(script, stream, work);
        }
    }
    return SOTTO_OK;
}

} // namespace

// Entry point when linked into a test; modules are entered through sotto_module_v1.
extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host*, sotto_backend* backend, sotto_str*) {
    backend->name = {kKind.name.data(), kKind.name.size()};
    backend->description = {kKind.description.data(), kKind.description.size()};
    backend->uses = kKind.uses;
    backend->open = open_model;
    backend->measure = measure_model;
    backend->close = close_model;
    backend->stream_open = open_stream;
    backend->stream_close = close_stream;
    backend->step = step_model;
    backend->stream_parse = parse_stream;
    backend->state_save = save_state;
    backend->state_restore = restore_state;
    backend->stream_park = park_stream;
    backend->stream_unpark = unpark_stream;
    backend->resize = resize_model;
    backend->prepare = prepare_stream;
    backend->prepared_close = close_prepared;
    backend->adapter_measure = measure_adapter;
    backend->adapter_open = open_adapter;
    backend->adapter_close = close_adapter;
    backend->slot_read = read_slot;
    backend->slot_save = save_slot;
    backend->slot_restore = restore_slot;
    backend->slot_erase = erase_slot;
    backend->quantize = quantize_file;
    return SOTTO_OK;
}
