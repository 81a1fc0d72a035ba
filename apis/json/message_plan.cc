// SPDX-License-Identifier: Apache-2.0
#include "apis/json/message_plan.h"

#include <memory>
#include <mutex>
#include <shared_mutex>

namespace csinative::apis {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

FieldPlan PlanField(const FieldDescriptor* field, const FieldDescriptor* inlined_in) {
  FieldPlan plan;
  plan.field = field;
  plan.value = field;
  plan.inlined_in = inlined_in;
  plan.name = field->json_name();
  plan.pointer = field->options().GetExtension(json_pointer);
  if (plan.pointer) plan.presence = FieldPlan::Presence::kPointer;
  if (field->options().GetExtension(json_always)) plan.presence = FieldPlan::Presence::kAlways;
  plan.is_creation_timestamp =
      field->full_name() == "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta.creationTimestamp";
  if (!field->is_repeated()) return plan;
  plan.shape = FieldPlan::Shape::kList;
  const Descriptor* type = field->message_type();
  if (type && type->options().GetExtension(json_map_entry)) {
    plan.shape = FieldPlan::Shape::kMap;
    plan.key = type->FindFieldByNumber(1);
    plan.value = type->FindFieldByNumber(2);
  }
  return plan;
}

void AppendFields(const Descriptor* type, const FieldDescriptor* inlined_in, MessagePlan* plan) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (!inlined_in && field->options().GetExtension(json_inline)) {
      AppendFields(field->message_type(), field, plan);
    } else {
      plan->fields.push_back(PlanField(field, inlined_in));
    }
  }
}

std::unique_ptr<const MessagePlan> MakePlan(const Descriptor* type) {
  auto plan = std::make_unique<MessagePlan>();
  plan->format = type->options().GetExtension(json_format);
  AppendFields(type, nullptr, plan.get());
  for (const FieldPlan& field : plan->fields) plan->by_name.emplace(field.name, &field);
  return plan;
}

}  // namespace

const MessagePlan& PlanFor(const Descriptor* type) {
  // Derived from constant data and never freed: plans are values of the program, not state.
  struct Cache {
    std::shared_mutex mutex;
    std::unordered_map<const Descriptor*, std::unique_ptr<const MessagePlan>> plans;
  };
  static Cache& cache = *new Cache;
  {
    std::shared_lock lock(cache.mutex);
    auto found = cache.plans.find(type);
    if (found != cache.plans.end()) return *found->second;
  }
  std::unique_ptr<const MessagePlan> plan = MakePlan(type);
  std::unique_lock lock(cache.mutex);
  return *cache.plans.emplace(type, std::move(plan)).first->second;
}

const Message& ContainerOf(const FieldPlan& plan, const Message& message) {
  if (!plan.inlined_in) return message;
  return message.GetReflection()->GetMessage(message, plan.inlined_in);
}

Message* MutableContainerOf(const FieldPlan& plan, Message* message) {
  if (!plan.inlined_in) return message;
  return message->GetReflection()->MutableMessage(message, plan.inlined_in);
}

}  // namespace csinative::apis
