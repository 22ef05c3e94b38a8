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

bool ends_with_onnx(std::string_view path) {
    constexpr std::string_view kEnding = ".onnx";
    const auto ending = path.substr(path.size() - std::min(path.size(), kEnding.size()));
    return std::ranges::equal(ending, kEnding, [](char letter, char expected) {
        return letter == expected || letter == expected - 'a' + 'A';
    });
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
        return std::string(ends_with_onnx(path) ? kOnnx : "");
    }
    const auto* const model = find(id);
    return std::string(model != nullptr ? model->backend : ends_with_onnx(id) ? kOnnx : "");
}

} // namespace sotto
