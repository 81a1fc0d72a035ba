// SPDX-License-Identifier: Apache-2.0
#include "test/integration/kube_faults/fault_fixture.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <utility>

#include "apis/k8s.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

constexpr char kKept[] = "kept";

std::string GoneName(int change) { return StrCat("gone-", change); }
std::string NewName(int change) { return StrCat("new-", change); }

// Passes on so many bytes of an answer's body and ends it in good order.
class TruncatingWriter final : public http::ResponseWriter {
 public:
  TruncatingWriter(http::ResponseWriter* inner, size_t bytes) : inner_(inner), left_(bytes) {}

  async::Task<Status> Send(http::Response response) override {
    response.body.resize(std::min(response.body.size(), left_));
    return inner_->Send(std::move(response));
  }
  async::Task<Status> StartStream(int status, http::Headers headers) override {
    return inner_->StartStream(status, std::move(headers));
  }
  async::Task<Status> Write(std::string chunk) override {
    const bool last = chunk.size() >= left_;
    chunk.resize(std::min(chunk.size(), left_));
    left_ -= chunk.size();
    if (!chunk.empty()) CSI_CO_RETURN_IF_ERROR(co_await inner_->Write(std::move(chunk)));
    if (last) co_return UnavailableError("truncated");
    co_return Status();
  }
  void Abort() override {
    if (left_ > 0) inner_->Abort();
  }

 private:
  http::ResponseWriter* inner_;
  size_t left_;
};

async::Task<bool> Poll(async::EventLoop* loop, std::function<bool()> done, MonotonicTime end) {
  while (!done()) {
    if (loop->Now() >= end) co_return false;
    (void)co_await async::Sleep(std::chrono::milliseconds(1));
  }
  co_return true;
}

}  // namespace

FaultFixture::FaultFixture() : authority_(std::make_unique<testing::CertificateAuthority>()) {}

FaultFixture::~FaultFixture() {
  Run(scope_.Close());
  informer_.reset();
  proxy_.reset();
  if (listener_) StopListening();
}

void FaultFixture::Listen(Tls tls, const std::string& host) {
  const bool v6 = host.find(':') != std::string::npos;
  const std::string written = v6 ? StrCat("[", host, "]") : host;
  http::ServerConfig config{.address = StrCat(written, ":", listener_port_)};
  if (tls == Tls::kOn) {
    const testing::KeyPair pair = authority_->IssueServer({.common_name = "api", .names = {host}});
    config.tls = http::ServerTls{.certificate_pem = pair.certificate_pem,
                                 .key_pem = pair.key_pem,
                                 .client_ca_pem = authority_->certificate_pem()};
  }
  auto listener = http::Listen(loop_, std::move(config),
                               [this](http::ServerRequest request, http::ResponseWriter* writer) {
                                 return Answer(this, std::move(request), writer);
                               });
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  listener_ = *std::move(listener);
  listener_port_ = listener_->port();
  listener_url_ = StrCat(tls == Tls::kOn ? "https://" : "http://", written, ":", listener_port_);
}

void FaultFixture::StopListening() {
  Run(listener_->Close());
  listener_.reset();
}

std::string FaultFixture::ListenerUrl() const { return listener_url_; }

void FaultFixture::StartProxy() {
  proxy_.emplace(loop_, listener_port_);
  ASSERT_TRUE(proxy_->Start().ok());
}

std::string FaultFixture::ProxyUrl() const {
  return StrCat(listener_url_.substr(0, listener_url_.find("//")), "//127.0.0.1:", proxy_->port());
}

async::Task<void> FaultFixture::Answer(FaultFixture* self, http::ServerRequest request,
                                       http::ResponseWriter* writer) {
  const auto info = apiserver::ParseRequest(request.method, request.target);
  if (self->truncate_ && info && IsListOrWatch(*info)) {
    TruncatingWriter truncating(writer, *std::exchange(self->truncate_, std::nullopt));
    co_await self->api().Handle(std::move(request), &truncating);
    co_return;
  }
  co_await self->api().Handle(std::move(request), writer);
}

RestConfig FaultFixture::ConfigFor(std::string url) const {
  RestConfig config;
  config.host = std::move(url);
  config.tls.ca_pem = authority_->certificate_pem();
  config.bearer_token = server_.admin_token();
  return config;
}

void FaultFixture::Follow(RestConfig config, bool watch_list) {
  auto transport = NewHttpTransport(loop_, std::move(config), "informer", log_, transport_options_);
  ASSERT_TRUE(transport.ok()) << transport.status().ToString();
  transports_.push_back(*std::move(transport));
  clients_.push_back(*Client::Create(loop_, *random_, *transports_.back(), log_, {.qps = -1}));
  client_ = clients_.back().get();
  informer_ = std::make_unique<Informer<core::ConfigMap>>(
      loop_, *random_, *client_, log_, InformerOptions{.ns = "default", .watch_list = watch_list});
  informer_->AddHandler(
      {.on_add = [this](const core::ConfigMap& map,
                        AddKind) { told_[map.metadata().name()] = map.SerializeAsString(); },
       .on_update =
           [this](const core::ConfigMap&, const core::ConfigMap& map) {
             told_[map.metadata().name()] = map.SerializeAsString();
           },
       .on_delete =
           [this](const core::ConfigMap& map) {
             told_.erase(map.metadata().name());
             deletions_.insert(map.metadata().name());
           }});
  Create(kKept);
  Create(GoneName(0));
  scope_.Spawn(informer_->Run());
  ASSERT_TRUE(WaitUntil([this] { return informer_->synced(); }, std::chrono::seconds(20)));
  Change();
  ASSERT_TRUE(WaitUntil([this] { return HasSeenChanges(); }, std::chrono::seconds(20)));
  BeginCount();
}

void FaultFixture::Create(const std::string& name) {
  core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("default");
  map.mutable_metadata()->set_name(name);
  const auto made = Run(direct_.Create(std::move(map)));
  EXPECT_TRUE(made.ok()) << made.status().ToString();
}

void FaultFixture::DeleteDirectly(const std::string& name) {
  if (told_.contains(name)) deleted_.insert(name);
  const Status deleted = Run(direct_.Delete<core::ConfigMap>({"default", name}));
  EXPECT_TRUE(deleted.ok()) << name << ": " << deleted.ToString();
}

void FaultFixture::Change() {
  DeleteDirectly(GoneName(changes_));
  ++changes_;
  const auto patched = Run(direct_.Patch<core::ConfigMap>(
      {"default", kKept}, PatchType::kMerge, StrCat(R"({"data":{"change":")", changes_, R"("}})")));
  EXPECT_TRUE(patched.ok()) << patched.status().ToString();
  Create(GoneName(changes_));
  Create(NewName(changes_));
}

bool FaultFixture::HasSeenChanges() const {
  const auto kept = informer_->Get(StrCat("default/", kKept));
  return told_.contains(NewName(changes_)) && !told_.contains(GoneName(changes_ - 1)) && kept &&
         kept->data_size() == 1 && kept->data(0).value() == StrCat(changes_);
}

void FaultFixture::ExpectTruth() {
  Objects truth;
  const auto list = Run(direct_.List<core::ConfigMap>({.ns = "default"}));
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  for (const core::ConfigMap& map : list->items) {
    truth[map.metadata().name()] = map.SerializeAsString();
  }
  Objects stored;
  informer_->ForEach([&](const core::ConfigMap& map) {
    stored[map.metadata().name()] = map.SerializeAsString();
    return true;
  });
  const auto names = [](const Objects& objects) {
    std::string out;
    for (const auto& [name, bytes] : objects) out += StrCat(name, "(", bytes.size(), ") ");
    return out;
  };
  EXPECT_TRUE(stored == truth) << "stored: " << names(stored) << "\ntruth: " << names(truth);
  EXPECT_TRUE(told_ == truth) << "told: " << names(told_) << "\ntruth: " << names(truth);
  for (const std::string& name : deleted_) {
    EXPECT_TRUE(deletions_.contains(name)) << "a deletion was not told: " << name;
  }
}

void FaultFixture::BeginCount() {
  api().ClearLog();
  accepted_before_ = proxy_ ? proxy_->accepted() : 0;
}

size_t FaultFixture::Requests() {
  size_t count = 0;
  for (const apiserver::LoggedRequest& request : api().log()) {
    if (request.user_agent == "informer" && request.method == "GET") ++count;
  }
  return count;
}

void FaultFixture::ExpectRecovery(const char* fault, size_t most_requests, Duration limit) {
  EXPECT_TRUE(WaitUntil([this] { return HasSeenChanges(); }, limit)) << fault;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Now() - repaired_);
  const size_t requests = Requests();
  const size_t connections = proxy_ ? proxy_->accepted() - accepted_before_ : 0;
  std::printf("fault: %-52s recovered in %6lld ms, %zu requests, %zu connections\n", fault,
              static_cast<long long>(took.count()), requests, connections);
  EXPECT_LE(requests, most_requests) << fault;
  EXPECT_LE(connections, most_requests) << fault;
  ExpectTruth();
  Change();
  EXPECT_TRUE(WaitUntil([this] { return HasSeenChanges(); }, limit)) << "it follows no more";
  ExpectTruth();
}

bool FaultFixture::WaitUntil(std::function<bool()> condition, Duration limit) {
  return Run(Poll(&loop_, std::move(condition), loop_.Now() + limit));
}

void FaultFixture::FailListsAndWatches(apiserver::Fault fault) {
  api().set_fault_hook([fault](const apiserver::RequestInfo& request) {
    const bool hit = IsListOrWatch(request) && request.user_agent == "informer";
    return hit ? fault : apiserver::Fault{};
  });
}

}  // namespace csinative::kube
