#include "core/state/packing.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#define ZSTD_STATIC_LINKING_ONLY // for custom allocators
#include <zstd.h>

#include "base/error.hpp"

namespace sotto {
namespace {

constexpr int kWidest = 30; // maximum window, as log2 of bytes

constexpr ZSTD_customMem kPages = {
    [](void*, std::size_t size) { return pages_allocate(size); },
    [](void*, void* memory) { pages_free(memory); },
    nullptr,
};

struct FreeZstd {
    void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

template <typename Context>
std::unique_ptr<Context, FreeZstd> owned(Context* context) {
    if (context == nullptr) {
        throw std::bad_alloc();
    }
    return std::unique_ptr<Context, FreeZstd>(context);
}

std::size_t checked(std::size_t result, sotto_status status) {
    if (ZSTD_isError(result) != 0) {
        throw Error(status, std::string("spilled KV cache: ") + ZSTD_getErrorName(result));
    }
    return result;
}

} // namespace

PageBuffer packed(std::string_view bytes, std::string_view like) {
    const auto set = [context = owned(ZSTD_createCCtx_advanced(kPages))](ZSTD_cParameter what, int value) {
        checked(ZSTD_CCtx_setParameter(context.get(), what, value), SOTTO_ERROR_INTERNAL);
        return context.get();
    };
    const auto reach = std::bit_width(bytes.size() + like.size());
    set(ZSTD_c_compressionLevel, 1);
    set(ZSTD_c_enableLongDistanceMatching, 1);
    auto* context = set(ZSTD_c_windowLog, std::clamp(static_cast<int>(reach), 10, kWidest));
    checked(ZSTD_CCtx_refPrefix(context, like.data(), like.size()), SOTTO_ERROR_INTERNAL);
    PageBuffer result(ZSTD_compressBound(bytes.size()));
    const auto size = ZSTD_compress2(context, result.data(), result.size(), bytes.data(), bytes.size());
    result.resize(checked(size, SOTTO_ERROR_INTERNAL));
    result.fit();
    return result;
}

PageBuffer unpacked(std::string_view packed, std::string_view like, std::uint64_t size) {
    const auto context = owned(ZSTD_createDCtx_advanced(kPages));
    checked(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWidest), SOTTO_ERROR_INTERNAL);
    checked(ZSTD_DCtx_refPrefix(context.get(), like.data(), like.size()), SOTTO_ERROR_INTERNAL);
    PageBuffer result(static_cast<std::size_t>(size));
    const auto got =
        ZSTD_decompressDCtx(context.get(), result.data(), result.size(), packed.data(), packed.size());
    if (checked(got, SOTTO_ERROR_STATE) != size) {
        throw Error(SOTTO_ERROR_STATE, "the spilled KV cache is truncated");
    }
    return result;
}

} // namespace sotto
