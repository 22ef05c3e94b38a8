// One kind of the scripted backend: CMakeLists.txt compiles this file once for each.
#include "scripted_kind.hpp"

#include <sotto/module.h>

namespace scripted {

#if defined SOTTO_SCRIPTED_FOR_CUDA
constexpr std::string_view kDevices =
    R"({"what": "test double", "devices": {"cuda0": {"name": "Small", "type": "integrated", "uuid": "0"},)"
    R"( "cuda1": {"name": "Broken", "type": "discrete", "uuid": "1", "unfit": "too old"},)"
    R"( "cuda2": {"name": "Large", "type": "discrete", "uuid": "2"}}})";
const Kind kKind{"scripted_cuda", kDevices, SOTTO_BACKEND_CUDA};
#elif defined SOTTO_SCRIPTED_ON_CARD
const Kind kKind{"scripted", R"({"what": "test double"})", SOTTO_BACKEND_CUDA};
#else
const Kind kKind{"scripted", R"({"what": "test double"})"};
#endif

} // namespace scripted
