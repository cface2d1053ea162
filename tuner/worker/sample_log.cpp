#include "tuner/worker/sample_log.h"

#include <utility>

#include "core/numbers/statistics.h"

namespace rooftile {

SampleLog::KnownFacts& SampleLog::known_facts(RowId candidate) {
  const auto [entry, fresh] = facts_.try_emplace(candidate);
  if (fresh) {
    if (const auto record = store_.compiler_facts(device_, candidate))
      entry->second = {.stored = true,
                       .dropped = record->dropped_reason.has_value(),
                       .spilled = spill_reason(record->facts).has_value()};
  }
  return entry->second;
}

// Stores compiler facts once, and again when a dropped candidate is measured after all.
void SampleLog::store_facts(RowId candidate, const TimeReply& reply) {
  if (reply.statistics.empty()) return;
  KnownFacts& known = known_facts(candidate);
  const bool measured_at_last = known.dropped && !reply.dropped_reason;
  if (known.stored && !measured_at_last) return;
  const CompilerFacts facts = compiler_facts(reply.statistics);
  store_.put_compiler_facts(device_, candidate, {facts, reply.dropped_reason});
  known = {.stored = true,
           .dropped = reply.dropped_reason.has_value(),
           .spilled = spill_reason(facts).has_value()};
}

bool SampleLog::add(SampleRecord sample, const TimeReply& reply, bool prepacked) {
  store_facts(sample.candidate, reply);
  if (reply.dropped_reason) drop();
  if (reply.dropped_reason || reply.kernel_ns.empty()) return false;
  sample.kernel = summarize(reply.kernel_ns);
  sample.pack_ns = reply.pack_ns;
  sample.compile_ns = reply.compile_ns;
  sample.retaken = reply.retaken;
  sample.noisy = reply.noisy;
  if (!prepacked) store_.add_sample(sample);
  ++measured_;
  noise_.retaken += static_cast<std::size_t>(reply.retaken);
  noise_.noisy += static_cast<std::size_t>(reply.noisy);
  return true;
}

}  // namespace rooftile
