#include "worker/cuda_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace solmark::worker {
namespace {

constexpr std::uint64_t kBase = 0x700000000000;

struct Source {
  std::uint64_t next = kBase;
  std::uint64_t chunk = 1 << 20;
  std::uint64_t left = UINT64_MAX;
  int chunks = 0;
  BlockAllocator::Grow grow() {
    return [this](std::uint64_t bytes) -> std::optional<BlockAllocator::Chunk> {
      const std::uint64_t size = std::max(bytes, chunk);
      if (size > left) return std::nullopt;
      left -= size;
      ++chunks;
      const std::uint64_t address = next;
      next += size;
      return BlockAllocator::Chunk{address, size};
    };
  }
};

TEST(BlockAllocator, AlignsAndDoesNotOverlap) {
  Source source;
  BlockAllocator blocks(source.grow());
  std::map<std::uint64_t, std::uint64_t> live;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    if (live.size() > 200 || (!live.empty() && random() % 3 == 0)) {
      auto victim = live.begin();
      std::advance(victim, static_cast<long>(random() % live.size()));
      switch (random() % 3) {
        case 0:
          ASSERT_TRUE(blocks.release(victim->first, random() % 4));
          break;
        case 1:
          ASSERT_TRUE(blocks.release_unordered(victim->first));
          break;
        default:
          ASSERT_TRUE(blocks.release(victim->first, 0));
          blocks.idle();
      }
      live.erase(victim);
      continue;
    }
    const std::uint64_t bytes = 1 + random() % 100000;
    const std::uint64_t address =
        random() % 4 == 0 ? blocks.allocate(bytes, std::nullopt) : blocks.allocate(bytes, random() % 4);
    ASSERT_NE(address, 0U);
    ASSERT_EQ(address % 512, 0U);
    const auto after = live.lower_bound(address);
    if (after != live.end()) {
      ASSERT_LE(address + bytes, after->first);
    }
    if (after != live.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second, address);
    }
    live[address] = bytes;
  }
}

TEST(BlockAllocator, GivesAStreamItsOwnMemoryBackAtOnce) {
  Source source;
  BlockAllocator blocks(source.grow());
  const std::uint64_t first = blocks.allocate(4096, 7);
  ASSERT_TRUE(blocks.release(first, 7));
  EXPECT_EQ(blocks.allocate(4096, 7), first);
}

TEST(BlockAllocator, GivesMemoryOfOneStreamToNoOtherBeforeIdle) {
  Source source;
  source.chunk = 4096;
  BlockAllocator blocks(source.grow());
  const std::uint64_t first = blocks.allocate(4096, 7);
  ASSERT_TRUE(blocks.release(first, 7));
  EXPECT_NE(blocks.allocate(4096, 8), first);
  EXPECT_NE(blocks.allocate(4096, std::nullopt), first);
  blocks.idle();
  EXPECT_EQ(blocks.allocate(4096, 8), first);
}

TEST(BlockAllocator, KeepsUnorderedMemoryFromEveryoneBeforeIdle) {
  Source source;
  source.chunk = 4096;
  BlockAllocator blocks(source.grow());
  const std::uint64_t first = blocks.allocate(4096, 7);
  ASSERT_TRUE(blocks.release_unordered(first));
  EXPECT_NE(blocks.allocate(4096, 7), first);
  blocks.idle();
  EXPECT_EQ(blocks.allocate(4096, 7), first);
}

TEST(BlockAllocator, JoinsFreeNeighboursAfterIdleButNotAcrossChunks) {
  Source source;
  source.chunk = 8192;
  BlockAllocator blocks(source.grow());
  std::vector<std::uint64_t> parts;
  for (std::uint64_t stream = 0; stream < 4; ++stream) parts.push_back(blocks.allocate(4096, stream));
  ASSERT_EQ(source.chunks, 2);
  for (std::uint64_t stream = 0; stream < 4; ++stream) ASSERT_TRUE(blocks.release(parts[stream], stream));
  blocks.idle();
  EXPECT_EQ(blocks.allocate(8192, 1), kBase);
  EXPECT_EQ(blocks.allocate(8192, 1), kBase + 8192);
  EXPECT_EQ(source.chunks, 2);
  blocks.idle();
  ASSERT_TRUE(blocks.release(kBase, 1));
  ASSERT_TRUE(blocks.release(kBase + 8192, 1));
  blocks.idle();
  // The chunks touch, but are two pieces of memory.
  EXPECT_EQ(blocks.allocate(16384, 1), kBase + 16384);
}

TEST(BlockAllocator, SaysWhenThereIsNoMemory) {
  Source source;
  source.left = 1 << 20;
  BlockAllocator blocks(source.grow());
  EXPECT_NE(blocks.allocate(1 << 20, 0), 0U);
  EXPECT_EQ(blocks.allocate(1, 0), 0U);
  EXPECT_EQ(blocks.allocate(UINT64_MAX, 0), 0U);
}

TEST(BlockAllocator, KnowsItsOwn) {
  Source source;
  BlockAllocator blocks(source.grow());
  const std::uint64_t address = blocks.allocate(0, 0);
  EXPECT_NE(address, 0U);
  EXPECT_TRUE(blocks.owns(address));
  EXPECT_FALSE(blocks.owns(address + 512));
  EXPECT_FALSE(blocks.release(address + 512, 0));
  EXPECT_EQ(blocks.live_bytes(), 512U);
  EXPECT_TRUE(blocks.release(address, 0));
  EXPECT_FALSE(blocks.release(address, 0));
  EXPECT_EQ(blocks.live_bytes(), 0U);
}

}  // namespace
}  // namespace solmark::worker
