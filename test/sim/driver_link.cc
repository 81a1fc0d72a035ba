// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <utility>

#include "lib/async/completion.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/sim/links.h"

namespace csinative::sim {
namespace {

using ::google::protobuf::Message;

constexpr int kCancelled = 1;
constexpr int kDeadlineExceeded = 4;
constexpr int kResourceExhausted = 8;
constexpr int kAborted = 10;
constexpr int kInternal = 13;
constexpr int kUnavailable = 14;

// What a call to attach or to detach is about; empty for others.
std::string AttachmentOf(const Message& request) {
  const auto about = [](const auto* call) {
    return call == nullptr ? std::string() : StrCat(call->volume_id(), " on ", call->node_id());
  };
  const std::string attach =
      about(dynamic_cast<const ::csi::v1::ControllerPublishVolumeRequest*>(&request));
  if (!attach.empty()) return attach;
  return about(dynamic_cast<const ::csi::v1::ControllerUnpublishVolumeRequest*>(&request));
}

class DriverLink final : public rpc::Channel {
 public:
  DriverLink(Surroundings& world, Driver& driver, IncarnationPtr process, std::string node_id)
      : world_(world),
        driver_(driver),
        process_(std::move(process)),
        node_id_(std::move(node_id)) {}

  async::Task<Status> Call(std::string method, const Message& request, Message* response) override {
    std::shared_ptr<Message> copy(request.New());
    copy->CopyFrom(request);
    return Run(std::move(method), std::move(copy), response);
  }

 private:
  async::Task<Status> Run(std::string method, std::shared_ptr<const Message> request,
                          Message* response) {
    async::TaskContext context = co_await async::CurrentContext();
    response->Clear();
    std::shared_ptr<Message> answer(response->New());
    Status status = context.cancel->reason();
    if (status.ok()) {
      world_.conduct.OnCall(*process_, method, Backend::SubjectOf(*request));
      const std::string attachment = AttachmentOf(*request);
      const bool alone = attachment.empty() || in_flight_.insert(attachment).second;
      if (!alone) world_.conduct.OnOverlap(*process_, attachment);
      status = co_await async::FromCallback<Status>([&](async::Completer<Status> done) {
        world_.scope.Spawn(driver_.Execute(process_, method, node_id_, request, answer,
                                           [done](Status outcome) { done(std::move(outcome)); }));
      });
      if (alone) in_flight_.erase(attachment);
    }
    if (status.ok()) {
      response->CopyFrom(*answer);
    } else if (status.rpc_error() == nullptr) {
      const bool late = IsDeadlineExceeded(status);
      status = RpcStatus(late ? kDeadlineExceeded : kCancelled,
                         late ? "context deadline exceeded" : "context canceled");
    }
    co_return status;
  }

  Surroundings& world_;
  Driver& driver_;
  const IncarnationPtr process_;
  const std::string node_id_;
  std::set<std::string> in_flight_;  // attachments that a call is about
};

}  // namespace

async::Task<void> Driver::Execute(IncarnationPtr caller, std::string method, std::string node_id,
                                  std::shared_ptr<const Message> request,
                                  std::shared_ptr<Message> response,
                                  std::function<void(Status)> done) {
  FaultPlan& plan = world_.plan;
  const FaultRates& rates = plan.rates();
  const std::string subject = Backend::SubjectOf(*request);
  const uint64_t boot = backend_.boot(node_id);
  // From here on, also if the caller dies now: the call is on its way.
  const bool create = method.ends_with("/CreateVolume");
  if (create) {
    if (on_create_) on_create_(subject);
    creating_.insert(subject);
  }
  const auto end = [&](Status status) {
    if (create) creating_.extract(subject);
    done(std::move(status));
  };
  (void)co_await async::Sleep(
      plan.Between(std::chrono::microseconds(100), std::chrono::milliseconds(2)));
  if (plan.Strikes(rates.driver_error)) {
    constexpr int kCodes[] = {kUnavailable, kInternal, kAborted, kResourceExhausted};
    int code = kCodes[plan.Below(4)];
    // A final code means that nothing is there any more and nothing is under way. Unlike a mount,
    // nobody can see whether a device is, nor whether a volume is that has no PersistentVolume.
    const bool made =
        create && (backend_.volumes().count(subject) > 0 || creating_.count(subject) > 1);
    const bool device = code == kInternal && backend_.HasDevice(subject, node_id);
    if (device || (made && (code == kInternal || code == kResourceExhausted))) code = kAborted;
    world_.trace.Add("driver", StrCat(method, " ", subject, ": injected code ", code));
    end(RpcStatus(code, "injected"));
    co_return;
  }
  // One call for a volume at a time, as CSI lets a driver demand.
  if (!subject.empty() && !busy_.insert(subject).second) {
    end(RpcStatus(kAborted, "an operation is in progress"));
    co_return;
  }
  const bool lost = plan.Strikes(rates.driver_lost_answer);
  // A driver that is well takes seconds for some calls; between faults that is what is left to meet
  // changes halfway.
  const bool quick = plan.active() || plan.Below(2) == 0;
  Duration time = plan.Between(std::chrono::milliseconds(1),
                               quick ? std::chrono::milliseconds(40) : std::chrono::seconds(4));
  if (plan.Strikes(rates.driver_slow)) {
    time = plan.Between(std::chrono::seconds(1), std::chrono::seconds(20));
  }
  if (plan.Strikes(rates.driver_hang)) {
    time = plan.Between(std::chrono::minutes(1), std::chrono::minutes(5));
  }
  // The effect comes somewhere on the way.
  (void)co_await async::Sleep(time / 2);
  // What a node was doing when it died does not happen later.
  Status status = backend_.boot(node_id) == boot
                      ? backend_.Perform(method, node_id, *request, response.get())
                      : RpcStatus(kUnavailable, "the node has died");
  if (status.ok()) world_.after_effect(caller);
  (void)co_await async::Sleep(time / 2);
  busy_.erase(subject);
  if (lost && status.ok()) {
    world_.trace.Add("driver", StrCat(method, " ", subject, ": answer lost"));
    status = RpcStatus(plan.Below(2) == 0 ? kUnavailable : kDeadlineExceeded, "answer lost");
  }
  end(std::move(status));
}

std::unique_ptr<rpc::Channel> NewDriverLink(Surroundings& world, Driver& driver,
                                            IncarnationPtr process, std::string node_id) {
  return std::make_unique<DriverLink>(world, driver, std::move(process), std::move(node_id));
}

}  // namespace csinative::sim
