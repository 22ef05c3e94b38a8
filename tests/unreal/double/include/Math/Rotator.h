// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

struct FRotator {
    double Pitch = 0, Yaw = 0, Roll = 0;
};
