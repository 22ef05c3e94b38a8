// Memory and threads that the system refuses when a test says so: malloc(), mmap() and pthread_create() of
// the whole program, libraries that it loads included.
#pragma once

namespace faults {

enum class Fails {
    once,     // one call
    run,      // 100 calls, one after the other
    for_200ms // every call
};

// From the `at`th call on, counted from 1, calls fail as said. Calls of exempt threads neither count nor
// fail.
void arm(long at, Fails how);
void disarm();
// How many calls were counted since then.
long count();

void arm_threads(long at);
long threads_count();

// The calling thread's calls always succeed while one lives. The main thread begins with none.
class Exempt {
public:
    Exempt();
    ~Exempt();
    Exempt(const Exempt&) = delete;
    Exempt& operator=(const Exempt&) = delete;
};

} // namespace faults
