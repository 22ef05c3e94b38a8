#include "module/backend.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "module/contract.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {
namespace {

std::string text_of(sotto_str text) {
    return std::string(view_of(text));
}

// Throws the error that a backend's function reported; does nothing if the function reported success.
void check(const Backend& backend, const char* function, sotto_status status, sotto_str why) {
    check_status(backend, status, function);
    if (status < 0) {
        throw Error(status, reason_of(why));
    }
}

// Operations of a model whose backend reports none.
constexpr sotto_operations kTextOperations =
    SOTTO_OPERATION_CHAT | SOTTO_OPERATION_COMPLETION | SOTTO_OPERATION_INFILL | SOTTO_OPERATION_TOKENIZE |
    SOTTO_OPERATION_DETOKENIZE | SOTTO_OPERATION_APPLY_TEMPLATE | SOTTO_OPERATION_SAVE_STATE |
    SOTTO_OPERATION_RESTORE_STATE | SOTTO_OPERATION_SLOTS;

// Returns the backend's `build`, or its name if its description has none, followed by Sotto's version.
std::string fingerprint_of(const std::string& name, const std::string& description) {
    constexpr std::size_t kMaxBuild = 64; // bytes
    const auto json = try_parse_json(description);
    const auto build = json.is_object() ? json.value("build", Json()) : Json();
    const bool fits = build.is_string() && build.get_ref<const std::string&>().size() <= kMaxBuild;
    return (fits ? build.get<std::string>() : name) + "-sotto-" SOTTO_VERSION;
}

// Converts a backend's description of a model. Removes the capabilities that need functions which the
// backend's table lacks.
ModelInfo read(const Backend& backend, const sotto_model_info& info, bool loaded) {
    const auto& table = backend.table();
    const bool saves = table.state_save != nullptr && table.state_restore != nullptr;
    const bool parks = table.stream_park != nullptr;
    ModelInfo read;
    read.capabilities = info.capabilities;
    read.streams = info.streams == 0 ? 1 : info.streams;
    read.context = info.context;
    read.step_tokens = info.step_tokens;
    read.min_step_tokens = info.min_step_tokens;
    read.weights = info.weights;
    read.kv = info.kv;
    read.compute = info.compute;
    read.description = text_of(info.description);
    read.fingerprint = saves ? text_of(info.fingerprint) : "";
    read.shrinkable = info.shrinkable;
    read.min_stream_tokens = info.min_stream_tokens;
    read.host = info.host;
    read.layers = info.layers;
    read.operations = info.operations == 0 ? kTextOperations : info.operations;
    if (table.slot_read == nullptr) {
        read.operations &= ~static_cast<sotto_operations>(SOTTO_OPERATION_SLOTS);
    }
    if (!parks) {
        read.capabilities &= ~static_cast<sotto_capabilities>(SOTTO_CAPABILITY_PARKABLE);
    }
    if (table.prepare == nullptr || table.prepared_close == nullptr) {
        read.capabilities &= ~static_cast<sotto_capabilities>(SOTTO_CAPABILITY_PREPARABLE);
    }
    if (table.resize == nullptr || !saves || !read.can(SOTTO_CAPABILITY_PARKABLE)) {
        read.shrinkable &= ~static_cast<sotto_model_shrinkable>(SOTTO_SHRINKABLE_PLACES);
    }
    check_info(backend, read, loaded);
    return read;
}

sotto_model_info empty_info() {
    sotto_model_info info{};
    info.struct_size = sizeof info;
    return info;
}

} // namespace

std::string reason_of(sotto_str why) {
    return view_of(why).empty() ? "the backend gave no reason" : well_formed_utf8(view_of(why));
}

std::string_view view_of(sotto_str text) noexcept {
    if (text.data == nullptr) {
        return {};
    }
    return text.size == SOTTO_NUL ? std::string_view(text.data) : std::string_view(text.data, text.size);
}

Backend::Backend(const sotto_backend& table)
    : table_(table), name_(text_of(table.name)), description_(text_of(table.description)),
      fingerprint_(fingerprint_of(name_, description_)) {
    const auto require = [](bool there, const char* what, const char* expected = "a function") {
        if (!there) {
            throw Error(
                SOTTO_ERROR_ARGUMENT, std::string("missing backend->") + what + ": expected " + expected
            );
        }
    };
    require(!name_.empty(), "name", "a string that is not empty");
    if (!is_utf8(name_)) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid backend->name: expected UTF-8");
    }
    if (constexpr sotto_backend_uses kKnown = SOTTO_BACKEND_CUDA | SOTTO_BACKEND_BY_NAME;
        (table.uses & ~kKnown) != 0) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid("backend->uses", std::to_string(table.uses), "only bits of " + std::to_string(kKnown))
        );
    }
    require(table.open != nullptr, "open");
    require(table.close != nullptr, "close");
    require(table.stream_open != nullptr, "stream_open");
    require(table.stream_close != nullptr, "stream_close");
    require(table.step != nullptr, "step");
    require(table.adapter_open == nullptr || table.adapter_measure != nullptr, "adapter_measure");
    require(table.adapter_open == nullptr || table.adapter_close != nullptr, "adapter_close");
    require(table.slot_read == nullptr || table.slot_save != nullptr, "slot_save");
    require(table.slot_read == nullptr || table.slot_restore != nullptr, "slot_restore");
    require(table.slot_read == nullptr || table.slot_erase != nullptr, "slot_erase");
    require(table.stream_park == nullptr || table.stream_unpark != nullptr, "stream_unpark");
}

bool Backend::release() const noexcept {
    if (table_.release != nullptr) {
        table_.release(table_.self);
    }
    return table_.release != nullptr;
}

ModelInfo measure(const Backend& backend, const sotto_model_source& source) {
    const auto& table = backend.table();
    if (table.measure == nullptr) {
        return {};
    }
    auto info = empty_info();
    sotto_str why{};
    check(backend, "measure", table.measure(table.self, &source, &info, &why), why);
    return read(backend, info, false);
}

void quantize(const Backend& backend, const sotto_quantize_source& desc) {
    const auto& table = backend.table();
    if (table.quantize == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED, "backend '" + backend.name() + "' does not quantize model files"
        );
    }
    sotto_str why{};
    check(backend, "quantize", table.quantize(table.self, &desc, &why), why);
}

Model::Model(const Backend& backend, const sotto_model_source& source) : backend_(backend) {
    const auto& table = backend.table();
    auto info = empty_info();
    sotto_str why{};
    check(backend, "open", table.open(table.self, &source, &handle_, &info, &why), why);
    try {
        info_ = read(backend, info, true);
        if (info_.fingerprint.empty()) { // without saved states, a resize would drop parked KV caches
            info_.shrinkable &= ~static_cast<sotto_model_shrinkable>(SOTTO_SHRINKABLE_PLACES);
        }
    } catch (const std::exception&) {
        table.close(table.self, handle_);
        throw;
    }
}

Model::~Model() {
    const auto& table = backend_.table();
    table.close(table.self, handle_);
}

namespace {

sotto_stream_desc
desc_of(sotto_op op, std::string_view body, std::uint32_t index, sotto_stream_flags flags) noexcept {
    sotto_stream_desc desc{};
    desc.struct_size = sizeof desc;
    desc.op = op;
    desc.body = {body.data(), body.size()};
    desc.index = index;
    desc.flags = flags;
    return desc;
}

} // namespace

Prepared Model::prepare(
    sotto_op op,
    std::string_view body,
    std::uint32_t index,
    sotto_stream_flags flags,
    std::atomic<bool>& cancelled
) {
    const auto& table = backend_.table();
    const auto desc = desc_of(op, body, index, flags);
    const auto is_cancelled = [](void* context) -> std::int32_t {
        return static_cast<std::atomic<bool>*>(context)->load() ? 1 : 0;
    };
    sotto_stream_info info{};
    info.struct_size = sizeof info;
    Prepared made;
    sotto_str why{};
    const auto status =
        table.prepare(table.self, handle_, &desc, is_cancelled, &cancelled, &made.handle, &info, &why);
    check(backend_, "prepare", status, why);
    if (made.handle != nullptr && info.result.size == 0) {
        return made;
    }
    struct Close { // there is no stream to open: the result is the complete response
        Model& model;
        void* prepared;
        ~Close() {
            if (prepared != nullptr) {
                model.close_prepared(prepared);
            }
        }
    } const close{*this, std::exchange(made.handle, nullptr)};
    made.result = text_of(info.result);
    check_text(backend_, made.result, "sotto_stream_info.result");
    return made;
}

void Model::close_prepared(void* prepared) noexcept {
    const auto& table = backend_.table();
    table.prepared_close(table.self, handle_, prepared);
}

StreamInfo Model::open_stream(
    sotto_op op,
    std::string_view body,
    std::uint32_t index,
    sotto_stream_flags flags,
    void* prepared,
    std::span<void* const> adapters,
    std::span<const float> scales
) {
    const auto& table = backend_.table();
    auto desc = desc_of(op, body, index, flags);
    desc.prepared = prepared;
    desc.adapters = adapters.empty() ? nullptr : adapters.data();
    desc.scales = adapters.empty() ? nullptr : scales.data();
    desc.count = static_cast<std::uint32_t>(adapters.size());
    sotto_stream_info info{};
    info.struct_size = sizeof info;
    StreamInfo opened;
    sotto_str why{};
    const auto status = table.stream_open(table.self, handle_, &desc, &opened.stream, &info, &why);
    check(backend_, "stream_open", status, why);
    try {
        opened.prompt_tokens = info.prompt_tokens;
        opened.cached_tokens = info.cached_tokens;
        opened.dropped = info.dropped;
        opened.stops = text_of(info.stops);
        opened.result = opened.stream == nullptr ? text_of(info.result) : "";
        opened.parsed = info.parsed != 0 && table.stream_parse != nullptr;
        check_text(backend_, opened.result, "sotto_stream_info.result");
        check_count(backend_, info.slot, "sotto_stream_info.slot");
        opened.slot = static_cast<std::int32_t>(info.slot) - 1;
        opened.truncated = info.truncated != 0;
        opened.settings = text_of(info.settings);
        check_object(backend_, opened.settings, "sotto_stream_info.settings");
    } catch (const std::exception&) {
        if (opened.stream != nullptr) {
            close_stream(opened.stream);
        }
        throw;
    }
    return opened;
}

std::string Model::parse(void* stream, std::string_view text, bool last) {
    const auto& table = backend_.table();
    sotto_str deltas{};
    sotto_str why{};
    const sotto_str all = {text.data(), text.size()};
    const auto status = table.stream_parse(table.self, handle_, stream, all, last ? 1 : 0, &deltas, &why);
    check(backend_, "stream_parse", status, why);
    return text_of(deltas);
}

namespace {

// Appends bytes to the PageBuffer at `context`: a sotto_write_fn.
std::int32_t SOTTO_CALL append_to(void* context, const void* bytes, std::size_t count) {
    try {
        static_cast<PageBuffer*>(context)->append({static_cast<const char*>(bytes), count});
        return 0;
    } catch (const std::bad_alloc&) {
        return 1;
    }
}

} // namespace

std::uint32_t Model::save(void* stream, PageBuffer& state) {
    const auto& table = backend_.table();
    std::uint32_t tokens = 0;
    sotto_str why{};
    const auto status = table.state_save(table.self, handle_, stream, append_to, &state, &tokens, &why);
    check(backend_, "state_save", status, why);
    return tokens;
}

std::uint32_t Model::restore(std::string_view state) {
    const auto& table = backend_.table();
    std::uint32_t tokens = 0;
    sotto_str why{};
    const auto status = table.state_restore(table.self, handle_, {state.data(), state.size()}, &tokens, &why);
    check(backend_, "state_restore", status, why);
    return tokens;
}

SlotUse Model::read_slot(std::uint32_t slot) {
    const auto& table = backend_.table();
    sotto_slot_info info{};
    info.struct_size = sizeof info;
    sotto_str why{};
    check(backend_, "slot_read", table.slot_read(table.self, handle_, slot, &info, &why), why);
    return {info.tokens, info.in_use != 0};
}

std::uint32_t Model::save_slot(std::uint32_t slot, PageBuffer& state) {
    const auto& table = backend_.table();
    std::uint32_t tokens = 0;
    sotto_str why{};
    const auto status = table.slot_save(table.self, handle_, slot, append_to, &state, &tokens, &why);
    check(backend_, "slot_save", status, why);
    return tokens;
}

std::uint32_t Model::restore_slot(std::uint32_t slot, std::string_view state) {
    const auto& table = backend_.table();
    std::uint32_t tokens = 0;
    sotto_str why{};
    const sotto_str bytes = {state.data(), state.size()};
    const auto status = table.slot_restore(table.self, handle_, slot, bytes, &tokens, &why);
    check(backend_, "slot_restore", status, why);
    return tokens;
}

std::uint32_t Model::erase_slot(std::uint32_t slot) {
    const auto& table = backend_.table();
    std::uint32_t tokens = 0;
    sotto_str why{};
    check(backend_, "slot_erase", table.slot_erase(table.self, handle_, slot, &tokens, &why), why);
    return tokens;
}

void Model::resize(std::uint32_t places) {
    const auto& table = backend_.table();
    auto info = empty_info();
    info.streams = info_.streams; // fields that the backend does not set keep their values
    info.weights = info_.weights;
    info.kv = info_.kv;
    info.compute = info_.compute;
    info.host = info_.host;
    sotto_str why{};
    const auto status = table.resize(table.self, handle_, places, &info, &why);
    auto now = info_;
    now.streams = info.streams;
    now.weights = info.weights;
    now.kv = info.kv;
    now.compute = info.compute;
    now.host = info.host;
    check_info(backend_, now, true); // throws before implausible figures are stored
    info_ = std::move(now);
    check(backend_, "resize", status, why);
    if (info_.streams > places) {
        info_.streams = places;
        refuse_backend(
            backend_,
            SOTTO_ERROR_MODEL,
            invalid(
                "sotto_model_info.streams",
                std::to_string(info.streams),
                "at most " + std::to_string(places) + " after resize"
            )
        );
    }
}

namespace {

sotto_adapter_source adapter_at(const std::string& path, const sotto_file_access* files) noexcept {
    return {
        .struct_size = sizeof(sotto_adapter_source),
        .reserved = 0,
        .path = {path.data(), path.size()},
        .files = files,
    };
}

void require_adapters(const Backend& backend) {
    if (backend.table().adapter_open == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "backend '" + backend.name() + "' does not support adapters; use a model of another backend"
        );
    }
}

} // namespace

std::uint64_t Model::measure_adapter(const std::string& path, const sotto_file_access* files) {
    require_adapters(backend_);
    const auto& table = backend_.table();
    const auto source = adapter_at(path, files);
    sotto_adapter_info info{};
    info.struct_size = sizeof info;
    sotto_str why{};
    const auto status = table.adapter_measure(table.self, handle_, &source, &info, &why);
    check(backend_, "adapter_measure", status, why);
    return std::min(info.bytes, kMaxBytes);
}

void* Model::open_adapter(const std::string& path, const sotto_file_access* files, std::uint64_t& bytes) {
    require_adapters(backend_);
    const auto& table = backend_.table();
    const auto source = adapter_at(path, files);
    sotto_adapter_info info{};
    info.struct_size = sizeof info;
    void* adapter = nullptr;
    sotto_str why{};
    const auto status = table.adapter_open(table.self, handle_, &source, &adapter, &info, &why);
    check(backend_, "adapter_open", status, why);
    if (adapter == nullptr) {
        refuse_backend(backend_, SOTTO_ERROR_MODEL, "adapter_open returned SOTTO_OK and no adapter");
    }
    bytes = std::min(info.bytes, kMaxBytes);
    return adapter;
}

void Model::close_adapter(void* adapter) noexcept {
    const auto& table = backend_.table();
    table.adapter_close(table.self, handle_, adapter);
}

void Model::park(void* stream) noexcept {
    const auto& table = backend_.table();
    table.stream_park(table.self, handle_, stream);
}

std::uint32_t Model::unpark(void* stream) {
    const auto& table = backend_.table();
    std::uint32_t remaining = 0;
    sotto_str why{};
    check(backend_, "stream_unpark", table.stream_unpark(table.self, handle_, stream, &remaining, &why), why);
    return remaining;
}

void Model::close_stream(void* stream) noexcept {
    const auto& table = backend_.table();
    table.stream_close(table.self, handle_, stream);
}

sotto_status Model::step(const sotto_step& step) {
    const auto& table = backend_.table();
    sotto_str why{};
    const auto status = table.step(table.self, handle_, &step, &why);
    if (status == SOTTO_ERROR_CANCELLED) {
        return status;
    }
    check(backend_, "step", status, why);
    return SOTTO_OK;
}

} // namespace sotto
