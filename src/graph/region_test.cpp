#include "graph/region.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/box.h"

namespace solmark::graph {
namespace {

Tensor tensor(std::vector<Dim> dims, std::int64_t offset = 0, Element element = Element::kUint8) {
  Tensor out;
  out.element = element;
  out.offset = offset;
  out.dims = std::move(dims);
  return out;
}

// Element by element.
void collect(const Tensor& t, std::set<std::int64_t>& bytes) {
  std::vector<std::int64_t> index(t.dims.size(), 0);
  for (const auto& dim : t.dims) {
    if (dim.size == 0) return;
  }
  for (;;) {
    std::int64_t at = t.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * t.dims[d].stride;
    for (std::int64_t b = 0; b < element_bytes(t.element); ++b)
      bytes.insert(at * element_bytes(t.element) + b);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == t.dims[d - 1].size) index[--d] = 0;
    if (d == 0) return;
  }
}

Tensor random_tensor(std::mt19937& random) {
  const auto draw = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<Dim> dims;
  for (int d = draw(0, 4); d > 0; --d) dims.push_back({draw(0, 9) == 0 ? 1 : draw(1, 6), draw(0, 30)});
  return tensor(std::move(dims), draw(0, 40), draw(0, 1) == 0 ? Element::kFloat16 : Element::kFloat32);
}

TEST(Region, CountsViewsAsAnInterpreterDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const Tensor t = random_tensor(random);
    std::set<std::int64_t> bytes;
    collect(t, bytes);
    const Count count = count_bytes(region_of(t));
    EXPECT_TRUE(count.exact);
    ASSERT_EQ(count.value, static_cast<std::int64_t>(bytes.size())) << i;
  }
}

TEST(Region, CountsUnionsAndSectorsAsAnInterpreterDoes) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::set<std::int64_t> bytes;
    std::vector<Region> regions;
    const int parts = std::uniform_int_distribution<int>(1, 4)(random);
    for (int p = 0; p < parts; ++p) {
      const Tensor t = random_tensor(random);
      collect(t, bytes);
      regions.push_back(region_of(t));
    }
    ASSERT_EQ(union_bytes(regions).value, static_cast<std::int64_t>(bytes.size())) << i;
    std::set<std::int64_t> sectors;
    for (const auto byte : bytes) sectors.insert(byte / 32);
    ASSERT_EQ(union_bytes(regions, 32).value, static_cast<std::int64_t>(sectors.size()) * 32) << i;
  }
}

TEST(Region, ContainmentAndDisjointnessAreNeverClaimedWrongly) {
  std::mt19937 random(3);
  int contained = 0;
  int apart = 0;
  for (int i = 0; i < 3000; ++i) {
    const Tensor a = random_tensor(random);
    const Tensor b = random_tensor(random);
    std::set<std::int64_t> in_a;
    std::set<std::int64_t> in_b;
    collect(a, in_a);
    collect(b, in_b);
    const bool really_in = std::includes(in_a.begin(), in_a.end(), in_b.begin(), in_b.end());
    const bool really_apart =
        std::none_of(in_b.begin(), in_b.end(), [&in_a](std::int64_t byte) { return in_a.contains(byte); });
    ASSERT_EQ(contains(region_of(a), region_of(b)), really_in) << i;
    ASSERT_EQ(disjoint(region_of(a), region_of(b)), really_apart) << i;
    contained += really_in ? 1 : 0;
    apart += really_apart ? 1 : 0;
  }
  EXPECT_GT(contained, 20);
  EXPECT_GT(apart, 20);
}

TEST(Region, KnowsUnfoldBroadcastAndTranspose) {
  EXPECT_EQ(count_bytes(region_of(tensor({{100, 1}, {9, 1}}))).value, 108);       // x.unfold(0, 9, 1)
  EXPECT_EQ(count_bytes(region_of(tensor({{4096, 0}, {1024, 1}}))).value, 1024);  // b.expand(4096, 1024)
  EXPECT_EQ(region_of(tensor({{8, 1}, {16, 8}})), region_of(tensor({{16, 8}, {8, 1}})));
}

TEST(Region, HalvesOfManyRowsAreCountedWithoutListingThem) {
  const std::int64_t rows = std::int64_t{1} << 30;
  const Region left = region_of(tensor({{rows, 128}, {64, 1}}));
  const Region right = region_of(tensor({{rows, 128}, {64, 1}}, 64));
  const Count both = union_bytes({left, right});
  EXPECT_TRUE(both.exact);
  EXPECT_EQ(both.value, rows * 128);
}

TEST(Region, BeyondTheLimitUnionsAreLowerBounds) {
  const std::int64_t rows = std::int64_t{1} << 24;
  const Region a = region_of(tensor({{rows, 128}, {64, 1}}));
  const Region b = region_of(tensor({{rows / 3, 384}, {64, 1}}, 32));
  const Count both = union_bytes({a, b});
  EXPECT_FALSE(both.exact);
  EXPECT_EQ(both.value, rows * 64);
}

TEST(Box, IsFoundExactlyWhenTheViewIsOne) {
  std::mt19937 random(4);
  const auto draw = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 3000; ++i) {
    Tensor whole = tensor({}, draw(0, 5), Element::kFloat32);
    std::int64_t stride = draw(1, 2);
    for (std::int64_t d = draw(1, 4); d > 0; --d) {
      const std::int64_t size = draw(1, 5);
      whole.dims.insert(whole.dims.begin(), {size, stride});
      stride *= size + draw(0, 1);
    }
    Box box;
    for (const auto& dim : whole.dims) {
      const std::int64_t step = draw(1, 2);
      const std::int64_t start = draw(0, dim.size - 1);
      const std::int64_t count = draw(1, (dim.size - 1 - start) / step + 1);
      box.push_back({start, count, count == 1 ? 1 : step});
    }
    const Tensor view = part(whole, box);
    const auto found = box_within(whole, view);
    ASSERT_TRUE(found.has_value()) << i;
    EXPECT_EQ(region_of(part(whole, *found)), region_of(view)) << i;
    EXPECT_EQ(box_count(*found), box_count(box));
  }
}

TEST(Box, FlattenedAndForeignViews) {
  const Tensor whole = tensor({{4, 24}, {6, 4}, {4, 1}});
  EXPECT_EQ(box_within(whole, tensor({{24, 4}, {4, 1}})), whole_box(whole));
  EXPECT_EQ(box_within(whole, tensor({{96, 1}})), whole_box(whole));
  EXPECT_EQ(box_within(whole, tensor({{2, 24}, {24, 1}}, 24)), (Box{{1, 2, 1}, {0, 6, 1}, {0, 4, 1}}));
  EXPECT_EQ(box_within(whole, tensor({{2, 48}, {2, 24}, {1, 4}, {3, 1}}, 8)),
            (Box{{0, 4, 1}, {2, 1, 1}, {0, 3, 1}}));
  EXPECT_FALSE(box_within(whole, tensor({{5, 5}})).has_value());   // a diagonal
  EXPECT_FALSE(box_within(whole, tensor({{30, 1}})).has_value());  // ends inside a row
}

}  // namespace
}  // namespace solmark::graph
