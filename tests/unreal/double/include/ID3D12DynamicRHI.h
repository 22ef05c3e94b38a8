// Double of Unreal: see tests/unreal/double/README.md. Compiled for Windows, not run.
#pragma once

#include "DynamicRHI.h"

struct ID3D12Device;
struct ID3D12CommandQueue;

struct ID3D12DynamicRHI : public FDynamicRHI {
    ERHIInterfaceType GetInterfaceType() const final { return ERHIInterfaceType::D3D12; }

    virtual ID3D12CommandQueue* RHIGetCommandQueue() const = 0;
    virtual ID3D12Device* RHIGetDevice(uint32 InIndex) const = 0;
};

inline ID3D12DynamicRHI* GetID3D12DynamicRHI() {
    return static_cast<ID3D12DynamicRHI*>(GDynamicRHI);
}
