// Records references beside the evaluation: a second oracle process, which sees no GPU, follows the same
// workloads on fake tensors while the first one makes inputs. What it cannot record, the first one records.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/fd.h"
#include "base/json.h"
#include "judge/case.h"
#include "oracle/oracle.h"
#include "problem/definition.h"

namespace solmark::judge {

class Recorder {
 public:
  // `definition` must outlive the object. The process starts at once.
  Recorder(oracle::OracleOptions options, const problem::Definition& definition);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // Asks for a case's graph. The case's scalars must be known.
  void ask(const Case& c);
  // Waits for it. Null when it was not asked for or could not be recorded here.
  std::shared_ptr<Json> take(const Case& c);

 private:
  // What recording needs of a case, apart from the case, which the judge goes on changing.
  struct Task {
    const Case* of = nullptr;
    problem::Workload workload;
    problem::AxisValues axes;
    device::Layout inputs, outputs;
    std::map<std::string, std::filesystem::path> blobs;
    std::shared_ptr<Json> scalars;
  };
  void run(const oracle::OracleOptions& options);
  std::shared_ptr<Json> record(oracle::Oracle& oracle, const Task& task) const;

  const problem::Definition& definition_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::set<const Case*> asked_;
  std::map<const Case*, std::shared_ptr<Json>> graphs_;  // null: not to be had here
  bool ending_ = false;
  bool usable_ = true;  // the process answers
  Fd process_;          // a pidfd: ends a recording that nobody waits for any more
  std::thread thread_;
};

}  // namespace solmark::judge
