// SPDX-License-Identifier: Apache-2.0
#include "test/bench/failovers/load.h"

#include <utility>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/recording_writer.h"

namespace csinative::failovers {
namespace {

constexpr char kDriver[] = "sample.csi-native.io";
constexpr char kGroup[] = "storage.k8s.io";
constexpr int kAttachments = 4;
constexpr Duration kTurn = std::chrono::milliseconds(20);

}  // namespace

Status Load::Prepare(const std::string& volume_handle) {
  const std::string objects[] = {
      StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{)",
             R"("capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":")",
             kDriver, R"(","volumeHandle":")", volume_handle, R"("}}})"),
      StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},)",
             R"("spec":{"drivers":[{"name":")", kDriver,
             R"(","nodeID":"node-1","topologyKeys":[]}]}})")};
  for (const std::string& json : objects) {
    if (!api_.CreateObject(json).ok()) return InternalError("cannot create " + json);
  }
  return Status();
}

async::Task<void> Load::Run() {
  while (true) {
    for (int i = 0; i < kAttachments; ++i) co_await Turn(StrCat("va-", i));
    if (!(co_await async::Sleep(kTurn)).ok()) co_return;
  }
}

async::Task<void> Load::Turn(std::string name) {
  const apiserver::ObjectPtr object = api_.GetObject(kGroup, "volumeattachments", "", name);
  if (object == nullptr) {
    (void)api_.CreateObject(StrCat(
        R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":")", name,
        R"("},"spec":{"attacher":")", kDriver,
        R"(","nodeName":"node","source":{"persistentVolumeName":"pv"}}})"));
    co_return;
  }
  if (object->json.find(R"("attached":true)") == std::string::npos ||
      object->json.find("deletionTimestamp") != std::string::npos) {
    co_return;
  }
  http::ServerRequest request;
  request.method = "DELETE";
  request.target = StrCat("/apis/storage.k8s.io/v1/volumeattachments/", name);
  request.headers.Add("Authorization", "Bearer " + token_);
  request.headers.Add("Accept", "application/json");
  apiserver::RecordingWriter writer;
  co_await api_.Handle(std::move(request), &writer);
}

}  // namespace csinative::failovers
