#include "seal/images.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace solmark::seal {

struct ImageCollector::State {
  mutable std::mutex mutex;
  std::vector<CollectedImage> images;
  std::atomic<int> pauses{0};
};

namespace {
// Module numbers loaded within each driver call that this thread is in; calls nest.
thread_local std::vector<std::vector<std::uint32_t>> calls_of_thread;
}  // namespace

ImageCollector::ImageCollector() : state_(std::make_unique<State>()) {}
ImageCollector::~ImageCollector() = default;

ImageCollector& ImageCollector::instance() {
  // Never destroyed: callbacks may come while the process ends.
  static auto* const collector = new ImageCollector;
  return *collector;
}

std::vector<CollectedImage> ImageCollector::images() const {
  const std::lock_guard lock(state_->mutex);
  return state_->images;
}

ImageCollector::Pause::Pause() { ++instance().state_->pauses; }
ImageCollector::Pause::~Pause() { --instance().state_->pauses; }

void ImageCollector::loaded(std::uint32_t module_id, std::string bytes) {
  if (state_->pauses > 0) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->images.push_back({std::make_shared<const std::string>(std::move(bytes)), module_id, {}});
  }
  for (auto& call : calls_of_thread) call.push_back(module_id);
}

void ImageCollector::unloaded(std::uint32_t module_id) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->images, [&](const CollectedImage& image) { return image.module_id == module_id; });
}

void ImageCollector::entered() { calls_of_thread.emplace_back(); }

void ImageCollector::left(const CollectedImage::Handle& handle) {
  if (calls_of_thread.empty()) return;  // the watch began within the call
  const std::vector<std::uint32_t> within = std::move(calls_of_thread.back());
  calls_of_thread.pop_back();
  // A call that loaded several modules does not say which of them the handle stands for.
  if (within.size() != 1 || handle.value == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  for (CollectedImage& image : state_->images)
    if (image.module_id == within.front()) image.handles.push_back(handle);
}

}  // namespace solmark::seal
