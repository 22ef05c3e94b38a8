#include "backends/diffusion/file/weights_check.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <ggml.h>
#include <system_error>

#include "abi/error.hpp"
#include "backends/diffusion/file/safetensors_check.hpp"
#include "backends/diffusion/file/tensor_check.hpp"
#include "gguf/header.hpp"

namespace sotto::diffusion {
namespace {

namespace fs = std::filesystem;

std::string utf8_of(const fs::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

Error unreadable(const fs::path& path) {
    return Error(
        SOTTO_ERROR_NOT_FOUND, "cannot read the weights file '" + utf8_of(path) + "': check the path"
    );
}

class FileSource final : public gguf::Source {
public:
    explicit FileSource(const fs::path& path) : path_(path), file_(path, std::ios::binary) {
        std::error_code failed;
        size_ = fs::file_size(path, failed);
        if (failed || !file_) {
            throw unreadable(path);
        }
    }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        file_.seekg(static_cast<std::streamoff>(offset));
        if (!file_.read(static_cast<char*>(out), static_cast<std::streamsize>(count))) {
            throw unreadable(path_);
        }
    }

private:
    const fs::path path_;
    std::ifstream file_;
};

std::string start_of(gguf::Source& source) {
    constexpr std::uint64_t kBytes = 64;
    std::string start(static_cast<std::size_t>(std::min(kBytes, source.size())), '\0');
    source.read(0, start.data(), start.size());
    return start;
}

// Returns true if byte 8 begins a JSON object, after a length that the file has room for.
bool is_safetensors(std::string_view start, std::uint64_t size) {
    constexpr std::size_t kObject = 8;
    if (start.size() <= kObject || start[kObject] != '{') {
        return false;
    }
    std::uint64_t length = 0;
    for (std::size_t i = kObject; i > 0; --i) {
        length = length << 8 | static_cast<unsigned char>(start[i - 1]);
    }
    return length <= size - kObject;
}

bool is_pickle(std::string_view start, std::string_view suffix) {
    const bool zip = start.starts_with(std::string_view("PK\x03\x04", 4));
    const bool pickle = start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
    return zip || pickle || suffix == ".ckpt" || suffix == ".pt" || suffix == ".pth" || suffix == ".bin";
}

[[noreturn]] void refuse_format(std::string_view start, std::string_view suffix) {
    if (is_pickle(start, suffix)) {
        refuse(
            "PyTorch's pickles are not supported, since they can run code; convert the file to safetensors"
        );
    }
    if (start.starts_with("version https://git-lfs")) {
        refuse("only a pointer to the weights; fetch them with 'git lfs pull'");
    }
    const auto first = start.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && start[first] == '{') {
        refuse(
            "a text file, such as the index of a model in several files; use one .safetensors or .gguf file "
            "with all "
            "tensors"
        );
    }
    refuse("neither a safetensors nor a GGUF file; download it again");
}

// Limits the memory that ggml needs for the values.
bool limit_strings(gguf::Reader&, const std::string& key, gguf::Value& value) {
    constexpr std::uint64_t kMaxStrings = 2 << 20;
    if (value.count > kMaxStrings) {
        refuse(
            key + ": " + std::to_string(value.count) + " strings; expected at most " +
            std::to_string(kMaxStrings)
        );
    }
    return false;
}

TensorFact fact_of(const gguf::Tensor& tensor) {
    const auto type = static_cast<ggml_type>(tensor.type);
    if (!std::all_of(tensor.name.begin(), tensor.name.end(), [](char byte) { return byte > 0; })) {
        refuse("tensor with a name that is not ASCII");
    }
    TensorFact fact{tensor.name, ggml_type_name(type), {}, tensor.bytes};
    for (auto extent = tensor.extents.rbegin(); extent != tensor.extents.rend(); ++extent) {
        fact.shape.push_back(static_cast<std::int64_t>(*extent)); // at most 2^48
    }
    check_name(fact.name);
    check_type(fact, check_shape(fact));
    const bool integers = type == GGML_TYPE_I32 || type == GGML_TYPE_I64;
    const bool dots = type != GGML_TYPE_Q8_1 && type != GGML_TYPE_Q8_K; // which ggml uses while it computes
    const bool weights = type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float != nullptr;
    if (!integers && !(weights && dots)) {
        refuse_tensor(fact.name, "unsupported type '" + fact.type + "'; expected weights");
    }
    return fact;
}

std::vector<TensorFact> check_gguf(gguf::Source& source) {
    gguf::Reader reader(source);
    const auto header = gguf::read_header(reader, limit_strings);
    if (header.tensors > kMaxTensors) {
        refuse("more than " + std::to_string(kMaxTensors) + " tensors");
    }
    const auto layout = gguf::read_tensors(reader, header);
    if (layout.data > kMaxHeaderBytes) {
        refuse(
            "header of " + std::to_string(layout.data) + " bytes; expected at most " +
            std::to_string(kMaxHeaderBytes)
        );
    }
    std::vector<const gguf::Tensor*> order;
    for (const auto& [name, tensor] : layout.tensors) {
        order.push_back(&tensor);
    }
    std::sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
        return left->offset < right->offset;
    });
    std::vector<TensorFact> tensors;
    for (const auto* tensor : order) {
        tensors.push_back(fact_of(*tensor));
    }
    return tensors;
}

std::string printable(std::string text) {
    std::replace_if(
        text.begin(),
        text.end(),
        [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; },
        ' '
    );
    return text;
}

std::string lower(std::string text) {
    for (char& letter : text) {
        letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    return text;
}

} // namespace

WeightsFile check_weights(gguf::Source& source, std::string_view suffix) {
    if (source.size() == 0) {
        refuse("the file is empty");
    }
    const auto start = start_of(source);
    WeightsFile file;
    file.bytes = source.size();
    file.gguf = start.starts_with("GGUF");
    if (file.gguf) {
        file.tensors = check_gguf(source);
    } else if (is_safetensors(start, source.size())) {
        file.tensors = check_safetensors(source);
    } else {
        refuse_format(start, suffix);
    }
    if (file.tensors.empty()) {
        refuse("the file contains no tensors");
    }
    return file;
}

WeightsFile check_weights(const fs::path& path) {
    std::error_code failed;
    const auto status = fs::status(path, failed);
    if (!fs::exists(status)) {
        throw unreadable(path);
    }
    const auto named = "invalid weights file '" + utf8_of(path) + "': ";
    if (!fs::is_regular_file(status)) {
        throw Error(
            SOTTO_ERROR_MODEL,
            named + "a folder or a device; expected a .safetensors or .gguf file of weights"
        );
    }
    FileSource source(path);
    try {
        return check_weights(source, lower(utf8_of(path.extension())));
    } catch (const Error& error) {
        if (error.status() != SOTTO_ERROR_MODEL) {
            throw;
        }
        const auto reason = printable(error.what());
        const bool says_more = reason.find("; ") != std::string::npos;
        throw Error(SOTTO_ERROR_MODEL, named + reason + (says_more ? "" : "; download it again"));
    }
}

} // namespace sotto::diffusion
