// solmark-seal-check: seals calls in a worker, kills it, and replays them in a clean process on inputs the
// worker never saw; needs a GPU. Prints a line for each check and exits with 0 when none failed, 1 when one
// did, 4 without a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "base/files.h"
#include "gpu/context.h"
#include "gpu/vmm.h"
#include "seal/check/cases.h"
#include "seal/check/mini_judge.h"
#include "seal/format.h"

namespace solmark::seal::check {
namespace {

using Outcome = Result<std::string>;  // a detail to print

Status compare(const SealedCase& of, int set, std::size_t slot, const std::vector<float>& got) {
  std::vector<float> x(kElements);
  for (std::size_t i = 0; i < kElements; ++i) x[i] = input_value(set, slot, i);
  for (std::size_t i = 0; i < kElements; ++i) {
    const float want = of.expected(x, i);
    if (got[i] != want)
      return machine_error(
          fmt::format("inputs {} slot {} element {}: {} instead of {}", set, slot, i, got[i], want));
  }
  return success();
}

// A Seal that carries its memory's contents, and no descriptors beside it.
Result<Sealed> through_a_file(const gpu::Context& context, const Sealed& sealed) {
  SOLMARK_TRY(Seal seal, from_memfd(sealed.seal));
  for (std::size_t i = 0; i < seal.scratch.size(); ++i) {
    SOLMARK_TRY(gpu::VmmAllocation memory,
                gpu::VmmAllocation::import(context.driver(), context.index(), sealed.scratch_fds.at(i),
                                           seal.scratch[i].bytes));
    SOLMARK_CHECK_OK(memory.map(seal.scratch[i].address, gpu::MapAccess::kReadWrite));
    std::string contents(seal.scratch[i].bytes, '\0');
    SOLMARK_CHECK_OK(context.driver().check(
        context.driver().cuMemcpyDtoH(contents.data(), seal.scratch[i].address, contents.size()),
        "reading scratch"));
    set_contents(seal.scratch[i], contents);
  }
  SOLMARK_TRY(const TemporaryFolder folder, TemporaryFolder::create("seal-check"));
  SOLMARK_CHECK_OK(save(seal, folder.path() / "call.seal"));
  SOLMARK_TRY(const Seal loaded, load(folder.path() / "call.seal"));
  Sealed out;
  SOLMARK_TRY(out.seal, to_memfd(loaded, out.bytes));
  return out;
}

class Checks {
 public:
  Checks(const gpu::Context& context, Buffers& buffers)
      : context_(context),
        buffers_(buffers),
        candidate_(program_folder() / "libsolmark_seal_check_candidate.so") {}

  Outcome sealed(const SealedCase& of) {
    SOLMARK_CHECK_OK(buffers_.fill(1));
    SOLMARK_TRY(Worker worker, Worker::start(candidate_, of.entry, buffers_));
    SOLMARK_TRY(const protocol::Message called, worker.call(1));
    if (!called.is_ok()) return machine_error("call: " + called.text("message"));
    SOLMARK_TRY(const std::vector<float> live, buffers_.output(1));
    SOLMARK_CHECK_OK(compare(of, 1, 1, live));
    SOLMARK_TRY(protocol::Message reply, worker.seal());
    const std::string summary = reply.is_ok() ? to_json_line(reply.body["summary"]) : "";
    SOLMARK_TRY(const Sealed sealed, take_sealed(std::move(reply)));
    worker.kill();
    SOLMARK_TRY(std::string detail, replay(of, sealed));
    if (of.saved) {
      SOLMARK_TRY(const Sealed saved, through_a_file(context_, sealed));
      auto again = replay(of, saved);
      if (!again.ok()) return again.error().in("from a file");
      detail += ", from a file too";
    }
    return detail + " " + summary;
  }

  Outcome refused(const RefusedCase& of) {
    SOLMARK_CHECK_OK(buffers_.fill(1));
    SOLMARK_TRY(Worker worker, Worker::start(candidate_, of.entry, buffers_));
    auto reply = of.request == "seal" ? worker.seal() : worker.call(0);
    if (!reply.ok()) return reply.error();
    if (reply->is_ok()) return machine_error("it was not refused");
    const std::string kind = reply->text("kind");
    const std::string message = reply->text("message");
    if (kind != of.kind || message.find(of.words) == std::string::npos)
      return machine_error(fmt::format("kind {}, message \"{}\"", kind, message));
    return kind + ": " + message;
  }

 private:
  Outcome replay(const SealedCase& of, const Sealed& sealed) {
    SOLMARK_TRY(Replayer replayer, Replayer::start(sealed, buffers_));
    for (const int set : {2, 3}) {
      SOLMARK_CHECK_OK(buffers_.fill(set));
      SOLMARK_CHECK_OK(replayer.ring(protocol::Ring::kBatch));
      for (std::size_t slot = 0; slot < kSlots; ++slot) {
        const auto place = replayer.output_place(slot);
        if (!place) return machine_error("the replayer names no output");
        if (place->first > 1) return machine_error("the output is not in the bound buffer");
        SOLMARK_TRY(const std::vector<float> got,
                    buffers_.read(buffers_.address(place->first) + place->second));
        SOLMARK_CHECK_OK(compare(of, set, slot, got));
      }
    }
    std::vector<std::int64_t> batches;
    std::vector<std::int64_t> empties;
    for (int i = 0; i < 31; ++i) {
      SOLMARK_TRY(const std::int64_t batch, replayer.ring(protocol::Ring::kBatch));
      SOLMARK_TRY(const std::int64_t empty, replayer.ring(protocol::Ring::kEmpty));
      batches.push_back(batch);
      empties.push_back(empty);
    }
    std::sort(batches.begin(), batches.end());
    std::sort(empties.begin(), empties.end());
    SOLMARK_CHECK_OK(replayer.stop_serving());
    auto profile = replayer.profile();
    const bool profiled = profile.ok() && profile->is_ok();
    const double call_us =
        static_cast<double>(batches[15] - empties[15]) / 1000.0 / static_cast<double>(kSlots);
    return fmt::format("{:.2f} us a call, empty batch {:.1f} us, profile {}", call_us,
                       static_cast<double>(empties[15]) / 1000.0,
                       profiled
                           ? fmt::format("{} activities in {:.1f} us", profile->integer("activities"),
                                         static_cast<double>(profile->integer("span_ns")) / 1000.0)
                           : "failed: " + (profile.ok() ? profile->text("message") : profile.error().text()));
  }

  const gpu::Context& context_;
  Buffers& buffers_;
  std::filesystem::path candidate_;
};

int run(const std::string& only) {
  const auto driver = gpu::driver();
  if (!driver.ok()) {
    std::printf("skip seal-check: %s\n", driver.error().text().c_str());
    return 4;
  }
  if (const Status window = gpu::reserve_window(**driver); !window.ok()) {
    std::printf("FAIL window %s\n", window.error().text().c_str());
    return 1;
  }
  const auto context = gpu::Context::open(**driver, 0);
  if (!context.ok()) {
    std::printf("skip seal-check: %s\n", context.error().text().c_str());
    return 4;
  }
  auto buffers = Buffers::make(*context);
  if (!buffers.ok()) {
    std::printf("FAIL buffers %s\n", buffers.error().text().c_str());
    return 1;
  }
  Checks checks(*context, *buffers);
  int passed = 0;
  int failed = 0;
  const auto report = [&](const std::string& name, const std::function<Outcome()>& check) {
    if (!only.empty() && name.find(only) == std::string::npos) return;
    const Outcome outcome = check();
    std::printf("%s %s %s\n", outcome.ok() ? "ok" : "FAIL", name.c_str(),
                outcome.ok() ? outcome->c_str() : outcome.error().text().c_str());
    std::fflush(stdout);
    ++(outcome.ok() ? passed : failed);
  };
  for (const SealedCase& of : sealed_cases()) report(of.entry, [&] { return checks.sealed(of); });
  for (const RefusedCase& of : refused_cases()) report(of.entry, [&] { return checks.refused(of); });
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace solmark::seal::check

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: solmark-seal-check [PART-OF-A-NAME]\n");
    return 2;
  }
  return solmark::seal::check::run(argc == 2 ? argv[1] : "");
}
