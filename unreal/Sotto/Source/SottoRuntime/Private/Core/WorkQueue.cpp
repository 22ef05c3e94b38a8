#include "Core/WorkQueue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace SottoCore
{

struct FWorkQueue::FState
{
    std::function<void(FWork)> Launch;
    std::mutex Mutex; // guards what follows
    std::condition_variable Idle;
    std::deque<FWork> Waiting;
    bool bRunning = false; // a function runs, or a thread was launched for one
};

FWorkQueue::FWorkQueue(std::function<void(FWork)> Launch) : State(std::make_shared<FState>())
{
    State->Launch = std::move(Launch);
}

void FWorkQueue::Add(FWork Work)
{
    {
        const std::lock_guard<std::mutex> Lock(State->Mutex);
        State->Waiting.push_back(std::move(Work));
        if (std::exchange(State->bRunning, true))
        {
            return;
        }
    }
    State->Launch([Kept = State]() { Drain(Kept); });
}

void FWorkQueue::Drain(const std::shared_ptr<FState>& State)
{
    for (;;)
    {
        FWork Work;
        {
            const std::lock_guard<std::mutex> Lock(State->Mutex);
            if (State->Waiting.empty())
            {
                State->bRunning = false;
                State->Idle.notify_all();
                return;
            }
            Work = std::move(State->Waiting.front());
            State->Waiting.pop_front();
        }
        Work();
    }
}

bool FWorkQueue::WaitFor(std::chrono::milliseconds Most)
{
    std::unique_lock<std::mutex> Lock(State->Mutex);
    return State->Idle.wait_for(Lock, Most, [this]() { return !State->bRunning; });
}

void FWorkQueue::Wait()
{
    std::unique_lock<std::mutex> Lock(State->Mutex);
    State->Idle.wait(Lock, [this]() { return !State->bRunning; });
}

} // namespace SottoCore
