// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

struct FTickFunction {
    bool bCanEverTick = false;
    bool bStartWithTickEnabled = true;
};
struct FActorTickFunction : FTickFunction {};
struct FActorComponentTickFunction : FTickFunction {};
