#include "judge/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

namespace solmark::judge {

Recorder::Recorder(oracle::OracleOptions options, const problem::Definition& definition)
    : definition_(definition) {
  options.recorder = true;
  thread_ = std::thread([this, options = std::move(options)] { run(options); });
}

Recorder::~Recorder() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    tasks_.clear();
    if (process_.valid()) syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  }
  changed_.notify_all();
  thread_.join();
}

void Recorder::ask(const Case& c) {
  {
    const std::lock_guard lock(mutex_);
    if (!usable_ || !asked_.insert(&c).second) return;
    tasks_.push_back({&c, c.workload, c.axes, c.inputs, c.outputs, c.blobs, c.scalars});
  }
  changed_.notify_all();
}

std::shared_ptr<Json> Recorder::take(const Case& c) {
  std::unique_lock lock(mutex_);
  if (asked_.count(&c) == 0) return nullptr;
  changed_.wait(lock, [&] { return !usable_ || graphs_.count(&c) != 0; });
  auto found = graphs_.find(&c);
  return found == graphs_.end() ? nullptr : found->second;
}

void Recorder::run(const oracle::OracleOptions& options) {
  const auto give_up = [this] {
    {
      const std::lock_guard lock(mutex_);
      usable_ = false;
    }
    changed_.notify_all();
  };
  auto oracle = oracle::Oracle::start(options);
  if (!oracle.ok()) return give_up();
  {
    const std::lock_guard lock(mutex_);
    process_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, oracle->pid(), 0)));
    if (ending_) return;
  }
  auto fault = oracle->load(definition_);
  if (!fault.ok() || *fault) return give_up();
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (ending_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::shared_ptr<Json> graph = record(*oracle, task);
    {
      const std::lock_guard lock(mutex_);
      graphs_[task.of] = std::move(graph);
      if (oracle->gone()) usable_ = false;
    }
    changed_.notify_all();
    if (oracle->gone()) return;
  }
}

std::shared_ptr<Json> Recorder::record(oracle::Oracle& oracle, const Task& task) const {
  auto fault = oracle.workload(definition_, task.workload, task.axes, task.inputs, task.outputs, task.blobs,
                               task.scalars.get());
  if (!fault.ok() || *fault) return nullptr;
  auto reply = oracle.record();
  if (!reply.ok() || reply->fault) return nullptr;
  return reply->graph;
}

}  // namespace solmark::judge
