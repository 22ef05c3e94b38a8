#include "platform/memory.hpp"

#include <algorithm>

#include "platform/windows.hpp"

#include <psapi.h>

namespace sotto {
namespace {

// Applies the memory limits of the process's job object, if it has one.
void within_job(SystemMemory& memory) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
    if (!QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof job, nullptr)) {
        return;
    }
    const auto limit = [&](DWORD flag, std::uint64_t most) {
        if ((job.BasicLimitInformation.LimitFlags & flag) != 0 && most < memory.total) {
            memory.total = most;
            memory.available = std::min(memory.available, most - std::min(most, memory.own));
        }
    };
    limit(JOB_OBJECT_LIMIT_PROCESS_MEMORY, job.ProcessMemoryLimit);
    limit(JOB_OBJECT_LIMIT_JOB_MEMORY, job.JobMemoryLimit);
}

} // namespace

// `own` is the process's commit size, including pages that were never touched: counting the touched pages
// would require walking the whole address space.
std::optional<SystemMemory> system_memory() {
    MEMORYSTATUSEX machine{};
    machine.dwLength = sizeof machine;
    PROCESS_MEMORY_COUNTERS_EX process{};
    process.cb = sizeof process;
    auto* counters = reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&process);
    if (!GlobalMemoryStatusEx(&machine) ||
        !K32GetProcessMemoryInfo(GetCurrentProcess(), counters, sizeof process)) {
        return std::nullopt;
    }
    SystemMemory memory;
    memory.total = machine.ullTotalPhys;
    memory.available = machine.ullAvailPhys;
    memory.own = process.PrivateUsage;
    memory.mapped = process.WorkingSetSize - std::min(process.WorkingSetSize, process.PrivateUsage);
    within_job(memory);
    return memory;
}

} // namespace sotto
