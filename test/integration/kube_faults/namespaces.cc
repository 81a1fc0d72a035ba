// SPDX-License-Identifier: Apache-2.0
#include "test/integration/kube_faults/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "test/support/child_process.h"

namespace csinative::test {
namespace {

constexpr char kIp[] = "/usr/sbin/ip";

// In the namespace of the calling thread.
Status Ip(std::vector<std::string> arguments) {
  std::string text = "ip";
  for (const std::string& argument : arguments) text += " " + argument;
  arguments.insert(arguments.begin(), kIp);
  CSI_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start({.command = std::move(arguments)}));
  const std::optional<int> status = child.Wait(std::chrono::seconds(10));
  if (!status || *status != 0) return UnknownError(text + " failed");
  return Status();
}

Result<UniqueFd> NewNamespace() {
  if (::unshare(CLONE_NEWNET) != 0) {
    return OsStatus(errno,
                    "this test loses packets in a network namespace, which only root may make (or "
                    "unshare --user --map-root-user, where that is allowed): unshare");
  }
  // Of this thread, whose number is the process's.
  UniqueFd fd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return OsStatus(errno, "/proc/self/ns/net");
  return fd;
}

Status Configure(const char* device, const std::string& address) {
  CSI_RETURN_IF_ERROR(Ip({"link", "set", "lo", "up"}));
  CSI_RETURN_IF_ERROR(Ip({"address", "add", address + "/24", "dev", device}));
  return Ip({"link", "set", device, "up"});
}

void Switch(const UniqueFd& to) {
  if (::setns(to.get(), CLONE_NEWNET) == 0) return;
  std::perror("setns");
  std::abort();
}

}  // namespace

Result<std::unique_ptr<Namespaces>> Namespaces::Enter() {
  if (::access(kIp, X_OK) != 0) {
    return OsStatus(errno, StrCat("this test needs ", kIp, " (package iproute2)"));
  }
  std::unique_ptr<Namespaces> made(new Namespaces);
  CSI_ASSIGN_OR_RETURN(made->server_, NewNamespace());
  CSI_ASSIGN_OR_RETURN(made->client_, NewNamespace());
  CSI_RETURN_IF_ERROR(Ip({"link", "add", "client", "type", "veth", "peer", "name", "server"}));
  CSI_RETURN_IF_ERROR(Ip({"link", "set", "server", "netns",
                          StrCat("/proc/", ::getpid(), "/fd/", made->server_.get())}));
  CSI_RETURN_IF_ERROR(Configure("client", kClientAddress));
  Status configured;
  made->InServer([&configured] { configured = Configure("server", kServerAddress); });
  CSI_RETURN_IF_ERROR(configured);
  return made;
}

void Namespaces::InServer(const std::function<void()>& run) {
  Switch(server_);
  run();
  Switch(client_);
}

// To stations that do not exist: the other end of the cable takes no notice.
Status Namespaces::LosePackets() {
  const auto lose = [](const char* address, const char* device) {
    return Ip({"neighbour", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", device, "nud",
               "permanent"});
  };
  Status in_server;
  InServer([&] { in_server = lose(kClientAddress, "server"); });
  CSI_RETURN_IF_ERROR(in_server);
  return lose(kServerAddress, "client");
}

Status Namespaces::DeliverPackets() {
  Status in_server;
  InServer([&] { in_server = Ip({"neighbour", "del", kClientAddress, "dev", "server"}); });
  CSI_RETURN_IF_ERROR(in_server);
  return Ip({"neighbour", "del", kServerAddress, "dev", "client"});
}

}  // namespace csinative::test
