#include "seal/replay.h"

#if SOLMARK_HAVE_CUDA

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/window.h"
#include "seal/test_driver.h"
#include "seal/test_seal.h"

namespace solmark::seal {
namespace {

using testing::HasSubstr;

// full_seal() on a fake GPU where its two images are known.
class ReplayTest : public testing::Test {
 protected:
  ReplayTest() : gpu_(reset_test_gpu()), driver_(test_driver()), seal_(full_seal()) {
    TestElf other;
    other.extra_symbol = "other";
    seal_.images[1].bytes = other.build();
    TestModule& first = gpu_.add_module(seal_.images[0].bytes);
    TestModule& second = gpu_.add_module(seal_.images[1].bytes);
    gpu_.add_global(first, "g_set", 0x7f0000000000, std::string(24, '-'));
    gpu_.add_global(second, "g_set", 0x7f0000100000, std::string(24, '-'));
    one_ = &gpu_.add_function(first, "kernel_one", {{0, 8}, {8, 8}});
    two_ = &gpu_.add_function(second, "kernel_two", {});
    mapped_ = {{gpu::kScratchBase, 8U << 20}};
  }
  std::string why() {
    const auto replay = Replay::build(driver_, 0, seal_, mapped_);
    return replay.ok() ? "" : replay.error().text();
  }

  TestGpu& gpu_;
  gpu::Driver driver_;
  Seal seal_;
  TestFunction* one_ = nullptr;
  TestFunction* two_ = nullptr;
  std::vector<MappedRange> mapped_;
};

TEST_F(ReplayTest, BuildsOneChainedGraph) {
  ASSERT_EQ(why(), "");
  const TestGraph& graph = gpu_.graphs.front();
  ASSERT_EQ(graph.nodes.size(), 6U);
  EXPECT_EQ(graph.nodes[2]->type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(graph.nodes[2]->fill.width, 100U);
  EXPECT_EQ(graph.nodes[3]->copy.srcDevice, gpu::kWindowBase);
  EXPECT_EQ(graph.nodes[3]->copy.dstPitch, 512U);
  const auto programmatic =
      std::count_if(graph.edges.begin(), graph.edges.end(), [](const TestGraph::Edge& edge) {
        return edge.data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && edge.data.from_port == 1;
      });
  EXPECT_EQ(programmatic, 1);
}

TEST_F(ReplayTest, SetsFunctionsUpAndWritesVariables) {
  ASSERT_EQ(why(), "");
  EXPECT_EQ(one_->attributes[8], 102400);
  EXPECT_EQ(gpu_.memory[0x7f0000000000], "--------state-----------");
}

TEST_F(ReplayTest, GivesParametersWithThisProcessesAddresses) {
  ASSERT_EQ(why(), "");
  const TestNode& kernel = *gpu_.graphs.front().nodes[0];
  EXPECT_EQ(kernel.parameters.substr(0, 8), "\1\2\3\4\5\6\7\10");
  const std::uint64_t address = 0x7f0000100000 + 16;
  EXPECT_EQ(std::memcmp(kernel.parameters.data() + 8, &address, 8), 0);
  EXPECT_EQ(kernel.attributes.at(4).clusterDim.x, 2U);
  EXPECT_EQ(gpu_.instantiate_flags, 0U);
}

TEST_F(ReplayTest, KeepsPriorities) {
  std::get<KernelNode>(seal_.calls[0].nodes[0]).attributes[1].value[0] = 0xfe;
  ASSERT_EQ(why(), "");
  EXPECT_EQ(gpu_.instantiate_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
}

TEST_F(ReplayTest, RefusesAnotherGpu) {
  gpu_.compute_capability = 100;
  EXPECT_THAT(why(), HasSubstr("compute capability 90, this GPU has 100"));
}

TEST_F(ReplayTest, RefusesMemoryThatIsNotThere) {
  mapped_ = {{gpu::kScratchBase, 2U << 20}};
  EXPECT_THAT(why(), HasSubstr("neither by descriptor nor with the seal"));
}

TEST_F(ReplayTest, RefusesBrokenOrUnknownImages) {
  gpu_.unloadable.insert(seal_.images[1].bytes);
  EXPECT_THAT(why(), HasSubstr("loading image 1"));
  EXPECT_EQ(gpu_.live_modules, 0);
  seal_.images[0].bytes.resize(100);
  EXPECT_THAT(why(), HasSubstr("image 0"));
}

TEST_F(ReplayTest, RefusesParametersThatAreTooShort) {
  one_->layout.emplace_back(16, 8);
  EXPECT_THAT(why(), HasSubstr("takes 24 bytes of parameters, the seal has 16"));
}

TEST_F(ReplayTest, RefusesStateBeyondAVariable) {
  seal_.state[0].offset = 21;
  EXPECT_THAT(why(), HasSubstr("has 24 bytes only"));
  seal_.state[0].symbol = "g_none";
  EXPECT_THAT(why(), HasSubstr("finding variable g_none"));
}

TEST_F(ReplayTest, ReleasesWhatItLoaded) {
  {
    const auto replay = Replay::build(driver_, 0, seal_, mapped_);
    ASSERT_TRUE(replay.ok());
    EXPECT_EQ(gpu_.live_modules, 3);  // two images and the empty kernel
  }
  EXPECT_EQ(gpu_.live_modules, 0);
}

}  // namespace
}  // namespace solmark::seal

#endif
