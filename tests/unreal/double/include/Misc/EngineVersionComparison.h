// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

// The version that the plugin is compiled for: 5.x.
#ifndef DOUBLE_ENGINE_MINOR_VERSION
#  define DOUBLE_ENGINE_MINOR_VERSION 6
#endif

#define UE_VERSION_OLDER_THAN(Major, Minor, Patch)                                                           \
    (5 < (Major) || (5 == (Major) && DOUBLE_ENGINE_MINOR_VERSION < (Minor)))
