#include "core/model/built_in.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "platform/dynlib.hpp"

namespace sotto {
namespace {

constexpr std::string_view kOnnx = "onnx"; // backend

struct BuiltIn {
    std::string_view id;
    std::string_view file;
    std::string_view backend; // empty: the default backend
};
constexpr std::array kBuiltIns = {
    BuiltIn{"sotto/house", "house.gguf", ""}, BuiltIn{"sotto/matting", "matting.onnx", kOnnx}
};

const BuiltIn* find(std::string_view id) {
    const auto* const found = std::ranges::find(kBuiltIns, id, &BuiltIn::id);
    return found == kBuiltIns.end() ? nullptr : &*found;
}

// Backends of files that the default backend does not open, by their ending.
struct Ending {
    std::string_view ending; // in lower case
    std::string_view backend;
};
constexpr std::array kEndings = {Ending{".onnx", kOnnx}, Ending{".safetensors", "diffusion"}};

std::string_view backend_of_file(std::string_view path) {
    for (const auto& [ending, backend] : kEndings) {
        const auto found = path.substr(path.size() - std::min(path.size(), ending.size()));
        const bool same = std::ranges::equal(found, ending, [](char letter, char expected) {
            return letter == expected || letter == expected - 'a' + 'A';
        });
        if (same) {
            return backend;
        }
    }
    return "";
}

} // namespace

std::string built_in_file(const std::string& id) {
    const auto* const model = find(id);
    if (model == nullptr || library_folder().empty()) {
        return "";
    }
    const auto path = (library_folder() / model->file).u8string();
    return {path.begin(), path.end()};
}

std::string backend_for(const std::string& id, const std::string& path) {
    if (!path.empty()) {
        return std::string(backend_of_file(path));
    }
    const auto* const model = find(id);
    return std::string(model != nullptr ? model->backend : backend_of_file(id));
}

} // namespace sotto
