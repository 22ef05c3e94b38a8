// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

class IPlatformFile;

class FPlatformFileManager {
public:
    static FPlatformFileManager& Get();
    IPlatformFile& GetPlatformFile();
};
