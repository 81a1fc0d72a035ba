// SPDX-License-Identifier: Apache-2.0
//
// Maps of the Kubernetes API. They are declared as repeated {key, value} entries, so that order and
// bytes stay the same from run to run; these functions give them the semantics of a map. A wire
// form may repeat a key: the last one counts. Lookups are linear, which is faster than a tree for
// the handful of entries that objects have. Templates over StringEntry, BytesEntry, QuantityEntry
// and every other entry message. Any thread, as far as the message allows it.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace csinative::apis {

template <typename Entry>
using Entries = google::protobuf::RepeatedPtrField<Entry>;

// std::string for string and bytes maps, else the message type of the values.
template <typename Entry>
using EntryValue = std::remove_cvref_t<decltype(std::declval<const Entry&>().value())>;

// The value of `key`, owned by `entries`; nullptr when the key is absent.
template <typename Entry>
const EntryValue<Entry>* GetEntry(const Entries<Entry>& entries, std::string_view key) {
  for (int i = entries.size() - 1; i >= 0; --i) {
    if (entries[i].key() == key) return &entries[i].value();
  }
  return nullptr;
}

template <typename Entry>
bool HasEntry(const Entries<Entry>& entries, std::string_view key) {
  return GetEntry(entries, key) != nullptr;
}

// A view into `entries`, or `fallback`. String and bytes maps.
template <typename Entry>
std::string_view GetEntryOr(const Entries<Entry>& entries, std::string_view key,
                            std::string_view fallback = {}) {
  const std::string* value = GetEntry(entries, key);
  return value ? std::string_view(*value) : fallback;
}

// The value of `key` for writing, default when the key is new. A new key goes in front of the
// first larger one, so that entries in Go's order (sorted) stay in it.
template <typename Entry>
EntryValue<Entry>* MutableEntry(Entries<Entry>* entries, std::string_view key) {
  for (int i = entries->size() - 1; i >= 0; --i) {
    if ((*entries)[i].key() == key) return entries->Mutable(i)->mutable_value();
  }
  Entry* added = entries->Add();
  added->set_key(std::string(key));
  added->mutable_value();
  int at = entries->size() - 1;
  for (; at > 0 && (*entries)[at - 1].key() > key; --at) entries->SwapElements(at, at - 1);
  return entries->Mutable(at)->mutable_value();
}

template <typename Entry, typename Value>
void SetEntry(Entries<Entry>* entries, std::string_view key, Value&& value) {
  *MutableEntry(entries, key) = std::forward<Value>(value);
}

// Erases the entries whose key `is_kept` refuses; the others stay in their order. True when there
// were such.
template <typename Entry, typename Predicate>
bool KeepEntries(Entries<Entry>* entries, Predicate is_kept) {
  int kept = 0;
  for (int i = 0; i < entries->size(); ++i) {
    if (!is_kept((*entries)[i].key())) continue;
    if (kept != i) entries->SwapElements(kept, i);
    ++kept;
  }
  bool erased = kept != entries->size();
  entries->DeleteSubrange(kept, entries->size() - kept);
  return erased;
}

// True when there was such a key.
template <typename Entry>
bool EraseEntry(Entries<Entry>* entries, std::string_view key) {
  return KeepEntries(entries, [key](const std::string& one) { return one != key; });
}

// Equal as maps of strings: order and repeated keys do not matter.
template <typename Entry>
bool SameEntries(const Entries<Entry>& a, const Entries<Entry>& b) {
  auto covers = [](const Entries<Entry>& outer, const Entries<Entry>& inner) {
    for (const Entry& entry : inner) {
      const auto* value = GetEntry(outer, entry.key());
      if (!value || *value != *GetEntry(inner, entry.key())) return false;
    }
    return true;
  };
  return covers(a, b) && covers(b, a);
}

}  // namespace csinative::apis
