// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/workqueue_metrics.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace csinative::metrics {
namespace {

// 1e-08 times 10 to the power of 0 to 9, multiplied step by step as upstream does: two of the
// products are not the decimal numbers they stand for (common 9.6).
constexpr double kBounds[] = {
    1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10};

}  // namespace

struct WorkQueueMetrics::Shared {
  GaugeFamily& depth;
  CounterFamily& adds;
  HistogramFamily& queue_duration;
  HistogramFamily& work_duration;
  CounterFamily& retries;
  // In the order of creation. Owned by their handles.
  std::vector<const Handle::Series*> queues;
};

struct WorkQueueMetrics::Handle::Series {
  std::string name;
  std::function<InProgressAges()> ages;
  std::shared_ptr<Shared> shared;
  Gauge& depth;
  Counter& adds;
  Histogram& queue_duration;
  Histogram& work_duration;
  Counter& retries;
};

WorkQueueMetrics::Handle::Handle() noexcept = default;
WorkQueueMetrics::Handle::Handle(std::unique_ptr<Series> series) : series_(std::move(series)) {}
WorkQueueMetrics::Handle::Handle(Handle&& other) noexcept = default;
WorkQueueMetrics::Handle& WorkQueueMetrics::Handle::operator=(Handle&& other) noexcept {
  // Through a temporary, so that the old series leaves the provider's list.
  Handle moved(std::move(other));
  std::swap(series_, moved.series_);
  return *this;
}
WorkQueueMetrics::Handle::~Handle() {
  if (series_) std::erase(series_->shared->queues, series_.get());
}

void WorkQueueMetrics::Handle::Added() {
  if (!series_) return;
  series_->adds.Add();
  series_->depth.Add(1);
}

void WorkQueueMetrics::Handle::Started(Duration waited) {
  if (!series_) return;
  series_->depth.Add(-1);
  series_->queue_duration.Observe(waited);
}

void WorkQueueMetrics::Handle::Finished(Duration worked) {
  if (series_) series_->work_duration.Observe(worked);
}

void WorkQueueMetrics::Handle::Retried() {
  if (series_) series_->retries.Add();
}

WorkQueueMetrics::WorkQueueMetrics(Registry& registry) {
  const auto options = [](const char* name, const char* help) {
    return FamilyOptions{.name = std::string("workqueue_") + name,
                         .help = std::string("[BETA] ") + help,
                         .labels = {"name"}};
  };
  shared_ = std::make_shared<Shared>(Shared{
      .depth = registry.AddGauge(options("depth", "Items that wait in the queue.")),
      .adds = registry.AddCounter(options("adds_total", "Items that were added to the queue.")),
      .queue_duration = registry.AddHistogram(
          options("queue_duration_seconds", "How long an item waits before it is taken."), kBounds),
      .work_duration = registry.AddHistogram(
          options("work_duration_seconds", "How long the work on an item takes."), kBounds),
      .retries = registry.AddCounter(
          options("retries_total", "Items that were added again with a delay.")),
      .queues = {}});
  registry.AddCollector([shared = shared_](std::vector<CollectedFamily>& out) {
    std::map<std::string, InProgressAges> by_name;
    for (const Handle::Series* queue : shared->queues) {
      const InProgressAges ages = queue->ages();
      InProgressAges& total = by_name[queue->name];
      total.sum += ages.sum;
      total.longest = std::max(total.longest, ages.longest);
    }
    CollectedFamily unfinished{
        .name = "workqueue_unfinished_work_seconds",
        .help = "[BETA] Sum of the ages of all items that are being worked on."};
    CollectedFamily longest{
        .name = "workqueue_longest_running_processor_seconds",
        .help = "[BETA] Age of the item that is worked on for the longest time."};
    for (const auto& [name, ages] : by_name) {
      unfinished.samples.push_back({{{"name", name}}, Seconds(ages.sum)});
      longest.samples.push_back({{{"name", name}}, Seconds(ages.longest)});
    }
    out.push_back(std::move(unfinished));
    out.push_back(std::move(longest));
  });
}

WorkQueueMetrics::~WorkQueueMetrics() = default;

WorkQueueMetrics::Handle WorkQueueMetrics::ForQueue(std::string_view name,
                                                    std::function<InProgressAges()> ages) {
  auto series = std::unique_ptr<Handle::Series>(
      new Handle::Series{.name = std::string(name),
                         .ages = std::move(ages),
                         .shared = shared_,
                         .depth = shared_->depth.With({name}),
                         .adds = shared_->adds.With({name}),
                         .queue_duration = shared_->queue_duration.With({name}),
                         .work_duration = shared_->work_duration.With({name}),
                         .retries = shared_->retries.With({name})});
  shared_->queues.push_back(series.get());
  return Handle(std::move(series));
}

}  // namespace csinative::metrics
