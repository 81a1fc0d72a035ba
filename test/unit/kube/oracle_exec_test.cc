// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.3: credential plugins. The ones that need a server are in
// test/integration/kube/exec_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <deque>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/strings.h"
#include "lib/kube/command_runner.h"
#include "lib/kube/config.h"
#include "lib/kube/exec_plugin.h"
#include "test/support/certs.h"
#include "test/support/oracle.h"
#include "test/unit/kube/temp_folder.h"

namespace csinative::kube {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kBeta = "client.authentication.k8s.io/v1beta1";

// Prints what is set, as a step of the loop.
class FakeRunner final : public CommandRunner {
 public:
  async::Task<Result<CommandOutput>> Run(Command command) override {
    commands.push_back(std::move(command));
    co_return answer;
  }
  Result<CommandOutput> answer = CommandOutput();
  std::vector<Command> commands;
};

std::string Answer(const std::string& status, const std::string& version = kBeta) {
  return StrCat(R"({"kind":"ExecCredential","apiVersion":")", version, R"(","status":)", status,
                "}");
}

class ExecOracle : public ::testing::Test {
 protected:
  void Use(ExecConfig config, std::optional<ExecCluster> cluster = {}, bool terminal = false) {
    Result<std::unique_ptr<ExecPlugin>> plugin = ExecPlugin::Create(
        loop_, runner_, std::move(config), std::move(cluster), {.stdin_is_terminal = terminal});
    ASSERT_TRUE(plugin.ok());
    plugin_ = *std::move(plugin);
  }
  void Print(const std::string& text) { runner_.answer = CommandOutput{.text = text}; }
  Result<ExecPlugin::Current> Get() { return async::RunTask(scheduler_, loop_, plugin_->Get()); }
  // What the last run was told in KUBERNETES_EXEC_INFO.
  std::string Info() const {
    constexpr std::string_view kName = "KUBERNETES_EXEC_INFO=";
    for (const std::string& variable : runner_.commands.back().env) {
      if (variable.starts_with(kName)) return variable.substr(kName.size());
    }
    return "";
  }
  static ExecConfig Config(const std::string& mode = "Never", const std::string& version = kBeta) {
    return {.command = "plugin", .api_version = version, .interactive_mode = mode};
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  FakeRunner runner_;
  std::unique_ptr<ExecPlugin> plugin_;
};

std::string JsonPair(const testing::KeyPair& pair) {
  return StrCat(R"("clientCertificateData":")", ReplaceAll(pair.certificate_pem, "\n", "\\n"),
                R"(","clientKeyData":")", ReplaceAll(pair.key_pem, "\n", "\\n"), "\"");
}

TEST_F(ExecOracle, Answers) {
  const testing::CertificateAuthority authority;
  const testing::KeyPair pair = authority.IssueClient({.common_name = "user"});
  {
    const oracle::Row row("kube-client/24.3/1");
    Use(Config());
    Print(Answer("{" + JsonPair(pair) + "}"));
    EXPECT_EQ(Get()->credential.certificate_pem, pair.certificate_pem);
    EXPECT_EQ(Get()->credential.key_pem, pair.key_pem);
    EXPECT_EQ(Info(), StrCat(R"({"kind":"ExecCredential","apiVersion":")", kBeta,
                             R"(","spec":{"interactive":false}})"));
    Use(Config());
    Print(Answer(R"({"token":"foo-bar"})"));
    EXPECT_EQ(Get()->credential.token, "foo-bar");
  }
  const std::string kBad[] = {
      Answer(R"({"clientCertificateData":"bad","clientKeyData":"bad"})"),
      Answer(R"({"clientCertificateData":"c"})"),
      R"({"kind":"ExecCredential","status":{"token":"t"}})",
      StrCat(R"({"kind":"ExecCredential","apiVersion":")", kBeta, "\"}"),
      Answer("{}"),
      "no json",
      Answer(R"({"token":"t"})", kV1),
  };
  for (const std::string& output : kBad) {
    const oracle::Row row("kube-client/24.3/2");
    Use(Config());
    Print(output);
    EXPECT_FALSE(Get().ok()) << output;
  }
  {
    const oracle::Row row("kube-client/24.3/5");
    Use(Config());
    Print(Answer(R"({"token":"t","expirationTimestamp":"2006-01-02T15:04:05Z"})"));
    const auto parsed = ParseExecCredential(
        Answer(R"({"token":"t","expirationTimestamp":"2006-01-02T15:04:05Z"})"), kBeta);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->expires, WallTime(seconds(1136214245)));
  }
}

TEST_F(ExecOracle, Interaction) {
  struct Entry {
    const char* mode;
    bool unavailable;
    bool terminal;
    bool interactive;
  };
  const Entry kEntries[] = {
      {"Never", false, false, false},       {"Never", true, true, false},
      {"IfAvailable", false, false, false}, {"IfAvailable", false, true, true},
      {"IfAvailable", true, true, false},   {"Always", false, true, true},
  };
  Print(Answer(R"({"token":"t"})"));
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.3/3");
    ExecConfig config = Config(entry.mode);
    config.stdin_unavailable = entry.unavailable;
    Use(config, {}, entry.terminal);
    EXPECT_TRUE(Get().ok());
    EXPECT_EQ(runner_.commands.back().inherit_stdin, entry.interactive) << entry.mode;
    EXPECT_THAT(Info(),
                HasSubstr(StrCat("\"interactive\":", entry.interactive ? "true" : "false")));
  }
  struct Impossible {
    bool unavailable;
    const char* message;
    bool terminal;
    const char* text;
  };
  const Impossible kImpossible[] = {
      {false, "", false, "standard input is not a terminal"},
      {true, "", true, "standard input is unavailable"},
      {true, "some message", true, "standard input is unavailable: some message"}};
  for (const Impossible& entry : kImpossible) {
    const oracle::Row row("kube-client/24.3/4");
    ExecConfig config = Config("Always");
    config.stdin_unavailable = entry.unavailable;
    config.stdin_unavailable_message = entry.message;
    Use(config, {}, entry.terminal);
    EXPECT_EQ(
        Get().status().message(),
        StrCat("getting credentials: exec plugin cannot support interactive mode: ", entry.text));
  }
  {
    const oracle::Row row("kube-client/24.3/9");
    Print(Answer(R"({"token":"t"})", kV1));
    Use(Config("Never", kV1));
    EXPECT_TRUE(Get().ok());
    Use(Config("", kV1));
    EXPECT_THAT(Get().status().message(), HasSubstr("unknown interactiveMode: \"\""));
  }
}

TEST_F(ExecOracle, Failures) {
  {
    const oracle::Row row("kube-client/24.3/6");
    ExecConfig config = Config();
    config.install_hint = "get it from the shop";
    Use(config);
    runner_.answer = NotFoundError("no such file");
    EXPECT_THAT(Get().status().message(), HasSubstr("exec: executable plugin not found"));
    EXPECT_THAT(Get().status().message(), HasSubstr("get it from the shop"));
  }
  {
    const oracle::Row row("kube-client/24.3/7");
    Use(Config());
    runner_.answer = CommandOutput{.exit_code = 73};
    EXPECT_EQ(Get().status().message(),
              "getting credentials: exec: executable plugin failed with exit code 73");
  }
  {
    const oracle::Row row("kube-client/24.3/14");
    Sometimes burst(loop_, 2, seconds(5));
    int hints = 0;
    for (int i = 0; i < 10; ++i) hints += burst.Allow() ? 1 : 0;
    EXPECT_EQ(hints, 2);
    Sometimes spread(loop_, 2, seconds(5));
    hints = 0;
    for (int i = 0; i < 10; ++i) {
      hints += spread.Allow() ? 1 : 0;
      scheduler_.Advance(seconds(1));
    }
    EXPECT_EQ(hints, 4);
  }
}

TEST_F(ExecOracle, ClusterInformation) {
  const ExecCluster kCluster{
      .server = "foo", .tls_server_name = "bar", .certificate_authority_pem = "baz"};
  Print(Answer(R"({"token":"t"})"));
  {
    const oracle::Row row("kube-client/24.3/8");
    ExecConfig config = Config();
    config.cluster_config = R"({"apiVersion":"group/v1","kind":"PluginConfig"})";
    Use(config, kCluster);
    EXPECT_TRUE(Get().ok());
    EXPECT_THAT(Info(), HasSubstr(R"("cluster":{"server":"foo","tls-server-name":"bar",)"
                                  R"("certificate-authority-data":"YmF6",)"
                                  R"("config":{"apiVersion":"group/v1","kind":"PluginConfig"}})"));
    Use(config);
    EXPECT_TRUE(Get().ok());
    EXPECT_THAT(Info(), Not(HasSubstr("cluster")));
  }
  {
    const oracle::Row row("kube-client/24.3/16");
    const testing::TempFolder folder;
    RestConfig config{.host = "https://server",
                      .ca_file = folder.Write("ca", "a whole authority"),
                      .exec = ExecConfig{.provide_cluster_info = true}};
    EXPECT_EQ((*ExecClusterOf(config))->certificate_authority_pem, "a whole authority");
    config.ca_file = folder.Path("missing");
    EXPECT_THAT(ExecClusterOf(config).status().message(),
                StartsWith("failed to load CA bundle for execProvider: "));
    // The proxy is text in the configuration: there is nothing that could fail.
    config.exec->provide_cluster_info = false;
    EXPECT_FALSE(ExecClusterOf(config)->has_value());
  }
}

TEST_F(ExecOracle, Caching) {
  {
    const oracle::Row row("kube-client/24.3/11");
    Use(Config());
    Print(Answer(R"({"token":"token3","expirationTimestamp":"2024-01-01T01:00:00Z"})"));
    EXPECT_EQ(Get()->credential.token, "token3");
    Print(Answer(R"({"token":"token4"})"));
    EXPECT_EQ(Get()->credential.token, "token3");
    scheduler_.Advance(hours(2));
    EXPECT_EQ(Get()->credential.token, "token4");
    EXPECT_EQ(runner_.commands.size(), 2u);
  }
  // What has expired when it is printed is used once.
  Use(Config());
  runner_.commands.clear();
  Print(Answer(R"({"token":"old","expirationTimestamp":"2001-01-01T00:00:00Z"})"));
  EXPECT_EQ(Get()->credential.token, "old");
  EXPECT_EQ(Get()->credential.token, "old");
  EXPECT_EQ(runner_.commands.size(), 2u);
  Print(Answer(R"({"token":"new"})"));
  EXPECT_EQ(Get()->credential.token, "new");
  // Credentials that somebody else has replaced meanwhile are not thrown away.
  const ExecPlugin::Current current = *Get();
  plugin_->OnUnauthorized(current.generation - 1);
  EXPECT_EQ(Get()->generation, current.generation);
  plugin_->OnUnauthorized(current.generation);
  EXPECT_EQ(Get()->generation, current.generation + 1);
}

TEST_F(ExecOracle, PluginIsOneOfTheCredentials) {
  const testing::TempFolder folder;
  const std::string exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Never}";
  for (const char* other : {"token: t", "username: n, password: p",
                            "client-certificate-data: Qw==, client-key-data: Sw=="}) {
    const oracle::Row row("kube-client/24.3/12");
    const auto config = [&](const std::string& user) {
      const Kubeconfig file =
          *ParseKubeconfig(StrCat("clusters: [{name: k, cluster: {server: 'https://a'}}]\nusers: "
                                  "[{name: u, user: {",
                                  user,
                                  "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                  "current-context: c\n"),
                           "/");
      return *ToRestConfig(*SelectContext(file, {}));
    };
    EXPECT_FALSE(config(StrCat(exec, ", ", other)).exec.has_value()) << other;
    EXPECT_TRUE(config(exec).exec.has_value());
  }
  // One transport serves a process, so equal configurations share what they got.
  ExecConfig base = Config();
  base.args = {"a"};
  base.env = {{"E", "1"}};
  struct Difference {
    const char* name;
    void (*change)(ExecConfig*);
  };
  const Difference kDifferences[] = {
      {"args", [](ExecConfig* c) { c->args.push_back("b"); }},
      {"env", [](ExecConfig* c) { c->env[0].second = "2"; }},
      {"config", [](ExecConfig* c) { c->cluster_config = "{}"; }},
      {"provide", [](ExecConfig* c) { c->provide_cluster_info = true; }},
      {"stdin", [](ExecConfig* c) { c->stdin_unavailable = true; }}};
  for (const Difference& difference : kDifferences) {
    const oracle::Row row("kube-client/24.3/15");
    ExecConfig other = base;
    EXPECT_EQ(base, other);
    difference.change(&other);
    EXPECT_FALSE(base == other) << difference.name;
  }
}

// --- processes -----------------------------------------------------------------------------------

class CommandRunnerTest : public ::testing::Test {
 protected:
  Result<CommandOutput> Run(Command command) {
    return async::RunTask(loop_, runner_->Run(std::move(command)));
  }
  static Command Shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

  async::RealLoop loop_;
  std::unique_ptr<CommandRunner> runner_ = NewCommandRunner();
};

TEST_F(CommandRunnerTest, TakesOutputAndExitCode) {
  const Result<CommandOutput> output = Run(Shell("printf 'a\\nb'; exit 3"));
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->text, "a\nb");
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(Run(Shell("kill -9 $$"))->exit_code, 137);
}

TEST_F(CommandRunnerTest, SetsVariablesBesideTheOthersAndClosesStandardInput) {
  Command command = Shell("printf '%s %s' \"$MINE\" \"${PATH:+path}\"; cat");
  command.env = {"MINE=x=y"};
  EXPECT_EQ(Run(std::move(command))->text, "x=y path");
}

TEST_F(CommandRunnerTest, MissingProgramIsNotFound) {
  EXPECT_EQ(Run({.argv = {"/no/such/program"}}).status().code(), Code::kNotFound);
  EXPECT_EQ(Run({.argv = {"no-such-program-anywhere"}}).status().code(), Code::kNotFound);
}

TEST_F(CommandRunnerTest, OutputEndsWithTheProgramEvenIfAChildKeepsThePipe) {
  EXPECT_EQ(Run(Shell("sleep 60 2>/dev/null & echo done"))->text, "done\n");
}

// Neither the loop nor the end of the runner waits for a program that hangs.
TEST_F(CommandRunnerTest, CancelledProgramIsKilled) {
  const Status ended =
      async::RunTask(loop_, async::WithTimeout(std::chrono::milliseconds(100),
                                               runner_->Run(Shell("exec sleep 600"))))
          .status();
  EXPECT_TRUE(IsDeadlineExceeded(ended)) << ended.ToString();
  runner_.reset();
}

}  // namespace
}  // namespace csinative::kube
