// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <thread>

#include "Async/Future.h"
#include "Async/TaskGraphInterfaces.h"

enum class EAsyncExecution { TaskGraph, TaskGraphMainThread, Thread, ThreadIfForkSafe, ThreadPool };

/** Runs a function on another thread. The double starts a thread for each call. */
template <typename CallableType>
TFuture<void> Async(EAsyncExecution, CallableType&& Callable) {
    std::packaged_task<void()> Task(std::forward<CallableType>(Callable));
    TFuture<void> Future(Task.get_future());
    std::thread(std::move(Task)).detach();
    return Future;
}

/** Runs a function on the game thread, in its next frame. */
void AsyncTask(ENamedThreads::Type Thread, TUniqueFunction<void()> Function);
/** Runs what waits for the game thread. */
void DoubleRunGameThreadTasks();
