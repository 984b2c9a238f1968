#include "seal/check/mini_judge.h"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "gpu/window.h"

namespace solmark::seal::check {
namespace {

constexpr std::chrono::milliseconds kLimit = std::chrono::seconds(60);
constexpr std::size_t kSlotBytes = kElements * sizeof(float);
constexpr std::uint32_t kPoison = 0x7fc0beef;  // a NaN

Json window_json() { return Json{{"base", gpu::kWindowBase}, {"bytes", gpu::kWindowBytes}}; }

Json tensor_json(const char* name, std::size_t region) {
  return Json{{"name", name},     {"dtype", "float32"}, {"shape", {kElements}},
              {"region", region}, {"offset", 0},        {"slot_stride", kSlotBytes}};
}

Result<std::unique_ptr<protocol::Peer>> start_peer(const char* program) {
  SpawnSpec spec;
  spec.argv = {(program_folder() / program).string(), "--channel", "3"};
  spec.environment = current_environment();
  SOLMARK_TRY(protocol::Peer peer, protocol::Peer::start(std::move(spec), program));
  auto owned = std::make_unique<protocol::Peer>(std::move(peer));
  SOLMARK_TRY(const protocol::Message hello,
              owned->request(Json{{"type", "hello"}, {"version", protocol::kVersion}}, {}, kLimit));
  if (!hello.is_ok()) return machine_error(hello.text("message"));
  return owned;
}

std::vector<int> numbers(const std::vector<Fd>& fds) {
  std::vector<int> out;
  for (const Fd& fd : fds) out.push_back(fd.get());
  return out;
}

Error as_error(const protocol::Message& reply) {
  return machine_error(reply.text("kind") + ": " + reply.text("message"));
}

}  // namespace

float input_value(int set, std::size_t slot, std::size_t i) {
  // Small integers: sums and products of them are exact in any order.
  return static_cast<float>((i * 7 + slot * 31 + static_cast<std::size_t>(set) * 101) % 61) - 30.0F;
}

Result<Buffers> Buffers::make(const gpu::Context& context) {
  Buffers buffers(context);
  std::uint64_t address = gpu::kWindowBase;
  for (gpu::VmmAllocation* memory : {&buffers.x_, &buffers.y_}) {
    SOLMARK_TRY(*memory, gpu::VmmAllocation::create(context.driver(), context.index(), kSlotBytes * kSlots));
    SOLMARK_CHECK_OK(memory->map(address, gpu::MapAccess::kReadWrite));
    address += memory->bytes();
  }
  return buffers;
}

Status Buffers::fill(int set) {
  const gpu::Driver& driver = context_->driver();
  std::vector<float> x;
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    for (std::size_t i = 0; i < kElements; ++i) x.push_back(input_value(set, slot, i));
  SOLMARK_CHECK_OK(
      driver.check(driver.cuMemcpyHtoD(x_.address(), x.data(), x.size() * sizeof(float)), "writing inputs"));
  const std::vector<std::uint32_t> poison(kElements * kSlots, kPoison);
  SOLMARK_CHECK_OK(
      driver.check(driver.cuMemcpyHtoD(y_.address(), poison.data(), poison.size() * 4), "poisoning outputs"));
  return driver.check(driver.cuCtxSynchronize(), "writing inputs");
}

Result<std::vector<float>> Buffers::read(std::uint64_t address) const {
  std::vector<float> values(kElements);
  const gpu::Driver& driver = context_->driver();
  SOLMARK_CHECK_OK(
      driver.check(driver.cuMemcpyDtoH(values.data(), address, kSlotBytes), "reading an output"));
  return values;
}

Result<std::vector<float>> Buffers::output(std::size_t slot) const {
  return read(y_.address() + slot * kSlotBytes);
}

Json Buffers::regions_json() const {
  return Json::array({Json{{"fd", 0}, {"address", x_.address()}, {"bytes", x_.bytes()}, {"access", "r"}},
                      Json{{"fd", 1}, {"address", y_.address()}, {"bytes", y_.bytes()}, {"access", "rw"}}});
}

Result<std::vector<Fd>> Buffers::share() const {
  std::vector<Fd> fds;
  for (const gpu::VmmAllocation* memory : {&x_, &y_}) {
    SOLMARK_TRY(Fd fd, memory->export_fd());
    fds.push_back(std::move(fd));
  }
  return fds;
}

Result<Worker> Worker::start(const std::filesystem::path& candidate, const std::string& entry,
                             const Buffers& buffers) {
  Worker worker;
  SOLMARK_TRY(worker.peer_, start_peer("solmark-worker"));
  const Json load{{"type", "load"},
                  {"device", "cuda:0"},
                  {"artefact",
                   {{"kind", "shared_object"},
                    {"path", candidate.string()},
                    {"entry", entry},
                    {"destination_passing", true}}},
                  {"window", window_json()}};
  SOLMARK_TRY(const protocol::Message loaded, worker.peer_->request(load, {}, kLimit));
  if (!loaded.is_ok()) return as_error(loaded);
  SOLMARK_TRY(const std::vector<Fd> fds, buffers.share());
  const Json bind{{"type", "bind"},
                  {"axes", Json::object()},
                  {"regions", buffers.regions_json()},
                  {"inputs", Json::array({tensor_json("x", 0)})},
                  {"outputs", Json::array({tensor_json("y", 1)})},
                  {"slots", kSlots}};
  SOLMARK_TRY(const protocol::Message bound, worker.peer_->request(bind, numbers(fds), kLimit));
  if (!bound.is_ok()) return as_error(bound);
  return worker;
}

Result<protocol::Message> Worker::call(std::size_t slot) {
  return peer_->request(Json{{"type", "call"}, {"slot", slot}}, {}, kLimit);
}

Result<protocol::Message> Worker::seal() {
  return peer_->request(Json{{"type", "seal"}, {"slots", kSlots}}, {}, kLimit);
}

Result<Sealed> take_sealed(protocol::Message reply) {
  if (!reply.is_ok()) return as_error(reply);
  Sealed sealed;
  sealed.bytes = static_cast<std::size_t>(reply.integer("bytes"));
  for (const Json& region : reply.body.at("scratch")) {
    sealed.scratch.emplace_back(region.at("address").get<std::uint64_t>(),
                                region.at("bytes").get<std::uint64_t>());
    sealed.scratch_fds.push_back(std::move(reply.descriptors.at(region.at("fd").get<std::size_t>())));
  }
  sealed.seal = std::move(reply.descriptors.at(0));
  return sealed;
}

Result<Replayer> Replayer::start(const Sealed& sealed, const Buffers& buffers) {
  Replayer replayer;
  SOLMARK_TRY(replayer.peer_, start_peer("solmark-replayer"));
  SOLMARK_TRY(std::vector<Fd> fds, buffers.share());
  std::vector<int> descriptors = numbers(fds);
  Json regions = buffers.regions_json();
  for (std::size_t i = 0; i < sealed.scratch_fds.size(); ++i) {
    regions.push_back(Json{{"fd", descriptors.size()},
                           {"address", sealed.scratch[i].first},
                           {"bytes", sealed.scratch[i].second},
                           {"access", "rw"}});
    descriptors.push_back(sealed.scratch_fds[i].get());
  }
  descriptors.push_back(sealed.seal.get());
  const Json load{{"type", "load"},
                  {"device", "cuda:0"},
                  {"window", window_json()},
                  {"regions", regions},
                  {"bytes", sealed.bytes}};
  SOLMARK_TRY(const protocol::Message loaded, replayer.peer_->request(load, descriptors, kLimit));
  if (!loaded.is_ok()) return as_error(loaded);
  for (const Json& slot : loaded.body.at("outputs"))
    replayer.places_.emplace_back(slot.at(0).at("region").get<std::size_t>(),
                                  slot.at(0).at("offset").get<std::uint64_t>());

  SOLMARK_TRY(Fd page, make_memfd("doorbell", protocol::kDoorbellBytes));
  SOLMARK_TRY(replayer.page_, Mapping::map(page, protocol::kDoorbellBytes, Mapping::Access::kReadWrite));
  ::new (replayer.page_.data()) protocol::Doorbell{};
  SOLMARK_CHECK_OK(replayer.peer_->channel().send(
      Json{{"type", "serve"}, {"slots", kSlots}, {"id", 1U << 20}}, {page.get()}));
  return replayer;
}

Result<std::int64_t> Replayer::ring(protocol::Ring ring) {
  auto& bell = *reinterpret_cast<protocol::Doorbell*>(page_.data());
  bell.ring.store(static_cast<std::uint32_t>(ring), std::memory_order_relaxed);
  const auto start = std::chrono::steady_clock::now();
  bell.go.store(++rings_, std::memory_order_release);
  for (std::uint64_t looks = 0; bell.done.load(std::memory_order_acquire) != rings_; ++looks) {
    if (looks % 4096 != 0) continue;
    if (std::chrono::steady_clock::now() - start > kLimit)
      return timeout_error("the replayer does not answer");
    if (!peer_->running()) return peer_->explain(machine_error("the replayer is gone"));
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  if (bell.failed_slot.load() >= 0) return machine_error(std::string(bell.message));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

Status Replayer::stop_serving() {
  SOLMARK_CHECK_OK(ring(protocol::Ring::kQuit));
  SOLMARK_TRY(const protocol::Message reply, peer_->channel().receive(kLimit));
  return reply.is_ok() ? success() : Status(as_error(reply));
}

Result<protocol::Message> Replayer::profile() {
  return peer_->request(Json{{"type", "profile"}}, {}, kLimit);
}

std::optional<std::pair<std::size_t, std::uint64_t>> Replayer::output_place(std::size_t slot) const {
  if (slot >= places_.size()) return std::nullopt;
  return places_[slot];
}

}  // namespace solmark::seal::check
