// Protocol between tuner and worker: one JSON object per line in each direction. Both ends are of
// the same build, so no version is negotiated.
#pragma once

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/json_value.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/worker/measure.h"

namespace rooftile {

using Json = JsonValue;

Json to_json(const Problem& p);
Problem problem_from_json(const Json& json);
Json to_json(const Signature& s);
Signature signature_from_json(const Json& json);
Json to_json(const TimeRequest& request);
TimeRequest time_request_from_json(const Json& json);
Json to_json(const CompileReply& reply);
CompileReply compile_reply_from_json(const Json& json);
Json to_json(const TimeReply& reply);
TimeReply time_reply_from_json(const Json& json);
Json to_json(const CountRequest& request);
CountRequest count_request_from_json(const Json& json);
Json to_json(const CounterReadings& readings);
CounterReadings counter_readings_from_json(const Json& json);
/// The request to certify a kernel. code: CompileReply::code; empty: there is none.
Json certify_request(const Variant& variant, const Signature& signature, const std::string& code);
std::string code_of(const Json& certify_request);
Json to_json(const Certificate& certificate);
Certificate certificate_from_json(const Json& json);
Json to_json(const std::vector<Figure>& figures);
std::vector<Figure> figures_from_json(const Json& json);
Json to_json(const std::vector<CalibrationPart>& parts);
std::vector<CalibrationPart> parts_from_json(const Json& json);

}  // namespace rooftile
