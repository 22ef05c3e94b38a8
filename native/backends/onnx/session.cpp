#include "backends/onnx/session.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>

#include "abi/error.hpp"
#include "backends/onnx/half.hpp"

namespace sotto::onnx {
namespace {

constexpr std::size_t kDims = 4; // batch, channels, height, width
constexpr std::int64_t kColours = 3;
constexpr std::uint32_t kMaxTensorSide = 16'384;

[[noreturn]] void refuse_model(const std::string& what) {
    throw Error(SOTTO_ERROR_MODEL, "the model is not a segmentation model of images: " + what);
}

struct TensorInfo {
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::vector<std::int64_t> dims;

    bool is_float() const noexcept {
        return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    }
};

TensorInfo read_info(const Runtime& runtime, const OrtTensorTypeAndShapeInfo* info) {
    constexpr const char* kWhat = "read the model's shapes";
    TensorInfo found;
    std::size_t count = 0;
    const auto& api = runtime.api();
    runtime.check(api.GetTensorElementType(info, &found.type), kWhat);
    runtime.check(api.GetDimensionsCount(info, &count), kWhat);
    found.dims.resize(count);
    runtime.check(api.GetDimensions(info, found.dims.data(), count), kWhat);
    return found;
}

std::string name_at(const Runtime& runtime, const OrtSession* session, bool input) {
    constexpr const char* kWhat = "read the model's names";
    const auto& api = runtime.api();
    OrtAllocator* allocator = nullptr;
    runtime.check(api.GetAllocatorWithDefaultOptions(&allocator), kWhat);
    char* name = nullptr;
    runtime.check(
        input ? api.SessionGetInputName(session, 0, allocator, &name)
              : api.SessionGetOutputName(session, 0, allocator, &name),
        kWhat
    );
    std::string text(name);
    runtime.check(api.AllocatorFree(allocator, name), kWhat);
    return text;
}

} // namespace

Owned<OrtSessionOptions> Session::make_options(std::uint32_t threads) {
    constexpr const char* kWhat = "set up a session";
    OrtSessionOptions* made = nullptr;
    runtime_.check(api_.CreateSessionOptions(&made), kWhat);
    Owned<OrtSessionOptions> options(made, {api_.ReleaseSessionOptions});
    runtime_.check(api_.SetIntraOpNumThreads(made, static_cast<int>(threads)), kWhat);
    runtime_.check(api_.SetInterOpNumThreads(made, 1), kWhat);
    runtime_.check(api_.SetSessionExecutionMode(made, ORT_SEQUENTIAL), kWhat);
    runtime_.check(api_.DisableCpuMemArena(made), kWhat); // its memory would stay between two runs
    runtime_.check(api_.AddSessionConfigEntry(made, "session.intra_op.allow_spinning", "0"), kWhat);
    runtime_.check(api_.AddSessionConfigEntry(made, "session.inter_op.allow_spinning", "0"), kWhat);
    if (runtime_.counts_memory()) {
        runtime_.check(api_.AddSessionConfigEntry(made, "session.use_env_allocators", "1"), kWhat);
    }
    const auto create = [](void* group, OrtThreadWorkerFn work, void* argument) {
        return static_cast<OrtCustomThreadHandle>(ThreadGroup::create(group, work, argument));
    };
    const auto join = [](OrtCustomThreadHandle handle) {
        ThreadGroup::join(const_cast<OrtCustomHandleType*>(handle));
    };
    runtime_.check(api_.SessionOptionsSetCustomCreateThreadFn(made, create), kWhat);
    runtime_.check(api_.SessionOptionsSetCustomThreadCreationOptions(made, &threads_), kWhat);
    runtime_.check(api_.SessionOptionsSetCustomJoinThreadFn(made, join), kWhat);
    return options;
}

Session::Session(const Runtime& runtime, std::string_view file, std::uint32_t threads)
    : runtime_(runtime), api_(runtime.api()), threads_(memory_) {
    const SessionMemory::Scope counted(memory_);
    const auto options = make_options(threads);
    OrtSession* session = nullptr;
    runtime_.check(
        api_.CreateSessionFromArray(runtime.env(), file.data(), file.size(), options.get(), &session),
        "load the model"
    );
    session_ = Owned<OrtSession>(session, {api_.ReleaseSession});
    OrtMemoryInfo* where = nullptr;
    runtime_.check(api_.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &where), "load the model");
    memory_info_ = Owned<OrtMemoryInfo>(where, {api_.ReleaseMemoryInfo});
    read_input();
    read_output();
    // ONNX Runtime counts weights as memory of a run if it keeps them in blocks of its own.
    weights_ = file.size();
    memory_.reset_peak();
}

Session::~Session() = default;

Owned<OrtTypeInfo> Session::type_of(bool input) const {
    OrtTypeInfo* info = nullptr;
    runtime_.check(
        input ? api_.SessionGetInputTypeInfo(session_.get(), 0, &info)
              : api_.SessionGetOutputTypeInfo(session_.get(), 0, &info),
        "read the model's types"
    );
    return {info, {api_.ReleaseTypeInfo}};
}

void Session::read_input() {
    std::size_t inputs = 0;
    runtime_.check(api_.SessionGetInputCount(session_.get(), &inputs), "read the model's inputs");
    if (inputs != 1) {
        refuse_model(std::to_string(inputs) + " inputs; expected one image");
    }
    const auto type = type_of(true);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr; // part of `type`
    runtime_.check(api_.CastTypeInfoToTensorInfo(type.get(), &tensor), "read the model's input");
    if (tensor == nullptr) {
        refuse_model("its input is no tensor");
    }
    const auto info = read_info(runtime_, tensor);
    if (!info.is_float()) {
        refuse_model("its input is neither float nor float16; quantized models keep a float input");
    }
    const auto fits = [&](std::size_t at, std::int64_t wanted) {
        return info.dims[at] <= 0 || info.dims[at] == wanted; // below 1: any size
    };
    if (info.dims.size() != kDims || !fits(0, 1) || !fits(1, kColours)) {
        refuse_model("its input has another shape than [1, 3, height, width]");
    }
    if (info.dims[2] > kMaxTensorSide || info.dims[3] > kMaxTensorSide) {
        refuse_model("its input is larger than 16,384 x 16,384");
    }
    half_input_ = info.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    input_shape_.height = static_cast<std::uint32_t>(std::max<std::int64_t>(info.dims[2], 0));
    input_shape_.width = static_cast<std::uint32_t>(std::max<std::int64_t>(info.dims[3], 0));
    input_name_ = name_at(runtime_, session_.get(), true);
}

void Session::read_output() {
    std::size_t outputs = 0;
    runtime_.check(api_.SessionGetOutputCount(session_.get(), &outputs), "read the model's outputs");
    if (outputs == 0) {
        refuse_model("it has no output");
    }
    output_name_ = name_at(runtime_, session_.get(), false);
}

std::optional<std::string> Session::metadata(const char* key) const {
    constexpr const char* kWhat = "read the model's metadata";
    OrtModelMetadata* made = nullptr;
    runtime_.check(api_.SessionGetModelMetadata(session_.get(), &made), kWhat);
    const Owned<OrtModelMetadata> data(made, {api_.ReleaseModelMetadata});
    OrtAllocator* allocator = nullptr;
    runtime_.check(api_.GetAllocatorWithDefaultOptions(&allocator), kWhat);
    char* value = nullptr;
    runtime_.check(api_.ModelMetadataLookupCustomMetadataMap(made, allocator, key, &value), kWhat);
    if (value == nullptr) {
        return std::nullopt;
    }
    std::string text(value);
    runtime_.check(api_.AllocatorFree(allocator, value), kWhat);
    return text;
}

// A run on a thread of its own, while the step's thread waits at its gate.
struct Session::Run {
    Session& session;
    const std::vector<float>& image;
    const Shape& size;
    Owned<OrtRunOptions> options;
    std::mutex mutex{}; // guards the members below
    std::condition_variable ended{};
    bool done = false;
    std::exception_ptr failure{};
    Mask mask{};

    void work() noexcept {
        const SessionMemory::Scope counted(session.memory_);
        try {
            session.threads_.enter();
            compute();
        } catch (...) {
            failure = std::current_exception();
        }
        session.threads_.leave();
        const std::lock_guard lock(mutex);
        done = true;
        ended.notify_all();
    }

    void compute() {
        const auto& api = session.api_;
        std::vector<std::uint16_t> halves;
        void* data = const_cast<float*>(image.data()); // only read
        auto bytes = image.size() * sizeof(float);
        if (session.half_input_) {
            halves.resize(image.size());
            std::transform(image.begin(), image.end(), halves.begin(), half_of);
            data = halves.data();
            bytes = halves.size() * sizeof(std::uint16_t);
        }
        const std::int64_t dims[] = {1, kColours, size.height, size.width};
        OrtValue* input = nullptr;
        session.runtime_.check(
            api.CreateTensorWithDataAsOrtValue(
                session.memory_info_.get(),
                data,
                bytes,
                dims,
                kDims,
                session.half_input_ ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16
                                    : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                &input
            ),
            "hand over the image"
        );
        const Owned<OrtValue> owned_input(input, {api.ReleaseValue});
        const char* input_names[] = {session.input_name_.c_str()};
        const char* output_names[] = {session.output_name_.c_str()};
        OrtValue* output = nullptr;
        session.runtime_.check(
            api.Run(session.session_.get(), options.get(), input_names, &input, 1, output_names, 1, &output),
            "run the model"
        );
        const Owned<OrtValue> owned_output(output, {api.ReleaseValue});
        mask = session.read_mask(*output);
    }
};

Mask Session::read_mask(const OrtValue& value) const {
    OrtTensorTypeAndShapeInfo* made = nullptr;
    runtime_.check(api_.GetTensorTypeAndShape(&value, &made), "read the mask");
    const Owned<OrtTensorTypeAndShapeInfo> shape(made, {api_.ReleaseTensorTypeAndShapeInfo});
    const auto info = read_info(runtime_, made);
    const auto rank = info.dims.size();
    bool flat = rank >= 2;
    for (std::size_t i = 0; i + 2 < rank; ++i) { // batch and channels
        flat = flat && info.dims[i] == 1;
    }
    const auto in_range = [](std::int64_t side) { return side >= 1 && side <= kMaxTensorSide; };
    if (!flat || !info.is_float() || !in_range(info.dims[rank - 2]) || !in_range(info.dims[rank - 1])) {
        refuse_model("its first output is no float tensor of shape [1, 1, height, width]");
    }
    Mask mask{
        static_cast<std::uint32_t>(info.dims[rank - 2]), static_cast<std::uint32_t>(info.dims[rank - 1]), {}
    };
    const auto count = std::size_t{mask.height} * mask.width;
    void* data = nullptr;
    runtime_.check(api_.GetTensorMutableData(const_cast<OrtValue*>(&value), &data), "read the mask");
    if (info.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) {
        const auto* halves = static_cast<const std::uint16_t*>(data);
        mask.values.resize(count);
        std::transform(halves, halves + count, mask.values.begin(), float_of);
    } else {
        const auto* floats = static_cast<const float*>(data);
        mask.values.assign(floats, floats + count);
    }
    return mask;
}

std::optional<Mask> Session::run(
    const std::vector<float>& image, const Shape& size, sotto_thread_class thread_class, const Stops& stops
) {
    constexpr auto kPoll = std::chrono::milliseconds(1);
    OrtRunOptions* options = nullptr;
    runtime_.check(api_.CreateRunOptions(&options), "prepare a run");
    Run run{*this, image, size, {options, {api_.ReleaseRunOptions}}};
    threads_.set_class(thread_class);
    std::thread thread([&run] { run.work(); });
    bool stopped = false;
    std::unique_lock lock(run.mutex);
    while (!run.ended.wait_for(lock, kPoll, [&] { return run.done; })) {
        lock.unlock();
        if (!stopped && stops()) {
            stopped = true;
            threads_.set_class(SOTTO_THREAD_NORMAL); // ends soon, also beside a busy game
            if (OrtStatus* failed = api_.RunOptionsSetTerminate(options); failed != nullptr) {
                api_.ReleaseStatus(failed);
            }
        }
        lock.lock();
    }
    lock.unlock();
    thread.join();
    if (stopped) {
        return std::nullopt;
    }
    if (run.failure) {
        std::rethrow_exception(run.failure);
    }
    return std::move(run.mask);
}

} // namespace sotto::onnx
