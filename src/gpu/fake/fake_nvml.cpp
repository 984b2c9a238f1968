// A libnvidia-ml for tests: one GPU at 0000:01:00.0 with fixed readings, and a process list longer than a
// first guess.
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int code) { return code == 6 ? "Not Found" : "other"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** out) {
  static int device;
  *out = &device;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? 0 : 6;
}
int nvmlSystemGetDriverVersion(char* out, unsigned int size) {
  std::strncpy(out, "580.1.2", size);
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned int* out) {
  *out = which == 1 ? 1980 : 3201;
  return which == 1 || which == 2 ? 0 : 2;
}
int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned int* out) {
  *out = which == 1 ? 2000 : 3300;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned int* out) {
  *out = 41;
  return sensor;
}
// This GPU does not tell its power: nvmlDeviceGetPowerUsage says "not supported".
int nvmlDeviceGetPowerUsage(void*, unsigned int*) { return 3; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* out) {
  *out = 4;
  return 0;
}

struct Process {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, Process* out) {
  constexpr unsigned int kCount = 40;
  const bool fits = *count >= kCount;
  for (unsigned int i = 0; fits && i < kCount; ++i) out[i] = {1000 + i, 1, 0, 0};
  *count = kCount;
  return fits ? 0 : 7;
}

}  // extern "C"
