// Fuzzes the check of ONNX files: each input is accepted, or refused with an Error.
#include <cstdint>
#include <string_view>

#include "abi/error.hpp"
#include "backends/onnx/model_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        sotto::onnx::check_model({reinterpret_cast<const char*>(data), size});
    } catch (const sotto::Error&) { // only this type may be thrown
    }
    return 0;
}
