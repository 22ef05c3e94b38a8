// Fault injection: makes malloc(), mmap() and pthread_create() of the whole program, including loaded
// libraries, fail.
#pragma once

namespace faults {

enum class Fails {
    once,     // one call
    run,      // 100 consecutive calls
    for_200ms // every call
};

// From the `at`th call on, counted from 1, calls fail according to `how`. Calls of exempt threads are neither
// counted nor made to fail.
void arm(long at, Fails how);
void disarm();
// Number of calls counted since arm().
long count();

void arm_threads(long at);
long threads_count();

// The calling thread's calls always succeed during its lifetime. The main thread starts without one.
class Exempt {
public:
    Exempt();
    ~Exempt();
    Exempt(const Exempt&) = delete;
    Exempt& operator=(const Exempt&) = delete;
};

} // namespace faults
