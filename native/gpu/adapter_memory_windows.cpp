#include "gpu/adapter_memory.hpp"

#include <mutex>

#include "base/path.hpp"
#include "gpu/com_windows.hpp"
#include "platform/dynlib.hpp"

#include <dxgi1_4.h>

namespace sotto::gpu {
namespace {

constexpr GUID kFactory = {0x1bc6ea02, 0xef36, 0x464f, {0xbf, 0x0c, 0x21, 0xca, 0x39, 0xe5, 0x16, 0x8a}};
constexpr GUID kAdapter = {0x645967a4, 0x1392, 0x4310, {0xa7, 0x98, 0x80, 0x53, 0xce, 0x3e, 0x93, 0xfd}};

// The DXGI adapters of this machine. Enumerates the adapters again after an adapter was added or removed.
class Adapters {
public:
    std::vector<AdapterMemory> look() {
        const std::lock_guard lock(mutex_);
        if (create_ == nullptr) {
            return {};
        }
        if (!factory_ || !factory_->IsCurrent()) {
            list();
        }
        std::vector<AdapterMemory> told;
        for (const auto& adapter : adapters_) {
            DXGI_ADAPTER_DESC1 desc{};
            DXGI_QUERY_VIDEO_MEMORY_INFO memory{};
            if (SUCCEEDED(adapter->GetDesc1(&desc)) &&
                SUCCEEDED(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &memory))) {
                told.push_back(
                    {utf8_of(std::filesystem::path(desc.Description)),
                     number_of(desc.AdapterLuid),
                     desc.DedicatedVideoMemory,
                     memory.Budget,
                     memory.CurrentUsage}
                );
            }
        }
        return told;
    }

private:
    using Create = HRESULT(WINAPI*)(REFIID, void**);

    static Create open() {
        std::string why; // ignored: a server may have no DXGI, which is not an error
        void* library = open_library("dxgi.dll", why);
        return library != nullptr ? reinterpret_cast<Create>(find_symbol(library, "CreateDXGIFactory1"))
                                  : nullptr;
    }

    void list() {
        adapters_.clear();
        if (FAILED(create_(kFactory, factory_.out_void()))) {
            return;
        }
        Com<IDXGIAdapter1> one;
        for (UINT i = 0; SUCCEEDED(factory_->EnumAdapters1(i, one.out())); ++i) {
            DXGI_ADAPTER_DESC1 desc{};
            Com<IDXGIAdapter3> adapter;
            const bool real =
                SUCCEEDED(one->GetDesc1(&desc)) && (desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE) == 0;
            if (real && SUCCEEDED(one->QueryInterface(kAdapter, adapter.out_void()))) {
                adapters_.push_back(std::move(adapter));
            }
        }
    }

    std::mutex mutex_; // guards the members below
    const Create create_ = open();
    Com<IDXGIFactory4> factory_;
    std::vector<Com<IDXGIAdapter3>> adapters_;
};

} // namespace

std::vector<AdapterMemory> adapter_memory() {
    // never destroyed: DXGI may be unloaded before static destructors run
    static auto* adapters = new Adapters;
    return adapters->look();
}

} // namespace sotto::gpu
