// SPDX-License-Identifier: Apache-2.0
//
// The verbs of kube::Client for a kind that is only known at run time. Loop only.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apis/json/from_json.h"
#include "lib/async/scope.h"
#include "lib/kube/informer.h"

namespace csinative::kinds {

using MessagePtr = std::shared_ptr<google::protobuf::Message>;

// One object under an informer.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual async::Task<void> Run() = 0;
  virtual async::Task<Status> WaitForSync() = 0;
  // What the cache has; null: nothing.
  virtual MessagePtr Cached() const = 0;

  int added = 0;
  int updated = 0;
  int deleted = 0;
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  virtual MessagePtr New() const = 0;
  virtual async::Task<Status> Create(kube::Client* client, MessagePtr object) const = 0;
  virtual async::Task<Result<MessagePtr>> Get(kube::Client* client,
                                              kube::ObjectName name) const = 0;
  virtual async::Task<Result<std::vector<MessagePtr>>> List(kube::Client* client,
                                                            kube::ListOptions options) const = 0;
  virtual async::Task<Status> Patch(kube::Client* client, kube::ObjectName name,
                                    kube::PatchType type, std::string body,
                                    std::string subresource) const = 0;
  virtual async::Task<Status> Update(kube::Client* client, MessagePtr object) const = 0;
  virtual async::Task<Status> Delete(kube::Client* client, kube::ObjectName name,
                                     kube::DeleteOptions options) const = 0;
  // Borrowed: loop, random and client outlive the answer.
  virtual std::unique_ptr<Watched> Watch(async::EventLoop& loop, Random& random,
                                         kube::Client& client, kube::ObjectName name) const = 0;
};

template <typename T>
class TypedWatched final : public Watched {
 public:
  TypedWatched(async::EventLoop& loop, Random& random, kube::Client& client, kube::ObjectName name)
      : key_(name.Key()),
        informer_(loop, random, client, log::Logger(),
                  {.ns = name.ns, .field_selector = "metadata.name=" + name.name}) {
    informer_.AddHandler({.on_add = [this](const T&, kube::AddKind) { ++added; },
                          .on_update = [this](const T&, const T&) { ++updated; },
                          .on_delete = [this](const T&) { ++deleted; }});
  }
  async::Task<void> Run() override { return informer_.Run(); }
  async::Task<Status> WaitForSync() override { return informer_.WaitForSync(); }
  MessagePtr Cached() const override {
    const std::optional<T> object = informer_.Get(key_);
    return object ? std::make_shared<T>(*object) : nullptr;
  }

 private:
  const std::string key_;
  kube::Informer<T> informer_;
};

template <typename T>
class TypedVerbs final : public Verbs {
 public:
  MessagePtr New() const override { return std::make_shared<T>(); }
  async::Task<Status> Create(kube::Client* client, MessagePtr object) const override {
    co_return (co_await client->Create(static_cast<const T&>(*object))).status();
  }
  async::Task<Result<MessagePtr>> Get(kube::Client* client, kube::ObjectName name) const override {
    CSI_CO_ASSIGN_OR_RETURN(T object, co_await client->Get<T>(std::move(name)));
    co_return MessagePtr(std::make_shared<T>(std::move(object)));
  }
  async::Task<Result<std::vector<MessagePtr>>> List(kube::Client* client,
                                                    kube::ListOptions options) const override {
    CSI_CO_ASSIGN_OR_RETURN(kube::ListPage<T> page, co_await client->List<T>(std::move(options)));
    std::vector<MessagePtr> items;
    for (T& item : page.items) items.push_back(std::make_shared<T>(std::move(item)));
    co_return items;
  }
  async::Task<Status> Patch(kube::Client* client, kube::ObjectName name, kube::PatchType type,
                            std::string body, std::string subresource) const override {
    co_return (
        co_await client->Patch<T>(std::move(name), type, std::move(body), std::move(subresource)))
        .status();
  }
  async::Task<Status> Update(kube::Client* client, MessagePtr object) const override {
    co_return (co_await client->Update(static_cast<const T&>(*object))).status();
  }
  async::Task<Status> Delete(kube::Client* client, kube::ObjectName name,
                             kube::DeleteOptions options) const override {
    co_return co_await client->Delete<T>(std::move(name), std::move(options));
  }
  std::unique_ptr<Watched> Watch(async::EventLoop& loop, Random& random, kube::Client& client,
                                 kube::ObjectName name) const override {
    return std::make_unique<TypedWatched<T>>(loop, random, client, std::move(name));
  }
};

}  // namespace csinative::kinds
