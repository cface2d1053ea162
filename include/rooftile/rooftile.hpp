// C++ over rooftile.h: ownership and exceptions, nothing else.
#pragma once

#include <rooftile/rooftile.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace rooftile {

/// what() is the library's message; status() the C code.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(rooftile_status status)
      : std::runtime_error(rooftile_last_error()), status_(status) {}
  rooftile_status status() const noexcept { return status_; }

 private:
  rooftile_status status_;
};

/// Owns a rooftile_context. Movable; calls on one object are thread-safe, moving it is not.
class Session {
 public:
  /// Throws StatusError as rooftile_open reports.
  explicit Session(rooftile_options options = {}) {
    options.struct_size = sizeof options;
    rooftile_context* context = nullptr;
    check(rooftile_open(&options, &context));
    context_.reset(context);
  }

  /// Takes over what the C API opened.
  explicit Session(rooftile_context* context) : context_(context) {}

  /// rooftile_sgemm; struct_size is filled in. Throws StatusError; C is untouched then.
  void sgemm(rooftile_sgemm_args args) {
    args.struct_size = sizeof args;
    check(rooftile_sgemm(context_.get(), &args));
  }

  /// rooftile_explain; struct_size is filled in. Throws StatusError.
  rooftile_decision explain(rooftile_sgemm_args args) const {
    args.struct_size = sizeof args;
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    check(rooftile_explain(context_.get(), &args, &decision));
    return decision;
  }

  /// rooftile_gemm; struct_size is filled in, and batch 0 becomes 1. Throws StatusError; C is
  /// untouched then.
  void gemm(rooftile_gemm_args args) { check(rooftile_gemm(context_.get(), &completed(args))); }

  /// rooftile_explain_gemm, as gemm() would call. Throws StatusError.
  rooftile_decision explain_gemm(rooftile_gemm_args args) const {
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    check(rooftile_explain_gemm(context_.get(), &completed(args), &decision));
    return decision;
  }

  /// rooftile_last_decision. Throws StatusError.
  rooftile_decision last_decision() const {
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    check(rooftile_last_decision(context_.get(), &decision));
    return decision;
  }

  rooftile_context* get() const noexcept { return context_.get(); }

 private:
  struct Close {
    void operator()(rooftile_context* context) const noexcept { rooftile_close(context); }
  };
  static const rooftile_gemm_args& completed(rooftile_gemm_args& args) {
    args.struct_size = sizeof args;
    if (args.batch == 0) args.batch = 1;
    return args;
  }
  static void check(rooftile_status status) {
    if (status != ROOFTILE_OK) throw StatusError(status);
  }
  std::unique_ptr<rooftile_context, Close> context_;
};

}  // namespace rooftile

#include <rooftile/resident.hpp>
