// A host that lends an engine every hook there is, and remembers what each was called with.
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
        bool unbalanced = false; // one ended that had not begun
    };

    // A description that lends all of them. This object must outlive the engine.
    sotto_engine_desc desc();

    // The archive that the file hook reads.
    std::map<std::string, std::string> files;

    std::vector<Line> lines() const;
    // By kind, device and model: what is taken now.
    std::map<std::string, std::int64_t> memory() const;
    std::size_t memory_calls() const;
    std::vector<std::string> threads() const;
    // As the system knows them.
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

    mutable std::mutex mutex_; // guards what follows
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
