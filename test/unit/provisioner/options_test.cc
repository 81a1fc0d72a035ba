// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace csinative::provisioner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Parsed {
  Options options;
  cli::FeatureGates gates = cli::ProvisionerGates();
  cli::ParseResult result;
};

std::unique_ptr<Parsed> Parse(std::vector<const char*> arguments) {
  auto parsed = std::make_unique<Parsed>();
  cli::AutoMaxProcs max_procs{log::Logger()};
  cli::FlagSet flags(cli::Grammar::kPflag, "/csi-provisioner");
  parsed->options.Register(flags, parsed->gates, &max_procs);
  parsed->result = flags.Parse(arguments);
  EXPECT_FALSE(parsed->gates.Apply(parsed->options.gates, log::Logger()).has_value());
  return parsed;
}

// Provisioner 2.
TEST(OptionsTest, DefaultsAreThoseOfTheSpecification) {
  const auto parsed = Parse({});
  const Options& options = parsed->options;
  EXPECT_EQ(options.common.csi_address, "/run/csi/socket");
  EXPECT_EQ(options.timeout, seconds(10));
  EXPECT_EQ(options.snapshot_orphan_sweep_interval, minutes(5));
  EXPECT_EQ(options.node_deployment_base_delay, seconds(20));
  EXPECT_EQ(options.node_deployment_max_delay, seconds(60));
  EXPECT_EQ(options.capacity_poll_interval, minutes(1));
  EXPECT_EQ(options.capacity_ownerref_level, 1);
  EXPECT_EQ(options.kube_api_capacity_qps, 1);
  EXPECT_EQ(options.kube_api_capacity_burst, 5);
  const ProvisionConfig config = options.ToConfig(parsed->gates);
  EXPECT_EQ(config.naming.prefix, "pvc");
  EXPECT_EQ(config.naming.uuid_length, -1);
  EXPECT_EQ(config.retry_start, seconds(1));
  EXPECT_EQ(config.retry_max, minutes(5));
  EXPECT_EQ(config.worker_threads, 100);
  EXPECT_EQ(config.clone_threads, 1);
  EXPECT_TRUE(config.prevent_mode_conversion);
  EXPECT_TRUE(config.topology.immediate);
  EXPECT_FALSE(config.topology.strict);
  EXPECT_TRUE(config.topology_gate);
  EXPECT_TRUE(config.attributes_class_gate);
  EXPECT_FALSE(config.cross_namespace_gate);
  EXPECT_THAT(options.WithoutEffect(), IsEmpty());
  EXPECT_THAT(options.Unsupported(), IsEmpty());
}

// As in the manifests of drivers.
TEST(OptionsTest, RealArgumentsAreUnderstood) {
  const auto parsed = Parse(
      {"--csi-address=unix:///csi/csi-provisioner.sock", "--v=1", "--timeout=150s",
       "--leader-election=true", "--retry-interval-start=500ms", "--feature-gates=Topology=false",
       "--extra-create-metadata=true", "--http-endpoint=:8090", "--default-fstype=ext4",
       "--worker-threads", "10", "--strict-topology", "--hold-claims", "--immediate-topology=false",
       "--volume-name-prefix", "kube", "--volume-name-uuid-length=8", "--kube-api-qps=100",
       "--kube-api-burst=200"});
  ASSERT_EQ(parsed->result.outcome, cli::ParseResult::Outcome::kParsed) << parsed->result.error;
  const ProvisionConfig config = parsed->options.ToConfig(parsed->gates);
  EXPECT_EQ(config.call_timeout, seconds(150));
  EXPECT_EQ(config.retry_start, milliseconds(500));
  EXPECT_FALSE(config.topology_gate);
  EXPECT_TRUE(config.extra_create_metadata);
  EXPECT_EQ(config.default_fs_type, "ext4");
  EXPECT_EQ(config.worker_threads, 10);
  EXPECT_TRUE(config.topology.strict);
  EXPECT_TRUE(config.hold_claims);
  EXPECT_FALSE(config.topology.immediate);
  EXPECT_EQ(config.naming.prefix, "kube");
  EXPECT_EQ(config.naming.uuid_length, 8);
  EXPECT_EQ(parsed->options.common.kube_api_qps, 100);
}

TEST(OptionsTest, UnknownFlagAndBadValuesAreErrors) {
  for (const char* argument : {"--nope", "--timeout=5", "--worker-threads=-1",
                               "--strict-topology=maybe", "--feature-gates=Topology"}) {
    const auto parsed = Parse({argument});
    EXPECT_EQ(parsed->result.outcome, cli::ParseResult::Outcome::kError) << argument;
    EXPECT_EQ(parsed->result.exit_code, 2) << argument;
  }
}

TEST(OptionsTest, WhatIsNotBuiltYetIsSaid) {
  const auto parsed = Parse({"--enable-capacity", "--node-deployment"});
  EXPECT_THAT(parsed->options.WithoutEffect(), ElementsAre("enable-capacity"));
  EXPECT_THAT(parsed->options.Unsupported(), ElementsAre("node-deployment"));
}

}  // namespace
}  // namespace csinative::provisioner
