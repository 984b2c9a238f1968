#include "seal/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/files.h"
#include "gpu/window.h"
#include "seal/test_seal.h"

namespace solmark::seal {
namespace {

using testing::HasSubstr;

void expect_same(const Seal& a, const Seal& b) {
  EXPECT_EQ(a.compute_capability, b.compute_capability);
  EXPECT_EQ(a.driver_version, b.driver_version);
  ASSERT_EQ(a.images.size(), b.images.size());
  for (std::size_t i = 0; i < a.images.size(); ++i) EXPECT_EQ(a.images[i].bytes, b.images[i].bytes);
  EXPECT_EQ(a.functions, b.functions);
  EXPECT_EQ(a.calls, b.calls);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.scratch, b.scratch);
  EXPECT_EQ(a.buffers, b.buffers);
  EXPECT_EQ(a.notes, b.notes);
}

TEST(SealFormat, KeepsEveryField) {
  const Seal seal = full_seal();
  const auto bytes = encode(seal);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  const auto back = decode(*bytes);
  ASSERT_TRUE(back.ok()) << back.error().text();
  expect_same(seal, *back);
  EXPECT_EQ(*encode(*back), *bytes);
}

TEST(SealFormat, GoesThroughAFileAndADescriptor) {
  const auto folder = TemporaryFolder::create("seal");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "a.seal";
  ASSERT_TRUE(save(full_seal(), file).ok());
  const auto loaded = load(file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  expect_same(full_seal(), *loaded);
  std::size_t bytes = 0;
  const auto fd = to_memfd(full_seal(), bytes);
  ASSERT_TRUE(fd.ok()) << fd.error().text();
  EXPECT_EQ(bytes, encode(full_seal())->size());
  const auto passed = from_memfd(*fd);
  ASSERT_TRUE(passed.ok()) << passed.error().text();
  expect_same(full_seal(), *passed);
}

TEST(SealFormat, NamesTheFileAndThePlaceOfDamage) {
  const auto folder = TemporaryFolder::create("seal");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "b.seal";
  ASSERT_TRUE(write_file(file, "SLMSEAL1 and then nothing").ok());
  const auto loaded = load(file);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().text(), HasSubstr("b.seal:offset 8"));
}

TEST(SealFormat, RefusesOtherFilesAndVersions) {
  EXPECT_THAT(decode("").error().text(), HasSubstr("no seal"));
  EXPECT_THAT(decode("an ELF file, perhaps").error().text(), HasSubstr("no seal"));
  EXPECT_THAT(decode("SLMSEAL2xxxxxxxxxxxxx").error().text(), HasSubstr("another version"));
  EXPECT_THAT(decode("SLMSEAL1abc").error().text(), HasSubstr("within its checksum"));
}

TEST(SealFormat, NoticesEveryChangedByte) {
  const std::string bytes = *encode(full_seal());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    EXPECT_FALSE(decode(damaged).ok()) << "byte " << i;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length)).ok()) << "length " << length;
  EXPECT_FALSE(decode(bytes + "x").ok());
}

// Without the checksum in the way, as a hostile worker would write it.
TEST(SealFormat, BodySurvivesTruncationAndDamage) {
  const std::string body = encode_body(full_seal());
  ASSERT_TRUE(decode_body(body).ok());
  for (std::size_t length = 0; length < body.size(); ++length) {
    const auto result = decode_body(std::string_view(body).substr(0, length));
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_THAT(result.error().text(), HasSubstr("offset")) << length;
  }
  EXPECT_THAT(decode_body(body + "x").error().text(), HasSubstr("something follows its end"));
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = body;
    for (int i = 0; i < 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto result = decode_body(damaged);
    if (result.ok()) {
      EXPECT_TRUE(validate(*result).ok());
    }
  }
}

TEST(SealFormat, ALengthThatLiesCostsNothing) {
  std::string body(8, '\0');       // capability and driver
  body += std::string(8, '\xff');  // 2^64 - 1 images
  EXPECT_THAT(decode_body(body).error().text(), HasSubstr("a length is larger"));
  body = std::string(8, '\0') + std::string("\1\0\0\0\0\0\0\0", 8) + std::string("\0\0\0\0\0\0\0\1", 8);
  EXPECT_THAT(decode_body(body).error().text(), HasSubstr("a length is larger"));
}

std::string why(void (*change)(Seal&)) {
  Seal seal = full_seal();
  change(seal);
  const Status status = validate(seal);
  if (!status.ok()) {
    EXPECT_FALSE(encode(seal).ok());
  }
  return status.ok() ? "" : status.error().text();
}
KernelNode& first_kernel(Seal& seal) { return std::get<KernelNode>(seal.calls[0].nodes[0]); }
MemsetNode& first_fill(Seal& seal) { return std::get<MemsetNode>(seal.calls[0].nodes[2]); }
MemcpyNode& first_copy(Seal& seal) { return std::get<MemcpyNode>(seal.calls[0].nodes[3]); }

TEST(SealValidate, AcceptsAWholeSeal) {
  EXPECT_EQ(why([](Seal&) {}), "");
}

TEST(SealValidate, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(why([](Seal& s) { s.calls.clear(); }), HasSubstr("there is no call"));
  EXPECT_THAT(why([](Seal& s) {
                s.calls[1].nodes.clear();
                s.calls[1].edges.clear();
              }),
              HasSubstr("calls[1]"));
  EXPECT_THAT(why([](Seal& s) { s.images[0].bytes = "x"; }), HasSubstr("images[0]"));
  EXPECT_THAT(why([](Seal& s) { s.functions[0].image = 9; }), HasSubstr("functions[0]"));
  EXPECT_THAT(why([](Seal& s) { s.functions[0].name = ""; }), HasSubstr("functions[0]"));
  EXPECT_THAT(why([](Seal& s) { s.functions[0].name = std::string("a\0b", 3); }), HasSubstr("zero byte"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).function = 9; }), HasSubstr("calls[0].nodes[0]"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).grid[1] = 0; }), HasSubstr("grid is empty"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).block[0] = 0; }), HasSubstr("block"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).block = {64, 64, 1}; }), HasSubstr("1024 threads"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).parameters.assign(40000, 'x'); }),
              HasSubstr("parameter bytes"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).attributes[0].id = 7; }), HasSubstr("launch attribute 7"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).relocations[0].offset = 9; }),
              HasSubstr("outside the parameters"));
  EXPECT_THAT(why([](Seal& s) { first_kernel(s).relocations[0].image = 9; }),
              HasSubstr("image is not there"));
  EXPECT_THAT(why([](Seal& s) { first_fill(s).element_bytes = 3; }), HasSubstr("1, 2 or 4"));
  EXPECT_THAT(why([](Seal& s) { first_fill(s).width = 0; }), HasSubstr("empty"));
  EXPECT_THAT(why([](Seal& s) { first_fill(s).address = 0x1000; }), HasSubstr("outside the address window"));
  EXPECT_THAT(why([](Seal& s) { first_fill(s).width = gpu::kWindowBytes; }),
              HasSubstr("outside the address window"));
  EXPECT_THAT(why([](Seal& s) { first_fill(s).height = UINT64_MAX; }),
              HasSubstr("outside the address window"));
  EXPECT_THAT(why([](Seal& s) { first_copy(s).from.address = 0; }), HasSubstr("a copy goes outside"));
  EXPECT_THAT(why([](Seal& s) { first_copy(s).to.pitch = UINT64_MAX; }), HasSubstr("a copy goes outside"));
  EXPECT_THAT(why([](Seal& s) { first_copy(s).depth = gpu::kWindowBytes; }),
              HasSubstr("a copy goes outside"));
  EXPECT_THAT(why([](Seal& s) { s.calls[0].edges[0] = {1, 0, 0, 0, 0}; }),
              HasSubstr("earlier node to a later"));
  EXPECT_THAT(why([](Seal& s) { s.calls[0].edges[0] = {0, 99, 0, 0, 0}; }),
              HasSubstr("earlier node to a later"));
  EXPECT_THAT(why([](Seal& s) { s.calls[0].edges[0] = {0, 2, 1, 0, 1}; }), HasSubstr("ports"));
  EXPECT_THAT(why([](Seal& s) { s.calls[0].outputs[0] = 5; }), HasSubstr("an output lies outside"));
  EXPECT_THAT(why([](Seal& s) { s.state[0].image = 9; }), HasSubstr("state[0]"));
  EXPECT_THAT(why([](Seal& s) { s.scratch[0].address = 4096; }), HasSubstr("scratch[0]"));
  EXPECT_THAT(why([](Seal& s) { s.scratch[0].bytes = UINT64_MAX; }), HasSubstr("scratch[0]"));
  EXPECT_THAT(why([](Seal& s) { s.scratch[0].extents[0].offset = UINT64_MAX; }),
              HasSubstr("contents lie outside"));
  EXPECT_THAT(why([](Seal& s) { s.scratch[0].extents[1].offset = 0; }), HasSubstr("overlap"));
  EXPECT_THAT(why([](Seal& s) { s.scratch[0].has_contents = false; }), HasSubstr("not declared"));
  EXPECT_THAT(why([](Seal& s) { s.buffers[0].address = 0; }), HasSubstr("buffers[0]"));
  EXPECT_THAT(why([](Seal& s) { s.buffers[0].slot_stride = UINT64_MAX; }),
              HasSubstr("outside the address window"));
  EXPECT_THAT(why([](Seal& s) { s.buffers[0].slot_stride = gpu::kWindowBytes; }), HasSubstr("last slot"));
}

TEST(SealContents, LeavesOutZeros) {
  Scratch scratch;
  scratch.address = gpu::kScratchBase;
  std::string contents(40000, '\0');
  contents[0] = 'a';
  contents[20000] = 'b';
  contents[39999] = 'c';
  scratch.bytes = contents.size();
  set_contents(scratch, contents);
  ASSERT_EQ(scratch.extents.size(), 3U);
  std::string back(contents.size(), '\0');
  std::size_t stored = 0;
  for (const auto& extent : scratch.extents) {
    back.replace(extent.offset, extent.bytes.size(), extent.bytes);
    stored += extent.bytes.size();
  }
  EXPECT_EQ(back, contents);
  EXPECT_LT(stored, contents.size() / 2);
}

TEST(SealSummary, CountsWhatACallDoes) {
  const std::string summary = summary_json(full_seal());
  EXPECT_THAT(summary, HasSubstr("\"kernels_per_call\":2"));
  EXPECT_THAT(summary, HasSubstr("\"memsets_per_call\":1"));
  EXPECT_THAT(summary, HasSubstr("\"name\":\"kernel_one\""));
  EXPECT_THAT(summary, HasSubstr("\"uniform\":false"));
}

}  // namespace
}  // namespace solmark::seal
