// Detection of processor features.
#pragma once

namespace sotto {

// The highest x86-64 microarchitecture level that this processor and system support, 1 to 4 (psABI
// "x86-64 Architecture Levels"). 0 on other processors.
int x86_64_level() noexcept;

} // namespace sotto
