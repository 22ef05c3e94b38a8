// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreTypes.h"

class IFileHandle {
public:
    virtual ~IFileHandle() = default;
    virtual int64 Size() = 0;
    virtual bool Read(uint8* Destination, int64 BytesToRead) = 0;
};

class IPlatformFile {
public:
    virtual ~IPlatformFile() = default;
    /** Returns a handle that the caller owns, or null. */
    virtual IFileHandle* OpenRead(const TCHAR* File, bool bAllowWrite = false) = 0;
    /** Creates a folder and those above it. Returns true if it exists then. */
    virtual bool CreateDirectoryTree(const TCHAR* Directory) = 0;
};
