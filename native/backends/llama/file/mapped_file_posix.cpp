// Keeps the process alive if a model's file is truncated, or its disk fails, while its weights are mapped.
#include "../runtime/forked.hpp"
#include "mapped_file.hpp" // relative to this file: llama.cpp is compiled without our include folders

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace sotto::llama {
namespace {

// A mapped address range. Never freed, because the signal handler reads it.
struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0}; // 0: this range is free
    std::atomic<bool> cut{false};
};
constexpr std::size_t kMaxRanges = 512;
std::array<Range, kMaxRanges> all_ranges;

constinit std::mutex all_mutex; // guards which MappedRanges owns each range

std::mutex& ranges_mutex() noexcept {
    return all_mutex;
}

struct sigaction previous_action = {};
std::uintptr_t page_size = 0;

Range* range_at(std::uintptr_t address) noexcept {
    for (auto& range : all_ranges) {
        if (address >= range.begin.load() && address < range.end.load()) {
            return &range;
        }
    }
    return nullptr;
}

// Calls the previous handler as the kernel would have.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
    if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
        previous_action.sa_sigaction(signal, info, context);
        return;
    }
    const bool sent = info->si_code <= 0; // sent by kill() or similar: the signal is not raised again
    if (previous_action.sa_handler == SIG_IGN && sent) {
        return;
    }
    if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(signal);
        return;
    }
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (sent) {
        raise(signal);
    } // otherwise the faulting instruction is retried and terminates the process
}

// Handles SIGBUS as mapped_file.hpp describes. Async-signal-safe: uses only system calls and lock-free
// atomics.
void on_bus_error(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    auto* range = info->si_code > 0 ? range_at(address) : nullptr;
    if (range != nullptr) {
        const auto page = address & ~(page_size - 1);
        auto* zeros = mmap(
            reinterpret_cast<void*>(page),
            range->end.load() - page,
            PROT_READ,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
            -1,
            0
        );
        if (zeros != MAP_FAILED) {
            range->cut = true;
            errno = error;
            return;
        }
    }
    pass_on(signal, info, context);
    errno = error;
}

thread_local bool holds = false;

// fork() copies memory while other threads write to it: all_mutex is locked during fork(), so that the child
// finds all_ranges consistent and unlocked. Registered while the module is being opened, which fork() waits
// for.
[[maybe_unused]] const int g_registered = pthread_atfork(
    [] { holds = lock_for_fork(all_mutex); },
    [] {
        if (holds) {
            all_mutex.unlock();
        }
    },
    [] { new (&all_mutex) std::mutex; }
);

void install_handler() {
    static const bool installed = [] {
        page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        struct sigaction ours = {};
        ours.sa_sigaction = on_bus_error;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&ours.sa_mask);
        // Stores the previous handler first, because the new handler may be called at once.
        return sigaction(SIGBUS, nullptr, &previous_action) == 0 && sigaction(SIGBUS, &ours, nullptr) == 0;
    }();
    (void)installed;
}

std::uintptr_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + page_size - 1) & ~(page_size - 1);
}

} // namespace

struct MappedRanges {
    // Registers a mapping. Returns its range, or NULL if all ranges are in use.
    Range* add(void* address, std::size_t bytes) {
        const std::lock_guard lock(ranges_mutex());
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        for (auto& range : all_ranges) {
            if (range.end.load() == 0) {
                range.cut = false;
                range.begin = begin;
                range.end = begin + whole_pages(bytes);
                owned.push_back(&range);
                return &range;
            }
        }
        return nullptr;
    }

    // Unregisters an address range, which may be a part of a mapping: llama.cpp unmaps unused parts at the
    // beginning and the end of a file.
    static void remove(void* address, std::size_t bytes) {
        const std::lock_guard lock(ranges_mutex());
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        const auto end = begin + whole_pages(bytes);
        for (auto& range : all_ranges) {
            if (begin >= range.end.load() || end <= range.begin.load()) {
                continue;
            }
            if (begin <= range.begin.load()) {
                range.begin = end; // if nothing is left, begin >= end: the range is empty
            } else {
                range.end = begin;
            }
        }
    }

    ~MappedRanges() {
        const std::lock_guard lock(ranges_mutex());
        for (auto* range : owned) {
            range->end = 0;
            range->begin = 0;
        }
    }

    std::vector<Range*> owned;
};

namespace {

thread_local MappedRanges* loading_ranges = nullptr;

} // namespace

MappedFile::MappedFile() : ranges_(std::make_unique<MappedRanges>()) {}
MappedFile::~MappedFile() = default;
MappedFile::MappedFile(MappedFile&& other) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept = default;

bool MappedFile::cut() const noexcept {
    for (const auto* range : ranges_->owned) {
        if (range->cut.load(std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

MappedFile::Loading::Loading(MappedFile& file) noexcept {
    loading_ranges = file.ranges_.get();
}

MappedFile::Loading::~Loading() {
    loading_ranges = nullptr;
}

} // namespace sotto::llama

// llama.cpp's llama-mmap.cpp calls sotto_map_file() and sotto_unmap_file() instead of mmap() and munmap().
extern "C" void* sotto_map_file(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    using namespace sotto::llama;
    install_handler();
    void* mapped = mmap(at, bytes, protection, flags, file, offset);
    if (mapped == MAP_FAILED || loading_ranges == nullptr) {
        return mapped;
    }
    if (loading_ranges->add(mapped, bytes) == nullptr) {
        munmap(mapped, bytes);
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return mapped;
}

extern "C" int sotto_unmap_file(void* address, size_t bytes) {
    // remove the range first: once unmapped, the address range may be reused by another mapping
    sotto::llama::MappedRanges::remove(address, bytes);
    return munmap(address, bytes);
}
