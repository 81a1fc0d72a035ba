// SPDX-License-Identifier: Apache-2.0
//
// An informer that follows a server which misbehaves, and what has to hold afterwards. The server
// is a second listener of the embedded API server, perhaps with a proxy in front; the first
// listener stays well: through it objects change during the fault, and the truth is read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "lib/http/server.h"
#include "lib/kube/http_transport.h"
#include "lib/kube/informer.h"
#include "test/integration/kube/api_fixture.h"
#include "test/support/certs.h"
#include "test/support/fault_proxy.h"

namespace csinative::kube {

enum class Tls { kOff, kOn };

class FaultFixture : public ApiFixture {
 protected:
  FaultFixture();
  ~FaultFixture() override;

  // Listens, on the port of the last time if there was one, with a certificate of `authority_`.
  void Listen(Tls tls, const std::string& host = "127.0.0.1");
  void StopListening();
  std::string ListenerUrl() const;
  // In front of the listener.
  void StartProxy();
  std::string ProxyUrl() const;

  // What a client needs to talk to the URL as the administrator.
  RestConfig ConfigFor(std::string url) const;
  // Starts an informer of its own client, and waits until it follows: some objects are there and an
  // event has come.
  void Follow(RestConfig config, bool watch_list = true);

  // What happens to the objects behind the back of the informer: one goes, one changes, two come.
  void Change();
  // The moment from which recovery is measured: nothing is wrong any more.
  void MarkRepaired() { repaired_ = loop_.Now(); }
  // Waits until the informer has noticed all changes, and checks that its store and what its
  // handlers were told equal a fresh list, that every deletion was told, that lists and watches and
  // connections since the beginning of the fault (BeginCount) stayed within the bound, and that the
  // informer still follows. Prints the time.
  void ExpectRecovery(const char* fault, size_t most_requests,
                      Duration limit = std::chrono::seconds(10));
  void BeginCount();
  // Lists and watches since BeginCount.
  size_t Requests();

  void Sleep(Duration duration) { (void)Run(async::Sleep(duration)); }
  void DeleteDirectly(const std::string& name);
  bool WaitUntil(std::function<bool()> condition, Duration limit);
  // Whether the request comes from an informer.
  static bool IsListOrWatch(const apiserver::RequestInfo& request) {
    return request.resource == "configmaps" && (request.verb == "list" || request.verb == "watch");
  }
  // Lists and watches fail with this from now on.
  void FailListsAndWatches(apiserver::Fault fault);

  // The next answer to a list or a watch of the listener ends after this many bytes, in good order
  // as far as HTTP is concerned.
  void TruncateNext(size_t bytes) { truncate_ = bytes; }

  std::unique_ptr<testing::CertificateAuthority> authority_;
  std::unique_ptr<http::Server> listener_;
  std::optional<test::FaultProxy> proxy_;
  HttpTransportOptions transport_options_;
  Client* client_ = nullptr;  // the informer's
  std::unique_ptr<Informer<core::ConfigMap>> informer_;

 private:
  using Objects = std::map<std::string, std::string>;  // bytes by name

  static async::Task<void> Answer(FaultFixture* self, http::ServerRequest request,
                                  http::ResponseWriter* writer);
  void Create(const std::string& name);
  bool HasSeenChanges() const;
  void ExpectTruth();

  Client& direct_ = NewClient();
  int listener_port_ = 0;
  std::string listener_url_;
  std::optional<size_t> truncate_;
  int changes_ = 0;
  MonotonicTime repaired_{};
  size_t accepted_before_ = 0;
  Objects told_;                     // by the handlers
  std::set<std::string> deletions_;  // told by them
  std::set<std::string> deleted_;    // that the informer knew of
  async::Scope scope_{loop_};
};

}  // namespace csinative::kube
