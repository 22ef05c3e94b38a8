#include "support/hooks.hpp"

#include <cstring>

#ifdef _WIN32
#  include <windows.h>
#else
#  include <pthread.h>
#endif

#include "support/game.hpp"

namespace test {
namespace {

HostHooks& host(void* self) {
    return *static_cast<HostHooks*>(self);
}

template <typename T>
T sized() {
    T made{};
    made.struct_size = sizeof made;
    return made;
}

// System name of the calling thread.
std::string name_of_thread() {
#ifdef _WIN32
    PWSTR name = nullptr;
    if (FAILED(GetThreadDescription(GetCurrentThread(), &name))) {
        return {};
    }
    const std::string known(name, name + wcslen(name)); // the tests' names are ASCII
    LocalFree(name);
    return known;
#else
    char known[32] = {};
    pthread_getname_np(pthread_self(), known, sizeof known);
    return known;
#endif
}

} // namespace

sotto_engine_desc HostHooks::desc() {
    log_ = sized<sotto_log_sink>();
    log_.write = write;
    access_ = sized<sotto_file_access>();
    access_.open = open;
    access_.read = read;
    access_.close = close;
    report_ = sized<sotto_memory_report>();
    report_.changed = changed;
    threading_ = sized<sotto_threads>();
    threading_.name = str("npc");
    threading_.started = started;
    profiler_ = sized<sotto_profiler>();
    profiler_.zone_begin = zone_begin;
    profiler_.zone_end = zone_end;
    log_.self = access_.self = report_.self = threading_.self = profiler_.self = this;
    auto desc = plain_desc();
    desc.log = &log_;
    desc.files = &access_;
    desc.memory = &report_;
    desc.threads = &threading_;
    desc.profiler = &profiler_;
    return desc;
}

std::vector<HostHooks::Line> HostHooks::lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
}

std::map<std::string, std::int64_t> HostHooks::memory() const {
    const std::lock_guard lock(mutex_);
    return memory_;
}

std::size_t HostHooks::memory_calls() const {
    const std::lock_guard lock(mutex_);
    return memory_calls_;
}

std::vector<std::string> HostHooks::threads() const {
    const std::lock_guard lock(mutex_);
    return threads_;
}

std::vector<std::string> HostHooks::system_names() const {
    const std::lock_guard lock(mutex_);
    return system_names_;
}

std::map<std::thread::id, HostHooks::Zones> HostHooks::zones() const {
    const std::lock_guard lock(mutex_);
    return zones_;
}

std::vector<std::string> HostHooks::zone_names() const {
    const std::lock_guard lock(mutex_);
    return zone_names_;
}

int HostHooks::files_opened() const {
    const std::lock_guard lock(mutex_);
    return opened_;
}

int HostHooks::files_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

void HostHooks::write(void* self, sotto_log_level level, sotto_str message) {
    const std::lock_guard lock(host(self).mutex_);
    host(self).lines_.push_back({level, text_of(message)});
}

void HostHooks::changed(
    void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, std::int64_t bytes
) {
    const std::lock_guard lock(host(self).mutex_);
    host(self).memory_[std::to_string(kind) + " " + text_of(device) + " " + text_of(model)] += bytes;
    ++host(self).memory_calls_;
}

void HostHooks::started(void* self, sotto_str name) {
    const auto known = name_of_thread();
    const std::lock_guard lock(host(self).mutex_);
    host(self).threads_.push_back(text_of(name));
    host(self).system_names_.push_back(known);
}

void HostHooks::zone_begin(void* self, sotto_str name) {
    const std::lock_guard lock(host(self).mutex_);
    ++host(self).zones_[std::this_thread::get_id()].open;
    host(self).zone_names_.push_back(text_of(name));
}

void HostHooks::zone_end(void* self) {
    const std::lock_guard lock(host(self).mutex_);
    auto& zones = host(self).zones_[std::this_thread::get_id()];
    zones.unbalanced = zones.unbalanced || zones.open == 0;
    --zones.open;
    ++zones.ended;
}

sotto_status HostHooks::open(void* self, sotto_str path, void** file, std::uint64_t* size) {
    const std::lock_guard lock(host(self).mutex_);
    const auto found = host(self).files.find(text_of(path));
    if (found == host(self).files.end()) {
        return SOTTO_ERROR_NOT_FOUND;
    }
    ++host(self).opened_;
    *file = new File{&found->second};
    *size = found->second.size();
    return SOTTO_OK;
}

sotto_status
HostHooks::read(void* /*self*/, void* file, std::uint64_t offset, void* buffer, std::uint64_t bytes) {
    const auto& whole = *static_cast<File*>(file)->bytes;
    if (offset > whole.size() || bytes > whole.size() - offset) {
        return SOTTO_ERROR_ARGUMENT;
    }
    std::memcpy(buffer, whole.data() + offset, bytes);
    return SOTTO_OK;
}

void HostHooks::close(void* self, void* file) {
    const std::lock_guard lock(host(self).mutex_);
    ++host(self).closed_;
    delete static_cast<File*>(file);
}

} // namespace test
