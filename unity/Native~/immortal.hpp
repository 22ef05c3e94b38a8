// Objects of the process: made on first use, never destroyed, without allocating memory.
#pragma once

#include <new>

namespace sotto::unity {

// The only T. Unity may call the plugin while the process runs its exit handlers.
template <typename T>
T& immortal() {
    alignas(T) static unsigned char room[sizeof(T)];
    static T& object = *new (room) T;
    return object;
}

} // namespace sotto::unity
