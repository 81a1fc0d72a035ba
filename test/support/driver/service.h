// SPDX-License-Identifier: Apache-2.0
//
// What the three services of the sample driver share. Loop only.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "lib/async/blocking.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/base/random.h"
#include "lib/csi/message_json.h"
#include "lib/rpc/server.h"
#include "test/support/driver/driver_options.h"
#include "test/support/driver/faults.h"
#include "test/support/driver/volume_store.h"

namespace csinative::driver {

// One operation at a time for each key; the others wait.
class KeyLocks {
 public:
  class Held {
   public:
    Held(KeyLocks* locks, std::string key) : locks_(locks), key_(std::move(key)) {}
    Held(Held&& other) noexcept
        : locks_(std::exchange(other.locks_, nullptr)), key_(std::move(other.key_)) {}
    ~Held() {
      if (locks_ == nullptr) return;
      locks_->busy_.erase(key_);
      locks_->changed_.NotifyAll();
    }

   private:
    KeyLocks* locks_;
    std::string key_;
  };

  async::Task<Result<Held>> Lock(std::string key) {
    while (busy_.contains(key)) CSI_CO_RETURN_IF_ERROR(co_await changed_.Wait());
    busy_.insert(key);
    co_return Held(this, std::move(key));
  }

 private:
  std::set<std::string> busy_;
  async::Signal changed_;
};

struct DriverContext {
  async::EventLoop& loop;
  async::BlockingExecutor& blocking;
  Random& random;
  DriverOptions options;
  VolumeStore store;
  Faults faults;
  KeyLocks locks;
  int64_t probes = 0;  // so far
  std::ofstream log;

  // The RPC log: time, method, request with secrets stripped, code, message.
  void Record(const std::string& method, const google::protobuf::Message& request,
              const Status& status);
};

// Registers "<service>/<method>" with the faults and the RPC log around `fn`, which is
// Task<Status>(Req, Resp*).
template <typename Req, typename Resp, typename F>
void Serve(rpc::Server& server, DriverContext& context, const std::string& service,
           const std::string& method, F fn) {
  auto run = [](DriverContext* ctx, std::string full, std::string name, F work, Req request,
                Resp* response) -> async::Task<Status> {
    Status status = co_await ctx->faults.Around(
        name, [&work, &request, response] { return work(request, response); });
    if (!status.ok()) response->Clear();
    ctx->Record(full, request, status);
    co_return status;
  };
  rpc::Handle<Req, Resp>(server, "/" + service + "/" + method,
                         [run, ctx = &context, full = "/" + service + "/" + method, method, fn](
                             Req request, Resp* response) {
                           return run(ctx, full, method, fn, std::move(request), response);
                         });
}

// Runs fn on the blocking pool and waits for its end, also for a caller that has given up: its
// locks stay held, and what was done is remembered for its next attempt.
template <typename F>
async::Task<std::invoke_result_t<F&>> Work(DriverContext& context, F fn) {
  co_return co_await async::Shielded(async::Blocking(context.blocking, std::move(fn)));
}

// Whether the capability is announced. --without takes its name, alone or as SERVICE.NAME with
// PLUGIN, CONTROLLER or NODE.
inline bool Announces(const DriverOptions& options, const std::string& service,
                      const std::string& name) {
  return !options.without.contains(name) && !options.without.contains(service + "." + name);
}

// A failure of a method, with the code that CSI names for it.
inline Status Fail(Code code, std::string message) {
  return RpcStatus(static_cast<int>(code), std::move(message));
}

// What is wrong with a volume capability, or Ok.
Status CheckCapability(const ::csi::v1::VolumeCapability& capability);

}  // namespace csinative::driver
