// A host that sets all hooks and records their calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sotto/engine.h>

namespace test {

class HostHooks {
public:
    struct Line {
        sotto_log_level level;
        std::string text;
    };
    struct Zones {
        int open = 0;
        int ended = 0;
        bool unbalanced = false; // a zone ended that had not begun
    };

    // Description of an engine with all hooks. This object must outlive the engine.
    sotto_engine_desc desc();

    // Files that the file hooks serve.
    std::map<std::string, std::string> files;

    std::vector<Line> lines() const;
    // Memory in use by kind, device and model.
    std::map<std::string, std::int64_t> memory() const;
    std::size_t memory_calls() const;
    std::vector<std::string> threads() const;
    // Names that the system reports.
    std::vector<std::string> system_names() const;
    std::map<std::thread::id, Zones> zones() const;
    std::vector<std::string> zone_names() const;
    int files_opened() const;
    int files_closed() const;

private:
    struct File {
        const std::string* bytes;
    };

    static void SOTTO_CALL write(void* self, sotto_log_level level, sotto_str message);
    static void SOTTO_CALL
    changed(void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, std::int64_t bytes);
    static void SOTTO_CALL started(void* self, sotto_str name);
    static void SOTTO_CALL zone_begin(void* self, sotto_str name);
    static void SOTTO_CALL zone_end(void* self);
    static sotto_status SOTTO_CALL open(void* self, sotto_str path, void** file, std::uint64_t* size);
    static sotto_status SOTTO_CALL
    read(void* self, void* file, std::uint64_t offset, void* buffer, std::uint64_t bytes);
    static void SOTTO_CALL close(void* self, void* file);

    mutable std::mutex mutex_; // guards the members below
    std::vector<Line> lines_;
    std::map<std::string, std::int64_t> memory_;
    std::size_t memory_calls_ = 0;
    std::vector<std::string> threads_;
    std::vector<std::string> system_names_;
    std::map<std::thread::id, Zones> zones_;
    std::vector<std::string> zone_names_;
    int opened_ = 0;
    int closed_ = 0;

    sotto_log_sink log_{};
    sotto_file_access access_{};
    sotto_memory_report report_{};
    sotto_threads threading_{};
    sotto_profiler profiler_{};
};

} // namespace test
