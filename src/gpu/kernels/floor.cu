// The two smallest kernels there are: timed like any candidate, they are the machine's floor.
extern "C" __global__ void solmark_empty() {}

extern "C" __global__ void solmark_load_store(const float* from, float* to) { *to = *from + 1.0f; }
