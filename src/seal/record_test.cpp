#include "seal/record.h"

#if SOLMARK_HAVE_CUDA

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/window.h"
#include "seal/cubin.h"
#include "seal/test_driver.h"
#include "seal/test_elf.h"

namespace solmark::seal {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGlobalAddress = 0x7f1200000000;
constexpr std::uint64_t kX = gpu::kWindowBase + 4096;

// One module with one kernel that takes a pointer and an int, and one graph.
class Record : public testing::Test {
 protected:
  Record() : gpu_(reset_test_gpu()), driver_(test_driver()) {
    image_ = elf_.build();
    module_ = &gpu_.add_module(image_);
    gpu_.add_global(*module_, "g_set", kGlobalAddress, elf_.global_content);
    gpu_.add_global(*module_, "g_zero", kGlobalAddress + 4096, std::string(64, '\0'));
    gpu_.add_global(*module_, "c_set", kGlobalAddress + 8192, "tant-ban");
    function_ = &gpu_.add_function(*module_, "kernel", {{0, 8}, {8, 4}});
    graph_ = &gpu_.add_graph();
    images_ = {{std::make_shared<const std::string>(image_), 1, {}}};
  }

  TestNode& add_kernel(TestGraph& graph, TestFunction& function) {
    TestNode& node = gpu_.add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL);
    node.kernel.func = handle<CUfunction>(function);
    node.kernel.gridDimX = 3;
    node.kernel.gridDimY = node.kernel.gridDimZ = 1;
    node.kernel.blockDimX = 64;
    node.kernel.blockDimY = node.kernel.blockDimZ = 1;
    node.kernel.kernelParams = parameters_;
    return node;
  }
  TestNode& add_kernel() { return add_kernel(*graph_, *function_); }
  static void connect(TestGraph& graph, TestNode& from, TestNode& to, CUgraphEdgeData data = {}) {
    graph.edges.push_back({&from, &to, data});
  }
  Result<Seal> run() {
    RecordRequest request;
    request.graphs = {handle<CUgraph>(*graph_)};
    request.outputs = {{gpu::kWindowBase + 65536}};
    request.images = images_;
    request.compute_capability = 90;
    return record(driver_, request);
  }
  std::string why() {
    const auto seal = run();
    return seal.ok() ? "" : seal.error().text();
  }

  TestGpu& gpu_;
  gpu::Driver driver_;
  TestElf elf_;
  std::string image_;
  TestModule* module_ = nullptr;
  TestFunction* function_ = nullptr;
  TestGraph* graph_ = nullptr;
  std::vector<CollectedImage> images_;
  std::uint64_t pointer_ = kX;
  int number_ = 77;
  void* parameters_[2] = {&pointer_, &number_};
};

TEST_F(Record, KeepsAKernelWhole) {
  function_->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 100;
  TestNode& node = add_kernel();
  node.kernel.sharedMemBytes = 70000;
  node.attributes[CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION].clusterDim.x = 2;
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  ASSERT_EQ(seal->images.size(), 1U);
  EXPECT_EQ(seal->images[0].bytes, image_);
  ASSERT_EQ(seal->functions.size(), 1U);
  EXPECT_EQ(seal->functions[0].name, "kernel");
  // As much as the launch used, whatever the function says now.
  EXPECT_THAT(seal->functions[0].attributes, testing::Contains(Function::Attribute{8, 70000}));
  EXPECT_THAT(seal->functions[0].attributes, testing::Contains(Function::Attribute{9, -1}));
  const auto& kernel = std::get<KernelNode>(seal->calls[0].nodes[0]);
  EXPECT_EQ(kernel.grid[0], 3U);
  EXPECT_EQ(kernel.block[0], 64U);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 70000U);
  ASSERT_EQ(kernel.parameters.size(), 12U);
  EXPECT_EQ(std::memcmp(kernel.parameters.data(), &pointer_, 8), 0);
  EXPECT_EQ(std::memcmp(kernel.parameters.data() + 8, &number_, 4), 0);
  const auto cluster = std::find_if(kernel.attributes.begin(), kernel.attributes.end(),
                                    [](const LaunchAttribute& a) { return a.id == 4; });
  ASSERT_NE(cluster, kernel.attributes.end());
  EXPECT_EQ(cluster->value[0], 2);
  EXPECT_EQ(seal->calls[0].outputs, std::vector<std::uint64_t>{gpu::kWindowBase + 65536});
  EXPECT_TRUE(seal->state.empty());  // nothing differs from a fresh load
}

TEST_F(Record, ReadsParametersFromABuffer) {
  std::uint64_t buffer[2] = {kX, 5};
  std::size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  TestNode& node = add_kernel();
  node.kernel.kernelParams = nullptr;
  node.kernel.extra = extra;
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  const auto& kernel = std::get<KernelNode>(seal->calls[0].nodes[0]);
  EXPECT_EQ(kernel.parameters, std::string(reinterpret_cast<const char*>(buffer), size));
}

TEST_F(Record, KeepsVariablesThatDifferFromAFreshLoad) {
  add_kernel();
  // Bytes 0 to 8 are the loader's; the program changed bytes 20 to 22 and a variable that starts as zeros.
  gpu_.memory[kGlobalAddress].replace(0, 8, "loader's");
  gpu_.memory[kGlobalAddress].replace(20, 2, "!!");
  gpu_.memory[kGlobalAddress + 4096][5] = 'z';
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  ASSERT_EQ(seal->state.size(), 2U);
  EXPECT_EQ(seal->state[0].symbol, "g_set");
  EXPECT_EQ(seal->state[0].offset, 8U);
  EXPECT_EQ(seal->state[0].bytes, "IJKLMNOPQRST!!WX");
  EXPECT_EQ(seal->state[1].symbol, "g_zero");
  EXPECT_EQ(seal->state[1].bytes[5], 'z');
}

TEST_F(Record, KeepsAWindowAddressThatReplacedTheLoaders) {
  add_kernel();
  gpu_.memory[kGlobalAddress].replace(0, 8, reinterpret_cast<const char*>(&kX), 8);
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  ASSERT_EQ(seal->state.size(), 1U);
  EXPECT_EQ(seal->state[0].offset, 0U);
  EXPECT_EQ(std::memcmp(seal->state[0].bytes.data(), &kX, 8), 0);
}

TEST_F(Record, RefusesAVariableThatHoldsAForeignAddress) {
  add_kernel();
  const std::uint64_t foreign = 0x7f9900000000;
  gpu_.foreign[foreign] = CU_MEMORYTYPE_DEVICE;
  gpu_.memory[kGlobalAddress].replace(8, 8, reinterpret_cast<const char*>(&foreign), 8);
  EXPECT_THAT(why(), HasSubstr("variable g_set holds the address 0x7f9900000000 of device memory"));
}

TEST_F(Record, NotesAVariableThatCannotBeRead) {
  add_kernel();
  module_->globals.erase("g_zero");
  const auto seal = run();
  ASSERT_TRUE(seal.ok());
  ASSERT_EQ(seal->notes.size(), 1U);
  EXPECT_THAT(seal->notes[0], HasSubstr("g_zero"));
}

TEST_F(Record, RewritesTheAddressOfAVariable) {
  add_kernel();
  pointer_ = kGlobalAddress + 16;
  gpu_.foreign[pointer_] = CU_MEMORYTYPE_DEVICE;
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  const auto& kernel = std::get<KernelNode>(seal->calls[0].nodes[0]);
  ASSERT_EQ(kernel.relocations.size(), 1U);
  EXPECT_EQ(kernel.relocations[0], (Relocation{0, 0, "g_set", 16}));
}

TEST_F(Record, RefusesParametersOutsideTheWindow) {
  add_kernel();
  pointer_ = 0x7f5500000000;
  EXPECT_EQ(why(), "");  // a number that is no address
  gpu_.foreign[pointer_] = CU_MEMORYTYPE_DEVICE;
  EXPECT_THAT(why(), HasSubstr("kernel kernel is given the address 0x7f5500000000 of device memory"));
  gpu_.foreign[pointer_] = CU_MEMORYTYPE_HOST;
  EXPECT_THAT(why(), HasSubstr("of host memory outside the address window"));
}

TEST_F(Record, RefusesNodesOfOneProcessOnly) {
  add_kernel();
  const std::map<CUgraphNodeType, std::string> words{{CU_GRAPH_NODE_TYPE_HOST, "host function"},
                                                     {CU_GRAPH_NODE_TYPE_WAIT_EVENT, "waits for an event"},
                                                     {CU_GRAPH_NODE_TYPE_EVENT_RECORD, "records an event"},
                                                     {CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, "semaphore"},
                                                     {CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, "semaphore"},
                                                     {CU_GRAPH_NODE_TYPE_MEM_ALLOC, "allocates memory"},
                                                     {CU_GRAPH_NODE_TYPE_MEM_FREE, "allocates memory"},
                                                     {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "stream operations"},
                                                     {CU_GRAPH_NODE_TYPE_CONDITIONAL, "conditional"}};

  for (const auto& [type, text] : words) {
    TestNode& node = gpu_.add_node(*graph_, type);
    EXPECT_THAT(why(), HasSubstr(text));
    node.type = CU_GRAPH_NODE_TYPE_EMPTY;
  }
  EXPECT_EQ(why(), "");
}

TEST_F(Record, RefusesACallThatDoesNothing) {
  EXPECT_THAT(why(), HasSubstr("no work"));
  gpu_.add_node(*graph_, CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_THAT(why(), HasSubstr("no work"));
}

TEST_F(Record, RefusesDeviceUpdatableKernels) {
  TestNode& node = add_kernel();
  node.attributes[CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE]
      .deviceUpdatableKernelNode.deviceUpdatable = 1;
  EXPECT_THAT(why(), HasSubstr("other kernels may change"));
}

TEST_F(Record, RefusesImagesThatLaunchFromTheDevice) {
  elf_.extra_symbol = "__cudaCDP2LaunchDeviceV2";
  const std::string image = elf_.build();
  images_ = {{std::make_shared<const std::string>(image), 1, {}}};
  add_kernel();
  EXPECT_THAT(why(), HasSubstr("start kernels from the device"));
}

TEST_F(Record, KeepsFillsAndCopies) {
  TestNode& fill = gpu_.add_node(*graph_, CU_GRAPH_NODE_TYPE_MEMSET);
  fill.fill = {
      kX, 512, 7, 4, 100, 3,
  };
  TestNode& copy = gpu_.add_node(*graph_, CU_GRAPH_NODE_TYPE_MEMCPY);
  copy.copy.srcMemoryType = copy.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.copy.srcDevice = kX;
  copy.copy.srcXInBytes = 3;
  copy.copy.srcY = 2;
  copy.copy.srcZ = 1;
  copy.copy.srcPitch = 100;
  copy.copy.srcHeight = 10;
  copy.copy.dstDevice = gpu::kScratchBase;
  copy.copy.WidthInBytes = 50;
  copy.copy.Height = 1;
  copy.copy.Depth = 1;
  connect(*graph_, fill, copy);
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(std::get<MemsetNode>(seal->calls[0].nodes[0]), (MemsetNode{kX, 512, 7, 4, 100, 3}));
  const auto& kept = std::get<MemcpyNode>(seal->calls[0].nodes[1]);
  EXPECT_EQ(kept.from.address, kX + 3 + 100 * (2ULL + 10 * 1));
  EXPECT_EQ(kept.to.address, gpu::kScratchBase);
  EXPECT_EQ(seal->calls[0].edges, (std::vector<Edge>{{0, 1, 0, 0, 0}}));
  fill.fill.dst = 4096;
  EXPECT_THAT(why(), HasSubstr("fills memory outside"));
  fill.fill.dst = kX;
  copy.copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  EXPECT_THAT(why(), HasSubstr("copies from host memory"));
  copy.copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_THAT(why(), HasSubstr("copies from an array"));
  copy.copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.copy.dstDevice = 4096;
  EXPECT_THAT(why(), HasSubstr("copies to memory outside"));
}

TEST_F(Record, OpensChildGraphsInPlace) {
  TestGraph& child = gpu_.add_graph();
  TestNode& inner_a = add_kernel(child, *function_);
  TestNode& inner_b = add_kernel(child, *function_);
  connect(child, inner_a, inner_b, {1, 0, 1, {}});
  TestGraph& empty = gpu_.add_graph();
  TestNode& before = add_kernel();
  TestNode& holder = gpu_.add_node(*graph_, CU_GRAPH_NODE_TYPE_GRAPH);
  holder.child = &child;
  TestNode& nothing = gpu_.add_node(*graph_, CU_GRAPH_NODE_TYPE_GRAPH);
  nothing.child = &empty;
  TestNode& after = add_kernel();
  connect(*graph_, before, holder);
  connect(*graph_, holder, nothing);
  connect(*graph_, nothing, after);
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  const Call& call = seal->calls[0];
  ASSERT_EQ(call.nodes.size(), 5U);
  EXPECT_EQ(call.edges.size(), 4U);
  EXPECT_THAT(call.edges, testing::Contains(Edge{1, 2, 1, 0, 1}));
  EXPECT_TRUE(std::holds_alternative<EmptyNode>(call.nodes[3]));
}

TEST_F(Record, ReadsMoreEdgesThanItMadeRoomFor) {
  std::vector<TestNode*> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back(&add_kernel());
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = i + 1; j < 20; ++j) connect(*graph_, *nodes[i], *nodes[j]);
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(seal->calls[0].edges.size(), 190U);
}

TEST_F(Record, RefusesAKernelOfNoSeenImage) {
  images_.clear();
  add_kernel();
  EXPECT_THAT(why(), HasSubstr("in no image that was seen"));
}

// A second image with the same kernel name, as specialising compilers make them.
class Ambiguous : public Record {
 protected:
  void add_twin(bool other_code) {
    TestElf twin;
    if (other_code) twin.kernel_text = "another-kernel!!";
    twin.extra_symbol = "twin";  // the image differs in any case
    twin_image_ = twin.build();
    twin_module_ = &gpu_.add_module(twin_image_);
    gpu_.add_function(*twin_module_, "kernel", function_->layout);
    images_.push_back({std::make_shared<const std::string>(twin_image_), 2, {}});
  }
  std::string twin_image_;
  TestModule* twin_module_ = nullptr;
};

TEST_F(Ambiguous, IsRefusedWhenTheCodeDiffers) {
  add_twin(true);
  add_kernel();
  EXPECT_THAT(why(), HasSubstr("in 2 images with different code that cannot be told apart"));
  EXPECT_EQ(gpu_.live_modules, 0);  // what was loaded to compare is unloaded
}

TEST_F(Ambiguous, IsNoMatterWhenTheCodeIsTheSame) {
  add_twin(false);
  add_kernel();
  EXPECT_EQ(why(), "");
}

TEST_F(Ambiguous, IsSettledByAHandle) {
  add_twin(true);
  add_kernel();
  using Kind = CollectedImage::HandleKind;
  images_[1].handles = {{Kind::kFunction, function_}};
  auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(seal->images[0].bytes, twin_image_);
  images_[1].handles.clear();
  images_[0].handles = {{Kind::kModule, module_}};
  seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(seal->images[0].bytes, image_);
  // An image that was seen with another module's handle is ruled out.
  images_[0].handles.clear();
  images_[1].handles = {{Kind::kModule, twin_module_}};
  seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(seal->images[0].bytes, image_);
}

TEST_F(Ambiguous, IsSettledByWhatTheDriverTells) {
  add_twin(true);
  add_kernel();
  gpu_.functions.back().attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 99;
  const auto seal = run();
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  EXPECT_EQ(seal->images[0].bytes, image_);
}

TEST(ImageCollector, AttributesImagesToTheCallThatLoadedThem) {
  using Kind = CollectedImage::HandleKind;
  auto& collector = ImageCollector::instance();
  int handles[4] = {};
  collector.entered();
  collector.loaded(101, "one");
  collector.left({Kind::kModule, &handles[0]});
  collector.entered();  // two at once: no evidence
  collector.loaded(102, "two");
  collector.loaded(103, "three");
  collector.left({Kind::kFunction, &handles[1]});
  collector.loaded(104, "four");
  {
    const ImageCollector::Pause pause;
    collector.loaded(105, "ours");
  }
  auto images = collector.images();
  ASSERT_EQ(images.size(), 4U);
  ASSERT_EQ(images[0].handles.size(), 1U);
  EXPECT_EQ(images[0].handles[0].value, &handles[0]);
  EXPECT_TRUE(images[1].handles.empty());
  EXPECT_TRUE(images[3].handles.empty());
  for (const std::uint32_t id : {101U, 102U, 103U, 104U}) collector.unloaded(id);
  EXPECT_TRUE(collector.images().empty());
  collector.left({Kind::kModule, &handles[2]});  // a call that began before the watch
}

}  // namespace
}  // namespace solmark::seal

#endif
