#pragma once

#include <utility>

#include "Core/Store.h"
#include "Core/WorkQueue.h"

namespace SottoCore
{

/** A store with the queue of its calls, which run on worker threads and keep it alive. */
struct FStoreWork
{
    FStoreWork(const FApi& Api, std::function<void(FWorkQueue::FWork)> Launch)
        : Store(Api), Queue(std::move(Launch))
    {
    }

    FStore Store;
    FOutcome Opened; // why the store is not open
    FWorkQueue Queue;
};

} // namespace SottoCore
