// C++ wrapper of rooftile.h. It adds only ownership and exceptions.
#pragma once

#include <rooftile/rooftile.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace rooftile {

/// Thrown by the wrapper. what() is the message of rooftile_last_error, status() the C status code.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(rooftile_status status)
      : std::runtime_error(rooftile_last_error()), status_(status) {}
  rooftile_status status() const noexcept { return status_; }

 private:
  rooftile_status status_;
};

/// Owner of a rooftile_context. Movable. Calls on one object are thread-safe; moving it is not.
class Session {
 public:
  /// Opens a context. Throws StatusError with the errors of rooftile_open.
  explicit Session(rooftile_options options = {}) {
    options.struct_size = sizeof options;
    rooftile_context* context = nullptr;
    check(rooftile_open(&options, &context));
    context_.reset(context);
  }

  /// Takes ownership of a context that the C API opened.
  explicit Session(rooftile_context* context) : context_(context) {}

  /// Calls rooftile_sgemm; struct_size is filled in. Throws StatusError, with C as rooftile_sgemm
  /// leaves it.
  void sgemm(rooftile_sgemm_args args) {
    args.struct_size = sizeof args;
    check(rooftile_sgemm(context_.get(), &args));
  }

  /// Calls rooftile_explain; struct_size is filled in. Throws StatusError.
  rooftile_decision explain(rooftile_sgemm_args args) const {
    args.struct_size = sizeof args;
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    check(rooftile_explain(context_.get(), &args, &decision));
    return decision;
  }

  /// Calls rooftile_gemm; struct_size is filled in, and batch 0 becomes 1. Throws StatusError, with
  /// C as rooftile_gemm leaves it.
  void gemm(rooftile_gemm_args args) { check(rooftile_gemm(context_.get(), &completed(args))); }

  /// Calls rooftile_explain_gemm with the arguments as gemm() completes them. Throws StatusError.
  rooftile_decision explain_gemm(rooftile_gemm_args args) const {
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    check(rooftile_explain_gemm(context_.get(), &completed(args), &decision));
    return decision;
  }

  /// Calls rooftile_last_decision. Throws StatusError.
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
